"""The traffic of a cluster: requests as counts on one global tick grid.

Each tick covers the half second before it: users' requests arrive, run through the call
graph, queue, fail or succeed, and cost CPU. Changes of routes, servers or load take effect
at the next grid point.

While all is calm a tick is closed forms: waits from utilisation. As soon as a deadline may be missed because of
waits (`tension`), the ticks are filled by the `aggregate` engine (`hot`): queues, attempts in flight and retries then
have a state that goes on from tick to tick, until all is calm again. Either way an outcome is credited to the tick in
which the request ends, and what has not ended is under way (`accounts`).
"""

from __future__ import annotations

from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import MILLISECOND, Simulation
from simcluster.models.machine.links.conversation import Conversation
from simcluster.models.machine.network import Network
from simcluster.models.machine.process import Answer
from simcluster.models.traffic.cluster.accounts import Accounts, Ended, Requests
from simcluster.models.traffic.cluster.caching import CacheRoom
from simcluster.models.traffic.cluster.causes import KINDS
from simcluster.models.traffic.cluster.conversations import conversations
from simcluster.models.traffic.cluster.demand import expected, mean_square
from simcluster.models.traffic.cluster.distribution import Component
from simcluster.models.traffic.cluster.evaluation import evaluate
from simcluster.models.traffic.cluster.fleet import Arrived, Fleet, Seen
from simcluster.models.traffic.cluster.flow import Flow, FlowWalk
from simcluster.models.traffic.cluster.hot import HotTraffic
from simcluster.models.traffic.cluster.margins import Margins
from simcluster.models.traffic.cluster.nodes import Layout, Node
from simcluster.models.traffic.cluster.plain import CHARGED, LARGE, PERIODS, Ledger, PlainFlow, stride_of
from simcluster.models.traffic.cluster.plan import Plan, PlanBuilder
from simcluster.models.traffic.cluster.reevaluation import Reevaluation
from simcluster.models.traffic.cluster.request import send_request
from simcluster.models.traffic.cluster.server import Happened, Server
from simcluster.models.traffic.cluster.statistics import (
    Detail,
    History,
    Latencies,
    LoadRecord,
    SharedTick,
    packed,
)
from simcluster.models.traffic.cluster.tables import Tables
from simcluster.models.traffic.cluster.tension import CALM_EXPONENT, fragile_edges, margin_of
from simcluster.models.traffic.cluster.users import Habits, UserLoad
from simcluster.models.traffic.cluster.wiring import Wiring
from simcluster.models.traffic.exemplars.exemplars import Exemplars
from simcluster.models.traffic.strategies import possible

#: Length of a tick. Fine enough for probes (1 s) and observation windows (5 s).
TICK_NS = 500 * MILLISECOND
#: A plan with listeners the traffic does not know is made anew after so many ticks.
OPAQUE_TICKS = 10
#: Shares of the CPU or of the workers in use: from the first on queues are followed, below the second no longer.
TENSE, RELAXED = 0.9, 0.85
#: Ticks without any trouble after which the calm path takes over again.
COOLING = 20
#: Kernels are told of connections after so many ticks, and when the plan or its rates change.
LOOK_TICKS = 10
#: Of a large plan so many times more rarely.
LARGE_LOOKS = 4
#: Periods of a large plan are so many times longer in a storm that stands still.
STILL = 2
#: Nothing began at a server.
NOTHING = Happened()
#: What single requests meet is worked out anew after so many hot ticks.
HOT_EVALUATION = 20


class TrafficEngine:
    """All requests of one cluster.

    Attributes:
        network: over which they travel.
        servers: running servers by container id.
        users: user loads by `namespace/name`.
        history: what happened on every edge, tick by tick.
        accounts: calls under way; requests: those of users.
        exemplars: single requests that are followed for the sake of traces.
        hot: the engine of fine ticks, while deadlines can be missed; None while all is calm.
    """

    def __init__(self, sim: Simulation, network: Network) -> None:
        self._sim = sim
        self.network = network
        self.servers: dict[str, Server] = {}
        self.users: dict[str, UserLoad] = {}
        self.history = History()
        self.accounts, self.requests = Accounts(), Requests()
        self._plan = Plan([])
        self._latencies = Latencies()
        self._wired = (-1, -1)  # versions of the network and of the servers the plan was made for
        self._version = 0
        self._age = 0
        self._evaluated = 0
        self._stale = True  # whether the plan must be worked out anew
        self._heard = False  # whether some server has published something new
        self._reevaluation: Reevaluation | None = None
        self._margins: Margins | None = None
        self._ticks = 0
        self._accounted = 0  # ticks that were accounted
        self._stride = 1
        self._rates: list[float] = []
        self._planned: list[UserLoad] = []  # users of the plan
        self._plain: PlainFlow | None = None
        self._ledger = Ledger(self._plan)
        self._fleet = Fleet([])
        self.hot: HotTraffic | None = None
        self._tense = False
        self._fragile: list[int] = []  # edges of the plan
        self.tables = Tables(network)
        self.strategies = possible("cluster", ())
        self.caches = CacheRoom(TICK_NS)
        self._unlooked = 0  # ticks since kernels were told of connections
        self._printing: list[Server] = []  # those whose requests will print something later
        network.speakers.append(self.conversations)
        sim.every(TICK_NS, self._tick)
        self.exemplars = Exemplars(sim, self, TICK_NS)

    def conversations(self) -> list[Conversation]:
        """Who calls whom now."""
        return conversations(self._plan, self._planned, self.network)

    def join(self, server: Server) -> None:
        """A server starts to answer."""
        self.servers[server.container.container_id] = server
        if server.tracer is not None:
            self.exemplars.watch()
        self._version += 1

    def leave(self, server: Server) -> None:
        """A server is gone."""
        if self.servers.pop(server.container.container_id, None) is not None:
            self._version += 1

    def rewire(self) -> None:
        """Something changed that the network does not know of (whom a server calls, who enters where)."""
        self._version += 1

    def add_users(
        self, name: str, namespace: str, service: str, port: int | None = None, **habits: Unpack[Habits]
    ) -> UserLoad:
        """Send users to a Service.

        Args:
            name: unique in the namespace.
            port: by default the lowest port of the Service.
            habits: how they ask, by the keys of `users.Habits`.

        Raises:
            ValueError: users of that name exist.
        """
        identity = f"{namespace}/{name}"
        if identity in self.users:
            raise ValueError(f"users {identity} exist already")
        load = UserLoad(self.history, name, namespace, service, port, habits)
        self.users[identity] = load
        self._version += 1
        return load

    def remove_users(self, load: UserLoad) -> None:
        """These users go home."""
        if self.users.pop(f"{load.namespace}/{load.name}", None) is not None:
            self._version += 1

    def try_request(
        self, node: str, namespace: str, host: str, port: int, path: str = "/", kind: str = "http", source: str = ""
    ) -> Answer:
        """What one request sent now by a process on `node`, or of the pod with the address `source`, would meet.

        Changes nothing.

        `outcome` is that of `Answer`, or `no such host`, or `timeout`.
        """
        return send_request(self._sim, self.network, (node, namespace), (host, port), kind, path, source)

    def fate(self, server: Server, operation: int) -> Node | None:
        """How requests of an operation fared at the last tick; None before its first one."""
        return self._plan.node_of(server.container.container_id, operation)

    def schedule_rate(self, load: UserLoad, rps: float, after_ns: int, lasts_ns: int | None = None) -> None:
        """Let users send so many requests a second from an instant on, for a time or for good: a spike."""
        self._sim.after(after_ns, self._change_rate, load, rps, lasts_ns)

    def _change_rate(self, load: UserLoad, rps: float, lasts_ns: int | None) -> None:
        before, load.rps = load.rps, rps
        if lasts_ns is not None:
            self._sim.after(lasts_ns, self._change_rate, load, before, None)

    def flush_cache(self, namespace: str, workload: str, cache: str) -> None:
        """A cache loses all that it holds. Raises LookupError if nobody has it."""
        self.caches.flush(self._plan, self.caches.find(namespace, workload, cache))
        self._stale = True
        if self.hot is not None:
            self._lend(self.hot)
            self.hot.live.engine.changed()

    def reseed(self) -> None:
        """What is drawn from now on follows from another seed (`Simulation.reseed`)."""
        self._wired = (-1, -1)  # the keys are the plan's

    @property
    def plan(self) -> Plan:
        """Who calls whom now; not to be changed."""
        return self._plan

    @property
    def planned(self) -> list[UserLoad]:
        """Users of the plan, in the order of its roots."""
        return self._planned

    @property
    def is_hot(self) -> bool:
        """Whether queues, time-outs and retries are followed in fine ticks now."""
        return self.hot is not None

    @property
    def strategy(self) -> str:
        """By which strategy (`traffic.strategies`) a tick is made now."""
        if self.hot is not None:
            return "hot"
        return "calm_arrays" if self._plain is not None and self._plain.fits else "calm_walk"

    def _tick(self) -> None:
        self._ticks += 1
        self._age += 1
        wired = (self.network.version, self._version)
        rates = [load.rps for load in self.users.values()]
        calm = self.hot is None and not self._plan.opaque
        if calm and self._ticks % self._stride and wired == self._wired and rates == self._rates:
            return  # the usual case, several times a second
        rewired = wired != self._wired or (self._plan.opaque and self._age >= OPAQUE_TICKS)
        if not self.users and self._age < OPAQUE_TICKS and len(self.servers) > LARGE < len(self._plan.servers):
            rewired = False  # nobody sends anything through a large plan that keeps changing
        if self.hot is not None and rates != self._rates:
            rewired = rewired or self.hot.misses(self._planned)
        stride = self._stride
        if stride > 1 and self.hot is not None and self.hot.stands_still:
            stride *= STILL
        if not rewired and rates == self._rates and self._ticks % stride:
            return
        now = self._sim.now
        if rewired or rates != self._rates:
            self._unlooked = LOOK_TICKS * LARGE_LOOKS
            self._stale = True
        self._rates = rates
        behind = self._ticks - self._accounted
        if behind > 1 and rewired:  # until now all went on as it was
            self._advance(now - TICK_NS, behind - 1)
            behind = 1
        if rewired:
            self._wire()
            self._wired, self._age, self._stale = wired, 0, True
        self._advance(now, behind)

    def _wire(self) -> None:
        """Make the plan of now."""
        self._settle_all()
        before = self._plan.layout
        self._planned = list(self.users.values())
        self._plan = PlanBuilder(self._sim.streams, self.network, self.servers.values(), self._planned).build()
        self._let_go(before)
        self.caches.wire(self._plan)
        self._stride = stride_of(self._plan)
        self._plain, self._ledger = None, Ledger(self._plan)
        self._fleet.release()
        self._fleet = Fleet(self._plan.servers)
        self._fragile = fragile_edges(self._plan)
        self._expect()
        self._reevaluation = self._margins = None
        if self.hot is not None:
            self._rewire()

    def _let_go(self, before: Layout) -> None:
        """Calls of edges that are gone, and requests of users who are, end with them."""
        gone = self.accounts.rewire(self._plan)
        names = [_name(load) for load in self._planned]
        if gone or any(name not in names for name in self.requests.open):
            none = bytes(4 * len(before))
            latencies = Latencies([0.0] * len(before), [0.0] * len(before))
            detail = Detail(self.requests.rewire(names))
            self.history.append(SharedTick(self._sim.now, before, latencies, none, none, packed(gone), detail))

    def _advance(self, now: int, ticks: int) -> None:
        """So many ticks pass, the last of which ends at `now`."""
        self._accounted += ticks
        self._unlooked += ticks
        if self._unlooked >= LOOK_TICKS * (1 if self._stride == 1 else LARGE_LOOKS):
            self._look()
        if self.hot is None and self.users and (self._tense or "calm_walk" not in self.strategies):
            self._begin(now - ticks * TICK_NS)
        if self.hot is not None:
            self._hot_tick(now, self.hot, ticks)
        else:
            self._calm_tick(now, ticks)

    def _look(self) -> None:
        """Tell kernels of connections, and edges of what kernels refuse."""
        self._unlooked = 0
        if self.tables.refresh(self._plan, self._planned, self._fleet, self._evaluated, self._sim.now):
            self._stale = True
            if self.hot is not None:
                self._rewire()

    def _evaluate(self) -> None:
        """Work out what single requests meet now, at servers of which so much is wanted as users' rates imply."""
        self._expect()
        if self._stale or self._reevaluation is None:
            self._latencies = evaluate(self._plan)
            if self._reevaluation is not None:
                self._reevaluation.note(self._plan)
            elif self._stride > 1:
                self._reevaluation = Reevaluation(self._plan)
        else:
            self._latencies = self._reevaluation.again(self._plan)
        self._heard = False
        self._stale = self._expect()  # who waits for his answers, or tries again, asks otherwise now
        self._evaluated += 1

    def _expect(self) -> bool:
        """Tell servers what is wanted of them; whether what they say to that has changed."""
        return self._fleet.expect(expected(self._plan, self._planned), TICK_NS)

    def _calm_tick(self, now: int, ticks: int) -> None:
        settled = (self._ticks // self._stride) % PERIODS == 1
        if (self._stale or self._heard) and (self._plain is None or not self._plain.fits or settled):
            self._evaluate()
            if self._plain is not None:
                self._plain.renew()
            elif self._stride > 1:
                self._plain = PlainFlow(self._plan, self.strategies)
                self._fleet.meter()
        users = self._planned
        if self._plain is not None and self.strategy == "calm_arrays":
            self._plain_tick(now, ticks, self._plain, users)
            return
        flow = FlowWalk(self._plan, self._ticks).run(users, ticks * TICK_NS)
        ended = self._record(now, np.array(flow.sent, dtype=np.int64), flow, ticks)
        if self.caches and ended is not None and self.caches.step(self._plan, ended.ok.tolist(), ticks):
            self._stale = True
        self._work_off(flow, ticks)
        self._write_logs(now, ticks, flow)

    # --- a large plan without failures ----------------------------------------------------

    def _plain_tick(self, now: int, ticks: int, plain: PlainFlow, users: list[UserLoad]) -> None:
        sent, arrived, work = plain.run(users, self._ticks, ticks, ticks * TICK_NS)
        self._record(now, sent.astype(np.int64), _NO_FLOW, ticks)
        fleet, ledger = self._fleet, self._ledger
        period = self._ticks // self._stride
        ledger.add(arrived, ticks)
        fleet.averages.add(work)
        if period % CHARGED == 0:
            fleet.charge()
        busy = np.maximum(fleet.cores() * (TENSE * ticks * TICK_NS), plain.crowd) <= work
        if period % PERIODS == 0:
            busy[:] = True
        tense = self._settle(np.nonzero(busy)[0], plain) if busy.any() else False
        if tense or ((self._stale or self._heard) and period % PERIODS == 0):
            self._tense = tense or self._is_fragile(CALM_EXPONENT)

    def _settle(self, rows: NDArray[np.int64], plain: PlainFlow) -> bool:
        """Account what servers did since they were accounted last; whether one of them is tense."""
        fleet, ledger = self._fleet, self._ledger
        rows = rows[ledger.ticks[rows] > 0]
        nodes = plain.nodes_of(rows)
        counts, at = ledger.counts[nodes], plain.server_of[nodes]
        for row in rows[fleet.facts.alone[rows]].tolist():
            server, first = fleet.servers[row], self._plan.first_node[row]
            if server.counts is not None and server.accepting:
                for offset in range(len(server.spec.operations)):
                    server.counts[offset] += int(ledger.counts[first + offset])
        ledger.counts[nodes] = 0
        requests = np.bincount(at, counts, len(fleet.servers))[rows].astype(np.float64)
        work, square, busy = (
            np.bincount(at, counts * each[nodes], len(fleet.servers))[rows].astype(np.float64)
            for each in (plain.cpu, plain.square, plain.stay)
        )
        alive = np.array([fleet.servers[row].accepting for row in rows.tolist()], dtype=bool)
        for row in rows[~alive].tolist():
            fleet.servers[row].container.read_meter()
        ticks, charged = ledger.take(rows), fleet.averages.accounted(rows)
        came = Arrived(ticks, requests, work, square, busy, charged)
        changed, tense = fleet.advance(TICK_NS, rows[alive], Arrived(*(column[alive] for column in came)), TENSE)
        self._heard = self._heard or changed
        return tense

    def _settle_all(self) -> None:
        if self._plain is not None and self._ledger.ticks.any():
            self._settle(np.arange(len(self._plan.servers)), self._plain)

    def _is_fragile(self, exponent: float) -> bool:
        plan = self._plan
        if self._stride > 1:
            self._margins = self._margins or Margins(plan, self._fragile)
            return self._margins.smallest(plan, self._fleet) < exponent
        return any(margin_of(plan, plan.edges[edge], TICK_NS) < exponent for edge in self._fragile)

    # --- deadlines may be missed ----------------------------------------------------------

    def _begin(self, start_ns: int) -> None:
        """From an instant on queues and attempts are followed one by one."""
        self._settle_all()
        self._plain, self._stale = None, True
        wiring = Wiring(self._plan, self._planned)
        if wiring.is_empty:
            self._tense = False
            return
        seed = self._sim.streams.fresh_key("traffic", "hot")
        self.hot = HotTraffic(seed, wiring, self._fleet, start_ns, TICK_NS)
        self._lend(self.hot)
        self.hot.seed({s.container.container_id: s.waiting() for s in self._plan.servers})

    def _rewire(self) -> None:
        wiring = Wiring(self._plan, self._planned)
        if self.hot is not None and not wiring.is_empty:
            self.hot.rewire(wiring, self._fleet)
            self._lend(self.hot)
        elif self.hot is not None:
            self._end_hot()

    def _lend(self, hot: HotTraffic) -> None:
        if self.caches:
            self.caches.lend(hot.live.engine.caches, hot.wiring.first_servers())

    def _hot_tick(self, now: int, hot: HotTraffic, ticks: int) -> None:
        rarely = (HOT_EVALUATION if self._stride > 1 else LOOK_TICKS) * self._stride
        if self._stride > 1 and hot.stands_still:
            rarely *= STILL
        if self._stale and self._ticks % rarely == 0:
            self._evaluate()
        if self._stride > 1:
            self._fleet.meter()
        counted = hot.run(self._plan, now, self._ticks, (self.accounts, self.requests), self._latencies)
        if self.caches:
            owners = hot.wiring.first_servers()
            self._stale = self.caches.take_back(self._plan, hot.live.engine.caches, owners) or self._stale
        detail = Detail(counted.loads, counted.pods)
        layout = self._plan.layout
        self.history.append(
            SharedTick(now, layout, counted.latencies, counted.sent, counted.ok, counted.failures, detail)
        )
        alive = np.array([server.accepting for server in self._plan.servers], dtype=bool)
        known = alive[counted.rows]
        changed, tense = self._fleet.observe(
            ticks * TICK_NS, Seen(*(column[known] for column in counted.seen)), counted.rows[known], ticks, RELAXED
        )
        self._stale = self._stale or changed
        alive[counted.rows] = False
        for row in np.nonzero(alive)[0].tolist():
            self._stale = self._plan.servers[row].settle(ticks * TICK_NS, ticks) or self._stale
        self._write_logs(now, ticks, counted.flow)
        self._cool(hot, tense or bool(counted.failures), ticks)

    def _cool(self, hot: HotTraffic, tense: bool, ticks: int) -> None:
        """Back to the calm path when nothing has been tense for a while."""
        troubled = tense or self._is_fragile(2.0 * CALM_EXPONENT)
        hot.calm_periods = 0 if troubled else hot.calm_periods + ticks
        if hot.calm_periods >= COOLING and "calm_walk" in self.strategies:
            self._end_hot()

    def _end_hot(self) -> None:
        """Closed forms again."""
        self.hot, self._tense, self._stale = None, False, True
        for server in self._plan.servers:
            server.calm_down(TICK_NS)

    # --- the calm path --------------------------------------------------------------------

    def _record(self, now: int, sent: NDArray[np.int64], flow: Flow, ticks: int) -> Ended | None:
        """Write down a period: calls that began, and those that ended in it; None if there was nothing."""
        accounts, plan = self.accounts, self._plan
        if accounts.is_idle and not sent.any():
            return None
        ended = accounts.pass_calm(plan, self._ticks, sent, flow.failures, self._latencies, ticks, TICK_NS)
        detail = Detail({_name(load): self._seen_by(index, sent, ended, flow) for index, load in self._loads()})
        calls, ok = sent.astype(np.int32).tobytes(), ended.ok.astype(np.int32).tobytes()
        failures = packed(ended.failures)
        self.history.append(SharedTick(now, plan.layout, self._latencies, calls, ok, failures, detail))
        return ended

    def _loads(self) -> list[tuple[int, UserLoad]]:
        return list(enumerate(self._planned))

    def _seen_by(self, index: int, sent: NDArray[np.int64], ended: Ended, flow: Flow) -> LoadRecord:
        """What the users of a load saw; of those who try again requests are not attempts."""
        edges = dict.fromkeys(edge.index for edge in self._plan.roots[index])
        attempts = sum(int(sent[edge]) for edge in edges)  # integers
        failed = [(KINDS[kind], count) for edge, kind, count in ended.failures if edge in edges]
        requests = attempts
        if index in flow.requests:
            requests, lost = flow.requests[index]
            failed = [(failed[0][0], lost)] if lost and failed else []
        most = sum(int(self.accounts.good[edge] + self.accounts.bad[edge]) for edge in edges)  # integers
        record = self.requests.settle(_name(self._planned[index]), requests, attempts, failed, most)
        answers = [(int(ended.ok[edge]), edge) for edge in edges]
        laws = tuple([Component(count, self._latencies[edge]) for count, edge in answers if count > 0])
        return record._replace(laws=laws)

    def _work_off(self, flow: Flow, ticks: int) -> None:
        """Give every server its share of the tick. A server may die of it (out of memory)."""
        plan, arrived, turned_away = self._plan, flow.arrived, flow.refused
        nodes, span_ns = plan.nodes, ticks * TICK_NS
        tense = stale = False
        for index, (server, first) in enumerate(zip(plan.servers, plan.first_node, strict=True)):
            if not server.accepting:
                continue
            requests, work, square, busy = 0, 0, 0.0, 0.0
            came = arrived[first : first + len(server.spec.operations)]
            if any(came):
                counts = server.counts
                for offset, count in enumerate(came):
                    if count:
                        node = nodes[first + offset]
                        operation = node.operation
                        requests += count
                        if counts is not None:
                            counts[offset] += count
                        work += count * operation.cpu_ns
                        square += count * mean_square(operation)
                        busy += count * node.stay_ns
            refused = turned_away.get(index, 0) if turned_away else 0
            if requests or refused:
                changed = server.advance(span_ns, requests, work, square, busy, refused, ticks)
                tense = tense or server.is_tense(TICK_NS, TENSE)
            else:
                changed = server.settle(span_ns, ticks)
            stale = stale or changed
        self._stale = self._stale or stale
        self._tense = tense or self._is_fragile(CALM_EXPONENT)

    def _write_logs(self, now: int, ticks: int, flow: Flow) -> None:
        """Tell servers of the requests of this tick, and those of which earlier requests may print something now."""
        servers = self._plan.servers
        happened_at = [
            (servers[i], Happened(flow.served.get(i, ()), flow.failed.get(i, ()), flow.followed.get(i, ())))
            for i in sorted(dict.fromkeys([*flow.served, *flow.failed, *flow.followed]))
        ]
        known = {server.container.container_id: None for server, _ in happened_at}
        printing = {server.container.container_id: server for server in self._printing}
        printing |= self.exemplars.printing(now)
        happened_at += [(server, NOTHING) for name, server in printing.items() if name not in known]
        self._printing = [
            server
            for server, happened in happened_at
            if server.logger is not None
            and server.accepting
            and server.logger.log_requests(now, ticks * TICK_NS, happened)
        ]


#: A period in which no call fails and nobody tries again.
_NO_FLOW = Flow([], [], [], {}, {}, {}, {}, {})


def _name(load: UserLoad) -> str:
    return f"{load.namespace}/{load.name}"
