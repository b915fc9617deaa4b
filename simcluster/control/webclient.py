"""HTTP from a process in a pod: who answers at an address of the cluster, and a text that is posted there.

Errors are worded as Go's HTTP client words them. Left out: TLS handshakes, connections that are kept beyond a change
of the network.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.engine import MILLISECOND, SECOND
from simcluster.engine.streams import mix
from simcluster.models.machine.container import Container
from simcluster.models.machine.cpu import NANOCORES
from simcluster.models.machine.kernel import usage
from simcluster.models.machine.names import is_address
from simcluster.models.machine.process import Call
from simcluster.models.traffic.cluster.resolve import container_at

#: `net.Dialer` of Go's HTTP clients.
DIAL_TIMEOUT_NS = 30 * SECOND


class Place(NamedTuple):
    """Where a request goes: `address` is `host:port`."""

    scheme: str
    address: str
    path: str

    @property
    def url(self) -> str:
        """As it is written."""
        return f"{self.scheme}://{self.address}{self.path}"


class Way(NamedTuple):
    """The connection to a place, which is kept while the network is as it was.

    Attributes:
        version: of the network.
        backend: who was chosen; listener: the container there, None for a process of the host.
        error: why there is no connection; `duration_ns`: when that is known.
    """

    version: int
    backend: tuple[str, int] = ("", 0)
    listener: Container | None = None
    error: str = ""
    duration_ns: int = 0


def connect(container: Container, place: Place) -> Way:
    """Open a connection."""
    sandbox, network = container.sandbox, container.machine.network
    host, _, port_text = place.address.rpartition(":")
    if not host or not port_text.isdigit():
        host, port_text = place.address, "443" if place.scheme == "https" else "80"
    port, address, version = int(port_text), host, network.version
    if host == "localhost":
        address = sandbox.address
    elif not is_address(host):
        address = network.resolve_for(sandbox, host).address
        if not address:
            return Way(
                version, error=f"dial tcp: lookup {host} on {network.dns}:53: no such host", duration_ns=MILLISECOND
            )
    route = network.route(sandbox.node, address, port, sandbox.address)
    outcome, backend = route.outcome, ("", 0)
    if outcome == "ok":
        key = container.sim.streams.key("scrape", container.container_id, place.address, place.path)
        backend = route.backends[mix(key, version) % len(route.backends)]
        outcome = network.connect(backend, sandbox.address)
    if outcome == "refused":
        return Way(version, error=f"dial tcp {address}:{port}: connect: connection refused", duration_ns=MILLISECOND)
    if outcome != "ok":
        return Way(version, error="context deadline exceeded", duration_ns=DIAL_TIMEOUT_NS)
    return Way(version, backend, container_at(network, backend))


def post(container: Container, place: Place, way: Way, body: str) -> str:
    """Post a JSON text; why it was not taken, empty if it was."""
    what = f'Post "{place.url}": '
    if way.error:
        return what + way.error
    sandbox, network = container.sandbox, container.machine.network
    if not network.links.calm:
        there = network.sandboxes[way.backend[0]].node
        key = container.sim.streams.key("post", container.container_id, place.address, place.path)
        luck = mix(key, container.sim.now) / (1 << 64)
        if network.path(sandbox.node, there, sandbox.address, way.backend[0]).sample(luck) is None:
            return f"{what}context deadline exceeded"
    if way.listener is None:
        return f"{what}EOF"
    headers = (("content-type", "application/json"),)
    answer = way.listener.program.answer(
        Call("http", way.backend[1], place.path, place.address, "POST", headers=headers, body=body)
    )
    if answer.outcome != "ok":
        return f"{what}EOF"
    return "" if 200 <= answer.status < 300 else f"bad response status {answer.status}"


def slowed(container: Container, work_ns: int) -> int:
    """How long work takes at the share of the CPU that a container is given now, on one core at the most."""
    machine = container.machine
    if container.spec.cpu_limit is None and usage.runnable(machine) + NANOCORES <= machine.cpu.available:
        return int(work_ns / machine.cpu_speed)  # the usual case: a core is free
    cores = min(1.0, container.cpu_cores())
    return int(work_ns / cores) if cores > 0.0 else DIAL_TIMEOUT_NS
