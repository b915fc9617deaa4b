"""Grades a diagnosis: nine questions in three dimensions, answered by rule and explained."""

from simcluster.eval.judge.judge import DiagnosisVerdict, QuestionAnswer, judge

__all__ = ["DiagnosisVerdict", "QuestionAnswer", "judge"]
