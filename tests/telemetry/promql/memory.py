"""Series in memory, as PromQL reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from simcluster.telemetry.promql import regex
from simcluster.telemetry.promql.native import Native
from simcluster.telemetry.promql.storage import Labels, LabelSets, Matcher, NativeSeries, SeriesData, Tables


def matches(matcher: Matcher, labels: Mapping[str, str]) -> bool:
    value = labels.get(matcher.name, "")
    if matcher.op in ("=", "!="):
        return (value == matcher.value) == (matcher.op == "=")
    return (regex.compiled(matcher.value).match(value) is not None) == (matcher.op == "=~")


class Memory:
    """Samples by series, in the order in which series were added."""

    def __init__(self) -> None:
        self.samples: dict[Labels, dict[int, float]] = {}
        self.natives: dict[Labels, dict[int, Native]] = {}

    def add(self, labels: Mapping[str, str], samples: Mapping[int, float]) -> None:
        """More samples of a series, by millisecond."""
        key = tuple(sorted((name, value) for name, value in labels.items() if value))
        self.samples.setdefault(key, {}).update(samples)

    def select(self, matchers: Sequence[Matcher], from_ms: int, to_ms: int) -> list[SeriesData]:
        found = []
        for labels, samples in sorted(self.samples.items()):
            if not all(matches(each, dict(labels)) for each in matchers):
                continue
            times = np.array(sorted(t for t in samples if from_ms <= t <= to_ms), dtype=np.int64)
            natives = sorted(
                ((t, one) for t, one in self.natives.get(labels, {}).items() if from_ms <= t <= to_ms),
                key=lambda each: each[0],
            )
            if len(times) or natives:
                values = np.array([samples[t] for t in times.tolist()], dtype=np.float64)
                found.append(NativeSeries(SeriesData(labels, times, values), tuple(natives)))
        return found


class Tabled(Memory):
    """The same as a store has it that hands out tables: labels are the same object whenever they are the same."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[tuple[Labels, ...], LabelSets] = {}

    def tables(self, matchers: Sequence[Matcher], from_ms: int, to_ms: int) -> Tables | None:
        return self._as_tables(self.select(matchers, from_ms, to_ms))

    def newest(self, matchers: Sequence[Matcher], at_ms: int, lookback_ms: int) -> Tables | None:
        return self._as_tables(self.select(matchers, at_ms - lookback_ms + 1, at_ms))

    def _as_tables(self, found: Sequence[SeriesData]) -> Tables | None:
        if any(one.natives for one in found):
            return None
        key = tuple(one.labels for one in found)
        labels = self._known.setdefault(key, LabelSets(key))
        parts = tuple((one.times, one.values[None, :]) for one in found)
        return Tables(labels, np.arange(len(found), dtype=np.int64), parts)
