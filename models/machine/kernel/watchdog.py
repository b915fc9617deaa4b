"""What the kernel's watchdogs print: soft lockups and hung tasks, in their formats and at their periods."""

from __future__ import annotations

from simcluster.engine import SECOND
from simcluster.models.machine.kernel.sysctls import Sysctls

#: 2 * kernel.watchdog_thresh without scheduling is a soft lockup; it is repeated as often.
_FACTOR = 2
_BUILD = "#45-Ubuntu"


def lockup_lines(sysctls: Sysctls, cpu: int, stuck_s: int, comm: str, pid: int) -> list[tuple[int, str]]:
    """Lines of a CPU that schedules nobody for `stuck_s`: (nanoseconds after the beginning, text)."""
    period = _FACTOR * sysctls.number("kernel.watchdog_thresh")
    lines = []
    if period <= 0:
        return []
    seen = period + 2  # the watchdog's hrtimer looks every 4 s and says how long it has seen nothing
    while seen <= stuck_s:
        text = f"watchdog: BUG: soft lockup - CPU#{cpu} stuck for {seen}s! [{comm}:{pid}]"
        lines.append((seen * SECOND, text))
        seen += period + 4
    return lines


def hung_lines(comm: str, pid: int, blocked_s: int, release: str) -> list[str]:
    """What khungtaskd prints of a task that has been in uninterruptible sleep for so long."""
    return [
        f"INFO: task {comm}:{pid} blocked for more than {blocked_s} seconds.",
        f"      Not tainted {release} {_BUILD}",
        '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
    ]
