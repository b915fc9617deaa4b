"""CPU bandwidth control (CFS quota): how much of a period a group runs, and how long it sleeps.

`threads` runnable threads burn the quota in quota / threads of the period and sleep until the
period ends. Left out: the slices of 5 ms in which CPUs fetch quota, and burst.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import MILLISECOND, arithmetic

Whole: TypeAlias = NDArray[np.int64]
#: kubelet: --cpu-cfs-quota-period 100 ms.
PERIOD_NS = 100 * MILLISECOND
#: How long a request keeps a CPU before somebody else gets it (EEVDF's base slice on a small machine).
SLICE_NS = 3 * MILLISECOND


class Period(NamedTuple):
    """One period: CPU time used, time asleep by the quota, and what is left to do (nanoseconds)."""

    used_ns: int
    stalled_ns: int
    left_ns: int

    @property
    def throttled(self) -> bool:
        """Whether the quota ran out with work left."""
        return self.stalled_ns > 0


def period(limit: float, threads: int, demand_ns: int, period_ns: int = PERIOD_NS) -> Period:
    """What `threads` threads with `demand_ns` of work together get in one period."""
    quota = int(limit * period_ns)
    possible = threads * period_ns
    used = min(demand_ns, quota, possible)
    if demand_ns <= quota or threads <= limit:
        return Period(used, 0, demand_ns - used)
    return Period(used, period_ns - quota // threads, demand_ns - used)


def throttled_share(limit: float, mean_ns: float, deviation_ns: float, period_ns: int = PERIOD_NS) -> float:
    """P(demand of a period > quota) when demand is log-normal with this mean and deviation.

    That is nr_throttled / nr_periods for a group whose periods are independent of each other.
    """
    quota = limit * period_ns
    if mean_ns <= 0.0 or quota <= 0.0:
        return 0.0
    if deviation_ns <= 0.0:
        return 1.0 if mean_ns > quota else 0.0
    spread = arithmetic.log(1.0 + deviation_ns * deviation_ns / (mean_ns * mean_ns))
    middle = arithmetic.log(mean_ns) - spread / 2.0
    return _above((arithmetic.log(quota) - middle) / math.sqrt(spread))


def _above(z: float) -> float:
    """P(a standard normal variable > z), by Abramowitz and Stegun 26.2.17 (error below 7.5e-8)."""
    if z < 0.0:
        return 1.0 - _above(-z)
    t = 1.0 / (1.0 + 0.2316419 * z)
    series = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    return arithmetic.exp(-z * z / 2.0) * series * 0.3989422804014327


class CpuStat(NamedTuple):
    """`cpu.stat` of a cgroup."""

    usage_usec: int
    user_usec: int
    system_usec: int
    nr_periods: int
    nr_throttled: int
    throttled_usec: int

    def text(self) -> str:
        """The file."""
        rows = [f"{name} {value}\n" for name, value in self._asdict().items()]
        return "".join([*rows, "nr_bursts 0\nburst_usec 0\n"])


def statistics(cpu_ns: int, throttled_ns: int, age_ns: int, limit: float | None, threads: int) -> CpuStat:
    """`cpu.stat` of a group from its CPU time, its time asleep and its age.

    Periods count only while somebody runs: a group that uses a share of a core in slices is
    active in 1 - exp(-slices) of them. Each throttled one sleeps period - quota / threads.
    """
    usage = cpu_ns // 1000
    user = usage * 17 // 20
    if limit is None:
        return CpuStat(usage, user, usage - user, 0, 0, 0)
    elapsed = max(1, age_ns) / PERIOD_NS
    active = 1.0 - arithmetic.exp(-min(50.0, cpu_ns / SLICE_NS / elapsed))
    stall = max(PERIOD_NS - limit * PERIOD_NS / max(1, threads), 0.01 * PERIOD_NS)
    throttled = int(throttled_ns / stall)
    periods = max(int(elapsed * active), throttled)
    return CpuStat(usage, user, usage - user, periods, throttled, throttled_ns // 1000)


def periods_of(
    cpu_ns: Whole, throttled_ns: Whole, age_ns: Whole, limits: NDArray[np.float64], threads: int
) -> tuple[Whole, Whole]:
    """Periods, and those that were throttled, of several groups that have limits, as `statistics` has them."""
    elapsed = np.maximum(1, age_ns) / PERIOD_NS
    active = 1.0 - arithmetic.exp_array(-np.minimum(50.0, cpu_ns / SLICE_NS / elapsed))
    stall = np.maximum(PERIOD_NS - limits * PERIOD_NS / max(1, threads), 0.01 * PERIOD_NS)
    throttled = (throttled_ns / stall).astype(np.int64)
    return np.maximum((elapsed * active).astype(np.int64), throttled), throttled
