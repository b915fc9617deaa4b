"""How the clocks of sources differ from the recorder's.

A node renews its Lease and says when (`renewTime`, to the microsecond); the recorder knows when it heard of it. News
travels forwards in time alone, so the reading that is latest for its arrival is the nearest to the truth. A source may
also run at another rate (a cluster that is not paced by the wall clock).
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

#: Below this a difference is the delay of messages, not of clocks; likewise of rates.
SAME_NS, SAME_RATE = 2_000_000_000, 0.01
#: A rate is only told over a span of so many seconds.
LEAST_SPAN_NS = 5_000_000_000


@dataclass(frozen=True)
class ClockFit:
    """The source's clock as a function of the recorder's: `begin_source + rate * (t - begin)`.

    Attributes:
        skew_ns: how far the source is ahead at the begin.
        spread_ns: between the middle reading and the line: the usual delay of messages.
    """

    begin_ns: int
    begin_source_ns: int
    rate: float
    spread_ns: int
    samples: int

    @property
    def skew_ns(self) -> int:
        """How far ahead the source's clock is at the begin."""
        return self.begin_source_ns - self.begin_ns

    def source_ns(self, t_ns: int) -> int:
        """The source's clock at an instant of the recorder's."""
        return self.begin_source_ns + round(self.rate * (t_ns - self.begin_ns))


def fit_clock(samples: Sequence[tuple[int, int]]) -> ClockFit | None:
    """From (arrival, reading of the source), both in ns since 1970; None without samples.

    The rate is the median slope between halves (Theil-Sen over far pairs), and 1 where it is 1 within a percent.
    """
    if not samples:
        return None
    ordered = sorted(samples)
    begin, half = ordered[0][0], len(ordered) // 2
    rate = 1.0
    if ordered[-1][0] - begin >= LEAST_SPAN_NS and half:
        slopes = sorted(
            (b[1] - a[1]) / (b[0] - a[0]) for a, b in zip(ordered, ordered[half:], strict=False) if b[0] > a[0]
        )
        rate = slopes[len(slopes) // 2] if slopes else 1.0
    if abs(rate - 1) < SAME_RATE:
        rate = 1.0
    ahead = sorted(reading - round(rate * (t - begin)) for t, reading in ordered)
    nearest = ahead[-1]
    return ClockFit(begin, nearest, rate, nearest - ahead[len(ahead) // 2], len(ordered))


class ClusterClock:
    """The cluster's clock, learned while recording."""

    def __init__(self) -> None:
        self._samples: list[tuple[int, int]] = []

    def observe(self, t_ns: int, reading_ns: int) -> None:
        """A reading arrived. Of many the first and the newest are kept."""
        if len(self._samples) >= 400:
            del self._samples[100:200]
        self._samples.append((t_ns, reading_ns))

    def source_ns(self, t_ns: int) -> int:
        """What it shows when the recorder's shows `t_ns`; the same, as long as nothing says otherwise."""
        fit = fit_clock(self._samples)
        if fit is None or (abs(fit.skew_ns) < SAME_NS and fit.rate == 1.0):
            return t_ns
        return fit.source_ns(t_ns)


def reading_of(lease: dict[str, Any]) -> int | None:
    """When the holder of a Lease says that it renewed it."""
    return parse_time((lease.get("spec") or {}).get("renewTime"))


def parse_time(text: Any) -> int | None:
    """Nanoseconds since 1970 of an RFC 3339 time, to the nanosecond; None for what is none."""
    if not isinstance(text, str) or len(text) < 20 or not text.endswith("Z"):
        return None
    whole, _, fraction = text[:-1].partition(".")
    try:
        begin = datetime.datetime.fromisoformat(whole).replace(tzinfo=datetime.UTC)
        return int(begin.timestamp()) * 1_000_000_000 + int((fraction + "0" * 9)[:9] or 0)
    except ValueError:
        return None
