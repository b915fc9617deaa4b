"""A client that asks a page for the same long query again and again, as a scanner of query strings does.

The query is five thousand letters and a mark of exclamation behind `?waf=`: operation `query` of who answers it.
"""

from __future__ import annotations

from simcluster.engine import SECOND
from simcluster.models.apps.server import ServerProgram
from simcluster.models.traffic.cluster.address import parse_address
from simcluster.models.traffic.cluster.users import UserLoad


class EdgeProbeProgram(ServerProgram):
    """The main process.

    Attributes:
        load: its requests, while it sends them.
    """

    load: UserLoad | None = None

    def rest(self) -> None:
        """It sends nothing while idle time is skipped."""
        if self.load is not None:
            self.traffic.remove_users(self.load)
            self.load = None

    def resume(self) -> None:
        """It sends again."""
        if self.server is None or self.load is not None or self.draining:
            return
        host, port = parse_address(self.environment.get("TARGET", ""))
        service, _, rest = host.partition(".")
        namespace = rest.partition(".")[0] or self.container.spec.namespace
        every, patience = self._seconds("INTERVAL_SECONDS", 0.05), self._seconds("TIMEOUT_SECONDS", 10.0)
        name, timeout_ns = f"edge-probe-{self.container.spec.pod_name}", int(patience * SECOND)
        self.load = self.traffic.add_users(
            name, namespace, service, port, rps=1.0 / every, mix={"query": 1.0}, timeout_ns=timeout_ns
        )

    def stop(self) -> None:
        """The process is gone."""
        super().stop()
        self.rest()

    def _ready(self) -> None:
        super()._ready()
        if self.container.running:
            self.resume()

    def _seconds(self, name: str, default: float) -> float:
        text = self.environment.get(name, "")
        number = float(text) if text.replace(".", "", 1).isdigit() else default
        return max(0.01, number)
