"""A tracing library that keeps what it is given, for tests of what is followed."""

from __future__ import annotations

from simcluster.models.traffic.cluster.engine import TrafficEngine
from simcluster.models.traffic.cluster.operations import CallSpec
from simcluster.models.traffic.exemplars.spans import CLIENT, SERVER, Finished


class SpanNotes:
    """The spans of all servers that it was given to.

    Attributes:
        found: host of the caller's or the server's container, and the span; `told_ns`: when each was told.
    """

    wide = correlates = False

    def __init__(self, traffic: TrafficEngine, ratio: float = 1.0, per_second: float = 20.0) -> None:
        self.traffic, self.ratio = traffic, ratio
        self.found: list[Finished] = []
        self.noted_ns: list[int] = []
        traffic.exemplars.most_per_second = per_second
        for server in traffic.servers.values():
            server.tracer = self
        traffic.rewire()
        traffic.exemplars.watch()

    def notes(self, call: CallSpec) -> bool:
        """Every call has a span."""
        return True

    def end(self, span: Finished) -> None:
        """Keep it."""
        self.found.append(span)
        self.noted_ns.append(self.traffic.exemplars.now_ns)

    def traces(self) -> dict[int, list[Finished]]:
        """Spans by trace."""
        traces: dict[int, list[Finished]] = {}
        for span in self.found:
            traces.setdefault(span.context.trace, []).append(span)
        return traces

    def whole(self) -> list[list[Finished]]:
        """Traces whose first span has ended, in the order of their beginnings."""
        found = [spans for spans in self.traces().values() if any(not span.parent for span in spans)]
        return [sorted(spans, key=lambda span: span.start_ns) for spans in found]


def servers(spans: list[Finished]) -> list[str]:
    """Names of the operations of servers."""
    return [span.operation.name for span in spans if span.operation is not None and span.kind == SERVER]


def clients(spans: list[Finished], host: str) -> list[Finished]:
    """Attempts of calls of a host."""
    return [span for span in spans if span.kind == CLIENT and span.host == host]
