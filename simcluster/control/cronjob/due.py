"""When a CronJob was due last and will be due next, as pure functions.

Source: kubernetes pkg/controller/cronjob/{utils,cronjob_controllerv2}.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from simcluster.control.cronjob.schedule import Schedule, ScheduleError
from simcluster.engine import MILLISECOND, MINUTE, SECOND, parse_rfc3339
from simcluster.engine.clock import unix_seconds

#: nextScheduleDelta: the controller wakes this much after the minute.
WAKE_DELAY_NS = 100 * MILLISECOND
#: More missed starts than this are complained about.
MANY_MISSED = 100


class Due(NamedTuple):
    """The last time a Job should have started, and how many times were missed."""

    at_ns: int | None
    missed: int


def _earliest_ns(cron_job: Mapping[str, Any]) -> int:
    last = (cron_job.get("status") or {}).get("lastScheduleTime")
    return parse_rfc3339(last or cron_job["metadata"]["creationTimestamp"])


def most_recent(cron_job: Mapping[str, Any], schedule: Schedule, now_ns: int, *, within_deadline: bool) -> Due:
    """The latest time due since the last start (mostRecentScheduleTime).

    Args:
        within_deadline: look no further back than `startingDeadlineSeconds`.

    Raises:
        ScheduleError: the schedule has no times.
    """
    earliest = _earliest_ns(cron_job)
    deadline = cron_job["spec"].get("startingDeadlineSeconds")
    if within_deadline and deadline is not None:
        earliest = max(earliest, now_ns - int(deadline) * SECOND)
    first = schedule.next_ns(earliest)
    second = schedule.next_ns(first) if first is not None else None
    if first is None or second is None:
        raise ScheduleError("time difference between two schedules is less than 1 second")
    if now_ns < first:
        return Due(None, 0)
    if now_ns < second:
        return Due(first, 0)
    interval = second - first
    missed = (now_ns - first) // interval + 1
    # Go back to before the last interval, and let the schedule find the exact time from there.
    at_ns: int | None = None
    following = schedule.next_ns(first + (missed - 2) * interval)
    while following is not None and following <= now_ns:
        at_ns, following = following, schedule.next_ns(following)
    return Due(at_ns, missed)


def wait_ns(cron_job: Mapping[str, Any], schedule: Schedule, now_ns: int) -> int | None:
    """How long until the controller looks at the CronJob again; None if it never will be due."""
    try:
        last = most_recent(cron_job, schedule, now_ns, within_deadline=False).at_ns
    except ScheduleError:
        last = None
    following = schedule.next_ns(now_ns if last is None else last)
    if following is None:
        return None
    return max(0, following + WAKE_DELAY_NS - now_ns)


def job_name(cron_job_name: str, at_ns: int) -> str:
    """The name of the Job of one time: the CronJob's, and the minute counted from 1970."""
    return f"{cron_job_name}-{unix_seconds(at_ns) * SECOND // MINUTE}"
