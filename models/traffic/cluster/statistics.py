"""What happened on every edge in every tick, in compact immutable records."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import Shared
from simcluster.engine.clock import HOUR
from simcluster.models.traffic.cluster.causes import KINDS
from simcluster.models.traffic.cluster.distribution import Component, Latency, mixture_quantiles, quantile
from simcluster.models.traffic.cluster.nodes import EdgeKey, Layout
from simcluster.telemetry.series import Series

#: One hour is kept, in blocks of so many ticks: at most as many as ticks of half a second need.
BLOCK = 64
KEEP_BLOCKS, KEEP_NS = 113, HOUR
_NUMBER = struct.Struct("d")


class Latencies(Shared):
    """Latency of every edge, as of one evaluation of the plan; a sequence of `Latency`."""

    __slots__ = ("_means", "_variances")

    def __init__(self, means: Sequence[float] | NDArray[np.float64] = (), variances: Any = ()) -> None:
        self._means = np.array(means, dtype=np.float64).tobytes()
        self._variances = np.array(variances, dtype=np.float64).tobytes()

    @classmethod
    def of(cls, latencies: Sequence[Latency]) -> Latencies:
        """The same as numbers."""
        return cls([each.mean for each in latencies], [each.variance for each in latencies])

    @property
    def means(self) -> NDArray[np.float64]:
        """Their means, not to be changed."""
        return np.frombuffer(self._means)

    def __len__(self) -> int:
        return len(self._means) // 8

    def __getitem__(self, index: int) -> Latency:
        at = 8 * index
        return Latency(*_NUMBER.unpack_from(self._means, at), *_NUMBER.unpack_from(self._variances, at))

    def __iter__(self) -> Iterator[Latency]:
        means, variances = np.frombuffer(self._means).tolist(), np.frombuffer(self._variances).tolist()
        return map(Latency, means, variances)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Latencies) and (self._means, self._variances) == (other._means, other._variances)

    def __hash__(self) -> int:
        raise TypeError("latencies are no keys")

    def __repr__(self) -> str:
        return f"Latencies({list(self)})"


class LoadRecord(NamedTuple):
    """What one user load saw in a tick: whole requests, whatever number of attempts they took.

    Attributes:
        requests: begun; `attempts` theirs; `ok` and `failed` (kind, count) are those that ended.
        parts: latencies of the successful ones as (share, nanoseconds); empty: those of the edges.
    """

    requests: int
    attempts: int
    ok: int
    failed: tuple[tuple[str, int], ...]
    parts: tuple[tuple[float, float], ...] = ()


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
    """What only a tick tells in which queues, time-outs and retries were followed.

    Attributes:
        loads: user loads by `namespace/name`.
        pods: those that serve.
    """

    loads: dict[str, LoadRecord]
    pods: PodTable = PodTable()


class Tick(NamedTuple):
    """One tick.

    Attributes:
        t_ns: its end.
        sent: calls on each edge of `layout`, an array of 32-bit integers.
        failures: edge, kind (index into `KINDS`), count, one triple after the other, 32-bit integers.
        detail: what a tick with queues and retries has besides.
    """

    t_ns: int
    layout: Layout
    latencies: Latencies
    sent: bytes
    failures: bytes
    detail: Detail | None = None


class SharedTick(Tick, Shared):
    """A tick in the history: immutable, so forks share it."""

    __slots__ = ()


class EdgeStats(NamedTuple):
    """What happened on one edge in one tick; `latency` is that of calls that succeeded."""

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
        """Every edge of every tick that ends in (from_ns, to_ns] and had calls."""
        for tick in self.samples(from_ns, to_ns):
            yield from edges_of(tick)

    def of_users(
        self, namespace: str, name: str, from_ns: int, to_ns: int
    ) -> Iterator[tuple[LoadRecord | None, list[EdgeStats]]]:
        """For each tick that ends in (from_ns, to_ns] what one user load saw: its record, and its edges."""
        layout: Layout | None = None
        own: list[int] = []
        identity = f"{namespace}/{name}"
        for tick in self.samples(from_ns, to_ns):
            if tick.layout is not layout:
                layout = tick.layout
                own = [
                    i for i, k in enumerate(layout) if k.pod == name and not k.container and k.namespace == namespace
                ]
            record = tick.detail.loads.get(identity) if tick.detail is not None else None
            yield record, edges_of(tick, own)

    def queues(self, from_ns: int, to_ns: int) -> Iterator[tuple[int, PodRecord]]:
        """Queues of pods in the ticks that end in (from_ns, to_ns] in which they were followed, with the instants."""
        for tick in self.samples(from_ns, to_ns):
            for record in tick.detail.pods.records() if tick.detail is not None else ():
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


def edges_of(tick: Tick, indices: Sequence[int] | None = None) -> list[EdgeStats]:
    """The edges of one tick that had calls, all or those of `indices`."""
    errors: dict[int, dict[str, int]] = {}
    failures = array("i", tick.failures)
    for edge, kind, count in zip(failures[::3], failures[1::3], failures[2::3], strict=True):
        of_edge = errors.setdefault(edge, {})
        of_edge[KINDS[kind]] = of_edge.get(KINDS[kind], 0) + count
    calls = array("i", tick.sent)
    result = []
    for index in range(len(calls)) if indices is None else indices:
        sent = calls[index]
        if sent:
            failed = errors.get(index, {})
            ok = max(0, sent - sum(failed.values()))  # integers
            result.append(EdgeStats(tick.t_ns, tick.layout[index], sent, ok, failed, tick.latencies[index]))
    return result


def packed(failures: Sequence[tuple[int, int, int]]) -> bytes:
    """Failures by edge and kind as a tick keeps them."""
    return array("i", [number for failure in failures for number in failure]).tobytes()
