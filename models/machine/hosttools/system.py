"""Programs about the whole machine: `hostname`, `uname`, `nproc`.

Format: coreutils 9.4 (Ubuntu 24.04).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.models.machine.program import ExecResult

if TYPE_CHECKING:
    from simcluster.models.machine.machine import Machine


def hostname(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    """hostname: the node's name, or its address."""
    return ExecResult(f"{machine.address} \n" if args[:1] in (["-I"], ["-i"]) else f"{machine.name}\n")


def uname(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    """uname: the kernel."""
    kernel = machine.identity.kernel_version
    if args[:1] == ["-r"]:
        return ExecResult(f"{kernel}\n")
    if args[:1] == ["-a"]:
        build = "#45-Ubuntu SMP PREEMPT_DYNAMIC Fri Aug 30 12:02:04 UTC 2024"
        return ExecResult(f"Linux {machine.name} {kernel} {build} x86_64 x86_64 x86_64 GNU/Linux\n")
    return ExecResult("Linux\n")


def nproc(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    """nproc: cores."""
    return ExecResult(f"{machine.cpu_cores}\n")


TOOLS = {"hostname": hostname, "uname": uname, "nproc": nproc}
