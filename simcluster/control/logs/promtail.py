"""promtail's process: it discovers its node's pods, tails their files and the journal, and pushes to Loki.

Lines wait a second for others (batchwait). While a batch cannot be delivered nothing is read; after ten attempts it is
lost, and the files may have been rotated away meanwhile. Positions are saved every ten seconds and at an orderly end;
they lie on the node. Left out: pipeline stages but `cri`, its metrics.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject
from simcluster.api.server import Api
from simcluster.control.logs.config import BATCH_BYTES, AgentConfig, read_agent_config
from simcluster.control.logs.journals import JournalTail
from simcluster.control.logs.sending import Batch, Sender
from simcluster.control.logs.tails import Tail
from simcluster.control.metalabels import pod_labels
from simcluster.control.operator.connection import PodConnection
from simcluster.control.operator.failure import ConfigurationError
from simcluster.control.process import Process
from simcluster.engine import MILLISECOND, SECOND, FlatDict, format_rfc3339
from simcluster.engine.streams import mix
from simcluster.models.machine.container import Container
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.process import Answer, Call
from simcluster.models.machine.program import Program, WrappedProgram
from simcluster.models.machine.shell.files import FileError, Layer
from simcluster.models.machine.shell.tree import FileTree
from simcluster.telemetry.logql.store import labelled
from simcluster.telemetry.logql.units import EPOCH_NS
from simcluster.telemetry.logs import LogFile
from simcluster.telemetry.metrics.config import ConfigError
from simcluster.telemetry.metrics.relabel import relabelled
from simcluster.telemetry.promql.storage import Labels

PORT = 3101
#: From exec until it reads; how often changes of what is discovered are taken over; `positions.sync_period`.
START_NS, DISCOVERY_NS, SYNC_NS = 400 * MILLISECOND, 5 * SECOND, 10 * SECOND
#: Batches that are sent one after the other, if there are so many.
ROUND_BATCHES = 16
#: CPU time for each byte read, parsed and sent; a magnitude.
BYTE_NS = 50
LOG_FOLDER, JOURNAL_FOLDERS = "/var/log/pods", ("/var/log/journal", "/run/log/journal")
_DEFAULT_FILE = "/etc/promtail/promtail.yaml"
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_OF_POD = re.compile(r"/var/log/pods/\*?([0-9a-f-]+)/([^/*?\[]+)/\*\.log")


class Target(NamedTuple):
    """Files that are tailed: by a pattern, and the labels of their lines."""

    pattern: str
    labels: Labels


class PromtailProgram(WrappedProgram):
    """The main process of a promtail container."""

    def __init__(self, container: Container, inner: Program, api: Api) -> None:
        super().__init__(container, inner)
        self.api = api
        assert isinstance(container.machine, Machine)
        self.machine = container.machine
        self.process = Process(container.sim)
        self.config: AgentConfig | None = None
        self.sender: Sender | None = None
        self.targets: dict[Target, None] = FlatDict()
        self.tails: dict[str, Tail] = {}
        self.journal: JournalTail | None = None
        self._known: dict[str, tuple[ApiObject, tuple[Target, ...]]] = FlatDict()  # by the pods' uids
        self._connection: PodConnection | None = None
        self._listed = False
        self._pods_seen = self._files_seen = -1
        self._positions: dict[str, int] = {}

    def start(self) -> None:
        """The process was started."""
        self.inner.start()
        if self.container.running:
            self.process.after(START_NS, self._begin)

    def terminate(self) -> None:
        """SIGTERM: positions are saved."""
        self._sync()
        self.inner.terminate()

    def stop(self) -> None:
        """The process is gone."""
        self.process.end(self.api.store)
        self.inner.stop()

    def stop_collecting(self) -> None:
        """It reads no line any more."""
        self.process.end(self.api.store)

    def answer(self, call: Call) -> Answer:
        """Ready as soon as it tails something."""
        found = self.inner.answer(call)
        if found.status == 200 and call.kind == "http" and call.path == "/ready":
            if not self.tails:
                return Answer("ok", 500, "Not ready: Unable to find any logs to tail.", found.delay_ns)
            return Answer("ok", 200, "Ready", found.delay_ns)
        return found

    def steady(self, call: Call) -> object | None:
        """A health check is as good as its process once there is something to tail."""
        return self.inner.steady(call) if self.tails else None

    def say(self, level: str, where: str, text: str) -> None:
        """A line of its own log."""
        stamp = format_rfc3339(self.container.sim.now, digits=9)
        self.container.write(f"level={level} ts={stamp} caller={where} {text}", "stderr")

    # --- begin ----------------------------------------------------------------------------

    def _begin(self) -> None:
        try:
            self.config = read_agent_config(FileTree(self.container).read(self._file()))
        except (FileError, ConfigError) as error:
            self.container.write(f"Unable to parse config: {self._file()}: {str(error).lower()}", "stderr")
            self.container.exit(1)
            return
        self.say("info", "promtail.go:133", 'msg="Reloading configuration file"')
        self.say("info", "server.go:351", 'msg="server listening on addresses" http=[::]:3101 grpc=[::]:9095')
        self.say("info", "main.go:173", 'msg="Starting Promtail" version="(version=3.5.1, branch=release-3.5.x)"')
        if self.config.pods:
            try:
                self._connection = PodConnection(self.api, self.container, "promtail", qps=50, burst=100)
            except ConfigurationError as error:
                self.say("error", "manager.go:137", f'msg="error creating promtail" error="{error}"')
                self.container.exit(1)
                return
        self._positions = self._saved()
        self.sender = Sender(self.container, self.config.client, self)
        if self._mounted(*JOURNAL_FOLDERS):
            machine = self.machine
            position = self._positions.get("journal", 0)
            self.journal = JournalTail(machine.log, machine.name, self.config.journals, position)
        self._discover()
        now, wait = self.container.sim.now, self.config.client.wait_ns
        offset = mix(self.container.sim.streams.key("promtail", self.container.container_id), 0) % wait
        self.process.every(DISCOVERY_NS, self._discover, first_ns=now + DISCOVERY_NS)
        self.process.every(wait, self._round, first_ns=now + 1 + offset)
        self.process.every(SYNC_NS, self._sync, first_ns=now + SYNC_NS)

    def _file(self) -> str:
        words = (*self.container.spec.command, *self.container.spec.args)
        named = [word.partition("=")[2] for word in words if word.lstrip("-").startswith("config.file=")]
        return named[0] if named else _DEFAULT_FILE

    def _mounted(self, *folders: str) -> bool:
        """Whether it sees a folder of its node."""
        hosts = [mount.host.rstrip("/") for mount in self.container.mounts if mount.host]
        return any((folder + "/").startswith(host + "/") for host in hosts for folder in folders)

    # --- positions ------------------------------------------------------------------------

    def _layer(self) -> Layer | None:
        """What it keeps on its node: the volume at /run/promtail."""
        for mount in self.container.mounts:
            if mount.path.rstrip("/") == "/run/promtail":
                return self.container.sandbox.volumes.get(mount.volume)
        return None

    def _saved(self) -> dict[str, int]:
        layer = self._layer()
        found = layer.held.get("positions") if layer is not None else None
        return FlatDict(found) if isinstance(found, dict) else FlatDict()

    def _sync(self) -> None:
        layer = self._layer()
        if layer is None or self.config is None:
            return
        positions = FlatDict({path: tail.position for path, tail in self.tails.items()})
        if self.journal is not None:
            positions["journal"] = self.journal.position
        layer.held["positions"] = positions

    # --- discovery ------------------------------------------------------------------------

    def _discover(self) -> None:
        """See what pods there are on this node: as long as the API server answers, else what was known stays."""
        connection, config = self._connection, self.config
        if connection is None or config is None:
            return
        store = self.api.store
        if self._listed and store.changed_at("pods") == self._pods_seen:
            return
        if connection.problem() or not getattr(self.api, "available", True):
            return
        if not self._listed:
            try:
                connection.list_once("pods")
            except ApiError as error:
                text = f"failed to list *v1.Pod: {error.message}"
                self.say("error", "reflector.go:150", f'component=k8s_client_runtime msg="{text}"')
                return
            self._listed = True
        self._pods_seen = store.changed_at("pods")
        known: dict[str, tuple[ApiObject, tuple[Target, ...]]] = FlatDict()
        for pod in store.pods_on(self.machine.name):
            uid = pod["metadata"]["uid"]
            before = self._known.get(uid)
            known[uid] = before if before is not None and before[0] is pod else (pod, self._targets_of(pod))
        self._known = known
        targets = FlatDict((target, None) for _, found in known.values() for target in found)
        targets.update(FlatDict((target, None) for target in self._static()))
        if targets.keys() != self.targets.keys():
            for target in targets:
                if target not in self.targets:
                    self.say("info", "filetargetmanager.go:372", f'msg="Adding target" key="{_key(target)}"')
            self.targets, self._files_seen = targets, -1

    def _static(self) -> list[Target]:
        """Files of the node that jobs name."""
        assert self.config is not None
        found = []
        for labels in self.config.files:
            shown = {**dict(self.config.client.labels), **dict(labels)}
            path = shown.pop("__path__")
            environment = self.container.spec.environment
            expanded = {name: _expanded(text, environment) for name, text in shown.items()}
            found.append(Target(path, tuple(sorted(expanded.items()))))
        return found

    def _targets_of(self, pod: ApiObject) -> tuple[Target, ...]:
        config, found = self.config, dict[Target, None]()
        assert config is not None
        for job in config.pods:
            for given in pod_labels(pod):
                after = relabelled({"job": job.name, **given}, job.rules)
                if after is not None and after.get("__path__"):
                    shown = {name: value for name, value in after.items() if not name.startswith("__")}
                    found[Target(after["__path__"], tuple(sorted({**dict(config.client.labels), **shown}.items())))] = (
                        None
                    )
        return tuple(found)

    # --- reading --------------------------------------------------------------------------

    def _look(self) -> None:
        """Open what matches and is not open yet; close what was read to its end and is gone."""
        runtime = self.machine.runtime
        self._files_seen = runtime.changes
        if not self._mounted(LOG_FOLDER):
            return
        there: dict[str, Tail] = {}
        for target in self.targets:
            for path, log in self._matching(target.pattern):
                tail = self.tails.get(path)
                if tail is None:
                    self.say("info", "tailer.go:147", f'component=tailer msg="tail routine: started" path={path}')
                    labels = labelled({**dict(target.labels), "filename": path})
                    tail = Tail(log, labels, self._positions.get(path, 0))
                there.setdefault(path, tail)
        for path, tail in self.tails.items():
            if path not in there and not tail.drained:
                there[path] = tail  # an open file is read to its end
        self.tails = there

    def _matching(self, pattern: str) -> list[tuple[str, LogFile]]:
        runs = self.machine.runtime.runs
        usual = _OF_POD.fullmatch(pattern)
        if usual is not None:
            files = list(runs.get(usual[1], {}).get(usual[2], ()))
        else:
            files = [run for names in runs.values() for listed in names.values() for run in listed]
        found = [(run.log_path, run.log) for run in reversed(files) if not run.log.missing]
        if usual is not None:
            return found
        others = [(path, log) for path, log in self.machine.program_logs.items() if self._mounted(path)]
        return [(path, log) for path, log in (*found, *others) if fnmatchcase(path, pattern)]

    def _round(self) -> None:
        """Send what came since the last time."""
        sender, config = self.sender, self.config
        assert sender is not None
        assert config is not None
        runtime = self.machine.runtime
        if runtime.changes != self._files_seen:
            self._look()
        for _ in range(ROUND_BATCHES):
            batch = self._gather(config) if not sender.busy else None
            if batch is None or not batch.size_bytes:
                return
            self.container.use_cpu(BYTE_NS * batch.size_bytes)
            sender.send(batch)

    def _gather(self, config: AgentConfig) -> Batch:
        """What is new, up to a batch."""
        clock_ns = EPOCH_NS + self.machine.os.clock.offset_ns()
        pieces, size = [], 0
        for tail in [tail for tail in self.tails.values() if tail.seen != tail.log.written]:
            piece = tail.read(clock_ns)
            if piece is not None:
                pieces.append(piece)
                size += piece.size_bytes
                if size >= BATCH_BYTES:
                    return Batch(pieces, [])
        return Batch(pieces, self.journal.read(config.client.labels) if self.journal is not None else [])


def _key(target: Target) -> str:
    listed = ", ".join(f'{name}=\\"{value}\\"' for name, value in target.labels)
    return f"{target.pattern}:{{{listed}}}"


def _expanded(text: str, environment: Mapping[str, str]) -> str:
    """A label with its variables (`-config.expand-env`)."""
    for name in _VARIABLE.findall(text):
        text = text.replace(f"${{{name}}}", environment.get(name, ""))
    return text
