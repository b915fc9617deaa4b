"""The run directory: `plan.json`, `results.jsonl`, and per run its replay log and trajectory.

A result is one line, written and synced when the run ends, so that a killed evaluation loses
none; a last line that was cut off in the middle is dropped when the directory is opened again.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from simcluster.eval.runner.plan import Plan, Record, Run
from simcluster.session.log import versions

RESULTS = "results.jsonl"
PLAN = "plan.json"


class RunDirectoryError(Exception):
    """The folder cannot hold this evaluation, or holds none."""

    exit_code = 2  # of the command line: a usage error


class RunDirectory:
    """One evaluation on disk.

    Args:
        path: the folder; made if needed.
        plan: what is evaluated.
        resume: go on with an evaluation that was begun there.

    Raises:
        RunDirectoryError: the folder holds results and `resume` is not set, or holds another plan.
    """

    def __init__(self, path: Path, plan: Plan, *, resume: bool = False) -> None:
        self.path = path
        self.runs = path / "runs"
        self.records: list[Record] = []
        results = path / RESULTS
        if results.exists() and not resume:
            raise RunDirectoryError(
                f"{path} already holds an evaluation: use --resume to go on with it, or another --out"
            )
        if resume and (path / PLAN).exists():
            self._check_plan(plan)
        self.runs.mkdir(parents=True, exist_ok=True)
        if results.exists():
            self.records = read_results(path, mend=True)
        (path / PLAN).write_text(json.dumps({**plan.to_dict(), "versions": versions()}, indent=2) + "\n")

    def _check_plan(self, plan: Plan) -> None:
        before = json.loads((self.path / PLAN).read_text())
        if before.get("noise") != plan.noise:
            raise RunDirectoryError(
                f"{self.path} was begun with noise {before.get('noise')}, not {plan.noise}: use another --out"
            )

    def finished(self) -> dict[Run, Record]:
        """Results by run; the last one counts."""
        return {Run(r["task"], r["agent"], r["seed"]): r for r in self.records}

    def add(self, record: Record) -> None:
        """Keep a result for good."""
        self.records.append(record)
        with (self.path / RESULTS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False, sort_keys=True) + "\n")
            file.flush()
            os.fsync(file.fileno())


def read_results(path: Path, *, mend: bool = False) -> list[Record]:
    """Results of a run directory, or of a `results.jsonl`.

    Args:
        path: the folder or the file.
        mend: cut a damaged last line off the file.

    Raises:
        RunDirectoryError: there are none, or a line other than the last is no JSON.
    """
    file = path / RESULTS if path.is_dir() else path
    if not file.exists():
        raise RunDirectoryError(f"{path} holds no {RESULTS}: it is no run directory")
    records: list[Record] = []
    good_bytes = 0
    lines = file.read_bytes().splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        record = _parsed(line)
        if record is None:
            if number < len(lines):
                raise RunDirectoryError(f"{file}:{number}: no JSON object")
            break
        records.append(record)
        good_bytes += len(line)
    if mend and good_bytes < file.stat().st_size:
        with file.open("r+b") as opened:
            opened.truncate(good_bytes)
    return records


def _parsed(line: bytes) -> Record | None:
    """The object of a whole line; None if the line is damaged."""
    if not line.endswith(b"\n"):
        return None
    try:
        record: Any = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None
