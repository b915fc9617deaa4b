"""The parts of a node's machine as facts: what each says of itself, and how each is given another value.

Reading changes nothing and builds nothing: a machine whose drives nobody has asked for has sound ones. Left out: what
a part measures (temperatures, counters, fills), which follows from these.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from simcluster.engine import SECOND
from simcluster.models.machine.hosttools import iptool
from simcluster.models.machine.hosttools.packetrules import rule_of
from simcluster.models.machine.kernel import chrony
from simcluster.models.machine.kernel.clock import UNIT
from simcluster.models.machine.kernel.packetfilter import ACCEPT
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.shell.tree import FileTree
from simcluster.models.machine.storage import Disk, SlowMode

Values = dict[str, Any]
#: Files that programs of the node write as they run, and copies of what the API server has.
_OWN_FILES = ("/var/log/", "/var/lib/kubelet/pods/", "/run/", "/proc/", "/sys/", "/tmp/systemd", "/var/lib/containerd/")
#: The processor's fan, as the management controller calls it.
FAN = "fan/FAN1"
#: Facts of a drive that nobody has touched.
SOUND_DISK: Values = {"slow": [], "unreadable": [], "wrong": [], "outage": None}
#: Clocks that differ by less agree.
_CLOCK_NS = SECOND
_WHOLE = 1 << 60
#: Which unit reads a file when it starts.
_READERS = {chrony.CONFIG: UNIT, "/var/lib/kubelet/config.yaml": "kubelet", "/etc/containerd/config.toml": "containerd"}


def facts_of(machine: Machine) -> dict[str, Values]:
    """What a machine's parts say: part -> path -> value."""
    clock = machine.os.clock
    offset_ns = clock.offset_ns()
    found: dict[str, Values] = {
        "power": {"on": machine.power.on},
        "cpu": {"stolen_share": machine.stolen_share, "cap": machine.slowed.get("cap", 1.0)},
        "memory": {"errors_per_s": machine.dimms.errors_per_s},
        FAN: {"airflow": machine.cooling.airflow},
        "clock": {
            "drift_ppm": clock.drift_ppm,
            "servers": list(clock.servers),
            "wrong": abs(offset_ns) > _CLOCK_NS,
        },
        "sysctl": machine.os.sysctls.writable(),
        "filter": {chain: [rule.text for rule in rules] for chain, rules in machine.os.filter.chains.items()},
        "filter/policy": dict(machine.os.filter.policies),
        "route": {net: f"via {address}" for net, address in iptool.routes(machine).items()},
        "syscalls": {str(number): str(rule) for number, rule in machine.os.syscalls.rules.items()},
        "file": {f"/{path}": text for path, text in machine.files.below("/") if not f"/{path}".startswith(_OWN_FILES)},
    }
    for name, nic in machine.nics.items():
        found[f"nic/{name}"] = {
            "carrier": nic.carrier or any(nic.flaps),  # what flaps is neither up nor down
            "flaps": list(nic.flaps),
            "bandwidth_bps": nic.bandwidth_bps,
            "loss": nic.loss,
            "big_loss": nic.big_loss,
            "delay_ns": nic.delay_ns,
            "jitter_ns": nic.jitter_ns,
        }
    if machine.built_storage is not None:
        found |= {f"disk/{name}": _disk(disk) for name, disk in machine.built_storage.disks.items()}
    for container in machine.runtime.containers() if machine.cpu.halted else ():
        if container.halted:
            found[f"process/{container.spec.pod_name}/{container.spec.name}"] = {"state": "stopped"}
    if machine.os.shm.total():
        for container in machine.runtime.containers():
            kept = FileTree(container).entries(_SHARED) if container.running else []
            if kept:
                found[f"shm/{container.spec.pod_name}/{container.spec.name}"] = {"files": sorted(kept)}
    for unit in machine.units.units.values():
        found[f"unit/{unit.name.removesuffix('.service')}"] = {
            "active": unit.active,
            "enabled": unit.enabled,
            "command": unit.command,
            "slice": unit.slice,
            "cpu_weight": unit.cpu_weight,
        }
    return found


def _disk(disk: Disk) -> Values:
    return {
        "slow": [_mode(mode) for mode in disk.modes],
        "unreadable": _ranges(disk.sectors.bad_in(0, _WHOLE)),
        "wrong": _ranges(disk.sectors.wrong_in(0, _WHOLE)),
        "outage": None if disk.outage is None else type(disk.outage).__name__,
    }


def _mode(mode: SlowMode) -> Values:
    """The fields of a way of being slow that say something."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in mode._asdict().items() if value}


def _ranges(blocks: Iterable[int]) -> list[str]:
    """Blocks as ranges.

    >>> _ranges([4, 5, 6, 9])
    ['4-6', '9']
    """
    found: list[list[int]] = []
    for block in blocks:
        if found and found[-1][1] == block - 1:
            found[-1][1] = block
        else:
            found.append([block, block])
    return [f"{first}-{last}" if last > first else str(first) for first, last in found]


#: Where files are memory.
_SHARED = "/dev/shm"


class NoKnob(ValueError):
    """A fact that nobody can give another value: data that are lost stay lost."""


def put(machine: Machine, part: str, values: Mapping[str, Any]) -> None:
    """Give a part other values. What is None goes away.

    Raises:
        NoKnob: there is no way to do that, not even for whoever stands in front of the machine.
    """
    kind, _, name = part.partition("/")
    if kind == "power":
        _switch(machine, on=bool(values["on"]))
    elif kind == "cpu":
        if "stolen_share" in values:
            machine.steal_cpu(float(values["stolen_share"]))
        if "cap" in values:
            machine.power.hold(float(values["cap"]))
    elif kind == "memory":
        machine.dimms.err(float(values["errors_per_s"]))
    elif kind == "fan":
        machine.cooling.impair(float(values["airflow"]))
    elif kind == "clock":
        _set_clock(machine, values)
    elif kind == "sysctl":
        _set_sysctls(machine, values)
    elif kind == "syscalls":
        for number in values:
            machine.os.syscalls.remove(int(number))
    elif kind == "filter":
        for chain, wanted in values.items():
            if name:
                machine.os.filter.end(chain, wanted or ACCEPT)
            else:
                machine.os.filter.put(chain, tuple(rule_of(shlex.split(text)) for text in wanted or ()))
    elif kind == "route":
        for net, way in values.items():
            iptool.route(machine, net, there=way is not None)
    elif kind == "process":
        for container in machine.runtime.containers():
            if f"{container.spec.pod_name}/{container.spec.name}" == name and values.get("state") is None:
                container.go_on()
    elif kind == "shm":
        for container in machine.runtime.containers():
            if f"{container.spec.pod_name}/{container.spec.name}" == name and container.running:
                tree = FileTree(container)
                for file in tree.entries(_SHARED):
                    tree.remove(f"{_SHARED}/{file}")
    elif kind == "file":
        _write_files(machine, values)
    elif kind == "nic":
        _set_nic(machine, name, values)
    elif kind == "disk":
        _set_disk(machine, name, values)
    elif kind == "unit":
        _set_unit(machine, name, values)
    else:
        raise NoKnob(f"{machine.name} has no part {part}")


def _switch(machine: Machine, *, on: bool) -> None:
    if on:
        machine.power.give()
    else:
        machine.power.cut()


def _set_clock(machine: Machine, values: Mapping[str, Any]) -> None:
    clock = machine.os.clock
    if "drift_ppm" in values:
        clock.set_drift(float(values["drift_ppm"]))
    if "servers" in values:
        clock.ask(tuple(values["servers"]))
    if values.get("wrong") is False:
        clock.step(0)


def _set_sysctls(machine: Machine, values: Mapping[str, Any]) -> None:
    for name, text in values.items():
        problem = machine.os.sysctls.set(name, text)
        if problem:
            raise NoKnob(problem)


def _write_files(machine: Machine, values: Mapping[str, Any]) -> None:
    for path, text in values.items():
        if text is not None:
            machine.files.write(path, text)
        elif machine.files.find(path) is not None:
            machine.files.remove(path)
        if path in _READERS:
            machine.control("restart", _READERS[path])


def _set_nic(machine: Machine, name: str, values: Mapping[str, Any]) -> None:
    nic = machine.nics[name]
    wanted = {**facts_of(machine)[f"nic/{name}"], **values}
    flaps = wanted.pop("flaps")
    if wanted.pop("carrier"):
        nic.repair()
        nic.degrade(**wanted)
        nic.flap(*flaps)
    else:
        nic.cut()


def _set_disk(machine: Machine, name: str, values: Mapping[str, Any]) -> None:
    if {"unreadable", "wrong"} & set(values):
        raise NoKnob(f"data of {name} that are lost are not back when the drive is sound")
    if values.get("slow") or values.get("outage"):
        raise NoKnob(f"{name} is made slow by faults only")
    machine.disks[name].recover()


def _set_unit(machine: Machine, name: str, values: Mapping[str, Any]) -> None:
    if values.get("command", "") is None:  # there was none
        machine.control("stop", name)
        machine.units.units.pop(f"{name}.service", None)
        return
    if "enabled" in values and values["enabled"] is not None:
        machine.control("enable" if values["enabled"] else "disable", name)
    if "active" in values:
        machine.control("start" if values["active"] else "stop", name)
