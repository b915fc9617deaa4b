"""Incidents as environments of reinforcement learning: `gymnasium.make("simcluster/TASK-v0")`.

`register` is called by Gymnasium itself, through the entry point `gymnasium.envs`; nothing is imported until an
environment is made.
"""

from __future__ import annotations

from simcluster.eval.training.registration import register

__all__ = ["register"]
