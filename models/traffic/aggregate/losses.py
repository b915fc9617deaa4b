"""How often short queues are full: shares refused by those that forget within a few ticks (M/M/c/K).

Of a queue with few places a tick sees many fillings and emptyings: what it refuses follows from the stationary law of
its number at the arrivals of now, not from how long it is when the tick begins. Of who finds all servers busy, n + 1
are inside as often as n times the ratio rho^(2/(1 + scv)) (exact for exponential services); without places to wait the
law of the services does not matter (Erlang B). It forgets in the integral of the correlation of its number with itself,
the sum of F(n)^2/(rho p(n)) over the variance, with F(n) the sum of p(i) (i - mean) up to n.

Queues that remember for longer are followed from tick to tick (`queues`).

Sources: Kleinrock, Queueing Systems I, 3.5 and 3.6; for the correlation Keilson, Markov Chain Models, 1979 (birth and
death: Poisson's equation).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import Shared, arithmetic

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: Loads rho at which shares are tabulated: equal steps of rho/(1 + rho).
POINTS = 769
#: Requests inside up to which a law is worked out.
_MOST_INSIDE = 1000
#: Ticks in which a queue has forgotten how long it was.
FORGOTTEN = 4.0
#: Chances that were scaled down so often are zero.
_NOTHING_LEFT = 4
#: Requests over which arrivals are averaged, and standard deviations beyond which they have changed.
COUNTED, CHANGED = 400.0, 5.0


class _Law(Shared):
    """Shares refused and times of memory (in mean services of all servers together) over the loads of the table."""

    def __init__(self, servers: int, places: int, scv: float) -> None:
        at = np.arange(POINTS) / (POINTS - 1.0)
        rho = at / np.maximum(1.0 - at, 0.5 / POINTS)
        rho[0] = 1e-9
        ratio = rho if scv == 1.0 else arithmetic.exp_array(arithmetic.log_array(rho) * (2.0 / (1.0 + scv)))
        chances = np.ones((servers + places + 1, POINTS))
        grown = np.zeros(POINTS, dtype=np.int64)  # how often all so far were scaled down
        since = np.zeros(chances.shape, dtype=np.int64)
        for number in range(servers + places):
            more = chances[number] * (servers * rho / (number + 1) if number < servers else ratio)
            great = more > 1e200
            grown += great
            chances[number + 1] = np.where(great, more * 1e-200, more)
            since[number + 1] = grown
        for _ in range(min(int(grown.max()), _NOTHING_LEFT)):
            chances = np.where(since < grown, chances * 1e-200, chances)
            since += 1
        chances = chances / np.cumsum(chances, axis=0)[-1]
        self.refused = chances[-1]
        count = np.arange(len(chances), dtype=np.float64)[:, None]
        above = count - np.cumsum(chances * count, axis=0)[-1]
        flows = np.cumsum(chances * above, axis=0)[:-1]
        spread = np.cumsum(chances * above * above, axis=0)[-1]
        memory = np.cumsum(flows * flows / np.maximum(chances[:-1] * rho, 1e-300), axis=0)[-1]
        self.memory = memory / np.maximum(spread, 1e-300)


class Losses:
    """Short queues of all pods.

    Args:
        servers, room, scv: of every pod: servers, most requests that wait or infinity, squared variation of service.

    Attributes:
        law: of every pod its row in the tables; -1: it has none, or none was needed so far.
        usual: what comes in a tick lately; `known` for how many ticks.
    """

    def __init__(self, servers: Array, room: Array, scv: Array) -> None:
        pods = len(servers)
        inside = servers + room
        self.law = np.full(pods, -1, dtype=np.int64)
        self.inside = np.where(inside <= _MOST_INSIDE, inside, 1e18)
        self._keys = np.vstack((servers, room, scv))
        self._rows: dict[tuple[int, int, float], int] = {}
        self.refused, self.memory = np.zeros((1, POINTS)), np.zeros((1, POINTS))
        self.usual, self.known = np.zeros(pods), np.zeros(pods)

    def prepare(self, rate: Array) -> None:
        """Work out the laws of the queues that forget within a few ticks, served at these rates."""
        soon = (self.inside <= FORGOTTEN * rate) & (self.law < 0)
        if not bool(soon.any()):
            return
        found: list[_Law] = []
        for pod in np.nonzero(soon)[0].tolist():
            servers, room, scv = self._keys[:, pod].tolist()
            key = int(servers), int(room), scv
            if key not in self._rows:
                self._rows[key] = len(self._rows)
                found.append(_Law(*key))
            self.law[pod] = self._rows[key]
        before = len(self._rows) - len(found)
        self.refused = np.vstack((*self.refused[:before], *(law.refused for law in found)))
        self.memory = np.vstack((*self.memory[:before], *(law.memory for law in found)))

    def shares(self, pods: slice, arrived: Array, rate: Array) -> Array:
        """Which share of the arrivals of now is refused; -1 of pods that are followed from tick to tick.

        Args:
            arrived: in this tick; rate: served in a tick while all servers are busy.
        """
        usual, known = self.usual[pods], self.known[pods]
        off = arrived - usual
        changed = off * off > CHANGED * CHANGED * (np.maximum(usual, arrived) + 1.0)
        known = np.where(changed, 1.0, known + 1.0)
        usual = usual + off / np.minimum(np.maximum(COUNTED / np.maximum(usual, 1e-3), 1.0), known)
        self.usual[pods], self.known[pods] = usual, known
        law = np.maximum(self.law[pods], 0)
        rho = usual / np.maximum(rate, 1e-12)
        at = rho / (1.0 + rho) * (POINTS - 1.0)
        low = np.minimum(at.astype(np.int64), POINTS - 2)
        part = at - low
        memory = self.memory[law, low]
        memory = memory + part * (self.memory[law, low + 1] - memory)
        share = self.refused[law, low]
        share = share + part * (self.refused[law, low + 1] - share)
        settled = np.maximum(memory, self.inside[pods]) <= FORGOTTEN * rate
        result: Array = np.where(settled & (self.law[pods] >= 0), share, -1.0)
        return result
