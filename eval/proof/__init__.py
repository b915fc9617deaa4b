"""Proves content: every task shows that it can be seen, solved, and not be cheated."""

from simcluster.eval.proof.apps import check_app
from simcluster.eval.proof.faults import case_findings
from simcluster.eval.proof.findings import Finding, ProofReport
from simcluster.eval.proof.proof import check, check_fault, check_task, known_ids

__all__ = [
    "Finding",
    "ProofReport",
    "case_findings",
    "check",
    "check_app",
    "check_fault",
    "check_task",
    "known_ids",
]
