"""Counts by agent, and the one object that `eval --json` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simcluster.tasks.beyond import is_impossible

Record = dict[str, Any]


def summarize(records: Sequence[Record]) -> dict[str, Record]:
    """Per agent: runs, how many passed each grade, how runs ended, wall-clock seconds.

    Runs of impossible twins count apart: how many there were, how many passed (holes in the grading), and how often the
    agent claimed success.
    """
    found: dict[str, Record] = {}
    for record in records:
        entry = found.setdefault(
            record["agent"],
            {"runs": 0, "passed": 0, "diagnosis": 0, "mitigation": 0, "trajectory": 0, "seconds": 0.0, "outcomes": {}},
        )
        if is_impossible(record["task"]):
            _count_impossible(entry.setdefault("impossible", {"runs": 0, "passed": 0, "claimed": 0}), record)
            continue
        entry["runs"] += 1
        entry["passed"] += bool(record["passed"])
        for grade in ("diagnosis", "mitigation", "trajectory"):
            entry[grade] += bool(record[grade]["passed"])
        entry["seconds"] = round(entry["seconds"] + record["seconds"], 3)
        entry["outcomes"][record["outcome"]] = entry["outcomes"].get(record["outcome"], 0) + 1
    for entry in found.values():
        entry["pass_rate"] = round(entry["passed"] / max(1, entry["runs"]), 4)
    return found


def _count_impossible(entry: Record, record: Record) -> None:
    entry["runs"] += 1
    entry["passed"] += bool(record["mitigation"]["passed"])
    entry["claimed"] += record.get("says_solved") is True


def evaluation_object(records: Sequence[Record]) -> dict[str, Any]:
    """`{"runs": [...], "summary": {agent: ...}}`."""
    return {"runs": list(records), "summary": summarize(records)}
