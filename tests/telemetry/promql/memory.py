"""Series in memory, as PromQL reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from simcluster.telemetry.promql import regex
from simcluster.telemetry.promql.storage import Labels, Matcher, SeriesData


def matches(matcher: Matcher, labels: Mapping[str, str]) -> bool:
    value = labels.get(matcher.name, "")
    if matcher.op in ("=", "!="):
        return (value == matcher.value) == (matcher.op == "=")
    return (regex.compiled(matcher.value).match(value) is not None) == (matcher.op == "=~")


class Memory:
    """Samples by series, in the order in which series were added."""

    def __init__(self) -> None:
        self.samples: dict[Labels, dict[int, float]] = {}

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
            if len(times):
                found.append(SeriesData(labels, times, np.array([samples[t] for t in times.tolist()])))
        return found
