"""Runs as (state, action, reward): what was seen, what was done next, what that was worth."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from simcluster.eval.datasets.runs import Recorded, arguments_of, recorded
from simcluster.eval.training.rewards import Rewards


def steps(folder: Path) -> Iterator[dict[str, Any]]:
    """One line a command: rewards as of the environments (docs/TRAINING.md), which add up to what the run is worth.

    Raises:
        RunDirectoryError, ValueError: as `recorded`.
    """
    for one in recorded(folder):
        yield from _steps(one)


def _steps(one: Recorded) -> Iterator[dict[str, Any]]:
    account, paged_ns = Rewards(one.head), one.head["marks"]["paged"]
    diagnoses = [number for number, turn in enumerate(one.turns) if turn.tool == "diagnose"]
    right = bool(one.record["diagnosis"]["passed"])
    budget, used, seen, exit_code, at_ns = one.head["budget"], 0, "", 0, paged_ns
    for number, turn in enumerate(one.turns):
        last = number == len(one.turns) - 1
        diagnosed = right and bool(diagnoses) and number >= diagnoses[-1]
        ending = {"mended": bool(one.record["mitigation"]["passed"]), "outcome": one.record["outcome"]} if last else {}
        reward = account.step(one.turns[: number + 1], diagnosed=diagnosed, **ending)
        yield {
            **one.name(),
            "step": number,
            "state": {
                "alert": one.head["alert"],
                "output": seen,
                "exit_code": exit_code,
                "seconds": (at_ns - paged_ns) / 1e9,
                "commands_left": budget - used,
            },
            "action": {"tool": turn.tool, **arguments_of(turn)},
            "reward": round(reward, 6),
            "done": last,
            "digest_after": one.digests[number],
        }
        used += turn.counts
        seen, exit_code, at_ns = turn.answer, turn.exit_code, turn.ended_ns
