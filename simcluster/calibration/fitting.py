"""Draws a profile from recordings.

Figures of the control plane show in what can be timed, but not alone: between a pod's binding and its first container
lie a watch, volumes, a sandbox. So a simulated cluster lives through the same recording, is timed in the same way,
and each figure moves by what its quantity differs by, until they agree (indirect inference; a figure moves its own
quantity one to one). What has too few samples, or is told too coarsely, stays as usual and is said to be unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any

from simcluster.calibration.laws import LEAST_SAMPLES, Fit, fit_law, interval
from simcluster.calibration.quantities import QUANTITIES, Samples
from simcluster.calibration.recording import Recording
from simcluster.calibration.replaying import Replay, Script, recorded, script_of
from simcluster.world.profile import FIGURES, Profile, figure_of

#: Which figure moves which quantity.
MOVED_BY = {
    "sandbox": "runtime.sandbox",
    "create": "runtime.create",
    "start": "runtime.start",
    "scheduling": "scheduler.cycle",
    "detection": "node.grace",
    "backoff.first": "kubelet.backoff.initial",
    "termination": "kubelet.signal",
    "pull": "image.resolve",
    "bandwidth": "image.bandwidth",
}
#: Known by arrivals alone (the others by what the cluster says of its own clock): of a cluster that runs faster than
#: the recorder, what is shorter than this many of its paces in seconds is hidden by when news is handed on.
_BY_ARRIVAL, _COARSE = ("readiness", "endpoints", "termination"), 2.0
#: ... and what is shorter than so many times what its clock is off from one sign of life to the next.
_STEADY = 10.0
#: These are settings, the same every time: so many samples say something of them.
_SETTINGS = {"detection": 1, "backoff.first": 1}
ROUNDS, SEEDS = 3, 4
#: Pods are scheduled one after the other, so that those that come together feel the figure many times: how often is
#: learned between rounds, within these limits. All other quantities contain their figure once.
_SERIAL = ("scheduling",)
_FLATTEST, _STEEPEST = 0.5, 8.0
#: ... from rounds whose figures differ by more than this share; nearer ones show their seeds.
_FAR = 0.2
#: Shorter pulls are asking and unpacking: they tell nothing of bandwidth.
_LONG_PULL_S = 5.0


@dataclass
class Evidence:
    """What was found of one quantity.

    Attributes:
        law: fitted to the recorded samples; None if there are too few.
        figure: the figure that it moves, with its value and interval in the figure's unit.
        warnings: why it should not be relied on, or why the figure stayed as usual.
        tried: values of the figure so far, and the simulated median with each.
    """

    quantity: str
    law: Fit | None
    figure: str = ""
    value: int = 0
    low: int = 0
    high: int = 0
    warnings: list[str] = field(default_factory=list)
    tried: list[tuple[int, float]] = field(default_factory=list, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The wire form."""
        said: dict[str, Any] = {"quantity": self.quantity, "what": QUANTITIES[self.quantity]}
        if self.law is not None:
            said["law"] = self.law.to_dict()
        if self.figure:
            said |= {"figure": self.figure, "value": self.value, "low": self.low, "high": self.high}
        return said | ({"warnings": self.warnings} if self.warnings else {})


@dataclass
class FittedControlPlane:
    """Figures of a control plane, and what they rest on."""

    figures: dict[str, int]
    evidence: list[Evidence]
    scripts: list[Script]
    measured: dict[str, Samples]


def fit_control_plane(
    recordings: Sequence[Recording], progress: Callable[[str], None] | None = None
) -> FittedControlPlane:
    """Fit every figure of which the recordings tell something; without recordings nothing is fitted."""
    if not recordings:
        return FittedControlPlane({}, [], [], {})
    scripts = [script_of(one) for one in recordings]
    found = pooled([recorded(one, script) for one, script in zip(recordings, scripts, strict=True)])
    evidence = [_evidence_of(name, samples, recordings) for name, samples in found.items()]
    wanted = [one for one in evidence if one.quantity in MOVED_BY and _identifiable(one, found)]
    figures: dict[str, int] = {}
    for number in range(ROUNDS if wanted else 0):
        if progress is not None:
            progress(f"round {number + 1} of {ROUNDS}: {len(scripts)} recordings, {SEEDS} seeds")
        runs = simulated(scripts, range(SEEDS), profile_of(figures))
        for one in wanted:
            _move(one, found[one.quantity], runs[one.quantity], figures)
    for one in evidence:
        if one.quantity in MOVED_BY and one.figure == "":
            one.warnings.append(f"{MOVED_BY[one.quantity]} stays as usual")
    return FittedControlPlane(figures, evidence, scripts, found)


def pooled(runs: Sequence[dict[str, Samples]]) -> dict[str, Samples]:
    """Samples of several runs as those of one."""
    found = {name: Samples(resolution=runs[0][name].resolution) for name in QUANTITIES}
    for run in runs:
        for name, samples in run.items():
            found[name].values += samples.values
            found[name].censored += samples.censored
    return found


def simulated(scripts: Sequence[Script], seeds: Sequence[int], profile: Profile | None) -> dict[str, Samples]:
    """The quantities of simulated clusters that live through the scripts, of all seeds."""
    return pooled([Replay(script, seed, profile).play() for script in scripts for seed in seeds])


def profile_of(figures: dict[str, int], **more: Any) -> Profile:
    """A profile with figures in nanoseconds or their own unit."""
    written: dict[str, str | int] = {}
    for name, value in sorted(figures.items()):
        figure = figure_of(name)
        assert figure is not None, name
        within = min(figure.high, max(figure.low, value))
        written[name] = f"{within}ns" if figure.unit == "ns" else within
    return Profile(parameters=written, **more)


def _identifiable(one: Evidence, found: dict[str, Samples]) -> bool:
    """Whether the recording says enough of a quantity to move its figure; if not, why is added to the warnings."""
    samples = found[one.quantity].values
    if any("coarse" in warning for warning in one.warnings):
        return False
    if samples and len(samples) < _SETTINGS.get(one.quantity, LEAST_SAMPLES):
        one.warnings.append(f"only {len(samples)} samples")
        return False
    if one.quantity == "bandwidth" and samples and median(found["pull"].values) < _LONG_PULL_S:
        one.warnings.append(f"pulls took {median(found['pull'].values):.1f} s: too short to tell bandwidth")
        return False
    return bool(samples)


def _evidence_of(quantity: str, samples: Samples, recordings: Sequence[Recording]) -> Evidence:
    found = Evidence(quantity, fit_law(samples.values, samples.resolution, samples.censored))
    if found.law is not None and found.law.warning:
        found.warnings.append(found.law.warning)
    if not samples.values:
        found.warnings.append("nothing of it was seen" + (" to end" if samples.censored else ""))
    pace, jitter_s = max(one.pace for one in recordings), max(one.jitter_s for one in recordings)
    if pace > 2 and quantity in _BY_ARRIVAL and samples.values:
        least = max(_COARSE * pace, _STEADY * jitter_s)
        if median(samples.values) < least:
            why = f"the cluster ran {pace:.1f} times as fast as the recorder's clock, {jitter_s:.1f} s unsteadily"
            found.warnings.append(f"{why}: arrivals are coarse")
    return found


def _move(one: Evidence, samples: Samples, run: Samples, figures: dict[str, int]) -> None:
    """Move the figure by what the medians differ by."""
    figure = FIGURES[MOVED_BY[one.quantity]]
    if not run.values:
        one.warnings.append("the simulated cluster showed nothing of it")
        return
    before = figures.get(MOVED_BY[one.quantity], figure.usual)
    there, here = median(samples.values), median(run.values)
    low, high = _ends(samples, run)
    one.tried.append((before, here))
    if abs(there - here) <= samples.resolution / 2:
        there = here  # no nearer can be told
    if figure.unit == "ns":
        slope = _slope(one.tried) if one.quantity in _SERIAL else 1.0
        moved, lowest, highest = (round(before + (each - here) * 1e9 / slope) for each in (there, low, high))
    else:
        moved, lowest, highest = (round(before * each / here) for each in (there, low, high))
    clipped = min(figure.high, max(figure.low, moved))
    one.figure, one.value = MOVED_BY[one.quantity], clipped
    one.low, one.high = (min(figure.high, max(figure.low, each)) for each in (lowest, highest))
    if clipped != moved and "at its limit" not in one.warnings:
        one.warnings.append("at its limit")
    figures[one.figure] = clipped


def _slope(tried: list[tuple[int, float]]) -> float:
    """By how much a quantity moves with its figure: 1 at first, then by what rounds far apart showed."""
    far = [pair for pair in pairwise(tried) if abs(pair[1][0] - pair[0][0]) > _FAR * max(pair[0][0], pair[1][0])]
    if not far:
        return 1.0
    (first, there), (second, here) = far[-1]
    return min(_STEEPEST, max(_FLATTEST, (here - there) * 1e9 / (second - first)))


def _ends(samples: Samples, run: Samples) -> tuple[float, float]:
    """Where the recorded median may be, given how sure it is and how sure the simulated one is."""
    there, here = median(samples.values), median(run.values)
    low, high = interval(samples.values, samples.resolution)
    least, most = interval(run.values)
    return there - math.hypot(there - low, most - here), there + math.hypot(high - there, here - least)
