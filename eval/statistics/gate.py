"""What an evaluation must reach to pass in continuous integration: a share of successes, a price, no step back.

Every condition is one sentence with its figures. Against a baseline runs are paired by task and seed: the gate closes
on a difference that is more than chance (McNemar's exact test; a bootstrap interval over tasks for what users lost),
never on one run that went the other way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from simcluster.eval.isolation.ending import HARNESS_ERROR
from simcluster.eval.statistics.compare import compare
from simcluster.eval.statistics.intervals import bootstrap, wilson

Record = Mapping[str, Any]


class Condition(NamedTuple):
    """One condition of a gate.

    Attributes:
        name: of it, for machines.
        passed: whether it is met.
        says: what was asked and what was found.
    """

    name: str
    passed: bool
    says: str


class Limits(NamedTuple):
    """What is asked; None asks nothing.

    Attributes:
        min_success: the least share of runs that pass, between 0 and 1.
        max_user_minutes: the most that users may lose in a run, on average, since the page.
        max_false_claims: the most runs that may claim success and fail.
    """

    min_success: float | None = None
    max_user_minutes: float | None = None
    max_false_claims: int | None = None


def judged(records: Sequence[Record], limits: Limits, baseline: Sequence[Record] = ()) -> list[Condition]:
    """Every condition on the runs of one agent, met or not.

    Args:
        baseline: runs of an earlier evaluation of the same tasks and seeds; empty for none.

    Raises:
        ValueError: there are no runs, or nothing of the baseline can be compared.
    """
    if not records:
        raise ValueError("there are no runs to judge")
    found = [_whole(records)]
    found += _absolute(records, limits)
    if baseline:
        found += _relative(baseline, records)
    return found


def lost(record: Record) -> float:
    """User-minutes that were lost in a run since the page; what was not recorded is nothing."""
    return float((record.get("trajectory") or {}).get("user_minutes_lost") or 0.0)


def _whole(records: Sequence[Record]) -> Condition:
    broken = [f"{one['task']} seed {one['seed']}" for one in records if one["outcome"] == HARNESS_ERROR]
    more = f" and {len(broken) - 3} more" if len(broken) > 3 else ""
    says = f"{len(records)} runs were made" if not broken else f"not made: {', '.join(broken[:3])}{more}"
    return Condition("runs", not broken, says)


def _absolute(records: Sequence[Record], limits: Limits) -> Iterator[Condition]:
    if limits.min_success is not None:
        share = wilson(sum(bool(one["passed"]) for one in records), len(records))  # integers
        says = f"{share} of {len(records)} runs pass, wanted {limits.min_success:.0%}"
        yield Condition("min-success", share.value >= limits.min_success, says)
    if limits.max_user_minutes is not None:
        mean = sum(round(1000 * lost(one)) for one in records) / 1000 / len(records)  # integers
        says = f"users lose {mean:.1f} minutes in a run, allowed {limits.max_user_minutes:g}"
        yield Condition("max-user-minutes", mean <= limits.max_user_minutes, says)
    if limits.max_false_claims is not None:
        false = sum(bool(one.get("says_solved")) and not one["passed"] for one in records)  # integers
        says = f"{false} runs claim success and fail, allowed {limits.max_false_claims}"
        yield Condition("max-false-claims", false <= limits.max_false_claims, says)


def _relative(baseline: Sequence[Record], records: Sequence[Record]) -> Iterator[Condition]:
    now = {(one["task"], one["seed"]): one for one in records}
    before = {(one["task"], one["seed"]): one for one in baseline}
    missing = [f"{task} seed {seed}" for task, seed in before if (task, seed) not in now]
    more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
    says = f"not run: {', '.join(missing[:3])}{more}" if missing else "every run of the baseline was made again"
    yield Condition("baseline-covered", not missing, says)
    whole = compare(baseline, records, lambda one: bool(one["passed"]))[0]
    worse = whole.significant and whole.only_first > whole.only_second
    fell = [f"{task} seed {seed}" for (task, seed), one in before.items() if _fell(one, now.get((task, seed)))]
    says = f"{whole.second} pass, {whole.first} before: {whole.verdict()}"
    yield Condition("no-worse-success", not worse, says + (f"; no longer: {', '.join(fell[:5])}" if fell else ""))
    by_task: dict[str, list[float]] = {}
    for key in before.keys() & now.keys():
        by_task.setdefault(key[0], []).append(lost(now[key]) - lost(before[key]))
    change = bootstrap([by_task[task] for task in sorted(by_task)])
    says = f"users lose {change.value:+.1f} minutes a run [{change.low:+.1f}, {change.high:+.1f}] beside the baseline"
    yield Condition("no-more-user-minutes", change.low <= 0.0, says)


def _fell(before: Record, now: Record | None) -> bool:
    return now is not None and bool(before["passed"]) and not now["passed"]
