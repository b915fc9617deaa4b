"""Laws fitted by maximum likelihood, with what is censored, how sure one can be, and how well they fit.

A sample that is told to a resolution stands for the interval around it; a censored one for everything above it. Of
the laws that the models know (exponential, log-normal, gamma) the one with the least AIC is taken. Intervals are
those of the bootstrap: percentiles of the median of samples drawn again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

LAWS = ("exponential", "lognormal", "gamma")
#: Fewer samples fit anything: no law, and no figure, is taken from them.
LEAST_SAMPLES = 4
BOOTSTRAPS, CONFIDENCE = 400, 0.90
#: Larger sets are thinned evenly: the fit gets no better, only slower.
MOST_SAMPLES = 4000


@dataclass(frozen=True)
class Fit:
    """A law fitted to samples.

    Attributes:
        law: exponential, lognormal or gamma.
        mean, median, cv: of the law.
        low, high: interval of the median (90 %).
        samples, censored: how many there were.
        distance: Kolmogorov-Smirnov distance, and p: its p-value (of laws whose parameters were fitted: too large).
        warning: why it should not be relied on; empty if it can.
    """

    law: str
    mean: float
    median: float
    cv: float
    low: float
    high: float
    samples: int
    censored: int
    distance: float
    p: float
    warning: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Rounded, without what is empty."""
        return {
            key: round(value, 6) if isinstance(value, float) else value
            for key, value in vars(self).items()
            if value != ""
        }


def fit_law(
    samples: Sequence[float], resolution: float = 0.0, censored: Sequence[float] = (), laws: Sequence[str] = LAWS
) -> Fit | None:
    """The best of some laws; None if there are too few samples.

    Args:
        resolution: samples are known to within half of this either way.
        censored: lower bounds of samples that had not ended.
    """
    values = np.sort(np.asarray(samples, dtype=float))
    if len(values) < LEAST_SAMPLES:
        return None
    if len(values) > MOST_SAMPLES:
        values = values[np.linspace(0, len(values) - 1, MOST_SAMPLES).astype(int)]
    bounds = np.asarray(censored, dtype=float)
    found = [(one, *_fitted(one, values, resolution, bounds)) for one in laws]
    law, parameters, likelihood = min(found, key=lambda each: 2 * len(each[1]) - 2 * each[2])
    del likelihood
    return _described(law, parameters, values, resolution, len(bounds))


def _frozen(law: str, parameters: Sequence[float]) -> Any:
    from scipy import stats  # noqa: PLC0415 - heavy, and needed for fits alone

    if law == "exponential":
        return stats.expon(scale=math.exp(parameters[0]))
    if law == "lognormal":
        return stats.lognorm(s=math.exp(parameters[1]), scale=math.exp(parameters[0]))
    return stats.gamma(a=math.exp(parameters[1]), scale=math.exp(parameters[0]))


def _fitted(law: str, values: Any, resolution: float, censored: Any) -> tuple[list[float], float]:
    """Parameters (logarithms of scale and shape) and the log-likelihood."""
    from scipy import optimize  # noqa: PLC0415

    positive = np.maximum(values, max(resolution / 2, 1e-9))
    mean, logs = float(positive.mean()), np.log(positive)
    starts = {
        "exponential": [math.log(mean)],
        "lognormal": [float(logs.mean()), math.log(max(0.02, float(logs.std())))],
    }
    squared_cv = max(1e-3, float(positive.var()) / mean**2)
    starts["gamma"] = [math.log(mean * squared_cv), -math.log(squared_cv)]
    half = resolution / 2

    def negative(parameters: Any) -> float:
        frozen = _frozen(law, np.clip(parameters, -40, 40))
        if half:
            mass = frozen.cdf(values + half) - frozen.cdf(np.maximum(0.0, values - half))
            total = float(np.log(np.maximum(mass, 1e-300)).sum())
        else:
            total = float(frozen.logpdf(positive).sum())
        if len(censored):
            total += float(np.log(np.maximum(frozen.sf(censored), 1e-300)).sum())
        return -total if math.isfinite(total) else 1e300

    best = optimize.minimize(negative, starts[law], method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-4})
    return [float(each) for each in best.x], -float(best.fun)


def _described(law: str, parameters: list[float], values: Any, resolution: float, censored: int) -> Fit:
    from scipy import stats  # noqa: PLC0415

    frozen = _frozen(law, parameters)
    low, high = interval(values, resolution)
    test = stats.kstest(values, frozen.cdf)
    mean, median = float(frozen.mean()), float(frozen.median())
    warnings = []
    if len(values) < 10:
        warnings.append(f"only {len(values)} samples")
    if resolution > 0.3 * median:
        warnings.append(f"told to {resolution:g} s alone")
    if censored > len(values):
        warnings.append("most were not seen to end")
    if test.statistic > 0.25 and not resolution > 0.3 * median:
        warnings.append(f"no law fits well (distance {test.statistic:.2f})")
    return Fit(law, mean, median, float(frozen.std()) / mean, low, high, len(values), censored,
               float(test.statistic), float(test.pvalue), "; ".join(warnings))  # fmt: skip


def as_law(fit: Fit) -> dict[str, Any]:
    """A law in the language of call graphs."""
    mean_ns = f"{max(1, round(fit.mean * 1e9))}ns"
    if fit.law == "exponential":
        return {"law": "exponential", "mean": mean_ns}
    return {"law": fit.law, "mean": mean_ns, "cv": round(min(5.0, max(0.01, fit.cv)), 4)}


def interval(values: Any, resolution: float = 0.0, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Of the median, by drawing the samples again; widened by half of the resolution where that hides the spread."""
    samples = np.asarray(values, dtype=float)
    drawn = np.random.default_rng(len(samples)).choice(samples, size=(BOOTSTRAPS, len(samples)))
    medians = np.median(drawn, axis=1)
    tail = (1 - confidence) / 2
    low, high = float(np.quantile(medians, tail)), float(np.quantile(medians, 1 - tail))
    half = resolution / 2 if resolution > high - low else 0.0
    return max(0.0, low - half), high + half


def wilson(hits: int, trials: int, z: float = 1.645) -> tuple[float, float]:
    """Interval (90 %) of a share.

    >>> [round(each, 3) for each in wilson(5, 100)]
    [0.025, 0.099]
    """
    if not trials:
        return 0.0, 1.0
    share = hits / trials
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / (1 + z * z / trials)
    return max(0.0, middle - half), min(1.0, middle + half)
