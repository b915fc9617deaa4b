"""Which program of the host is where: the one table of all families.

systemctl and journalctl belong to the node shell, which speaks to the units and the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from simcluster.models.machine.hosttools import (
    blockdevices,
    clocktools,
    cputools,
    crictl,
    ctr,
    diskchecks,
    diskfree,
    dmesg,
    enter,
    files,
    filesystems,
    iostat,
    ipmitool,
    iptool,
    kerneltools,
    linktools,
    modules,
    nvmecli,
    powertools,
    processes,
    proxytables,
    rawdisk,
    signals,
    smartctl,
    sockettools,
    sysstat,
    system,
    tcpdump,
    thermaltools,
)
from simcluster.models.machine.machine import Machine
from simcluster.models.userland.outcome import Outcome

Tool = Callable[["Machine", list[str], str], Outcome]

#: Program -> function(machine, arguments, standard input).
TOOLS: dict[str, Tool] = {
    **blockdevices.TOOLS,
    **clocktools.TOOLS,
    **cputools.TOOLS,
    **crictl.TOOLS,
    **ctr.TOOLS,
    **diskchecks.TOOLS,
    **diskfree.TOOLS,
    **dmesg.TOOLS,
    **enter.TOOLS,
    **files.TOOLS,
    **filesystems.TOOLS,
    **iostat.TOOLS,
    **ipmitool.TOOLS,
    **iptool.TOOLS,
    **kerneltools.TOOLS,
    **linktools.TOOLS,
    **modules.TOOLS,
    **nvmecli.TOOLS,
    **powertools.TOOLS,
    **processes.TOOLS,
    **proxytables.TOOLS,
    **rawdisk.TOOLS,
    **signals.TOOLS,
    **smartctl.TOOLS,
    **sockettools.TOOLS,
    **sysstat.TOOLS,
    **system.TOOLS,
    **tcpdump.TOOLS,
    **thermaltools.TOOLS,
}


def run_on_host(machine: Machine, argv: Sequence[str], stdin: str = "") -> Outcome | None:
    """Run a program of the host; None if there is no such program."""
    tool = TOOLS.get(argv[0].rpartition("/")[2])
    return None if tool is None else tool(machine, list(argv[1:]), stdin)
