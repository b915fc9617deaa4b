"""Span metrics: calls of the traffic as the OpenTelemetry collector's spanmetrics connector counts them, by namespace.

Every call that ends is a span of its caller (client) and, if it was served, one of its callee (server). Who is not
instrumented has none of his own: users, data stores. Counts are those of the traffic's history; durations follow the
laws by which the history keeps them (those of users that were measured one by one, as measured), cumulated before they
are rounded, so that buckets never run backwards. A call
that timed out took its time-out, one that found nobody half a millisecond, one that was answered by an error as long as
what it waited for before it failed. Left out: spans inside of a service, those that a cut network loses on their way.
"""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import MILLISECOND, FlatDict, Shared, arithmetic
from simcluster.models.traffic.cluster.causes import DEADLINE, DNS_TIMEOUT, KINDS, STATUS, TIMEOUT
from simcluster.models.traffic.cluster.engine import TrafficEngine
from simcluster.models.traffic.cluster.evaluation import QUICK_FAILURE_NS
from simcluster.models.traffic.cluster.nodes import Layout
from simcluster.models.traffic.cluster.server import Server
from simcluster.models.traffic.cluster.statistics import Latencies, LoadRecord, Tick
from simcluster.models.traffic.graph.histogram import edges as bin_edges
from simcluster.telemetry.metrics.columns import Columns, Labels, counter, histogram, labels
from simcluster.telemetry.metrics.sheets import Layouts, Sheets

Array = NDArray[np.float64]
#: Buckets of the spanmetrics connector by default, milliseconds.
BOUNDS_MS = (2.0, 4.0, 6.0, 8.0, 10.0, 50.0, 100.0, 200.0, 400.0, 800.0, 1e3, 1.4e3, 2e3, 5e3, 1e4, 15e3)
_SERVER, _CLIENT, _UNSET, _ERROR = "SPAN_KIND_SERVER", "SPAN_KIND_CLIENT", "STATUS_CODE_UNSET", "STATUS_CODE_ERROR"
#: Abramowitz & Stegun 26.2.17, as `distribution.normal_cdf`.
_T, _P = 0.2316419, (0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429)
_INV_SQRT_2PI = 0.3989422804014327


class Buckets(Shared):
    """The form of spans that are counted in such buckets.

    Args:
        bounds_ms: upper ends, ascending.
    """

    def __init__(self, bounds_ms: tuple[float, ...]) -> None:
        self.bounds_ms = bounds_ms
        shown = tuple(f"{bound:.6f}".rstrip("0").rstrip(".") for bound in bounds_ms)
        self.form = Columns((counter("calls_total", ""), histogram("duration_milliseconds", "", shown)))
        self.bounds_ns = np.array(bounds_ms) * MILLISECOND
        self.log_bounds = np.array([arithmetic.log(bound * MILLISECOND) for bound in bounds_ms])

    def __reduce__(self) -> tuple[type[Buckets], tuple[tuple[float, ...]]]:
        return (Buckets, (self.bounds_ms,))


def below_bounds(latencies: Latencies, log_bounds: Array) -> Array:
    """Share of calls of every edge that take no longer than each bound (edges by bounds).

    Args:
        log_bounds: logarithms of nanoseconds.
    """
    lates = latencies.lates
    if lates is not None:  # a mixture of the usual ones and of those far behind, as `Latency.humps`
        share, mean, square = (column[:, None] for column in lates.T)
        usual = np.maximum(0.0, latencies.means - (share * mean)[:, 0])
        spread = latencies.variances - (share * square)[:, 0] + (share * mean * (share * mean))[:, 0]
        spread = np.maximum(0.0, spread)
        far = np.maximum(0.0, square - mean * mean)[:, 0]
        late = _below(usual + mean[:, 0], spread + far, log_bounds)
        mixed: Array = (1.0 - share) * _below(usual, spread, log_bounds) + share * late
        return mixed
    return _below(latencies.means, latencies.variances, log_bounds)


def _below(means: Array, variances: Array, log_bounds: Array) -> Array:
    means = np.maximum(means, 1.0)
    squared = variances / (means * means)
    log_means = arithmetic.log_array(means)
    gamma = squared <= 1.0
    spread = np.sqrt(squared) / 3.0
    root = arithmetic.exp_array((log_bounds[None, :] - log_means[:, None]) / 3.0)
    z = (root - (1.0 - squared[:, None] / 9.0)) / np.maximum(spread, 1e-9)[:, None]
    if not gamma.all():
        log_squared = arithmetic.log_array(1.0 + squared)
        deviation = np.sqrt(log_squared)
        middle = log_means - 0.5 * log_squared
        z = np.where(gamma[:, None], z, (log_bounds[None, :] - middle[:, None]) / np.maximum(deviation, 1e-9)[:, None])
    return _normal_cdf(z)


def _normal_cdf(z: Array) -> Array:
    size = np.minimum(np.abs(z), 8.0)
    t = 1.0 / (1.0 + _T * size)
    poly = t * (_P[0] + t * (_P[1] + t * (_P[2] + t * (_P[3] + t * _P[4]))))
    upper = _INV_SQRT_2PI * arithmetic.exp_array(-0.5 * size * size) * poly
    found: Array = np.where(z >= 0.0, 1.0 - upper, upper)
    return found


class Edges(Shared):
    """What the edges of a layout are as spans: rows of the meter, by edge; -1 where there is none.

    Attributes:
        client, server: rows of spans that succeed; the next row is that of errors.
        timeouts_ns: after which a caller gives up.
        users: edges by which users come, by their `namespace/name`.
    """

    __slots__ = ("client", "server", "timeouts_ns", "users")

    def __init__(
        self, client: list[int], server: list[int], timeouts_ns: list[int], users: dict[str, list[int]]
    ) -> None:
        self.client = np.array(client, dtype=np.int64)
        self.server = np.array(server, dtype=np.int64)
        self.timeouts_ns = timeouts_ns
        self.users = users

    def __reduce__(self) -> tuple[type[Edges], tuple[list[int], list[int], list[int], dict[str, list[int]]]]:
        return (Edges, (self.client.tolist(), self.server.tolist(), self.timeouts_ns, self.users))


class SpanMeter:
    """Counts spans from now on.

    Attributes:
        groups: labels of every row.
    """

    def __init__(self, traffic: TrafficEngine, now_ns: int, buckets: Buckets) -> None:
        self.traffic = traffic
        self.buckets = buckets
        self.groups: list[Labels] = []
        self._layouts = Layouts()
        self._met: list[Server] = []  # servers whose names are known
        self._until_ns = now_ns
        self._rows: dict[Labels, int] = FlatDict()
        self._sums = np.zeros((0, len(buckets.form)))  # counts, by row and column; of durations the sum in milliseconds
        self._edges: tuple[Layout, Edges] | None = None
        self._names: dict[tuple[str, str, str], str] = FlatDict()  # namespace, pod, container -> service
        #: Namespace of a caller, host, port and operation -> namespace and service of who was called, and the caller's
        #: time-out.
        self._places: dict[tuple[str, str, int, str], tuple[str, str, int]] = FlatDict()
        self._known: Layout | None = None
        #: Users' requests that were measured one by one and are not counted yet: in the columns of a row, by users.
        self._seen: dict[str, Array] = {}
        self._look()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_met": []}

    def advance(self, now_ns: int) -> None:
        """Count what has ended until now."""
        latencies: Latencies | None = None
        ended: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        layout: Layout | None = None
        self._look()
        for tick in self.traffic.history.samples(self._until_ns, now_ns):
            if tick.latencies is not latencies or tick.layout is not layout:
                self._count(layout, latencies, ended)
                layout, latencies = tick.layout, tick.latencies
                ended = np.zeros(len(layout), dtype=np.int64)
            fine = np.frombuffer(tick.ok, dtype=np.int32)
            ended += fine
            for name, record in tick.detail.loads.items():
                if (record.bins or name in self._seen) and not record.laws and record.attempts == record.requests:
                    self._measure(tick.layout, name, record, (fine, ended))
            if tick.failures:
                self._fail(tick)
        self._count(layout, latencies, ended)
        self._until_ns = now_ns

    def samples(self) -> Sheets:
        """Everything counted so far, of series that have counted something."""
        some = np.flatnonzero(self._sums[:, 0] >= 1.0)
        if not len(some):
            return Sheets({})
        whole = np.floor(self._sums[some])
        whole[:, -2] = self._sums[some, -2]
        # The rounding of shares must not leave the last bucket behind the count.
        whole[:, -3] = whole[:, -1] = whole[:, 0]
        form = self.buckets.form
        return Sheets({form: self._layouts.table(form, [self.groups[row] for row in some.tolist()], whole)})

    def _count(self, layout: Layout | None, latencies: Latencies | None, ended: NDArray[np.int64]) -> None:
        """So many calls ended well on every edge."""
        if layout is None or latencies is None or not ended.any():
            return
        edges, counts = self._edges_of(layout), ended.astype(np.float64)
        part = np.empty((len(counts), len(self.buckets.form)))
        part[:, 0] = part[:, -1] = part[:, -3] = counts
        part[:, 1:-3] = counts[:, None] * below_bounds(latencies, self.buckets.log_bounds)
        part[:, -2] = counts * latencies.means / MILLISECOND
        there = edges.client >= 0
        np.add.at(self._sums, edges.client[there], part[there])
        for edge, law in latencies.served:
            part[edge, 1:-3] = counts[edge] * below_bounds(Latencies.of([law]), self.buckets.log_bounds)[0]
            part[edge, -2] = counts[edge] * law.mean / MILLISECOND
        there = edges.server >= 0
        np.add.at(self._sums, edges.server[there], part[there])

    def _measure(
        self, layout: Layout, name: str, record: LoadRecord, counts: tuple[NDArray[np.int32], NDArray[np.int64]]
    ) -> None:
        """Requests of users of whom each is known by how long it took; they are no longer among those that ended.

        They were seen at other ticks than they are counted: who is counted took as long as those who wait for that.
        """
        fine, ended = counts
        edges = self._edges_of(layout)
        seen = self._seen.setdefault(name, np.zeros(len(self.buckets.form)))
        if record.bins:
            numbers = np.frombuffer(record.bins, dtype=np.int32)
            bounds = np.array([bin_edges(place) for place in numbers[::2].tolist()])
            weights, middles = numbers[1::2].astype(np.float64), 0.5 * (bounds[:, 0] + bounds[:, 1])
            below = [float(np.add.reduce(weights[middles <= bound])) for bound in self.buckets.bounds_ns.tolist()]
            total, mean = float(np.add.reduce(weights)), float(np.add.reduce(weights * middles)) / MILLISECOND
            seen += np.array([total, *below, total, mean, total])
        law, counted = seen / max(seen[0], 1.0), 0
        for edge in edges.users.get(name, ()) if seen[0] else ():
            row, count = int(edges.server[edge]), int(fine[edge])
            ended[edge] -= count
            counted += count
            if row >= 0:
                self._sums[row] += count * law
        seen *= max(0.0, 1.0 - counted * float(law[0]) / float(seen[0])) if counted else 1.0

    def _fail(self, tick: Tick) -> None:
        edges, numbers = self._edges_of(tick.layout), array("i", tick.failures)
        for edge, kind, count in zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True):
            word = KINDS[kind]
            if word in (TIMEOUT, DEADLINE, DNS_TIMEOUT):
                took_ns = float(edges.timeouts_ns[edge])
            elif word == STATUS:
                took_ns = tick.latencies.answered.get(edge, tick.latencies[edge].mean)
            else:
                took_ns = QUICK_FAILURE_NS
            part = np.zeros(len(self.buckets.form))
            part[0] = part[-1] = part[-3] = count
            part[1:-3] = np.where(self.buckets.bounds_ns >= took_ns, count, 0)
            part[-2] = count * took_ns / MILLISECOND
            served = (int(edges.server[edge]),) if word == STATUS else ()
            for row in (int(edges.client[edge]), *served):
                if row >= 0:
                    self._sums[row + 1] += part

    def _edges_of(self, layout: Layout) -> Edges:
        if self._edges is None or self._edges[0] is not layout:
            self._edges = (layout, self._described(layout))
        return self._edges[1]

    def _described(self, layout: Layout) -> Edges:
        client, server, timeouts = list[int](), list[int](), list[int]()
        users = dict[str, list[int]]()
        for index, key in enumerate(layout):
            place = (key.namespace, key.host, key.port, key.operation)
            there, callee, timeout_ns = self._places.get(place, ("", "", 0))
            caller = self._names.get((key.namespace, key.pod, key.container), "") if key.container else ""
            client.append(self._row((key.namespace, caller), key.operation, _CLIENT))
            server.append(self._row((there, callee), key.operation, _SERVER))
            timeouts.append(timeout_ns)
            if not key.container:
                users.setdefault(f"{key.namespace}/{key.pod}", []).append(index)
        return Edges(client, server, timeouts, users)

    def _look(self) -> None:
        """Learn who calls and who is called: plans come and go between two readings, names stay."""
        servers = list(self.traffic.servers.values())
        for server in servers if servers != self._met else ():
            spec = server.container.spec
            self._names[spec.namespace, spec.pod_name, spec.name] = "" if _is_store(server) else server.spec.name
        self._met = servers
        plan = self.traffic.plan
        if plan.layout is self._known:
            return
        self._known = plan.layout
        for key, edge in zip(plan.layout, plan.edges, strict=True):
            node = next((plan.nodes[target.node] for target in edge.targets if target.node >= 0), None)
            place = (key.namespace, key.host, key.port, key.operation)
            if node is not None:
                there = plan.servers[node.server]
                service = "" if _is_store(there) else there.spec.name
                self._places[place] = (there.container.spec.namespace, service, edge.call.timeout_ns)
            else:
                self._places.setdefault(place, ("", "", edge.call.timeout_ns))

    def _row(self, whose: tuple[str, str], name: str, kind: str) -> int:
        """The row of spans of a service (namespace and name) that succeed; errors have the next."""
        namespace, service = whose
        if not service:
            return -1
        key = labels(k8s_namespace_name=namespace, service_name=service, span_kind=kind, span_name=name)
        found = self._rows.get(key)
        if found is None:
            found = self._rows[key] = len(self.groups)
            for status in (_UNSET, _ERROR):
                self.groups.append(tuple(sorted((*key, ("status_code", status)))))
            self._sums = np.concatenate((self._sums, np.zeros((2, len(self.buckets.form)))))
        return found


def _is_store(server: object) -> bool:
    program = getattr(server, "shortage", None)
    return bool(getattr(getattr(program, "behaviour", None), "data_store", ""))
