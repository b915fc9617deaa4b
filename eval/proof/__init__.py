"""Proves content: every task shows that it can be seen, solved, and not be cheated."""

from simcluster.eval.proof.proof import Finding, ProofReport, check, check_fault, check_task

__all__ = ["Finding", "ProofReport", "check", "check_fault", "check_task"]
