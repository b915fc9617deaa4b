"""Runs as training data: conversations, steps with rewards, pairs of continuations of which one is better.

Every line carries the digest of the run (or of the instant) that it tells of: `simcluster score` and a replay prove it.
"""

from __future__ import annotations

from simcluster.eval.datasets.chats import chats
from simcluster.eval.datasets.preferences import preferences
from simcluster.eval.datasets.runs import FORMATS
from simcluster.eval.datasets.steps import steps

__all__ = ["FORMATS", "chats", "preferences", "steps"]
