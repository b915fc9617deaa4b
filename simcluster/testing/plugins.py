"""Proofs of applications, faults and tasks, for the tests of whoever wrote them."""

from __future__ import annotations

from pathlib import Path

from simcluster.engine.content import Library
from simcluster.eval import proof
from simcluster.eval.proof import ProofReport
from simcluster.eval.proof.attacks import EXPLOITS
from simcluster.eval.proof.mending import REPAIRS

TRIES = (EXPLOITS, REPAIRS)


def check_app(app: str, seed: int = 0, *content: Path) -> ProofReport:
    """An application comes up, serves its users, and answers as its `cases.yaml` says.

    Args:
        content: folders of content that belong to no installed package.

    Raises:
        AssertionError: it does not; the message says what is not so.
        UnknownName, ContentError, PluginError: it cannot even be loaded.
    """
    return _proved(proof.check_app(app, seed, library=Library(content)))


def check_fault(fault_id: str, seed: int = 0, *content: Path, tries: tuple[int, int] = TRIES) -> ProofReport:
    """A fault can happen as its family's `cases.yaml` says, and a task that has it is right: see `check_task`."""
    return _proved(proof.check_fault(fault_id, seed, library=Library(content), tries=tries))


def check_task(task: str, seed: int = 0, *content: Path, tries: tuple[int, int] = TRIES) -> ProofReport:
    """A task (an id or a file) can be noticed, solved and not be cheated. Raises as `check_app`.

    Args:
        tries: how many generic exploits and repairs, drawn by the seed, are tried.
    """
    return _proved(proof.check_task(task, seed, library=Library(content), tries=tries))


def _proved(report: ProofReport) -> ProofReport:
    if not report.passed:
        raise AssertionError(f"{report.kind} {report.id}, seed {report.seed}:\n{report.explain()}")
    return report
