"""How long a Job waits before it replaces a failed pod.

Source: kubernetes pkg/controller/job/backoff_utils.go: 10 s, doubling with every failure
since the last success, at most 10 min, counted from the last failure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from simcluster.api.objects import condition
from simcluster.engine import MINUTE, SECOND, parse_rfc3339

BACKOFF_BASE_NS = 10 * SECOND
BACKOFF_MAX_NS = 10 * MINUTE


class BackoffRecord(NamedTuple):
    """Failures since the last success, and the instant of the last one."""

    failures: int = 0
    last_failure_ns: int = 0

    def after(
        self, succeeded: Sequence[Mapping[str, Any]], failed: Sequence[Mapping[str, Any]], now_ns: int
    ) -> BackoffRecord:
        """The record after these newly finished pods."""
        ends = sorted(finished_ns(pod, now_ns) for pod in failed)
        if not succeeded:
            return BackoffRecord(self.failures + len(ends), ends[-1]) if ends else self
        last_success = max(finished_ns(pod, now_ns) for pod in succeeded)
        later = [end for end in ends if end > last_success]
        return BackoffRecord(len(later), later[-1]) if later else BackoffRecord()

    def remaining_ns(self, now_ns: int) -> int:
        """How long no pod may be created yet; 0 if one may.

        >>> BackoffRecord(3, 0).remaining_ns(5 * SECOND) // SECOND
        35
        """
        return max(0, self.last_failure_ns + delay_ns(self.failures) - now_ns)


def delay_ns(failures: int) -> int:
    """Back-off after so many failures in a row.

    >>> [delay_ns(n) // SECOND for n in (0, 1, 2, 3, 6, 7, 50)]
    [0, 10, 20, 40, 320, 600, 600]
    """
    return min(BACKOFF_MAX_NS, BACKOFF_BASE_NS << min(failures - 1, 40)) if failures else 0


def finished_ns(pod: Mapping[str, Any], now_ns: int) -> int:
    """When a pod ended: its last container, else Ready turning False, its deletion, its creation."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    ends: list[str] = [((e.get("state") or {}).get("terminated") or {}).get("finishedAt") or "" for e in statuses]
    if ends and all(ends):
        return max(parse_rfc3339(end) for end in ends)
    ready = condition(pod, "Ready")
    if ready is not None and ready.get("status") == "False" and ready.get("lastTransitionTime"):
        return parse_rfc3339(ready["lastTransitionTime"])
    deletion = pod["metadata"].get("deletionTimestamp")
    if deletion:
        grace_ns = int(pod["metadata"].get("deletionGracePeriodSeconds") or 0) * SECOND
        return min(now_ns, parse_rfc3339(deletion) - grace_ns)
    return parse_rfc3339(pod["metadata"]["creationTimestamp"])
