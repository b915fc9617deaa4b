"""Prometheus's process: it reads its configuration, discovers targets, scrapes them, and evaluates rules.

What it keeps lies in an emptyDir of its pod: it outlives the container, not the pod. While nothing runs there are
gaps; a target that does not answer is `up 0`, and its series end; one that is no longer discovered ends, too.
Left out: the write-ahead log and what replaying it costs, exemplars, native histograms, limits of scrapes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from heapq import heappop, heappush
from typing import Any, NamedTuple

from simcluster.api.errors import ApiError
from simcluster.api.server import Api
from simcluster.control.configreload import LOOK_NS, reloaded_beside
from simcluster.control.operator.connection import PodConnection
from simcluster.control.operator.failure import ConfigurationError
from simcluster.control.process import Process
from simcluster.control.prometheus import web
from simcluster.control.prometheus.discovery import RESOURCES, Discoverer, Target
from simcluster.control.prometheus.fetch import Fetched, count_of, fetch
from simcluster.control.prometheus.notifier import Notifier
from simcluster.control.prometheus.rulemanager import RuleManager
from simcluster.control.webclient import Place, Way, connect, slowed
from simcluster.engine import MILLISECOND, SECOND, FlatDict, Shared, format_rfc3339
from simcluster.engine.clock import unix_seconds
from simcluster.engine.streams import mix
from simcluster.models.machine.container import Container
from simcluster.models.machine.process import Answer, Call
from simcluster.models.machine.program import Program, WrappedProgram
from simcluster.models.machine.shell.files import FileError
from simcluster.models.machine.shell.tree import FileTree
from simcluster.telemetry.metrics.columns import Columns, Group, Labels, Samples, counter, gauge
from simcluster.telemetry.metrics.config import Config, ConfigError, Job, read_config
from simcluster.telemetry.metrics.relabel import relabelled
from simcluster.telemetry.metrics.store import MetricStore, Report
from simcluster.telemetry.rules.alerts import Notice
from simcluster.telemetry.rules.files import RuleFileError

PORT = 9090
#: The discovery manager hands changes over at most every 5 s (discovery/manager.go, updatert); as often as files are
#: looked at.
DISCOVERY_NS = LOOK_NS
#: From exec until the head is open and the configuration loaded; a magnitude of a small database.
START_NS = 1500 * MILLISECOND
#: CPU time of Prometheus for each sample it takes in, and memory for each series in its head (some 3 KiB), magnitudes.
SAMPLE_NS, SERIES_BYTES = 2_000, 3 << 10
#: Series that have ended leave the head when it is cut: memory follows what there is with that delay, left out here.
_DEFAULT_FILE = "/etc/prometheus/prometheus.yml"
#: Whether a target answers stands by itself: it changes rarely, how long that takes often.
UP = Columns((gauge("up", "Whether the target was scraped."),))
REPORT = Columns(
    (
        gauge("scrape_duration_seconds", "Duration of the scrape."),
        gauge("scrape_samples_scraped", "Samples the target exposed."),
        gauge("scrape_samples_post_metric_relabeling", "Samples after metric relabelling."),
        gauge("scrape_series_added", "New series in this scrape."),
    )
)
_UP, _REPORT = Group(UP), Group(REPORT)
OWN = Columns(
    (
        gauge("prometheus_tsdb_head_series", "Total number of series in the head block."),
        counter("prometheus_tsdb_head_samples_appended_total", "Total number of appended samples."),
        gauge(
            "prometheus_config_last_reload_successful", "Whether the last configuration reload attempt was successful."
        ),
        gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds."),
    )
)


class Health(NamedTuple):
    """How a target fared lately (`/api/v1/targets`).

    Attributes:
        up: unknown (None) before the first scrape.
        error: of the last scrape; at_ns: when it began; duration_ns.
    """

    up: bool | None = None
    error: str = ""
    at_ns: int = -1
    duration_ns: int = 0


class SharedHealth(Health, Shared):
    """The same, in a world."""

    __slots__ = ()


class ScrapeLoop:
    """What becomes of one target (`scrapeLoop` in scrape/scrape.go).

    Attributes:
        job: that it belongs to; name: of its log in the database.
        health: how it fared lately; way: the connection to it, None before the first.
        ended: whether it is no longer there.
    """

    __slots__ = ("ended", "health", "job", "name", "target", "way")

    def __init__(self, target: Target, job: Job) -> None:
        self.target, self.job = target, job
        self.name = f"{target.job}/{target.url}"
        self.health: Health = SharedHealth()
        self.way: Way | None = None
        self.ended = False


def unix_ms(t_ns: int) -> int:
    """A simulated instant in Unix milliseconds."""
    return unix_seconds(t_ns) * 1000 + t_ns % SECOND // MILLISECOND


class Databases:
    """What Prometheus's pods keep on their disks, by the pods' uids.

    Attributes:
        stores: the series; `server` is the process that runs now, None without one.
    """

    def __init__(self) -> None:
        self.stores: dict[str, MetricStore] = {}
        self.server: PrometheusProgram | None = None

    @property
    def newest(self) -> MetricStore | None:
        """The database of the newest pod that has had one."""
        return next(reversed(self.stores.values()), None)


class PrometheusProgram(WrappedProgram):
    """The main process of a Prometheus container.

    Attributes:
        store: its database.
        config: what it runs with, None until it runs; text: its file.
        loops: what it scrapes, and how that went; discovered: their labels before relabelling.
        rules, notifier: its rules, and who hears of alerts.
        began_ns: when it started; loaded_ns: when it took on its configuration last.
    """

    def __init__(self, container: Container, inner: Program, api: Api, databases: Databases) -> None:
        super().__init__(container, inner)
        self.api = api
        self.databases = databases
        self.store = databases.stores.setdefault(container.spec.pod_uid, MetricStore())
        self.process = Process(container.sim)
        self.config: Config | None = None
        self.reloaded = True
        self.loops: dict[Target, ScrapeLoop] = {}
        self.discovered: dict[Target, Labels] = FlatDict()
        self._connection: PodConnection | None = None
        self._discoverer = Discoverer(api.store)
        self._listed: dict[str, None] = {}
        self._seen: tuple[object, ...] = ()
        self.text = ""
        self._due: list[tuple[int, int, ScrapeLoop]] = []
        self._offsets: dict[str, int] = FlatDict()  # by job
        self._jobs: dict[str, Job] = {}
        self._made = 0
        self._failure = ""  # why the last reload was one
        self._series = sum(log.series for log in self.store.logs.values())  # integers
        self._appended = 0
        self.began_ns = self.loaded_ns = container.sim.now
        self._mounts: object = None
        self.notifier = Notifier(container, api.store, self._say)
        self.rules = RuleManager(container, self.process, self.store, self._send)

    def start(self) -> None:
        """The process was started."""
        self._say("info", "main.go:627", 'msg="Starting Prometheus Server" mode=server version="(version=3.1.0)"')
        self.inner.start()
        if self.container.running:
            self.process.after(START_NS, self._begin)

    def stop(self) -> None:
        """The process is gone; what it has written stays."""
        if self.databases.server is self:
            self.databases.server = None
        self.process.end(self.api.store)
        self.inner.stop()

    def stop_collecting(self) -> None:
        """It discovers, scrapes and evaluates nothing any more, and serves what it has."""
        self.process.end(self.api.store)

    def exposition(self, call: Call) -> Samples | Answer | None:
        """Its own metrics."""
        if call.path != "/metrics" or self.config is None:
            return None
        began = unix_seconds(self.began_ns) + self.began_ns % SECOND / SECOND
        own = {Group(OWN): OWN.row((self._series, self._appended, self.reloaded, began))}
        return {**own, **self.rules.exposition(), **self.notifier.exposition()}

    def answer(self, call: Call) -> Answer:
        """Its API, once it serves; health checks before."""
        if call.path == "/-/reload" and call.port == PORT and self.config is not None:
            return self._asked_to_reload(call)
        plain = call.kind != "http" or call.port != PORT or call.path.startswith("/-/") or self.config is None
        if plain:
            return web.healthy(call, self.inner.answer(call))
        return web.answered(self, call, unix_ms(self.container.sim.now))

    def steady(self, call: Call) -> object | None:
        """A health check is as good as its process."""
        return self.inner.steady(call) if call.path.startswith("/-/") else None

    def targets_shown(self, state: str) -> dict[str, Any]:
        """`/api/v1/targets`; none of `state` dropped is kept."""
        intervals = {name: (job.interval_ns, job.timeout_ns) for name, job in self._jobs.items()}
        found = {} if state == "dropped" else {target: loop.health for target, loop in self.loops.items()}
        return web.targets_shown(found, self.discovered, intervals)

    # --- configuration --------------------------------------------------------------------

    def _file(self) -> str:
        words = (*self.container.spec.command, *self.container.spec.args)
        flags = [word.partition("=")[2] for word in words if word.startswith("--config.file=")]
        return flags[0] if flags else _DEFAULT_FILE

    def _begin(self) -> None:
        try:
            self.text = FileTree(self.container).read(self._file())
            self.config = read_config(self.text)
        except (FileError, ConfigError) as error:
            where = f"open {self._file()}: {str(error).lower()}" if isinstance(error, FileError) else str(error)
            self._say(
                "error", "main.go:1238", f'msg="Error loading config (--config.file={self._file()})" err="{where}"'
            )
            self.container.exit(1)
            return
        try:
            self._connection = PodConnection(self.api, self.container, "Prometheus/3.1.0", qps=50, burst=100)
        except ConfigurationError as error:
            self._say("error", "kubernetes.go:293", f'component="discovery manager scrape" err="{error}"')
        self._mounts = self.container.mounts
        if not self._apply(self.config):
            self._say("error", "main.go:1265", f'msg="Error running goroutines from run.Group" err="{self._failure}"')
            self.container.exit(1)
            return
        self.databases.server, self.loaded_ns = self, self.container.sim.now
        self._say("info", "main.go:1273", 'msg="Server is ready to receive web requests."')
        self._look()
        self.process.every(DISCOVERY_NS, self._look, first_ns=self.container.sim.now + DISCOVERY_NS)

    def _apply(self, config: Config) -> bool:
        """Take on the rules of a configuration; False if those before have stayed."""
        try:
            self.rules.load(config, self._file().rpartition("/")[0])
        except (RuleFileError, FileError) as error:
            for line in str(error).split("\n"):
                quoted = json.dumps(line)
                self._say(
                    "error", "manager.go:183", f'component="rule manager" msg="loading groups failed" err={quoted}'
                )
            self._failure = (
                f"one or more errors occurred while applying the new configuration (--config.file={self._file()})"
            )
            self._say(
                "error", "main.go:1504",
                'msg="Failed to apply configuration" err="error loading rules, previous rule set restored"',
            )  # fmt: skip
            return False
        return True

    def _reread(self) -> None:
        """What the reloader beside it makes it do when files have changed."""
        mounts = self.container.mounts
        if mounts != self._mounts and reloaded_beside(self.container):
            self._mounts = mounts
            self._reload()

    def _asked_to_reload(self, call: Call) -> Answer:
        if "--web.enable-lifecycle" not in (*self.container.spec.command, *self.container.spec.args):
            return Answer("ok", 403, "Lifecycle API is not enabled.")
        if call.method not in ("POST", "PUT"):
            return Answer("ok", 405, "Only POST or PUT requests allowed")
        self._reload()
        return Answer("ok", 200) if self.reloaded else Answer("ok", 500, f"failed to reload config: {self._failure}\n")

    def _reload(self) -> None:
        """Read the files again; what cannot be taken on changes nothing."""
        before = self.text
        try:
            self.text = FileTree(self.container).read(self._file())
            config = read_config(self.text)
        except (FileError, ConfigError) as error:
            self.text, self.reloaded = before, False
            self._failure = f"couldn't load configuration (--config.file={self._file()}): {error}"
            self._say("error", "main.go:1003", f'msg="Error reloading config" err={json.dumps(self._failure)}')
            return
        self.reloaded = self._apply(config)
        if self.text != before:
            self.config, self._seen, self._discoverer = config, (), Discoverer(self.api.store)
            self.notifier.forget()
            self._offsets.clear()
        if self.reloaded:
            self.loaded_ns = self.container.sim.now
            self._say("info", "main.go:1273", 'msg="Completed loading of configuration file"')
        else:
            self._say("error", "main.go:1003", f'msg="Error reloading config" err="{self._failure}"')

    def _send(self, notices: Sequence[Notice]) -> None:
        """What rules found goes to the Alertmanagers."""
        assert self.config is not None
        self.notifier.send(self.config, notices)

    # --- discovery ------------------------------------------------------------------------

    def _look(self) -> None:
        """Read what has changed, and begin and end to scrape accordingly."""
        self._reread()
        config, store = self.config, self.api.store
        assert config is not None
        wanted = dict.fromkeys(r for job in config.jobs for d in job.discoveries for r in RESOURCES[d.role])
        wanted.update(dict.fromkeys(self.notifier.resources(config)))
        seen = (config, *(store.changed_at(resource) for resource in wanted), len(self._listed))
        if seen == self._seen and len(self._listed) == len(wanted):
            return
        if wanted and not self._list(list(wanted)):
            return
        self._seen = (*seen[:-1], len(self._listed))
        self._jobs = {job.name: job for job in config.jobs}
        self.notifier.discover(config, self._listed.__contains__)
        targets = self.discovered = self._discoverer.targets(config.jobs, self._listed.__contains__)
        for gone in [target for target in self.loops if target not in targets]:
            self._end(self.loops.pop(gone))
        for loop in self.loops.values():
            loop.job = self._jobs[loop.target.job]
        fresh = [ScrapeLoop(target, self._jobs[target.job]) for target in targets if target not in self.loops]
        for loop in fresh:
            self.loops[loop.target] = loop
            self._plan(loop, self.container.sim.now)
        if fresh:
            self._wake()

    def _list(self, wanted: list[str]) -> bool:
        """List what was not listed yet; whether the API server can be reached at all."""
        connection = self._connection
        if connection is None or connection.problem() or not getattr(self.api, "available", True):
            return False
        for resource in wanted:
            if resource in self._listed:
                continue
            try:
                connection.list_once(resource)
            except ApiError as error:
                self._say("error", "kubernetes.go:305", f'component=k8s_client_runtime err="{error.message}"')
            else:
                self._listed[resource] = None
        return True

    # --- scraping -------------------------------------------------------------------------

    def _plan(self, loop: ScrapeLoop, after_ns: int) -> None:
        """The next scrape of a target after an instant: on a grid of its job's own.

        Prometheus gives each target an offset of its own (scrape/target.go); here those of a job have one.
        """
        period, offset = loop.job.interval_ns, self._offsets.get(loop.job.name, -1)
        if offset < 0:
            key = self.container.sim.streams.key("scrape offset", loop.job.name)
            offset = self._offsets[loop.job.name] = mix(key, 0) % period // MILLISECOND * MILLISECOND
        due = after_ns - after_ns % period + offset
        self._made += 1
        heappush(self._due, (due if due > after_ns else due + period, self._made, loop))

    def _wake(self) -> None:
        if self._due:
            self.process.after(max(0, self._due[0][0] - self.container.sim.now), self._scrape_due, self._due[0][:2])

    def _scrape_due(self, expected: tuple[int, int]) -> None:
        """Scrape what is due; a timer that another one has overtaken does nothing."""
        if not self._due or self._due[0][:2] != expected:
            return
        now = self.container.sim.now
        while self._due and self._due[0][0] <= now:
            loop = heappop(self._due)[2]
            if not loop.ended:
                self._scrape(loop)
                self._plan(loop, now)
        self._wake()

    def _scrape(self, loop: ScrapeLoop) -> None:
        target, connection, container, way = loop.target, self._connection, self.container, loop.way
        if way is None or way.version != container.machine.network.version:
            way = loop.way = connect(container, Place(target.scheme, target.address, target.path))
        fetched = fetch(container, target, way, connection.user.name if connection is not None else "")
        own_ns = SAMPLE_NS * fetched.scraped
        took_ns = fetched.duration_ns + (slowed(container, own_ns) if own_ns else 0)
        if took_ns >= loop.job.timeout_ns:
            fetched = Fetched(None, f'Get "{target.url}": context deadline exceeded', loop.job.timeout_ns)
            took_ns = loop.job.timeout_ns
        if took_ns > SECOND:
            self.process.after(took_ns, self._take, loop, fetched, container.sim.now, took_ns)
        else:
            self._take(loop, fetched, container.sim.now, took_ns)
        container.use_cpu(own_ns)

    def _take(self, loop: ScrapeLoop, fetched: Fetched, at_ns: int, took_ns: int) -> None:
        """Write down what came of a scrape that began at an instant."""
        if loop.ended:
            return
        log = self.store.log(loop.name, loop.target.labels, honour=loop.job.honor_labels)
        before = log.series
        samples = _filtered(loop.job, fetched.samples) if fetched.samples is not None else {}
        kept = fetched.scraped if samples is fetched.samples else count_of(samples)
        self._appended += kept
        up = fetched.samples is not None
        numbers = (took_ns / SECOND, fetched.scraped, kept)
        self.store.take(log, unix_ms(at_ns), samples, partial(_report, up, numbers))
        loop.health = SharedHealth(up, fetched.error, at_ns, took_ns)
        if log.series != before:
            self._series += log.series - before
            self.container.set_memory(self._base_memory + SERIES_BYTES * self._series)

    @property
    def _base_memory(self) -> int:
        behaviour = getattr(self.inner, "behaviour", None)
        return behaviour.memory if behaviour is not None else 0

    def _end(self, loop: ScrapeLoop) -> None:
        """A target is no longer there: its series end."""
        loop.ended = True
        t_ms, log = unix_ms(self.container.sim.now), self.store.logs.get((loop.name, loop.target.labels))
        if log is not None and log.shown:
            self._series -= log.series
            self.store.take(log, max(t_ms, log.last_ms + 1), {})
        self.store.forget(t_ms)

    def _say(self, level: str, where: str, text: str) -> None:
        stamp = format_rfc3339(self.container.sim.now, digits=3)
        self.container.write(f"time={stamp} level={level.upper()} source={where} {text}", "stderr")


def _report(up: bool, numbers: tuple[float, ...], added: int) -> Report:
    return (_UP, UP.row((up,))), (_REPORT, REPORT.row((*numbers, added)))


def _filtered(job: Job, samples: Samples) -> Samples:
    """Samples after `metric_relabel_configs`; only what rules drop is left out, none is renamed."""
    if not job.metric_rules:
        return samples
    found = {}
    for group, row in samples.items():
        if all(
            relabelled({"__name__": name, **dict(group.labels), **dict(own)}, job.metric_rules) is not None
            for name, own in group.columns.series
        ):
            found[group] = row
    return found
