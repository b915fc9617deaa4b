"""The run directory: `plan.json`, `results.jsonl`, and per run its replay log and trajectory.

A result is one line, written and synced when the run ends, so that a killed evaluation loses
none; a last line that was cut off in the middle is dropped when the directory is opened again.
What cannot be written, because the disk is full, is kept and tried again with the next result.
One evaluation at a time owns the folder, by a lock that ends with its process.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

from simcluster.eval.isolation.ending import ENDPOINT
from simcluster.eval.runner.plan import FORMAT, Plan, Record, Run
from simcluster.session.log import versions

RESULTS = "results.jsonl"
#: Runs that an endpoint kept from being made: they count for nobody, and `--resume` makes them.
UNMADE = "unmade.jsonl"
PLAN = "plan.json"
LOCK = ".lock"


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
        RunDirectoryError: the folder holds results and `resume` is not set, or holds another plan; another
            evaluation runs in it; it cannot be written.
    """

    def __init__(self, path: Path, plan: Plan, *, resume: bool = False) -> None:
        self.path = path
        self.runs = path / "runs"
        self.records: list[Record] = []
        self.reasons: Counter[str] = Counter()
        self._unwritten = b""
        self._lock = -1
        try:
            self._open(plan, resume)
        except OSError as problem:
            self.close()
            raise RunDirectoryError(f"{path} cannot hold an evaluation: {problem}") from None
        except RunDirectoryError:
            self.close()
            raise

    def _open(self, plan: Plan, resume: bool) -> None:
        self.runs.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunDirectoryError(f"another evaluation runs in {self.path}: use another --out") from None
        results = self.path / RESULTS
        if results.exists() and not resume:
            raise RunDirectoryError(
                f"{self.path} already holds an evaluation: use --resume to go on with it, or another --out"
            )
        if resume and (self.path / PLAN).exists():
            self._check_plan(plan)
        if results.exists():
            self.records = read_results(self.path, mend=True)
        (self.path / PLAN).write_text(json.dumps({**plan.to_dict(), "versions": versions()}, indent=2) + "\n")

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let others have the folder."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _check_plan(self, plan: Plan) -> None:
        before, given = json.loads((self.path / PLAN).read_text()), plan.to_dict()
        for what in ("noise", "age", "parameters"):
            now = given[what]
            if before.get(what) != now:
                raise RunDirectoryError(
                    f"{self.path} was begun with {what} {before.get(what)}, not {now}: use another --out"
                )

    @property
    def unmade(self) -> int:
        """How many runs could not be made for want of an endpoint's answer; `reasons` counts them by kind."""
        return self.reasons.total()

    def finished(self) -> dict[Run, Record]:
        """Results by run; the last one counts."""
        return {Run(r["task"], r["agent"], r["seed"]): r for r in self.records}

    def add(self, record: Record) -> None:
        """Keep a result for good, or note that an endpoint gave none; if it cannot be written now, see `write`."""
        if record["outcome"] == ENDPOINT:
            self.reasons[record["error"].partition(":")[0]] += 1
            with (self.path / UNMADE).open("a") as file:
                file.write(json.dumps(record, sort_keys=True) + "\n")
            return
        self.records.append(record)
        self._unwritten += json.dumps(record, sort_keys=True).encode() + b"\n"
        self.write()

    def write(self) -> str:
        """Write what is not written yet; returns why it could not be, or nothing."""
        if not self._unwritten:
            return ""
        file = self.path / RESULTS
        whole = file.stat().st_size if file.exists() else 0
        try:
            with file.open("ab", buffering=0) as opened:
                try:
                    written = opened.write(self._unwritten)
                    os.fsync(opened.fileno())
                except OSError:
                    opened.truncate(whole)
                    raise
                if written < len(self._unwritten):
                    opened.truncate(whole)
                    return f"{file}: only {written} of {len(self._unwritten)} bytes could be written"
        except OSError as problem:
            return str(problem)
        self._unwritten = b""
        return ""


def read_results(path: Path, *, mend: bool = False) -> list[Record]:
    """Results of a run directory, or of a `results.jsonl`.

    Args:
        path: the folder or the file.
        mend: cut a damaged last line off the file.

    Raises:
        RunDirectoryError: there are none, a line other than the last is no JSON, or its format is newer.
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
        if record.get("format", FORMAT) > FORMAT:
            raise RunDirectoryError(
                f"{file}:{number}: format {record['format']} was written by a newer simcluster; this one reads {FORMAT}"
            )
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
