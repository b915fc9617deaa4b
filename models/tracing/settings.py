"""How a program is instrumented, as its description says it (`tracing` of a behaviour)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from pydantic import Field

from simcluster.engine import SECOND
from simcluster.models.traffic.cluster.address import parse_address
from simcluster.models.traffic.graph.laws import Part

Sdk = Literal[
    "jaeger-client-go", "jaeger-client-cpp", "opentelemetry-go", "opentelemetry-js", "opentelemetry-python",
    "opentelemetry-java", "opentelemetry-dotnet", "opentelemetry-cpp", "opentelemetry-ruby", "opentelemetry-rust",
    "opentelemetry-php",
]  # fmt: skip
#: Libraries that send datagrams to an agent: of what the way loses they hear nothing.
BY_DATAGRAM = ("jaeger-client-go", "jaeger-client-cpp")
#: How long a library keeps finished spans: BufferFlushInterval of the Jaeger clients, OTEL_BSP_SCHEDULE_DELAY.
FLUSH_NS = dict.fromkeys(BY_DATAGRAM, SECOND)
BATCH_NS = 5 * SECOND
#: What it keeps while it cannot hand them over: queue size of the Jaeger clients' reporters, OTEL_BSP_MAX_QUEUE_SIZE.
QUEUE = dict.fromkeys(BY_DATAGRAM, 100)
BATCH_QUEUE = 2048


class Tracing(Part):
    """A tracing library in a program.

    Attributes:
        enabled: variable that must be `1`; empty: it always traces.
        collector: variable with `host:port` of whom spans are sent to.
        service: name of its service; by default that of the program; `service_env` a variable that says another.
        ratio: share of the traces begun here that are kept; `ratio_env` a variable that says another.
        server: name of a server's span; `{operation}`, `{method}` and `{path}` stand for what is asked.
        calls: names of the spans of calls, by the variable with the callee's address; others have none.
    """

    sdk: Sdk
    collector: str
    enabled: str = ""
    service: str = ""
    service_env: str = ""
    ratio: float = Field(default=1.0, ge=0.0, le=1.0)
    ratio_env: str = ""
    server: str
    calls: Mapping[str, str] = Field(default_factory=dict)


class Library(NamedTuple):
    """A library as it was set up when the program started.

    Attributes:
        host, port: of the collector.
        flush_ns, queue: how long finished spans wait, and how many may.
    """

    service: str
    ratio: float
    host: str
    port: int
    flush_ns: int
    queue: int


def set_up(tracing: Tracing, program: str, environment: Mapping[str, str]) -> Library | None:
    """The library with a program's variables; None if it does not trace."""
    if tracing.enabled and environment.get(tracing.enabled) != "1":
        return None
    host, port = parse_address(environment.get(tracing.collector, ""))
    if not host:
        return None
    try:
        ratio = min(1.0, max(0.0, float(environment.get(tracing.ratio_env) or tracing.ratio)))
    except ValueError:
        ratio = tracing.ratio
    service = environment.get(tracing.service_env, "") or tracing.service or program
    flush_ns, queue = FLUSH_NS.get(tracing.sdk, BATCH_NS), QUEUE.get(tracing.sdk, BATCH_QUEUE)
    return Library(service, ratio, host, port, flush_ns, queue)


def name_of(template: str, operation: str, method: str = "", path: str = "") -> str:
    """A span's name. What stands behind a dash in the name of an operation is not part of its method.

    >>> name_of("/geo.Geo/{operation}", "Nearby-rare")
    '/geo.Geo/Nearby'
    """
    marks = (("{operation}", operation.partition("-")[0]), ("{method}", method), ("{path}", path))
    for mark, value in marks:
        template = template.replace(mark, value)
    return template
