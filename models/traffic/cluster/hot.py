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

from simcluster.engine.streams import uniform_at
from simcluster.models.traffic.aggregate.live import LiveTraffic, Tally
from simcluster.models.traffic.cluster.accounts import Accounts, Requests, Triple
from simcluster.models.traffic.cluster.answered import Answered, answered, as_many
from simcluster.models.traffic.cluster.causes import (
    BROKEN,
    DEADLINE,
    DENIED,
    KIND_INDEX,
    KINDS,
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
from simcluster.models.traffic.cluster.whole import BESIDE
from simcluster.models.traffic.cluster.wiring import Wiring, load_name, ticks_of
from simcluster.models.traffic.graph.histogram import Histogram
from simcluster.models.traffic.graph.result import FAILURES

Array = NDArray[np.float64]

#: A change of a pod's cores that nobody would notice.
NOTICEABLE_CORES = 0.01
#: A change of all latencies that nobody would notice.
NOTICEABLE_LATENCY = 0.02
#: Attempts that succeed as often as this all do; as seldom as that they rather fail.
SURE, RATHER = 0.999, 0.5
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
        self.owed: dict[tuple[str, str], float] = {}  # requests that failed in the last period, nobody knows yet why
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
            live.set_edge(caller, callee, refused=hop.refused, lost=hop.lost)  # also 0: shares are carried over
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
        self._open = hot.live.under_way(tally)
        self._quality = hot.live.quality()
        self._owed, hot.owed = hot.owed, {}
        pods = np.vstack((tally.pods, hot.live.mean_waits_ns()))[:, hot.table.pods]
        self._seen = Seen(pods[0], pods[1], pods[2], pods[5] * 1e9, pods[3], pods[4], pods[7])

    def flow(self) -> HotFlow:
        """Counts as whole numbers."""
        _plan, seen = self._plan, self._seen
        calls, due = self._accounts.pass_hot(self._tick, self._spread(), *self._bounds())
        sent, ok, self._failed, self._given_up = calls.begun, calls.well, calls.failed, self._by_kind(calls.beside)
        self._well = ok.tolist() if self._hot.table.tells else []
        failures = self._failures(self._failed, due)
        flow = Flow(sent.tolist() if self._hot.table.tells else [], failures, [], {}, {}, {}, {}, {})
        if self._hot.table.tells:
            self._serve(flow)
        latencies = self._latencies()
        loads = self._loads(ok, due, latencies)
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
            Of every edge of the plan, as `Wholes` counts: begun, ok, time-outs, rejections, errors, not sent; beside
            them the calls given up by what failed their last attempt.
        """
        table, tally = self._hot.table, self._tally
        served = np.append(tally.pods[1], 0.0)[table.pod_of_container]
        total = np.bincount(table.group_of, served, table.groups)[table.group_of]
        shares = np.where(total > 0.0, served / np.maximum(total, 1e-300), table.alike)
        counted = tally.edges.copy()
        counted[0] += counted[5]  # an attempt that is not sent fails at once
        engine = self._hot.live.engine
        messages = np.where(engine.layout.asynchronous, counted[0], 0.0)  # nobody waits to hear of them
        lost = messages * engine.cuts.lost_share
        counted[1] = np.where(engine.layout.asynchronous, messages - lost, counted[1])
        counted[2] += lost
        counts = [self._by_key(row) for row in (*counted[:BESIDE], *tally.final)]
        arrivals = np.bincount(table.callee_of, counts[0], len(table.callees) + 1)
        flow = table.calls * np.where(table.inner, arrivals[table.caller_operation] * shares[table.container], 1.0)
        return np.vstack([self._to_plan(count, flow) for count in counts])

    def _by_key(self, of_engine: Array) -> Array:
        """Sums of what edges of the engine have, by the table's keys."""
        table, keys = self._hot.table, len(self._hot.table.keys)
        found: Array = np.bincount(table.key_of, of_engine, keys + 1)[:keys].astype(np.float64, copy=False)
        return found

    def _to_plan(self, of_key: Array, weights: Array) -> Array:
        """What every key has, given to the plan's edges that stand for it by their weights."""
        table = self._hot.table
        sums = np.bincount(table.key, weights, len(table.keys))[table.key]
        part = np.where(sums > 0.0, weights / np.maximum(sums, 1e-300), 0.0)
        found: Array = np.bincount(table.edge, of_key[table.key] * part, len(self._plan.edges)).astype(np.float64)
        return found

    def _bounds(self) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Of every edge of the plan: calls that have ended though they are not judged, how many are under way, and
        where they rather fail than succeed.
        """
        table, open_ = self._hot.table, self._open
        there: Array = self._accounts.open[table.edge].astype(np.float64) + 1.0  # who has more has more of what ends
        early, most = (self._to_plan(self._by_key(each), there) for each in (open_.early, open_.attempts))
        bad = self._quality < RATHER
        rather = self._by_key(bad.astype(np.float64))[table.key]
        doubtful: NDArray[np.bool_] = np.bincount(table.edge, rather, len(self._plan.edges)) > 0.0
        return early, most, doubtful

    def _troubled(self) -> NDArray[np.bool_]:
        """Of which edges of the engine calls fail now, or rather fail than succeed."""
        bad = np.add.reduce(self._tally.edges[2:6], axis=0) + (self._quality < SURE)
        found: NDArray[np.bool_] = self._by_key(bad) > 0.0
        return found

    def _failures(self, failed: NDArray[np.int64], due: list[Triple]) -> list[tuple[int, int, int, float]]:
        """Edge, kind and count; they are known now."""
        kinds = self._hot.table.kinds
        ended = {(edge, kind): count for edge, kind, count in due}
        for edge, kind in np.argwhere(failed.T).tolist():
            name = edge, int(kinds[edge, kind])
            ended[name] = ended.get(name, 0) + int(failed[kind, edge])
        return [(edge, kind, count, 0.0) for (edge, kind), count in ended.items()]

    def _by_kind(self, counts: NDArray[np.int64]) -> Lost:
        """Counts of edges (row of a kind of failure, edge) by edge, with the name of their kind."""
        found: Lost = {}
        for index, row in np.argwhere(counts.T > 0).tolist():
            found.setdefault(index, []).append((int(self._hot.table.kinds[index, row]), int(counts[row, index])))
        return found

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
        lost = self._by_kind(self._failed)
        tells = table.tells
        into = dict.fromkeys(tells, 0)
        keys: dict[int, int] = {}
        leading = []
        for edge in self._plan.edges:
            calls = flow.sent[edge.index]
            here = [target for target in edge.targets if target.node in tells]
            for target in here:
                keys[target.node] = edge.key
                into[target.node] += math.floor(calls * target.weight + 0.5)
            if here:
                leading.append(edge)
        nodes = dict.fromkeys(target.node for edge in leading for target in edge.targets if target.node >= 0)
        able = {node: self._able(self._plan.nodes[node]) for node in nodes}
        under_way = self._accounts.open.tolist()
        found = answered(leading, self._well, lost, able, under_way)
        for index in sorted(keys):
            self._count(index, into[index])
            node = self._plan.nodes[index]
            ends = found.get(index) if node.steps else None
            if ends is None:
                ends = Answered(self._finished(node, into[index]) * able[index], math.inf, open=-1.0)
            uniform = uniform_at(keys[index], -1 - self._tick)
            ends = ends._replace(well=ends.well + uniform, late=ends.late + uniform, lost=ends.lost + uniform)
            self._write(flow, index, into[index], ends, lost)

    def _finished(self, node: Node, arrived: int) -> float:
        """Requests of a node that it has finished, though the caller may have gone."""
        place = self._hot.table.row_of.get(node.server)
        if place is None:
            return 0.0
        came, operations = float(self._seen.arrived[place]), len(self._plan.servers[node.server].spec.operations)
        return (arrived / came if came > 0.0 else 1.0 / operations) * float(self._seen.finished[place])

    def _able(self, node: Node) -> float:
        """The share of a node's requests whose calls that they cannot do without are answered now."""
        share = 1.0
        for step in node.steps:
            for edge in step:
                if edge.call.required and not edge.call.asynchronous:
                    made = min(1.0, edge.call.count * self._plan.made.get(edge.index, 1.0))
                    share *= 1.0 - made * (1.0 - float(self._good[edge.index]))
        return share

    def _count(self, index: int, arrived: int) -> None:
        server = self._plan.servers[self._plan.nodes[index].server]
        if server.counts is not None:
            server.counts[index - self._plan.first_node[self._plan.nodes[index].server]] += arrived

    def _write(self, flow: Flow, index: int, arrived: int, ends: Answered, lost: Lost) -> None:
        """What the log of a server says of one of its operations, of whose requests so many ended."""
        node = self._plan.nodes[index]
        server = self._plan.servers[node.server]
        place = self._hot.table.row_of.get(node.server)
        if server.logger is None or place is None:
            return
        found: list[Failed] = []
        for number, step in enumerate(node.steps):
            for edge in step:
                for kind, calls in self._given_up.get(edge.index, ()):
                    if edge.call.log:
                        cause = self._cause(edge, kind, 0, lost)
                        before = time_before(self._plan, node, number)
                        found.append(Failed(node.operation, edge.call, cause, calls, before, failed_after(cause)))
        ended = math.floor(ends.well)
        if ends.bad < math.inf:
            found = self._in_all(found, server, node, ends.bad)
        came, waiting = float(self._seen.arrived[place]), float(self._seen.waiting[place])
        share = arrived / came if came > 0.0 else 1.0 / len(server.spec.operations)
        entered = max(0, arrived - math.floor(share * float(self._seen.refused[place]) + 0.5))
        inside = math.ceil(ends.open if node.steps else share * (waiting + float(self._seen.busy[place])))
        queueing = server.spec.queueing
        in_turn = not node.steps and share * waiting > ended and (queueing is None or queueing.discipline == "fifo")
        took = OLDEST if in_turn else self._durations(server, node)
        left = math.floor(ends.late), math.floor(ends.lost), ends.after_ns
        followed = Followed(node.operation, entered, ended, took, found, inside, *left)
        flow.followed.setdefault(node.server, []).append(followed)

    def _in_all(self, found: list[Failed], server: Server, node: Node, bad: float) -> list[Failed]:
        """Failed calls as many as requests of a node that failed; those without a cause yet wait a period for one."""
        name = (server.container.container_id, node.operation.name)
        if not any(each.call.required for each in found):
            self._hot.owed[name] = bad
            return found
        return as_many(found, bad + self._owed.get(name, 0.0))

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

    def _loads(self, ok: NDArray[np.int64], due: list[Triple], latencies: Latencies) -> dict[str, LoadRecord]:
        """What users saw, by `namespace/name`."""
        wiring, engine, open_ = self._wiring, self._hot.live.engine, self._open
        identities = [f"{load.namespace}/{load.name}" for load in wiring.loads.values()]
        counts = [self._tally.loads[name] for name in wiring.loads]
        amounts = [
            [each.arrivals, each.ok, *(each.failed[kind] for kind in FAILURES), each.attempts] for each in counts
        ]
        recorder = engine.recorder
        roots = [recorder.roots[recorder.columns[recorder.names.index(name)]] for name in wiring.loads]
        early, most = (
            np.array([math.fsum(each[edges].tolist()) for edges in roots]) for each in (open_.early, open_.calls)
        )
        doubtful = np.array([bool((self._quality[edges] < RATHER).any()) for edges in roots], dtype=bool)
        edges_of = [
            dict.fromkeys(part.edge for part in wiring.parts if part.caller == name and not part.container)
            for name in wiring.loads
        ]
        known = [[(KINDS[kind], n) for edge, kind, n in due if edge in edges] for edges in edges_of]
        gone = [sum(n for _, n in each) for each in known]  # integers
        later = [sum(int(self._accounts.bad[edge]) for edge in edges) for edges in edges_of]  # integers
        rows = np.array(amounts).T.reshape(BESIDE + 1, -1)
        seen = self._requests.pass_hot(identities, gone, later, rows, early, most, doubtful)
        found = {}
        for place, (name, identity) in enumerate(zip(wiring.loads, identities, strict=True)):
            dead = next((p.kind for p in wiring.parts if p.caller == name and p.kind), "")
            words = (DEADLINE, dead or RESET, STATUS, BROKEN)
            failed = _at_most(known[place], int(seen.due[place])) + [
                (w, int(n)) for w, n in zip(words, seen.failed[:, place], strict=True) if n
            ]
            begun, attempts, well, left = (
                int(each[place]) for each in (seen.begun, seen.beside[0], seen.well, seen.left)
            )
            record = LoadRecord(begun, attempts, well, tuple(failed), left)
            parts = [Component(int(ok[edge]), latencies[edge]) for edge in edges_of[place]]
            if not any(part.requests for part in parts):  # all of them were counted on their edges before
                shares = [math.ceil(record.ok * self._plan.edges[edge].call.count) for edge in edges_of[place]]
                parts = [Component(share, latencies[e]) for share, e in zip(shares, edges_of[place], strict=True)]
            found[identity] = _with_latencies(record, counts[place].latency, parts)
        return found

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
        variance[table.edge[there]] = np.minimum(took * took, room * room)[there]
        now = Latencies(mean, variance, (), *(() if laws is None else (laws.served, laws.answered)))
        return self._hot.latencies if _hardly_differ(self._hot.latencies, now) else now


def _hardly_differ(before: Latencies, now: Latencies) -> bool:
    if len(before) != len(now) or before.served != now.served or list(before.answered) != list(now.answered):
        return False
    times = [(before.means, now.means)]
    times += [(np.array([*before.answered.values()]), np.array([*now.answered.values()]))]
    return all(bool((np.abs(new - old) <= NOTICEABLE_LATENCY * new).all()) for old, new in times)


def _at_most(found: list[tuple[str, int]], count: int) -> list[tuple[str, int]]:
    """The first so many of some failures."""
    kept = []
    for kind, number in found:
        here = min(number, count)
        count -= here
        if here:
            kept.append((kind, here))
    return kept


def _with_latencies(record: LoadRecord, seen: Histogram, laws: list[Component]) -> LoadRecord:
    """What those who succeeded met; while nobody knows what single requests met, by the laws of their edges.

    Whole requests are counted when parts make them up: those who were seen may be counted a little later.
    """
    if not seen.count:
        return record._replace(laws=tuple(each for each in laws if each.requests > 0)) if record.ok else record
    return record._replace(bins=array("i", [n for pair in sorted(seen.bins.items()) for n in pair]).tobytes())


_KIND_NAMES = {index: name for name, index in KIND_INDEX.items()}
