"""`dmesg`: what the kernel wrote. Format: util-linux 2.39."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.engine import SECOND, format_rfc3339
from simcluster.engine.clock import month_name, weekday
from simcluster.models.machine.program import ExecResult

if TYPE_CHECKING:
    from simcluster.models.machine.machine import Machine


def dmesg(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    """dmesg: the ring buffer, with -T in wall-clock time."""
    lines = []
    for line in machine.log:
        if line.identifier == "kernel":
            since = line.t_ns - line.wrong_ns - machine.booted_ns  # monotonic: no wrong clock shows here
            stamp = f"[{since // SECOND:5d}.{since % SECOND // 1000:06d}]"
            if "-T" in args:
                text = format_rfc3339(line.t_ns)
                date = f"{weekday(line.t_ns)} {month_name(int(text[5:7]))} {int(text[8:10]):2d}"
                stamp = f"[{date} {text[11:19]} {text[:4]}]"
            lines.append(f"{stamp} {line.text}\n")
    return ExecResult("".join(lines))


TOOLS = {"dmesg": dmesg}
