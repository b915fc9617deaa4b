"""One measured figure beside the one that theory or an experiment gives, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

#: Two-sided 99 % points of Student's t for 1, 2, ... degrees of freedom (then the normal's 2.58).
_T99 = (63.66, 9.92, 5.84, 4.60, 4.03, 3.71, 3.50, 3.36, 3.25, 3.17, 3.11, 3.05, 3.01, 2.98, 2.95, 2.92, 2.90, 2.88)


class Estimate(NamedTuple):
    """A mean over independent runs, and half of its 99 % confidence interval."""

    mean: float
    half: float


def estimate(values: Sequence[float]) -> Estimate:
    """Mean of independent values with its confidence interval; of one value the interval is unknown (0)."""
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return Estimate(mean, 0.0)
    variance = math.fsum((v - mean) ** 2 for v in values) / (count - 1)
    t = _T99[count - 2] if count - 2 < len(_T99) else 2.58
    return Estimate(mean, t * math.sqrt(variance / count))


def proportion(hits: int, count: int) -> Estimate:
    """A share with the half-width of Wilson's 99 % interval around it."""
    z2, p = 2.576**2, hits / count
    half = math.sqrt(z2 * p * (1.0 - p) / count + z2 * z2 / (4.0 * count * count)) / (1.0 + z2 / count)
    return Estimate(p, half)


def against_share(hits: int, count: int, expected: float, runs: int) -> Estimate:
    """A share whose expected value is itself counted in so many runs: the 99 % interval of the difference of both."""
    own = proportion(hits, count)
    return Estimate(own.mean, math.hypot(own.half, proportion(round(expected * runs), runs).half))


@dataclass(frozen=True)
class Finding:
    """One figure.

    Attributes:
        row, engine: which row, on which engine.
        quantity: what was measured, in which set-up.
        expected, measured: the figures.
        tolerance: how far apart they may be beyond the sampling error.
        half: half of the 99 % confidence interval of the measurement; 0 for what is not random.
        bound: `both`: the distance counts; `strict`: it counts without regard to the interval; `above`/`below`:
            measured must not be above/below the expected one.
    """

    row: str
    engine: str
    quantity: str
    expected: float
    measured: float
    tolerance: float
    half: float = 0.0
    bound: str = "both"

    @property
    def holds(self) -> bool:
        """Whether they agree."""
        allowed = self.tolerance + (0.0 if self.bound == "strict" else self.half)
        if math.isnan(self.measured):
            return False
        if self.bound == "above":
            return self.measured <= self.expected + allowed
        if self.bound == "below":
            return self.measured >= self.expected - allowed
        return abs(self.measured - self.expected) <= allowed

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "row": self.row,
            "engine": self.engine,
            "quantity": self.quantity,
            "expected": self.expected,
            "measured": self.measured,
            "tolerance": self.tolerance,
            "confidence_half_width": self.half,
            "bound": self.bound,
            "holds": self.holds,
        }
