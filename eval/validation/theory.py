"""Closed forms of queueing theory, in units of the caller's choice.

Sources: Kleinrock, Queueing Systems I (M/M/c, M/M/c/K, M/G/1); Gross and Harris, Fundamentals
of Queueing Theory (networks); Garnett, Mandelbaum, Reiman, Designing a Call Center with
Impatient Customers, MSOM 4 (2002) (Erlang-A).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np


def erlang_c(load: float, servers: int) -> float:
    """P(wait) of M/M/c with `load` = lambda/mu < servers, by the Erlang-B recursion."""
    blocked = 1.0
    for k in range(1, servers + 1):
        blocked = load * blocked / (k + load * blocked)
    return blocked / (1.0 - load / servers * (1.0 - blocked))


def mmc_sojourn(arrival: float, service: float, servers: int) -> float:
    """Mean time in an M/M/c system."""
    return erlang_c(arrival / service, servers) / (servers * service - arrival) + 1.0 / service


def mmc_quantile(arrival: float, service: float, servers: int, share: float) -> float:
    """Quantile of the time in an M/M/c system: its own work, and with P(wait) an exponential wait before it."""
    waits, spare = erlang_c(arrival / service, servers), servers * service - arrival

    def later(time: float) -> float:
        own, wait = math.exp(-service * time), math.exp(-spare * time)
        if math.isclose(spare, service):
            return own * (1.0 + waits * service * time)
        return (1.0 - waits) * own + waits * (service * wait - spare * own) / (service - spare)

    low, high = 0.0, 1.0 / service
    while later(high) > 1.0 - share:
        high *= 2.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if later(middle) > 1.0 - share else (low, middle)
    return high


def mg1_wait(arrival: float, mean: float, squared_cv: float) -> float:
    """Mean wait in M/G/1: Pollaczek and Khinchine."""
    return arrival * mean * mean * (1.0 + squared_cv) / (2.0 * (1.0 - arrival * mean))


class Loss(NamedTuple):
    """What M/M/c/K says: share of arrivals turned away, and mean time of those let in."""

    blocked: float
    sojourn: float


def mmck(arrival: float, service: float, servers: int, places: int) -> Loss:
    """M/M/c/K by its balance equations."""
    weights = [1.0]
    for n in range(1, places + 1):
        weights.append(weights[-1] * arrival / (min(n, servers) * service))
    total = math.fsum(weights)
    inside = math.fsum(n * w for n, w in enumerate(weights)) / total
    blocked = weights[-1] / total
    return Loss(blocked, inside / (arrival * (1.0 - blocked)))


class Impatience(NamedTuple):
    """What Erlang-A says: share of arrivals that wait, and share that give up."""

    wait: float
    abandon: float


def erlang_a(arrival: float, service: float, servers: int, impatience: float) -> Impatience:
    """M/M/c+M by its balance equations; `impatience` is the rate at which one who waits gives up."""
    weights = [1.0]
    while len(weights) < 10 * servers + 2000:
        n = len(weights)
        weights.append(weights[-1] * arrival / (min(n, servers) * service + max(n - servers, 0) * impatience))
    total = math.fsum(weights)
    waiting = math.fsum((n - servers) * w for n, w in enumerate(weights) if n > servers) / total
    return Impatience(math.fsum(weights[servers:]) / total, impatience * waiting / arrival)


def retry_success(failure: float, retries: int) -> tuple[float, float]:
    """Success and load of a call whose attempts fail independently: 1 - f**(n+1), and the attempts made."""
    none_left = failure ** (retries + 1)
    return 1.0 - none_left, (1.0 - none_left) / (1.0 - failure)


def critical_duration(rho: float, timeout: float, factor: float) -> float:
    """How long capacity must be cut to `factor` until a retry storm sustains itself (many retries).

    For a FIFO queue without cancellation, retries at once after the timeout, in a fluid: after
    the trigger the queue must fall below capacity x timeout before the repeated requests outgrow it.
    """
    if rho >= 0.525:
        return (timeout * (1.0 - rho) ** 2 / (2.0 * rho) + timeout) / (1.0 - factor)
    begin = factor * timeout / (rho - factor)
    return begin + (timeout * (1.0 - rho / 2.0) ** 2 / (2.0 * rho) + timeout) / (1.0 - factor)


def cold_cache(weights: list[float], rate: float, cap: float, seconds: float, step: float = 0.02) -> float:
    """Hit rate of a cache that was emptied `seconds` ago, in the mean, while it has room for all it is given.

    Item k of popularity p_k is in with probability x_k; misses beyond `cap` a second bring nothing:
    dx_k/dt = rate p_k (1 - x_k) min(1, cap / misses).
    """
    inside = [0.0] * len(weights)
    for _ in range(round(seconds / step)):
        misses = rate * math.fsum(p * (1.0 - x) for p, x in zip(weights, inside, strict=True))
        share = min(1.0, cap / misses)
        inside = [x + (1.0 - x) * -math.expm1(-rate * p * share * step) for p, x in zip(weights, inside, strict=True)]
    return math.fsum(p * x for p, x in zip(weights, inside, strict=True))


def pool_shares(asked: Mapping[int, float], times: tuple[float, ...], each: int, reuse: str) -> list[float]:
    """Share of the queries of one pool that go over each way, by the balance equations of its Markov chain.

    Args:
        asked: how many queries are sent at once -> how often, Poisson; those that find no free connection are not made.
        times: mean of the exponential time that a query takes over each way; `each` connections lead over each.
        reuse: `mru` takes the connections given back last, `lru` those free for the longest.
    """
    full = tuple(way for way in range(len(times)) for _ in range(each))
    place = {full: 0}
    states = [full]
    moves: list[tuple[int, int, float, tuple[int, ...]]] = []
    for state in states:  # grows on the way
        for after, rate, taken in _pool_moves(state, asked, times, each, reuse):
            if after not in place:
                place[after] = len(states)
                states.append(after)
            moves.append((place[state], place[after], rate, taken))
    balance = np.zeros((len(states), len(states)))
    for source, target, rate, _ in moves:
        balance[target, source] += rate
        balance[source, source] -= rate
    balance[-1] = 1.0
    chances = np.linalg.solve(balance, np.eye(len(states))[-1])
    flows = [
        math.fsum(chances[at] * rate * taken.count(way) for at, _, rate, taken in moves) for way in range(len(times))
    ]
    return [flow / math.fsum(flows) for flow in flows]


def _pool_moves(
    state: tuple[int, ...], asked: Mapping[int, float], times: tuple[float, ...], each: int, reuse: str
) -> Iterator[tuple[tuple[int, ...], float, tuple[int, ...]]]:
    """Where a pool goes from its free connections (ways, given back last at the end), how fast, and what was taken."""
    for width, rate in asked.items():
        count = min(width, len(state))
        if count and reuse == "mru":
            yield state[: len(state) - count], rate, state[len(state) - count :]
        elif count:
            yield state[count:], rate, state[:count]
    for way, mean in enumerate(times):
        busy = each - state.count(way)
        if busy:
            yield (*state, way), busy / mean, ()
