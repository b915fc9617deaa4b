"""Runs agents on tasks: plans, worker processes, results on disk as they come."""

from simcluster.eval.runner.plan import Plan, PlanError, Run
from simcluster.eval.runner.records import RunDirectory, RunDirectoryError
from simcluster.eval.runner.runner import evaluate

__all__ = ["Plan", "PlanError", "Run", "RunDirectory", "RunDirectoryError", "evaluate"]
