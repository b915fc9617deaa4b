"""The tree of cgroups as somebody on the node sees it: /sys/fs/cgroup with its slices, pods and containers.

Groups between the root and a container add up what is in them. Left out: the slices of quality of service below
kubepods.slice (a pod lies in it directly), groups of user sessions, files that nobody reads.
"""

from __future__ import annotations

from simcluster.models.machine.container import Container
from simcluster.models.machine.kernel import cgroupfiles, pressure
from simcluster.models.machine.kernel.cgroupfiles import CGROUP
from simcluster.models.machine.machine import Machine

PODS, SYSTEM = "kubepods.slice", "system.slice"
_SUMS = ("cpu.stat", "memory.current", "memory.events", "pids.current")
_ROOT = ("cgroup.controllers", "cpu.pressure", "cpu.stat", "io.pressure", "memory.pressure")


def read(machine: Machine, path: str) -> str | None:
    """Text of a file below /sys/fs/cgroup; None if there is none."""
    group, _, name = path.rpartition("/")
    if not group:
        return _root(machine, name)
    members = _members(machine, group)
    if members is None or not members:
        return None
    if group.endswith(".scope"):
        return cgroupfiles.read(members[0], name)
    if name == "pids.max":
        limit = machine.os.pids.limit(members[0].spec.pod_uid) if "/" in group else None
        return "max\n" if limit is None else f"{limit}\n"
    if name not in _SUMS:
        return None
    past = machine.runtime.past_groups.get(members[0].spec.pod_uid if "/" in group else "", {})
    return _sum(members, name, past)


def names(machine: Machine, folder: str) -> list[str] | None:
    """What is in a folder below /sys/fs/cgroup; None if there is no such folder."""
    folder = folder.strip("/")
    if not folder:
        return sorted([*_ROOT, SYSTEM, *([PODS] if _members(machine, PODS) else [])])
    units = [unit.name for unit in machine.unit_list() if unit.active]
    if folder == SYSTEM:
        return units
    if folder.startswith(SYSTEM + "/") and folder[len(SYSTEM) + 1 :] in units:
        return []
    members = _members(machine, folder)
    if not members:
        return None
    if folder.endswith(".scope"):
        return sorted(CGROUP)
    if folder == PODS:
        return sorted([*_SUMS, "pids.max", *dict.fromkeys(_pod(each) for each in members)])
    return sorted([*_SUMS, "pids.max", *(_scope(each) for each in members)])


def _pod(container: Container) -> str:
    return f"kubepods-pod{container.spec.pod_uid.replace('-', '_')}.slice"


def _scope(container: Container) -> str:
    return f"cri-containerd-{container.container_id}.scope"


def _members(machine: Machine, group: str) -> list[Container] | None:
    """Running containers in a group of pods; None if it is none of these."""
    parts = group.split("/")
    if parts[0] != PODS or len(parts) > 3:
        return None
    living = [container for container in machine.runtime.containers() if container.running]
    if len(parts) > 1:
        living = [container for container in living if _pod(container) == parts[1]]
    if len(parts) > 2:
        living = [container for container in living if _scope(container) == parts[2]]
    return living


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


def _sum(members: list[Container], name: str, past: dict[tuple[str, str], int]) -> str:
    texts = [cgroupfiles.read(container, name) or "" for container in members]
    totals = {key: count for (of, key), count in past.items() if of == name}
    for text in texts:
        for line in text.splitlines():
            key, _, value = line.rpartition(" ")
            totals[key] = totals.get(key, 0) + int(value)
    return "".join(f"{key} {value}\n" if key else f"{value}\n" for key, value in totals.items())
