"""Histograms of durations of which counts and laws are known, not each one: what came is spread over the buckets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import SECOND, FlatDict, Shared, arithmetic
from simcluster.models.traffic.cluster.distribution import Durations
from simcluster.models.traffic.cluster.spanmetrics import below_bounds
from simcluster.models.traffic.cluster.statistics import Latencies
from simcluster.telemetry.metrics.block import Sheet
from simcluster.telemetry.metrics.columns import Columns, Labels, histogram
from simcluster.telemetry.metrics.sheets import Layouts


class Scale(Shared):
    """The form of one histogram.

    Args:
        bounds_s: upper ends of its buckets.
    """

    def __init__(self, name: str, text: str, bounds_s: tuple[float, ...]) -> None:
        self.name, self.text, self.bounds_s = name, text, bounds_s
        self.form = Columns((histogram(name, text, tuple(f"{bound:g}" for bound in bounds_s)),))
        self.bounds_ns = np.array([bound * SECOND for bound in bounds_s])
        self.log_bounds = np.array([arithmetic.log(bound * SECOND) for bound in bounds_s])

    def __reduce__(self) -> tuple[type[Scale], tuple[str, str, tuple[float, ...]]]:
        return (Scale, (self.name, self.text, self.bounds_s))

    def measured(self, took: Durations) -> NDArray[np.float64]:
        """What one of these durations adds to every column."""
        below = np.interp(self.bounds_ns, took.values, took.shares, left=0.0, right=1.0)
        values = np.concatenate((took.values[:1], took.values, took.values[-1:]))
        widths = np.diff(np.concatenate(([0.0], took.shares, [1.0])))
        mean_ns = float(np.add.reduce(widths * 0.5 * (values[1:] + values[:-1])))
        return np.array([*below.tolist(), 1.0, mean_ns / SECOND, 1.0])

    def part(self, mean_ns: float, variance: float) -> NDArray[np.float64]:
        """What one duration of a law adds to every column."""
        return parts([(self, mean_ns, variance)])[0]


def parts(laws: Sequence[tuple[Scale, float, float]]) -> list[NDArray[np.float64]]:
    """What one duration of each law (mean in nanoseconds, variance) adds to every column of its scale."""
    found = dict[int, NDArray[np.float64]]()
    for scale in dict.fromkeys(scale for scale, _, _ in laws):
        places = [place for place, law in enumerate(laws) if law[0] is scale]
        latencies = Latencies([laws[place][1] for place in places], [laws[place][2] for place in places])
        below = below_bounds(latencies, scale.log_bounds).tolist()
        for place, row in zip(places, below, strict=True):
            found[place] = np.array([*row, 1.0, laws[place][1] / SECOND, 1.0])
    return [found[place] for place in range(len(laws))]


class Spread:
    """Histograms of one form, by their labels."""

    def __init__(self, scale: Scale) -> None:
        self.scale = scale
        self._places: dict[Labels, int] = FlatDict()
        self._sums = np.zeros((0, len(scale.form)))
        self._layouts = Layouts()

    def add(self, own: Labels, count: int, part: NDArray[np.float64]) -> None:
        """So many durations of a law."""
        place = self._places.get(own)
        if place is None:
            place = self._places[own] = len(self._places)
            self._sums = np.concatenate((self._sums, np.zeros((1, len(self.scale.form)))))
        self._sums[place] += part * count

    def sheets(self) -> dict[Columns, Sheet]:
        """All of them, counts whole: a sheet, if there are any."""
        if not self._places:
            return {}
        shown = np.floor(self._sums)
        shown[:, -2], shown[:, -3] = self._sums[:, -2], shown[:, -1]
        return {self.scale.form: self._layouts.table(self.scale.form, list(self._places), shown)}
