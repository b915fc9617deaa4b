"""How hard tasks are, as measured: the share of runs in which reference agents fail.

    simcluster eval --suite all --agent runbook --agent greedy --agent restarter --out DIR
    python -m simcluster.eval.report.difficulty DIR...

puts the runs of run directories into a file of counts, by task and agent, beside those that are in it; a task's runs of
an agent replace older ones. It prints how many of their runs the agents pass, with Wilson intervals. `simcluster list
tasks --json` shows the figure: 0 if all of these agents pass all runs, 1 if none passes any, each agent counting alike.
The `expert` knows the answer and counts for nothing.
"""

from __future__ import annotations

import functools
import json
import math
import sys
from pathlib import Path
from typing import Any

from simcluster.eval.runner.records import read_results
from simcluster.eval.statistics import wilson

#: The agents that measure: rules for what is known, the first anomaly, a restart of everything.
AGENTS = ("runbook", "greedy", "restarter")
#: The counts of this catalogue.
FILE = Path(__file__).parent / "difficulty.json"

#: Task -> agent -> runs that passed, and runs.
Counts = dict[str, dict[str, list[int]]]


def counted(records: list[dict[str, Any]], before: Counts) -> Counts:
    """Counts with those of the records in place of older ones of the same task and agent."""
    new: Counts = {}
    for one in records:
        if one["agent"] in AGENTS:
            entry = new.setdefault(one["task"], {}).setdefault(one["agent"], [0, 0])
            entry[0] += bool(one["passed"])
            entry[1] += 1
    merged = {task: {**before.get(task, {}), **new.get(task, {})} for task in sorted({*before, *new})}
    return {task: dict(sorted(agents.items())) for task, agents in merged.items()}


def difficulty(counts: dict[str, list[int]]) -> float | None:
    """Of one task: 0 (every agent passes) to 1 (none does); None: no agent has tried.

    >>> difficulty({"runbook": [1, 1], "greedy": [0, 1]}), difficulty({})
    (0.5, None)
    """
    shares = [passed / runs for passed, runs in counts.values() if runs]
    return round(1 - math.fsum(shares) / len(shares), 2) if shares else None


@functools.cache
def measured() -> Counts:
    """What has been measured of the catalogue."""
    known: Counts = json.loads(FILE.read_text()) if FILE.is_file() else {}
    return known


def shares(records: list[dict[str, Any]]) -> list[str]:
    """A line for each agent: runs that passed, of how many tasks they were, and the interval of 95 %.

    >>> shares([{"agent": "greedy", "task": task, "seed": 0, "passed": task == "a"} for task in "abcd"])
    ['greedy: 1 of 4 runs on 4 tasks (5 to 70 %)']
    """
    lines = []
    for agent in sorted({one["agent"] for one in records}):
        mine = [one for one in records if one["agent"] == agent]
        passed = sum(bool(one["passed"]) for one in mine)  # integers
        _, low, high = wilson(passed, len(mine))
        tasks = len({one["task"] for one in mine})
        lines.append(f"{agent}: {passed} of {len(mine)} runs on {tasks} tasks ({100 * low:.0f} to {100 * high:.0f} %)")
    return lines


def main(*folders: str, file: Path = FILE) -> None:
    """Put the runs of run directories into a file, and print how agents fared in them."""
    runs = {(r["task"], r["agent"], r["seed"]): r for folder in folders for r in read_results(Path(folder))}
    before: Counts = json.loads(file.read_text()) if file.is_file() else {}
    rows = [f'  "{task}": {json.dumps(agents)}' for task, agents in counted([*runs.values()], before).items()]
    file.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    print("\n".join(shares([*runs.values()])))


if __name__ == "__main__":
    main(*sys.argv[1:])
