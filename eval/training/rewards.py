"""Rewards step by step: SRE-Zero's components and penalties, as they change.

The reward of a step is the change of the raw sum, between -1 and 1, so that the rewards of an episode add up to what
the whole run is worth. What is judged when the work is over (remediation, resolution, efficiency) is paid then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from simcluster.eval.process import measured
from simcluster.eval.process.transcript import Turn


class Rewards:
    """The account of one episode.

    Attributes:
        raw: the sum so far; `parts`: of what it is made.

    Args:
        guide: the header of the transcript.
    """

    def __init__(self, guide: Mapping[str, Any]) -> None:
        self.guide = guide
        self.raw = 0.0
        self.parts: dict[str, float] = {}

    def step(self, turns: Sequence[Turn], *, diagnosed: bool, mended: bool = False, outcome: str = "") -> float:
        """What has changed with the last turn.

        Args:
            diagnosed: whether the diagnosis that was submitted is right.
            mended: whether the incident is over; only known in the end.
            outcome: how the work ended; empty while it goes on.
        """
        grades = {"diagnosis": diagnosed, "mitigation": mended, "outcome": outcome}
        found = measured(self.guide, turns, grades)["srezero"]
        self.parts = {**found["components"], **found["penalties"]}
        raw = math.fsum(self.parts.values())
        change, self.raw = raw - self.raw, raw
        return min(1.0, max(-1.0, change))
