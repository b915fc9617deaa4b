"""The graph while it runs: stations, edges, the network between them, how full it is."""

from __future__ import annotations

from simcluster.engine import Streams
from simcluster.models.traffic.exact.caches import Popularity
from simcluster.models.traffic.exact.calling import Attempt, Edge, EdgeMeter, is_void
from simcluster.models.traffic.exact.draws import Durations, Uniforms
from simcluster.models.traffic.exact.loop import Full, Loop
from simcluster.models.traffic.exact.program import (
    CachedNode,
    CallNode,
    ChooseNode,
    Failing,
    FailNode,
    Frame,
    Node,
    Op,
    ParallelNode,
    SendNode,
    WaitNode,
    WorkNode,
)
from simcluster.models.traffic.exact.station import Station
from simcluster.models.traffic.graph.laws import Law
from simcluster.models.traffic.graph.policy import Policy
from simcluster.models.traffic.graph.service import Operation, Step
from simcluster.models.traffic.graph.spec import GraphSpec


class Engine:
    """Everything that runs, but the load and the events.

    Attributes:
        edges: (caller, callee, edge) of every place from which calls are made.
        inside: requests and calls that are in the graph.
    """

    def __init__(self, spec: GraphSpec, seed: int) -> None:
        self.spec = spec = spec.in_whole_calls()
        self.loop = Loop(spec.run.events, is_void)
        self.streams = Streams(seed)
        self.inside = 0
        self.capacity = spec.run.requests
        self.edges: list[tuple[str, str, Edge]] = []
        self.meters: dict[str, EdgeMeter] = {}
        moving = {event.capacity.service for event in spec.events if event.capacity is not None}
        policies = [load.call for load in spec.load.values()] + [
            call for _, _, call in spec.calls() if isinstance(call, Policy)
        ]
        stops = any(policy.cancel == "running" for policy in policies)
        self.stations = {
            name: Station(self, name, service, stops or name in moving) for name, service in spec.services.items()
        }
        self.ops = {
            (name, operation): Op(
                self.stations[name],
                operation,
                self.durations(one.work, "work", name, operation),
                Uniforms(self.key("failure", name, operation)),
            )
            for name, service in spec.services.items()
            for operation, one in service.operations.items()
        }
        for (name, operation), op in self.ops.items():
            _Compiler(self, name, operation).fill(op, spec.services[name].operations[operation])

    def key(self, *identity: str | int) -> int:
        """The key of a random stream."""
        return self.streams.key("traffic", *identity)

    def durations(self, law: Law | None, *identity: str | int) -> Durations | None:
        """Draws of a law, if there is one."""
        return Durations(law, self.key(*identity)) if law is not None else None

    def edge(self, name: str, policy: Policy) -> Edge:
        """An edge with its own draws."""
        law = policy.network if policy.network is not None else self.spec.network
        network, patience = self.durations(law, "network", name), self.durations(policy.patience, "patience", name)
        return Edge(self, name, policy, network, patience, Uniforms(self.key("chance", name)))

    def entered(self) -> None:
        """One more is inside; raises Full above what the run allows."""
        self.inside += 1
        if self.inside > self.capacity:
            raise Full

    def left(self) -> None:
        """One is gone."""
        self.inside -= 1

    def passage(self, edge: Edge, callee: str) -> int | None:
        """Instant at which a message that leaves now arrives; None if it is lost."""
        begin = now = self.loop.now
        blocked = edge.blocked.get(callee)
        if blocked is not None and now < blocked[0]:
            if not blocked[1]:
                return None
            begin = blocked[0]
        return begin + (edge.network.draw() if edge.network is not None else 0)

    def reply(self, attempt: Attempt, kind: str | None) -> None:
        """Send an answer back: None is a success."""
        calling = attempt.calling
        if calling is None:
            return
        edge = calling.edge
        if attempt.settled and (edge.pool is None or edge.pool.hold == "attempt"):
            return
        if edge.network is None and not edge.blocked:
            calling.heard((attempt, kind))
            return
        arrives = self.passage(edge, attempt.op.service.name)
        if arrives is not None:
            self.loop.at(arrives, calling.heard, (attempt, kind))

    def cancel(self, edge: Edge, attempt: Attempt) -> None:
        """Tell the callee that its caller has given up."""
        if edge.network is None and not edge.blocked:
            self.cancelled(attempt)
            return
        arrives = self.passage(edge, attempt.op.service.name)
        if arrives is not None:
            self.loop.at(arrives, self.cancelled, attempt)

    def cancelled(self, attempt: Attempt) -> None:
        """The callee hears of it."""
        assert attempt.replica is not None
        assert attempt.calling is not None
        attempt.replica.withdraw(attempt, attempt.calling.edge.cancel == "running")

    def walk(self, attempt: Attempt) -> None:
        """Begin the steps of a request after its first work."""
        Frame(attempt, attempt.op.steps, None).advance()

    def walk_failing(self, attempt: Attempt, kind: str) -> None:
        """Begin the error path of a request that fails."""
        Failing(attempt, kind).advance()


class _Compiler:
    """Turns the steps of one operation into nodes; each random node has a stream named by its place."""

    def __init__(self, engine: Engine, service: str, operation: str) -> None:
        self.engine = engine
        self.service = service
        self.operation = operation

    def fill(self, op: Op, spec: Operation) -> None:
        """Complete an operation."""
        op.contention = spec.contention
        op.failure = spec.failure
        heap = self.engine.spec.services[self.service].heap
        if heap is not None:
            op.allocation = heap.allocation if spec.allocation is None else spec.allocation
        op.steps = self.nodes(spec.steps, "steps")
        if spec.error_work is not None:
            op.failing = (WorkNode(self.time(spec.error_work, "error_work")), FailNode())

    def nodes(self, steps: tuple[Step, ...], place: str) -> tuple[Node, ...]:
        """Compiled steps."""
        return tuple(self.node(step, f"{place}.{index}") for index, step in enumerate(steps))

    def node(self, step: Step, place: str) -> Node:
        """One compiled step."""
        if step.work is not None:
            return WorkNode(self.time(step.work, place))
        if step.wait is not None:
            return WaitNode(self.time(step.wait, place))
        if step.call is not None or step.send is not None:
            return self.message(step, place)
        if step.parallel is not None:
            return ParallelNode(tuple((self.node(one, f"{place}.{i}"),) for i, one in enumerate(step.parallel)))
        if step.sequence is not None:
            return ParallelNode((self.nodes(step.sequence, place),))
        if step.choose is not None:
            return self.choice(step, place)
        cached = step.cached
        assert cached is not None
        cache = self.engine.spec.services[self.service].caches[cached.cache]
        items = Popularity(cache, self.key("items", place))
        hit = self.time(cached.hit, place) if cached.hit is not None else None
        return CachedNode(cached.cache, items, hit, self.nodes(cached.miss, f"{place}.miss"))

    def choice(self, step: Step, place: str) -> Node:
        """A probabilistic choice."""
        below, branches = 0.0, []
        for index, chance in enumerate(step.choose or ()):
            below += chance.probability
            branches.append((below, self.nodes(chance.steps, f"{place}.{index}")))
        return ChooseNode(tuple(branches), Uniforms(self.key("choice", place)))

    def message(self, step: Step, place: str) -> Node:
        """A call, or a message nobody waits for."""
        target = step.call or step.send
        assert target is not None
        name = f"{self.service}/{self.operation}/{place}"
        policy = step.call if step.call is not None else Policy(network=target.network)
        edge = self.engine.edge(name, policy)
        self.engine.edges.append((self.service, target.service, edge))
        edge.meter = self.engine.meters.setdefault(f"{self.service} -> {target.service}", EdgeMeter())
        op = self.engine.ops[self.engine.spec.callee(target)]
        if step.call is not None:
            return CallNode(edge, op, int(step.call.times), step.call.required)
        return SendNode(edge, op, target.priority)

    def time(self, law: Law, place: str) -> Durations:
        """Draws of a law."""
        return Durations(law, self.key("time", place))

    def key(self, kind: str, place: str) -> int:
        """The key of a stream of this operation."""
        return self.engine.key(kind, self.service, self.operation, place)
