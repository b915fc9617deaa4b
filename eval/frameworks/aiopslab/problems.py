"""Problems: an incident and one of four questions about it, by AIOpsLab's ids and by ids of the catalogue.

`BASE-KIND-NUMBER` as there (`revoke_auth_mongodb-mitigation-2`), where the incident is a task here; `TASK-KIND-1` of
any task. Left out: problems without a fault, and those of the Astronomy Shop and of Flower.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from simcluster import tasks
from simcluster.engine.content import UnknownName, read_document
from simcluster.faults import registry
from simcluster.tasks.model import Task

Kind = Literal["detection", "localization", "analysis", "mitigation"]
KINDS: tuple[Kind, ...] = get_args(Kind)
LEVELS = ("Hardware", "Operating System", "Virtualization", "Application")
TYPES = (
    *("Misconfiguration", "Code Defect", "Authentication Issue", "Network/Storage Issue", "Operation Error"),
    "Dependency Problem",
)


class Problem(NamedTuple):
    """One question.

    Attributes:
        task: an id of the catalogue.
        level, type: of its cause, if AIOpsLab says so; else empty.
    """

    id: str
    task: str
    kind: Kind
    level: str = ""
    type: str = ""


@cache
def _table() -> dict[str, Any]:
    found: dict[str, Any] = read_document(Path(__file__).with_name("problems.yaml")).data
    return found


def ids() -> list[str]:
    """Every problem, those that AIOpsLab knows first."""
    known = [f"{base}-{kind}-{number}" for base, each in _table()["known"].items() for kind in KINDS for number in each]
    return [*known, *(f"{task}-{kind}-1" for task in tasks.ids() for kind in KINDS)]


def problem(name: str) -> Problem:
    """The problem of this id. Raises UnknownName."""
    head, _, number = name.rpartition("-")
    base, _, kind = head.rpartition("-")
    if kind in KINDS and number.isdigit():
        known = _table()["known"].get(base, {}).get(int(number))
        if known is not None:
            return Problem(name, known["task"], kind, known["level"], known["type"])
        if number == "1" and base in tasks.ids():
            return Problem(name, base, kind)
    raise UnknownName("problem", name, ids())


def analysed(asked: Problem, task: Task) -> tuple[str, str]:
    """System level and type of the fault."""
    if asked.level:
        return asked.level, asked.type
    step = next(one for one in task.incident if one.fault and not one.harmless)
    sheet = registry.mechanisms()[registry.load(step.fault).mechanism].sheet
    level = _table()["levels"][sheet.layer]
    family = task.truth.family
    return level, next((name for name, each in _table()["types"].items() if family in each), TYPES[0])
