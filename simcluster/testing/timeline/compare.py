"""Compares the instants of a recording with their distribution over many seeds."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from simcluster.testing.timeline.instants import Instant, instants_of, speaks_newer
from simcluster.testing.timeline.recording import Recording
from simcluster.testing.timeline.stage import play
from simcluster.testing.timeline.ties import tied_pairs

#: By how much the range from the 1st to the 99th percentile is widened, in seconds.
WIDENING_S = 1.0
#: An instant that fewer of the seeds have is not compared: it is reported as missing.
LEAST_SHARE = 0.5


class Verdict(enum.Enum):
    """What became of a recorded instant."""

    INSIDE = "inside"
    OUTSIDE = "outside"
    MISSING = "missing in the simulation"


@dataclass(frozen=True)
class Finding:
    """One recorded instant. Times are in seconds; `low` and `high` before widening."""

    instant: Instant
    recorded: float
    low: float
    high: float
    share: float
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "instant": str(self.instant),
            "recorded": self.recorded,
            "low": self.low,
            "high": self.high,
            "share": self.share,
            "verdict": self.verdict.name.lower(),
        }


@dataclass(frozen=True)
class Report:
    """All findings, and the causes that a seed showed after their effects.

    Attributes:
        seeds: how many runs there were.
        findings: in order of the recording.
        extra: instants that most seeds have and the recording has not.
        disorders: (cause, effect, number of seeds in which the effect came first).
        ties: how many pairs were checked.
    """

    seeds: int
    findings: tuple[Finding, ...]
    extra: tuple[Instant, ...]
    disorders: tuple[tuple[Instant, Instant, int], ...]
    ties: int

    def having(self, verdict: Verdict) -> list[Finding]:
        """The findings of a verdict."""
        return [finding for finding in self.findings if finding.verdict is verdict]

    def to_dict(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "seeds": self.seeds,
            "totals": {verdict.name.lower(): len(self.having(verdict)) for verdict in Verdict},
            "ties": self.ties,
            "disorders": [[str(cause), str(effect), count] for cause, effect, count in self.disorders],
            "findings": [finding.to_dict() for finding in self.findings],
            "extra": [str(instant) for instant in self.extra],
        }


def compare(recording: Recording, seeds: int, progress: Callable[[int], None] | None = None) -> Report:
    """Play the recording's operations with seeds 0 to `seeds - 1` and compare.

    Args:
        progress: is told the number of every seed that is done.
    """
    newer, nodes = speaks_newer(recording.lines), tuple(recording.nodes)
    runs = []
    for seed in range(seeds):
        runs.append(instants_of(play(recording, seed), newer=newer, nodes=nodes))
        if progress is not None:
            progress(seed)
    return compare_runs(instants_of(recording.lines, newer=newer, nodes=nodes), runs)


def compare_runs(recorded: dict[Instant, float], runs: list[dict[Instant, float]]) -> Report:
    """Compare recorded instants with those of runs that are there already."""
    findings = tuple(_judge(instant, t, runs) for instant, t in recorded.items())
    counts: dict[Instant, int] = {}
    for run in runs:
        for instant in run:
            if instant not in recorded:
                counts[instant] = counts.get(instant, 0) + 1
    ties = [(cause, effect) for cause, effect in tied_pairs(recorded) if recorded[cause] <= recorded[effect]]
    disorders = []
    for cause, effect in ties:
        wrong = sum(cause in run and effect in run and run[cause] > run[effect] for run in runs)
        if wrong:
            disorders.append((cause, effect, wrong))
    extra = tuple(instant for instant, count in counts.items() if count >= LEAST_SHARE * len(runs))
    return Report(len(runs), findings, extra, tuple(disorders), len(ties))


def _judge(instant: Instant, recorded: float, runs: list[dict[Instant, float]]) -> Finding:
    times = sorted(run[instant] for run in runs if instant in run)
    share = len(times) / len(runs)
    if share < LEAST_SHARE:
        return Finding(instant, recorded, *((times[0], times[-1]) if times else (0.0, 0.0)), share, Verdict.MISSING)
    low, high = percentile(times, 1), percentile(times, 99)
    inside = low - WIDENING_S <= recorded <= high + WIDENING_S
    return Finding(instant, recorded, low, high, share, Verdict.INSIDE if inside else Verdict.OUTSIDE)


def percentile(ordered: list[float], percent: int) -> float:
    """A percentile of sorted values, between the two nearest ranks.

    >>> percentile([0.0, 10.0], 50)
    5.0
    """
    place = (len(ordered) - 1) * percent / 100
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
