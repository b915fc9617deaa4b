"""What each write of an operator cost users or saved them, and how much of the loss was avoidable."""

from simcluster.eval.counterfactuals.branches import Work, counterfactuals
from simcluster.eval.counterfactuals.regret import Counterfactuals, Deed

__all__ = ["Counterfactuals", "Deed", "Work", "counterfactuals"]
