"""Grades a diagnosis: nine questions in three dimensions, answered by rule and explained."""

from simcluster.eval.judge.claims import Claim, parse_claims
from simcluster.eval.judge.faultless import judge_faultless
from simcluster.eval.judge.judge import judge
from simcluster.eval.judge.verdicts import ClaimVerdict, DiagnosisVerdict, QuestionAnswer

__all__ = ["Claim", "ClaimVerdict", "DiagnosisVerdict", "QuestionAnswer", "judge", "judge_faultless", "parse_claims"]
