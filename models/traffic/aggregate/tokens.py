"""How often a token bucket is empty: rate limits with few tokens, in ticks in which they fill many times over.

What is missing in a bucket falls by one token a token's time and rises by one with every request that is let in; a
request is refused while less than one token is there. With Poisson arrivals that is the workload of a queue with equal
services that turns away what does not fit (M/D/1 with a bound on the workload). Its law follows from level to level:
as often as the level is passed downwards, at rate f(v), a request lifts it from at most one token below:
f(v) = rho (F(min(v, B - 1)) - F(v - 1)).

Source: level crossings, Brill and Posner 1977.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Tokens up to which a law is worked out; points for a token; utilisations of the table.
MOST_TOKENS, _POINTS = 64.0, 16
_RHO_STEP, _RHO_MOST = 0.05, 3.0


def refused_share(rho: float, burst: float) -> float:
    """Share of Poisson arrivals that a bucket refuses; `rho` of its rate arrive."""
    step = 1.0 / _POINTS
    last = max(_POINTS, int(burst * _POINTS + 0.5))
    open_until = last - _POINTS
    below = [1.0]  # P(missing <= k step), not normalised; nothing is missing with 1
    density = rho
    for k in range(1, last + 1):
        under = below[k - _POINTS] if k > _POINTS else 0.0
        if k <= open_until:  # trapezoid: the density at k depends on F(k) itself
            now = (below[-1] + 0.5 * step * (density - rho * under)) / (1.0 - 0.5 * step * rho)
            density = rho * (now - under)
        else:
            before, density = density, rho * (below[open_until] - under)
            now = below[-1] + 0.5 * step * (before + density)
        below.append(now)
        if k == _POINTS:  # from one token on the chance that nothing was missing is left out
            density = rho * (below[min(k, open_until)] - 1.0)
    return 1.0 - below[open_until] / below[last]


class BucketLaw:
    """Shares refused by buckets of one size, at any utilisation."""

    def __init__(self, burst: float) -> None:
        self._rho = np.arange(0.0, _RHO_MOST + _RHO_STEP, _RHO_STEP)
        self._share = np.array([refused_share(float(rho), burst) for rho in self._rho])

    def share(self, rho: Array) -> Array:
        """Shares; far beyond the rate, what is too much."""
        found: Array = np.where(
            rho > _RHO_MOST, 1.0 - 1.0 / np.maximum(rho, 1.0), np.interp(rho, self._rho, self._share)
        )
        return found
