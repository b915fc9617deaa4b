"""One scrape, from a process's own network: who answers at an address, what it shows, and how long that takes.

Errors are worded as Go's HTTP client words them. Left out: TLS handshakes, compression, bytes of the answer.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.control.prometheus.discovery import Target
from simcluster.control.webclient import DIAL_TIMEOUT_NS, Way, slowed
from simcluster.engine import MICROSECOND, MILLISECOND
from simcluster.engine.streams import mix
from simcluster.models.machine.container import Container
from simcluster.models.machine.process import Answer, Call
from simcluster.telemetry.metrics.columns import Late, Samples
from simcluster.telemetry.metrics.sheets import Sheets

#: What an exporter takes to gather and write one sample (client_golang, a magnitude), and for a request at all.
SAMPLE_NS, REQUEST_NS = 2 * MICROSECOND, MILLISECOND


class Fetched(NamedTuple):
    """What came of a scrape: samples, or an error; how long it took; how many samples there are."""

    samples: Samples | None
    error: str
    duration_ns: int
    scraped: int = 0


def count_of(samples: Samples) -> int:
    """Samples of an exposition."""
    if type(samples) is Sheets:
        return samples.count
    return sum(map(len, samples.values())) >> 3  # integers


def fetch(container: Container, target: Target, way: Way, account: str) -> Fetched:
    """Scrape a target now; `account`: as whom its client introduces itself."""
    if way.error:
        return Fetched(None, f'Get "{target.url}": {way.error}', way.duration_ns)
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
