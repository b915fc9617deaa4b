"""The texts in which the scheduler explains itself.

Source: kubernetes pkg/scheduler/framework/types.go (FitError), 1.32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simcluster.control.scheduler.framework import Rejection

SCHEDULED = "Scheduled"
FAILED_SCHEDULING = "FailedScheduling"
PREEMPTED = "Preempted"
UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"

SKIP_DELETING = "skip schedule deleting pod"
NO_NODES = "no nodes available to schedule pods"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"
NEVER_PREEMPTS = "not eligible due to preemptionPolicy=Never."
VICTIMS_TERMINATING = "not eligible due to terminating pod on the nominated node."


def tally(reasons: Sequence[str]) -> str:
    """Equal reasons counted, sorted as text.

    >>> tally(["Insufficient cpu", "a", "Insufficient cpu"])
    '1 a, 2 Insufficient cpu'
    """
    counts: dict[str, int] = {}
    for reason in reasons:
        counts[reason] = counts.get(reason, 0) + 1
    return ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))


def fit_error(nodes: int, whole: Rejection | None, by_node: Mapping[str, Rejection], tail: str) -> str:
    """The message of FailedScheduling and of the condition PodScheduled.

    Args:
        nodes: how many nodes there are.
        whole: why the pod as such was refused, if no node was looked at.
        by_node: otherwise why each node was refused.
        tail: what preemption had to say, or an empty text.
    """
    if whole is not None:
        text = f": {', '.join(whole.reasons)}."
    else:
        text = f": {tally([reason for entry in by_node.values() for reason in entry.reasons])}."
    message = f"0/{nodes} nodes are available{text}"
    return f"{message} {tail}" if tail else message


def preemption_error(nodes: int, reasons: Sequence[str]) -> str:
    """The tail: why removing pods would not help."""
    return f"preemption: 0/{nodes} nodes are available: {tally(reasons)}."
