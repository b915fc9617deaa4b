"""A graph of one queue whose callers time out and try again at once, in a loop of its own.

The retry storm of the literature: one service of one replica and one operation that only works,
one open load of Poisson arrivals with a constant time-out, and changes of capacity, load and
network. Time-outs then end in the order in which they began, so that two queues and the workers
stand for the event heap. Everything else runs in the general engine; a test compares the two.
Events of the same nanosecond, which continuous laws hardly ever give, may change places.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heapify, heappop, heappush

from simcluster.engine import SECOND, Streams
from simcluster.models.traffic.exact.draws import Durations, Exponentials
from simcluster.models.traffic.exact.plain import NEVER
from simcluster.models.traffic.graph.result import LoadWindow, Result, ServiceWindow
from simcluster.models.traffic.graph.spec import GraphSpec

#: An attempt: when it times out, beginning of its request, its number, whether its caller waits no more, arrival.
DUE, BEGUN, MADE, SETTLED, ARRIVED = range(5)
Attempt = list[int]
#: Work in progress: end, order, attempt, nanoseconds left at full speed as of the last change, and when that was.
Work = tuple[int, int, Attempt, int, int]

#: Time-outs kept before those of answered attempts are looked for, and events that an attempt makes, about.
_CROWD, _EVENTS_OF_ATTEMPT = 200_000, 3


class StormRun:
    """Arrivals, attempts, a queue, workers."""

    def __init__(self, spec: GraphSpec, seed: int) -> None:
        self.spec = spec
        self.seed = seed
        streams = Streams(seed)
        (self.load_name, self.load), (self.name, service) = (
            next(iter(spec.load.items())),
            next(iter(spec.services.items())),
        )
        operation_name, operation = next(iter(service.operations.items()))
        assert operation.work is not None
        assert service.workers is not None
        assert self.load.call.timeout is not None
        self.units = Exponentials(streams.key("traffic", "arrivals", self.load_name))
        self.work = Durations(operation.work, streams.key("traffic", "work", self.name, operation_name))
        self.durations = self.work.block
        self.timeout = self.load.call.timeout
        self.tries = self.load.call.attempts
        self.retried = self.load.call.retries.on if self.load.call.retries is not None else ()
        self.bound = service.queue.bound if service.queue.bound is not None else 1 << 60
        self.rejects = service.queue.overflow == "reject"
        self.own_speed = self.speed = service.speed
        self.free = self.workers = service.workers
        self.queue: deque[Attempt] = deque()
        self.timeouts: deque[Attempt] = deque()
        self.departures: list[Work] = []
        self.stalled: list[Work] = []
        self.order = 0
        self.inside = self.waiting = 0
        self.stopped, self.why = False, f"more than {spec.run.requests} requests inside"
        self.made, self.crowded = 0, _CROWD
        self.row, self.seen = LoadWindow(), ServiceWindow()
        self.waits: list[int] = []
        self.sojourns: list[int] = []
        self.latencies: list[int] = []
        self.queue_area = self.busy_area = self.since_ns = 0
        self.begin_load()

    # Load, and what changes

    def begin_load(self) -> None:
        """The first arrival, and everything that changes in the course of the run, in order."""
        self.factors: list[float] = []
        self.load_factors: list[float] = []
        self.rates: list[tuple[int, float]] = []
        self.blocked_until, self.holds = 0, True
        self.held: deque[tuple[int, Attempt, bool]] = deque()  # until when, what, whether it is an answer
        self.rate, self.turn_ns = 0.0, 0
        self.due = self.units.draw()
        self.next_ns = NEVER
        changes: list[tuple[int, int, Callable[[], None]]] = []
        for point in self.load.change_points():
            changes.append((point, len(changes), self._place_arrival))
        for number, event in enumerate(self.spec.events):
            changes.append((event.at, len(changes), _Change(self, number, True)))
            if event.lasts is not None and event.kind != "outage":
                changes.append((event.at + event.lasts, len(changes), _Change(self, number, False)))
        self.changes = deque(sorted(changes, key=lambda change: change[:2]))
        self.now = 0
        self._place_arrival()

    def _place_arrival(self) -> None:
        """The rate may have changed: place the next arrival anew."""
        self.due -= self.rate * ((self.now - self.turn_ns) / SECOND)
        self.turn_ns = self.now
        self.rate = self.load.rate_at(self.now) if not self.rates else self.rates[-1][1]
        for factor in self.load_factors:
            self.rate *= factor
        delay = self.due / self.rate * SECOND if self.rate > 0.0 else 1e18
        self.next_ns = self.now + max(0, int(delay + 0.5)) if delay < 1e18 else NEVER

    def set_speed(self) -> None:
        """From now on work goes at another speed; work in progress too."""
        old, now = self.speed, self.now
        self.speed = self.own_speed
        factor = 1.0
        for one in self.factors:
            factor *= one
        self.speed = self.own_speed * factor
        works = sorted(self.departures + self.stalled, key=lambda work: work[1])
        self.departures, self.stalled = [], []
        for _, _, attempt, left, since in works:
            left = max(0, left - int((now - since) * old + 0.5)) if now > since else left
            self._work(attempt, left, max(now, since))
        heapify(self.departures)

    # The run

    def run(self, enough: Callable[[Result], bool] | None = None) -> Result:
        """Run it window by window; `enough` may end it after one."""
        run = self.spec.run
        warmup_ns = min(-(-run.warmup // run.window) * run.window, run.duration)
        result = Result(self.spec.name, "exact", self.seed, run.window, warmup_ns)
        load_rows, service_rows = result.load.setdefault(self.load_name, []), list[ServiceWindow]()
        result.services[self.name] = service_rows
        begin = 0
        while begin < run.duration and not self.stopped:
            end = min(begin + run.window, run.duration)
            self._window(end)
            self.made += self.row.attempts
            if self.made > run.events // _EVENTS_OF_ATTEMPT and end < run.duration and not self.stopped:
                self.stopped, self.why, self.now = True, f"more than {run.events} events; run.events allows more", end
            end = max(self.now, begin + 1) if self.stopped else end
            load_rows.append(self._load_row())
            service_rows.append(self._service_row(end, end - begin))
            begin = end
            result.end_ns = begin
            if enough is not None and enough(result):
                break
        if self.stopped:
            result.stopped = self.why
        result.add_totals()
        return result

    def _load_row(self) -> LoadWindow:
        row, self.row = self.row, LoadWindow()
        row.waiting = self.waiting
        row.ok = len(self.latencies)
        row.latency.add_all(self.latencies)
        self.latencies.clear()
        return row

    def _service_row(self, end: int, length: int) -> ServiceWindow:
        self._touch(end)
        row, self.seen = self.seen, ServiceWindow(up=1)
        row.up, row.queue, row.queue_end = 1, self.queue_area / length, len(self.queue)
        row.busy = row.working = self.busy_area / length
        row.served = len(self.sojourns)
        row.wait.add_all(self.waits)
        row.sojourn.add_all(self.sojourns)
        self.waits.clear()
        self.sojourns.clear()
        self.queue_area = self.busy_area = 0
        return row

    def _window(self, end: int) -> None:
        """Serve every event before `end`."""
        while not self.stopped:
            change = self.changes[0][0] if self.changes else NEVER
            held = self.held[0][0] if self.held else NEVER
            border = min(change, held, end)
            if not self._until(border):
                return
            self.now = border
            if border == end:
                return
            if change <= held:
                self.changes.popleft()[2]()
            else:
                _, attempt, answer = self.held.popleft()
                self._heard(attempt) if answer else self._receive(attempt)

    def _until(self, border: int) -> bool:
        """Serve every arrival, time-out and departure before `border`; False when the run had to stop."""
        timeouts, timeout, blocked = self.timeouts, self.timeout, self.held
        again = self.tries if "timeout" in self.retried else 1
        while not self.stopped:
            arrives = self.next_ns
            expires = timeouts[0][DUE] if timeouts else NEVER
            ends = self.departures[0][0] if self.departures else NEVER
            if ends < arrives and ends < expires:
                if ends >= border:
                    return True
                self.now = ends
                self._depart()
            elif expires <= arrives:
                if expires >= border:
                    return True
                attempt = timeouts.popleft()
                if attempt[SETTLED]:
                    continue
                self.now = expires
                attempt[SETTLED] = 1
                self.row.attempts_failed["timeout"] += 1
                if attempt[MADE] < again:
                    self._send([expires + timeout, attempt[BEGUN], attempt[MADE] + 1, 0, expires])
                else:
                    self._give_up("timeout")
            else:
                if arrives >= border:
                    return True
                self.now = self.turn_ns = arrives
                self.due = self.units.draw()
                delay = self.due / self.rate * SECOND
                self.next_ns = arrives + int(delay + 0.5) if delay < 1e18 else NEVER
                self.row.arrivals += 1
                self.waiting += 1
                if self._entered():
                    self._send([arrives + timeout, arrives, 1, 0, arrives])
            if blocked and blocked[0][0] < border:
                border = blocked[0][0]
        return False

    # Attempts

    def _entered(self) -> bool:
        """One more is inside; False, and the end of the run, above what it allows."""
        self.inside += 1
        self.stopped = self.inside > self.spec.run.requests
        return not self.stopped

    def _send(self, attempt: Attempt) -> None:
        self.row.attempts += 1
        self.timeouts.append(attempt)
        if len(self.timeouts) > self.crowded:
            self._forget_answered()
        if self.now < self.blocked_until:
            if self.holds:
                self.held.append((self.blocked_until, attempt, False))
            return
        self._receive(attempt)

    def _forget_answered(self) -> None:
        """Nothing comes of the time-outs of attempts that were answered; and look whether there were too many."""
        kept = [attempt for attempt in self.timeouts if not attempt[SETTLED]]
        self.timeouts.clear()
        self.timeouts.extend(kept)
        self.crowded = max(_CROWD, 2 * len(kept))

    def _receive(self, attempt: Attempt) -> None:
        attempt[ARRIVED] = self.now
        self.seen.arrivals += 1
        queue = self.queue
        if self.free and not queue:
            if self._entered():
                self._touch(self.now)
                self._start(attempt)
        elif len(queue) >= self.bound:
            self.seen.rejected += 1
            if self.rejects:
                self._rejected(attempt)
        elif self._entered():
            self._touch(self.now)
            queue.append(attempt)

    def _rejected(self, attempt: Attempt) -> None:
        """Nothing changes at this instant, so that attempts made at once are all rejected."""
        if self.now < self.blocked_until:
            return  # the rejection cannot come back: the attempt times out
        attempt[SETTLED] = 1
        more = self.tries - attempt[MADE] if "rejected" in self.retried else 0
        self.row.attempts += more
        self.seen.arrivals += more
        self.seen.rejected += more
        self.row.attempts_failed["rejected"] += 1 + more
        self._give_up("rejected")

    def _give_up(self, kind: str) -> None:
        self.row.failed[kind] += 1
        self.waiting -= 1
        self.inside -= 1

    def _start(self, attempt: Attempt) -> None:
        """A worker takes an attempt; the areas are up to date."""
        self.free -= 1
        now = self.now
        self.waits.append(now - attempt[ARRIVED])
        left = self.durations.pop() if self.durations else self.work.draw()
        if self.speed == 1.0:
            self.order += 1
            heappush(self.departures, (now + left, self.order, attempt, left, now))
        else:
            self._work(attempt, left, now)

    def _work(self, attempt: Attempt, left: int, now: int) -> None:
        self.order += 1
        if self.speed == 1.0:
            heappush(self.departures, (now + left, self.order, attempt, left, now))
        elif self.speed > 0.0:
            heappush(self.departures, (now + int(left / self.speed + 0.5), self.order, attempt, left, now))
        else:
            self.stalled.append((NEVER, self.order, attempt, left, now))

    def _depart(self) -> None:
        attempt = heappop(self.departures)[2]
        now = self.now
        self._touch(now)
        self.free += 1
        self.inside -= 1
        self.sojourns.append(now - attempt[ARRIVED])
        if attempt[SETTLED]:
            self.seen.late += 1
        elif now >= self.blocked_until:
            self._heard(attempt)
        elif self.holds:
            self.held.append((self.blocked_until, attempt, True))
        if self.queue:
            self._start(self.queue.popleft())

    def _heard(self, attempt: Attempt) -> None:
        if not attempt[SETTLED]:
            attempt[SETTLED] = 1
            self.latencies.append(self.now - attempt[BEGUN])
            self.waiting -= 1
            self.inside -= 1

    def _touch(self, now: int) -> None:
        elapsed = now - self.since_ns
        if elapsed:
            self.queue_area += elapsed * len(self.queue)
            self.busy_area += elapsed * (self.workers - self.free)
            self.since_ns = now


class _Change:
    """One event of the time line, at its beginning or its end."""

    def __init__(self, run: StormRun, number: int, begins: bool) -> None:
        self.run = run
        self.number = number
        self.begins = begins

    def __call__(self) -> None:
        event, run = self.run.spec.events[self.number], self.run
        if event.capacity is not None:
            if event.capacity.replicas is None or 0 in event.capacity.replicas:
                self._switch(run.factors, event.capacity.factor)
                run.set_speed()
        elif event.load is not None:
            self._switch(run.load_factors, event.load.factor)
            run._place_arrival()
        elif event.rate is not None:
            self._switch(run.rates, (self.number, event.rate.rate))
            run._place_arrival()
        elif event.outage is not None:
            assert event.lasts is not None
            overlaps = run.blocked_until > event.at
            run.holds = event.outage.messages == "held" and (run.holds or not overlaps)
            run.blocked_until = max(run.blocked_until, event.at + event.lasts)

    def _switch(self, active: list, one: object) -> None:  # type: ignore[type-arg]
        if self.begins:
            active.append(one)
        else:
            active.remove(one)
