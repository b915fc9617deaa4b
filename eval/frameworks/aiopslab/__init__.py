"""Incidents in the shape of AIOpsLab's orchestrator: its problems, actions, replies and results."""

from __future__ import annotations

from simcluster.eval.frameworks.aiopslab.orchestrator import Orchestrator
from simcluster.eval.frameworks.aiopslab.problems import ids
from simcluster.eval.frameworks.aiopslab.reply import ReplyError, parsed

__all__ = ["Orchestrator", "ReplyError", "ids", "parsed"]
