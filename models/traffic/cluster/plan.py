"""The call graph as it is wired at one instant: who calls whom, over which route.

Built from the network's tables and the running servers whenever one of them changes, and
used unchanged by every tick in between. A node is one operation of one container; an edge
is one call of an operation (or of a group of users) with the places where it may arrive.
Calls that close a circle fail; those of undescribed servers, which call every Service they know,
are left out: two that know each other would call for ever.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import MICROSECOND, FlatDict, FlatList, Shared
from simcluster.engine.streams import Streams
from simcluster.models.machine.links.quality import Cost
from simcluster.models.machine.names import cluster_first, is_loopback
from simcluster.models.machine.network import OUTSIDE, Network
from simcluster.models.traffic.cluster.causes import DENIED, PROTOCOL, RESET, UNKNOWN
from simcluster.models.traffic.cluster.distribution import Late
from simcluster.models.traffic.cluster.messages import in_order_of_messages
from simcluster.models.traffic.cluster.nodes import Edge, EdgeKey, Layout, Node, Target, twin
from simcluster.models.traffic.cluster.operations import ANY_PATH, CallSpec
from simcluster.models.traffic.cluster.resolve import Origin, Resolver
from simcluster.models.traffic.cluster.server import Server
from simcluster.models.traffic.cluster.users import UserLoad

#: Round trip inside a node, and between nodes of one data centre, kernel and virtual switch included.
SAME_NODE_NS = 60 * MICROSECOND
OTHER_NODE_NS = 250 * MICROSECOND
#: Size of a call and its answer, where links matter: headers and a small document.
REQUEST_BYTES, ANSWER_BYTES = 700, 4_000


class _Wired(Shared):
    """Nodes, edges and roots of a plan, as forks share them."""

    __slots__ = ("edges", "nodes", "roots")

    def __init__(self, plan: Plan) -> None:
        self.nodes, self.edges, self.roots = plan.nodes, plan.edges, plan.roots


class Plan:
    """Everything a tick walks through.

    Forks share nodes and edges until one of them evaluates its plan anew: who is about to change what they
    hold calls `own` first, and takes them from the plan afterwards.

    Attributes:
        servers: accepting servers; `first_node` the index of the first node of each.
        order: nodes that call or are called, callers before callees.
        edges: all edges, `keys` those of their draws; `roots` the index of the edges of each user load.
        opaque: whether something answers by itself, so that the plan must be made anew now and then.
        made: of edges behind caches, the share of requests whose look-ups miss.
        walked: whether requests must be walked through it edge by edge: it has caches, or messages that arrive later.
        pending: node -> messages that arrive in the next tick.
    """

    def __init__(self, servers: list[Server]) -> None:
        self.servers = servers
        self.first_node: list[int] = FlatList()
        self.index_of = FlatDict({server.container.container_id: index for index, server in enumerate(servers)})
        self.nodes: list[Node] = []
        self.order: list[int] = FlatList()
        self.edges: list[Edge] = []
        self.roots: list[list[Edge]] = []
        self.layout = Layout()
        self.keys: NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)
        self.opaque = False
        self.made: dict[int, float] = {}
        self.walked = False
        self.pending: dict[int, int] = {}
        self._wired: _Wired | None = None

    def own(self) -> None:
        """Nodes and edges are going to be changed: no longer those of a fork."""
        if self._wired is not None:
            edges = [twin(edge) for edge in self.edges]
            for edge in edges:
                edge.targets = [twin(target) for target in edge.targets]
            self.nodes, self.edges = [twin(node) for node in self.nodes], edges
            for node in self.nodes:
                node.steps = [[edges[edge.index] for edge in step] for step in node.steps]
            self.roots = [[edges[edge.index] for edge in root] for root in self.roots]
            self._wired = None

    def __getstate__(self) -> dict[str, Any]:
        self._wired = self._wired or _Wired(self)
        state = self.__dict__.copy()
        del state["nodes"], state["edges"], state["roots"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        wired = self._wired
        assert wired is not None
        self.nodes, self.edges, self.roots = wired.nodes, wired.edges, wired.roots

    def node_of(self, container_id: str, operation: int) -> Node | None:
        """The node of an operation of a container, if it is in the plan."""
        index = self.index_of.get(container_id)
        return None if index is None else self.nodes[self.first_node[index] + operation]


class PlanBuilder:
    """Wires one plan."""

    def __init__(
        self, streams: Streams, network: Network, servers: Iterable[Server], users: Sequence[UserLoad]
    ) -> None:
        self._streams = streams
        self._network = network
        self._plan = Plan([s for s in servers if s.accepting])
        self._resolver = Resolver(network, self._plan.index_of)
        self._users = users
        self._keys: list[EdgeKey] = []
        self._messages = False

    def build(self) -> Plan:
        """The plan of this instant."""
        plan = self._plan
        for index, server in enumerate(plan.servers):
            plan.first_node.append(len(plan.nodes))
            plan.nodes.extend(Node(index, operation) for operation in server.spec.operations)
        for node in plan.nodes:
            self._wire(node)
        for load in self._users:
            plan.roots.append(self._enter(load))
        plan.order = FlatList(self._sorted())
        plan.layout = Layout(self._keys)
        plan.keys = np.array([edge.key for edge in plan.edges], dtype=np.uint64)
        return plan

    def _wire(self, node: Node) -> None:
        server = self._plan.servers[node.server]
        namespace, pod, container = server.identity
        for step in node.operation.steps:
            edges: list[Edge] = []
            for call in step:
                host, port = server.address_of(call.env)
                origin = self._origin(server)
                port = port or self._resolver.first_port(origin, host)
                name = EdgeKey(namespace, pod, container, host, port, call.operation)
                place = server.container.sandbox.address if is_loopback(host) else host
                edge = self._edge(origin, call, name, place, (node.operation.name, len(edges)))
                self._pass_gates(server, edge)
                edges.append(edge)
            node.steps.append(edges)

    def _pass_gates(self, caller: Server, edge: Edge) -> None:
        """Servers that ask who is there."""
        for target in edge.targets:
            gate = self._plan.servers[self._plan.nodes[target.node].server].gate if target.node >= 0 else None
            target.text = gate.refusal(caller, edge.call) if gate is not None else ""
            if target.text:
                target.kind, target.node = DENIED, -1

    def _origin(self, server: Server) -> Origin:
        """Where the calls of a server start; its own address only if that matters, so that others share routes."""
        sandbox = server.container.sandbox
        names = sandbox.names or cluster_first(self._network.dns, sandbox.namespace)
        address = sandbox.address if self._network.per_client else ""
        return Origin((server.node,), sandbox.namespace, names, address, sandbox.hosts)

    def _enter(self, load: UserLoad) -> list[Edge]:
        nodes = (load.from_node,) if load.from_node else self._resolver.entry_nodes()
        origin = Origin(nodes, load.namespace, None, OUTSIDE if self._network.guarded else "")
        port = load.port or self._resolver.first_port(origin, load.service)
        edges = []
        load.described = self._mix_of(origin, load.service, port) or load.described
        for operation, share in load.shares(load.described):
            call = load.call_for(operation, share)
            name = EdgeKey(load.namespace, load.name, "", load.service, port, operation)
            edges.append(self._edge(origin, call, name, load.service, ()))
            if load.tls:
                self._shake_hands(edges[-1])
        return edges

    def _shake_hands(self, edge: Edge) -> None:
        """Users who look at certificates."""
        for target in edge.targets:
            spec = self._plan.servers[self._plan.nodes[target.node].server].spec if target.node >= 0 else None
            target.text = spec.objection(edge.call.operation) if spec is not None else ""
            if target.text:
                target.kind, target.node = PROTOCOL, -1

    def _mix_of(self, origin: Origin, host: str, port: int) -> tuple[tuple[str, float], ...]:
        """How the users of whatever answers there spread over its operations."""
        for destination in self._resolver.resolve(origin, host, port)[1]:
            index = self._plan.index_of.get(destination.container_id)
            if index is not None and self._plan.servers[index].spec.mix:
                return self._plan.servers[index].spec.mix
        return ()

    def _edge(self, origin: Origin, call: CallSpec, name: EdgeKey, place: str, where: tuple[str | int, ...]) -> Edge:
        """The edge of a call to `place`: what its host's name stands for where it is made."""
        plan = self._plan
        address, destinations = self._resolver.resolve(origin, place, name.port)
        key = self._streams.fresh_key("traffic", *name, *where)
        edge = Edge(len(plan.edges), call, name.host, name.port, address, key)
        plan.edges.append(edge)
        self._keys.append(name)
        self._messages = self._messages or call.asynchronous
        plan.walked = plan.walked or bool(call.caches)
        for destination in destinations:
            index = plan.index_of.get(destination.container_id)
            node = self._node_at(index, call)
            if node is not None and node >= 0:
                plan.nodes[node].patience_ns = max(plan.nodes[node].patience_ns, call.timeout_ns)
            if index is None and destination.container_id:
                plan.opaque = True
            near = destination.node in origin.nodes
            target = Target(destination, -1 if node is None else node, SAME_NODE_NS if near else OTHER_NODE_NS)
            if node is None:
                target.kind = target.kind or UNKNOWN
            if destination.node and not self._network.links.calm:
                there = "" if index is None else plan.servers[index].container.sandbox.address
                target.way = self._way(origin, destination.node, there, call)
            edge.targets.append(target)
        return edge

    def _node_at(self, index: int | None, call: CallSpec) -> int | None:
        """The node that a call meets at a server; -1: something answers by itself; None: it is not known there.

        Who asks for a certain thing is answered by programs that have it. One that nobody described serves whoever
        asks for nothing in particular: it is not the program for which it stands in.
        """
        if index is None:
            return -1 if call.operation in ("", ANY_PATH) else None
        spec = self._plan.servers[index].spec
        operation = spec.operation_index(call.operation)
        if operation is None and spec.understands(call.client):
            return None
        return self._plan.first_node[index] + (operation or 0)

    def _way(self, origin: Origin, node: str, address: str, call: CallSpec) -> Cost:
        """What the links from the nodes of an origin to a place cost a call, all equally likely.

        Users come from outside: the way to the node where they enter is theirs, too.
        """
        ways = []
        for source in self._reachable(origin):
            path = self._network.path(source, node, origin.address, address)
            way = path.cost(REQUEST_BYTES, ANSWER_BYTES, timeout_ns=call.timeout_ns)
            if origin.names is None:
                outside = self._network.path("", source)
                way = _one_after_the_other(way, outside.cost(REQUEST_BYTES, ANSWER_BYTES, timeout_ns=call.timeout_ns))
            ways.append(way)
        return ways[0] if len(ways) == 1 else _any_of(ways)

    def _reachable(self, origin: Origin) -> tuple[str, ...]:
        """Nodes of an origin from which calls go anywhere: of users' entries those that answer, if any does."""
        if origin.names is not None:
            return origin.nodes
        return tuple(node for node in origin.nodes if self._network.door.answers(node)) or origin.nodes

    def _sorted(self) -> list[int]:
        """Nodes with callers before callees.

        A call that comes round to who waits for it never ends: the connections run out, and it is dropped. Servers
        that nobody described call whatever they name, asking for nothing in particular: of their calls those that
        would close a circle are left out.
        """
        nodes = self._plan.nodes
        done = [0] * len(nodes)  # 0 unseen, 1 on the way, 2 finished
        finished: list[int] = []
        for start in range(len(nodes)):
            if done[start]:
                continue
            done[start] = 1
            stack = [(start, iter(_callees(nodes[start])))]
            while stack:
                current, callees = stack[-1]
                for edge, target in callees:
                    if done[target.node] == 1 and edge.call.operation in ("", ANY_PATH):
                        edge.targets.remove(target)
                    elif done[target.node] == 1:
                        target.kind, target.node = RESET, -1
                    elif not done[target.node]:
                        done[target.node] = 1
                        stack.append((target.node, iter(_callees(nodes[target.node]))))
                        break
                else:
                    done[current] = 2
                    finished.append(current)
                    stack.pop()
        finished.reverse()
        if self._messages:
            finished, later = in_order_of_messages(nodes, finished)
            self._plan.walked = self._plan.walked or later
        return finished


def _callees(node: Node) -> list[tuple[Edge, Target]]:
    edges = [edge for step in node.steps for edge in step if not edge.call.asynchronous]
    return [(edge, target) for edge in edges for target in edge.targets if target.node >= 0]


def _one_after_the_other(one: Cost, other: Cost) -> Cost:
    """What two ways cost of which one follows the other."""
    late = Late(one.late, one.late_ns, one.late_square).together(Late(other.late, other.late_ns, other.late_square))
    failing = 1.0 - (1.0 - one.failing) * (1.0 - other.failing)
    mean, variance = one.mean_ns + other.mean_ns, one.variance + other.variance
    return Cost(mean, variance, one.p99_ns + other.p99_ns, failing, *late)


def _any_of(ways: list[Cost]) -> Cost:
    """What one of several ways costs, all equally likely."""
    count = float(max(1, len(ways)))
    mean, p99, failing, late = (
        math.fsum(part) / count for part in zip(*((w.mean_ns, w.p99_ns, w.failing, w.late) for w in ways), strict=True)
    )
    square = math.fsum(w.variance + w.mean_ns * w.mean_ns for w in ways) / count
    waits, squares = math.fsum(w.late * w.late_ns for w in ways), math.fsum(w.late * w.late_square for w in ways)
    after = (waits / count / late, squares / count / late) if late > 0.0 else (0.0, 0.0)
    return Cost(mean, max(0.0, square - mean * mean), p99, failing, late, *after)
