"""How a queue with Poisson arrivals fluctuates: the constants of a diffusion that has the right law.

The number in a pod moves as a reflected Brownian motion Z. Its variance is not the textbook one of
heavy traffic but chosen so that the stationary law is right at every utilisation: Z > x has
probability exp(-gamma x), and a wait beyond t has probability exp(-gamma shift - decay t), where

- decay and gamma belong to Cramer's root: lam (e^gamma - 1) = decay = k mu' (1 - e^(-gamma/k)) for
  gamma-distributed service of shape k = 1/scv and rate mu' = servers/mean. For exponential service
  that is gamma = -ln rho, decay = mu' - lam, and floor(Z) is exactly the M/M/1 queue;
- the noise of service is what is missing to the variance of a reflected motion with that decay:
  s2 = 2 (mu' - lam)/gamma - lam per second (for exponential service near mu', as it must be);
- shift: as many requests are in service without anybody waiting. It is chosen so that the mean wait
  is Pollaczek's and Khinchine's, with several servers Erlang's C times (1 + scv)/2.

Source: Asmussen, Applied Probability and Queues, chapters X and XIII (Cramer-Lundberg); Allen-Cunneen
for several servers. Exact for M/M/1 and M/M/c; for the M/G/1 mean and decay rate; else approximate.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import arithmetic

Array = NDArray[np.float64]

#: Utilisations at which the constants are tabulated; between them they are interpolated.
POINTS = 65
#: The last one: beyond it a queue is never stationary within a run, and the backlog itself speaks.
RHO_MAX = 0.995
#: Who is admitted to a queue of K places finds fewer inside than are there at any time, for it was not full: of M/M/1/K
#: with many places (1 - y/(e^y - 1))/(1 - e^-y) with y = K (rho - 1), one where more come than are served. That is
#: (1 + y/sqrt(y^2 + STEP))/2 within .03, and nothing below -CROWD.
CROWD, STEP = 12.0, 6.0
#: Beyond as many scales 1/(rho - 1) of its law below its places a queue is not full yet: who comes finds who is there.
FULL = 6.0


def utilisation(point: int) -> float:
    """The utilisation of a point of the tables."""
    return RHO_MAX * (point + 0.25) / (POINTS - 0.75)


def table(servers: int, scv: float, *, mixed: bool = False) -> Array:
    """Rows for the utilisations: shift, noise s2, gamma, decay (in units of mu').

    Args:
        mixed: service is now and then much longer (a mixture of exponentials), not of a gamma law.
    """
    rows = [_constants(utilisation(i), servers, scv, mixed=mixed) for i in range(POINTS)]
    return np.array(rows)


def root(rho: float, scv: float, *, mixed: bool = False) -> tuple[float, float]:
    """gamma and decay (per mean service time of the whole pod) at a utilisation below 1."""
    if abs(scv - 1.0) < 1e-9:
        return -arithmetic.log(rho), 1.0 - rho
    if mixed and scv > 1.0:
        return _root_of_mixture(rho, scv)
    low, high = 0.0, 60.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        if rho * (arithmetic.exp(middle) - 1.0) < _decay(middle, scv):
            low = middle
        else:
            high = middle
    return low, _decay(low, scv)


def _root_of_mixture(rho: float, scv: float) -> tuple[float, float]:
    """The same for two exponentials of balanced means: lam (M(s) - 1) = s, gamma = ln M(s)."""
    often = 0.5 * (1.0 + math.sqrt((scv - 1.0) / (scv + 1.0)))
    seldom = 1.0 - often
    low, high = 0.0, 2.0 * seldom
    for _ in range(80):
        middle = 0.5 * (low + high)
        if rho * (_mixture(middle, often) - 1.0) < middle:
            low = middle
        else:
            high = middle
    return arithmetic.log(_mixture(low, often)), low


def _mixture(s: float, often: float) -> float:
    """E[exp(s S)] of a mixture of exponentials of mean 1 in all, each with half of it."""
    rates = 2.0 * often, 2.0 * (1.0 - often)
    return often * rates[0] / (rates[0] - s) + (1.0 - often) * rates[1] / max(rates[1] - s, 1e-300)


def _decay(gamma: float, scv: float) -> float:
    return gamma if scv < 1e-9 else (1.0 - arithmetic.exp(-gamma * scv)) / scv


def erlang_c(servers: int, rho: float) -> float:
    """Probability that a request waits in M/M/c. Source: Erlang's B recursion."""
    load, blocking = servers * rho, 1.0
    for k in range(1, servers + 1):
        blocking = load * blocking / (k + load * blocking)
    return blocking / (1.0 - rho * (1.0 - blocking))


def _constants(rho: float, servers: int, scv: float, *, mixed: bool = False) -> tuple[float, float, float, float]:
    gamma, decay = root(rho, scv, mixed=mixed)
    wait = erlang_c(servers, rho) / (1.0 - rho) * 0.5 * (1.0 + scv)  # in units of 1/mu'
    product = max(decay * wait, 1e-300)
    shift = min(max(-arithmetic.log(product) / gamma, 0.0), 4.0 * servers + 8.0)
    noise = 2.0 * (1.0 - rho) / gamma - rho
    return shift, max(noise, 0.0), gamma, decay


def at_utilisation(tables: Array, kind: NDArray[np.int64], rho: Array) -> Array:
    """Rows of the tables of these kinds, between their points."""
    rho = np.minimum(rho, RHO_MAX)
    at = np.maximum(rho / RHO_MAX * (POINTS - 0.75) - 0.25, 0.0)
    low = np.minimum(at.astype(np.int64), POINTS - 2)
    row: Array = tables[kind, low]
    row = row + (at - low)[:, None] * (tables[kind, low + 1] - row)
    return row


def waiting_chance(rho: Array, servers: Array) -> Array:
    """Probability that somebody who arrives finds all servers busy."""
    result = rho.copy()
    for index, count in enumerate(servers.tolist()):
        if count > 1.0:
            result[index] = erlang_c(int(min(count, 2000.0)), float(rho[index]))
    return result
