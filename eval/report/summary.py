"""Counts by agent, and the one object that `eval --json` prints."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from simcluster.eval.llm import agreement
from simcluster.eval.process.measures import aggregated
from simcluster.eval.statistics import pass_any, pass_every, wilson
from simcluster.tasks.beyond import is_impossible

Record = dict[str, Any]


def summarize(records: Sequence[Record]) -> dict[str, Record]:
    """Per agent: runs, how many passed each grade, how runs ended, wall-clock seconds, how sure the share is, and how
    it worked (`process`, see `docs/MEASURES.md`).

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
    for agent, entry in found.items():
        share = wilson(entry["passed"], entry["runs"])
        entry["pass_rate"] = round(share.value, 4)
        entry["pass_interval"] = [round(share.low, 4), round(share.high, 4)]
        own = [one for one in records if one["agent"] == agent and not is_impossible(one["task"])]
        entry |= _repeats(own)
        entry["process"] = aggregated([one.get("process") or {} for one in own])
    return found


def _repeats(records: Sequence[Record]) -> Record:
    """`pass_any` and `pass_every`: mean over tasks, for k up to the repetitions that every task has."""
    passed: dict[str, list[bool]] = {}
    for record in records:
        passed.setdefault(record["task"], []).append(bool(record["passed"]))
    most = min(map(len, passed.values()), default=0)  # 0: impossible twins only
    return {
        name: {
            str(k): round(fmean(chance(len(each), each.count(True), k) for each in passed.values()), 4)
            for k in range(1, most + 1)
        }
        for name, chance in (("pass_any", pass_any), ("pass_every", pass_every))
    }


def _count_impossible(entry: Record, record: Record) -> None:
    entry["runs"] += 1
    entry["passed"] += bool(record["mitigation"]["passed"])
    entry["claimed"] += record.get("says_solved") is True


def evaluation_object(records: Sequence[Record]) -> dict[str, Any]:
    """`{"runs": [...], "summary": {agent: ...}}`; `judge` if a model was asked: how far it agrees with the rules."""
    found: dict[str, Any] = {"runs": list(records), "summary": summarize(records)}
    second = agreement(records)
    return found if second is None else {**found, "judge": second}
