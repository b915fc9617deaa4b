"""Grades a diagnosis: nine questions in three dimensions, answered by rule and explained."""

from simcluster.eval.judge.claims import Claim, parse_claims
from simcluster.eval.judge.judge import DiagnosisVerdict, QuestionAnswer, judge

__all__ = ["Claim", "DiagnosisVerdict", "QuestionAnswer", "judge", "parse_claims"]
