"""The queues of all pods: arrivals in, service out, one tick at a time.

The state of a pod is the number of requests in it, in units of its reference work, as a diffusion
reflected at zero (and at its bound). Inside a tick the path between its ends is a Brownian
bridge, whose minimum is drawn exactly: m = (X - sqrt(X^2 - 2 v ln U))/2; so the length of the
tick does not distort the queue. Arrivals come as counts and already fluctuate, also in how they
fall on replicas (`splits`); only the noise of service is added.

First come, first served: `position` counts what ever arrived, `begun` how much of it has begun
service. When `begun` passes the position of a cohort's border, the instant is noted; waits and
the judgement of deadlines are read from these instants.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.aggregate import stationary
from simcluster.models.traffic.aggregate.contended import Contended
from simcluster.models.traffic.aggregate.fast import kernels_for
from simcluster.models.traffic.aggregate.grid import turned
from simcluster.models.traffic.aggregate.layout import Layout, Levels
from simcluster.models.traffic.aggregate.limits import Limits
from simcluster.models.traffic.aggregate.losses import Losses
from simcluster.models.traffic.aggregate.splits import Splits
from simcluster.models.traffic.aggregate.stacks import Stacks

Array = NDArray[np.float64]
Index = NDArray[np.int64]
#: A row of `draws.PodNoise`.
Noise = tuple[Array, Array, Array, Array]

#: A mean service time of so many ticks is resolved by the ticks: the number in service then evolves by itself.
RESOLVED = 4.0
#: Not begun yet.
NEVER = 1e300
#: Ticks of the averages of the arrival rate at least, and requests they average at least.
MEMORY_TICKS, MEMORY_REQUESTS = 64.0, 200.0
#: Rates are looked at again after so many ticks.
REFRESH = 8


class Queues:
    """State and step of all queues.

    Attributes:
        number: in the pod (waiting and in service), in units of reference work.
        waiting: of them, not begun.
        queued: who has arrived and not left the queue, counted from the flows (`number` is a diffusion
            and may run ahead of them for a moment); `inside`: and not finished, where servers are held.
        chosen: how often a pod of a service is, against the mean.
        factor: of each pod's speed (events); `stretch` of each request's own time (contention).
        hold: mean time a server is held, in ticks; `work` that of a unit at full speed; `rate` units a tick.
        position, begun: of the arrivals, see above; `left_from`, `left_to`: who left in the last tick.
        borders, instants: rings: position at the start of a tick, and when that position began service.
        ahead: how many fewer requests those who are admitted find than are there at any time (`stationary.CROWD`),
            where at least `near` are there.
    """

    def __init__(self, layout: Layout, slots: int) -> None:
        self.layout = layout
        pods, lanes = layout.pods, layout.lanes
        self.slots = slots
        self.number = np.zeros(pods)
        self.waiting = np.zeros(pods)
        self.queued = np.zeros(pods)
        self.inside = np.zeros(pods)
        self.position = np.zeros(pods)
        self.begun = np.zeros(pods)
        self.left_from, self.left_to = np.zeros(pods), np.zeros(pods)
        self.borders = np.zeros((slots, pods))
        self.instants = np.full((slots, pods), -1.0)
        self.head = np.zeros(pods, dtype=np.int64)
        self.factor = np.ones(pods)
        self.up = np.ones(pods)
        self.ready = np.ones(pods)
        self.chosen = np.ones(pods)
        self.stretch = np.ones(pods)
        self.hold = np.maximum(layout.work, 1e-9)
        self.work = layout.work.copy()
        self.share = layout.share.copy()
        self.content = np.zeros(lanes)
        self.arrived = np.zeros(pods)
        self.finished = np.zeros(pods)
        self.refused = np.zeros(lanes)
        self.owed = np.zeros(pods)  # to be refused still
        self.busy = np.zeros(pods)
        self.limits = Limits(layout)
        self.in_flight_max = layout.in_flight_max.copy()
        self.losses = Losses(layout.servers, self.limits.places(layout), np.where(layout.holds, 1.0, layout.scv))
        self._weight = np.zeros(pods)
        self._sum = np.zeros(pods)
        self.offered = np.zeros(pods)
        names = layout.graph.service_names
        described = [layout.graph.spec.services[names[service]] for service in layout.pod_service]
        #: last come, first served
        self.lifo = np.array([service.queue.discipline == "lifo" for service in described])
        self.stacks = Stacks(self.lifo, slots)
        self.slow, self.mean_service, self._speed = np.zeros(pods, dtype=bool), np.zeros(pods), np.zeros(pods)
        self._kinds()
        self._static()
        self.refresh()

    def _kinds(self) -> None:
        layout = self.layout
        kinds: dict[tuple[int, float, bool], int] = {}
        tables: list[Array] = []
        self._kind = np.zeros(layout.pods, dtype=np.int64)
        for pod in range(layout.pods):
            servers = int(min(layout.servers[pod], 2000))
            scv = 1.0 if layout.holds[pod] else float(layout.scv[pod])
            mixed = scv > 1.0 and not layout.gamma_only[layout.pod_service[pod]]
            if (servers, scv, mixed) not in kinds:
                kinds[servers, scv, mixed] = len(tables)
                tables.append(stationary.table(servers, scv, mixed=mixed))
            self._kind[pod] = kinds[servers, scv, mixed]
        self._tables = np.array(tables)
        self._scv = np.where(layout.holds, 1.0, layout.scv)

    def _static(self) -> None:
        layout = self.layout
        self.splits = Splits(layout)
        self.bounded = self.limits.any
        self.unsteady = self.limits.has_heap or bool((layout.node_contention > 0.0).any())
        contention = np.zeros(layout.pods)
        np.maximum.at(contention, layout.lane_pod, layout.node_contention[layout.lane_node])
        self._contention = contention
        self.contended = Contended(layout, contention, self.slots)
        self.ahead, self.near = np.zeros(layout.pods), np.zeros(layout.pods)
        self._local = []
        for pods, lanes in zip(layout.level_pods, layout.level_lanes, strict=True):
            self._local.append(layout.lane_pod[lanes] - pods.start)
        self._lane_rest = layout.lane_pod
        self.has_holds = bool(layout.holds.any())
        self.has_infinite = bool(layout.infinite.any())

    def refresh(self) -> None:
        """Work out rates, noises and shifts from the loads and speeds of now."""
        layout = self.layout
        speed = self.factor * self.up
        if self.unsteady:
            others = np.where(layout.infinite, self.busy, np.minimum(self.number, layout.workers - 1.0))
            self.stretch = 1.0 + self._contention * others / np.maximum(self.work, 1e-12)
        cpu = np.where(self.work > 0.0, layout.cores * speed / np.maximum(self.work * self.stretch, 1e-12), 1e12)
        places = np.where(layout.holds, layout.servers / np.maximum(self.hold, 1e-9), cpu)
        self.rate = np.minimum(np.minimum(places, cpu), 1e9)
        if self.limits.has_heap:
            cost = self.limits.collection(self.waiting, self._running())
            each = (1.0 - self._through_pauses(cost)) / np.maximum(self.rate, 1e-12)
            self.rate = 1.0 / (each + cost)
            self.limits.pause = cost
        self.losses.prepare(self.rate)
        mean = np.where(
            layout.holds, self.hold, np.where(speed > 0.0, self.work * self.stretch / np.maximum(speed, 1e-12), 1e9)
        )
        slow = (layout.servers > 1.0) & (mean >= RESOLVED) & ~layout.infinite
        self.offered = self._sum / np.maximum(self._weight, 1e-300)
        slower = slow & ~self.slow & (speed < self._speed)
        if slower.any():
            self._resolve(slower)
        self.slow, self.mean_service, self._speed = slow, mean, speed
        rho = np.minimum(self.offered / np.maximum(self.rate, 1e-12), stationary.RHO_MAX)
        row = stationary.at_utilisation(self._tables, self._kind, rho)
        self.shift = np.where(self.slow, layout.servers, row[:, 0])
        self.noise = row[:, 1]
        # beyond so many waiting a queue is no ordinary one: twelve times the scale of its stationary law
        self.usual = row[:, 2] / 12.0
        if self.stacks:
            self.busy_chance = stationary.waiting_chance(rho, layout.servers)
        self._spread()

    def _resolve(self, pods: NDArray[np.bool_]) -> None:
        """Pods that slow down so much that services are resolved from now on: those that are under way now, too.

        Where somebody waits all servers are busy; where nobody does, as many as by Little's law are otherwise.
        """
        servers, busy = self.layout.servers, np.minimum(self.offered * self.mean_service, self.layout.servers)
        full = stationary.waiting_chance(busy / servers, servers)
        others = np.maximum(busy - full * servers, 0.0) / np.maximum(1.0 - full, 1e-9)
        inside = np.where(self.waiting > 0.0, self.waiting + servers, np.minimum(others, servers))
        self.number = np.where(pods, np.maximum(self.number, inside), self.number)
        self.queued = np.where(pods & ~self.layout.holds, np.maximum(self.queued, self.number), self.queued)

    def _running(self) -> Array:
        """Requests that hold a worker; where ticks are longer than their stay, by Little's law."""
        layout = self.layout
        running = np.maximum(self.number - self.waiting, 0.0)
        running = np.where(self._unresolved(), self.offered * self.hold + self.number, running)
        return np.minimum(running, layout.servers)

    def _unresolved(self) -> NDArray[np.bool_]:
        return self.layout.holds & (self.hold < RESOLVED)

    def _through_pauses(self, cost: Array) -> Array:
        """Part of the stays that passes while the replica stands still: who waits without CPU goes on waiting.

        Whoever runs when a collection begins, or begins during it, is ready at its end; on average that
        happens in the middle of a round of the workers.
        """
        jobs = self.limits.between(self._running(), self.waiting)
        there = np.minimum(self.offered * (self.hold + cost * jobs) + self.number, self.layout.servers)
        part = np.minimum(0.5 * there / np.maximum(jobs, 1.0), 1.0)
        return np.where(self._unresolved() & (cost > 0.0), part, 0.0)

    def _spread(self) -> None:
        own = self.noise * np.minimum(self.rate, 1e6)
        self._deviation = np.sqrt(own)
        come = self.offered
        if self.bounded:
            usual, rate, most = self.losses.usual, self.rate, self.most_inside()
            beyond = usual / np.maximum(rate, 1e-12) - 1.0
            crowd = np.where(most > 0.0, most * beyond, -stationary.CROWD)
            found = 0.5 * (1.0 + crowd / np.sqrt(crowd * crowd + stationary.STEP))
            self.ahead = np.where(crowd > -stationary.CROWD, found, 0.0)
            self.near = np.where((most > 0.0) & (beyond > 0.0), most - stationary.FULL / np.maximum(beyond, 1e-12), 0.0)
            come = np.where((most > 0.0) & (usual > rate), usual, come)
        self._variance2 = 2.0 * (own + come)

    def most_inside(self) -> Array:
        """How many requests are in every pod at most; 0: as many as come."""
        layout = self.layout
        most = np.minimum(layout.bound + layout.servers, self.in_flight_max)
        return np.where(np.isfinite(most) & ~layout.infinite, most, 0.0)

    def begin(self, tick: int, noise: Noise) -> None:
        """The start of a tick: note the border of its cohort, put the noise in place."""
        slot = tick % self.slots
        border = self.position
        if self.bounded:
            full = (self.ahead > 0.0) & (self.number >= self.near)
            border = np.where(full, np.maximum(border - self.ahead, self.begun), border)
        self.borders[slot] = border
        at_once = border <= self.begun
        self.instants[slot] = np.where(at_once, float(tick), NEVER)
        if self.stacks:
            self.stacks.begin(self)
        self._push = noise[0] * self._deviation
        self._low = noise[1] * self._variance2
        self._noise = noise
        if self.bounded:
            self.limits.begin(tick, self.waiting)
        if self.slow.any():
            self._slow_rates()
        else:
            self.service = self.rate
        self._drift = self._push - self.service

    def _slow_rates(self) -> None:
        servers = self.layout.servers
        busy = np.minimum(np.maximum(self.number + 0.5 * self.arrived - 0.5, 0.0), servers)
        self.service = np.where(self.slow, self.rate * busy / servers, self.rate)
        full = self.number >= servers
        noise = np.where(self.slow & ~full, 1.0, self.noise)
        own = noise * np.minimum(self.service, 1e6)
        self._push = self._noise[0] * np.sqrt(own)
        self._low = self._noise[1] * 2.0 * (own + self.offered)

    def step(self, level: int, calls: Array) -> Array:
        """Let the attempts of a level's edges into its pods for one tick.

        Args:
            calls: attempts on every edge in this tick.

        Returns:
            Requests of each of the level's lanes that left (pods whose servers are held: that began).
        """
        layout = self.layout
        pods, lanes = layout.level_pods[level], layout.level_lanes[level]
        local = self._local[level]
        come = self.splits.fallen(level, calls[layout.lane_edge[lanes]] * self.share[lanes], self._noise[3])
        sums = np.bincount(local, come * layout.relative[lanes], pods.stop - pods.start)
        arrived: Array = sums.astype(np.float64, copy=False)
        number = self.number[pods]
        if self.bounded:
            lifted, come, arrived = self._bound(level, come, arrived)
        else:
            x = arrived + self._drift[pods]
            lifted = np.maximum(number + x, 0.5 * (x + np.sqrt(x * x + self._low[pods])))
        if self.has_infinite:
            lifted = np.where(layout.infinite[pods], 0.0, lifted)
        self.number[pods] = lifted
        self.arrived[pods] = arrived
        return self._leave(level, come, arrived, lifted)

    def _leave(self, level: int, come: Array, arrived: Array, number: Array) -> Array:
        """Who leaves: the queue is as long as the diffusion says, but nobody comes out of nothing."""
        layout = self.layout
        pods, lanes = layout.level_pods[level], layout.level_lanes[level]
        waiting = np.maximum(number - self.shift[pods], 0.0)
        self.waiting[pods] = waiting
        goal = number
        if self.has_holds:
            inside = self.inside[pods] + arrived
            rest = np.minimum(number, inside)
            self.inside[pods] = rest
            goal = np.where(layout.holds[pods], waiting, number)
        everything = self.queued[pods] + arrived
        rest_queued = np.minimum(goal, everything)
        self.queued[pods] = rest_queued
        if self.has_holds:
            self.finished[pods] = np.where(layout.holds[pods], inside - rest, everything - rest_queued)
        else:
            self.finished[pods] = everything - rest_queued
        fraction = 1.0 - rest_queued / np.maximum(everything, 1e-300)
        content = self.content[lanes] + come
        left: Array = content * fraction[self._local[level]]
        self.content[lanes] = content - left
        return left

    def _bound(self, level: int, come: Array, arrived: Array) -> tuple[Array, Array, Array]:
        """Reflect at the upper boundary too; what does not fit is refused."""
        layout, limits = self.layout, self.limits
        pods, lanes = layout.level_pods[level], layout.level_lanes[level]
        over = np.zeros_like(arrived)
        if limits.has_rate:
            over = limits.admit(pods, arrived)
        number = self.number[pods]
        x = arrived - over + self._drift[pods]
        squared = x * x
        lifted = np.maximum(number + x, 0.5 * (x + np.sqrt(squared + self._low[pods])))
        shift = np.where(self.slow[pods] | (layout.servers[pods] <= 1.0), layout.servers[pods], self.shift[pods])
        room = limits.room(pods, layout.bound[pods], self.rate[pods])
        top = np.minimum(shift + room, self.in_flight_max[pods]) + 1.0
        highest = number + 0.5 * (x + np.sqrt(squared + self._noise[2][pods] * self._variance2[pods]))
        finite = np.isfinite(top)
        limit = np.where(finite, np.maximum(top, number), 1e300)
        beyond = np.maximum(np.maximum(highest, lifted) - limit, 0.0)
        usual = self.losses.shares(pods, arrived - over, self.rate[pods])
        # what the diffusion is pushed back by is refused; while nobody comes, of who comes next
        due = self.owed[pods] + beyond
        refused = np.where(usual >= 0.0, usual * (arrived - over), np.minimum(due, arrived - over))
        self.owed[pods] = np.where(usual >= 0.0, 0.0, due - refused)
        over = over + refused
        lifted = np.where(finite, np.maximum(np.minimum(lifted - beyond, limit), 0.0), lifted)
        lost = np.where(arrived > 0.0, over / np.maximum(arrived, 1e-300), 0.0)[self._local[level]]
        self.refused[lanes] = come * lost
        return lifted, come - self.refused[lanes], arrived - over

    def forward(
        self, fast: ModuleType, levels: Levels, calls: Array, fresh: Array, passing: tuple[Array, ...], left: Array,
        turns: tuple[Array, Array],
    ) -> None:  # fmt: skip
        """All levels at once, compiled: `AggregateRun._forward` of plain graphs.

        Args:
            passing: shares of every edge's attempts that are admitted and that arrive; of every lane's requests that
                survive; calls of every edge for a request.
            left: requests of each lane that left.
            turns: how long after its visit each edge's call is made, and calls that wait for their turn.
        """
        layout, limits, losses = self.layout, self.limits, self.losses
        whole = slice(None)
        room = limits.room(whole, layout.bound, self.rate)
        places = np.where(self.slow | (layout.servers <= 1.0), layout.servers, self.shift)
        bounded = np.isfinite(np.minimum(places + room, self.in_flight_max))
        fast.forward(
            levels.pods, levels.lanes, levels.edges, levels.pairs, levels.pair_lane, levels.pair_edge,
            layout.lane_edge, layout.lane_pod, calls, fresh, *passing, self.share, layout.relative, self._low,
            self._drift, self.shift, places, layout.infinite, bounded, room, self._noise[2], self._variance2,
            self.offered, self.number, self.arrived, self.waiting, self.queued, self.finished, self.content,
            self.refused, left, self.in_flight_max, 1.0 if self.bounded else 0.0, self.rate, losses.law,
            losses.inside, losses.usual, losses.known, losses.refused, losses.memory, *turns, self.owed,
            self.splits.lanes, self.splits.service, self._noise[3], self.splits.owed,
        )  # fmt: skip

    def empty(self, pods: Index) -> None:
        """All that the pods hold is gone."""
        for array in (self.number, self.waiting, self.queued, self.inside, self.busy, self.owed, self.splits.owed):
            array[pods] = 0.0
        self.begun[pods] = self.position[pods]
        self._sum[pods] = 0.0
        if self.contended:
            self.contended.lost(pods)
        if self.stacks:
            self.stacks.empty(pods)
        self.content[np.isin(self.layout.lane_pod, pods)] = 0.0

    def settle(self, tick: int, number: Array, arrived: Array, offered: Array, left: Array) -> None:
        """After a wide tick that ends at `tick`: queues of these lengths, and everything else served at once.

        Args:
            arrived: units that came during the wide tick; offered: expected in a tick.
            left: requests of every lane in the wide tick.
        """
        layout = self.layout
        self.number = number
        self.waiting = np.maximum(number - self.shift, 0.0)
        self.inside = np.where(layout.holds, number, 0.0)
        self.queued = np.where(layout.holds, self.waiting, number)
        there = np.bincount(layout.lane_pod, left * layout.relative, layout.pods)
        self.content = left * (self.queued / np.maximum(there, 1e-300))[layout.lane_pod]
        self.position = self.position + arrived
        self.begun = self.position - self.waiting
        self.arrived = offered.copy()
        self.borders[:] = self.begun
        ago = (tick - 1 - np.arange(self.slots)) % self.slots
        self.instants[:] = (tick - 1.0 - ago)[:, None]
        self.head[:] = tick
        self._weight[:] = MEMORY_TICKS
        self._sum = offered * MEMORY_TICKS
        self.busy[:] = self.owed[:] = 0.0
        if self.stacks:
            self.stacks.settle(self.instants)

    def shift_rings(self, ticks: int, moved: Array, units: Array) -> None:
        """Go on `ticks` later: positions have moved, and who is served now came as long ago as before."""
        self.borders = turned(self.borders, ticks) + moved
        late = turned(self.instants, ticks)
        self.instants = np.where(late >= NEVER, NEVER, late + ticks)
        self.head = self.head + ticks
        if self.stacks:
            self.stacks.shift(ticks)

    def end(self, tick: int) -> None:
        """After the last level: move the positions and note who began."""
        self.left_to = self.position + self.arrived - self.queued
        self.left_from = np.where(self.layout.holds, self.begun, self.left_to - self.finished)
        fast = kernels_for(self.layout.lanes)
        if fast is not None:
            fast.end(
                tick, self.head, self.position, self.begun, self.arrived, self.waiting, self.service, self.offered,
                self._sum, self._weight, self.borders, self.instants, MEMORY_TICKS, MEMORY_REQUESTS,
            )  # fmt: skip
            self._stacked(tick)
            return
        self.position = self.position + self.arrived
        begun = np.maximum(self.begun, self.position - self.waiting)
        self._average()
        first = self.instants[tick % self.slots]
        behind = first == NEVER
        # pods whose head is this very tick's border and that began at once have nothing to look for
        if behind.any() or (self.head < tick).any():
            self._note(tick, begun)
        else:
            self.head[:] = tick + 1
        self.begun = begun
        self._stacked(tick)

    def _stacked(self, tick: int) -> None:
        """Last come, first served: half of a tick's arrivals have begun."""
        if self.stacks:
            self.stacks.end(tick, self)
            self.instants[:, self.stacks.pods] = self.stacks.half

    def withdraw(self, amounts: Array, *, oldest: bool = False) -> None:
        """Requests taken out of the queues, by lane: their callers have given up; the `oldest` stood at the head."""
        layout = self.layout
        amounts = np.minimum(amounts, self.content)
        units = np.bincount(layout.lane_pod, amounts * layout.relative, layout.pods)
        self.content = self.content - amounts
        if oldest:
            self.begun = np.where(self.lifo, self.begun, np.minimum(self.begun + units, self.position))
        if self.stacks:
            self.stacks.take(units.astype(np.float64, copy=False))
        for array in (self.number, self.queued, self.inside, self.waiting):
            np.maximum(array - units, 0.0, out=array)

    def unbegun(self, lanes: Index, border: Index) -> Array:
        """Share of a tick's arrivals (by lane, the tick given by its number) that has not begun service."""
        pod = self.layout.lane_pod[lanes]
        low, high = self.borders[border % self.slots, pod], self.borders[(border + 1) % self.slots, pod]
        rest = np.minimum(np.maximum(high - np.maximum(low, self.begun[pod]), 0.0), high - low)
        share = np.where(high > low, rest / np.maximum(high - low, 1e-300), 0.0)
        if self.stacks:
            share = np.where(self.lifo[pod], self.stacks.unserved(border, pod), share)
        return share

    def _note(self, tick: int, begun: Array) -> None:
        head = np.maximum(self.head, tick + 1 - self.slots)
        pods = np.arange(len(head))
        gained = np.maximum(begun - self.begun, 1e-300)
        # who leaves no queue behind worked at full speed until it was gone, and then had nothing to do
        gained = np.where(self.waiting > 0.0, gained, np.maximum(gained, self.service))
        while True:
            border = self.borders[head % self.slots, pods]
            passed = (head <= tick) & (border <= begun)
            chosen = np.nonzero(passed)[0]
            if not len(chosen):
                break
            ahead = head[chosen]
            slot = ahead % self.slots
            when = tick + np.maximum(border[chosen] - self.begun[chosen], 0.0) / gained[chosen]
            known = self.instants[slot, chosen]
            self.instants[slot, chosen] = np.where(known == NEVER, np.minimum(when, tick + 1.0), known)
            head[chosen] = ahead + 1
        self.head = head

    def age(self, tick: int) -> Array:
        """How long ago those came who begin service at the start of a tick, in ticks."""
        pods = np.arange(len(self.head))
        before = np.minimum(np.maximum(self.head - 1, tick + 1 - self.slots), tick)
        low = self.borders[before % self.slots, pods]
        after = np.where(before + 1 <= tick, self.borders[(before + 1) % self.slots, pods], self.position)
        part = np.where(after > low, (self.begun - low) / np.maximum(after - low, 1e-300), 1.0)
        came = before + np.minimum(np.maximum(part, 0.0), 1.0)
        result: Array = np.where(self.head > tick, 0.0, np.maximum(tick - came, 0.0))
        return result

    def came_after(self, pods: Index, when: Array, tick: int) -> Array:
        """Of those who left these pods' queues in the last tick, the share that came after an instant (ticks)."""
        at = np.minimum(np.maximum(when, max(tick + 1.0 - self.slots, 0.0)), float(tick))
        slot = np.floor(at).astype(np.int64)
        low, high = self.borders[slot % self.slots, pods], self.borders[(slot + 1) % self.slots, pods]
        border = low + (at - slot) * np.maximum(high - low, 0.0)
        before, now = self.left_from[pods], self.left_to[pods]
        part = (now - np.maximum(before, border)) / np.maximum(now - before, 1e-300)
        result: Array = np.where(now > before, np.maximum(part, 0.0), np.where(border <= now, 1.0, 0.0))
        return result

    def _average(self) -> None:
        memory = np.maximum(MEMORY_TICKS, MEMORY_REQUESTS / np.maximum(self.offered, 1e-3))
        keep = 1.0 - 1.0 / np.minimum(memory, 1e5)
        self._sum = self._sum * keep + self.arrived
        self._weight = self._weight * keep + 1.0

    def wait(self) -> Array:
        """Mean wait of who arrives now, in ticks."""
        result: Array = self.waiting / np.maximum(self.rate, 1e-12)
        return result
