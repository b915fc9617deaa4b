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

    def total(self, now_ns: int, window_ns: int = 0) -> float:
        """What came in the last window, or in a shorter one."""
        found, end, start = 0.0, now_ns, now_ns - (window_ns or self.window_ns)
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
    """What happened since boot, by name: counts, and integrals of rates that hold between changes.

    Integers of nano-counts and nanoseconds, so that a counter never runs backwards, whoever reads it and when.
    """

    __slots__ = ("_grown", "_rates")

    def __init__(self) -> None:
        self._grown: dict[str, int] = {}  # nano-counts until the rate last changed
        self._rates: dict[str, tuple[int, int]] = {}  # nano-counts a second, since when

    def add(self, name: str, count: int) -> None:
        """So many at once."""
        self._grown[name] = self._grown.get(name, 0) + count * SECOND

    def set_rate(self, now_ns: int, name: str, rate: float) -> None:
        """From now on so many a second; what came at the rate before stays."""
        nano = int(rate * SECOND + 0.5)
        before = self._rates.get(name)
        if nano == (0 if before is None else before[0]):
            return
        if before is not None:
            self._grown[name] = self._nano(now_ns, name)
        if nano:
            self._rates[name] = (nano, now_ns)
        else:
            del self._rates[name]

    def end(self, now_ns: int, name: str, owner: str) -> None:
        """An owner is gone: his part (`name/owner`) belongs to nobody any more, but it happened."""
        part = f"{name}/{owner}"
        grown = self._nano(now_ns, part)
        self._rates.pop(part, None)
        self._grown.pop(part, None)
        if grown:
            self._grown[name] = self._grown.get(name, 0) + grown

    def booted(self) -> None:
        """A new kernel begins with nothing."""
        self._grown.clear()
        self._rates.clear()

    def read(self, now_ns: int, name: str) -> int:
        """Its value now."""
        return self._nano(now_ns, name) // SECOND

    def total(self, now_ns: int, name: str) -> int:
        """A counter and all parts of it (`name/owner`), together."""
        return self._whole(now_ns, name) // SECOND

    def totals(self, now_ns: int) -> dict[str, int]:
        """All counters, each with all its parts."""
        found: dict[str, int] = {}
        for name in {**self._grown, **self._rates}:
            whole = name.partition("/")[0]
            found[whole] = found.get(whole, 0) + self._nano(now_ns, name)
        return {name: nano // SECOND for name, nano in found.items()}

    def exact(self, now_ns: int, name: str) -> float:
        """The same with its fraction."""
        return self._whole(now_ns, name) / SECOND

    def _whole(self, now_ns: int, name: str) -> int:
        names = dict.fromkeys([*self._grown, *self._rates])
        parts = [known for known in names if known == name or known.startswith(f"{name}/")]
        return sum(self._nano(now_ns, part) for part in parts)  # integers

    def _nano(self, now_ns: int, name: str) -> int:
        nano, since_ns = self._rates.get(name, (0, 0))
        return self._grown.get(name, 0) + nano * (now_ns - since_ns) // SECOND
