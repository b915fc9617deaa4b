"""Every value in a node's pseudo file systems, or of a tool that shows its hardware, that nothing moves, and why.

All others follow from the machine's state: a test walks the files through faults and fails on a value that neither
moves nor stands here, and on a row here that names none. Kernel parameters have a table of their own
(`kernel.sysctltable`). CPUs, groups and processes are taken together (`cpuN`, `kubepods-podUID.slice`, `PID`).
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple


class Constant(NamedTuple):
    """Values that stay: patterns of the file (or the tool's command line) and of the words of the line.

    Attributes:
        columns: which numbers of the line, counted from 0; all if there are none.
        why: what stands behind it.
    """

    path: str
    row: str
    columns: tuple[int, ...]
    why: str

    def names(self, path: str, row: str, column: int) -> bool:
        """Whether a value is one of these."""
        fits = fnmatchcase(path, self.path) and fnmatchcase(row, self.row)
        return fits and (not self.columns or column in self.columns)


_MAKE = "the make of the hardware: all machines are alike"
_NO_SWAP = "there is no swap (the kubelet runs without)"
_NO_FAULT = "no model has such a fault"
_NOT_LEFT = "this kind of time, traffic or request is left out"
_SCOPE = "/sys/fs/cgroup/kubepods.slice/kubepods-podUID.slice/cri-containerd-ID.scope/"
_GROUPS = "/sys/fs/cgroup/kubepods.slice*"

CONSTANTS = (
    Constant("/proc/PID/c*", "*", (), "a process' name, command and group: they are what it is"),
    Constant("/proc/PID/environ", "*", (), "what a process was started with"),
    Constant("/proc/PID/statm", "*", (3, 4, 6), "text, libraries and dirty pages are not told apart"),
    Constant("/proc/modules", "*", (), "sizes of modules, and addresses that no user may see"),
    Constant("/proc/PID/limits", "Max [!o]*", (), "limits that nobody sets; open files and processes have their own"),
    Constant("/proc/PID/limits", "Max open*", (1,), "the hard limit is containerd's: only soft ones are lowered"),
    Constant("/proc/PID/status", "FDSize", (), "tables of descriptors grow by doubling from 64"),
    Constant("/proc/PID/status", "Umask", (), "systemd's and containerd's default"),
    Constant("/proc/PID/status", "VmSwap*", (), _NO_SWAP),
    Constant("/proc/cpuinfo", "*", (), _MAKE),
    Constant("/proc/diskstats", "*", (0, 1), "major and minor numbers"),
    Constant("/proc/diskstats", "nvme0n1p1", (), "the firmware's partition: nobody reads or writes it"),
    Constant("/proc/diskstats", "*", (13, 14, 15, 16), "discards: nobody trims"),
    Constant("/proc/interrupts", "ERR", (), _NO_FAULT),
    Constant("/proc/interrupts", "MIS", (), _NO_FAULT),
    Constant("/proc/interrupts", "PCI-MSIX *", (0,), "numbers of interrupts"),
    Constant("/proc/meminfo", "Dirty*", (), "what journald and the kubelet wrote in the last seconds"),
    Constant("/proc/meminfo", "Swap*", (), _NO_SWAP),
    Constant("/proc/meminfo", "Unevictable*", (), "nobody locks memory"),
    Constant("/proc/meminfo", "Mlocked*", (), "nobody locks memory"),
    Constant("/proc/meminfo", "Writeback*", (), "writes go to the drive when they are made"),
    Constant("/proc/meminfo", "VmallocTotal*", (), "the address space of x86-64"),
    Constant("/proc/*mounts", "*", (), "dump and fsck order in the kernel's list; the modes of tmpfs"),
    Constant("/proc/net/dev", "eth0", (3, 4, 5, 6, 7, 10, 12, 13, 15), _NOT_LEFT),
    Constant("/proc/net/dev", "lo", (), "what a node says to itself is not counted by interface"),
    Constant("/proc/net/netstat", "TcpExt", (3,), "requests and answers are single segments: timers repair them"),
    Constant("/proc/net/netstat", "TcpExt", (9,), "callers give up before TCP does"),
    Constant("/proc/net/snmp", "Tcp", (0, 1, 2, 3), "bounds of TCP's timers (include/net/tcp.h)"),
    Constant("/proc/net/snmp", "Tcp", (12, 14), "the card drops damaged frames: see rx_crc_errors"),
    Constant("/proc/net/sockstat", "[!Ts]*", (), "sockets of resolvers and chrony; " + _NOT_LEFT),
    Constant("/proc/net/sockstat", "TCP*", (1,), "closed sockets do not wait for their peers"),
    Constant("/proc/net/softnet_stat", "", (), "queues of CPUs never overflow; the last number is the CPU's"),
    Constant("/proc/partitions", "*", (), _MAKE),
    Constant("/proc/stat", "cpu*", (1, 5, 6, 8, 9), _NOT_LEFT + " (nice, irq, softirq, guests)"),
    Constant("/proc/stat", "intr", (1,), "single interrupts: see /proc/interrupts"),
    Constant("/proc/version", "*", (), "the kernel that is installed"),
    Constant("/proc/vmstat", "pswp*", (), _NO_SWAP),
    Constant("/sys/block/*/device/[!s]*", "*", (), _MAKE),
    Constant("/sys/block/nvme0n1/device/state", "", (), "`dead` when it was given up: see that of sda"),
    Constant("/sys/block/*/queue/*", "*", (), _MAKE),
    Constant("/sys/block/*/r*", "*", (), "drives are neither removable nor write protected"),
    Constant("/sys/block/*/size", "", (), _MAKE),
    Constant("/sys/block/*/stat", "", (11, 12, 13, 14), "discards: nobody trims"),
    Constant("/sys/class/hwmon/hwmon0/*", "*", (), _MAKE + "; temperatures are temp*_input"),
    Constant("/sys/class/net/eth0/mtu", "", (), _MAKE),
    Constant("/sys/class/net/eth0/statistics/?x_*ed", "", (), "rings of the card never overflow"),
    Constant("/sys/class/net/eth0/statistics/tx_errors", "", (), _NO_FAULT),
    Constant("/sys/class/thermal/thermal_zone0/type", "", (), _MAKE),
    Constant("/sys/devices/system/edac/mc/mc0/ue_count", "*", (), _NO_FAULT),
    Constant("/sys/devices/system/cpu/cpuN/cpufreq/*", "*", (), _MAKE + "; clocks are *_cur_freq"),
    Constant("/proc/pressure/cpu", "full*", (), "the kernel defines none for the whole machine (psi.c)"),
    Constant("/sys/fs/cgroup/cpu.pressure", "full*", (), "the kernel defines none for the whole machine (psi.c)"),
    Constant(_GROUPS, "*burst*", (), "the kubelet sets no burst"),
    Constant(_SCOPE + "cpu.max", "*", (0, 1), "the kubelet's period of 100 ms, and the container's limit"),
    Constant(_SCOPE + "io.stat", "*", (6, 7), "discards: nobody trims"),
    Constant(_SCOPE + "io.stat", "*", (1,), "the drive's minor number"),
    Constant(_GROUPS + "memory.events", "high", (), "the kubelet sets no memory.high"),
    Constant(_GROUPS + "memory.events", "low", (), "the kubelet sets no memory.low"),
    Constant(_SCOPE + "memory.events", "oom*", (), "a container dies with its group: its pod's group goes on counting"),
    Constant(_SCOPE + "memory.high", "", (), "the kubelet sets no memory.high"),
    Constant(_SCOPE + "memory.oom.group", "", (), "the kubelet sets it (1.28 and later)"),
    Constant(_SCOPE + "memory.stat", "file_*", (), "writes go to the drive when they are made"),
    Constant(_SCOPE + "memory.stat", "kernel_stack", (), "stacks of a server's twelve threads"),
    Constant(_SCOPE + "memory.stat", "sock", (), "buffers of sockets are not counted"),
    Constant(_SCOPE + "memory.swap.*", "", (), _NO_SWAP),
    Constant(_SCOPE + "pids.max", "", (), "the kubelet limits the pod's group"),
    Constant("/sys/fs/cgroup/system.slice/*", "", (), "systemd's default CPUWeight: no unit file sets another"),
    Constant("/sys/fs/cgroup/kubepods.slice*/pids.max", "", (), "the kubelet limits the pod's group"),
    Constant("/sys/fs/file-nr", "", (1, 2), "always 0 since Linux 2.6; fs.file-max"),
    Constant("conntrack -S", "*", (1, 3), "always 0 since Linux 4.10"),
    Constant("conntrack -S", "*", (2, 4, 7, 8, 9, 10), _NO_FAULT),
    Constant("ipmitool sdr", "FAN[234]*", (), "fans of the chassis: they turn as long as there is power"),
    Constant("ipmitool sdr", "FAN1*", (), "a row for each state: see its word"),
    Constant("ipmitool sdr", "CPU Temp*", (), "a row for each state: see its word"),
    Constant("ipmitool sdr", "Inlet*", (), "the room's air"),
    Constant("nvme *", "*", (), "the drive's make, earlier life and health: no task breaks an NVMe drive's media"),
    Constant("sensors", "*", (0,), "labels, and limits of the make"),
    Constant("smartctl -A /dev/nvme0n1", "*", (), "see nvme smart-log"),
    Constant(
        "smartctl -A /dev/sda", "*", (0, 1, 3, 4), "numbers, flags and limits of attributes, and their worst value"
    ),
    Constant("smartctl -A /dev/sda", "*_Rate *", (), "rates of the make's own unit: no model reads them"),
    Constant("smartctl -A /dev/sda", "Spin_*", (), _NO_FAULT),
    Constant("smartctl -A /dev/sda", "End-to-End_Error*", (), _NO_FAULT),
    Constant("smartctl -A /dev/sda", "*_Co?nt *", (2,), "far above its limit: moves one in a hundred"),
    Constant("smartctl -A /dev/sda", "Reallocated*", (2,), "spare sectors: a per cent is twenty of them"),
    Constant("smartctl -A /dev/sda", "Power_*", (2,), "moves in years"),
    Constant("smartctl -A /dev/sda", "UDMA_CRC*", (), "no model has a bad cable"),
    Constant("smartctl -A /dev/sda", "[COP]*", (2, 5), "normalized values, and counts that grow by hours or faults"),
    Constant("smartctl -A /dev/sda", "smartctl*", (), "its version"),
    Constant("smartctl -A /dev/sda", "SMART*", (), "its version"),
)
