"""Files of /proc and /sys that people read on a node, and those they write (`/proc/sys`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.engine import SECOND
from simcluster.models.machine.cpu import NANOCORES
from simcluster.models.machine.kernel import memory, pressure, snmp

if TYPE_CHECKING:
    from simcluster.models.machine.machine import Machine

#: Nominal frequency of a core.
NOMINAL_MHZ = 2500.0
_SYSCTL = "/proc/sys/"


def read(machine: Machine, path: str) -> str | None:
    """Text of a file; None if there is none of that name."""
    if path.startswith(_SYSCTL):
        value = machine.os.sysctl(path[len(_SYSCTL) :].replace("/", "."))
        return f"{value}\n" if value else None
    if path.startswith("/proc/pressure/"):
        resource = path.rpartition("/")[2]
        return pressure.machine_text(machine, resource) if resource in ("cpu", "memory", "io") else None
    if path.startswith("/sys/devices/system/cpu/cpu") and path.endswith("/cpufreq/scaling_cur_freq"):
        return f"{int(NOMINAL_MHZ * 1000 * machine.cpu_speed)}\n"
    if path.startswith("/sys/class/net/"):
        return _interface(machine, path[len("/sys/class/net/") :])
    maker = _FILES.get(path)
    return None if maker is None else maker(machine)


def write(machine: Machine, path: str, text: str) -> str | None:
    """Write to a file of /proc/sys: the error's text or ""; None if the file is none of these."""
    if not path.startswith(_SYSCTL):
        return None
    error = machine.os.sysctls.set(path[len(_SYSCTL) :], text.strip())
    return error.rpartition(": ")[2] if error else ""


def load_text(machine: Machine) -> str:
    """/proc/loadavg: runnable tasks, which is what is demanded and not yet done."""
    load = machine.cpu.demanded() / NANOCORES
    total = machine.os.tasks()
    running = max(1, int(load))
    return f"{load:.2f} {load:.2f} {load:.2f} {running}/{total} {machine.units.last_pid}\n"


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
    up = (machine.sim.now - machine.booted_ns) / SECOND
    idle = max(0.0, up * machine.cpu_cores - machine.cpu_ns() / SECOND)
    return f"{up:.2f} {idle:.2f}\n"


def _cpuinfo(machine: Machine) -> str:
    mhz = NOMINAL_MHZ * machine.cpu_speed
    return "\n".join(
        f"processor\t: {n}\nvendor_id\t: GenuineIntel\ncpu MHz\t\t: {mhz:.3f}\ncpu cores\t: {machine.cpu_cores}\n"
        for n in range(machine.cpu_cores)
    )


def _stat(machine: Machine) -> str:
    used = machine.cpu_ns() // (SECOND // 100)
    up = (machine.sim.now - machine.booted_ns) // (SECOND // 100)
    stolen = up * machine.cpu.stolen // NANOCORES
    idle = max(0, up * machine.cpu_cores - used - stolen)
    return f"cpu  {used * 4 // 5} 0 {used - used * 4 // 5} {idle} 0 0 0 {stolen} 0 0\n"


def _file_nr(machine: Machine) -> str:
    return machine.os.sysctl("fs.file-nr") + "\n"


_FILES = {
    "/proc/cpuinfo": _cpuinfo,
    "/proc/loadavg": load_text,
    "/proc/meminfo": _meminfo,
    "/proc/net/netstat": snmp.netstat_file,
    "/proc/net/snmp": snmp.snmp_file,
    "/proc/net/sockstat": snmp.sockstat_file,
    "/proc/stat": _stat,
    "/proc/uptime": _uptime,
    "/sys/fs/file-nr": _file_nr,
}
NAMES = tuple(_FILES)
