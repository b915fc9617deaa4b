"""A graph of one plain queue, in a loop of its own.

One service of one replica and one operation that only works, one open load of constant rate
without time-out: nothing can be retried, cancelled or stretched, so a request is its instant
of arrival, and its events are its arrival and its departure. Everything else runs in the
general engine; a test compares the two on this graph.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush, heapreplace

from simcluster.engine import SECOND, Streams
from simcluster.models.traffic.exact.draws import Durations, Exponentials
from simcluster.models.traffic.graph.result import LoadWindow, Result, ServiceWindow
from simcluster.models.traffic.graph.spec import GraphSpec

#: After the end of every run.
NEVER = 1 << 62


class PlainRun:
    """Arrivals, workers, a queue of instants."""

    def __init__(self, spec: GraphSpec, seed: int) -> None:
        self.spec = spec
        self.seed = seed
        streams = Streams(seed)
        (self.load_name, load), (self.name, service) = next(iter(spec.load.items())), next(iter(spec.services.items()))
        operation_name, operation = next(iter(service.operations.items()))
        assert operation.work is not None
        assert load.open is not None
        assert service.workers is not None
        self.rate = load.open.rate or 0.0
        self.even = load.open.arrivals == "even"
        self.units = Exponentials(streams.key("traffic", "arrivals", self.load_name))
        self.work = Durations(operation.work, streams.key("traffic", "work", self.name, operation_name))
        self.speed = service.speed
        self.bound = service.queue.bound if service.queue.bound is not None else 1 << 60
        self.workers = service.workers
        self.busy = 0
        self.queue: deque[int] = deque()
        self.departures: list[tuple[int, int, int]] = []  # end of service, order, instant of arrival
        self.next_ns, self.next_order, self.order = self._gap(), 0, 0
        self.queue_since = self.busy_since = 0
        self.stopped = False

    def _gap(self) -> int:
        if self.rate <= 0.0:
            return NEVER
        due = 1.0 if self.even else self.units.draw()
        return int(due / self.rate * SECOND + 0.5)

    def run(self, enough: object = None) -> Result:
        """Run it window by window; nobody is asked whether that is enough."""
        run = self.spec.run
        warmup_ns = min(-(-run.warmup // run.window) * run.window, run.duration)
        result = Result(self.spec.name, "exact", self.seed, run.window, warmup_ns)
        load_rows = result.load[self.load_name] = []
        service_rows: list[ServiceWindow] = []
        result.services[self.name] = service_rows
        begin = 0
        while begin < run.duration and not self.stopped:
            end = min(begin + run.window, run.duration)
            tally = _Tally()
            end = self._until(end, tally)
            length = end - begin
            load_rows.append(tally.load(self.busy + len(self.queue)))
            service_rows.append(tally.service(self, end, length))
            begin = end
        result.end_ns = begin
        if self.stopped:
            result.stopped = f"more than {run.requests} requests inside"
        result.add_totals()
        return result

    def _until(self, end: int, tally: _Tally) -> int:
        """Serve every event before `end`; returns `end`, or when the run had to stop."""
        work, units, departures, queue = self.work, self.units, self.departures, self.queue
        times, gaps = work.block, units.block
        waits, sojourns = tally.waits, tally.sojourns
        rate, even, speed = self.rate, self.even, self.speed
        bound = min(self.bound, self.spec.run.requests)
        while True:
            arrives = self.next_ns
            if (
                departures
                and departures[0][0] <= arrives
                and (departures[0][0] < arrives or departures[0][1] < self.next_order)
            ):
                now, _, arrived = departures[0]
                if now >= end:
                    return end
                sojourns.append(now - arrived)
                if not queue:
                    heappop(departures)
                    tally.busy_area += self.busy * (now - self.busy_since)
                    self.busy_since = now
                    self.busy -= 1
                    continue
                tally.queue_area += len(queue) * (now - self.queue_since)
                self.queue_since = now
                arrived = queue.popleft()
                waits.append(now - arrived)
                time = times.pop() if times else work.draw()
                if speed != 1.0:
                    time = int(time / speed + 0.5)
                self.order += 1
                heapreplace(departures, (now + time, self.order, arrived))
                continue
            if arrives >= end:
                return end
            due = 1.0 if even else gaps.pop() if gaps else units.draw()
            self.next_ns = arrives + int(due / rate * SECOND + 0.5)
            self.order += 1
            self.next_order = self.order
            tally.arrivals += 1
            if self.busy < self.workers:
                tally.busy_area += self.busy * (arrives - self.busy_since)
                self.busy_since = arrives
                self.busy += 1
                waits.append(0)
                time = times.pop() if times else work.draw()
                if speed != 1.0:
                    time = int(time / speed + 0.5)
                self.order += 1
                heappush(departures, (arrives + time, self.order, arrives))
            elif len(queue) >= bound:
                tally.rejected += 1
                if bound < self.bound:
                    self.stopped = True
                    return max(arrives, 1)
            else:
                tally.queue_area += len(queue) * (arrives - self.queue_since)
                self.queue_since = arrives
                queue.append(arrives)


class _Tally:
    """What happened in one window."""

    def __init__(self) -> None:
        self.arrivals = self.rejected = 0
        self.waits: list[int] = []
        self.sojourns: list[int] = []
        self.queue_area = self.busy_area = 0

    def load(self, inside: int) -> LoadWindow:
        """The window of the load."""
        row = LoadWindow(arrivals=self.arrivals, attempts=self.arrivals, ok=len(self.sojourns), waiting=inside)
        row.failed["rejected"] = row.attempts_failed["rejected"] = self.rejected
        row.latency.add_all(self.sojourns)
        return row

    def service(self, run: PlainRun, end: int, length: int) -> ServiceWindow:
        """The window of the service."""
        self.queue_area += len(run.queue) * (end - run.queue_since)
        self.busy_area += run.busy * (end - run.busy_since)
        run.queue_since = run.busy_since = end
        row = ServiceWindow(arrivals=self.arrivals, rejected=self.rejected, served=len(self.sojourns), up=1)
        row.queue, row.queue_end = self.queue_area / length, len(run.queue)
        row.busy = row.working = self.busy_area / length
        row.wait.add_all(self.waits)
        row.sojourn.add_all(self.sojourns)
        return row
