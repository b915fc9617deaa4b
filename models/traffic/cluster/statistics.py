"""What happened on every edge in every tick, in compact immutable records."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import FlatDict, Shared
from simcluster.engine.clock import HOUR
from simcluster.models.traffic.cluster.causes import KINDS
from simcluster.models.traffic.cluster.distribution import (
    NEVER,
    Component,
    Late,
    Latency,
    mixture_quantiles,
    quantile,
)
from simcluster.models.traffic.cluster.nodes import EdgeKey, Layout
from simcluster.models.traffic.graph.histogram import edges as bin_edges
from simcluster.telemetry.series import Series

#: One hour is kept, in blocks of so many ticks: at most as many as ticks of half a second need.
BLOCK = 64
KEEP_BLOCKS, KEEP_NS = 113, HOUR
_NUMBER, _LATE = struct.Struct("d"), struct.Struct("ddd")


class Latencies(Shared):
    """Latency of every edge, as of one evaluation of the plan; a sequence of `Latency`.

    Attributes:
        served: (edge, law) of edges whose way is slow: how long those who are called take themselves.
        answered: edges on which calls are answered by an error, and after how many nanoseconds on average.
    """

    __slots__ = ("_lates", "_means", "_variances", "answered", "served")

    def __init__(
        self,
        means: Sequence[float] | NDArray[np.float64] = (),
        variances: Any = (),
        lates: Sequence[Late] = (),
        served: Sequence[tuple[int, Latency]] = (),
        answered: Mapping[int, float] | None = None,
    ) -> None:
        self.served, self.answered = tuple(served), FlatDict(answered or {})
        self._means = np.array(means, dtype=np.float64).tobytes()
        self._variances = np.array(variances, dtype=np.float64).tobytes()
        self._lates = np.array(lates, dtype=np.float64).tobytes()  # empty: nobody is late

    @classmethod
    def of(
        cls,
        latencies: Sequence[Latency],
        served: Sequence[tuple[int, Latency]] = (),
        answered: Mapping[int, float] | None = None,
    ) -> Latencies:
        """The same as numbers."""
        lates = [each.late for each in latencies] if any(each.late.share for each in latencies) else ()
        return cls([each.mean for each in latencies], [each.variance for each in latencies], lates, served, answered)

    @property
    def means(self) -> NDArray[np.float64]:
        """Their means, not to be changed."""
        return np.frombuffer(self._means)

    @property
    def variances(self) -> NDArray[np.float64]:
        """Their variances, not to be changed."""
        return np.frombuffer(self._variances)

    @property
    def lates(self) -> NDArray[np.float64] | None:
        """Of each the share that is late, and mean and second moment of what is added; None if nobody is."""
        return np.frombuffer(self._lates).reshape(-1, 3) if self._lates else None

    def __len__(self) -> int:
        return len(self._means) // 8

    def __getitem__(self, index: int) -> Latency:
        at = 8 * index
        late = Late(*_LATE.unpack_from(self._lates, 3 * at)) if self._lates else NEVER
        (mean,), (variance,) = _NUMBER.unpack_from(self._means, at), _NUMBER.unpack_from(self._variances, at)
        return Latency(mean, variance, late)

    def __iter__(self) -> Iterator[Latency]:
        means, variances = np.frombuffer(self._means).tolist(), np.frombuffer(self._variances).tolist()
        lates = [NEVER] * len(means)
        if self._lates:
            lates = [Late(*each) for each in np.frombuffer(self._lates).reshape(-1, 3).tolist()]
        return map(Latency, means, variances, lates)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Latencies) and self._parts() == other._parts()

    def _parts(self) -> tuple[object, ...]:
        return self._means, self._variances, self._lates, self.served, self.answered

    def __hash__(self) -> int:
        raise TypeError("latencies are no keys")

    def __repr__(self) -> str:
        return f"Latencies({list(self)})"


class LoadRecord(NamedTuple):
    """What one user load saw in a tick: whole requests, whatever number of attempts they took.

    Attributes:
        requests: begun; `attempts` theirs; `ok` and `failed` (kind, count) are those that ended.
        open: requests under way at the end of the tick.
        laws: latencies of the successful ones, as laws; or
        bins: as counts by bin of a histogram (`graph.histogram`), one pair after the other, 32-bit integers.
    """

    requests: int
    attempts: int
    ok: int
    failed: tuple[tuple[str, int], ...]
    open: int
    laws: tuple[Component, ...] = ()
    bins: bytes = b""

    @property
    def latencies(self) -> list[Component]:
        """Latencies of the successful requests."""
        if not self.bins:
            return list(self.laws)
        numbers = array("i", self.bins)
        return [
            Component(count, Latency(_middle(place), 0.0))
            for place, count in zip(numbers[::2], numbers[1::2], strict=True)
        ]


#: Who sends nothing and waits for nothing.
NOTHING = LoadRecord(0, 0, 0, (), 0)


def _middle(place: int) -> float:
    """The duration that stands for a bin, in nanoseconds."""
    low, high = bin_edges(place)
    return 0.5 * (low + high)


class PodRecord(NamedTuple):
    """One pod at the end of a tick: requests that wait, mean number being served, refused in the tick."""

    container_id: str
    waiting: int
    busy: float
    refused: int


class Containers(tuple[str, ...], Shared):
    """Identities of the pods of a plan, in the order of a tick's numbers."""

    __slots__ = ()

    def __reduce__(self) -> tuple[type[Containers], tuple[list[str]]]:
        return (Containers, (list(self),))


class PodTable(NamedTuple):
    """The queues of all pods at the end of a tick, as arrays: 64-bit integers, floats, integers."""

    names: Containers = Containers()
    waiting: bytes = b""
    busy: bytes = b""
    refused: bytes = b""

    def records(self) -> Iterator[PodRecord]:
        """Pod by pod."""
        waiting, busy, refused = array("q", self.waiting), array("d", self.busy), array("q", self.refused)
        yield from map(PodRecord, self.names, waiting, busy, refused)


class Detail(NamedTuple):
    """What users saw, and queues.

    Attributes:
        loads: user loads by `namespace/name`.
        pods: those that serve, if queues, time-outs and retries were followed one by one.
    """

    loads: dict[str, LoadRecord]
    pods: PodTable = PodTable()


class Tick(NamedTuple):
    """One tick.

    Attributes:
        t_ns: its end.
        sent: calls that began on each edge of `layout`, an array of 32-bit integers; ok: those that ended well.
        failures: those that ended badly: edge, kind (index into `KINDS`), count, one triple after the other, 32-bit
            integers.
        latencies: of the calls that ended well.
    """

    t_ns: int
    layout: Layout
    latencies: Latencies
    sent: bytes
    ok: bytes
    failures: bytes
    detail: Detail


class SharedTick(Tick, Shared):
    """A tick in the history: immutable, so forks share it."""

    __slots__ = ()


class EdgeStats(NamedTuple):
    """What happened on one edge in one tick: calls that began (`sent`), and calls that ended, well (`ok`) or badly
    (`errors`), whenever they had begun; `latency` is that of calls that ended well.
    """

    t_ns: int
    key: EdgeKey
    sent: int
    ok: int
    errors: dict[str, int]
    latency: Latency

    def latency_ns(self, share: float) -> float:
        """A quantile of the latency in nanoseconds, e.g. `latency_ns(0.95)`."""
        return quantile(self.latency, share)


class Summary(NamedTuple):
    """Several edges and ticks taken together. Latency quantiles in milliseconds."""

    sent: int
    ok: int
    errors: dict[str, int]
    latency_ms_mean: float
    latency_ms_p50: float
    latency_ms_p90: float
    latency_ms_p95: float
    latency_ms_p99: float
    latency_ms_p999: float


class History(Series[SharedTick]):
    """Ticks in order of time."""

    def __init__(self) -> None:
        super().__init__(BLOCK, KEEP_BLOCKS, KEEP_NS)

    def between(self, from_ns: int, to_ns: int) -> Iterator[EdgeStats]:
        """Every edge of every tick that ends in (from_ns, to_ns] and on which calls began or ended."""
        for tick in self.samples(from_ns, to_ns):
            yield from edges_of(tick)

    def of_users(self, namespace: str, name: str, from_ns: int, to_ns: int) -> Iterator[LoadRecord]:
        """For each tick that ends in (from_ns, to_ns] what one user load saw."""
        identity = f"{namespace}/{name}"
        for tick in self.samples(from_ns, to_ns):
            yield tick.detail.loads.get(identity, NOTHING)

    def queues(self, from_ns: int, to_ns: int) -> Iterator[tuple[int, PodRecord]]:
        """Queues of pods in the ticks that end in (from_ns, to_ns] in which they were followed, with the instants."""
        for tick in self.samples(from_ns, to_ns):
            for record in tick.detail.pods.records():
                yield tick.t_ns, record

    def summary(self, edges: list[EdgeStats]) -> Summary:
        """Sums and quantiles over edges and ticks."""
        errors: dict[str, int] = {}
        for edge in edges:
            for kind, count in edge.errors.items():
                errors[kind] = errors.get(kind, 0) + count
        sent, ok = sum(e.sent for e in edges), sum(e.ok for e in edges)  # integers
        parts = [Component(e.ok, e.latency) for e in edges]
        quantiles = [q * 1e-6 for q in mixture_quantiles(parts, (0.5, 0.9, 0.95, 0.99, 0.999))]
        total_ns = sum(int(e.ok * e.latency.mean) for e in edges)  # integers
        return Summary(sent, ok, errors, total_ns / ok * 1e-6 if ok else 0.0, *quantiles)


def edges_of(tick: Tick) -> list[EdgeStats]:
    """The edges of one tick on which calls began or ended."""
    errors: dict[int, dict[str, int]] = {}
    failures = array("i", tick.failures)
    for edge, kind, count in zip(failures[::3], failures[1::3], failures[2::3], strict=True):
        of_edge = errors.setdefault(edge, {})
        of_edge[KINDS[kind]] = of_edge.get(KINDS[kind], 0) + count
    result = []
    for index, (sent, ok) in enumerate(zip(array("i", tick.sent), array("i", tick.ok), strict=True)):
        failed = errors.get(index)
        if sent or ok or failed:
            result.append(EdgeStats(tick.t_ns, tick.layout[index], sent, ok, failed or {}, tick.latencies[index]))
    return result


def packed(failures: Sequence[tuple[int, int, int]]) -> bytes:
    """Failures by edge and kind as a tick keeps them."""
    return array("i", [number for failure in failures for number in failure]).tobytes()
