"""What a run of a lesson leaves: named series over time, and what is known of it beforehand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from simcluster.engine.content import UnknownName


@dataclass(frozen=True)
class Story:
    """One run.

    Attributes:
        title: what is different in it.
        window_s: length of a step of the series, seconds.
        series: rates a second and levels, by `who.what`.
        marks: (second, words) of what happened.
        known: what the description says, such as `capacity api`.
        began_s: instant of the first step, on the run's own clock.
    """

    title: str
    window_s: float
    series: Mapping[str, list[float]]
    marks: tuple[tuple[float, str], ...] = ()
    known: Mapping[str, float] = field(default_factory=dict)
    began_s: float = 0.0

    def values(self, name: str) -> list[float]:
        """A series. Raises UnknownName."""
        if name not in self.series:
            raise UnknownName("series", name, sorted(self.series))
        return list(self.series[name])

    def mean(self, name: str, since_s: float | None, until_s: float | None) -> float:
        """Mean of a series between two instants; 0 if nothing lies between them."""
        chosen = []
        for index, value in enumerate(self.values(name)):
            at = self.began_s + index * self.window_s
            if (since_s is None or at >= since_s - 1e-9) and (until_s is None or at + self.window_s <= until_s + 1e-9):
                chosen.append(value)
        return math.fsum(chosen) / len(chosen) if chosen else 0.0

    def fact(self, what: str) -> float:
        """What is known beforehand. Raises UnknownName."""
        if what not in self.known:
            raise UnknownName("fact", what, sorted(self.known))
        return self.known[what]

    def points(self, name: str) -> list[tuple[float, float]]:
        """(second, value) of a series."""
        return [(self.began_s + index * self.window_s, value) for index, value in enumerate(self.values(name))]
