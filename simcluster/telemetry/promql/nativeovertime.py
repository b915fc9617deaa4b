"""Functions of range vectors of native histograms, window by window."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from simcluster.telemetry.promql import nativerows
from simcluster.telemetry.promql.context import Bools, Context, Floats, NativeRow, get
from simcluster.telemetry.promql.native import MixedSchemas, Native
from simcluster.telemetry.promql.selection import Windows

Timed = Sequence[tuple[int, Native]]
#: Functions that count or pick samples whatever they are.
_ANY = ("count_over_time", "present_over_time", "last_over_time", "first_over_time", "changes", "resets")


def applied(ctx: Context, name: str, windows: Windows, result: tuple[Floats, Bools], start: int) -> list[NativeRow]:
    """What a function makes of the rows with histograms; numbers of those rows are mended in `result`."""
    values, present = result
    out = []
    for row, natives in windows.natives.items():
        times = [ms for ms, _ in natives]
        samples: dict[int, Native] = {}
        what = f'metric name "{get(windows.labels[row], "__name__")}"'
        for step, end in enumerate(windows.ends.tolist()):
            cut = bisect_left if ctx.options.closed else bisect_right
            inside = natives[cut(times, end - windows.range_ms) : bisect_right(times, end)]
            if not inside:
                continue
            numbers = int(windows.hi[row, step] - windows.lo[row, step])
            if name in _ANY:
                _any(name, windows, (row, step), inside, (values, present, samples))
            elif name not in _OF_NATIVES:
                if numbers:
                    ctx.inform(f"ignored histograms in a range containing both floats and histograms for {what}", start)
            elif numbers:
                present[row, step] = False
                nativerows.mixed(ctx, start, what)
            else:
                found = _OF_NATIVES[name](ctx, inside, (end, windows.range_ms), (start, what))
                if found is not None:
                    samples[step] = found
        if samples:
            out.append(NativeRow(windows.labels[row], windows.dropped[row], samples))
    return out


def _any(
    name: str,
    windows: Windows,
    place: tuple[int, int],
    inside: Timed,
    result: tuple[Floats, Bools, dict[int, Native]],
) -> None:
    values, present, samples = result
    row, step = place
    window = slice(int(windows.lo[row, step]), int(windows.hi[row, step]))
    both: list[tuple[int, float | Native]] = list(inside)
    both += list(zip(windows.times[window].tolist(), windows.values[window].tolist(), strict=True))
    both.sort(key=lambda each: each[0])
    if name in ("last_over_time", "first_over_time"):
        picked = both[-1 if name == "last_over_time" else 0][1]
        present[row, step] = not isinstance(picked, Native)
        if isinstance(picked, Native):
            samples[step] = picked
        else:
            values[row, step] = picked
        return
    present[row, step] = True
    pairs = list(pairwise(both))
    if name == "changes":
        values[row, step] = sum(_changed(a[1], b[1]) for a, b in pairs)  # integers
    elif name == "resets":
        values[row, step] = sum(_fell(a[1], b[1]) for a, b in pairs)  # integers
    else:
        values[row, step] = float(len(both)) if name == "count_over_time" else 1.0


def _changed(a: float | Native, b: float | Native) -> bool:
    if isinstance(a, Native) and isinstance(b, Native):
        return not a.same(b)
    if isinstance(a, Native) or isinstance(b, Native):
        return True
    return a != b and not (a != a and b != b)


def _fell(a: float | Native, b: float | Native) -> bool:
    if isinstance(a, Native) and isinstance(b, Native):
        return b.fell_from(a)
    if isinstance(a, Native) or isinstance(b, Native):
        return True
    return b < a


def _extrapolated(counter: bool, rate: bool) -> Callable[..., Native | None]:
    def function(ctx: Context, inside: Timed, window: tuple[int, int], note: tuple[int, str]) -> Native | None:
        if len(inside) < 2:
            return None
        grown = _grown(ctx, [one for _, one in inside], counter, note)
        return None if grown is None else grown.scaled(_factor(inside, grown, window, counter, rate))

    return function


def _grown(ctx: Context, found: list[Native], counter: bool, note: tuple[int, str]) -> Native | None:
    start, what = note
    quoted = what.removeprefix("metric name ")
    if counter and any(one.hint == "gauge" for one in found):
        ctx.warn(f"this native histogram metric is not a counter: {quoted}", start)
    if not counter and (found[0].hint != "gauge" or found[-1].hint != "gauge"):
        ctx.warn(f"this native histogram metric is not a gauge: {quoted}", start)
    try:
        if counter and found[1].fell_from(found[0]):
            found = [Native(found[1].schema, 0.0, bounds=found[1].bounds), *found[1:]]
        result = found[-1].plus(found[0], -1.0)
        for before, after in pairwise(found) if counter else ():
            if after.fell_from(before):
                result = result.plus(before)
    except MixedSchemas:
        ctx.warn("vector contains a mix of histograms with exponential and custom buckets schemas for " + what, start)
        return None
    return replace(result, hint="gauge")


def _factor(inside: Timed, grown: Native, window: tuple[int, int], counter: bool, rate: bool) -> float:
    end, range_ms = window
    sampled = (inside[-1][0] - inside[0][0]) / 1000
    mean = sampled / (len(inside) - 1)
    to_start, to_end = (inside[0][0] - (end - range_ms)) / 1000, (end - inside[-1][0]) / 1000
    to_start = mean / 2 if to_start >= mean * 1.1 else to_start
    first = inside[0][1].count
    if counter and grown.count > 0 and first >= 0:
        to_start = min(to_start, sampled * (first / grown.count))
    to_end = mean / 2 if to_end >= mean * 1.1 else to_end
    factor = (sampled + to_start + to_end) / sampled
    return factor / (range_ms / 1000) if rate else factor


def _instantaneous(rate: bool) -> Callable[..., Native | None]:
    def function(ctx: Context, inside: Timed, window: tuple[int, int], note: tuple[int, str]) -> Native | None:
        if len(inside) < 2:
            return None
        (before_ms, before), (last_ms, last) = inside[-2:]
        grown = _grown(ctx, [before, last], rate, note)
        return grown.divided((last_ms - before_ms) / 1000) if grown is not None and rate else grown

    return function


def _summed(mean: bool) -> Callable[..., Native | None]:
    def function(ctx: Context, inside: Timed, window: tuple[int, int], note: tuple[int, str]) -> Native | None:
        return nativerows.total(ctx, [one for _, one in inside], mean, *note)

    return function


_OF_NATIVES: dict[str, Callable[..., Native | None]] = {
    "rate": _extrapolated(True, True),
    "increase": _extrapolated(True, False),
    "delta": _extrapolated(False, False),
    "irate": _instantaneous(True),
    "idelta": _instantaneous(False),
    "sum_over_time": _summed(False),
    "avg_over_time": _summed(True),
}
