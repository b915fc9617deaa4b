"""How hard tasks are, as measured: the share of runs in which reference agents fail.

    simcluster eval --suite all --agent runbook --agent greedy --agent restarter --out DIR
    python -m simcluster.eval.report.difficulty DIR [FILE]

puts the runs of a run directory into a file of counts, by task and agent, beside those that are in it; a task's runs of
an agent replace older ones. `simcluster list tasks --json` shows the figure: 0 if all of these agents pass all runs, 1
if none passes any, each agent counting alike. The `expert` knows the answer and counts for nothing.
"""

from __future__ import annotations

import functools
import json
import math
import sys
from pathlib import Path
from typing import Any

from simcluster.eval.runner.records import read_results

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


def main(folder: str, file: str = str(FILE)) -> None:
    """Put the runs of a run directory into a file."""
    path = Path(file)
    before: Counts = json.loads(path.read_text()) if path.is_file() else {}
    rows = [f'  "{task}": {json.dumps(agents)}' for task, agents in counted(read_results(Path(folder)), before).items()]
    path.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
