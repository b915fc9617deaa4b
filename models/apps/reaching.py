"""Who listens at an address that a process of a container dials, and what it hears if nobody does."""

from __future__ import annotations

from typing import NamedTuple

from simcluster.models.apps.wording import DNS_SERVER
from simcluster.models.machine.container import Container
from simcluster.models.machine.names import is_loopback
from simcluster.models.machine.network import Network
from simcluster.models.traffic.cluster.resolve import container_at


class Reached(NamedTuple):
    """What became of a connection.

    Attributes:
        outcome: `ok`, `refused`, `timeout` or `unknown host`.
        address: as the name resolved; empty if it did not.
        container: who listens there.
    """

    outcome: str
    address: str = ""
    container: Container | None = None

    def dial_error(self, host: str, port: int) -> str:
        """How Go's net package words it."""
        if self.outcome == "unknown host":
            return f"dial tcp: lookup {host} on {DNS_SERVER}: no such host" if host else "dial tcp: missing address"
        why = "i/o timeout" if self.outcome == "timeout" else "connect: connection refused"
        return f"dial tcp {self.address}:{port}: {why}"


def reach(network: Network, container: Container, host: str, port: int, protocol: str = "TCP") -> Reached:
    """Connect from a container; of several places behind a Service the first one that listens."""
    sandbox = container.sandbox
    if is_loopback(host):
        host = sandbox.address
    address = network.resolve_for(sandbox, host).address if host else ""
    if not address:
        return Reached("unknown host")
    route = network.route(sandbox.node, address, port, sandbox.address, protocol)
    if route.outcome != "ok":
        return Reached(route.outcome, address)
    outcome = "refused"
    for backend in route.backends:
        outcome = network.connect(backend, sandbox.address, protocol)
        if outcome == "ok":
            return Reached("ok", address, container_at(network, backend))
    return Reached(outcome, address)
