"""`/federate`: the newest samples of selected series, as another Prometheus scrapes them (web/federate.go)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simcluster.telemetry import exposition
from simcluster.telemetry.promql.storage import STALE_NAN_BITS, Labels, Matcher, Queryable

CONTENT_TYPE = f"{exposition.CONTENT_TYPE}; escaping=underscores"


def text(store: Queryable, selections: Sequence[Sequence[Matcher]], now_ms: int, lookback_ms: int) -> str:
    """Series sorted by name and labels, none that has ended; `instance` is there, if only empty."""
    newest: dict[Labels, tuple[int, float]] = {}
    for matchers in selections:
        for one in store.select(matchers, now_ms - lookback_ms + 1, now_ms):
            values = np.ascontiguousarray(one.values)
            if len(values) and int(values.view(np.uint64)[-1]) != STALE_NAN_BITS:
                newest[one.labels] = (int(one.times[-1]), float(values[-1]))
    lines, last = list[str](), ""
    for name, labels, (ms, value) in sorted((dict(each)["__name__"], each, found) for each, found in newest.items()):
        if name != last:
            lines.append(f"# TYPE {name} untyped\n")
            last = name
        shown = {"instance": "", **dict(labels)}
        del shown["__name__"]
        lines.append(exposition.sample(name, sorted(shown.items()), value, ms))
    return "".join(lines)
