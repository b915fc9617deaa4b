"""What a program says of itself from time to time: how often it was asked, and how often it had to ask.

A line every so often with whole counts of the time since the line before: requests it finished, and
for every host it calls the attempts made, those that failed, and why. It is what tells an operator of
retries: attempts over requests. Left out: latencies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.engine import SECOND, Timer, format_rfc3339
from simcluster.models.apps.behaviour import Report
from simcluster.models.apps.marks import fill
from simcluster.models.traffic.cluster.server import Happened

if TYPE_CHECKING:
    from simcluster.models.machine.container import Container
    from simcluster.models.traffic.cluster.engine import TrafficEngine


class SelfReport:
    """The counters of one process."""

    def __init__(self, container: Container, traffic: TrafficEngine, report: Report) -> None:
        self._container = container
        self._traffic = traffic
        self._report = report
        self._requests = 0
        self._errors = 0
        self._ends: list[tuple[int, int, int]] = []  # when requests end, how many, and how many of them with an error
        self._since_ns = container.sim.now
        self._timer: Timer | None = container.sim.after(report.every, self._tell)

    def count(self, t_ns: int, happened: Happened) -> None:
        """Requests that began in a tick, or ended: they count when they have ended."""
        for each in happened.served:
            self._ends.append((t_ns + int(each.latency.mean), each.requests, 0))
        for lost in happened.failed:
            if lost.call.required:
                self._ends.append((t_ns + int(lost.before.mean + lost.after_ns), lost.calls, lost.calls))
        for known in happened.followed:
            errors = sum(failed.calls for failed in known.failed if failed.call.required)  # integers
            self._ends.append((t_ns, known.served + errors, errors))
        self._settle(t_ns)

    def _settle(self, now: int) -> None:
        """Count those that have ended by now."""
        for end_ns, requests, errors in self._ends:
            if end_ns <= now:
                self._requests += requests
                self._errors += errors
        self._ends = [each for each in self._ends if each[0] > now]

    def stop(self) -> None:
        """The process is gone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def leapt(self, since_ns: int) -> None:
        """Idle time since an instant was skipped: it had nothing to say, and began anew as often."""
        self._since_ns += self._container.sim.now - since_ns

    def _tell(self) -> None:
        now = self._container.sim.now
        self._settle(now)
        hosts: dict[str, list[int]] = {}
        spec = self._container.spec
        for edge in self._traffic.history.between(self._since_ns, now):
            key = edge.key
            if key.pod == spec.pod_name and key.container == spec.name and key.namespace == spec.namespace:
                counts = hosts.setdefault(f"{key.host}:{key.port}", [0, 0, 0])
                counts[0] += edge.sent
                counts[1] += sum(edge.errors.values())  # integers
                counts[2] += edge.errors.get("deadline", 0) + edge.errors.get("timeout", 0)
        for host, (attempts, failed, timeouts) in hosts.items():
            marks = {
                "time": format_rfc3339(now, digits=3),
                "window_s": str((now - self._since_ns) // SECOND),
                "requests": str(self._requests),
                "errors": str(self._errors),
                "upstream": host,
                "attempts": str(attempts),
                "failed": str(failed),
                "timeouts": str(timeouts),
                "per_request": _hundredths(attempts, self._requests),
            }
            self._container.write(fill(self._report.text, marks.__getitem__), "stdout")
        self._requests = self._errors = 0
        self._since_ns = now
        self._timer = self._container.sim.after(self._report.every, self._tell)


def _hundredths(part: int, whole: int) -> str:
    """A ratio with two digits, as integers give it."""
    if not whole:
        return "0.00"
    hundredths = (100 * part + whole // 2) // whole
    return f"{hundredths // 100}.{hundredths % 100:02d}"
