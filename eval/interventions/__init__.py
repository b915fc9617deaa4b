"""Whether a claim names a cause: the incident without it, and the broken world with only that set right."""

from simcluster.eval.interventions.verdict import ClaimVerdict, Court, judge_claim, proved

__all__ = ["ClaimVerdict", "Court", "judge_claim", "proved"]
