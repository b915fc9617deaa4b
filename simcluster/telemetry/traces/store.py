"""Jaeger's in-memory storage: a ring of traces, the oldest of which makes room for a new one.

Services and their operations are remembered for good, as there. Left out: tenants, adaptive sampling.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from simcluster.engine import Flat
from simcluster.telemetry.traces.span import Span, Tags, shown

#: Spans of a trace at most: later ones are dropped. Jaeger itself keeps all.
MOST_SPANS = 10_000


class Query(NamedTuple):
    """What traces are looked for (`spanstore.TraceQueryParameters`): one span must meet all of it.

    Attributes:
        start_us, end_us: of the span's begin; `min_us`, `max_us` of its duration, 0 for no bound.
        limit: newest traces at most; 0 or less for all.
    """

    service: str
    operation: str = ""
    tags: tuple[tuple[str, str], ...] = ()
    start_us: int = 0
    end_us: int = 1 << 62
    min_us: int = 0
    max_us: int = 0
    limit: int = 100


class TraceStore(Flat):
    """Traces in the order in which their first spans came.

    Args:
        most: traces at most (`--memory.max-traces`, MEMORY_MAX_TRACES); 0 for no limit, Jaeger's default.
    """

    __slots__ = ("_operations", "_traces", "most", "spans")

    def __init__(self, most: int = 0) -> None:
        self.most = most
        self.spans = 0  # that are kept
        self._traces: dict[str, tuple[Span, ...]] = {}
        self._operations: dict[str, dict[tuple[str, str], None]] = {}

    def copy(self) -> TraceStore:
        """Another one with the same spans."""
        other = TraceStore(self.most)
        other.spans = self.spans
        other._traces = dict(self._traces)
        other._operations = {service: dict(found) for service, found in self._operations.items()}
        return other

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return (_restored, (self.most, self.spans, self._traces, self._operations))

    def __len__(self) -> int:
        return len(self._traces)

    def write(self, span: Span) -> None:
        """Take a span in."""
        self._operations.setdefault(span.source.service, {})[span.operation, span.kind] = None
        known = self._traces.get(span.trace_id)
        if known is None:
            if self.most and len(self._traces) >= self.most:
                self.spans -= len(self._traces.pop(next(iter(self._traces))))
            known = ()
        if len(known) < MOST_SPANS:
            self._traces[span.trace_id] = (*known, span)
            self.spans += 1

    def services(self) -> list[str]:
        """Names of all services that ever reported."""
        return list(self._operations)

    def operations(self, service: str, kind: str = "") -> list[tuple[str, str]]:
        """Names and kinds of a service's operations, of one kind if that is given."""
        return [found for found in self._operations.get(service, {}) if not kind or found[1] == kind]

    def trace(self, trace_id: str) -> tuple[Span, ...]:
        """The spans of a trace as they came; empty if there is none."""
        return self._traces.get(trace_id, ())

    def find_all(self) -> list[tuple[Span, ...]]:
        """All traces as they came."""
        return list(self._traces.values())

    def find(self, query: Query) -> list[tuple[Span, ...]]:
        """Traces of which a span meets a query."""
        found = [spans for spans in self._traces.values() if any(_meets(span, query) for span in spans)]
        if 0 < query.limit < len(found):
            found.sort(key=_begin)
            return found[-query.limit :]
        return found

    def dependencies(self, start_us: int, end_us: int) -> list[tuple[str, str, int]]:
        """Caller, callee and number of calls, of traces that have a span in the time."""
        counts: dict[tuple[str, str], int] = {}
        for spans in self._traces.values():
            if not any(start_us < span.start_us < end_us for span in spans):
                continue
            service_of = {span.span_id: span.source.service for span in spans}
            for span in spans:
                caller, callee = service_of.get(span.parent_id), span.source.service
                if caller is not None and caller != callee:
                    counts[caller, callee] = counts.get((caller, callee), 0) + 1
        return [(caller, callee, count) for (caller, callee), count in sorted(counts.items())]


def _restored(
    most: int, spans: int, traces: dict[str, tuple[Span, ...]], operations: dict[str, dict[tuple[str, str], None]]
) -> TraceStore:
    store = TraceStore(most)
    store.spans, store._traces, store._operations = spans, traces, operations
    return store


def _begin(spans: tuple[Span, ...]) -> int:
    return spans[0].start_us


def _meets(span: Span, query: Query) -> bool:
    if span.source.service != query.service or (query.operation and span.operation != query.operation):
        return False
    if not query.start_us <= span.start_us <= query.end_us or span.duration_us < query.min_us:
        return False
    if query.max_us and span.duration_us > query.max_us:
        return False
    return all(any(_has(tags, wanted) for tags in _tags(span)) for wanted in query.tags)


def _tags(span: Span) -> Iterator[Tags]:
    """Wherever a tag is looked for: the span, its process, its events."""
    yield span.tags
    yield span.source.tags
    for log in span.logs:
        yield log.fields


def _has(tags: Tags, wanted: tuple[str, str]) -> bool:
    return any(key == wanted[0] and shown(value) == wanted[1] for key, value in tags)
