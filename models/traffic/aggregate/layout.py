"""A call graph as arrays: pods, nodes, edges and lanes.

- A *pod* is a replica of a service: one queue.
- A *node* is an operation as one kind of root request (a target of a load) meets it, so that a
  request keeps its kind through all its retries.
- An *edge* is a call site of a node, or a load's target: it has a policy.
- A *lane* is an edge into one pod of its callee.

Pods, edges and lanes are ordered by level, callers before callees, so that each level is one
slice. What closes a circle (asynchronous messages, two services that call each other by
different operations) carries its requests over to the next tick.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import Shared
from simcluster.engine.streams import Streams
from simcluster.models.traffic.aggregate.durations import Distribution, sum_of, values_of
from simcluster.models.traffic.aggregate.priorities import base_of, retry_reference
from simcluster.models.traffic.aggregate.ways import Ways
from simcluster.models.traffic.graph.flat import Flattened, Site, flatten
from simcluster.models.traffic.graph.laws import Law
from simcluster.models.traffic.graph.networks import networkx
from simcluster.models.traffic.graph.policy import Policy
from simcluster.models.traffic.graph.service import Call, Service
from simcluster.models.traffic.graph.spec import GraphSpec

if TYPE_CHECKING:
    from networkx import DiGraph

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: Servers of a pod that has no limit.
UNLIMITED = 1 << 40


@dataclass
class Node(Shared):
    """An operation as one target of one load meets it."""

    index: int
    service: int
    service_name: str
    operation: str
    flat: Flattened
    work_ns: float
    wait_ns: float
    scv: float
    failure: float
    contention_ns: float
    kind: str = ""


@dataclass
class Edge(Shared):
    """A call site of a node, or a target of a load (then `caller` is -1 and `weight` its share)."""

    index: int
    caller: int
    caller_name: str
    child: int
    policy: Policy
    site: Site | None
    load: str
    weight: float
    asynchronous: bool = False
    times: int = 1
    required: bool = True
    level: int = 0
    #: the edge whose retries it takes, as those have another priority
    first: Edge | None = None


class Graph(Shared):
    """Nodes and edges of a spec, found from the loads downwards."""

    def __init__(self, spec: GraphSpec, seed: int) -> None:
        self.spec = spec
        self.service_names = list(spec.services)
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self.values: list[Array] = []
        self._laws: dict[str, Array] = {}
        self._streams = Streams(seed)
        self._known: dict[tuple[str, str, str, str], int] = {}
        for name, load in spec.load.items():
            for reference, weight in load.targets().items():
                total = sum_weights(load.targets())
                service, operation = spec.operation(reference)
                child = self._node(f"{name} {reference}", service, operation)
                self.edges.append(Edge(0, -1, name, child, load.call, None, name, weight / total))
                self._retried(self.edges[-1], f"{name} {reference}")
        self.service_level = self._levels()
        for edge in self.edges:
            edge.level = self.service_level[self.nodes[edge.child].service]
        self.edges.sort(key=_level)
        for index, edge in enumerate(self.edges):
            edge.index = index

    def _node(self, kind: str, service: str, operation: str) -> int:
        key = (kind, service, operation, "")
        if key in self._known:
            return self._known[key]
        spec = self.spec.services[service]
        flat = flatten(spec.operations[operation])
        node = self._measure(len(self.nodes), service, operation, flat)
        self._known[key] = node.index
        node.kind = kind
        self.nodes.append(node)
        for site in flat.sites:
            call = site.call
            target, child_operation = self.spec.callee(call)
            child = self._node(kind, target, child_operation)
            policy = call if isinstance(call, Call) else Policy(network=call.network, priority=call.priority)
            edge = Edge(0, node.index, service, child, policy, site, "", 0.0)
            if isinstance(call, Call):
                edge.times, edge.required = int(call.times), call.required
            else:
                edge.asynchronous, edge.required = True, False
            self.edges.append(edge)
            self._retried(edge, kind)
        return node.index

    def _retried(self, edge: Edge, kind: str) -> None:
        """An edge for retries of another priority."""
        called = self.nodes[edge.child]
        there = retry_reference(self.spec, called.service_name, called.operation, edge.policy)
        if there is not None:
            child = self._node(kind, *there)
            self.edges.append(Edge(0, -1, edge.caller_name, child, edge.policy, None, edge.load, 0.0, first=edge))

    def _measure(self, index: int, service: str, operation: str, flat: Flattened) -> Node:
        spec = self.spec.services[service]
        parts, work, wait, second = [], 0.0, 0.0, 0.0
        for part in flat.parts:
            scale = 1.0 / spec.speed if part.is_work else 1.0
            parts.append((self.values_of(part.law) * scale, part.reach))
            mean = part.law.mean_ns * scale
            if part.is_work:
                work += part.reach * mean
                second += part.reach * mean * mean * (1.0 + part.law.scv) - (part.reach * mean) * (part.reach * mean)
            else:
                wait += part.reach * mean
        self.values.append(sum_of(parts, self._streams, f"{service}/{operation}") if parts else np.zeros(4096))
        described = spec.operations[operation]
        scv = max(second, 0.0) / (work * work) if work > 0.0 else 0.0
        name = self.service_names.index(service)
        return Node(
            index, name, service, operation, flat, work, wait, scv, described.failure, float(described.contention)
        )  # fmt: skip

    def values_of(self, law: Law) -> Array:
        """Values of a law, worked out once."""
        key = law.model_dump_json()
        if key not in self._laws:
            self._laws[key] = values_of(law)
        return self._laws[key]

    def _levels(self) -> list[int]:
        nx = networkx()
        graph: DiGraph[int] = nx.DiGraph()
        graph.add_nodes_from(range(len(self.service_names)))
        # queues of several priorities are one
        names = [base_of(name) for name in self.service_names]
        one = [names.index(name) for name in names]
        for edge in self.edges:
            caller = edge.first.caller if edge.first is not None else edge.caller
            if caller >= 0:
                graph.add_edge(one[self.nodes[caller].service], one[self.nodes[edge.child].service])
        condensed = nx.condensation(graph)
        level: dict[int, int] = {}
        for part in nx.topological_sort(condensed):
            above = [level[p] + 1 for p in condensed.predecessors(part)]
            level[part] = max(above, default=0)
        mapping = condensed.graph["mapping"]
        return [level[mapping[one[s]]] for s in range(len(self.service_names))]


def sum_weights(weights: dict[str, float]) -> float:
    """Sum in the order of the file."""
    total = 0.0
    for weight in weights.values():
        total += weight
    return total


def _level(edge: Edge) -> int:
    return edge.level


def servers_of(service: Service, graph: Graph, index: int) -> tuple[int, int, bool]:
    """(servers of the queue, workers, whether a worker is held during calls and waits) of a replica."""
    nodes = _nodes_of(graph, index)
    workers = service.workers or UNLIMITED
    cores = min(service.cores or workers, workers)
    held = service.blocking and workers < UNLIMITED
    holds = held and any(
        node.wait_ns > 0.0 or any(isinstance(site.call, Call) for site in node.flat.sites) for node in nodes
    )
    return (workers if holds else cores), workers, holds


def _nodes_of(graph: Graph, index: int) -> list[Node]:
    """Operations of a service, at all priorities."""
    name = base_of(graph.service_names[index])
    return [node for node in graph.nodes if base_of(node.service_name) == name]


class Levels(Shared):
    """Where every level's pods, lanes, edges and pairs of lane and called edge begin."""

    def __init__(self, layout: Layout) -> None:
        self.pods = _begins(layout.level_pods, layout.pods)
        self.lanes = _begins(layout.level_lanes, layout.lanes)
        self.edges = _begins(layout.level_edges, layout.edges)
        sizes = [len(rows) for rows, _ in layout.level_pairs]
        self.pairs = np.cumsum([0, *sizes], dtype=np.int64)
        self.pair_lane = np.concatenate([rows for rows, _ in layout.level_pairs])
        self.pair_edge = np.concatenate([below for _, below in layout.level_pairs])


def _begins(slices: list[slice], count: int) -> Index:
    """Starts of slices that follow each other, and the end; empty ones stand where the next one begins."""
    found, end = [], count
    for each in reversed(slices):
        end = each.start if each.stop > each.start else end
        found.append(end)
    return np.array([*reversed(found), count], dtype=np.int64)


class _Constants(Shared):
    """What forks of a layout share: all but its cores."""

    def __init__(self, layout: Layout) -> None:
        self._named = {name: value for name, value in vars(layout).items() if name not in ("cores", "_constants")}


class Layout:
    """All constant arrays of a run. Times are in ticks unless the name says otherwise.

    Only `cores` may change, where pods of a cluster get more or less CPU.
    """

    cores: Array
    _constants: _Constants | None = None

    def __init__(self, graph: Graph, tick_ns: int, pods: Mapping[str, Sequence[str]] | None = None) -> None:
        self.graph = graph
        self.tick_ns = tick_ns
        self.pods_named = pods or {}
        self._pods()
        self._edges()
        self._lanes()
        self._tree()

    def __getstate__(self) -> tuple[_Constants, Array]:
        self._constants = self._constants or _Constants(self)
        return self._constants, self.cores

    def __setstate__(self, state: tuple[_Constants, Array]) -> None:
        self._constants, self.cores = state
        self.__dict__.update(self._constants._named)

    def _pods(self) -> None:
        graph, spec = self.graph, self.graph.spec
        order = sorted(range(len(graph.service_names)), key=self._service_key)
        self.pod_service: list[int] = []
        self.pod_names: list[str] = []
        self.first_pod = [0] * len(order)
        self.replicas = [0] * len(order)
        for service in order:
            name = graph.service_names[service]
            self.first_pod[service] = len(self.pod_service)
            self.replicas[service] = spec.services[name].replicas
            self.pod_service += [service] * self.replicas[service]
            self.pod_names += self.pods_named.get(name) or [f"{name}/{i}" for i in range(self.replicas[service])]
        count = len(self.pod_service)
        self.pods = count
        self.servers = np.ones(count)
        self.cores = np.ones(count)
        self.workers = np.ones(count)
        self.holds = np.zeros(count, dtype=bool)
        self.work = np.zeros(count)  # reference work of one unit of the queue, in ticks at full speed
        self.scv = np.zeros(count)
        self.sharing = np.zeros(count, dtype=bool)
        self.bound = np.full(count, np.inf)
        self.in_flight_max = np.full(count, np.inf)
        for service in order:
            self._pod_arrays(service)
        #: services all of whose times are of gamma laws
        self.gamma_only = [
            all(part.law.law == "gamma" for node in graph.nodes if node.service == index for part in node.flat.parts)
            for index in range(len(graph.service_names))
        ]
        self.service_starts = np.array(sorted(self.first_pod), dtype=np.int64)
        self.infinite = self.servers >= UNLIMITED
        self.level_of_pod = np.array([graph.service_level[s] for s in self.pod_service], dtype=np.int64)

    def _service_key(self, service: int) -> tuple[int, int]:
        return self.graph.service_level[service], service

    def _pod_arrays(self, index: int) -> None:
        service = self.graph.spec.services[self.graph.service_names[index]]
        here = slice(self.first_pod[index], self.first_pod[index] + self.replicas[index])
        servers, workers, holds = servers_of(service, self.graph, index)
        cores = min(service.cores or workers, workers)
        nodes = _nodes_of(self.graph, index)
        works = [node.work_ns for node in nodes if node.work_ns > 0.0]
        reference = max(works) if works else 0.0
        self.servers[here], self.cores[here], self.holds[here] = servers, cores, holds
        self.workers[here] = workers
        self.work[here] = reference / self.tick_ns
        # how many share a core depends on the mean of their work alone (insensitivity): as with exponential work
        shared = service.sharing == "processor"
        self.sharing[here] = shared
        self.scv[here] = 1.0 if shared else max((node.scv for node in nodes if node.work_ns > 0.0), default=0.0)
        bound = float("inf") if service.queue.bound is None else float(service.queue.bound)
        if service.shed is not None and service.shed.max_queue is not None:
            bound = min(bound, float(service.shed.max_queue))
        # who waits for a core while holding a worker is not in the queue that is bounded
        self.bound[here] = bound + (
            0.0 if holds or servers >= UNLIMITED else max(0, workers - servers) if workers < UNLIMITED else np.inf
        )
        if service.shed is not None and service.shed.adaptive is not None:
            self.in_flight_max[here] = service.shed.adaptive.initial
        elif service.shed is not None and service.shed.max_in_flight is not None:
            self.in_flight_max[here] = service.shed.max_in_flight

    def _edges(self) -> None:
        graph, edges, tick = self.graph, self.graph.edges, self.tick_ns
        count = len(edges)
        self.edges = count
        self.child = np.array([e.child for e in edges], dtype=np.int64)
        self.caller = np.array([e.caller for e in edges], dtype=np.int64)
        self.attempts = np.array([_affordable(e.policy) for e in edges], dtype=np.int64)
        self.max_attempts = int(self.attempts.max())
        self.timeout = np.array([float(e.policy.timeout or 0) / tick for e in edges])
        self.deadline = np.array([float(e.policy.deadline or 0) / tick for e in edges])
        only = (self.deadline > 0.0) & (self.timeout == 0.0)
        self.timeout[only] = self.deadline[only]
        self.timed = self.timeout > 0.0
        self.timeout_ticks = np.where(self.timed, np.maximum(1, np.floor(self.timeout + 0.5)), 0).astype(np.int64)
        self.ways = Ways(graph, tick)
        self.network = self.ways.network
        place = {
            service: i for i, service in enumerate(sorted(range(len(self.first_pod)), key=self.first_pod.__getitem__))
        }
        self.edge_service = np.array([place[graph.nodes[e.child].service] for e in edges], dtype=np.int64)
        self.edge_level = np.array([e.level for e in edges], dtype=np.int64)
        self.slots = int(self.timeout_ticks.max()) + 3 if count else 3

    def _lanes(self) -> None:
        graph = self.graph
        lane_edge, lane_pod = [], []
        for edge in graph.edges:
            service = graph.nodes[edge.child].service
            for pod in range(self.replicas[service]):
                lane_edge.append(edge.index)
                lane_pod.append(self.first_pod[service] + pod)
        order = sorted(range(len(lane_edge)), key=_by_pod(lane_pod, lane_edge))
        self.lane_edge = np.array([lane_edge[i] for i in order], dtype=np.int64)
        self.lane_pod = np.array([lane_pod[i] for i in order], dtype=np.int64)
        self.lanes = len(order)
        child = self.child[self.lane_edge]
        self.lane_node = child
        self.lane_work = work = np.array([n.work_ns for n in graph.nodes])[child] / self.tick_ns
        reference = self.work[self.lane_pod]
        relative = np.where(reference > 0.0, work / np.where(reference > 0.0, reference, 1.0), 1.0)
        # a queue of requests without work is a queue of places: each counts one
        self.relative = np.where(self.holds[self.lane_pod], 1.0, np.maximum(relative, 1e-6))
        self.share = np.array([1.0 / self.replicas[graph.nodes[c].service] for c in child])
        by_node: dict[int, list[Edge]] = {}
        for edge in graph.edges:
            if edge.caller >= 0:
                by_node.setdefault(edge.caller, []).append(edge)
        self.children = by_node
        self.levels = int(self.level_of_pod.max()) + 1
        self._pairs(by_node)

    def _pairs(self, by_node: dict[int, list[Edge]]) -> None:
        """Which lane's requests make which calls."""
        self.level_pods, self.level_lanes, self.level_edges = [], [], []
        self.level_pairs: list[tuple[Index, Index]] = []
        self.level_late: list[tuple[Index, Index]] = []
        lane_level = self.level_of_pod[self.lane_pod]
        for level in range(self.levels):
            self.level_pods.append(_slice(self.level_of_pod, level))
            self.level_lanes.append(_slice(lane_level, level))
            self.level_edges.append(_slice(self.edge_level, level))
            now: tuple[list[int], list[int]] = ([], [])
            late: tuple[list[int], list[int]] = ([], [])
            for lane in range(self.level_lanes[-1].start, self.level_lanes[-1].stop):
                for edge in by_node.get(int(self.lane_node[lane]), ()):
                    chosen = now if edge.level > level else late
                    chosen[0].append(lane)
                    chosen[1].append(edge.index)
            self.level_pairs.append((np.array(now[0], dtype=np.int64), np.array(now[1], dtype=np.int64)))
            self.level_late.append((np.array(late[0], dtype=np.int64), np.array(late[1], dtype=np.int64)))
        self.has_late = any(len(p[0]) for p in self.level_late)

    def _tree(self) -> None:
        """The tree of success and the sums of times, over all edges that have a caller."""
        graph = self.graph
        self.calls_per_visit = np.array([e.site.reach * e.times if e.site is not None else 0.0 for e in graph.edges])
        self.inner = np.array([e.site.inner if e.site is not None else 0.0 for e in graph.edges])
        self.times = np.array([e.times for e in graph.edges], dtype=np.int64)
        self.required = np.array([e.required for e in graph.edges], dtype=bool)
        self.asynchronous = np.array([e.asynchronous for e in graph.edges], dtype=bool)
        self.distribution = Distribution([values / self.tick_ns for values in graph.values])
        self.node_work = np.array([n.work_ns for n in graph.nodes]) / self.tick_ns
        self.node_wait = np.array([n.wait_ns for n in graph.nodes]) / self.tick_ns
        self.node_own = self.node_work + self.node_wait
        self.node_failure = np.array([n.failure for n in graph.nodes])
        self.node_contention = np.array([n.contention_ns for n in graph.nodes]) / self.tick_ns
        self.node_service = np.array([n.service for n in graph.nodes], dtype=np.int64)
        #: services, and the edges over which the arms of a fork reach each of them at once, fork by fork
        self.forks: dict[int, list[list[int]]] = {}
        for node in sorted(self.children):
            together: dict[tuple[int, int], dict[int, int]] = {}
            for edge in self.children[node]:
                site = edge.site
                if site is not None and not edge.asynchronous:
                    arms = together.setdefault((site.unit, int(self.node_service[edge.child])), {})
                    arms.setdefault(site.arm, edge.index)
            for (_, service), firsts in together.items():
                if len(firsts) > 1:
                    self.forks.setdefault(service, []).append(list(firsts.values()))


def _affordable(policy: Policy) -> int:
    """Attempts that can begin before the deadline of the call if each one runs into its timeout."""
    if policy.deadline is None or policy.timeout is None:
        return policy.attempts
    backoff = policy.retries.backoff if policy.retries is not None else None
    decorrelated = backoff is not None and backoff.jitter == "decorrelated"
    at, delay, count = 0.0, float(backoff.base) * (2.0 if decorrelated else 1.0) if backoff is not None else 0.0, 0
    while count < policy.attempts and at < policy.deadline:
        count += 1
        share = {"full": 0.5, "equal": 0.75}.get(backoff.jitter, 1.0) if backoff is not None else 1.0
        at += policy.timeout + delay * share
        if backoff is not None:
            longer = 0.5 * (backoff.base + 3.0 * delay) if decorrelated else delay * backoff.factor
            delay = min(longer, float(backoff.max or 1e18))
    return max(1, count)


def _by_pod(pods: list[int], edges: list[int]) -> _LaneKey:
    return _LaneKey(pods, edges)


class _LaneKey:
    def __init__(self, pods: list[int], edges: list[int]) -> None:
        self._pods = pods
        self._edges = edges

    def __call__(self, lane: int) -> tuple[int, int]:
        return self._pods[lane], self._edges[lane]


def _slice(levels: Index, level: int) -> slice:
    where = np.nonzero(levels == level)[0]
    return slice(int(where[0]), int(where[-1]) + 1) if len(where) else slice(0, 0)
