"""One replica: its queue, its workers, its work in progress, what it turns away.

Work in progress can be stretched (a slower CPU, a garbage collection): its event looks, when
it comes, whether the work has really ended by then.
"""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from simcluster.models.traffic.exact.adaptive import AdaptiveLimit
from simcluster.models.traffic.exact.caches import Holding
from simcluster.models.traffic.exact.callers import Caller, Connections
from simcluster.models.traffic.exact.calling import GONE, QUEUED, SERVED, Attempt, Edge
from simcluster.models.traffic.exact.sharing import SharedCores

if TYPE_CHECKING:
    from simcluster.models.traffic.exact.program import Frame
    from simcluster.models.traffic.exact.station import Station

#: Workers of a service that has as many as it needs.
UNLIMITED = 1 << 60


class Work:
    """Work in progress, or waiting for a core or a worker.

    Attributes:
        frame: what goes on afterwards; None: the request's first work.
        left: nanoseconds of work at full speed that are left, as of `since_ns`.
        end_ns: when it ends at the present speed; -1: never (speed 0), or not begun.
    """

    __slots__ = ("attempt", "end_ns", "frame", "left", "since_ns")

    def __init__(self, attempt: Attempt, frame: Frame | None, left: int) -> None:
        self.attempt = attempt
        self.frame = frame
        self.left = left
        self.since_ns = 0
        self.end_ns = -1


class Replica:
    """One replica of a service."""

    __slots__ = (
        "adaptive", "allocated", "bound", "callers", "cores", "discipline", "dispatching", "engine", "factor",
        "for_core", "free", "holdings", "index", "inside", "last_empty", "limit_ns", "limit_tokens", "members", "order",
        "paused_until", "plain", "pools", "queue", "ranked", "resumed", "running", "serving", "shared", "speed",
        "station", "waiting", "working",
    )  # fmt: skip

    def __init__(self, station: Station, index: int) -> None:
        spec = station.spec
        self.station = station
        self.engine = station.engine
        self.index = index
        self.bound = spec.queue.bound if spec.queue.bound is not None else UNLIMITED
        self.discipline = spec.queue.discipline
        self.shared = SharedCores(self, float(spec.cores or 1)) if spec.sharing == "processor" else None
        alone = spec.cores is None or spec.cores == spec.workers or self.shared is not None
        self.cores = UNLIMITED if alone else spec.cores or UNLIMITED
        self.plain = spec.shed is None and spec.rate_limit is None and spec.heap is None
        adaptive = spec.shed.adaptive if spec.shed is not None else None
        self.adaptive = AdaptiveLimit(adaptive) if adaptive is not None else None
        self.factor = 1.0
        self.speed = spec.speed
        self.serving = True
        self.callers: dict[str, Caller] = {}
        self.pools: dict[str, Connections] = {}
        self.order = 0
        self.last_empty = 0
        self.limit_ns = 0
        self.limit_tokens = spec.rate_limit.burst if spec.rate_limit is not None else 0.0
        self.clear()
        self.holdings = {
            name: Holding(cache, self.engine.key("cache", station.name, name, index))
            for name, cache in spec.caches.items()
            if not cache.shared
        }

    def clear(self) -> None:
        """Begin empty."""
        workers = self.station.spec.workers
        self.free = workers if workers is not None else UNLIMITED
        self.queue: deque[Attempt] = deque()
        self.ranked: list[tuple[int, int, Attempt]] = []
        self.members: dict[Attempt, None] = {}  # requests inside, for a loss of the replica
        self.resumed: deque[Work] = deque()
        self.for_core: deque[Work] = deque()
        self.running: dict[Work, None] = {}
        self.waiting = 0
        self.working = 0
        self.inside = 0
        self.allocated = 0
        self.paused_until = 0
        self.dispatching = False

    def caller(self, edge: Edge) -> Caller:
        """What this replica remembers about an edge."""
        found = self.callers.get(edge.name)
        if found is None:
            found = self.callers[edge.name] = Caller(edge.policy, self.pools)
        return found

    def cache(self, name: str) -> Holding:
        """The cache that this replica looks into."""
        return self.holdings[name] if name in self.holdings else self.station.caches[name]

    # Arrival

    def receive(self, attempt: Attempt) -> None:
        """A request arrives."""
        station = self.station
        now = self.engine.loop.now
        attempt.arrived_ns = now
        station.window.arrivals += 1
        if not self.serving:
            attempt.state = GONE
            self.engine.reply(attempt, "error")
            return
        if not self.plain and not self._admits(now):
            self._reject(attempt)
            return
        if self.free and not self.waiting:
            self._enter(attempt)
            self.start(attempt)
        elif self.waiting >= self.bound:
            self._overflow(attempt)
        else:
            self._enter(attempt)
            self._enqueue(attempt)

    def _enter(self, attempt: Attempt) -> None:
        self.inside += 1
        self.members[attempt] = None
        self.engine.entered()

    def _enqueue(self, attempt: Attempt) -> None:
        station = self.station
        station.touch()
        if not self.waiting:
            self.last_empty = self.engine.loop.now
        station.waiting += 1
        self.waiting += 1
        attempt.state = QUEUED
        if self.discipline == "priority":
            self.order += 1
            heappush(self.ranked, (-attempt.priority, self.order, attempt))
        else:
            self.queue.append(attempt)

    def _admits(self, now: int) -> bool:
        spec = self.station.spec
        limit = spec.rate_limit
        if limit is not None:
            earned = limit.rate * ((now - self.limit_ns) / 1e9)
            self.limit_tokens = min(limit.burst, self.limit_tokens + earned)
            self.limit_ns = now
            if self.limit_tokens < 1.0:
                return False
            self.limit_tokens -= 1.0
        shed = spec.shed
        if shed is None:
            return True
        if shed.max_queue is not None and not self.free and self.waiting >= shed.max_queue:
            return False
        if self.adaptive is not None:
            return self.inside < int(self.adaptive.limit_at(now, self.inside))
        return shed.max_in_flight is None or self.inside < shed.max_in_flight

    def _overflow(self, attempt: Attempt) -> None:
        if self.station.spec.queue.overflow == "reject":
            self._reject(attempt)
        else:
            attempt.state = GONE
            self.station.window.rejected += 1

    def _reject(self, attempt: Attempt) -> None:
        attempt.state = GONE
        self.station.window.rejected += 1
        self.engine.reply(attempt, "rejected")

    # Service

    def start(self, attempt: Attempt) -> None:
        """A worker takes a request."""
        station = self.station
        now = self.engine.loop.now
        station.touch()
        self.free -= 1
        station.busy += 1
        attempt.state = SERVED
        attempt.holds = True
        station.window.wait.add(now - attempt.arrived_ns)
        if attempt.deadline is not None and now >= attempt.deadline:
            self.fail(attempt, "timeout")
            return
        op = attempt.op
        if station.spec.heap is not None:
            self._allocate(op.allocation, now)
        if op.work is None:
            self._after_first_work(attempt)
            return
        duration = op.work.draw()
        if op.contention:
            duration += op.contention * (station_busy(self) - 1)
        self._work(Work(attempt, None, duration))

    def _work(self, work: Work) -> None:
        if self.working >= self.cores:
            self.for_core.append(work)
            return
        station = self.station
        station.touch()
        if self.shared is not None:
            self.shared.begin(work)
            return
        self.working += 1
        station.working += 1
        loop = self.engine.loop
        begin = work.since_ns = loop.now if loop.now >= self.paused_until else self.paused_until
        if station.tracked:
            self.running[work] = None
        if self.speed == 1.0:
            work.end_ns = begin + work.left
        elif self.speed > 0.0:
            work.end_ns = begin + int(work.left / self.speed + 0.5)
        else:
            return
        loop.at(work.end_ns, self._worked, work)

    def _worked(self, work: Work) -> None:
        if work.end_ns != self.engine.loop.now:
            return  # stretched or shortened since: another event stands for its end
        work.end_ns = -1
        if work.attempt.state == GONE:
            return  # the replica was lost, or the request was cancelled, and its core given back
        self._core_free(work)
        self.go_on(work)

    def go_on(self, work: Work) -> None:
        """What follows a burst of work."""
        attempt = work.attempt
        if work.frame is None:
            self._after_first_work(attempt)
        else:
            work.frame.advance()

    def _core_free(self, work: Work) -> None:
        station = self.station
        station.touch()
        self.working -= 1
        station.working -= 1
        if station.tracked:
            self.running.pop(work, None)
        while self.for_core and self.working < self.cores:
            following = self.for_core.popleft()
            if following.attempt.state != GONE:
                self._work(following)

    def _after_first_work(self, attempt: Attempt) -> None:
        op = attempt.op
        if op.failure and op.chance.draw() < op.failure:
            self.fail(attempt, "error")
        elif op.steps:
            self.engine.walk(attempt)
        else:
            self.finish(attempt, None)

    def work_more(self, frame: Frame, duration: int) -> None:
        """A later step of a request works."""
        work = Work(frame.attempt, frame, duration)
        if frame.attempt.holds:
            self._work(work)
        elif self.free:
            self._hold(frame.attempt)
            self._work(work)
        else:
            self.resumed.append(work)

    def _hold(self, attempt: Attempt) -> None:
        self.station.touch()
        self.free -= 1
        self.station.busy += 1
        attempt.holds = True

    def waited(self, frame: Frame) -> None:
        """The time of a step without CPU is over."""
        loop = self.engine.loop
        if loop.now < self.paused_until and frame.attempt.state != GONE:
            loop.at(self.paused_until, self.waited, frame)
        else:
            frame.advance()

    def let_go(self, attempt: Attempt) -> None:
        """An event-driven server does other things while a request waits."""
        if attempt.holds and not self.station.spec.blocking:
            self._release(attempt)
            self.dispatch()

    def _release(self, attempt: Attempt) -> None:
        self.station.touch()
        attempt.holds = False
        self.free += 1
        self.station.busy -= 1

    def fail(self, attempt: Attempt, kind: str) -> None:
        """A request fails: its error path, if it has one, and then the answer."""
        if attempt.op.failing:
            self.engine.walk_failing(attempt, kind)
        else:
            self.finish(attempt, kind)

    def finish(self, attempt: Attempt, kind: str | None) -> None:
        """Answer a request: None is a success, `timeout` that nobody waits any more."""
        attempt.state = GONE
        station = self.station
        window = station.window
        if attempt.holds:
            self._release(attempt)
        self.inside -= 1
        del self.members[attempt]
        self.engine.left()
        if kind == "timeout":
            window.rejected += 1
        else:
            window.served += 1
            window.sojourn.add(self.engine.loop.now - attempt.arrived_ns)
            if self.adaptive is not None:
                self.adaptive.answered(self.engine.loop.now, attempt.arrived_ns, self.inside + 1)
            if kind is not None:
                window.errors += 1
            if attempt.settled:
                window.late += 1
        self.engine.reply(attempt, kind)
        if not self.dispatching and self.free:
            self.dispatch()

    # The queue

    def dispatch(self) -> None:
        """Give free workers to those who wait."""
        if self.dispatching or not (self.waiting or self.resumed):
            return
        self.dispatching = True
        while self.free and self.resumed:
            work = self.resumed.popleft()
            if work.attempt.state != GONE:
                self._hold(work.attempt)
                self._work(work)
        while self.free and self.waiting:
            attempt = self._next()
            self.station.touch()
            self.waiting -= 1
            self.station.waiting -= 1
            if not self.waiting:
                self.last_empty = self.engine.loop.now
            if self.station.spec.shed is not None and self._too_old(attempt):
                self._drop(attempt)
            else:
                self.start(attempt)
        self.dispatching = False

    def _next(self) -> Attempt:
        while True:
            if self.discipline == "fifo":
                attempt = self.queue.popleft()
            elif self.discipline == "lifo":
                attempt = self.queue.pop()
            else:
                attempt = heappop(self.ranked)[2]
            if attempt.state == QUEUED:
                return attempt

    def _too_old(self, attempt: Attempt) -> bool:
        shed = self.station.spec.shed
        if shed is None or shed.max_delay is None:
            return False
        now = self.engine.loop.now
        limit = shed.max_delay
        if shed.interval is not None and now - self.last_empty < shed.interval:
            limit = shed.interval
        return now - attempt.arrived_ns > limit

    def _drop(self, attempt: Attempt) -> None:
        self.inside -= 1
        del self.members[attempt]
        self.engine.left()
        self._reject(attempt)

    def withdraw(self, attempt: Attempt, running: bool) -> None:
        """The caller gave a request up; take it out if it waits, or stop it if `running`.

        The answer that it was dropped frees a connection that is held until then.
        """
        if attempt.state == QUEUED:
            self.station.touch()
            self.waiting -= 1
            self.station.waiting -= 1
            self._forget(attempt)
            self._compact()
            self.engine.reply(attempt, "timeout")
        elif attempt.state == SERVED and running:
            children, attempt.children = attempt.children, None
            self._forget(attempt)
            for calling in children or ():
                calling.give_up()
                self.engine.left()
            self._stop_work(attempt)
            if attempt.holds:
                self._release(attempt)
            self.engine.reply(attempt, "timeout")
            self.dispatch()

    def _forget(self, attempt: Attempt) -> None:
        attempt.state = GONE
        self.inside -= 1
        del self.members[attempt]
        self.engine.left()

    def _stop_work(self, attempt: Attempt) -> None:
        if self.shared is not None:
            self.shared.stop(attempt)
        for work in [one for one in self.running if one.attempt is attempt]:
            work.end_ns = -1
            self._core_free(work)

    def _compact(self) -> None:
        if len(self.queue) > 2 * self.waiting + 64:
            self.queue = deque(attempt for attempt in self.queue if attempt.state == QUEUED)
        if len(self.ranked) > 2 * self.waiting + 64:
            self.ranked = [entry for entry in self.ranked if entry[2].state == QUEUED]
            heapify(self.ranked)

    # Changes of speed, garbage collection, loss

    def set_factor(self, factor: float) -> None:
        """From now on work goes so many times as fast; work in progress too."""
        now = self.engine.loop.now
        if self.shared is not None:
            self.shared.advance()
        old, self.factor = self.speed, factor
        self.speed = self.station.spec.speed * factor
        for work in self.running:
            if now > work.since_ns:
                work.left = max(0, work.left - int((now - work.since_ns) * old + 0.5))
                work.since_ns = now
            work.end_ns = -1
            if self.speed > 0.0:
                work.end_ns = work.since_ns + int(work.left / self.speed + 0.5)
                self.engine.loop.at(work.end_ns, self._worked, work)
        if self.shared is not None:
            self.shared.place()

    def _allocate(self, size: int, now: int) -> None:
        heap = self.station.spec.heap
        assert heap is not None
        self.allocated += size
        workers = self.station.spec.workers or UNLIMITED
        live = heap.base + heap.waiting * self.waiting + heap.running * min(self.inside - self.waiting, workers)
        if self.allocated < heap.size - live:
            return
        self.allocated = 0
        pause = heap.pause_base + int(heap.pause_per_byte * min(live, heap.size) + 0.5)
        self.station.window.pause_ns += pause
        begin = max(now, self.paused_until)
        self.paused_until = begin + pause
        for work in self.running:
            if work.end_ns >= 0:
                work.end_ns += pause
                work.since_ns += pause
                self.engine.loop.at(work.end_ns, self._worked, work)

    def lose(self) -> None:
        """All that is inside is gone; callers see an error at once."""
        station = self.station
        station.touch()
        station.waiting -= self.waiting
        station.working -= self.working
        if self.shared is not None:
            self.shared.clear()
        workers = station.spec.workers if station.spec.workers is not None else UNLIMITED
        station.busy -= workers - self.free
        members, running = list(self.members), list(self.running)
        self.clear()
        for work in running:
            work.end_ns = -1
        for attempt in members:
            attempt.state = GONE
            attempt.holds = False
            self.engine.left()
            for calling in attempt.children or ():
                calling.give_up()
                self.engine.left()
            attempt.children = None
            station.window.errors += 1
            self.engine.reply(attempt, "error")


def station_busy(replica: Replica) -> int:
    """Requests that a replica is serving."""
    return replica.inside - replica.waiting
