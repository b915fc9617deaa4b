"""An exporter of data stores: each request names a store, to which it connects as any client does.

It answers as soon as the store does; of a store that refuses or cannot be found it says that it is down. Left out:
TLS, the exporters' metrics of themselves.
"""

from __future__ import annotations

from urllib.parse import parse_qs

from simcluster.engine import SECOND
from simcluster.models.apps.stores import clients
from simcluster.models.apps.stores.exporters import KINDS, Kind, down, login_of
from simcluster.models.apps.system.daemon import DaemonProgram
from simcluster.models.machine.process import Answer, Call
from simcluster.telemetry.metrics.columns import Group, Late, Samples


class StoreExporterProgram(DaemonProgram):
    """The main process of redis_exporter, mongodb_exporter, memcached_exporter or mysqld_exporter."""

    @property
    def kind(self) -> Kind:
        """Which of them it is."""
        return KINDS[self.behaviour.program]

    def exposition(self, call: Call) -> Samples | Answer | None:
        """What it shows of the target that a request names."""
        kind, (path, _, query) = self.kind, call.path.partition("?")
        if path != kind.path or call.port not in self._ports:
            return {} if path == "/metrics" and call.port in self._ports else None
        target = (parse_qs(query).get("target") or [""])[0]
        if not target:
            return Answer("ok", 400, "'target' parameter must be specified")
        return self._asked(kind, target.rpartition("://")[2])

    def _asked(self, kind: Kind, target: str) -> Samples | Answer:
        host, _, port = target.partition("/")[0].partition(":")
        there = clients.connect(
            self.container, None, kind.store, host, int(port) if port.isdigit() else kind.port
        )  # fmt: skip
        if there.outcome == "timeout":
            return Late(down(kind), int(kind.patience_s * SECOND))
        if there.program is None:
            return down(kind)
        spec = self.container.spec
        login = login_of(self.environment, (*spec.command, *spec.args))
        shown = kind.read(there.program, login)
        return down(kind) if shown is None else {Group(kind.up): kind.up.row((1,)), **shown}
