"""The scheduling queue: active, backing off, unschedulable.

Source: kubernetes pkg/scheduler/backend/queue/scheduling_queue.go.
"""

from __future__ import annotations

from heapq import heappop, heappush

from simcluster.control.scheduler.nodeinfo import PodInfo
from simcluster.engine import MINUTE, SECOND

#: podInitialBackoffSeconds and podMaxBackoffSeconds.
BACKOFF_INITIAL_NS = SECOND
BACKOFF_MAX_NS = 10 * SECOND
#: DefaultPodMaxInUnschedulablePodsDuration, looked at every 30 s.
UNSCHEDULABLE_MAX_NS = 5 * MINUTE
UNSCHEDULABLE_FLUSH_NS = 30 * SECOND


def backoff_ns(attempts: int) -> int:
    """How long after an attempt a pod may not be tried again, in nanoseconds.

    >>> [backoff_ns(n) // SECOND for n in (1, 2, 3, 4, 5, 9)]
    [1, 2, 4, 8, 10, 10]
    """
    return min(BACKOFF_MAX_NS, BACKOFF_INITIAL_NS << (attempts - 1)) if attempts else 0


class QueuedPod:
    """A pod that waits for a node.

    Attributes:
        attempts: how often it was tried.
        since_ns: instant of the last attempt, or of arrival.
        refused_by: names of the plugins that refused it last.
    """

    __slots__ = ("attempts", "info", "refused_by", "since_ns")

    def __init__(self, info: PodInfo, now_ns: int) -> None:
        self.info = info
        self.attempts = 0
        self.since_ns = now_ns
        self.refused_by: tuple[str, ...] = ()


class SchedulingQueue:
    """Pods by key, each in at most one of the three parts."""

    def __init__(self) -> None:
        self._active: list[tuple[int, int, int, str]] = []  # -priority, since, sequence, key
        self._sequence = 0
        self._pods: dict[str, QueuedPod] = {}
        self._in_active: dict[str, int] = {}  # key -> sequence of its live heap entry
        self.backing_off: dict[str, QueuedPod] = {}
        self.unschedulable: dict[str, QueuedPod] = {}

    def __len__(self) -> int:
        return len(self._pods)

    @property
    def has_work(self) -> bool:
        """Whether a pod can be popped."""
        return bool(self._in_active)

    def get(self, key: str) -> QueuedPod | None:
        """The waiting pod, or None."""
        return self._pods.get(key)

    def activate(self, queued: QueuedPod) -> None:
        """Make the pod ready to be tried now."""
        key = queued.info.key
        self.backing_off.pop(key, None)
        self.unschedulable.pop(key, None)
        self._pods[key] = queued
        self._sequence += 1
        self._in_active[key] = self._sequence
        heappush(self._active, (-queued.info.priority, queued.since_ns, self._sequence, key))

    def pop(self) -> QueuedPod | None:
        """Take out the most urgent active pod: highest priority, then longest waiting."""
        while self._active:
            _, _, sequence, key = heappop(self._active)
            if self._in_active.get(key) == sequence:
                del self._in_active[key]
                return self._pods.pop(key)
        return None

    def remove(self, key: str) -> None:
        """Forget the pod."""
        self._pods.pop(key, None)
        self._in_active.pop(key, None)
        self.backing_off.pop(key, None)
        self.unschedulable.pop(key, None)

    def park(self, queued: QueuedPod) -> None:
        """Nothing to try until something changes."""
        self._pods[queued.info.key] = queued
        self.unschedulable[queued.info.key] = queued

    def wake(self, queued: QueuedPod, now_ns: int) -> int:
        """Let a parked pod be tried again; returns nanoseconds of back-off still to wait.

        With 0 it is active now; otherwise the caller calls `activate` after that time.
        """
        left = queued.since_ns + backoff_ns(queued.attempts) - now_ns
        if left <= 0:
            self.activate(queued)
            return 0
        self.unschedulable.pop(queued.info.key, None)
        self._pods[queued.info.key] = queued
        self.backing_off[queued.info.key] = queued
        return left
