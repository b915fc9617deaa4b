"""Rates that change now and then, and what they add up to over a window: state only where something changes."""

from __future__ import annotations

from simcluster.engine import SECOND, Flat


class RateHistory(Flat):
    """A piecewise constant rate a second, as far back as a window reaches.

    Example: what was closed in the last 120 s, when connections close at a known rate.
    """

    __slots__ = ("_steps", "window_ns")

    def __init__(self, window_ns: int) -> None:
        self.window_ns = window_ns
        self._steps: list[tuple[int, float]] = []

    def copy(self) -> RateHistory:
        """Another one with the same past."""
        other = RateHistory(self.window_ns)
        other._steps = self._steps.copy()
        return other

    @property
    def current(self) -> float:
        """The rate now."""
        return self._steps[-1][1] if self._steps else 0.0

    def set(self, now_ns: int, rate: float) -> None:
        """From now on it is `rate` a second."""
        if rate == self.current:
            return
        if self._steps and self._steps[-1][0] == now_ns:
            self._steps.pop()
        self._steps.append((now_ns, rate))
        oldest = now_ns - self.window_ns
        while len(self._steps) > 1 and self._steps[1][0] <= oldest:
            self._steps.pop(0)

    def total(self, now_ns: int) -> float:
        """What came in the last window."""
        found, end, start = 0.0, now_ns, now_ns - self.window_ns
        for since, rate in reversed(self._steps):
            if end <= start:
                break
            begin = max(since, start)
            if begin < end:
                found += rate * (end - begin) / SECOND
                end = begin
        return found

    def rate_at(self, t_ns: int) -> float:
        """The rate at an earlier instant inside the window."""
        for since, rate in reversed(self._steps):
            if since <= t_ns:
                return rate
        return 0.0


class Counters:
    """Counters that grow at rates: `/proc/net/netstat` and others, by name."""

    __slots__ = ("_rates", "_since_ns", "_totals")

    def __init__(self) -> None:
        self._totals: dict[str, float] = {}
        self._rates: dict[str, float] = {}
        self._since_ns = 0

    def add(self, name: str, amount: float) -> None:
        """So many at once."""
        self._totals[name] = self._totals.get(name, 0.0) + amount

    def set_rate(self, now_ns: int, name: str, rate: float) -> None:
        """From now on so many a second."""
        if rate == self._rates.get(name, 0.0):
            return
        for known, before in self._rates.items():
            self._totals[known] = self._totals.get(known, 0.0) + before * (now_ns - self._since_ns) / SECOND
        self._since_ns = now_ns
        if rate:
            self._rates[name] = rate
        else:
            self._rates.pop(name, None)

    def read(self, now_ns: int, name: str) -> int:
        """Its value now."""
        grown = self._rates.get(name, 0.0) * (now_ns - self._since_ns) / SECOND
        return int(self._totals.get(name, 0.0) + grown)

    def total(self, now_ns: int, name: str) -> int:
        """A counter and all parts of it (`name/owner`), together."""
        names = {
            known: None for known in (*self._totals, *self._rates) if known == name or known.startswith(f"{name}/")
        }
        return sum(self.read(now_ns, known) for known in names)  # integers
