"""The rule-based agent: written rules, in order, until nothing is found any more."""

from simcluster.agents.runbook.agent import Runbook

__all__ = ["Runbook"]
