"""The tree of cgroups as somebody on the node sees it: /sys/fs/cgroup with its slices, pods, containers and units.

Groups between the root and a container add up what is in them. Left out: groups of user sessions, files that nobody
reads, limits that the kubelet sets on slices.
"""

from __future__ import annotations

from simcluster.models.machine.container import Container
from simcluster.models.machine.kernel import cgroupfiles, pressure
from simcluster.models.machine.kernel.cgroupfiles import CGROUP
from simcluster.models.machine.kernel.cgroups import PODS, SYSTEM
from simcluster.models.machine.machine import Machine

_SUMS = ("cpu.stat", "memory.current", "memory.events", "pids.current")
_ROOT = ("cgroup.controllers", "cpu.pressure", "cpu.stat", "io.pressure", "memory.pressure")
_TIERS = tuple(f"{PODS}/kubepods-{tier}.slice" for tier in ("besteffort", "burstable"))


def read(machine: Machine, path: str) -> str | None:
    """Text of a file below /sys/fs/cgroup; None if there is none."""
    group, _, name = path.rpartition("/")
    if not group:
        return _root(machine, name)
    if name == "cpu.weight":
        weight = _weight(machine, group)
        return None if weight is None else f"{weight}\n"
    members = _members(machine, group)
    if not members:
        return None
    if group.endswith(".scope"):
        return cgroupfiles.read(members[0], name)
    if name == "pids.max":
        limit = machine.os.pids.limit(members[0].spec.pod_uid) if _is_pod(group) else None
        return "max\n" if limit is None else f"{limit}\n"
    return _sum(members, name) if name in _SUMS else None


def names(machine: Machine, folder: str) -> list[str] | None:
    """What is in a folder below /sys/fs/cgroup; None if there is no such folder."""
    folder = folder.strip("/")
    units = [unit.control_group[1:] for unit in machine.unit_list() if unit.active]
    if not folder:
        beside = [name for name in units if "/" not in name]
        return sorted([*_ROOT, SYSTEM, *beside, *([PODS] if _members(machine, PODS) else [])])
    if folder == SYSTEM:
        return ["cpu.weight", *(name.partition("/")[2] for name in units if name.startswith(f"{SYSTEM}/"))]
    if folder in units:
        return ["cpu.weight"]
    members = _members(machine, folder)
    if not members:
        return None
    if folder.endswith(".scope"):
        return sorted(CGROUP)
    inner = [each.control_group[len(folder) + 1 :].partition("/")[0] for each in members]
    return sorted([*_SUMS, "cpu.weight", "pids.max", *dict.fromkeys(inner)])


def _is_pod(group: str) -> bool:
    return group != PODS and group not in _TIERS


def _weight(machine: Machine, group: str) -> int | None:
    """`cpu.weight` of a group; None if there is none."""
    for unit in machine.unit_list():
        if unit.active and unit.control_group[1:] == group:
            return unit.cpu_weight
    weight = machine.cpu.weights().get(group)
    members = _members(machine, group)
    if weight is not None or not members:
        return weight
    if group.endswith(".scope"):
        return int(cgroupfiles.read(members[0], "cpu.weight") or 0)
    return members[0].sandbox.group.weight


def _members(machine: Machine, group: str) -> list[Container] | None:
    """Running containers in a group of pods; None if it is none of these."""
    if group.partition("/")[0] != PODS:
        return None
    inside = f"{group}/"
    return [each for each in machine.containers() if each.running and f"{each.control_group}/".startswith(inside)]


def _root(machine: Machine, name: str) -> str | None:
    if name not in _ROOT:
        return None
    if name.endswith(".pressure"):
        return pressure.machine_text(machine, name.partition(".")[0])
    if name == "cgroup.controllers":
        return "cpuset cpu io memory hugetlb pids rdma misc\n"
    used = machine.cpu_ns() // 1000
    user = used * 17 // 20
    return f"usage_usec {used}\nuser_usec {user}\nsystem_usec {used - user}\n"


def _sum(members: list[Container], name: str) -> str:
    texts = [cgroupfiles.read(container, name) or "" for container in members]
    totals: dict[str, int] = {}
    for text in texts:
        for line in text.splitlines():
            key, _, value = line.rpartition(" ")
            totals[key] = totals.get(key, 0) + int(value)
    return "".join(f"{key} {value}\n" if key else f"{value}\n" for key, value in totals.items())
