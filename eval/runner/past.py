"""Courses of earlier runs that passed, for models that are shown those nearest to their page."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from simcluster.eval.process.transcript import Turn, read_jsonl
from simcluster.eval.runner.plan import Run
from simcluster.eval.runner.records import read_results

#: Characters of an answer and of a whole course that are kept: what was done matters more than what was read.
ANSWER_MAX, COURSE_MAX = 400, 6_000


class Course(NamedTuple):
    """One run that passed: its task's id, its page, and what was done."""

    task: str
    page: str
    text: str


@lru_cache(maxsize=4)
def courses(folder: str) -> tuple[Course, ...]:
    """The courses of a run directory, one for each page and agent.

    Raises:
        RunDirectoryError: it is none.
        ValueError: a transcript is none.
    """
    found = {}
    for record in read_results(Path(folder)):
        run = Run(record["task"], record["agent"], record["seed"])
        path = Path(folder, "runs", f"{run.name}.transcript.jsonl")
        if record["passed"] and path.exists():
            head, turns = read_jsonl(path)
            found[run] = Course(Path(run.task).stem, head["alert"], _text(head["alert"], turns))
    return tuple(found.values())


def others(folder: str, task: str) -> list[list[str]]:
    """Page and course of every run on other tasks: what has seen the answer is no experience."""
    return [[one.page, one.text] for one in courses(folder) if one.task != task]


def _text(page: str, turns: list[Turn]) -> str:
    lines = [f"The page: {page}"]
    for turn in turns:
        if not turn.counts and turn.tool != "diagnose":
            continue
        where = f" {turn.target}" if turn.target else ""
        answer = turn.answer.strip()
        kept = answer if len(answer) <= ANSWER_MAX else f"{answer[:ANSWER_MAX]} ..."
        lines.append(f"{turn.tool}{where} {turn.text}" + (f":\n{kept}" if kept else ""))
    return "\n".join(lines)[:COURSE_MAX]
