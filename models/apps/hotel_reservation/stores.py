"""Reaching what a program needs at start: who listens at an address, and whether a store lets it in."""

from __future__ import annotations

from typing import NamedTuple

from simcluster.models.apps.server import ServerProgram
from simcluster.models.apps.wording import DNS_SERVER
from simcluster.models.machine.container import Container
from simcluster.models.machine.network import Network
from simcluster.models.traffic.cluster.address import parse_address
from simcluster.models.traffic.cluster.operations import CallSpec
from simcluster.models.traffic.cluster.resolve import container_at
from simcluster.models.traffic.cluster.server import Server

MONGO_PORT = 27017


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


def reach(network: Network, container: Container, host: str, port: int) -> Reached:
    """Connect from a container; of several places behind a Service the first one that listens."""
    sandbox = container.sandbox
    address = network.resolve_for(sandbox, host).address if host else ""
    if not address:
        return Reached("unknown host")
    route = network.route(sandbox.node, address, port, sandbox.address)
    if route.outcome != "ok":
        return Reached(route.outcome, address)
    outcome = "refused"
    for backend in route.backends:
        outcome = network.connect(backend, sandbox.address)
        if outcome == "ok":
            return Reached("ok", address, container_at(network, backend))
    return Reached(outcome, address)


class Credentials(NamedTuple):
    """Where a store is, and as whom a client comes (`user:password@host:port`)."""

    host: str
    port: int
    user: str
    password: str


def credentials_of(address: str, user: str, password: str) -> Credentials:
    """Parse a store's address; what it says of the user counts more than the program's own.

    >>> credentials_of("mongodb://admin:secret@mongodb-geo/geo-db", "admin", "admin")
    Credentials(host='mongodb-geo', port=27017, user='admin', password='secret')
    """
    login, at, place = address.removeprefix("mongodb://").rpartition("@")
    if at:
        user, _, password = login.partition(":")
    host, port = parse_address(place.partition("/")[0])
    return Credentials(host, port or MONGO_PORT, user, password)


def refusal(store: Container, caller: Server, call: CallSpec) -> str:
    """What a store answers to a caller whom it does not serve; empty if it serves him."""
    program = store.program
    server = program.server if isinstance(program, ServerProgram) else None
    return server.gate.refusal(caller, call) if server is not None and server.gate is not None else ""
