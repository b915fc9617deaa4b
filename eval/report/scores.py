"""What reference agents score, as measured: by suite, by task, and how hard a task is.

    simcluster eval --suite all --agent expert --agent runbook --agent greedy --agent random --agent noop --out DIR
    python -m simcluster.eval.report.scores DIR...

puts the runs of run directories into `scores.json`, by noise, task and agent, beside those that are in it; a task's
runs of an agent under the same noise replace older ones. `docs/SCORES.md` has the tables that follow from the file, and
`simcluster list tasks --json` the difficulty: 0 if all agents that do not know the answer pass all runs, 1 if none
passes any, each agent counting alike.
"""

from __future__ import annotations

import functools
import json
import math
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from simcluster.eval.runner.records import read_results
from simcluster.eval.statistics import wilson

#: The agents that measure difficulty: rules for what is known, the first anomaly, a restart of everything.
AGENTS = ("runbook", "greedy", "restarter")
#: The columns of the tables: who knows the answer first, floors last.
COLUMNS = ("expert", "runbook", "greedy", "restarter", "random", "noop")
#: The counts of this catalogue.
FILE = Path(__file__).parent / "scores.json"


class Count(NamedTuple):
    """Runs of one agent, on one task or several: that passed, by diagnosis and mitigation, and all."""

    passed: int = 0
    diagnosed: int = 0
    mitigated: int = 0
    runs: int = 0

    def plus(self, other: Count) -> Count:
        """Both together.

        >>> Count(1, 1, 1, 1).plus(Count(0, 1, 0, 1))
        Count(passed=1, diagnosed=2, mitigated=1, runs=2)
        """
        return Count(*(one + more for one, more in zip(self, other, strict=True)))


#: Noise -> task -> agent -> its runs.
Scores = dict[str, dict[str, dict[str, Count]]]


def counted(records: Iterable[Mapping[str, Any]], before: Scores) -> Scores:
    """Counts with those of the records in place of older ones of the same noise, task and agent."""
    new: Scores = {}
    for one in records:
        entry = new.setdefault(str(one["noise"] or "none"), {}).setdefault(one["task"], {})
        run = (one["passed"], one["diagnosis"]["passed"], one["mitigation"]["passed"], True)
        entry[one["agent"]] = entry.get(one["agent"], Count()).plus(Count(*map(int, run)))
    merged: Scores = {}
    for noise in sorted({*before, *new}):
        old, more = before.get(noise, {}), new.get(noise, {})
        merged[noise] = {task: {**old.get(task, {}), **more.get(task, {})} for task in sorted({*old, *more})}
    return merged


def difficulty(task: str, scores: Scores | None = None) -> float | None:
    """Of one task, under the first noise of which runs are known: 0 (every agent passes) to 1; None: nobody has tried.

    >>> runs = {"runbook": Count(1, 1, 1, 1), "greedy": Count(0, 0, 1, 1), "noop": Count(0, 0, 0, 1)}
    >>> difficulty("t", {"default": {"t": runs}}), difficulty("u", {})
    (0.5, None)
    """
    for of in (measured() if scores is None else scores).values():
        tried = [count for agent, count in of.get(task, {}).items() if agent in AGENTS]
        if tried:
            return round(1 - math.fsum(count.passed / count.runs for count in tried) / len(tried), 2)
    return None


def loaded(path: Path) -> Scores:
    """The counts of a file; none if there is no such file."""
    known = json.loads(path.read_text()) if path.is_file() else {}
    return {
        noise: {task: {agent: Count(*count) for agent, count in agents.items()} for task, agents in tasks.items()}
        for noise, tasks in known.items()
    }


@functools.cache
def measured() -> Scores:
    """What has been measured of the catalogue."""
    return loaded(FILE)


def of_suites(scores: Scores, suites: Mapping[str, Iterable[str]]) -> list[str]:
    """A Markdown table: of each noise and suite what each agent passes, with Wilson's interval of 95 %, in percent.

    >>> runs = {"t": {"runbook": Count(1, 1, 1, 1)}, "u": {"runbook": Count(0, 0, 1, 1)}}
    >>> print(*of_suites({"none": runs}, {"lite": ["t", "u", "v"]}), sep="\\n")
    | suite | noise | tasks | `runbook` |
    |---|---|---|---|
    | `lite` | none | 2 of 3 | 1 (9 to 91) |
    """
    agents = _agents(scores)
    lines = _head(["suite", "noise", "tasks"], agents)
    for suite, members in suites.items():
        for noise, of in scores.items():
            known = [of[task] for task in members if task in of]
            if known:
                cells = [_share([runs[agent] for runs in known if agent in runs], len(known)) for agent in agents]
                tried = f"{len(known)} of {len([*members])}"
                lines.append(f"| `{suite}` | {noise} | {tried} | {' | '.join(cells)} |")
    return lines


def of_tasks(scores: Scores, noise: str) -> list[str]:
    """A Markdown table: what each agent's runs on each task came to under one noise.

    >>> print(*of_tasks({"none": {"t": {"runbook": Count(1, 1, 1, 1), "noop": Count(0, 0, 0, 1)}}}, "none"), sep="\\n")
    | task | `runbook` | `noop` |
    |---|---|---|
    | `t` | passes | - |
    """
    agents = _agents({noise: scores.get(noise, {})})
    lines = _head(["task"], agents)
    for task, of in scores.get(noise, {}).items():
        lines.append(f"| `{task}` | {' | '.join(_outcome(of.get(agent)) for agent in agents)} |")
    return lines


def _agents(scores: Scores) -> list[str]:
    known = {agent for of in scores.values() for runs in of.values() for agent in runs}
    return [*(agent for agent in COLUMNS if agent in known), *sorted(known - {*COLUMNS})]


def _head(columns: list[str], agents: list[str]) -> list[str]:
    names = [*columns, *(f"`{agent}`" for agent in agents)]
    return [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]


def _share(counts: list[Count], tasks: int) -> str:
    """How many runs pass, with its interval; of how many, if not each task was tried once."""
    total = functools.reduce(Count.plus, counts, Count())
    if not total.runs:
        return "not run"
    _, low, high = wilson(total.passed, total.runs)
    of = "" if total.runs == tasks else f" of {total.runs}"
    return f"{total.passed}{of} ({100 * low:.0f} to {100 * high:.0f})"


def _outcome(count: Count | None) -> str:
    """Of one run what was right; of several how often."""
    if count is None:
        return ""
    if count.runs > 1:
        return f"{count.passed} of {count.runs}"
    if count.passed:
        return "passes"
    return "cause only" if count.diagnosed else "repair only" if count.mitigated else "-"


def main(*folders: str, file: Path = FILE) -> None:
    """Put the runs of run directories into a file, and print what each agent passes of them."""
    runs = {(r["noise"], r["task"], r["agent"], r["seed"]): r for folder in folders for r in read_results(Path(folder))}
    merged = counted(runs.values(), loaded(file))
    parts = []
    for noise, tasks in merged.items():
        rows = [f'    "{task}": {json.dumps(agents)}' for task, agents in tasks.items()]
        parts.append(f'  "{noise}": {{\n' + ",\n".join(rows) + "\n  }")
    file.write_text("{\n" + ",\n".join(parts) + "\n}\n")
    new = counted(runs.values(), {})
    every = sorted({task for of in new.values() for task in of})
    print("\n".join(of_suites(new, {"these": every})))


if __name__ == "__main__":
    main(*sys.argv[1:])
