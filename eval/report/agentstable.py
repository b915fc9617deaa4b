"""Agents beside each other as a table of Markdown, with intervals: what documents and pull requests show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simcluster.eval.statistics import bootstrap, wilson

Record = dict[str, Any]
_HEAD = ("agent", "runs", "passed", "diagnosis", "mitigation", "user-minutes lost", "commands")


def agents_table(records: Sequence[Record]) -> str:
    """A row an agent: shares with Wilson's 95 % interval, means with a bootstrap interval over tasks."""
    rows = [_HEAD, tuple("---" for _ in _HEAD)]
    for agent in dict.fromkeys(one["agent"] for one in records):
        runs = [one for one in records if one["agent"] == agent]
        shares = [_share(runs, "passed"), _share(runs, "diagnosis"), _share(runs, "mitigation")]
        graded = [one for one in runs if "user_minutes_lost" in one["trajectory"]]
        lost = _mean(graded, lambda one: one["trajectory"]["user_minutes_lost"])
        rows.append((agent, str(len(runs)), *shares, lost, _mean(runs, lambda one: one["commands"])))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _share(runs: Sequence[Record], grade: str) -> str:
    passed = [one for one in runs if (one[grade] if grade == "passed" else one[grade]["passed"])]
    return f"{len(passed)}: {wilson(len(passed), len(runs))}"


def _mean(runs: Sequence[Record], value: Any) -> str:
    if not runs:
        return "-"
    by_task = [[value(one) for one in runs if one["task"] == task] for task in dict.fromkeys(r["task"] for r in runs)]
    found = bootstrap(by_task)
    return f"{found.value:.1f} [{found.low:.1f}, {found.high:.1f}]"
