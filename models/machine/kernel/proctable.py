"""The process table of a node, and files of /proc/PID.

Listed are init, the kernel's threads, daemons, and for every pod its shim, its pause process, the main
processes of its containers and what these left defunct; threads and other children are only counted. PIDs of
shims and pauses lie in the gap before their pod's first container.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.engine import SECOND
from simcluster.models.machine.container import Container
from simcluster.models.machine.cpu import NANOCORES
from simcluster.models.machine.kernel import usage
from simcluster.models.machine.kernel.containerproc import limits_table
from simcluster.models.machine.machine import Machine

_MIB = 1 << 20
#: Resident memory and share of the system's CPU time of daemons that have more than a little.
_RESIDENT = {"kubelet": 96, "containerd": 62, "systemd-journald": 28, "systemd": 13}
_SHARE = {"kubelet": 0.5, "containerd": 0.3}
_LITTLE_MIB, _LITTLE_SHARE = 12, 0.01
_KERNEL = (
    *("pool_workqueue_release", "kworker/R-rcu_g", "kworker/R-rcu_p", "kworker/R-slub_", "kworker/R-netns"),
    *("kworker/R-mm_pe", "rcu_tasks_kthread", "rcu_tasks_rude_kthread", "rcu_tasks_trace_kthread"),
)
_PER_CPU = ("cpuhp", "migration", "ksoftirqd")
_LATER = (
    *("kdevtmpfs", "kworker/R-inet_", "kauditd", "khungtaskd", "oom_reaper", "kworker/R-write", "kcompactd0", "ksmd"),
    *("khugepaged", "kworker/R-kinte", "kworker/R-kbloc", "kworker/R-blkcg", "watchdogd", "kswapd0", "nvme-wq"),
    *("scsi_eh_0", "jbd2/nvme0n1p2-8", "jbd2/sda1-8"),
)
#: A task that waits for a drive for most of the time is seen in state D.
_STUCK = 0.5
#: From here on the PIDs of children that nobody asked after.
_ZOMBIES = 100_000
#: The shell of whoever is logged in and looks.
LOGIN = 1993


class Process(NamedTuple):
    """One process: `args` is its command line (in brackets for the kernel's threads), `cores` its share now."""

    pid: int
    ppid: int
    user: str
    comm: str
    args: str
    state: str = "S"
    nice: int = 0
    cores: float = 0.0
    resident: int = 0
    cpu_ns: int = 0
    started_ns: int = 0
    threads: int = 1


def processes(machine: Machine) -> list[Process]:
    """All of them, by PID."""
    found = [_init(machine), *_kernel_threads(machine), *_daemons(machine), *_pods(machine), _login(machine)]
    for process in machine.processes.values():
        cores, used = machine.cpu.granted(f"host/{process.name}"), process.used_ns(machine.sim.now)
        unit = next((u for u in machine.unit_list() if u.pid == process.pid), None)
        found.append(
            Process(
                process.pid, 1, process.user, process.name[:15], unit.command if unit is not None else process.name,
                "R" if cores >= _STUCK else "S", 0, cores, process.memory_bytes, used, process.started_ns,
                max(1, int(process.cores)),
            )
        )  # fmt: skip
    return sorted(found, key=_pid)


def _pid(process: Process) -> int:
    return process.pid


def _init(machine: Machine) -> Process:
    return Process(
        1, 0, "root", "systemd", "/sbin/init", resident=13 * _MIB, cpu_ns=1_920 * SECOND // 1000,
        started_ns=machine.booted_ns,
    )  # fmt: skip


def _login(machine: Machine) -> Process:
    sshd = machine.units.units["ssh.service"].pid
    return Process(LOGIN, sshd, "root", "bash", "-bash", resident=5 * _MIB, started_ns=machine.sim.now)


def _kernel_threads(machine: Machine) -> list[Process]:
    names = ["kthreadd", *_KERNEL]
    names += [f"{name}/{cpu}" for cpu in range(machine.cpu_cores) for name in _PER_CPU]
    names += [f"kworker/{cpu}:1-events" for cpu in range(machine.cpu_cores)] + list(_LATER)
    return [
        Process(pid, 2 if pid > 2 else 0, "root", name[:15], f"[{name}]", "I" if name.startswith("kworker") else "S",
                started_ns=machine.booted_ns)
        for pid, name in enumerate(names, 2)
    ]  # fmt: skip


def _daemons(machine: Machine) -> list[Process]:
    services = {process.pid for process in machine.processes.values()}
    found = []
    for unit in machine.unit_list():
        if not unit.active or unit.pid in services:
            continue
        command = unit.command.strip('"@')
        name = command.split()[0].rpartition("/")[2].rstrip(":")
        cores = machine.cpu.system / NANOCORES * _SHARE.get(name, _LITTLE_SHARE)
        since = max(unit.changed_ns, machine.booted_ns)
        resident = _RESIDENT.get(name, _LITTLE_MIB) * _MIB
        user = {"chronyd": "_chrony", "rsyslogd": "syslog", "dbus-daemon": "message+"}.get(name, "root")
        user = "systemd+" if name in ("systemd-networkd", "systemd-resolved") else user
        threads = {"kubelet": 18, "containerd": 16}.get(name, 1)
        age = machine.sim.now - since
        found.append(Process(unit.pid, 1, user, name[:15], unit.command.strip('"'), "S", 0, cores, resident,
                             int(cores * age), since, threads))  # fmt: skip
    return found


def _pods(machine: Machine) -> list[Process]:
    found, stuck = [], usage.blocked(machine)
    for sandbox in machine.runtime.sandboxes.values():
        living = [container for container in sandbox.containers.values() if container.running]
        if not living:
            continue
        first, since = min(container.pid for container in living), min(container.started_ns for container in living)
        shim = f"/usr/bin/containerd-shim-runc-v2 -namespace k8s.io -id {sandbox.sandbox_id}"
        found.append(
            Process(first - 5, 1, "root", "containerd-shim", f"{shim} -address /run/containerd/containerd.sock",
                    resident=15 * _MIB, started_ns=since, threads=12)
        )  # fmt: skip
        found.append(Process(first - 4, first - 5, "65535", "pause", "/pause", resident=512 << 10, started_ns=since))
        for container in living:
            cores = machine.cpu.used(container)
            waits = stuck.get(container.container_id, 0.0)
            state = "T" if container.halted else "D" if waits >= _STUCK else "R" if cores >= _STUCK else "S"
            name = container.comm
            args = " ".join((*(container.spec.command or (name,)), *container.spec.args))
            defunct = machine.os.pids.defunct(container.spec.pod_uid) if container is living[0] else 0
            extra = machine.os.pids.extra(container.spec.pod_uid) - defunct
            found += _zombies(container, defunct)
            found.append(
                Process(
                    container.pid,
                    first - 5,
                    "root",
                    name,
                    args,
                    state,
                    0,
                    cores,
                    container.memory_bytes,
                    container.cpu_ns,
                    container.started_ns,
                    12 + extra,
                )
            )
    return found


def _zombies(container: Container, count: int) -> list[Process]:
    """Children that ended and that their parent has not asked after; the oldest has the lowest PID."""
    name = container.comm
    first = _ZOMBIES + container.pid * 8
    return [
        Process(first + number, container.pid, "root", name, f"[{name}] <defunct>", "Z",
                started_ns=container.started_ns)
        for number in range(count)
    ]  # fmt: skip


def file_of(machine: Machine, path: str) -> str | None:
    """Text of a file of /proc/PID; None if there is none."""
    number, _, name = path[len("/proc/") :].partition("/")
    process = next((each for each in processes(machine) if str(each.pid) == number), None)
    if process is None:
        return None
    container = next((c for c in machine.runtime.containers() if c.running and c.pid == process.pid), None)
    if name == "comm":
        return f"{process.comm}\n"
    if name == "cmdline":
        return "" if process.args.startswith("[") else process.args.replace(" ", "\0") + "\0"
    if name == "status":
        return _status(machine, process, container)
    if name == "oom_score_adj":
        return f"{score(machine, process, container)}\n"
    if name == "limits":
        return limits(machine, container)
    if name == "environ":
        given = {} if container is None else container.spec.environment
        own = {"LANG": "C.UTF-8", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        named = {} if process.args.startswith("[") else given or own
        return "".join(f"{key}={value}\0" for key, value in named.items())
    if name == "statm":
        pages = process.resident >> 12
        return (
            "0 0 0 0 0 0 0\n" if process.args.startswith("[") else f"{pages * 3} {pages} {pages // 4} 0 0 {pages} 0\n"
        )
    if name == "cgroup":
        return f"0::{group_of(machine, process, container)}\n"
    return None


def score(machine: Machine, process: Process, container: Container | None) -> int:
    """oom_score_adj: of containers by their class, of the kubelet, the runtime and pauses as they are started."""
    if container is not None:
        return machine.oom_score(container)
    return {"kubelet": -999, "containerd": -999, "containerd-shim": -998, "pause": -998, "sshd": -1000}.get(
        process.comm, -1000 if process.comm == "systemd-udevd" else 0
    )


def group_of(machine: Machine, process: Process, container: Container | None) -> str:
    """Its cgroup."""
    if container is not None:
        return f"/{container.control_group}"
    unit = next((unit for unit in machine.unit_list() if unit.active and unit.pid == process.pid), None)
    if unit is not None:
        return unit.control_group
    return "/init.scope" if process.pid == 1 else "/"


def limits(machine: Machine, container: Container | None) -> str:
    """/proc/PID/limits."""
    soft = 1_048_576 if container is None else machine.os.descriptors.limit(container)
    threads = int(machine.os.sysctls.get("kernel.threads-max")) // 2
    return limits_table(soft, max(soft, 1_048_576), "unlimited" if container is not None else str(threads))


def _status(machine: Machine, process: Process, container: Container | None) -> str:
    kib = process.resident >> 10
    states = {"S": "S (sleeping)", "R": "R (running)", "D": "D (disk sleep)", "I": "I (idle)", "Z": "Z (zombie)"}
    descriptors = 64 if container is None else max(64, machine.os.descriptors.held(container))
    rows = [
        ("Name", process.comm), ("Umask", "0022"), ("State", states[process.state]), ("Tgid", process.pid),
        ("Pid", process.pid), ("PPid", process.ppid), ("FDSize", descriptors), ("Threads", process.threads),
    ]  # fmt: skip
    if not process.args.startswith("["):
        rows[-1:-1] = [("VmPeak", f"{kib * 3 + 700000:8d} kB"), ("VmSize", f"{kib * 3 + 700000:8d} kB"),
                       ("VmRSS", f"{kib:8d} kB"), ("RssAnon", f"{kib - kib // 4:8d} kB"),
                       ("RssFile", f"{kib // 4:8d} kB"), ("VmSwap", f"{0:8d} kB")]  # fmt: skip
    return "".join(f"{name}:\t{value}\n" for name, value in rows)
