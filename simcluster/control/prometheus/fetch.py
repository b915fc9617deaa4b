"""One scrape, from a process's own network: who answers at an address, what it shows, and how long that takes.

Errors are worded as Go's HTTP client words them. Left out: TLS handshakes, compression, bytes of the answer.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.control.prometheus.discovery import Target
from simcluster.engine import MICROSECOND, MILLISECOND, SECOND
from simcluster.engine.streams import mix
from simcluster.models.machine.container import Container
from simcluster.models.machine.cpu import NANOCORES
from simcluster.models.machine.kernel import usage
from simcluster.models.machine.names import is_address
from simcluster.models.machine.process import Answer, Call
from simcluster.models.traffic.cluster.resolve import container_at
from simcluster.telemetry.metrics.columns import Late, Samples

#: What an exporter takes to gather and write one sample (client_golang, a magnitude), and for a request at all.
SAMPLE_NS, REQUEST_NS = 2 * MICROSECOND, MILLISECOND
#: `net.Dialer` of Prometheus's HTTP client.
DIAL_TIMEOUT_NS = 30 * SECOND


class Fetched(NamedTuple):
    """What came of a scrape: samples, or an error; how long it took; how many samples there are."""

    samples: Samples | None
    error: str
    duration_ns: int
    scraped: int = 0


def count_of(samples: Samples) -> int:
    """Samples of an exposition."""
    return sum(map(len, samples.values())) >> 3  # integers


class Way(NamedTuple):
    """The connection to a target, which is kept while the network is as it was.

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


def connect(container: Container, target: Target) -> Way:
    """Open a connection to a target."""
    sandbox, network = container.sandbox, container.machine.network
    host, _, port_text = target.address.rpartition(":")
    if not host or not port_text.isdigit():
        host, port_text = target.address, "443" if target.scheme == "https" else "80"
    port, address, version = int(port_text), host, network.version
    get = f'Get "{target.url}": '
    if host == "localhost":
        address = sandbox.address
    elif not is_address(host):
        address = network.resolve_for(sandbox, host).address
        if not address:
            error = f"{get}dial tcp: lookup {host} on {network.dns}:53: no such host"
            return Way(version, error=error, duration_ns=MILLISECOND)
    route = network.route(sandbox.node, address, port, sandbox.address)
    outcome, backend = route.outcome, ("", 0)
    if outcome == "ok":
        key = container.sim.streams.key("scrape", container.container_id, target.address, target.path)
        backend = route.backends[mix(key, version) % len(route.backends)]
        outcome = network.connect(backend, sandbox.address)
    if outcome == "refused":
        error = f"{get}dial tcp {address}:{port}: connect: connection refused"
        return Way(version, error=error, duration_ns=MILLISECOND)
    if outcome != "ok":
        return Way(version, error=f"{get}context deadline exceeded", duration_ns=DIAL_TIMEOUT_NS)
    return Way(version, backend, container_at(network, backend))


def fetch(container: Container, target: Target, way: Way, account: str) -> Fetched:
    """Scrape a target now; `account`: as whom its client introduces itself."""
    if way.error:
        return Fetched(None, way.error, way.duration_ns)
    sandbox, network, way_ns = container.sandbox, container.machine.network, 0
    if not network.links.calm:
        there = network.sandboxes[way.backend[0]].node
        key = container.sim.streams.key("scrape", container.container_id, target.address, target.path)
        luck = mix(key, container.sim.now) / (1 << 64)
        extra = network.path(sandbox.node, there, sandbox.address, way.backend[0]).sample(luck)
        if extra is None:
            return Fetched(None, f'Get "{target.url}": context deadline exceeded', DIAL_TIMEOUT_NS)
        way_ns = extra
    call = Call(
        "http", way.backend[1], target.path, target.address, secure=target.scheme == "https",
        headers=(("authorization", account),),
    )  # fmt: skip
    answer = None if way.listener is None else way.listener.program.exposition(call)
    if way.listener is None or answer is None:
        return Fetched(None, "server returned HTTP status 404 Not Found", REQUEST_NS + way_ns)
    if isinstance(answer, Answer):
        if answer.outcome != "ok":
            return Fetched(None, f'Get "{target.url}": EOF', answer.delay_ns + way_ns)
        return Fetched(None, f"server returned HTTP status {answer.status} {answer.body}", answer.delay_ns + way_ns)
    count = count_of(answer)
    if isinstance(answer, Late):
        way_ns += answer.delay_ns
    return Fetched(answer, "", way_ns + slowed(way.listener, REQUEST_NS + SAMPLE_NS * count), count)


def slowed(container: Container, work_ns: int) -> int:
    """How long work takes at the share of the CPU that a container is given now, on one core at the most."""
    machine = container.machine
    if container.spec.cpu_limit is None and usage.runnable(machine) + NANOCORES <= machine.cpu.available:
        return int(work_ns / machine.cpu_speed)  # the usual case: a core is free
    cores = min(1.0, container.cpu_cores())
    return int(work_ns / cores) if cores > 0.0 else DIAL_TIMEOUT_NS
