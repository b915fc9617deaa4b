"""SRE-Zero's metrics of an episode, and its marks of several."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from simcluster.eval.process.measures import marks_of as _marks

Metrics = Mapping[str, Any]


def marks_of(episodes: Sequence[Metrics], target_steps: int = 8) -> float:
    """Marks, 0 to 100: 40 success, 25 reward, 20 evidence, 10 efficiency, 5 valid actions.

    Args:
        episodes: what `SREEnv.metrics` gave at the end of each, at least one.
        target_steps: with which a solution is as short as it should be.
    """
    rows = [
        {
            "success": one["success"],
            "reward": one["final_reward"],
            "evidence_coverage": one["evidence_coverage"],
            "steps": one["total_steps"],
            "invalid_actions": one["invalid_actions"],
        }
        for one in episodes
    ]
    return _marks(rows, target_steps)


def metrics_of(episodes: Sequence[Metrics]) -> dict[str, float]:
    """Means and rates of several episodes, by SRE-Zero's names."""
    count = len(episodes)
    steps = sum(one["total_steps"] for one in episodes)  # integers
    remedies = max(1, sum(one["remediation_actions"] for one in episodes))  # integers

    def total(name: str) -> int:
        return sum(int(one[name]) for one in episodes)  # integers

    return {
        "success_rate": total("success") / count,
        "mean_reward": math.fsum(one["final_reward"] for one in episodes) / count,
        "mean_steps": steps / count,
        "evidence_coverage": math.fsum(one["evidence_coverage"] for one in episodes) / count,
        "invalid_action_rate": total("invalid_actions") / max(1, steps),
        "wrong_remediation_rate": total("wrong_remediations") / remedies,
        "premature_resolution_rate": total("premature_resolutions") / count,
        "distractor_failure_rate": total("distractor_failures") / remedies,
        "root_cause_identification_rate": total("root_cause_identified") / count,
        "fix_identification_rate": total("fix_identified") / count,
    }
