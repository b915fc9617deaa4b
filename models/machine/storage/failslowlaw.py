"""How often drives become slow, by how much, and how one tells: populations and a detector by peers.

Sources: Lu et al. (Perseus, FAST'23): 304 fail-slow drives of 248,000 in ten months, events seen as a slowdown ratio
above 1 for half of a five-minute window, fixed thresholds of latency useless; Panda et al. (IASO, ATC'19): 1.02 % of
nodes a year; Hao et al. (Tail at Store, FAST'16): slow is an hour of at least twice the median of the peers, 40 % of
the episodes last more than an hour, and recur the same day. Left out: drives that recover for good by themselves.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import SECOND, Shared, arithmetic
from simcluster.engine.streams import Stream, uniforms_at
from simcluster.models.machine.storage import slow
from simcluster.models.machine.storage.slow import SlowMode

Array = NDArray[np.float64]

#: Hazard of a drive, per year: 304 / 248,000 drives in ten months.
FAIL_SLOW_A_YEAR = 304 / 248_000 * 12 / 10
#: IASO's nodes: servers of hyper-converged clusters with some seven drives.
DRIVES_A_NODE = 7
#: Slowdown of a drive while it is slow: log-normal; from barely visible to collapse (FAST'18: 2x to 1000x).
SLOWDOWN_MEDIAN, SLOWDOWN_SIGMA = 4.0, 1.0
#: Episodes: exponential, on average two hours on and four hours off (the same day again in 85-90 %).
ON_H, OFF_H = 2.0, 4.0
#: Windows of five minutes, and the spread of their mean latency over drives by workload alone: log-normal.
WINDOW_H, WINDOW_SIGMA = 1.0 / 12.0, 0.55
#: A burst of work makes a healthy drive twice as slow as its peers for a while: chance a window, and how much.
BURST_SHARE, BURST_FACTOR = 0.05, 2.5
#: An hour counts as slow when the median of its windows is at least twice that of the peers ...
RATIO = 2.0
#: ... and a drive is suspected when so many hours of a day were: fewer would blame as many healthy drives.
HOURS_OF_A_DAY = 3


class PeerDetector(Shared):
    """Compares drives with those of the same node, hour by hour."""

    def __init__(self, seed_key: int) -> None:
        self.key = seed_key

    def hours_until_suspected(self, drives: int, sick: bool, days: int = 10) -> Array:
        """Hours from the onset until each drive is suspected; infinite if never within the time.

        Args:
            sick: whether they are fail-slow drives (from hour 0 on), or healthy ones.
        """
        keys = np.arange(drives, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15 >> 1) + np.uint64(self.key)
        factor = np.ones(drives)
        if sick:
            sigma = arithmetic.exp_array(SLOWDOWN_SIGMA * _normal(uniforms_at(keys, 1)))
            factor = np.maximum(1.0, SLOWDOWN_MEDIAN * sigma)
        count = np.zeros((24, drives))
        found = np.full(drives, math.inf)
        left, on = self._episode(keys, 0, np.zeros(drives, dtype=bool)), np.ones(drives, dtype=bool)
        windows = round(1.0 / WINDOW_H)
        for hour in range(24 * days):
            ratios = np.empty((windows, drives))
            for window in range(windows):
                at = hour * windows + window
                ratios[window] = self._window(keys, at, np.where(on, factor, 1.0))
                left = left - WINDOW_H
                over = left <= 0.0
                if over.any():
                    on = np.where(over, ~on, on)
                    left = np.where(over, self._episode(keys, at + 1, on), left)
            # numpy's median is a partition: no sums whose order could matter.
            count[hour % 24] = np.median(ratios, axis=0) >= RATIO
            suspected = count.sum(axis=0) >= HOURS_OF_A_DAY
            found = np.where(suspected & np.isinf(found), hour + 1.0, found)
        return found

    def _window(self, keys: NDArray[np.uint64], at: int, factor: Array) -> Array:
        """Mean latency of a drive in a window over that of its peers."""
        noise = arithmetic.exp_array(WINDOW_SIGMA * _normal(uniforms_at(keys, 100 + 3 * at)))
        burst = np.where(uniforms_at(keys, 101 + 3 * at) < BURST_SHARE, BURST_FACTOR, 1.0)
        return factor * noise * burst

    def _episode(self, keys: NDArray[np.uint64], at: int, on: NDArray[np.bool_]) -> Array:
        """Length of the episode (or pause) that begins now, hours."""
        mean = np.where(on, ON_H, OFF_H) if at else np.full(len(keys), ON_H)
        return -arithmetic.log_array(uniforms_at(keys, 102 + 3 * at)) * mean


def fail_slow_years(keys: NDArray[np.uint64]) -> Array:
    """Age at which each drive becomes slow, years."""
    return -arithmetic.log_array(uniforms_at(keys, 1)) / FAIL_SLOW_A_YEAR


def drawn_mode(stream: Stream) -> SlowMode:
    """A fail-slow drive as they come: its slowdown drawn, there in episodes."""
    factor = max(1.0, stream.lognormal(SLOWDOWN_MEDIAN, SLOWDOWN_SIGMA))
    hour_ns = 3600 * SECOND
    return slow.flaky(slow.constant(factor), round(ON_H * hour_ns), round(OFF_H * hour_ns))


def _normal(u: Array) -> Array:
    """Standard normal draws."""
    return arithmetic.normal_quantile_array(u)
