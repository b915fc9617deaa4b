"""Alertmanager's process: its configuration, its API, and its notifications on their way.

Silences and the notification log lie in its pod's volume and outlive the container; alerts come again from Prometheus.
Source: cmd/alertmanager/main.go and notify/notify.go of Alertmanager 0.27. Left out: clustering, the user interface.
"""

from __future__ import annotations

import json
from typing import NamedTuple
from urllib.parse import urlsplit

from simcluster.api.store import Store
from simcluster.control.configreload import LOOK_NS, reloaded_beside
from simcluster.control.process import Process
from simcluster.control.webclient import Place, connect, post
from simcluster.engine import MILLISECOND, SECOND, format_rfc3339
from simcluster.engine.streams import mix
from simcluster.models.machine.container import Container
from simcluster.models.machine.process import Answer, Call
from simcluster.models.machine.program import Program, WrappedProgram
from simcluster.models.machine.shell.files import FileError
from simcluster.models.machine.shell.tree import FileTree
from simcluster.telemetry.alertmanager import http, oncall
from simcluster.telemetry.alertmanager.config import Config, ConfigError, Webhook, load
from simcluster.telemetry.alertmanager.oncall import OnCall
from simcluster.telemetry.alertmanager.payload import message
from simcluster.telemetry.alertmanager.state import Alertmanager, Notification, Sent, Silence
from simcluster.telemetry.metrics.columns import Columns, Group, Samples, counter, gauge, labels
from simcluster.telemetry.promql.storage import Labels

PORT = 9093
#: From exec until it listens: a magnitude.
START_NS = 500 * MILLISECOND
#: Back-off between attempts (cenkalti/backoff's defaults): first, and longest.
FIRST_RETRY_NS, LONGEST_RETRY_NS = 500 * MILLISECOND, 60 * SECOND
_DEFAULT_FILE = "/etc/alertmanager/alertmanager.yml"
_OWN = Columns(
    (
        gauge("alertmanager_config_last_reload_successful", "Whether the last configuration reload was successful."),
        gauge("alertmanager_alerts", "How many alerts by state.", labels(state="active"), labels(state="suppressed")),
        counter("alertmanager_notifications_total", "Attempted notifications.", labels(integration="webhook")),
        counter("alertmanager_notifications_failed_total", "Failed notifications.", labels(integration="webhook")),
    )
)


class Kept(NamedTuple):
    """What an Alertmanager keeps on its disk: silences, and its notification log."""

    silences: dict[str, Silence]
    sent: dict[tuple[str, Labels], Sent]


class Outside:
    """What there is of Alertmanager beyond its processes: its disks, by the pods' uids, and who is on call."""

    def __init__(self) -> None:
        self.kept: dict[str, Kept] = {}
        self.oncall = OnCall()


class AlertmanagerProgram(WrappedProgram):
    """The main process of an Alertmanager container.

    Attributes:
        manager: alerts, groups and silences; None until it runs.
    """

    def __init__(self, container: Container, inner: Program, store: Store, outside: Outside) -> None:
        super().__init__(container, inner)
        self.process = Process(container.sim)
        self.store = store
        self.outside = outside
        self.kept = outside.kept.setdefault(container.spec.pod_uid, Kept({}, {}))
        self.manager: Alertmanager | None = None
        self.reloaded = True
        self._failure = ""
        self._mounts: object = None
        self._planned = -1
        self._attempted = self._failed = 0

    def start(self) -> None:
        """The process was started."""
        self._say("info", "main.go:181", 'msg="Starting Alertmanager" version="(version=0.27.0)"')
        self.inner.start()
        if self.container.running:
            self.process.after(START_NS, self._begin)

    def stop(self) -> None:
        """The process is gone; what it has on its disk stays."""
        self.process.end(self.store)
        self.inner.stop()

    def answer(self, call: Call) -> Answer:
        """Its API, once it runs."""
        manager = self.manager
        if call.kind != "http" or call.port != PORT or manager is None:
            return self.inner.answer(call)
        if call.path.startswith("/-/") and call.path != "/-/reload":
            probed = self.inner.answer(call)
            return probed._replace(body="OK") if probed.outcome == "ok" and probed.status == 200 else probed
        now = self.container.sim.now
        if call.path == "/-/reload":
            if call.method != "POST":
                return Answer("ok", 405, "Method Not Allowed\n")
            self._reload()
            why = f"failed to reload config: {self._failure}\n"
            return Answer("ok", 200) if self.reloaded else Answer("ok", 500, why)
        path, _, query = call.path.partition("?")
        found = http.handle(manager, (call.method, path, query, call.body.encode()), now)
        self._plan()
        return Answer("ok", found.status, found.body.decode())

    def steady(self, call: Call) -> object | None:
        """A health check is as good as its process."""
        return self.inner.steady(call) if call.path.startswith("/-/") else None

    def exposition(self, call: Call) -> Samples | Answer | None:
        """Its own metrics."""
        manager = self.manager
        if call.path != "/metrics" or manager is None:
            return None
        now = self.container.sim.now
        standing = [alert for alert in manager.alerts.values() if alert.ends_ns > now]
        muted = sum(manager.muted(standing, now))  # integers
        row = (self.reloaded, len(standing) - muted, muted, self._attempted, self._failed)
        return {Group(_OWN): _OWN.row(row)}

    # --- configuration --------------------------------------------------------------------

    def _file(self) -> str:
        words = (*self.container.spec.command, *self.container.spec.args)
        flags = [word.partition("=")[2] for word in words if word.startswith("--config.file=")]
        return flags[0] if flags else _DEFAULT_FILE

    def _begin(self) -> None:
        self._mounts = self.container.mounts
        config = self._read()
        if config is None:
            self.container.exit(1)
            return
        manager = self.manager = Alertmanager(config, self.container.sim.now)
        manager.silences, manager.sent = self.kept
        self._say("info", "tls_config.go:313", f'msg="Listening on" address=[::]:{PORT}')
        self.process.every(LOOK_NS, self._look)

    def _read(self) -> Config | None:
        """Its file; None, and the reason in the log, if that is refused."""
        try:
            return load(FileTree(self.container).read(self._file()))
        except (FileError, ConfigError) as error:
            found = f"open {self._file()}: {str(error).lower()}" if isinstance(error, FileError) else str(error)
            self._failure = found
            text = f'component=configuration msg="Loading configuration file failed" file={self._file()}'
            self._say("error", "coordinator.go:118", f"{text} err={json.dumps(found)}")
            return None

    def _look(self) -> None:
        """What the reloader beside it makes it do when files have changed."""
        mounts = self.container.mounts
        if mounts != self._mounts and reloaded_beside(self.container):
            self._mounts = mounts
            self._reload()

    def _reload(self) -> None:
        """Take on another configuration: alerts are grouped anew, what was sent of groups stays known."""
        config, manager = self._read(), self.manager
        assert manager is not None
        self.reloaded = config is not None
        if config is None or config.text == manager.config.text:
            return
        now = self.container.sim.now
        manager.config, alerts = config, [one for one in manager.alerts.values() if one.ends_ns > now]
        manager.groups.clear()
        manager.alerts.clear()
        manager.put(now, alerts)
        text = f'component=configuration msg="Completed loading of configuration file" file={self._file()}'
        self._say("info", "coordinator.go:126", text)
        self._plan()

    # --- notifications --------------------------------------------------------------------

    def _plan(self) -> None:
        """Wake up when the next group is due."""
        assert self.manager is not None
        due = self.manager.next_ns()
        if due is None or due == self._planned:
            return
        self._planned = due
        self.process.after(max(0, due - self.container.sim.now), self._flush, due)

    def _flush(self, planned: int) -> None:
        if planned != self._planned or self.manager is None:
            return
        self._planned = -1
        for notification in self.manager.flush(self.container.sim.now):
            for hook in self.manager.config.hooks.get(notification.receiver, ()):
                if notification.firing or hook.resolved:
                    self._attempt(notification, hook, self.container.sim.now, 0)
        self._plan()

    def _attempt(self, notification: Notification, hook: Webhook, begun_ns: int, tried: int) -> None:
        """Post a notification; a failure is tried again, longer and longer after, until the group is due again."""
        now, manager = self.container.sim.now, self.manager
        assert manager is not None
        self._attempted += 1
        error = self._post(notification, hook)
        if not error:
            return
        wait_ns = FIRST_RETRY_NS
        for _ in range(tried):
            wait_ns = min(LONGEST_RETRY_NS, wait_ns * 3 // 2)
        if now + wait_ns - begun_ns < notification.patience_ns:
            self.process.after(wait_ns, self._attempt, notification, hook, begun_ns, tried + 1)
            return
        self._failed += 1
        manager.undelivered(notification)
        count = len(notification.firing) + len(notification.resolved)
        reason = f"{notification.receiver}/webhook[0]: notify retry canceled after {tried + 1} attempts: {error}"
        text = f'component=dispatcher msg="Notify for alerts failed" num_alerts={count} err={json.dumps(reason)}'
        self._say("error", "dispatch.go:353", text)

    def _post(self, notification: Notification, hook: Webhook) -> str:
        """Send it once; the reason if it was not taken."""
        container, parts = self.container, urlsplit(hook.url)
        place = Place(parts.scheme, parts.netloc.rpartition("@")[2], parts.path or "/")
        body = message(notification, f"http://{container.spec.pod_name}:{PORT}")
        host, network = parts.hostname or "", container.machine.network
        if network.resolve_for(container.sandbox, host).address != oncall.ADDRESS:
            return post(container, place, connect(container, place), body)
        way = network.path(container.sandbox.node, "")
        luck = mix(container.sim.streams.key("notify", container.container_id), container.sim.now) / (1 << 64)
        if not way.is_healthy and way.sample(luck) is None:
            return f'Post "{place.url}": context deadline exceeded'
        for page in self.outside.oncall.take(container.sim.now, place.path, body):
            container.sim.record("page", str(page))
        return ""

    def _say(self, level: str, where: str, text: str) -> None:
        stamp = format_rfc3339(self.container.sim.now, digits=3)
        self.container.write(f"ts={stamp} caller={where} level={level} {text}", "stderr")
