"""The plan of an instant as a call graph of the `aggregate` engine, pods as queues.

Containers that run the same program, call the same addresses and belong to one workload are one
service of the graph; the others' pods are its replicas. Where a call may end in pods of several
services it is a choice between them; where nobody answers it goes to a service that has no pods.

What is left out: callers of one service whose nodes have different rules are taken together, each
place getting its mean share; a retry of a call that can end in two services stays with the first.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from simcluster.engine import MILLISECOND, Shared
from simcluster.models.traffic.cluster.causes import DNS_TIMEOUT, TIMEOUT, UNCONNECTED
from simcluster.models.traffic.cluster.nodes import Edge, Node
from simcluster.models.traffic.cluster.operations import CallSpec, OperationSpec
from simcluster.models.traffic.cluster.plan import Plan
from simcluster.models.traffic.cluster.server import Server
from simcluster.models.traffic.cluster.users import UserLoad
from simcluster.models.traffic.cluster.workload import owner_of
from simcluster.models.traffic.graph.laws import Law
from simcluster.models.traffic.graph.load import Closed, Load, Open
from simcluster.models.traffic.graph.policy import Policy
from simcluster.models.traffic.graph.service import Cached, Call, Chance, Operation, Queue, Send, Service, Step, step_of
from simcluster.models.traffic.graph.spec import GraphSpec, Run

#: Ticks of the longest time-out.
MOST_TICKS = 400
#: The longest tick of a small graph.
FINE = 100 * MILLISECOND
#: Lengths of a tick: divisors of half a second.
_DIVISORS = tuple(n * MILLISECOND for n in (1, 2, 4, 5, 10, 20, 25, 50, 100, 125, 250, 500))
#: An additional round trip that nobody would notice.
NOTICEABLE_DELAY_NS = 0.2 * MILLISECOND
_SILENT = (TIMEOUT, DNS_TIMEOUT)


class Hop(NamedTuple):
    """A part of a call: which service of the graph it reaches.

    Attributes:
        share: of the calls; `refused` and `lost`: of its attempts, what fails at once or is never answered.
        weights: container -> share of the attempts.
        kind: why attempts fail at once, mostly.
    """

    service: str
    operation: str
    share: float
    refused: float
    lost: float
    weights: tuple[tuple[str, float], ...]
    kind: str


class EdgePart(NamedTuple):
    """How a plan's edge and one edge of the graph belong together."""

    edge: int  # of the plan
    caller: str
    callee: str  # service/operation
    caller_operation: str  # service/operation, empty for users
    container: str  # the calling one, empty for users
    calls: float  # for each request of the calling operation
    kind: str


class Parts(tuple[EdgePart, ...], Shared):
    """The parts of a wiring; forks share them."""

    __slots__ = ()

    def __reduce__(self) -> tuple[type[Parts], tuple[list[EdgePart]]]:
        return (Parts, (list(self),))


class Hops(dict[tuple[str, str], Hop], Shared):
    """The hops of a wiring; forks share them."""

    __slots__ = ()


class Wiring:
    """One plan's graph.

    Attributes:
        plan: the plan it is made of.
        spec: the graph; `pods`: containers of each service.
        hops: (calling service or load, called service) -> the hop.
        parts: edges of the plan and of the graph that belong together.
        servers: the plan's servers by container.
        ready: containers that get requests.
    """

    def __init__(self, plan: Plan, users: list[UserLoad]) -> None:
        self.plan = plan
        self.servers = {s.container.container_id: s for s in plan.servers}
        self.service_of: dict[str, str] = {}
        self.groups: dict[str, list[Server]] = {}
        self._group()
        self.pods = {name: [s.container.container_id for s in servers] for name, servers in self.groups.items()}
        self._found: dict[tuple[str, str], Hop] = {}
        self._parts: list[EdgePart] = []
        self.ready: dict[str, None] = {}
        self._services: dict[str, Service] = {}
        self._open: dict[tuple[str, str], bool] = {}
        self.loads: dict[str, UserLoad] = {}
        self.rates: dict[str, float] = {}
        self._nobody: dict[str, Service] = {}
        load = self._enter(users)
        for name in self._needed():
            self._describe(name)
        services = {**self._services, **self._nobody}
        for name in self._nobody:
            self.pods[name] = [f"nobody/{name}"]
        self.pods = {name: self.pods[name] for name in services}
        self.hops, self.parts = Hops(self._found), Parts(self._parts)
        del self._found, self._parts, self._open
        self.spec = GraphSpec.model_construct(
            name="cluster", description="", run=Run(), network=None, services=services, load=load, events=()
        )

    @property
    def is_empty(self) -> bool:
        """Whether nobody asks anybody."""
        return not self.spec.load

    # --- who belongs together -------------------------------------------------------------

    def _group(self) -> None:
        known: dict[tuple[object, ...], str] = {}
        taken: dict[str, int] = {}
        for server in self.plan.servers:
            namespace, pod, container = server.identity
            owner = owner_of(pod)
            envs = [call.env for op in server.spec.operations for step in op.steps for call in step]
            addresses = tuple(server.address_of(env) for env in envs)
            key = (namespace, owner, container, server.spec, addresses)
            name = known.get(key)
            if name is None:
                base = f"{namespace}.{owner}.{container}"
                number = taken[base] = taken.get(base, 0) + 1
                name = known[key] = base if number == 1 else f"{base}~{number}"
                self.groups[name] = []
            self.groups[name].append(server)
            self.service_of[server.container.container_id] = name

    def first_servers(self) -> dict[str, Server]:
        """A server of every service."""
        return {name: servers[0] for name, servers in self.groups.items()}

    # --- users ----------------------------------------------------------------------------

    def _enter(self, users: list[UserLoad]) -> dict[str, Load]:
        loads: dict[str, Load] = {}
        for load, edges in zip(users, self.plan.roots, strict=True):
            if load.rps <= 0.0 and not load.active:
                continue
            name = load_name(load)
            mix: dict[str, float] = {}
            for edge in edges:
                for hop in self._hops([edge], edge.call, name, [1.0]):
                    reference = f"{hop.service}/{hop.operation}"
                    mix[reference] = mix.get(reference, 0.0) + edge.call.count * hop.share
                    self._parts.append(
                        EdgePart(edge.index, name, reference, "", "", edge.call.count * hop.share, hop.kind)
                    )
            if not mix:
                continue
            policy = edges[0].call.rules()
            way = _one_way(edges, policy)
            if way is not None:
                policy = policy.model_copy(update={"network": way})
            closed = open_ = None
            if load.concurrency is not None and load.rps > 0.0:
                think = _law(int(load.concurrency * 1e9 / load.rps), 1.0)
                closed = Closed(users=load.concurrency, think=think)
            else:
                open_ = Open(rate=max(0.0, load.rps))
            loads[name] = Load.model_construct(
                target=None, mix=mix, open=open_, closed=closed, replay=None, clients=load.clients, call=policy
            )
            self.loads[name] = load
            self.rates[name] = load.rps
        return loads

    # --- services -------------------------------------------------------------------------

    def _needed(self) -> list[str]:
        """All services that calls can reach from the users downwards, and those whose queue is not empty."""
        found = dict.fromkeys(hop.service for hop in self._found.values() if hop.service in self.groups)
        queue = list(found)
        while queue:
            for name in self._reached_from(queue.pop()):
                if name not in found:
                    found[name] = None
                    queue.append(name)
        return list(found)

    def _reached_from(self, name: str) -> list[str]:
        reached: dict[str, None] = {}
        for server in self.groups[name]:
            first = self.plan.first_node[self.plan.index_of[server.container.container_id]]
            for offset in range(len(server.spec.operations)):
                for step in self.plan.nodes[first + offset].steps:
                    for edge in step:
                        for target in edge.targets:
                            if target.node >= 0:
                                other = self.plan.servers[self.plan.nodes[target.node].server]
                                reached[self.service_of[other.container.container_id]] = None
        return list(reached)

    def _describe(self, name: str) -> None:
        servers = self.groups[name]
        spec = servers[0].spec
        operations = {}
        for index, operation in enumerate(spec.operations):
            operations[operation.name] = self._operation(name, index, operation)
        cores = max(whole_cores(server) for server in servers)
        workers = spec.workers or cores
        self._services[name] = Service.model_construct(
            replicas=len(servers), workers=workers, cores=min(cores, workers), speed=1.0, blocking=bool(spec.workers),
            queue=spec.queueing or Queue(bound=spec.queue), shed=spec.shed, rate_limit=spec.rate_limit,
            balancer="random", caches=dict(spec.caches), heap=spec.heap, sharing=spec.sharing, operations=operations,
        )  # fmt: skip

    def _operation(self, name: str, index: int, operation: OperationSpec) -> Operation:
        steps: list[Step] = []
        if operation.latency_ns:
            steps.append(step_of(wait=_law(operation.latency_ns, operation.latency_cv)))
        nodes = [self._node(server, index) for server in self.groups[name]]
        for number, step in enumerate(operation.steps):
            calls: list[Step] = []
            for place, call in enumerate(step):
                edges = [node.steps[number][place] for node in nodes]
                calls += self._calls(name, operation, call, edges)
            if len(calls) > 1 and len(step) > 1:
                steps.append(step_of(parallel=tuple(calls)))
            else:
                steps += calls
        work = operation.work or _law(operation.cpu_ns, operation.cpu_cv)
        return Operation.model_construct(
            work=work, contention=operation.contention_ns, failure=operation.failure, steps=tuple(steps),
            allocation=operation.allocation, error_work=operation.error_work,
        )  # fmt: skip

    def _node(self, server: Server, operation: int) -> Node:
        plan = self.plan
        return plan.nodes[plan.first_node[plan.index_of[server.container.container_id]] + operation]

    def _calls(self, name: str, operation: OperationSpec, call: CallSpec, edges: list[Edge]) -> list[Step]:
        here = f"{name}/{operation.name}"
        hops = self._hops(edges, call, name, [1.0 / len(edges)] * len(edges))
        if not call.asynchronous:
            hops = [hop for hop in hops if not self._closes(here, f"{hop.service}/{hop.operation}")]
        if not hops:
            return []
        for edge, server in zip(edges, self.groups[name], strict=True):
            for hop in hops:
                self._parts.append(
                    EdgePart(
                        edge.index,
                        name,
                        f"{hop.service}/{hop.operation}",
                        here,
                        server.container.container_id,
                        call.count * hop.share,
                        hop.kind,
                    )
                )
        policy = {**dict(call.rules()), "required": call.required}
        way = _one_way(edges, call.rules())
        if way is not None:
            policy["network"] = way
        whole, rest = int(call.count), call.count - int(call.count)
        found = []
        for times, chance in ((whole, 1.0), (1, rest)):
            if times and chance > 1e-9:
                found.append(_spread(hops, policy, times, chance, message=call.asynchronous))
        for cache in reversed(call.caches):
            found = [step_of(cached=Cached.model_construct(cache=cache, hit=None, miss=tuple(found)))] if found else []
        return found

    def _closes(self, caller: str, callee: str) -> bool:
        """Whether a call would close a circle of operations; remembers it if not."""
        seen, stack = {callee: None}, [callee]
        while stack:
            current = stack.pop()
            if current == caller:
                return True
            for a, b in self._open:
                if a == current and b not in seen:
                    seen[b] = None
                    stack.append(b)
        self._open[caller, callee] = True
        return False

    # --- where calls end ------------------------------------------------------------------

    def _hops(self, edges: list[Edge], call: CallSpec, caller: str, shares: list[float]) -> list[Hop]:
        """The services that an edge of several callers reaches."""
        found: dict[tuple[str, str], dict[str, float]] = {}
        refused = lost = 0.0
        kind = ""
        for edge, part in zip(edges, shares, strict=True):
            for target in edge.targets:
                weight = part * target.weight
                if target.kind in _SILENT:
                    lost += weight
                elif target.kind:
                    refused, kind = refused + weight, target.kind
                elif target.node < 0:
                    key = self._alone(edge, target.answer_ns)
                    found.setdefault(key, {})["answers"] = weight
                else:
                    server = self.plan.servers[self.plan.nodes[target.node].server]
                    if not server.spec.understands(call.client):
                        refused, kind = refused + weight, "protocol"
                        continue
                    service = self.service_of[server.container.container_id]
                    operation = self.plan.nodes[target.node].operation.name
                    container = server.container.container_id
                    lost, weight = lost + weight * target.way.failing, weight * (1.0 - target.way.failing)
                    toll = target.toll
                    if toll is not None:
                        if toll.refused:
                            refused, kind = refused + weight * toll.refused, UNCONNECTED
                        lost += weight * (1.0 - toll.refused - toll.kept)
                        weight *= toll.kept
                    self.ready[container] = None
                    weights = found.setdefault((service, operation), {})
                    weights[container] = weights.get(container, 0.0) + weight
        if not found and refused + lost <= 0.0:
            return []
        if not found:
            found[self._alone(edges[0], MILLISECOND)] = {"answers": 0.0}
        return self._as_hops(found, refused, lost, kind, caller)

    def _as_hops(
        self, found: dict[tuple[str, str], dict[str, float]], refused: float, lost: float, kind: str, caller: str
    ) -> list[Hop]:
        alive = math.fsum(math.fsum(w.values()) for w in found.values())
        whole = alive + refused + lost
        hops = []
        for (service, operation), weights in found.items():
            here = math.fsum(weights.values())
            share = here / alive if alive > 0.0 else 1.0
            normal = tuple((c, w / here) for c, w in weights.items()) if service in self.groups and here > 0.0 else ()
            hop = Hop(service, operation, share, refused / whole, lost / whole, normal, kind)
            hops.append(hop)
            self._found.setdefault((caller, service), hop)
        return hops

    def _alone(self, edge: Edge, answer_ns: int) -> tuple[str, str]:
        """A service for what answers by itself, or for nobody."""
        name = f"{edge.host or 'nobody'}.{edge.port}"
        if name not in self._nobody:
            wait = _law(answer_ns, 0.0)
            operation = Operation.model_construct(
                work=None, contention=0, failure=0.0, steps=(step_of(wait=wait),), allocation=None
            )
            self._nobody[name] = Service(workers=None, operations={"any": operation})
        return name, "any"


def load_name(load: UserLoad) -> str:
    """The name of users in the graph."""
    return f"users.{load.namespace}.{load.name}"


def whole_cores(server: Server) -> int:
    """How many requests of a server can work at the same time."""
    limit = server.container.spec.cpu_limit
    cores = max(1, math.ceil((limit if limit is not None else server.container.cpu_cores()) - 1e-9))
    return min(server.spec.threads, cores) if server.spec.threads else cores


def ticks_of(spec: GraphSpec, period_ns: int, pods: int) -> int:
    """Nanoseconds of a tick: a divisor of the period, a part of the shortest time-out.

    A time-out of one tick tells collapse from recovery, two are better, small graphs afford more, and ticks that show
    how their queues go up and down. The longest time-out has at most `MOST_TICKS` ticks, so that memory and cost stay
    bounded.
    """
    limits = [p.timeout for p in policies(spec) if p.timeout]
    shortest, longest = min(limits, default=4 * period_ns), max(limits, default=0)
    parts = 5 if pods <= 24 else 4 if pods <= 100 else 2
    wanted = min(max(shortest // parts, longest // MOST_TICKS), shortest, FINE if pods <= 24 else period_ns)
    return max(d for d in _DIVISORS if d <= max(wanted, _DIVISORS[0]))


def policies(spec: GraphSpec) -> list[Policy]:
    """How all edges of a graph call."""
    found: list[Policy] = [load.call for load in spec.load.values()]
    return found + [call for _, _, call in spec.calls() if isinstance(call, Policy)]


def _one_way(edges: list[Edge], policy: Policy) -> Law | None:
    """Delay of a message where links are slow or SYNs are repeated; None if all is well."""
    total = weight = 0.0
    for edge in edges:
        for target in edge.targets:
            extra = target.way.mean_ns + (target.toll.mean_ns if target.toll is not None else 0.0)
            total, weight = total + target.weight * extra, weight + target.weight
    if total < weight * NOTICEABLE_DELAY_NS:
        return None
    healthy = policy.network.mean_ns if policy.network is not None else 0.0
    return _law(int(healthy + total / weight / 2.0), 0.0)


def _law(mean_ns: int, cv: float) -> Law:
    kind = "deterministic" if mean_ns <= 0 or cv <= 0.0 else "exponential" if cv == 1.0 else "lognormal"
    given: dict[str, Any] = {"law": kind, "mean": max(1, mean_ns), "cv": cv if kind == "lognormal" else None}
    return Law.model_construct(**{**dict.fromkeys(Law.model_fields), **given})


def _message(hop: Hop, policy: dict[str, Any], times: int) -> Step:
    send = Send.model_construct(
        service=hop.service, operation=hop.operation, network=policy["network"], priority=policy["priority"]
    )
    step = step_of(send=send)
    return step if times == 1 else step_of(sequence=(step,) * times)


def _spread(hops: list[Hop], policy: dict[str, Any], times: int, chance: float, *, message: bool) -> Step:
    """One call (or message), or a choice between services or of not calling at all."""
    steps = [
        _message(hop, policy, times)
        if message
        else step_of(call=Call.model_construct(**policy, service=hop.service, operation=hop.operation, times=times))
        for hop in hops
    ]
    if len(hops) == 1 and chance >= 1.0:
        return steps[0]
    return step_of(
        choose=tuple(
            Chance.model_construct(probability=min(1.0, hop.share * chance), steps=(step,))
            for hop, step in zip(hops, steps, strict=True)
            if hop.share * chance > 0.0
        )
    )
