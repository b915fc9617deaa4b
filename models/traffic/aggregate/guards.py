"""Callers that refuse to call: circuit breakers and adaptive throttling.

All callers of an edge are taken together: they have seen the same share of failures. Only a breaker
without window, which each caller keeps about its own history, is open for part of them: for
those whose own share of failures is above the threshold, by the normal law around the common share.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from simcluster.engine.streams import Streams, poisson_from_uniform, uniform_at
from simcluster.models.traffic.aggregate.layout import Layout
from simcluster.models.traffic.graph.policy import Breaker, Throttle

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: A window is forgotten in so many parts.
_PARTS = 40


class _Window:
    """Two counts over a sliding window."""

    def __init__(self, ticks: float) -> None:
        self._part = max(1, int(ticks / _PARTS)) if ticks else 0
        self._counts = np.zeros((_PARTS, 2))
        self._now = 0
        self.first, self.second = 0.0, 0.0

    def add(self, tick: int, first: float, second: float) -> None:
        """Count at a tick."""
        if self._part:
            part = tick // self._part
            for passed in range(self._now + 1, min(part, self._now + _PARTS) + 1):
                row = self._counts[passed % _PARTS]
                self.first -= float(row[0])
                self.second -= float(row[1])
                row[:] = 0.0
            self._now = part
            self._counts[part % _PARTS] += (first, second)
        self.first += first
        self.second += second

    def clear(self) -> None:
        """Begin again."""
        self._counts[:] = 0.0
        self.first = self.second = 0.0


class _Breaker:
    def __init__(self, rule: Breaker, callers: float, layout: Layout, edge: int) -> None:
        self.rule = rule
        self.callers = callers
        self._window = _Window(float(rule.window) / layout.tick_ns)
        self._open_for = max(1, int(rule.open_for / layout.tick_ns + 0.5))
        self._judged = int(layout.timeout_ticks[edge]) + 2
        self._state = "closed"
        self._until = 0
        self._passed = 0.0
        self._good = self._bad = 0.0

    def take_over(self, old: _Breaker) -> None:
        """Go on where the breaker of an older graph stood."""
        self._window, self._state, self._until = old._window, old._state, old._until
        self._passed, self._good, self._bad = old._passed, old._good, old._bad

    def share_refused(self, tick: int, attempts: float) -> float:
        """Share of the attempts of this tick that are refused; without window: of first attempts."""
        if not self.rule.window:
            return self.own_share(0.0)
        if self._state == "open" and tick >= self._until:
            self._state, self._passed, self._until = "half", 0.0, 0
        if self._state == "closed":
            return 0.0
        if self._state == "open" or attempts <= 0.0:
            return 1.0
        room = max(0.0, self.rule.probes * self.callers - self._passed)
        passed = min(room, attempts)
        self._passed += passed
        if self._until == 0 and passed > 0.0:
            self._until = tick + self._judged
            self._good = self._bad = 0.0
        return 1.0 - passed / attempts

    def own_share(self, just_failed: float) -> float:
        """Share of the callers whose own history has too many failures; of those who have just seen one more."""
        failed, total = self._window.first, self._window.second
        if total < self.rule.minimum * self.callers:
            return 0.0
        share, own = failed / total, max(total / self.callers, 1.0)
        deviation = math.sqrt(max(share * (1.0 - share), 1e-12) / own)
        return _above((self.rule.failure_ratio - share - just_failed * (1.0 - share) / own) / deviation)

    def saw(self, tick: int, good: float, bad: float) -> None:
        """Attempts that ended."""
        rule = self.rule
        if rule.window and self._state == "half":
            self._good += good if self._until else 0.0
            self._bad += bad if self._until else 0.0
            if self._until and (tick >= self._until or self._good + self._bad >= self._passed > 0.0):
                self._decide(tick)
            return
        self._window.add(tick, bad, good + bad)
        if not rule.window or self._state != "closed":
            return
        total = self._window.second
        if total >= rule.minimum * self.callers and self._window.first > rule.failure_ratio * total:
            self._state, self._until = "open", tick + self._open_for

    def _decide(self, tick: int) -> None:
        self._window.clear()
        if self._good > self._bad:
            self._state = "closed"
        else:
            self._state, self._until = "open", tick + self._open_for


def _above(z: float) -> float:
    """P(N(0,1) > z), a logistic approximation within 0.02."""
    x = min(max(1.702 * z, -30.0), 30.0)
    # 1/(1 + e^x) by repeated squaring of e^(x/1024), which a short series gives
    small = x / 1024.0
    power = 1.0 + small + small * small / 2.0 + small * small * small / 6.0
    for _ in range(10):
        power = power * power
    return 1.0 / (1.0 + power)


class _Throttle:
    def __init__(self, rule: Throttle, callers: float, layout: Layout) -> None:
        self.rule = rule
        self.callers = callers
        self.window = _Window(float(rule.window) / layout.tick_ns)

    def share_refused(self) -> float:
        """Share of attempts refused now."""
        asked, accepted = self.window.first, self.window.second
        return max(0.0, (asked - self.rule.k * accepted) / (asked + self.callers))


class Guards:
    """The guards of all edges."""

    def __init__(self, layout: Layout, callers: Array, seed: int) -> None:
        streams = Streams(seed)
        self._keys = [streams.key("traffic", "guard", edge.index) for edge in layout.graph.edges]
        self._breakers: list[tuple[int, _Breaker]] = []
        self._throttles: list[tuple[int, _Throttle]] = []
        for edge in layout.graph.edges:
            number = float(callers[edge.index])
            if edge.policy.breaker is not None:
                self._breakers.append((edge.index, _Breaker(edge.policy.breaker, number, layout, edge.index)))
            if edge.policy.throttle is not None:
                self._throttles.append((edge.index, _Throttle(edge.policy.throttle, number, layout)))
        self.first = np.zeros(layout.edges)
        self.later = np.zeros(layout.edges)

    def __bool__(self) -> bool:
        return bool(self._breakers or self._throttles)

    def take_over(self, old: Guards, there: Index, here: Index) -> None:
        """Go on with what edges (`here`) had seen in an older graph (`there`) under the same rules."""
        before = dict(zip(here.tolist(), there.tolist(), strict=True))
        throttles, breakers = dict(old._throttles), dict(old._breakers)
        for edge, throttle in self._throttles:
            known = throttles.get(before.get(edge, -1))
            if known is not None and known.rule == throttle.rule:
                throttle.window = known.window
        for edge, breaker in self._breakers:
            same = breakers.get(before.get(edge, -1))
            if same is not None and same.rule == breaker.rule:
                breaker.take_over(same)

    def quiet(self) -> bool:
        """Whether nothing is refused now."""
        return not bool(self.first.any()) and not bool(self.later.any())

    def decide(self, tick: int, attempts: Array) -> None:
        """Shares refused of first attempts and of retries in this tick; `attempts` as expected."""
        self.first[:] = 0.0
        self.later[:] = 0.0
        for edge, throttle in self._throttles:
            self.first[edge] = self.later[edge] = throttle.share_refused()
        for edge, breaker in self._breakers:
            refused = breaker.share_refused(tick, float(attempts[edge]))
            again = refused if breaker.rule.window else breaker.own_share(1.0)
            self.later[edge] = 1.0 - (1.0 - self.later[edge]) * (1.0 - again)
            if breaker.rule.guards == "calls":
                self.first[edge] = 1.0 - (1.0 - self.first[edge]) * (1.0 - refused)

    def refused(self, tick: int, edges: slice, amounts: Array, *, first: bool) -> Array:
        """How many of these attempts are refused in this tick: by a throttle each by chance, so that of a few that pass
        now and then none does for a while.

        Args:
            first: first attempts of these edges, or retries.
        """
        shares = self.first if first else self.later
        found = amounts * shares[edges]
        for edge, _ in self._throttles:
            if not edges.start <= edge < edges.stop:
                continue
            place = edge - edges.start
            share, count = float(shares[edge]), float(amounts[place])
            if 0.0 < share < 1.0 and count > 0.0:
                rare = min(share, 1.0 - share)
                u = uniform_at(self._keys[edge], 2 * tick + first)
                drawn = rare * count
                drawn += (poisson_from_uniform(drawn, u) - drawn) * math.sqrt(1.0 - rare)
                drawn = min(max(drawn, 0.0), count)
                found[place] = drawn if share <= 0.5 else count - drawn
        return found

    def saw(self, tick: int, wanted: Array, good: Array, bad: Array) -> None:
        """Attempts wanted (refused ones included), and attempts that ended well or badly."""
        for edge, throttle in self._throttles:
            throttle.window.add(tick, float(wanted[edge]), float(good[edge]))
        for edge, breaker in self._breakers:
            breaker.saw(tick, float(good[edge]), float(bad[edge]))
