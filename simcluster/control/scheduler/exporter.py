"""Metrics of the scheduler: attempts, how long they took, and who waits.

Names, buckets and help texts: pkg/scheduler/metrics of Kubernetes 1.32. Left out: durations of plugins and of
extension points.
"""

from __future__ import annotations

from simcluster.control.scheduler.queue import SchedulingQueue
from simcluster.telemetry.metrics.columns import Columns, Group, Row, Samples, counter, gauge, histogram, labels
from simcluster.telemetry.metrics.tally import Bounds, Tally

#: ExponentialBuckets(0.001, 2, 15).
BOUNDS = Bounds.of(
    *("0.001", "0.002", "0.004", "0.008", "0.016", "0.032", "0.064", "0.128", "0.256", "0.512", "1.024", "2.048"),
    *("4.096", "8.192", "16.384"),
)
RESULTS = ("scheduled", "unschedulable", "error")
_ATTEMPTS = Columns(
    (
        counter("scheduler_schedule_attempts_total", "[STABLE] Number of attempts to schedule pods, by the result. "
                "'unschedulable' means a pod could not be scheduled, while 'error' means an internal scheduler "
                "problem."),
        histogram("scheduler_scheduling_attempt_duration_seconds", "[STABLE] Scheduling attempt latency in seconds "
                  "(scheduling algorithm + binding)", BOUNDS.shown),
    )
)  # fmt: skip
_QUEUES = ("active", "backoff", "unschedulable", "gated")
_PENDING = Columns(
    (
        gauge("scheduler_pending_pods", "[STABLE] Number of pending pods, by the queue type. 'active' means number of "
              "pods in activeQ; 'backoff' means number of pods in backoffQ; 'unschedulable' means number of pods in "
              "unschedulablePods that the scheduler attempted to schedule and failed; 'gated' is the number of "
              "unschedulable pods that the scheduler never attempted to schedule because they are gated.",
              *(labels(queue=queue) for queue in _QUEUES)),
        counter("scheduler_preemption_attempts_total", "[STABLE] Total preemption attempts in the cluster till now"),
    )
)  # fmt: skip


class Attempts:
    """What one process of the scheduler has tried.

    Attributes:
        preemptions: how often it looked for pods to evict.
    """

    def __init__(self) -> None:
        self.preemptions = 0
        self._tallies = {result: Tally(BOUNDS) for result in RESULTS}

    def ended(self, result: str, lasted_ns: int) -> None:
        """An attempt has ended."""
        self._tallies[result].observe(lasted_ns)

    def samples(self, queue: SchedulingQueue) -> Samples:
        """All of it."""
        backing, parked = len(queue.backing_off), len(queue.unschedulable)
        waiting = (max(0, len(queue) - backing - parked), backing, parked, 0)
        found: dict[Group, Row] = {Group(_PENDING): _PENDING.row((*waiting, self.preemptions))}
        for result, tally in self._tallies.items():
            numbers = tally.numbers()
            if numbers[-1]:
                own = labels(profile="default-scheduler", result=result)
                found[Group(_ATTEMPTS, own)] = _ATTEMPTS.row((numbers[-1], *numbers))
        return found
