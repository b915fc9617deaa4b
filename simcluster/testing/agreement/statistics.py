"""Tests of two samples: shares in one cell and over many, and figures with a spread between runs.

Sources: Fleiss, Levin, Paik, Statistical Methods for Rates and Proportions, 2003, chapters 3 (two shares) and 10
(Mantel-Haenszel); Student's law by its expansion at the normal one (Abramowitz and Stegun 26.7.5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def two_sided(z: float) -> float:
    """Probability that a standard normal variable is at least so far from 0."""
    return math.erfc(abs(z) / math.sqrt(2.0))


def fisher(a: int, n: int, b: int, m: int) -> float:
    """Two-sided exact probability of `a` of `n` beside `b` of `m`, or of a table as rare, if both shares are one.

    >>> round(fisher(3, 10, 7, 10), 4)
    0.1789
    """
    total = a + b
    ways = {k: math.comb(n, k) * math.comb(m, total - k) for k in range(max(0, total - m), min(n, total) + 1)}
    rare = sum(count for count in ways.values() if count <= ways[a])  # integers
    return rare / sum(ways.values())  # integers


def mantel_haenszel(cells: Sequence[tuple[int, int, int, int]]) -> float:
    """Probability that the shares of all cells (`a` of `n`, `b` of `m`) differ so much in one direction by chance."""
    excess = variance = 0.0
    for a, n, b, m in cells:
        whole, hits = n + m, a + b
        excess += a - n * hits / whole
        variance += n * m * hits * (whole - hits) / (whole * whole * (whole - 1))
    return two_sided(excess / math.sqrt(variance)) if variance > 0.0 else 1.0


def half_width(exact: Sequence[float], other: Sequence[float]) -> float:
    """The 99 % interval of the ratio of two means, each way, by the spread of the runs; infinite for one run each."""
    squares, freedom = 0.0, 0
    for sample in (exact, other):
        mean = math.fsum(sample) / len(sample)
        if len(sample) < 2 or mean <= 0.0:
            return math.inf
        spread = math.fsum((x - mean) ** 2 for x in sample) / (len(sample) - 1)
        squares += spread / len(sample) / (mean * mean)
        freedom += len(sample) - 1
    z = 2.575829
    student = z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom * freedom)
    return student * math.sqrt(squares)
