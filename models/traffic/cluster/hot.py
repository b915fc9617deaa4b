"""The cluster's traffic while deadlines can be missed: fine ticks of the `aggregate` engine over its pods.

Within every period of the cluster's grid the live engine runs its own ticks: queues of pods, attempts
in flight by age and number, retries, budgets, breakers. What it counted is told in the terms of the
calm path: calls and failures of every edge of the plan, requests and CPU of every server, lines for
the logs. Its state goes on from period to period, and over new plans when pods come and go: queues by
container, attempts by edge. A container that is gone loses its queue, and its own calls with it.

What is left out: which pod of a workload made a call that is in flight; all of them share alike.
"""

from __future__ import annotations

import math
from array import array
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcluster.engine.streams import uniform_at, uniforms_at
from simcluster.models.traffic.aggregate.live import LiveTraffic, LoadCounts, Tally
from simcluster.models.traffic.cluster.accounts import Accounts, Requests
from simcluster.models.traffic.cluster.causes import (
    BROKEN,
    DEADLINE,
    DENIED,
    KIND_INDEX,
    RESET,
    STATUS,
    UNCONNECTED,
    Cause,
)
from simcluster.models.traffic.cluster.distribution import Component, Durations, Latency
from simcluster.models.traffic.cluster.evaluation import failed_after, time_before
from simcluster.models.traffic.cluster.fleet import Fleet, Seen
from simcluster.models.traffic.cluster.flow import Flow
from simcluster.models.traffic.cluster.hottable import Table
from simcluster.models.traffic.cluster.nodes import Edge, Node
from simcluster.models.traffic.cluster.plan import Plan
from simcluster.models.traffic.cluster.queueing import service_time
from simcluster.models.traffic.cluster.server import Failed, Followed, Server
from simcluster.models.traffic.cluster.statistics import Latencies, LoadRecord, PodTable, packed
from simcluster.models.traffic.cluster.users import UserLoad
from simcluster.models.traffic.cluster.wiring import Wiring, load_name, ticks_of
from simcluster.models.traffic.graph.histogram import Histogram

Array = NDArray[np.float64]

#: A change of a pod's cores that nobody would notice.
NOTICEABLE_CORES = 0.01
#: A change of all latencies that nobody would notice.
NOTICEABLE_LATENCY = 0.02
#: Attempts that succeed as often as this all do.
SURE = 0.999
#: Requests walk through graphs of at most so many edges, to draw their latencies.
WALKED = 60
#: A drawn duration of so many ticks says that nobody ever served the request.
ENDLESS = 1e9
#: Causes are followed through so many calls.
DEPTH = 6


#: Of a queue that is longer than what is served in a tick the oldest end.
OLDEST = Durations(np.array([1e15]), np.array([0.5]))
#: Of edges of the plan: kind and number of attempts that failed.
Lost = dict[int, list[tuple[int, int]]]


class HotFlow(NamedTuple):
    """A period, in the terms of the plan.

    Attributes:
        sent, ok, failures: as in a `Tick`; flow: what servers print.
        loads, pods: what users saw, and queues.
        rows, seen: servers of the plan that serve, and what happened at them.
        latencies: those of the plan's edges.
    """

    sent: bytes
    ok: bytes
    failures: bytes
    flow: Flow
    loads: dict[str, LoadRecord]
    pods: PodTable
    rows: NDArray[np.int64]
    seen: Seen
    latencies: Latencies


class HotTraffic:
    """The live engine, and how its edges and the plan's belong together.

    Args:
        seed: of the engine's draws.
        wiring: the graph of now; fleet: the plan's servers.
        start_ns: instant from which on it runs, `period_ns` apart from the next.
    """

    def __init__(self, seed: int, wiring: Wiring, fleet: Fleet, start_ns: int, period_ns: int) -> None:
        self._seed = seed
        self._period_ns = period_ns
        self.wiring, self.fleet = wiring, fleet
        self.tick_ns = ticks_of(wiring.spec, period_ns, len(wiring.servers))
        self.live = LiveTraffic(wiring.spec, seed, self.tick_ns, wiring.pods, start_ns, prompt=True, walked=WALKED)
        self.calm_periods = 0
        self.rests: dict[str, dict[str, float]] = {}  # parts of requests that are not counted yet, by load and kind
        self._index()
        self._apply()

    def _index(self) -> None:
        layout = self.live.engine.layout
        self.table = Table(self.wiring, self.live, self.fleet)
        self._cores = np.zeros(layout.pods)  # as the engine was told; 0: not yet
        self.latencies = Latencies()

    def rewire(self, wiring: Wiring, fleet: Fleet) -> None:
        """The plan was made anew: pods or routes have changed."""
        old, self.wiring, self.fleet = self.wiring, wiring, fleet
        if old.spec == wiring.spec and old.pods == wiring.pods:
            known = self._cores
            self._index()
            self._cores = known
            self._apply(old)
            return
        self._forget_callers(old)
        self.live.rebuild(wiring.spec, wiring.pods)
        self._index()
        self._apply()

    def seed(self, waiting: dict[str, float]) -> None:
        """Requests that wait at containers when the engine takes over."""
        run = self.live.engine
        queues, layout = run.queues, run.layout
        for pod, name in enumerate(layout.pod_names):
            count = waiting.get(name, 0.0)
            if count < 1.0 or layout.infinite[pod]:
                continue
            for counts in (queues.number, queues.waiting, queues.queued, queues.inside, queues.position):
                counts[pod] = count
            lanes = np.nonzero(layout.lane_pod == pod)[0]
            queues.content[lanes] = count / len(lanes) / layout.relative[lanes]

    def _forget_callers(self, old: Wiring) -> None:
        """Calls in flight of containers that are gone are nobody's calls any more."""
        callers = self.live.engine.callers
        for name, containers in old.pods.items():
            left = [c for c in containers if c in self.wiring.servers]
            if len(left) == len(containers) or name not in old.groups:
                continue
            gone = 1.0 - len(left) / len(containers)
            for edge in self.live.engine.graph.edges:
                if edge.caller_name == name and edge.caller >= 0:
                    callers.forget(edge.index, gone)

    def _apply(self, old: Wiring | None = None) -> None:
        """Tell the engine of routes, refusals and speeds."""
        live, wiring = self.live, self.wiring
        before = old.hops if old is not None else {}
        for key, hop in wiring.hops.items():
            if before.get(key) == hop:
                continue
            caller, callee = key
            if hop.weights:
                live.set_share(caller, callee, dict(hop.weights))
            if hop.refused or hop.lost or key in before:
                live.set_edge(caller, callee, refused=hop.refused, lost=hop.lost)
        for name, load in wiring.loads.items():
            if load.concurrency is None:
                live.set_rate(name, max(0.0, load.rps))
        self.speeds()

    @property
    def stands_still(self) -> bool:
        """Whether the storm is as it was for a while."""
        return self.live.engine.steady.is_still

    def speeds(self) -> None:
        """Tell the engine what CPU every pod has."""
        rows, pods = self.table.rows, self.table.pods
        cores = np.maximum(self.fleet.cores() - self.fleet.facts.idle, 1e-3)[rows]
        known = self._cores[pods]
        for place in np.nonzero(np.abs(cores - known) > NOTICEABLE_CORES * known)[0].tolist():
            server, own = self.fleet.servers[rows[place]], float(cores[place])
            self._cores[pods[place]] = own
            speed = own_speed(server, own)  # of one request; so many of them at once use what the pod has
            self.live.set_pod(server.container.container_id, cores=own / speed, speed=speed)

    def rates(self) -> None:
        """Tell the engine how many requests users send now."""
        for name, load in self.wiring.loads.items():
            if load.concurrency is None:
                source = self.live.engine.source(name)
                if source.fixed != load.rps:
                    self.live.set_rate(name, max(0.0, load.rps))

    def misses(self, users: list[UserLoad]) -> bool:
        """Whether the graph does not have the users as they are now (new ones, or other habits)."""
        known = self.wiring.loads
        for load in users:
            name = load_name(load)
            if load.rps > 0.0 and name not in known:
                return True
            if load.concurrency is not None and name in known and self.wiring.rates[name] != load.rps:
                return True
        return False

    def run(self, plan: Plan, now_ns: int, tick: int, open_: tuple[Accounts, Requests], laws: Latencies) -> HotFlow:
        """Run up to an instant and tell what happened since the last one.

        Args:
            open_: what is under way; laws: of the plan's edges as last evaluated.
        """
        self.rates()
        self.speeds()
        self.live.advance(now_ns)
        counted = _Telling(self, plan, self.live.tally(), tick, open_, laws).flow()
        self.latencies = counted.latencies
        return counted


def own_speed(server: Server, cores: float) -> float:
    """Speed of one request alone, 1 as described: below it where the quota stops a single request."""
    quota = cores if cores < 1.0 else None
    if quota is None:
        return 1.0
    cost = max((op.cpu_ns for op in server.spec.operations), default=0)
    return cost / service_time(cost, quota) if cost > 0 else 1.0


class _Telling:
    """One period in the terms of the plan."""

    def __init__(
        self, hot: HotTraffic, plan: Plan, tally: Tally, tick: int, open_: tuple[Accounts, Requests], laws: Latencies
    ) -> None:
        self._hot = hot
        self._laws = laws
        self._wiring = hot.wiring
        self._plan = plan
        self._tally = tally
        self._tick = tick
        self._accounts, self._requests = open_
        self._in_flight = hot.live.engine.callers.in_flight()
        pods = np.vstack((tally.pods, hot.live.mean_waits_ns()))[:, hot.table.pods]
        self._seen = Seen(pods[0], pods[1], pods[2], pods[5] * 1e9, pods[3], pods[4], pods[7])

    def flow(self) -> HotFlow:
        """Counts as whole numbers."""
        plan, seen = self._plan, self._seen
        uniform = uniforms_at(plan.keys, self._tick) if len(plan.edges) else np.zeros(0)
        whole = np.maximum(np.floor(self._spread() + uniform).astype(np.int64), 0)
        self._whole = whole
        sent, failed = whole[0] + whole[5], whole[2:6]
        ok = self._accounts.pass_hot(sent, whole[1], failed, *self._bounds(sent))
        failures = self._failures(failed)
        flow = Flow(sent.tolist() if self._hot.table.tells else [], failures, [], {}, {}, {}, {}, {})
        if self._hot.table.tells:
            self._serve(flow)
        latencies = self._latencies()
        loads = {name: self._load(name, ok, latencies) for name in self._wiring.loads}
        loads = {f"{self._wiring.loads[n].namespace}/{self._wiring.loads[n].name}": r for n, r in loads.items()}
        queues = PodTable(
            self._hot.table.names,
            np.floor(seen.waiting + 0.5).astype(np.int64).tobytes(),
            seen.busy.tobytes(),
            np.floor(seen.refused + 0.5).astype(np.int64).tobytes(),
        )
        counts, good = sent.astype(np.int32).tobytes(), ok.astype(np.int32).tobytes()
        bad = packed([each[:3] for each in failures])
        return HotFlow(counts, good, bad, flow, loads, queues, self._hot.table.rows, seen, latencies)

    def _spread(self) -> Array:
        """Every edge of the graph stands for calls of many containers: they share by what they served.

        Returns:
            Of every edge of the plan: attempts, ok, time-outs, rejections, errors, not sent, calls given up.
        """
        table, tally = self._hot.table, self._tally
        served = np.append(tally.pods[1], 0.0)[table.pod_of_container]
        total = np.bincount(table.group_of, served, table.groups)[table.group_of]
        shares = np.where(total > 0.0, served / np.maximum(total, 1e-300), table.alike)
        keys = len(table.keys)
        counts = [np.bincount(table.key_of, tally.edges[row], keys + 1)[:keys] for row in range(7)]
        arrivals = np.bincount(table.callee_of, counts[0], len(table.callees) + 1)
        flow = table.calls * np.where(table.inner, arrivals[table.caller_operation] * shares[table.container], 1.0)
        sums = np.bincount(table.key, flow, keys)[table.key]
        part = np.where(sums > 0.0, flow / np.maximum(sums, 1e-300), 0.0)
        edges = len(self._plan.edges)
        return np.vstack([np.bincount(table.edge, count[table.key] * part, edges) for count in counts])

    def _bounds(self, sent: NDArray[np.int64]) -> tuple[Array, NDArray[np.bool_]]:
        """How many calls of every edge of the plan can be under way, and where they rather fail than succeed.

        The engine has attempts in flight until their time-outs expire, or, in wide ticks, never. Where all succeed they
        are under way as long as they take (Little's law).
        """
        table, engine, seconds = self._hot.table, self._hot.live.engine, max(self._tally.seconds, 1e-9)
        keys = len(table.keys)
        flying = np.bincount(table.key_of, self._in_flight, keys + 1)[:keys]
        took = self._tally.edges[0] * engine.outcomes.latency * (engine.tick_ns * 1e-9 / seconds)
        inside = np.bincount(table.key_of, took, keys + 1)[:keys]
        troubled = self._troubled()
        most = np.where(troubled, flying, np.ceil(inside))
        there = (self._accounts.open + sent)[table.edge].astype(np.float64)
        sums = np.bincount(table.key, there, keys)[table.key]
        part = most[table.key] * np.where(sums > 0.0, there / np.maximum(sums, 1e-300), 0.0)
        edges = len(self._plan.edges)
        doubtful: NDArray[np.bool_] = np.bincount(table.edge, troubled[table.key], edges) > 0.0
        return np.bincount(table.edge, part, edges).astype(np.float64), doubtful

    def _troubled(self) -> NDArray[np.bool_]:
        """Of which edges of the engine calls fail now, or rather fail than succeed."""
        table, engine = self._hot.table, self._hot.live.engine
        bad = np.add.reduce(self._tally.edges[2:6], axis=0) + (engine.outcomes.quality < SURE)
        keys = len(table.keys)
        found: NDArray[np.bool_] = np.bincount(table.key_of, bad, keys + 1)[:keys] > 0.0
        return found

    def _failures(self, failed: NDArray[np.int64]) -> list[tuple[int, int, int, float]]:
        """Edge, kind and count; they are known now."""
        kinds = self._hot.table.kinds
        return [
            (edge, int(kinds[edge, kind]), int(failed[kind, edge]), 0.0)
            for edge, kind in np.argwhere(failed.T).tolist()
        ]

    def _serve(self, flow: Flow) -> None:
        """Requests of every server, and what its log says."""
        engine, table = self._hot.live.engine, self._hot.table
        latency = np.append(np.zeros(len(table.keys)), 0.0)
        latency[table.key_of] = engine.outcomes.latency * engine.tick_ns
        self._latency_of = dict(zip((callee for _, callee in table.keys), latency.tolist(), strict=False))
        good = np.ones(len(table.keys) + 1)
        good[table.key_of] = engine.call_ok
        self._good = np.ones(len(self._plan.edges))
        self._good[table.edge] = good[table.key]
        lost: Lost = {}
        failed, kinds = self._whole[2:6], table.kinds
        for index, kind in np.argwhere(failed.T > 0).tolist():
            lost.setdefault(index, []).append((int(kinds[index, kind]), int(failed[kind, index])))
        tells = table.tells
        into = dict.fromkeys(tells, 0)
        keys: dict[int, int] = {}
        for edge in self._plan.edges:
            calls = flow.sent[edge.index]
            for target in edge.targets:
                if target.node in tells:
                    keys[target.node] = edge.key
                    into[target.node] += math.floor(calls * target.weight + 0.5)
        for index in sorted(keys):
            self._count(index, into[index])
            ended = self._ended(self._plan.nodes[index], into[index])
            ended += uniform_at(keys[index], -1 - self._tick)
            self._write(flow, index, into[index], math.floor(ended), lost)

    def _ended(self, node: Node, arrived: int) -> float:
        """Requests of a node that ended well: what it has finished, though the caller may have gone, if the calls that
        a request cannot do without are answered now.
        """
        place = self._hot.table.row_of.get(node.server)
        if place is None:
            return 0.0
        came, operations = float(self._seen.arrived[place]), len(self._plan.servers[node.server].spec.operations)
        ended = (arrived / came if came > 0.0 else 1.0 / operations) * float(self._seen.finished[place])
        for step in node.steps:
            for edge in step:
                if edge.call.required and not edge.call.asynchronous:
                    made = min(1.0, edge.call.count * self._plan.made.get(edge.index, 1.0))
                    ended *= 1.0 - made * (1.0 - float(self._good[edge.index]))
        return ended

    def _count(self, index: int, arrived: int) -> None:
        server = self._plan.servers[self._plan.nodes[index].server]
        if server.counts is not None:
            server.counts[index - self._plan.first_node[self._plan.nodes[index].server]] += arrived

    def _write(self, flow: Flow, index: int, arrived: int, ended: int, lost: Lost) -> None:
        """What the log of a server says of one of its operations, of whose requests so many ended well."""
        node = self._plan.nodes[index]
        server = self._plan.servers[node.server]
        place = self._hot.table.row_of.get(node.server)
        if server.logger is None or place is None:
            return
        found: list[Failed] = []
        for number, step in enumerate(node.steps):
            for edge in step:
                kinds = lost.get(edge.index, [])
                attempts, left = sum(count for _, count in kinds), int(self._whole[6, edge.index])  # integers
                for kind, count in kinds:
                    calls = left * count // max(1, attempts)
                    attempts, left = attempts - count, left - calls
                    if calls and edge.call.log:
                        cause = self._cause(edge, kind, 0, lost)
                        before = time_before(self._plan, node, number)
                        found.append(Failed(node.operation, edge.call, cause, calls, before, failed_after(cause)))
        came, waiting = float(self._seen.arrived[place]), float(self._seen.waiting[place])
        share = arrived / came if came > 0.0 else 1.0 / len(server.spec.operations)
        entered = max(0, arrived - math.floor(share * float(self._seen.refused[place]) + 0.5))
        inside = -1 if node.steps else math.ceil(share * (waiting + float(self._seen.busy[place])))
        queueing = server.spec.queueing
        in_turn = not node.steps and share * waiting > ended and (queueing is None or queueing.discipline == "fifo")
        took = OLDEST if in_turn else self._durations(server, node)
        followed = Followed(node.operation, entered, ended, took, found, inside)
        flow.followed.setdefault(node.server, []).append(followed)

    def _durations(self, server: Server, node: Node) -> Durations:
        """How long requests of a node take that succeed now: as those of its service, scaled to its operation."""
        name = self._wiring.service_of[server.container.container_id]
        own = f"{name}/{node.operation.name}"
        parts = [p for load, p in self._tally.latencies.items() if self._enters(load, name)] or [
            p for service, p in self._tally.sojourns.items() if service == name
        ]
        mean = self._latency_of.get(own, 0.0)
        if not parts:
            return Durations.of(Latency(mean, mean * mean) if mean else node.latency)
        values, weights = np.concatenate(parts, axis=1)
        known = (values < ENDLESS) & (weights > 0.0)
        if not known.any():
            return Durations.of(Latency(mean, mean * mean) if mean else node.latency)
        return Durations.weighed(values[known] * float(self._hot.live.engine.tick_ns), weights[known])

    def _enters(self, load: str, service: str) -> bool:
        """Whether users enter by a service."""
        return any(p.caller == load and p.callee.partition("/")[0] == service for p in self._wiring.parts)

    def _cause(self, edge: Edge, kind: int, depth: int, lost: Lost) -> Cause:
        """Why a call failed; an error answer is traced to the call below that failed most."""
        name = _KIND_NAMES[kind]
        if name == STATUS and depth < DEPTH:
            worst, most = None, 0
            for below in self._below(edge):
                for its_kind, count in lost.get(below.index, ()):
                    if below.call.required and count > most:
                        worst, most = (below, its_kind), count
            if worst is not None:
                return self._cause(worst[0], worst[1], depth + 1, lost).behind(edge.call)
        return Cause(name, edge.host, edge.port, edge.address, (edge.call,), self._words(edge, name))

    def _words(self, edge: Edge, kind: str) -> str:
        """What the server at the end of an edge says when it refuses or fails by itself."""
        for target in edge.targets:
            if kind == DENIED and target.text:
                return target.text
            if kind == UNCONNECTED and target.toll is not None:
                return target.toll.errno
            if kind == STATUS and target.node >= 0 and self._plan.nodes[target.node].operation.answer:
                return self._plan.nodes[target.node].operation.answer
        return ""

    def _below(self, edge: Edge) -> list[Edge]:
        nodes: list[Node] = [self._plan.nodes[t.node] for t in edge.targets if t.node >= 0]
        return [below for node in nodes for step in node.steps for below in step]

    def _load(self, name: str, ok: NDArray[np.int64], latencies: Latencies) -> LoadRecord:
        counts: LoadCounts = self._tally.loads[name]
        dead = next((p.kind for p in self._wiring.parts if p.caller == name and p.kind), "")
        words = {"timeout": DEADLINE, "rejected": dead or RESET, "error": STATUS, "refused": BROKEN}
        amounts = {"begun": counts.arrivals, "attempts": counts.attempts, "ok": counts.ok, **counts.failed}
        rests = self._hot.rests.setdefault(name, {})
        whole = {}
        for what, amount in amounts.items():
            rests[what] = rests.get(what, 0.0) + amount
            whole[what] = math.floor(rests[what] + 1e-6)
            rests[what] -= whole[what]
        load = self._wiring.loads[name]
        identity = f"{load.namespace}/{load.name}"
        there = self._requests.open.get(identity, 0) + whole["begun"] - sum(whole[kind] for kind in words)  # integers
        flying = min(self._flying(name), max(0, there))
        if counts.ok + rests["ok"] < 1.0 and there > flying and any(whole.values()):
            worst = max(words, key=lambda kind: (rests[kind], whole[kind]))  # parts of failed ones make whole ones
            whole[worst], there = whole[worst] + there - flying, flying
        failed = [(words[kind], whole[kind]) for kind in words]
        record = self._requests.settle(identity, whole["begun"], whole["attempts"], failed, flying)
        edges = dict.fromkeys(part.edge for part in self._wiring.parts if part.caller == name and not part.container)
        parts = [Component(int(ok[edge]), latencies[edge]) for edge in edges]
        if not any(part.requests for part in parts):  # all of them were counted on their edges before
            shares = [math.ceil(record.ok * self._plan.edges[edge].call.count) for edge in edges]
            parts = [Component(share, latencies[edge]) for share, edge in zip(shares, edges, strict=True)]
        return _with_latencies(record, counts.latency, parts)

    def _flying(self, name: str) -> int:
        """Requests of users that are under way, as `_bounds` says of calls."""
        engine = self._hot.live.engine
        recorder = engine.recorder
        roots = recorder.roots[recorder.columns[recorder.names.index(name)]]
        flying = math.fsum(self._in_flight[roots].tolist())
        troubled = self._tally.edges[2:6, roots].any() or (engine.outcomes.quality[roots] < SURE).any()
        if not troubled:
            inside = self._tally.edges[0, roots] * engine.outcomes.latency[roots]
            flying = math.fsum(inside.tolist()) * engine.tick_ns * 1e-9 / max(self._tally.seconds, 1e-9)
        return math.ceil(flying - 1e-6)

    def _latencies(self) -> Latencies:
        """Mean and variance of what succeeded, by the callee's sojourn and no longer than the time-out.

        Where nothing fails the laws of the plan hold, which know of links and, since servers publish them, of waits;
        unless queues have grown since they were evaluated. While hardly anything changes they are those of the last
        period.
        """
        engine, table = self._hot.live.engine, self._hot.table
        by_key = np.zeros(len(table.keys) + 1)
        by_key[table.key_of] = engine.outcomes.latency * engine.tick_ns
        known = by_key[table.key]
        limits = table.limit[table.edge]
        took = np.minimum(np.maximum(known, 1.0), limits)
        room = np.maximum(0.0, limits - took) / 3.0
        laws = self._laws if len(self._laws) == len(table.mean) else None
        mean, variance = (table.mean, table.variance) if laws is None else (laws.means, laws.variances)
        mean, variance = mean.copy(), variance.copy()
        there = (known > 0.0) & (self._troubled()[table.key] | (took > mean[table.edge]))
        mean[table.edge[there]] = took[there]
        before = self._hot.latencies
        if len(before) == len(mean) and bool((np.abs(mean - before.means) <= NOTICEABLE_LATENCY * mean).all()):
            return before
        variance[table.edge[there]] = np.minimum(took * took, room * room)[there]
        return Latencies(mean, variance)


def _with_latencies(record: LoadRecord, seen: Histogram, laws: list[Component]) -> LoadRecord:
    """What those who succeeded met; while nobody knows what single requests met, by the laws of their edges.

    Whole requests are counted when parts make them up: those who were seen may be counted a little later.
    """
    if not seen.count:
        return record._replace(laws=tuple(each for each in laws if each.requests > 0)) if record.ok else record
    return record._replace(bins=array("i", [n for pair in sorted(seen.bins.items()) for n in pair]).tobytes())


_KIND_NAMES = {index: name for name, index in KIND_INDEX.items()}
