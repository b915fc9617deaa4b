"""The traffic side of one running container: its queue, its CPU and memory, its speed.

One `Server` lives as long as its process listens. Per tick it is told what arrived and
works it off at the speed the machine gives it; what its callers may count on (waiting,
refusals) it publishes, and only when that has changed noticeably, so that a calm cluster
costs next to nothing. Left out: connections, thread pools blocked on calls, garbage collection.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from simcluster.engine import SECOND, Parted
from simcluster.models.machine.container import Container
from simcluster.models.traffic.cluster.address import parse_address
from simcluster.models.traffic.cluster.averages import AVERAGES, AverageTable
from simcluster.models.traffic.cluster.causes import Cause
from simcluster.models.traffic.cluster.operations import CallSpec, LogTemplate, OperationSpec, ServiceSpec
from simcluster.models.traffic.cluster.queueing import (
    Demand,
    Wait,
    followed_wait,
    quota_wait,
    service_time,
    thread_wait,
)

if TYPE_CHECKING:
    from simcluster.models.traffic.cluster.demand import Expected
    from simcluster.models.traffic.cluster.distribution import Durations, Latency
    from simcluster.models.traffic.exemplars.spans import Printed, Tracer

#: Ticks that the moving average of what arrives remembers at least (it forgets half in 4), the number of
#: requests that it remembers where so many do not come in that time, and the most ticks.
MEMORY_TICKS, MEMORY_REQUESTS, MOST_MEMORY = 20.0 / 3.0, 100.0, 600.0
#: So many requests at once are no chance.
SURGE = 16.0
#: A change of the wait that nobody would notice: half a per cent of the request, or 30 us.
NOTICEABLE_SHARE = 0.005
NOTICEABLE_NS = 30_000.0
#: Beyond this nobody waits any more: how much longer makes no difference.
HOPELESS_NS = 60.0 * SECOND
#: Fill of the queue from which on requests are refused now and then.
NEARLY_FULL = 0.8
#: A change of the share of refused requests that nobody would notice.
NOTICEABLE_REFUSALS = 0.02
#: Memory is written to the container in such steps (the working set is known in pages, read in MiB).
MEMORY_STEP = 1 << 18
#: A demand that changed by less than this many cores is not reported to the machine anew.
NOTICEABLE_CORES = 0.002
#: A share of the CPU that counts as all of it.
SATURATED = 0.98
#: A backlog of up to so many mean waits, and so many requests, is what the stationary wait is made of.
ORDINARY, ORDINARY_REQUESTS = 12.0, 8.0
#: A backlog that lasts so long, and so many requests, is a queue of which one must think: with half of the
#: CPU in use one request in 2^16 finds as many before it.
TENSE_BACKLOG_NS, TENSE_REQUESTS = 0.25 * SECOND, 16.0
#: Cores that a program without limit of threads asks for at most.
HOPELESS_CORES = 64
#: An exponent at which nothing ever happens.
NO_RISK = 1e9
_NO_WAIT = Wait(0.0, 0.0, 0.0)


class Served(NamedTuple):
    """Requests (or calls) that began in a tick and succeed: what each prints, its HTTP status, how long they take."""

    log: tuple[LogTemplate, ...]
    status: int
    requests: int
    latency: Latency


class Observed(NamedTuple):
    """What happened at a server in a tick: requests that came, were served and were refused; CPU time;
    those that wait and are served now; and how long who comes now waits.
    """

    arrived: float
    finished: float
    refused: float
    cpu_ns: float
    waiting: float
    busy: float
    wait_ns: float


class Failed(NamedTuple):
    """Calls of one operation of whose requests, begun in a tick, fail for one cause (`cause.path[0]` is the call).

    Attributes:
        before: how long the request takes before it makes the call; `after_ns`: the call, until it has failed for good.
    """

    operation: OperationSpec
    call: CallSpec
    cause: Cause
    calls: int
    before: Latency
    after_ns: float


class Followed(NamedTuple):
    """Requests of one operation in a tick in which queues were followed.

    Attributes:
        arrived: that began; `served`: that ended well, and how long such requests `took`.
        failed: calls that failed for good.
        inside: how many have not ended; -1: not known.
        late: that ended though their caller had gone after `after_ns`; `lost`: that so long ago got lost on their way.
    """

    operation: OperationSpec
    arrived: int
    served: int
    took: Durations
    failed: list[Failed]
    inside: int = -1
    late: int = 0
    lost: int = 0
    after_ns: int = 0


class Happened(NamedTuple):
    """What a tick did at a server: requests that began and how they will fare, or what was followed."""

    served: Sequence[Served] = ()
    failed: Sequence[Failed] = ()
    followed: Sequence[Followed] = ()


class RequestLogger(Protocol):
    """Words the log of a server."""

    def log_requests(self, t_ns: int, span_ns: int, happened: Happened) -> bool:
        """The tick of `span_ns` that ends at `t_ns`; whether requests of it will print something later."""

    def log_followed(self, printed: Printed) -> None:
        """One of the requests of which the next tick tells is known by name: what it prints."""


class Complaint(Protocol):
    """Words what a server prints when its kernel refuses it something."""

    def short_of_descriptors(self, errno: str) -> None:
        """It cannot accept connections for want of descriptors."""


class Gate(Protocol):
    """Decides who may ask a server at all."""

    def refusal(self, caller: Server, call: CallSpec) -> str:
        """What the server answers to a caller it does not serve; "" if it serves him."""


class Server(Parted):
    """The queue of one container.

    Attributes:
        container: whose CPU and memory it uses.
        spec: how it behaves. `environment` holds the addresses of what it calls.
        accepting: whether requests are answered (started, not stopped).
        backlog_ns: CPU work that waits, in nanoseconds of one core.
        wait: what a request meets before it is served, as last published.
        rejected: share of requests refused because the queue is full, as last published.
        published: how often `wait` or `rejected` changed.
        counts: requests by operation since its owner last took them; None if nobody wants to know.
        gate: who may ask; None is everybody. tracer: its tracing library, if it has one.
        shortage: who words that it cannot accept connections, if anybody; `starved`: share of them.
        held: connections without requests that clients keep open, by client.
    """

    def __init__(
        self, container: Container, spec: ServiceSpec, environment: dict[str, str], logger: RequestLogger | None = None
    ) -> None:
        self.container = container
        self.spec = spec
        self.environment = environment
        self.logger = logger
        self.accepting = True
        self.backlog_ns = 0
        self.wait = _NO_WAIT
        self.rejected = 0.0
        self.published = 0
        self.counts: list[int] | None = None
        self.gate: Gate | None = None
        self.tracer: Tracer | None = None
        self.shortage: Complaint | None = None
        self.starved = 0.0
        self.held: dict[str, int] = {}
        self.cores = container.cpu_cores()
        self.in_flight = 0.0
        self._arrivals = 0.0  # moving averages per tick: requests, refused ones too, work, squared work
        self._offered = 0.0
        self._work = 0.0
        self._square = 0.0
        self._age = 0.0  # ticks since its first one
        self._carry_ns = 0.0  # fraction of a nanosecond of idle CPU not yet accounted
        self._reported = -1.0
        self._judged_cores = 0.0  # for which the waits were worked out last
        self._judged_wait = _NO_WAIT
        self._expected: Expected | None = None  # what users' rates imply
        self._lender: tuple[AverageTable, int] | None = None  # who has its averages

    def __setstate__(self, state: dict[str, Any]) -> None:
        # beside `__getattr__`, which a pickle would ask for this method of every server
        self.__dict__.update(state)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            lender = self.__dict__.get("_lender") if name in AVERAGES else None
            if lender is None:
                raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
            lender[0].give_back(self, lender[1])
            return self.__dict__[name]

    @property
    def identity(self) -> tuple[str, str, str]:
        """Namespace, pod and container."""
        spec = self.container.spec
        return spec.namespace, spec.pod_name, spec.name

    @property
    def node(self) -> str:
        """Name of the machine."""
        return self.container.sandbox.node

    def address_of(self, env: str) -> tuple[str, int]:
        """Host and port that an environment variable holds; ("", 0) if it is not set."""
        return parse_address(self.environment.get(env, ""))

    def service_ns(self, operation: OperationSpec) -> float:
        """Wall time of a request's own work, without waiting."""
        return self._work_ns(operation) + operation.latency_ns

    def _work_ns(self, operation: OperationSpec) -> float:
        """Wall time of a request's CPU work, on cores as fast as they are now."""
        speed, quota = self.container.machine.cpu_speed, self._quota()
        if speed == 1.0:
            return service_time(operation.cpu_ns, quota)
        return service_time(operation.cpu_ns / speed, None if quota is None else quota / speed)

    def service_variance(self, operation: OperationSpec) -> float:
        """Variance of `service_ns`."""
        stretched = self._work_ns(operation)
        busy = stretched * operation.cpu_cv
        idle = operation.latency_ns * operation.latency_cv
        return busy * busy + idle * idle

    def delay_ns(self, cpu_ns: int) -> int:
        """How long a small request that arrives now takes: a probe queues behind the others."""
        cores = self.container.cpu_cores()
        return math.floor(self.wait.mean_ns + service_time(cpu_ns, cores if cores < 1.0 else None))

    def advance(
        self,
        tick_ns: int,
        requests: int,
        work_ns: int,
        square: float,
        busy_ns: float,
        refused: int = 0,
        ticks: int = 1,
        charged: int = 0,
    ) -> bool:
        """Serve one tick.

        Args:
            tick_ns: its length.
            requests: how many arrived, `work_ns` their CPU cost, `square` the sum of mean squared
                costs, `busy_ns` the sum of their mean times inside (Little's law gives concurrency).
            refused: how many came besides and found the queue full.
            ticks: of how many ticks it is the sum; averages are kept per tick.
            charged: nanoseconds of CPU that were accounted before.

        Returns:
            Whether what callers may count on has changed.
        """
        cores = self.container.cpu_cores()
        self.cores = cores
        idle_ns = self.spec.idle_cores * tick_ns + self._carry_ns
        whole_idle = int(idle_ns)
        self._carry_ns = idle_ns - whole_idle
        capacity = int(cores * tick_ns)
        before = self.backlog_ns
        wanted = whole_idle + before + work_ns
        used = wanted
        if wanted >= capacity or before:
            used = min(wanted, capacity)
            self.backlog_ns = max(0, before + work_ns - max(0, used - whole_idle))
        keep = self._keep(ticks, requests / ticks)
        new = (1.0 - keep) / ticks
        self._arrivals = self._arrivals * keep + requests * new
        self._offered = self._offered * keep + (requests + refused) * new
        self._work = self._work * keep + work_ns * new
        self._square = self._square * keep + square * new
        self.in_flight = self.in_flight * keep + busy_ns / tick_ns * (1.0 - keep)
        same = self._expected is not None and cores == self._judged_cores and not self.backlog_ns and not before
        changed = False if same else self.judge(tick_ns // ticks)
        stopped = 0 if self.container.spec.cpu_limit is None else int(self._throttled(tick_ns, used, capacity))
        self.container.use_cpu(max(0, used - charged), stopped)
        self._tell_machine(wanted / tick_ns)
        return changed

    def expect(self, wanted: Expected, tick_ns: int) -> bool:
        """So much is wanted of it from now on; whether what callers may count on has changed."""
        if wanted == self._expected:
            return False
        self._expected = wanted
        return self.judge(tick_ns)

    def _demand(self, tick_ns: int) -> tuple[float, float, float]:
        """Requests, work and squared work of a tick: as expected, or as they came lately where nobody knows."""
        known = self._expected
        if known is None:
            return self._arrivals, self._work, self._square
        part = tick_ns / SECOND
        return known.requests * part, known.work * part, known.square * part

    def judge(self, tick_ns: int) -> bool:
        """Work out the waits of now; whether what callers may count on has changed."""
        cores = self.cores  # whoever has the averages gives them back
        self._judged_cores = cores
        return self._publish(tick_ns, cores)

    def calm_down(self, tick_ns: int) -> None:
        """Closed forms hold again: what a queue that was followed made of the wait is no longer so."""
        self.judge(tick_ns)
        self.wait = self._judged_wait
        self.published += 1

    def observe(self, tick_ns: int, load: Observed, ticks: int = 1) -> None:
        """Ticks whose queue somebody else kept: account them and publish what callers and probes meet."""
        cores = self.cores = self.container.cpu_cores()
        idle_ns = self.spec.idle_cores * tick_ns + self._carry_ns
        whole_idle = int(idle_ns)
        self._carry_ns = idle_ns - whole_idle
        capacity = int(cores * tick_ns)
        used = min(capacity, whole_idle + int(load.cpu_ns))
        keep = self._keep(ticks, load.arrived / ticks)
        new = (1.0 - keep) / ticks
        cost = load.cpu_ns / load.finished if load.finished > 0.0 else 0.0
        if not cost and self._arrivals > 0.0:
            cost = self._work / self._arrivals
        self._arrivals = self._arrivals * keep + load.arrived * new
        self._offered = self._offered * keep + (load.arrived + load.refused) * new
        self._work = self._work * keep + load.arrived * cost * new
        self._square = self._square * keep + 2.0 * load.arrived * cost * cost * new
        self.in_flight = load.waiting + load.busy
        self.backlog_ns = int(load.waiting * cost)
        refused = load.refused / (load.arrived + load.refused) if load.refused > 0.0 else 0.0
        if self._expected is None or cores != self._judged_cores:
            self._judged_cores = cores
            self._judged_wait = self._current(tick_ns // ticks, cores)[0]
        calm = self._judged_wait
        mean = max(load.wait_ns, calm.mean_ns if load.waiting < 1.0 else 0.0)
        wait, refused = followed_wait(mean, calm), min(refused, 0.99)
        if wait != self.wait or refused != self.rejected:
            self.wait, self.rejected = wait, refused
            self.published += 1
        self.container.use_cpu(used, int(self._throttled(tick_ns, used, int(capacity * SATURATED))))
        self._tell_machine(self._wanted(tick_ns, used, cost, load))

    def _wanted(self, tick_ns: int, used: int, cost: float, load: Observed) -> float:
        """Cores it would use now if it got them."""
        most = float(self.spec.threads or self.spec.workers or HOPELESS_CORES)
        return min(used / tick_ns + load.waiting * cost / tick_ns, max(most, used / tick_ns))

    def margin(self, tick_ns: int, within_ns: float) -> float:
        """(mu - lambda) T: the exponent with which the chance falls that a request waits `within_ns`."""
        arrivals, work, _ = self._demand(tick_ns)
        if arrivals <= 1e-9 or work <= 0.0:
            return NO_RISK
        speed = max(self._known_cores() - self.spec.idle_cores, 0.0)
        return (speed * arrivals / work - arrivals / tick_ns) * within_ns

    def is_tense(self, tick_ns: int, busy: float) -> bool:
        """Whether its queue may grow: nearly all of its CPU or its workers in use, or a backlog."""
        spec, known, arrivals = self.spec, self._expected, self._arrivals
        if arrivals > 1e-3 and spec.needs_state:
            return True
        if self.rejected > 0.0 or self.backlog_ns:
            cost = self._work / arrivals if arrivals > 0.0 else 0.0
            if self.rejected > 0.0 or self.backlog_ns > max(TENSE_BACKLOG_NS * self.cores, TENSE_REQUESTS * cost):
                return arrivals > 1e-3 or self.backlog_ns > 0
        cores = self.cores - spec.idle_cores
        if known is None:
            return self._work > busy * cores * tick_ns
        used = known.work * (tick_ns / SECOND)
        return used > busy * cores * tick_ns or 0 < busy * spec.workers < known.busy

    def arrivals_per_s(self, tick_ns: int) -> float:
        """Requests a second, averaged over the last seconds."""
        return self._arrivals * SECOND / tick_ns

    def waiting(self) -> float:
        """Requests in the backlog."""
        return self.backlog_ns * self._arrivals / self._work if self.backlog_ns and self._work > 0.0 else 0.0

    def settle(self, tick_ns: int, ticks: int = 1) -> bool:
        """`advance` for ticks in which nothing arrived."""
        if self.backlog_ns or self._arrivals > 1e-3:
            return self.advance(tick_ns, 0, 0, 0.0, 0.0, 0, ticks)
        idle_ns = self.spec.idle_cores * tick_ns + self._carry_ns
        whole_idle = int(idle_ns)
        self._carry_ns = idle_ns - whole_idle
        self.container.use_cpu(whole_idle)
        self._tell_machine(self.spec.idle_cores)
        if self.wait != _NO_WAIT or self.rejected:
            self.wait, self.rejected, self._arrivals, self.in_flight = _NO_WAIT, 0.0, 0.0, 0.0
            self.published += 1
            return True
        return False

    def _quota(self) -> float | None:
        """Speed the kernel grants in the long run, if that is less than a whole core."""
        limit, cores = self.container.spec.cpu_limit, self._known_cores()
        if cores < 1.0 and (limit is None or cores < limit):
            return cores
        return limit

    def _known_cores(self) -> float:
        """`cores`, whoever keeps them."""
        return self.cores if self._lender is None else self._lender[0].cores(self._lender[1])

    @property
    def wait_alone(self) -> Wait:
        """The closed form of its wait: what `wait` is beyond it, is a queue that is followed."""
        return self._judged_wait

    @property
    def said(self) -> tuple[int, float]:
        """As long as it is the same, so is what a request meets here (but for what its calls meet)."""
        return self.published, min(1.0, self._known_cores())

    def _publish(self, tick_ns: int, cores: float) -> bool:
        wait, rejected = self._current(tick_ns, cores)
        self._judged_wait = wait
        arrivals, work, _ = self._demand(tick_ns)
        mean_service = work / arrivals if arrivals > 0.0 else 0.0
        noticeable = NOTICEABLE_SHARE * (self.wait.mean_ns + mean_service) + NOTICEABLE_NS
        hopeless = min(wait.mean_ns, self.wait.mean_ns) > HOPELESS_NS
        same_wait = hopeless or abs(wait.mean_ns - self.wait.mean_ns) <= noticeable
        if same_wait and abs(rejected - self.rejected) <= NOTICEABLE_REFUSALS:
            return False
        self.wait, self.rejected = wait, rejected
        self.published += 1
        return True

    def _current(self, tick_ns: int, cores: float) -> tuple[Wait, float]:
        """Waiting and refusals of the present state."""
        arrivals, work, square = self._demand(tick_ns)
        if arrivals <= 1e-9 or cores <= 0.0:
            return _NO_WAIT, 0.0
        mean = work / arrivals
        cv2 = max(0.0, square / (arrivals * mean * mean) - 1.0) if mean > 0.0 else 0.0
        demand = Demand(work / tick_ns, mean, cv2)
        speed = max(cores - self.spec.idle_cores, 0.02 * cores)
        wait = self._stationary(demand, speed)
        behind = self.backlog_ns / speed
        if behind > ORDINARY * wait.mean_ns + ORDINARY_REQUESTS * mean / speed:
            spread = mean * math.sqrt(1.0 + self.backlog_ns / max(mean, 1.0)) / speed
            wait = Wait(behind, spread * spread, wait.throttled)
        return wait, self._refusals(tick_ns, mean, speed)

    def _stationary(self, demand: Demand, speed: float) -> Wait:
        """The closed forms: behind others on the cores, or asleep by the quota, whichever is longer."""
        quota = self._quota()
        whole = max(1, math.floor(speed + 0.5))
        threads = min(self.spec.threads or whole, whole)
        if quota is not None:
            threads = self.spec.threads or max(1, math.ceil(speed - 1e-6))
        pace = min(1.0, speed / threads) if speed > 1.0 else 1.0  # a server that has less than a core has a quota
        slowed = Demand(demand.cores / pace, demand.mean_ns / pace, demand.cv2)
        behind = self._behind_workers(thread_wait(slowed, threads))
        if quota is None:
            return behind
        sleep = quota_wait(demand, speed)
        return Wait(max(behind.mean_ns, sleep.mean_ns), max(behind.variance, sleep.variance), sleep.throttled)

    def _behind_workers(self, wait: Wait) -> Wait:
        """The wait for a worker, who is held also while he waits for what he calls, if that is longer."""
        known = self._expected
        if not self.spec.workers or known is None or known.requests <= 0.0 or known.busy <= 0.0:
            return wait
        held = thread_wait(Demand(known.busy, known.busy / known.requests * SECOND, 1.0), self.spec.workers)
        return held if held.mean_ns > wait.mean_ns else wait

    def _refusals(self, tick_ns: int, mean: float, speed: float) -> float:
        """Share of arrivals that finds the queue full; the work of those refused is not done."""
        bound = int(self.spec.queue * mean)
        if self.backlog_ns <= NEARLY_FULL * bound:
            return 0.0
        fill = self.backlog_ns / bound if bound else 1.0  # who keeps no queue is full at once
        self.backlog_ns = min(self.backlog_ns, bound)
        offered = self._offered * mean / tick_ns
        # In balance it takes as much as it serves, at a fill in the middle between nearly and quite full.
        pressure = min(1.0, 2.0 * (fill - NEARLY_FULL) / (1.0 - NEARLY_FULL))
        return min(0.99, max(0.0, 1.0 - speed / offered)) * pressure

    def _throttled(self, tick_ns: int, used: int, capacity: int) -> float:
        """Time for which the quota stopped it, as cpu.stat counts it."""
        limit = self.container.spec.cpu_limit
        if limit is None:
            return 0.0
        if used >= capacity:
            return max(0.0, 1.0 - limit) * tick_ns
        return self.wait.throttled * max(0.0, 1.0 - limit) * tick_ns

    def _tell_machine(self, cores: float) -> None:
        reported = self._reported
        if abs(cores - reported) > NOTICEABLE_CORES + 0.05 * abs(reported):
            self._reported = cores
            self.container.machine.report_demand(self.container, cores)
        spec = self.spec
        held = self.in_flight
        if self.backlog_ns and self._work > 0.0:
            held = max(held, self.backlog_ns * self._arrivals / self._work)
        memory = spec.memory_base + int(spec.memory_per_request * held)
        memory -= memory % MEMORY_STEP
        if memory != self.container.memory_bytes:
            self.container.set_memory(memory)

    def _keep(self, ticks: int, per_tick: float) -> float:
        """What the averages keep of their values over so many ticks, in which so many requests came in each."""
        age = self._age = min(self._age + ticks, MOST_MEMORY)
        # a surge is believed at once; but to forget faster whenever a request more came would bias the average
        surge = per_tick if per_tick * ticks >= SURGE else 0.0
        enough = MEMORY_REQUESTS / max(surge, self._arrivals, 1e-6)
        rest = 1.0 - 1.0 / max(MEMORY_TICKS, min(enough, age))
        if ticks == 1:
            return rest
        keep = 1.0
        while ticks:
            keep, rest, ticks = keep * rest if ticks & 1 else keep, rest * rest, ticks >> 1
        return keep
