"""Closed forms of one server's queue: waiting behind others, and the CFS quota.

Work is measured in nanoseconds of one core. A container that may use `cores` on average
and runs `threads` requests at once at full speed meets two limits: the threads (an M/G/c
queue) and, under a CPU limit, the quota of the kernel's bandwidth control: `limit` x 100 ms
in every period of 100 ms, asleep for the rest of the period once it is used up.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.engine import MILLISECOND, Shared, arithmetic
from simcluster.models.traffic.aggregate.stationary import erlang_c

#: kernel/sched/fair.c: default cfs_period of 100 ms (kubelet --cpu-cfs-quota-period).
CFS_PERIOD_NS = 100 * MILLISECOND
#: Closed forms of the stationary state are used up to this utilisation; beyond it the backlog speaks.
MAX_UTILISATION = 0.97
#: Quota is handed out at the start of a period and not saved: at a random instant half is left.
QUOTA_LEFT = 0.5


class Demand(NamedTuple):
    """What arrives at a server.

    Attributes:
        cores: arriving work per time, in cores.
        mean_ns: mean CPU cost of a request.
        cv2: squared coefficient of variation of that cost.
    """

    cores: float
    mean_ns: float
    cv2: float


class _Moments(NamedTuple):
    """The parts of a `Wait`."""

    mean_ns: float
    variance: float
    throttled: float


class Wait(_Moments, Shared):
    """Waiting before or during service, without the service itself; `throttled` is the share of
    time in which the quota keeps the container asleep.
    """

    __slots__ = ()


def thread_wait(demand: Demand, servers: int) -> Wait:
    """The wait for one of `servers` equal cores.

    Exact for M/M/c (Erlang-C) and, in the mean, for M/G/1 (Pollaczek-Khinchine); who waits does so for an exponential
    time.
    """
    utilisation = min(demand.cores / servers, MAX_UTILISATION)
    chance = erlang_c(servers, utilisation) if utilisation > 0.0 else 0.0
    if chance <= 0.0:
        return Wait(0.0, 0.0, 0.0)
    mean = chance * demand.mean_ns * (1.0 + demand.cv2) / (2.0 * servers * (1.0 - utilisation))
    return Wait(mean, mean * mean * (2.0 / chance - 1.0), 0.0)


def quota_wait(demand: Demand, limit: float) -> Wait:
    """Waiting caused by a CPU limit of `limit` cores.

    The backlog of a server of speed `limit` has an exponential tail (M/G/1, heavy traffic);
    what fits into the quota left in the period is served at full speed at once, only the
    excess sleeps. For costs far above the quota this is the M/G/1 wait at speed `limit`.
    """
    utilisation = min(demand.cores / limit, MAX_UTILISATION)
    if utilisation <= 0.0 or demand.mean_ns <= 0.0:
        return Wait(0.0, 0.0, 0.0)
    scale = demand.mean_ns * (1.0 + demand.cv2) / (2.0 * (1.0 - utilisation))
    chance = utilisation * arithmetic.exp(-QUOTA_LEFT * limit * CFS_PERIOD_NS / scale)
    excess = scale / limit
    mean = chance * excess
    return Wait(mean, chance * 2.0 * excess * excess - mean * mean, chance)


def followed_wait(mean_ns: float, calm: Wait) -> Wait:
    """The wait at a server whose queue is followed: what lies beyond the closed form is a queue that all find alike.

    Who comes behind a backlog of known length waits nearly as long as the next (half of the mean as deviation).
    """
    beyond = max(0.0, mean_ns - calm.mean_ns)
    part = min(1.0, mean_ns / calm.mean_ns) if calm.mean_ns > 0.0 else 0.0
    return Wait(mean_ns, calm.variance * part * part + beyond * beyond * 0.25, calm.throttled)


def service_time(cpu_ns: float, limit: float | None) -> float:
    """Mean wall time in which one request gets `cpu_ns` of CPU with nobody else there, in nanoseconds.

    Example: 25 ms of CPU under a limit of 0.1 core (10 ms in 100 ms): 10 ms, asleep 90 ms,
    10 ms, asleep 90 ms, 5 ms: 205 ms.
    """
    if limit is None or limit >= 1.0:
        return cpu_ns
    quota = limit * CFS_PERIOD_NS
    stalls = cpu_ns / quota - QUOTA_LEFT
    return cpu_ns if stalls <= 0.0 else cpu_ns + stalls * (CFS_PERIOD_NS - quota)
