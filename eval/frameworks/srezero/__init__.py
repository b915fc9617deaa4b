"""SRE-Zero's shape: its eight actions, observations, rewards and marks over incidents that act (suite `srezero`)."""

from simcluster.eval.frameworks.srezero.actions import Action, ActionError, parsed
from simcluster.eval.frameworks.srezero.environment import Observation, SREEnv, StepResult
from simcluster.eval.frameworks.srezero.marks import marks_of, metrics_of

__all__ = ["Action", "ActionError", "Observation", "SREEnv", "StepResult", "marks_of", "metrics_of", "parsed"]
