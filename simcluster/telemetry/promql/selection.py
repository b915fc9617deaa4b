"""From samples to what functions see: the latest sample at every step, or a window of samples at every step.

All series of a selector lie in one flat array; a key that grows with the series and with time finds every window of
every series in one search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcluster.telemetry.promql.context import Bools, Context, Floats, Ints, Vector
from simcluster.telemetry.promql.storage import STALE_NAN_BITS, Labels, SeriesData
from simcluster.telemetry.promql.syntax import At, MatrixSelector, Selector, Subquery


@dataclass
class Windows:
    """Samples of a range vector at every step: those of `flat[lo:hi]`.

    Attributes:
        times, values: of all series, one after the other.
        lo, hi: a row a series, a column a step.
        ends: milliseconds where the windows of the steps end; they begin `range_ms` before.
    """

    labels: list[Labels]
    dropped: list[bool]
    times: Ints
    values: Floats
    lo: Ints
    hi: Ints
    ends: Ints
    range_ms: int


def reference(ctx: Context, at: At, offset_ms: int) -> Ints:
    """Where a selector looks from at every step."""
    if at is None:
        return ctx.times - offset_ms
    instant = {"start": ctx.start, "end": ctx.end}[at] if isinstance(at, str) else at
    return np.full(ctx.steps, instant - offset_ms, dtype=np.int64)


def is_stale(values: Floats) -> Bools:
    """Where a sample is the marker that ends a series."""
    stale: Bools = values.view(np.uint64) == np.uint64(STALE_NAN_BITS)
    return stale


def instant(ctx: Context, selector: Selector) -> tuple[Vector, Ints]:
    """The newest sample within the lookback at every step, and its time."""
    ends = reference(ctx, selector.at, selector.offset_ms)
    lookback = ctx.options.lookback_ms
    first = int(ends.min()) - lookback + (0 if ctx.options.closed else 1)
    found = ctx.store.select(selector.matchers, first, int(ends.max()))
    ctx.spent.hold(len(found), ctx.steps)
    if not found:
        return Vector.empty(ctx.steps), np.zeros((0, ctx.steps), dtype=np.int64)
    times, values, starts = _flat(ctx, found)
    index = _search(times, starts, ends, "right") - 1
    known = index >= starts[:-1, None]
    index = np.maximum(index, 0)
    at = times[index]
    oldest = ends - lookback
    known &= (at >= oldest) if ctx.options.closed else (at > oldest)
    picked = values[index]
    known &= ~is_stale(values)[index]
    ctx.spent.read(int(np.count_nonzero(known)))
    return Vector.of([one.labels for one in found], picked, known), at


def _flat(ctx: Context, found: list[SeriesData]) -> tuple[Ints, Floats, Ints]:
    lengths = [len(one.times) for one in found]
    ctx.spent.select(sum(lengths))  # integers
    starts = np.zeros(len(found) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    times = np.concatenate([one.times for one in found]).astype(np.int64, copy=False)
    return times, np.ascontiguousarray(np.concatenate([one.values for one in found]), dtype=np.float64), starts


def _search(times: Ints, starts: Ints, instants: Ints, side: str) -> Ints:
    """Of every series (rows) and instant (columns), where the instant would stand among the series' samples."""
    if not len(times):
        return np.zeros((len(starts) - 1, len(instants)), dtype=np.int64)
    low, high = int(times.min()), int(times.max())
    stride = high - low + 3
    owner = np.repeat(np.arange(len(starts) - 1, dtype=np.int64), np.diff(starts))
    keys = owner * stride + (times - low) + 1
    wanted = np.clip(instants - low + 1, 0, stride - 1)
    queries = np.arange(len(starts) - 1, dtype=np.int64)[:, None] * stride + wanted[None, :]
    found: Ints = np.searchsorted(keys, queries.ravel(), side="left" if side == "left" else "right")
    return found.reshape(queries.shape).astype(np.int64, copy=False)


def windows(ctx: Context, selector: MatrixSelector) -> Windows:
    """Samples of a range vector selector, markers of staleness left out."""
    inner = selector.selector
    ends = reference(ctx, inner.at, inner.offset_ms)
    first = int(ends.min()) - selector.range_ms + (0 if ctx.options.closed else 1)
    found = ctx.store.select(inner.matchers, first, int(ends.max()))
    ctx.spent.hold(len(found), ctx.steps)
    fresh = []
    for one in found:
        stale = is_stale(np.ascontiguousarray(one.values))
        if bool(stale.any()):
            one = SeriesData(one.labels, one.times[~stale], one.values[~stale])
        if len(one.times):
            fresh.append(one)
    return _windows(ctx, [one.labels for one in fresh], fresh, ends, selector.range_ms)


def _windows(ctx: Context, labels: list[Labels], found: list[SeriesData], ends: Ints, range_ms: int) -> Windows:
    if not found:
        none = np.zeros((0, ctx.steps), dtype=np.int64)
        return Windows([], [], np.zeros(0, dtype=np.int64), np.zeros(0), none, none, ends, range_ms)
    times, values, starts = _flat(ctx, found)
    lo = _search(times, starts, ends - range_ms, "left" if ctx.options.closed else "right")
    hi = _search(times, starts, ends, "right")
    ctx.spent.read(int((hi - lo).sum()))
    return Windows(labels, [False] * len(labels), times, values, lo, hi, ends, range_ms)


def subquery_times(ctx: Context, node: Subquery) -> tuple[Ints, Ints, int]:
    """Where the windows of a subquery end, the instants at which its inside is evaluated, and their step.

    Steps of subqueries stand at multiples of the step since the epoch, whatever the query's own are.
    """
    ends = reference(ctx, node.at, node.offset_ms)
    step = node.step_ms or ctx.options.default_step_ms
    before = int(ends.min()) - node.range_ms
    first = before // step * step
    if first < before or (first == before and not ctx.options.closed):
        first += step
    ctx.spent.hold(1, max(0, (int(ends.max()) - first) // step))
    return ends, np.arange(first, int(ends.max()) + 1, step, dtype=np.int64), step


def subquery_windows(ctx: Context, inner: Vector, grid: Ints, ends: Ints, range_ms: int) -> Windows:
    """Samples that a subquery's inside gave, as a range vector."""
    inner = inner.filled()
    found = [
        SeriesData(labels, grid[present], values[present])
        for labels, values, present in zip(inner.labels, inner.values, inner.present, strict=True)
    ]
    result = _windows(ctx, inner.labels, found, ends, range_ms)
    result.dropped = inner.dropped
    return result
