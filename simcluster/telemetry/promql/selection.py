"""From samples to what functions see: the latest sample at every step, or a window of samples at every step.

All series of a selector lie in one flat array; a key that grows with the series and with time finds every window of
every series in one search.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

import numpy as np

from simcluster.telemetry.promql.context import Bools, Context, Floats, Ints, NativeRow, Vector
from simcluster.telemetry.promql.native import Native
from simcluster.telemetry.promql.storage import STALE_NAN_BITS, Labels, NativeSeries, SeriesData, Tables
from simcluster.telemetry.promql.syntax import At, MatrixSelector, Selector, Subquery


@dataclass
class Windows:
    """Samples of a range vector at every step: those of `flat[lo:hi]`.

    Attributes:
        times, values: of all series, one after the other.
        lo, hi: a row a series, a column a step.
        ends: milliseconds where the windows of the steps end; they begin `range_ms` before.
        natives: of rows that have them, native histograms with their times.
    """

    labels: list[Labels]
    dropped: list[bool]
    times: Ints
    values: Floats
    lo: Ints
    hi: Ints
    ends: Ints
    range_ms: int
    natives: dict[int, tuple[tuple[int, Native], ...]] = field(default_factory=dict)


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
    newest = getattr(ctx.store, "newest", None)
    if newest is not None and ctx.steps == 1 and not ctx.options.closed:
        tables: Tables | None = newest(selector.matchers, int(ends[0]), lookback)
        if tables is not None:
            return _newest(ctx, tables)
    found = ctx.store.select(selector.matchers, first, int(ends.max()))
    ctx.spent.hold(len(found), ctx.steps)
    if not found:
        return Vector.empty(ctx.steps), np.zeros((0, ctx.steps), dtype=np.int64)
    times, values, starts = _flat(ctx, found)
    if not len(times):  # native histograms only
        times, values = np.zeros(1, dtype=np.int64), np.zeros(1)
    index = _search(times, starts, ends, "right") - 1
    known = index >= starts[:-1, None]
    index = np.maximum(index, 0)
    at = times[index]
    oldest = ends - lookback
    known &= (at >= oldest) if ctx.options.closed else (at > oldest)
    picked = values[index]
    known &= ~is_stale(values)[index]
    ctx.spent.read(int(np.count_nonzero(known)))
    vector = Vector.of([one.labels for one in found], picked, known)
    if any(one.natives for one in found):
        _newest_natives(found, vector, at, ends, oldest if ctx.options.closed else oldest + 1)
    return vector, at


def _newest(ctx: Context, found: Tables) -> tuple[Vector, Ints]:
    """The last sample of every row, but of series that have ended."""
    count = len(found.labels)
    ctx.spent.hold(count, 1)
    ctx.spent.select(count)
    if not count:
        return Vector.empty(1), np.zeros((0, 1), dtype=np.int64)
    values = np.concatenate([values[:, -1] for _, values in found.parts])[found.order]
    at = np.repeat([times[-1] for times, _ in found.parts], [len(values) for _, values in found.parts])[found.order]
    vector = Vector.of(found.labels, values[:, None], np.ones((count, 1), dtype=bool))
    ended = is_stale(values)
    if bool(ended.any()):
        kept = np.flatnonzero(~ended)
        vector, at = vector.rows(kept.tolist()), at[kept]
    ctx.spent.read(len(vector.labels))
    return vector, at[:, None]


def _newest_natives(found: list[SeriesData], vector: Vector, at: Ints, ends: Ints, oldest: Ints) -> None:
    """Put native histograms where they are newer than the number."""
    for row, one in enumerate(found):
        samples = {}
        times = [ms for ms, _ in one.natives]
        for step, (end, first) in enumerate(zip(ends.tolist(), oldest.tolist(), strict=True)):
            place = bisect_right(times, end) - 1
            if place < 0 or times[place] < first:
                continue
            numbers = one.times[(one.times > times[place]) & (one.times <= end)]
            if not len(numbers):
                samples[step] = one.natives[place][1]
                vector.present[row, step] = False
                at[row, step] = times[place]
        if samples:
            vector.natives.append(NativeRow(one.labels, False, samples))


def _values(found: list[SeriesData]) -> Floats:
    return np.ascontiguousarray(np.concatenate([one.values for one in found]), dtype=np.float64)


def _flat(ctx: Context, found: list[SeriesData]) -> tuple[Ints, Floats, Ints]:
    lengths = [len(one.times) for one in found]
    ctx.spent.select(sum(lengths))  # integers
    starts = np.zeros(len(found) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    times = np.concatenate([one.times for one in found]).astype(np.int64, copy=False)
    return times, _values(found), starts


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
    ask = getattr(ctx.store, "tables", None)
    tables: Tables | None = None if ask is None else ask(inner.matchers, first, int(ends.max()))
    if tables is not None and tables.labels and not tables.ended:
        return _of_tables(ctx, tables, ends, selector.range_ms)
    none = tables is not None and not tables.labels
    found = [] if none else ctx.store.select(inner.matchers, first, int(ends.max()))
    ctx.spent.hold(len(found), ctx.steps)
    labels = [one.labels for one in found]
    if found and not any(one.natives for one in found) and not is_stale(_values(found)).any():
        return _windows(ctx, labels, found, ends, selector.range_ms)
    fresh: list[SeriesData] = []
    for one in found:
        stale = is_stale(np.ascontiguousarray(one.values))
        if bool(stale.any()):
            one = NativeSeries(SeriesData(one.labels, one.times[~stale], one.values[~stale]), one.natives)
        if len(one.times) or one.natives:
            fresh.append(one)
    return _windows(ctx, [one.labels for one in fresh], fresh, ends, selector.range_ms)


def _of_tables(ctx: Context, found: Tables, ends: Ints, range_ms: int) -> Windows:
    """Windows of series that were sampled together: found once for each table."""
    ctx.spent.hold(len(found.labels), ctx.steps)
    ctx.spent.select(sum(values.size for _, values in found.parts))  # integers
    lows, highs, begin = [], [], 0
    for times, values in found.parts:
        rows, width = values.shape
        base = begin + np.arange(rows, dtype=np.int64)[:, None] * width
        lows.append(base + np.searchsorted(times, ends - range_ms, side="left" if ctx.options.closed else "right"))
        highs.append(base + np.searchsorted(times, ends, side="right"))
        begin += rows * width
    times = np.concatenate([np.broadcast_to(times, values.shape).ravel() for times, values in found.parts])
    values = np.concatenate([values.ravel() for _, values in found.parts])
    lo, hi = np.concatenate(lows)[found.order], np.concatenate(highs)[found.order]
    ctx.spent.read(int((hi - lo).sum()))
    return Windows(found.labels, [False] * len(found.labels), times, values, lo, hi, ends, range_ms)


def _windows(ctx: Context, labels: list[Labels], found: list[SeriesData], ends: Ints, range_ms: int) -> Windows:
    if not found:
        none = np.zeros((0, ctx.steps), dtype=np.int64)
        return Windows([], [], np.zeros(0, dtype=np.int64), np.zeros(0), none, none, ends, range_ms)
    times, values, starts = _flat(ctx, found)
    lo = _search(times, starts, ends - range_ms, "left" if ctx.options.closed else "right")
    hi = _search(times, starts, ends, "right")
    ctx.spent.read(int((hi - lo).sum()))
    natives = {row: one.natives for row, one in enumerate(found) if one.natives}
    return Windows(labels, [False] * len(labels), times, values, lo, hi, ends, range_ms, natives)


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
    natives = {(row.labels, row.dropped): row.samples for row in inner.natives}
    found: list[SeriesData] = []
    dropped: list[bool] = []
    for labels, values, present, drops in zip(inner.labels, inner.values, inner.present, inner.dropped, strict=True):
        samples = natives.pop((labels, drops), {})
        of_row = tuple((int(grid[step]), one) for step, one in sorted(samples.items()))
        found.append(NativeSeries(SeriesData(labels, grid[present], values[present]), of_row))
        dropped.append(drops)
    for (labels, drops), samples in natives.items():
        of_row = tuple((int(grid[step]), one) for step, one in sorted(samples.items()))
        found.append(NativeSeries(SeriesData(labels, grid[:0], np.zeros(0)), of_row))
        dropped.append(drops)
    result = _windows(ctx, [one.labels for one in found], found, ends, range_ms)
    result.dropped = dropped
    return result
