"""Proofs of applications, faults and tasks, for the tests of whoever wrote them."""

from __future__ import annotations

from pathlib import Path

from simcluster.engine.content import Library
from simcluster.eval import proof
from simcluster.eval.proof import ProofReport


def check_app(app: str, seed: int = 0, *content: Path) -> ProofReport:
    """An application comes up, serves its users, and answers as its `cases.yaml` says.

    Args:
        content: folders of content that belong to no installed package.

    Raises:
        AssertionError: it does not; the message says what is not so.
        UnknownName, ContentError, PluginError: it cannot even be loaded.
    """
    return _proved(proof.check_app(app, seed, library=Library(content)))


def check_fault(fault_id: str, seed: int = 0, *content: Path) -> ProofReport:
    """A fault can happen as its family's `cases.yaml` says, and a task that has it is right. Raises as `check_app`."""
    return _proved(proof.check_fault(fault_id, seed, library=Library(content)))


def check_task(task: str, seed: int = 0, *content: Path) -> ProofReport:
    """A task (an id or a file) can be noticed, solved and not be cheated. Raises as `check_app`."""
    return _proved(proof.check_task(task, seed, library=Library(content)))


def _proved(report: ProofReport) -> ProofReport:
    if not report.passed:
        raise AssertionError(f"{report.kind} {report.id}, seed {report.seed}:\n{report.explain()}")
    return report
