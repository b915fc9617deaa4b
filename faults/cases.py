"""What the tests do with the faults of a family: `cases.yaml` in its folder."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from pydantic import Field

from simcluster.engine.content import Content, load_content
from simcluster.faults import registry
from simcluster.faults.steps import Aim


class Refusal(Content):
    """Parameters (all of them) or a target with which the fault is impossible, and words of the refusal."""

    target: Aim | None = None
    params: dict[str, Any] | None = None
    because: str


class FaultCase(Content):
    """A fault as it can happen in an application, with what runs `beside` it, and as it cannot."""

    app: str
    target: Aim
    params: dict[str, Any] = Field(default_factory=dict)
    beside: tuple[dict[str, Any], ...] = ()
    refused: tuple[Refusal, ...] = ()


class Said(Content):
    """Sentences that tell of a mechanism of failure, and sentences that do not."""

    right: tuple[str, ...] = Field(min_length=1)
    wrong: tuple[str, ...] = ()


class Report(Content):
    """A right diagnosis of a task in the words of others."""

    task: str
    answer: str


class FamilyCases(Content):
    """The cases of one family.

    Attributes:
        faults: by fault.
        words: by family of `words.yaml`.
        reports: right diagnoses.
    """

    faults: dict[str, FaultCase] = Field(default_factory=dict)
    words: dict[str, Said] = Field(default_factory=dict)
    reports: tuple[Report, ...] = ()


def cases_of(family: str) -> FamilyCases:
    """The cases of a family; none without a file. Raises ContentError."""
    return _cases_in(registry.folder_of(family) / "cases.yaml")


@cache
def _cases_in(path: Path) -> FamilyCases:
    """Read once in a process, in which files of the package do not change."""
    return load_content(path, FamilyCases) if path.is_file() else FamilyCases()


def case_of(fault_id: str) -> FaultCase | None:
    """The case of a fault. Raises ContentError."""
    found = (cases_of(family).faults.get(fault_id) for family in registry.families())
    return next((case for case in found if case is not None), None)
