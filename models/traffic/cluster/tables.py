"""The traffic and the kernels' tables: connections that are opened, and what full tables do to requests.

Now and then (when the plan or its rates change, and every few seconds) the connections that every
server accepts and opens are worked out from the plan and reported to its node's kernel: conntrack,
descriptors, ephemeral ports, backlogs, and the bytes of the interfaces. What the tables refuse or drop
goes back to the edges as a `Toll`. A large plan is only walked when some table may bind.

Left out: failures inside a request that let its later calls be omitted; connections to places that
the traffic does not know.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import MILLISECOND, FlatDict
from simcluster.models.machine.network import OUTSIDE, Network
from simcluster.models.traffic.cluster.causes import REFUSED, TIMEOUT
from simcluster.models.traffic.cluster.nodes import Edge
from simcluster.models.traffic.cluster.packets import PodPackets
from simcluster.models.traffic.cluster.plain import LARGE
from simcluster.models.traffic.cluster.plan import ANSWER_BYTES, REQUEST_BYTES, Plan
from simcluster.models.traffic.cluster.tolls import mean_toll, toll
from simcluster.models.traffic.cluster.users import UserLoad

if TYPE_CHECKING:
    from simcluster.models.machine.kernel.kernel import Kernel
    from simcluster.models.traffic.cluster.fleet import Fleet
    from simcluster.models.traffic.cluster.server import Server

Array = NDArray[np.float64]

#: How long a kept-alive connection stays open beyond its requests: between Node's 5 s and nginx' 75 s.
KEPT_S = 15.0
#: A change that is not reported to the kernel: a tenth.
ALIKE = 0.1
#: Of a table's limit: below it nothing is worked out for large plans.
NEAR = 0.8
#: Owner of connections that users bring through a node to another one, and of a node's bytes.
PASSING, CARRIED = OUTSIDE, "pods"
#: Connections that wait to be accepted, from which on the backlog is asked.
CROWDED = 100.0
#: How long a connection that nobody accepts is waited for.
WAITS_S = 10.0
#: Nothing was told yet.
_NEVER = (-1.0, -1.0, -1.0)
#: Arrivals are averaged over ticks of this length.
TICK_NS = 500 * MILLISECOND


class Rates:
    """What a plan comes to, by server and by node: connections and bytes a second."""

    def __init__(self, plan: Plan) -> None:
        count = len(plan.servers)
        self.opened = [0.0] * count  # accepted connections a second
        self.kept = [0.0] * count  # idle ones, open at a time
        self.out = [0.0] * count  # connections to other nodes
        self.largest: list[dict[tuple[str, int], float]] = [{} for _ in range(count)]  # by destination
        self.passing: dict[str, float] = {}  # node -> connections of users a second on to other nodes
        self.received: dict[str, float] = {}
        self.sent: dict[str, float] = {}
        self.failed: dict[int, dict[str, float]] = {}  # server -> connections a second that fail, by kind
        self.single = np.zeros(count)  # connections a second to the largest of them
        self.pairs: dict[tuple[int, int], float] = {}  # caller (-1: users), callee -> requests a second
        self.plan = plan
        self._calls = [0.0] * len(plan.nodes)

    def walk(self, users: list[UserLoad], entries: list[str]) -> None:
        """Let the users' requests run through the plan, on average."""
        plan = self.plan
        for load, edges in zip(users, plan.roots, strict=True):
            took = 0.0
            for edge in edges if load.concurrency is not None else ():
                lost = math.fsum(f.probability * f.after_ns for f in edge.causes)
                took += edge.call.count * (edge.ok * edge.latency.mean + lost)
            per_s = load.rate(took)
            for edge in edges if per_s > 0.0 else ():
                self._pass(
                    edge, per_s * edge.call.count * edge.reached, -1, [load.from_node] if load.from_node else entries
                )
        for index in plan.order:
            requests = self._calls[index]
            if requests <= 0.0:
                continue
            node = plan.nodes[index]
            for step in node.steps:
                for edge in step:
                    self._pass(edge, requests * edge.call.count * edge.reached, node.server, [])
        self.single = np.array([max(largest.values(), default=0.0) for largest in self.largest])

    def _pass(self, edge: Edge, attempts: float, caller: int, entries: list[str]) -> None:
        servers, share = self.plan.servers, edge.call.opening
        for target in edge.targets:
            if target.node < 0:
                if caller >= 0 and target.kind in (REFUSED, TIMEOUT):
                    failed = self.failed.setdefault(caller, {})
                    failed[target.kind] = failed.get(target.kind, 0.0) + attempts * target.weight
                continue
            here = attempts * target.weight
            self._calls[target.node] += here
            callee = self.plan.nodes[target.node].server
            there = servers[callee].node
            self.pairs[caller, callee] = self.pairs.get((caller, callee), 0.0) + here
            came = [servers[caller].node] if caller >= 0 else entries
            for node in came:
                if node != there:
                    self._carry(node, there, here / len(came), caller >= 0)
            if share <= 0.0:
                continue
            new = open_ = here * share
            if target.toll is not None:  # who finds no connection tries again with his next request
                new, open_ = here * target.toll.tries, here * max(0.0, target.toll.tries - target.toll.lost)
            self.opened[callee] += new
            idle = open_ * KEPT_S if share < 1.0 else 0.0
            self.kept[callee] += idle
            if caller >= 0:
                self.kept[caller] += idle
                place = (edge.host, edge.port)
                self.largest[caller][place] = self.largest[caller].get(place, 0.0) + new
                if came[0] != there:
                    self.out[caller] += new
            for node in entries:
                if node != there:
                    self.passing[node] = self.passing.get(node, 0.0) + new / len(entries)

    def _carry(self, source: str, destination: str, requests: float, answered: bool) -> None:
        """Bytes of requests and answers; what users send passes through the node they enter by."""
        for node, came, went in ((destination, REQUEST_BYTES, ANSWER_BYTES), (source, ANSWER_BYTES, REQUEST_BYTES)):
            both = 0 if answered or node == destination else REQUEST_BYTES + ANSWER_BYTES
            self.received[node] = self.received.get(node, 0.0) + requests * max(came, both)
            self.sent[node] = self.sent.get(node, 0.0) + requests * max(went, both)


class _Places:
    """The servers of a plan: nodes, containers, whether a connection carries many requests, workers."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.nodes = [server.node for server in plan.servers]
        self.keys = [server.container.container_id for server in plan.servers]
        self.many = np.array([server.spec.protocol == "grpc" for server in plan.servers], dtype=bool)
        self.workers = np.array([float(server.spec.workers or 1e18) for server in plan.servers])


class Tables:
    """The kernels of a cluster as its traffic meets them.

    Attributes:
        tolled: whether some edge pays a toll.
        dropped: share of SYNs that vanish, by node; short: of connections without descriptor, by container.
    """

    def __init__(self, network: Network) -> None:
        self._network = network
        self.tolled = False
        self.dropped: dict[str, float] = {}
        self.short: dict[str, float] = {}
        self._refused: dict[str, tuple[float, str]] = {}
        self._full: dict[str, float] = {}  # container -> share of SYNs its listener drops
        self._reported: dict[str, tuple[float, float, float]] = FlatDict()
        self._passed: dict[str, float] = {}
        self._carried: dict[str, None] = {}
        self._failing: dict[str, None] = {}  # containers of whose attempts to connect some fail
        self._plan: Plan | None = None
        self._rates: Rates | None = None
        self._shown: Rates | None = None  # those that pods' interfaces go by
        self._packets = PodPackets()
        self._places: _Places | None = None
        self._mark: object = None
        self._opens: Array = np.zeros(0)  # connections that a request of each server of that plan opens

    def __getstate__(self) -> dict[str, Any]:
        return {
            **self.__dict__,
            "_rates": None,
            "_shown": None,
            "_places": None,
        }  # they are worked out again when they are missed

    def refresh(self, plan: Plan, users: list[UserLoad], fleet: Fleet, version: int, now_ns: int) -> bool:
        """Report the traffic of now and lay tolls on the plan's edges; whether they have changed.

        Args:
            version: how often the plan was evaluated.
            now_ns: the present instant.
        """
        machines = self._machines()
        if not machines:
            return False
        large = len(plan.servers) > LARGE
        per_s = fleet.per_second(TICK_NS) if large else np.zeros(0)
        if not large or self.tolled or self._may_bind(plan, users, machines, per_s):
            rates = self._walked(plan, users, version)
            self._report_bytes(rates.received, rates.sent, machines)
            if rates is not self._shown:
                self._shown = rates
                self._packets.walked(plan, now_ns, rates.pairs)
            self._report(plan, rates, machines, fleet)
        else:
            volume = _bytes(fleet, per_s)
            self._report_bytes(volume, volume, machines)
            self._packets.averaged(plan, now_ns, per_s)
        self.dropped = {
            name: machine.os.conntrack.dropped_share
            for name, machine in machines.items()
            if machine.os.conntrack.dropped_share
        }
        return self._lay(plan, users)

    def _walked(self, plan: Plan, users: list[UserLoad], version: int) -> Rates:
        """What the plan comes to; worked out anew when it was evaluated, or users or tolls have changed."""
        entries = list(self._network.entries())
        mark = (version, entries, [load.rps for load in users])
        if self.tolled or self._rates is None or self._rates.plan is not plan or mark != self._mark:
            self._rates, self._mark = Rates(plan), mark
            self._rates.walk(users, entries)
        return self._rates

    def _machines(self) -> dict[str, Any]:
        """Nodes that have a kernel."""
        network = self._network
        found = {name: network.sandboxes.get(nic.address) for name, nic in network.links.nics.items()}
        return {name: machine for name, machine in found.items() if getattr(machine, "os", None) is not None}

    def _may_bind(self, plan: Plan, users: list[UserLoad], machines: dict[str, Any], per_s: Array) -> bool:
        """Whether some table could be short, by bounds that are quick to work out."""
        if any(machine.os.is_strained for machine in machines.values()):
            return True
        if plan is not self._plan:
            self._plan, self._opens = plan, np.array([_opens(server) for server in plan.servers])
        ports = NEAR * min(machine.os.ports.smallest for machine in machines.values()) / 60.0
        opening = per_s * self._opens
        if bool((opening > ports).any()):
            return True
        whole = math.fsum(opening.tolist()) + math.fsum(load.rps * load.connects for load in users)
        tables = [machine.os.conntrack for machine in machines.values()]
        return any(0 < NEAR * table.maximum < table.wanted + whole * (KEPT_S + 120.0) for table in tables)

    # --- what kernels are told ------------------------------------------------------------

    def _report_bytes(self, received: dict[str, float], sent: dict[str, float], machines: dict[str, Any]) -> None:
        for name, nic in self._network.links.nics.items():
            if name in machines and (name in received or name in self._carried):
                self._carried[name] = None
                nic.report(CARRIED, float(int(received.get(name, 0.0))), float(int(sent.get(name, 0.0))))

    def _report(self, plan: Plan, rates: Rates, machines: dict[str, Any], fleet: Fleet) -> None:
        if self._places is None or self._places.plan is not plan:
            self._places = _Places(plan)
        for index in self._news(self._places, rates, machines, fleet.inside()):
            server = plan.servers[index]
            self._tell(server, rates, index, machines[server.node].os)
        failing, self._failing = self._failing, {}
        for index, server in enumerate(plan.servers) if failing or rates.failed else ():
            failed, key = rates.failed.get(index, {}), server.container.container_id
            if failed:
                self._failing[key] = None
            if (failed or key in failing) and server.node in machines:
                ends = (failed.get(REFUSED, 0.0), failed.get(TIMEOUT, 0.0))
                machines[server.node].os.failing(server.container, *ends)
        running = {server.container.container_id: None for server in plan.servers}
        for known in (self._reported, self.short, self._refused, self._full):
            for gone in [key for key in known if key not in running]:
                known.pop(gone)
        for name in dict.fromkeys([*rates.passing, *self._passed]):
            now, before = rates.passing.get(name, 0.0), self._passed.get(name, 0.0)
            if name in machines and abs(now - before) > ALIKE * before:
                machines[name].os.passing(PASSING, now, now * KEPT_S)
                self._passed[name] = now

    def _news(self, places: _Places, rates: Rates, machines: dict[str, Any], inside: Array) -> list[int]:
        """Servers of which kernels are told: all where a table is short, else those whose connections changed."""
        strained = {name: self.tolled or machine.os.is_strained for name, machine in machines.items()}
        ports = {name: NEAR * machine.os.ports.smallest / 60.0 for name, machine in machines.items()}
        there = np.array([name in machines for name in places.nodes], dtype=bool)
        single = rates.single
        tight = np.array([strained.get(name, False) for name in places.nodes], dtype=bool)
        tight |= single > np.array([ports.get(name, 0.0) for name in places.nodes])
        keys = places.keys
        marked = dict.fromkeys([*self.short, *self._refused, *self._full])
        tight |= np.array([key in marked for key in keys], dtype=bool)
        inside = np.where(places.many, 0.0, inside)
        tight |= inside - places.workers > CROWDED
        new = np.array(rates.opened) + np.maximum(0.0, np.array(rates.out) - single)
        held = np.array([float(sum(server.held.values())) for server in places.plan.servers])  # integers
        now = np.column_stack((new, np.array(rates.kept) + inside + held, single))
        before = np.array([self._reported.get(key, _NEVER) for key in keys]).reshape(-1, 3)
        known = before[:, 0] >= 0.0
        differs = (np.abs(now - before) > ALIKE * before + 0.1).any(axis=1)
        wanted = tight | np.where(known, differs, now.any(axis=1))
        return np.nonzero(there & wanted)[0].tolist()

    def _tell(self, server: Server, rates: Rates, index: int, os: Kernel) -> None:
        container = server.container
        key = container.container_id
        single = max(rates.largest[index].values(), default=0.0)
        new = rates.opened[index] + max(0.0, rates.out[index] - single)
        busy = 0.0
        if server.spec.protocol != "grpc":  # which carries many requests on one connection
            busy = server.in_flight / max(0.02, 1.0 - self.short.get(key, 0.0))
        held = float(sum(server.held.values()))  # integers
        reported = (new, rates.kept[index] + busy + held, single)
        before = self._reported.get(key)
        if before is not None and self.tolled:  # what a shortage does to connections comes about by and by
            reported = (reported[0], held + (reported[1] - held + max(0.0, before[1] - held)) / 2.0, single)
        if before is None and not any(reported) and not os.is_strained:
            return
        tight = os.is_strained or single * 60.0 > NEAR * os.port_count(container)
        if before is None or tight or _differs(reported, before) or key in self.short or key in self._refused:
            self._reported[key] = reported
            admitted = os.connections(container, reported[0], reported[1], outgoing_per_s=single, held=held)
            short = os.descriptors.sockets(container, reported[1], os.open_files(), held)[0]
            short = max(short, os.syscalls.share("accept", container))
            _keep(self.short, key, short)
            server.starved = short
            if admitted.refused:
                self._refused[key] = (admitted.refused, admitted.cause or "ECONNREFUSED")
            else:
                self._refused.pop(key, None)
        self._crowd(server, rates.opened[index], os)
        if self.short.get(key) and server.shortage is not None:
            server.shortage.short_of_descriptors(
                os.descriptors.sockets(container, reported[1], os.open_files(), held)[1] or "EMFILE"
            )

    def _crowd(self, server: Server, opened: float, os: Kernel) -> None:
        """Connections that nobody accepts wait in the listener's backlog."""
        container = server.container
        key = container.container_id
        waiting = opened * self.short.get(key, 0.0) * WAITS_S
        if server.spec.workers and server.spec.protocol != "grpc":
            waiting += max(0.0, server.in_flight - server.spec.workers)
        if waiting > CROWDED or key in self._full:
            port = container.spec.ports[0] if container.spec.ports else 80
            _keep(self._full, key, os.backlog(container, port, waiting, opened))

    # --- what edges pay -------------------------------------------------------------------

    def _lay(self, plan: Plan, users: list[UserLoad]) -> bool:
        bound = bool(self.dropped or self.short or self._refused or self._full)
        if not bound and not self.tolled:
            return False
        self.tolled = False
        changed = False
        plan.own()
        entries = list(self._network.entries())
        for load, edges in zip(users, plan.roots, strict=True):
            for edge in edges:
                places = [load.from_node] if load.from_node else entries
                changed = self._charge(plan, edge, None, places) or changed
        for node in plan.nodes:
            caller = plan.servers[node.server]
            for step in node.steps:
                for edge in step:
                    changed = self._charge(plan, edge, caller, [caller.node]) or changed
        return changed

    def _charge(self, plan: Plan, edge: Edge, caller: Server | None, sources: list[str]) -> bool:
        """Lay the toll of an edge; whether it is another one than before."""
        changed = False
        refused, errno = (
            self._refused.get(caller.container.container_id, (0.0, "")) if caller is not None else (0.0, "")
        )
        for target in edge.targets:
            if target.node < 0:
                continue
            server = plan.servers[plan.nodes[target.node].server]
            key = server.container.container_id
            full, short, call = self._full.get(key, 0.0), self.short.get(key, 0.0), edge.call
            drops = self._dropped(sources, server.node, full)
            now = mean_toll(
                [(n, toll(call.opening, d, short, refused, errno, call.timeout_ns)) for d, n in drops.items()]
            )
            self.tolled = self.tolled or now is not None
            changed = changed or now != target.toll
            target.toll = now
        return changed

    def _dropped(self, sources: list[str], there: str, full: float) -> dict[float, int]:
        """Shares of SYNs that vanish on the ways from these nodes, and from how many of them it is that share."""
        if not (self.dropped or full):
            return {0.0: 1}
        found: dict[float, int] = {}
        for node in sources:
            kept = (1.0 - full) * (1.0 - self.dropped.get(there, 0.0))
            share = 1.0 - (kept if node == there else kept * (1.0 - self.dropped.get(node, 0.0)))
            found[share] = found.get(share, 0) + 1
        return found


def _opens(server: Server) -> float:
    """Connections that a request of a server opens at most."""
    return max(
        (math.fsum(call.count * call.opening for step in op.steps for call in step) for op in server.spec.operations),
        default=0.0,
    )


def _bytes(fleet: Fleet, per_s: Array) -> dict[str, float]:
    """Bytes a second by node, from what servers were asked: every request was sent by some node like these."""
    facts = fleet.facts
    found = np.bincount(facts.machine, per_s, len(facts.machines))
    elsewhere = 1.0 - 1.0 / max(1, int((found > 0.0).sum()))
    volume = found * (elsewhere * (REQUEST_BYTES + ANSWER_BYTES))
    return {node: each for node, each in zip(facts.machines, volume.tolist(), strict=True) if each > 0.0}


def _keep(known: dict[str, float], key: str, value: float) -> None:
    if value:
        known[key] = value
    else:
        known.pop(key, None)


def _differs(now: tuple[float, ...], before: tuple[float, ...]) -> bool:
    return any(abs(a - b) > ALIKE * b + 0.1 for a, b in zip(now, before, strict=True))
