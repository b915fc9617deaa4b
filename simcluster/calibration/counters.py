"""Series of a recording as numbers: counters without their resets, on one grid, by who they are of."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simcluster.calibration.record.layout import RecordingError
from simcluster.calibration.record.series import read_series

#: Labels that name a service by themselves; who is told first of by `service` may be only who was scraped.
_NAMES = ("service_name", "destination_workload", "exported_service", "service", "app", "container", "job")
#: Scrapes further apart than this many usual distances are a gap: what happened in it, nobody counted.
_GAP = 3.0


@dataclass
class Line:
    """One series, in order of time; times in seconds.

    Attributes:
        resets: how often a counter began anew.
    """

    labels: dict[str, str]
    times_s: NDArray[np.float64]
    values: NDArray[np.float64]
    resets: int = 0

    def whole(self) -> Line:
        """A counter as if it had never begun anew: what it lost at each reset is added back."""
        steps = np.diff(self.values)
        fell = steps < 0
        grown = np.where(fell, self.values[1:], steps)
        values = np.concatenate([[0.0], np.cumsum(grown)])
        return Line(self.labels, self.times_s, values, int(fell.sum()))


@dataclass
class Kept:
    """The series of some names."""

    lines: dict[str, list[Line]] = field(default_factory=dict)

    def of(self, name: str, service: str) -> list[Line]:
        """The series of a metric that are a service's: its pods', or those that a label says are its."""
        pod = re.compile(rf"{re.escape(service)}(-[a-z0-9]{{6,10}}-[a-z0-9]{{5}}|-\d+)?")
        return [
            line
            for line in self.lines.get(name, ())
            if pod.fullmatch(line.labels.get("pod", "")) or service in (line.labels.get(key) for key in _NAMES)
        ]

    def services(self, name: str) -> set[str]:
        """Whom the labels of a metric's series name."""
        lines = self.lines.get(name, ())
        return {next((line.labels[key] for key in _NAMES if key in line.labels), "") for line in lines} - {""}


def kept_series(folders: Iterable[Path], names: Collection[str]) -> Kept:
    """The series of these names in recordings. Raises RecordingError for a file that is no table."""
    found: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for folder in folders:
        for path, samples in read_series(folder):
            for sample in samples:
                if sample.name in names and math.isfinite(sample.value):  # NaN is how Prometheus marks an end
                    _labels(path, sample.labels)
                    found[sample.name, sample.labels][sample.t_ms] = sample.value
    kept = Kept()
    for (name, labels), points in sorted(found.items()):
        ordered = sorted(points.items())
        times = np.array([t_ms / 1000 for t_ms, _ in ordered])
        values = np.array([value for _, value in ordered])
        if len(times) >= 2:
            kept.lines.setdefault(name, []).append(Line(json.loads(labels), times, values))
    return kept


@cache
def _labels(path: Path, text: str) -> dict[str, str]:
    try:
        found = json.loads(text)
    except ValueError as problem:
        raise RecordingError(f"{path}: labels {text[:60]!r}: {problem}") from None
    if not isinstance(found, dict):
        raise RecordingError(f"{path}: labels {text[:60]!r} are no map")
    return found


def grid_of(lines: Iterable[Line], scrapes: int = 2) -> NDArray[np.float64]:
    """Instants so many scrapes apart, while at least one of the series was there."""
    lines = list(lines)
    gaps = np.concatenate([np.diff(line.times_s) for line in lines])
    step = float(np.median(gaps)) * scrapes
    begin, end = min(line.times_s[0] for line in lines), max(line.times_s[-1] for line in lines)
    return np.arange(begin, end + step / 2, step)


def grown(lines: Iterable[Line], grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """By how much counters grew between neighbouring instants of a grid, all together."""
    total = np.zeros(len(grid) - 1)
    for line in lines:
        whole = line.whole()
        total += np.diff(np.interp(grid, whole.times_s, whole.values))
    return total


def watched(lines: Iterable[Line], grid: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which cells of a grid lie in no gap of a series: between two recordings nobody looked."""
    seen = np.ones(len(grid) - 1, dtype=bool)
    for line in lines:
        steps = np.diff(line.times_s)
        for index in np.flatnonzero(steps > _GAP * np.median(steps)):
            begin, end = line.times_s[index], line.times_s[index + 1]
            seen &= ~((grid[:-1] < end) & (grid[1:] > begin))
    return seen
