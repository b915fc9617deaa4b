"""What `/api/v1/status/tsdb` counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from simcluster.telemetry.promql.parameters import EARLIEST_MS, LATEST_MS
from simcluster.telemetry.promql.storage import Queryable


def statistics(store: Queryable, limit: int) -> dict[str, Any]:
    """Series, label pairs and the span of samples, and the `limit` largest of each kind."""
    found = store.select((), EARLIEST_MS, LATEST_MS)
    names: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    values: dict[str, set[str]] = {}
    for one in found:
        for name, value in one.labels:
            pairs[f"{name}={value}"] += 1
            values.setdefault(name, set()).add(value)
            if name == "__name__":
                names[value] += 1
    sizes = {name: sum(len(value) for value in each) for name, each in values.items()}  # integers
    return {
        "headStats": {
            "numSeries": len(found),
            "numLabelPairs": len(pairs),
            "chunkCount": sum(-(-len(one.times) // 120) for one in found),  # integers
            "minTime": min((int(one.times[0]) for one in found), default=LATEST_MS),
            "maxTime": max((int(one.times[-1]) for one in found), default=EARLIEST_MS),
        },
        "seriesCountByMetricName": _largest(names, limit),
        "labelValueCountByLabelName": _largest({name: len(each) for name, each in values.items()}, limit),
        "memoryInBytesByLabelName": _largest(sizes, limit),
        "seriesCountByLabelValuePair": _largest(pairs, limit),
    }


def _largest(counts: Mapping[str, int], limit: int) -> list[dict[str, Any]]:
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return [{"name": name, "value": count} for name, count in ordered[:limit]]
