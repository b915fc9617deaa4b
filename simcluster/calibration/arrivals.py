"""Arrivals of a load: a rate that steps, bursts, or users who think; which of them is told by the arrivals themselves.

Where spans name their sessions (`session.id`), users wait for answers and think, and what they had not asked again when
the recording ended is censored. Otherwise the arrivals are cut into stretches of one rate (Poisson likelihood, binary
segmentation), which are stages. Where counts are more uneven than one rate makes them, bursts are tried, too: a Markov
chain of two rates, by the likelihood of counts (forward algorithm), with intervals by its curvature. Bayes' information
criterion chooses; a single stretch is a rate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcluster.calibration.laws import CONFIDENCE, Fit, as_law, fit_law

#: Of two-sided 90 % intervals of a normal law.
_Z = 1.645
#: A cut has to be worth so many times the logarithm of the number of arrivals (each has a place and a rate).
_CUT = 4.0
#: Stages are so many at most, and none has fewer arrivals.
MOST_STAGES, LEAST_ARRIVALS = 5, 20
#: Bins of counts in which bursts are looked for, and how far apart their two rates have to be.
_BINS, _LEAST_FACTOR = 1500, 1.3
#: Fewer bursts than the first are stages; fewer than the second leave their lengths unsure.
_LEAST_BURSTS, _FEW_BURSTS = 3, 8

Answered = tuple[float, float]


@dataclass
class Arrivals:
    """How a load comes.

    Attributes:
        load: `open` or `closed`, as a load of `simcluster traffic` has it.
        said: what it rests on, with intervals (90 %).
        warnings: what cannot be known of it, and why.
    """

    load: dict[str, Any]
    said: dict[str, Any]
    warnings: list[str] = field(default_factory=list)


def fit_arrivals(
    begins_s: Sequence[float] | NDArray[np.float64], sessions: Mapping[str, Sequence[Answered]] | None = None
) -> Arrivals:
    """The law of arrivals.

    Args:
        begins_s: when each request began, in seconds.
        sessions: of each session its requests' begins and ends; empty or None if spans name none.

    Raises:
        ValueError: fewer than two arrivals.
    """
    times = np.sort(np.asarray(begins_s, dtype=float))
    if len(times) < 2:
        raise ValueError(f"{len(times)} arrivals say nothing of a rate")
    times = times - times[0]
    span_s = float(times[-1]) or 1e-9
    rate = (len(times) - 1) / span_s
    counts = np.histogram(times, bins=max(2, int(span_s)))[0]
    said: dict[str, Any] = {"rate": round(rate, 4), "interval": _rounded(poisson_interval(len(times) - 1, span_s)),
                            "dispersion": round(float(counts.var() / counts.mean()), 3)}  # fmt: skip
    if sessions:
        return _closed(said, sessions)
    stretches = _merged(_stretches(times))
    found = _bursting(said, times, stretches) if _uneven(times) else None
    if found is None and len(stretches) == 1:
        found = Arrivals({"open": {"rate": round(rate, 4)}}, said)
    elif found is None:
        found = _staged(said, stretches)
    found.warnings.append("think time is not known: no span names its session (session.id)")
    return found


def poisson_interval(count: int, span: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Of a rate of which `count` events were seen in `span` (Garwood's exact limits)."""
    from scipy import stats  # noqa: PLC0415 - heavy, and needed for fits alone

    tail = (1 - confidence) / 2
    low = float(stats.gamma.ppf(tail, count)) if count else 0.0
    return low / span, float(stats.gamma.ppf(1 - tail, count + 1)) / span


def _closed(said: dict[str, Any], sessions: Mapping[str, Sequence[Answered]]) -> Arrivals:
    last = max(end for asked in sessions.values() for _, end in asked)
    thought, censored = [], []
    for asked in sessions.values():
        ordered = sorted(asked)
        thought += [max(0.0, after[0] - before[1]) for before, after in pairwise(ordered)]
        censored.append(max(0.0, last - ordered[-1][1]))
    fit = fit_law(thought, censored=censored)
    if fit is None:
        words = f"think time is not known: only {len(thought)} requests follow another of their session"
        return Arrivals({"open": {"rate": said["rate"]}}, {**said, "users": len(sessions)}, [words])
    low, high = mean_interval(fit, thought)
    said |= {"users": len(sessions), "think": {**fit.to_dict(), "mean_low": round(low, 6), "mean_high": round(high, 6)}}
    warnings = [f"think time: {fit.warning}"] if fit.warning else []
    return Arrivals({"closed": {"users": len(sessions), "think": as_law(fit)}}, said, warnings)


def mean_interval(fit: Fit, samples: Sequence[float]) -> tuple[float, float]:
    """Of a law's mean: by its own spread and the number of samples, on the scale of logarithms."""
    width = _Z * fit.cv / math.sqrt(max(1, len(samples)))
    return fit.mean * math.exp(-width), fit.mean * math.exp(width)


# --- a rate that steps --------------------------------------------------------------------

Stretch = tuple[float, float, int]  # begin, end, arrivals


def _stretches(times: NDArray[np.float64]) -> list[Stretch]:
    """Cut where two rates explain the arrivals better than one."""
    found, open_ends = list[Stretch](), [(0, len(times), 0.0, float(times[-1]))]
    worth = _CUT * math.log(len(times))
    while open_ends:
        first, last, begin, end = open_ends.pop()
        cut, gain = _best_cut(times[first:last], begin, end)
        if gain < worth:
            found.append((begin, end, last - first))
            continue
        at = float(times[first + cut])
        open_ends += [(first, first + cut, begin, at), (first + cut, last, at, end)]
    return sorted(found)


def _best_cut(times: NDArray[np.float64], begin: float, end: float) -> tuple[int, float]:
    """Before which arrival, and by how much the log-likelihood grows."""
    count, span = len(times), end - begin
    if count < 2 * LEAST_ARRIVALS or span <= 0:
        return 0, 0.0
    before = np.arange(LEAST_ARRIVALS, count - LEAST_ARRIVALS + 1)
    left = np.maximum(times[before - 1 + (before < count)] - begin, 1e-9)
    right = np.maximum(span - left, 1e-9)
    gains = before * np.log(before / left) + (count - before) * np.log((count - before) / right)
    best = int(np.argmax(gains))
    return int(before[best]), float(gains[best] - count * math.log(count / span))


def _staged(said: dict[str, Any], stretches: Sequence[Stretch]) -> Arrivals:
    stages = [{"for": f"{max(1, round((end - begin) * 1000))}ms", "rate": round(count / (end - begin), 4)}
              for begin, end, count in stretches]  # fmt: skip
    said["stages"] = [{"begin_s": round(begin, 3), "rate": round(count / (end - begin), 4),
                       "interval": _rounded(poisson_interval(count, end - begin))}
                      for begin, end, count in stretches]  # fmt: skip
    return Arrivals({"open": {"stages": stages}}, said, ["the rate steps: one mean rate would not do"])


def _merged(stretches: Sequence[Stretch]) -> list[Stretch]:
    """At most `MOST_STAGES` of them: the neighbours that differ least become one."""
    found = list(stretches)
    while len(found) > MOST_STAGES:
        rates = [count / (end - begin) for begin, end, count in found]
        apart = [abs(math.log(after / before)) for before, after in pairwise(rates)]
        at = int(np.argmin(apart))
        found[at : at + 2] = [(found[at][0], found[at + 1][1], found[at][2] + found[at + 1][2])]
    return found


# --- bursts -------------------------------------------------------------------------------


def _uneven(times: NDArray[np.float64]) -> bool:
    """Whether counts vary more than those of one rate do, by three standard deviations."""
    bins = min(90, max(2, len(times) // LEAST_ARRIVALS))
    counts = np.histogram(times, bins=bins)[0]
    return bool(counts.var() / counts.mean() > 1 + 3 * math.sqrt(2 / bins))


def _bursting(said: dict[str, Any], times: NDArray[np.float64], stretches: Sequence[Stretch]) -> Arrivals | None:
    """Two rates between which chance jumps; None if steps explain the arrivals as well, or it hardly jumped."""
    from scipy import optimize  # noqa: PLC0415

    rate = len(times) / float(times[-1])
    bins = min(_BINS, max(50, int(len(times) / 2)))
    counts, ends = np.histogram(times, bins=bins)
    width = float(ends[1] - ends[0])
    starts = [[math.log(rate * 0.6), math.log(factor), math.log(width * on), math.log(width * 3 * on)]
              for factor in (2.5, 6.0) for on in (8.0, 40.0)]  # fmt: skip

    def negative(parameters: Any) -> float:
        return -_likelihood(counts, width, *np.exp(np.clip(parameters, -20, 20)))

    options = {"xatol": 1e-3, "fatol": 1e-2, "maxiter": 500}
    first = min(starts, key=negative)
    best = optimize.minimize(negative, first, method="Nelder-Mead", options=options)
    staged = sum(count * math.log(count / (end - begin)) - count for begin, end, count in stretches)
    gain = (-best.fun - len(times) * math.log(width)) - staged  # both of the instants
    more = (len(best.x) - (2 * len(stretches) - 1)) * math.log(len(times)) / 2
    cycles = float(times[-1]) / (math.exp(best.x[2]) + math.exp(best.x[3]))
    if gain < more or cycles < _LEAST_BURSTS or math.exp(best.x[1]) < _LEAST_FACTOR:
        return None
    spread = _spread(negative, best.x)
    names = ("rate", "factor", "on_s", "off_s")
    ranges = {name: [round(math.exp(value - _Z * each), 4), round(math.exp(value + _Z * each), 4)]
              for name, value, each in zip(names, best.x, spread, strict=True)}  # fmt: skip
    values = {name: round(math.exp(value), 4) for name, value in zip(names, best.x, strict=True)}
    said["burst"] = {name: {"value": values[name], "interval": ranges[name]} for name in names}
    burst = {"factor": values["factor"], "on": f"{round(values['on_s'] * 1e9)}ns",
             "off": f"{round(values['off_s'] * 1e9)}ns"}  # fmt: skip
    warnings = [f"bursts: only some {cycles:.0f} were seen"] if cycles < _FEW_BURSTS else []
    return Arrivals({"open": {"rate": values["rate"], "burst": burst}}, said, warnings)


def _likelihood(
    counts: NDArray[np.int64], width: float, rate: float, factor: float, on_s: float, off_s: float
) -> float:
    """Of counts of bins, up to what does not depend on the parameters."""
    leave_on, leave_off = -math.expm1(-width / on_s), -math.expm1(-width / off_s)
    low, high = rate * width, rate * factor * width
    calm = counts * math.log(low) - low
    busy = counts * math.log(high) - high
    top = np.maximum(calm, busy)
    calm, busy = np.exp(calm - top), np.exp(busy - top)
    share = on_s / (on_s + off_s)
    total, off, on = float(top.sum()), 1.0 - share, share
    for one, other in zip(calm.tolist(), busy.tolist(), strict=True):
        off, on = (off * (1 - leave_off) + on * leave_on) * one, (off * leave_off + on * (1 - leave_on)) * other
        norm = off + on
        if norm <= 0.0:
            return -1e300
        total += math.log(norm)
        off, on = off / norm, on / norm
    return total


def _spread(negative: Any, at: Any) -> list[float]:
    """Standard deviations of parameters, by the curvature of the log-likelihood."""
    step, size = 0.05, len(at)
    curvature = np.zeros((size, size))
    for i in range(size):
        for j in range(i, size):
            signs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
            values = []
            for first, second in signs:
                moved = np.array(at, dtype=float)
                moved[i] += first * step
                moved[j] += second * step
                values.append(negative(moved))
            curvature[i, j] = curvature[j, i] = (values[0] - values[1] - values[2] + values[3]) / (4 * step * step)
    variances = np.diag(np.linalg.pinv(curvature))
    return [math.sqrt(each) if each > 0 else 2.0 for each in variances]


def _rounded(ends: tuple[float, float]) -> list[float]:
    return [round(each, 4) for each in ends]
