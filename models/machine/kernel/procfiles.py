"""Files of /proc and /sys that people read on a node, and those they write (`/proc/sys`)."""

from __future__ import annotations

import math

from simcluster.engine import SECOND
from simcluster.engine.clock import unix_seconds
from simcluster.models.machine.cpu import NANOCORES
from simcluster.models.machine.kernel import (
    bootlog,
    groupfiles,
    interrupts,
    memory,
    pressure,
    proctable,
    snmp,
    thermalfiles,
    usage,
)
from simcluster.models.machine.machine import Machine

_SYSCTL = "/proc/sys/"
_LINK = ("carrier", "carrier_changes", "mtu", "operstate", "speed")


def read(machine: Machine, path: str) -> str | None:
    """Text of a file; None if there is none of that name."""
    if path.startswith(_SYSCTL):
        value = machine.os.sysctl(path[len(_SYSCTL) :].replace("/", "."))
        return f"{value}\n" if value else None
    if path.startswith("/proc/pressure/"):
        return pressure.machine_text(machine, path.rpartition("/")[2])
    if path.startswith("/sys/class/net/"):
        return _interface(machine, path[len("/sys/class/net/") :])
    if path.startswith("/sys/fs/cgroup/"):
        return groupfiles.read(machine, path[len("/sys/fs/cgroup/") :])
    if path.startswith("/proc/") and path[len("/proc/") :].partition("/")[0].isdigit():
        return proctable.file_of(machine, path)
    maker = _FILES.get(path)
    return None if maker is None else maker(machine)


def paths(machine: Machine) -> list[str]:
    """All of these files but those of groups and processes."""
    cards = {f"/sys/class/net/{name}/": nic for name, nic in machine.nics.items()}
    return [
        *_FILES,
        *(_SYSCTL + name.replace(".", "/") for name in machine.os.sysctls.names()),
        *(f"/proc/pressure/{resource}" for resource in ("cpu", "io", "memory")),
        *(card + name for card in cards for name in _LINK),
        *(
            f"/sys/class/net/{name}/statistics/{count}"
            for name, nic in machine.nics.items()
            for count in nic.counters()
        ),
    ]


def write(machine: Machine, path: str, text: str) -> str | None:
    """Write to a file of /proc/sys: the error's text or ""; None if the file is none of these."""
    if not path.startswith(_SYSCTL):
        return None
    if not text and read(machine, path) is not None:
        return ""  # it was opened to be written: nothing is cut off, nothing is set
    error = machine.os.sysctls.set(path[len(_SYSCTL) :], text.strip())
    return error.rpartition(": ")[2] if error else ""


def load_text(machine: Machine) -> str:
    """/proc/loadavg."""
    averages = " ".join(f"{value:.2f}" for value in machine.os.load.averages)
    running = max(1, usage.busy(machine) // NANOCORES)
    return f"{averages} {running}/{machine.os.tasks()} {machine.units.last_pid}\n"


def _interface(machine: Machine, rest: str) -> str | None:
    name, _, inner = rest.partition("/")
    nic = machine.nics.get(name)
    if nic is None:
        return None
    if inner.startswith("statistics/"):
        value = nic.counters().get(inner[len("statistics/") :])
        return None if value is None else f"{value}\n"
    known = {
        "carrier": int(nic.carrier), "operstate": "up" if nic.carrier else "down", "mtu": 1500,
        "speed": nic.speed_mbps if nic.carrier else -1, "carrier_changes": nic.carrier_changes,
    }  # fmt: skip
    return f"{known[inner]}\n" if inner in known else None


def _meminfo(machine: Machine) -> str:
    return memory.meminfo_text(memory.info(machine, machine.os.shared_bytes()))


def _uptime(machine: Machine) -> str:
    times = machine.os.times.all()
    up, idle = _ticks(machine.sim.now - machine.booted_ns), _ticks(times.idle + times.iowait)
    return f"{up // 100}.{up % 100:02d} {idle // 100}.{idle % 100:02d}\n"


def _cpuinfo(machine: Machine) -> str:
    mhz, cores = thermalfiles.mhz(machine), machine.cpu_cores
    rows = (
        ("vendor_id", "GenuineIntel"), ("cpu family", 6), ("model", 85),
        ("model name", "Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz"), ("stepping", 7), ("microcode", "0x5003604"),
        ("cpu MHz", f"{mhz:.3f}"), ("cache size", "28160 KB"), ("physical id", 0), ("siblings", cores),
        ("cpu cores", cores), ("fpu", "yes"), ("fpu_exception", "yes"), ("cpuid level", 22), ("wp", "yes"),
        ("bogomips", "5000.00"), ("clflush size", 64), ("cache_alignment", 64),
        ("address sizes", "46 bits physical, 48 bits virtual"), ("power management", ""),
    )  # fmt: skip
    found = []
    for number in range(cores):
        lines = [("processor", number), *rows[:9], ("core id", number), *rows[9:]]
        found.append("".join(f"{name}{chr(9) * max(1, 2 - len(name) // 8)}: {value}\n" for name, value in lines))
    return "\n".join(found) + "\n"


def _ticks(span_ns: int) -> int:
    return span_ns // (SECOND // 100)


def _stat(machine: Machine) -> str:
    rows = [("cpu ", machine.os.times.all())]
    rows += [(f"cpu{number}", times) for number, times in enumerate(machine.os.times.each())]
    lines = []
    for name, times in rows:
        parts = (times.user, 0, times.system, times.idle, times.iowait, 0, 0, times.steal, 0, 0)
        lines.append(f"{name} " + " ".join(str(_ticks(part)) for part in parts))
    blocked = int(math.fsum(usage.blocked(machine).values()))
    lines += [
        f"intr {interrupts.all_of(machine)} 0",
        f"ctxt {interrupts.switches(machine)}",
        f"btime {unix_seconds(machine.booted_ns + machine.os.clock.offset_ns())}",
        f"processes {machine.units.last_pid}",
        f"procs_running {max(1, usage.busy(machine) // NANOCORES)}",
        f"procs_blocked {blocked}",
    ]
    return "\n".join(lines) + "\n"


def _netdev(machine: Machine) -> str:
    lines = [
        "Inter-|   Receive                                                |  Transmit\n",
        " face |bytes    packets errs drop fifo frame compressed multicast"
        "|bytes    packets errs drop fifo colls carrier compressed\n",
    ]
    rows = [("lo", dict.fromkeys(next(iter(machine.nics.values())).counters(), 0), 0)]
    rows += [(name, nic.counters(), nic.carrier_changes - 1) for name, nic in machine.nics.items()]
    for name, n, lost in rows:
        lines.append(
            f"{name:>6}: {n['rx_bytes']:7d} {n['rx_packets']:7d} {n['rx_errors']:4d} {n['rx_dropped']:4d}    0     0"
            f"          0         0 {n['tx_bytes']:8d} {n['tx_packets']:7d} {n['tx_errors']:4d} {n['tx_dropped']:4d}"
            f"    0     0 {lost:7d}          0\n"
        )
    return "".join(lines)


def _cmdline(machine: Machine) -> str:
    return bootlog.command_line(machine) + "\n"


def _version(machine: Machine) -> str:
    return (
        f"Linux version {machine.identity.kernel_version} (buildd@lcy02-amd64-080) (x86_64-linux-gnu-gcc-13 (Ubuntu "
        "13.2.0-23ubuntu4) 13.2.0, GNU ld (GNU Binutils for Ubuntu) 2.42) #45-Ubuntu SMP PREEMPT_DYNAMIC Fri Aug 30 "
        "12:02:04 UTC 2024\n"
    )


def _vmstat(machine: Machine) -> str:
    found = memory.info(machine, machine.os.shared_bytes())
    kills = machine.os.all_kills()
    rows = (("nr_free_pages", found.free >> 12), ("nr_anon_pages", found.anonymous >> 12),
            ("nr_file_pages", (found.cached + found.buffers) >> 12), ("nr_shmem", found.shared >> 12),
            ("pswpin", 0), ("pswpout", 0), ("oom_kill", kills))  # fmt: skip
    return "".join(f"{name} {value}\n" for name, value in rows)


def _file_nr(machine: Machine) -> str:
    return machine.os.sysctl("fs.file-nr") + "\n"


_FILES = {
    "/proc/cmdline": _cmdline,
    "/proc/cpuinfo": _cpuinfo,
    "/proc/interrupts": interrupts.interrupts_file,
    "/proc/loadavg": load_text,
    "/proc/meminfo": _meminfo,
    "/proc/net/dev": _netdev,
    "/proc/net/netstat": snmp.netstat_file,
    "/proc/net/snmp": snmp.snmp_file,
    "/proc/net/sockstat": snmp.sockstat_file,
    "/proc/net/softnet_stat": interrupts.softnet_file,
    "/proc/softirqs": interrupts.softirqs_file,
    "/proc/stat": _stat,
    "/proc/uptime": _uptime,
    "/proc/version": _version,
    "/proc/vmstat": _vmstat,
    "/sys/fs/file-nr": _file_nr,
}
