"""A folder of recorded commands: `sequence.json`, `NNN_name.{cmd,out,err,rc}`, `manifests/`.

`normalise.json` may hold further patterns of what differs between any two runs, `normalise.py` rules of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import util
from pathlib import Path
from types import ModuleType

from simcluster.testing.golden import normalising

#: Seconds that an `until` without a limit may take.
UNTIL_LIMIT_S = 45


@dataclass(frozen=True)
class Step:
    """One step of a sequence.

    Attributes:
        number: of its files; 0 for a set-up step, which has none.
        pause: simulated seconds before it.
        until: a command to repeat until it succeeds, for at most `limit` simulated seconds.
        setup: whether the simulator's own means do it.
    """

    name: str
    command: str
    number: int
    pause: float = 0.0
    until: str = ""
    limit: float = UNTIL_LIMIT_S
    setup: bool = False

    @property
    def stem(self) -> str:
        """`NNN_name`."""
        return f"{self.number:03d}_{self.name}"


class Output:
    """What a command gave: text of both streams and exit code."""

    def __init__(self, out: str, err: str, code: int) -> None:
        self.out = out
        self.err = err
        self.code = code

    def text(self) -> str:
        """All three in one text, in the form the recordings' own comparison uses."""
        parts = [f"[.out]\n{self.out}"]
        if self.err:
            parts.append(f"[.err]\n{self.err}")
        if self.code:
            parts.append(f"[.rc]\n{self.code}\n")
        return "".join(parts)


class Transcripts:
    """A folder of recordings.

    Attributes:
        steps: in order.
        normalise: makes the texts of two runs comparable; the folder's own if it has one.

    Raises:
        FileNotFoundError: the folder has no `sequence.json`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.steps = _steps(json.loads((folder / "sequence.json").read_text()))
        self.normalise: Callable[[str], str] = normalising.normalise
        more = folder / "normalise.json"
        if more.is_file():
            self.normalise = partial(normalising.normalise, more=json.loads(more.read_text()))
        own = folder / "normalise.py"
        if own.is_file():
            self.normalise = _module(own).normalise

    @property
    def manifests(self) -> Path:
        """The folder in which commands run."""
        found = self.folder / "manifests"
        return found if found.is_dir() else self.folder

    def expected(self, step: Step) -> Output | None:
        """What was recorded; None if it is kept back or the step is set-up."""
        return None if step.setup else read_output(self.folder / step.stem)


def read_output(base: Path) -> Output | None:
    """The output in `base.out`, `base.err` and `base.rc`; None if there is none of them."""
    texts = {}
    for end in ("out", "err", "rc"):
        path = base.with_name(f"{base.name}.{end}")
        if path.is_file():
            texts[end] = path.read_text(errors="replace")
    if not texts:
        return None
    return Output(texts.get("out", ""), texts.get("err", ""), int(texts.get("rc", "0").strip() or 0))


def _steps(entries: list[dict[str, object]]) -> list[Step]:
    steps, number = [], 0
    for entry in entries:
        setup = bool(entry.get("setup"))
        number += not setup
        steps.append(
            Step(
                name=str(entry["name"]),
                command=str(entry["cmd"]),
                number=0 if setup else number,
                pause=float(str(entry.get("pause", 0))),
                until=str(entry.get("until", "")),
                limit=float(str(entry.get("limit", UNTIL_LIMIT_S))),
                setup=setup,
            )
        )
    return steps


def _module(path: Path) -> ModuleType:
    spec = util.spec_from_file_location("recorded_normalise", path)
    assert spec is not None, path
    assert spec.loader is not None, path
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
