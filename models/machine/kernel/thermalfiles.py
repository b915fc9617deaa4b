"""Files of /sys and /proc about clocks and temperatures: cpufreq, thermal_throttle, thermal zones, hwmon.

Left out: the thresholds that somebody may write, single cores (all have the package's temperature).
"""

from __future__ import annotations

from simcluster.models.machine.cooling import LIMIT_C
from simcluster.models.machine.machine import Machine

#: Nominal frequency of a core, and the lowest P-state.
NOMINAL_MHZ, LOWEST_MHZ = 2500.0, 800.0
#: From here on all fans should turn (coretemp's `max`).
HIGH_C = 85.0
_CPUS, _ZONES, _CHIPS = "/sys/devices/system/cpu/", "/sys/class/thermal/", "/sys/class/hwmon/"
_GOVERNORS = "conservative ondemand userspace powersave performance schedutil"


def read(machine: Machine, path: str) -> str | None:
    """Text of a file; None if there is none of that name."""
    for root, reader in ((_CPUS, _cpu), (_ZONES, _zone), (_CHIPS, _chip)):
        if path.startswith(root):
            value = reader(machine, path[len(root) :])
            return None if value is None else f"{value}\n"
    return None


def paths(machine: Machine) -> list[str]:
    """All of these files."""
    cpus = ["cpufreq/" + name for name in _frequencies(machine)]
    cpus += ["thermal_throttle/core_throttle_count", "thermal_throttle/package_throttle_count"]
    return [
        *(f"{_CPUS}{name}" for name in ("online", "possible", "present")),
        *(f"{_CPUS}cpu{number}/{name}" for number in range(machine.cpu_cores) for name in cpus),
        *(f"{_ZONES}thermal_zone0/{name}" for name in ("temp", "type")),
        *(f"{_CHIPS}hwmon0/{name}" for name in _coretemp(machine)),
    ]


def mhz(machine: Machine) -> float:
    """What a core runs at, within the limits of the hardware: T-states skip ticks of the lowest clock."""
    return max(LOWEST_MHZ, NOMINAL_MHZ * machine.clock_share)


def _cpu(machine: Machine, rest: str) -> str | None:
    name, _, inner = rest.partition("/")
    if name in ("online", "possible", "present"):
        return f"0-{machine.cpu_cores - 1}" if machine.cpu_cores > 1 else "0"
    if not name.startswith("cpu") or not name[3:].isdigit() or int(name[3:]) >= machine.cpu_cores:
        return None
    if inner.startswith("cpufreq/"):
        return _frequencies(machine).get(inner[len("cpufreq/") :])
    if inner in ("thermal_throttle/core_throttle_count", "thermal_throttle/package_throttle_count"):
        return str(machine.cooling.events)
    return None


def _frequencies(machine: Machine) -> dict[str, str]:
    most, least = str(int(NOMINAL_MHZ * 1000)), str(int(LOWEST_MHZ * 1000))
    now = str(int(mhz(machine) * 1000))
    return {
        "cpuinfo_cur_freq": now, "cpuinfo_max_freq": most, "cpuinfo_min_freq": least, "scaling_cur_freq": now,
        "scaling_max_freq": most, "scaling_min_freq": least, "scaling_driver": "intel_cpufreq",
        "scaling_governor": "schedutil", "scaling_available_governors": _GOVERNORS,
    }  # fmt: skip


def _zone(machine: Machine, rest: str) -> str | None:
    known = {"type": "x86_pkg_temp", "temp": str(int(machine.cooling.temperature_c) * 1000)}
    return known.get(rest.removeprefix("thermal_zone0/")) if rest.startswith("thermal_zone0/") else None


def _chip(machine: Machine, rest: str) -> str | None:
    return _coretemp(machine).get(rest.removeprefix("hwmon0/")) if rest.startswith("hwmon0/") else None


def _coretemp(machine: Machine) -> dict[str, str]:
    degrees = str(int(machine.cooling.temperature_c) * 1000)
    found = {"name": "coretemp"}
    for number, label in enumerate(("Package id 0", *(f"Core {n}" for n in range(machine.cpu_cores))), 1):
        found |= {
            f"temp{number}_label": label, f"temp{number}_input": degrees, f"temp{number}_max": f"{int(HIGH_C) * 1000}",
            f"temp{number}_crit": f"{int(LIMIT_C) * 1000}",
        }  # fmt: skip
    return found
