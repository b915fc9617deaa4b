"""Processes of a container as its own PID namespace numbers them, and /proc/PID of them.

Named are the main process, the workers that its program is known to fork, what it left defunct, and (`self`) whoever
reads. Left out: processes of commands that run at the same time, shared PID namespaces.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.engine import SECOND
from simcluster.models.machine.container import Container

#: Programs that fork workers: what these are called.
_WORKERS = {"nginx": "nginx: worker process"}
_ENTRIES = ("cgroup", "cmdline", "comm", "environ", "limits", "mounts", "oom_score_adj", "stat", "status")
#: A command that somebody executes: after all that were forked so far.
SELF = 29


class Inner(NamedTuple):
    """One process: numbers and parent of the namespace, its command line, state, resident bytes and CPU time."""

    pid: int
    ppid: int
    comm: str
    args: str
    state: str = "S"
    resident: int = 0
    cpu_ns: int = 0


def processes(container: Container) -> list[Inner]:
    """All of them, by PID."""
    argv = container.argv
    comm, args = container.comm, " ".join(argv)
    name = argv[0].rpartition("/")[2] if argv else comm
    kernel = container.kernel
    workers = _WORKERS.get(comm, "")
    if workers:
        args = f"{comm}: master process {args}"
    count = container.machine.cpu_cores if workers else 0
    held, used = container.memory_bytes, container.cpu_ns
    found = [Inner(1, 0, (name or comm)[:15], args or comm, "S", held // (count + 1), used // (count + 1))]
    found += [Inner(30 + at, 1, comm, workers, "S", held // (count + 1), used // (count + 1)) for at in range(count)]
    first = next(iter(container.sandbox.containers.values()), container)
    defunct = kernel.pids.defunct(container.spec.pod_uid) if kernel is not None and first is container else 0
    found += [Inner(100 + at, 1, comm, f"[{comm}]", "Z") for at in range(defunct)]
    return found


def names(container: Container, path: str) -> list[str] | None:
    """Names in /proc or in a folder of it; None if there is none."""
    numbers = [str(process.pid) for process in processes(container)]
    if path == "/proc":
        return [*numbers, "self"]
    inner = path.removeprefix("/proc/")
    return list(_ENTRIES) if inner == "self" or inner in numbers else None


def read(container: Container, path: str) -> str | None:
    """Text of /proc/PID/NAME; None if there is none."""
    number, _, name = path.removeprefix("/proc/").partition("/")
    if name not in _ENTRIES:
        return None
    if number == "self":
        process: Inner | None = Inner(SELF, 0, "cat", f"cat {path}", "R", 1 << 20)
    else:
        process = next((one for one in processes(container) if str(one.pid) == number), None)
    return None if process is None else _text(container, process, name)


def _text(container: Container, process: Inner, name: str) -> str:
    if name == "comm":
        return f"{process.comm}\n"
    if name == "cmdline":
        return "" if process.state == "Z" else process.args.replace(" ", "\0") + "\0"
    if name == "environ":
        variables = container.spec.environment
        return "" if process.state == "Z" else "".join(f"{key}={value}\0" for key, value in variables.items())
    if name == "limits":
        return limits(container)
    if name == "cgroup":
        return "0::/\n"
    if name == "mounts":
        return mounts(container)
    if name == "oom_score_adj":
        score = getattr(container.machine, "oom_score", None)
        return f"{score(container) if score is not None else 0}\n"
    pages, ticks = process.resident >> 12, process.cpu_ns // (SECOND // 100)
    if name == "stat":
        zeros = " ".join(["0"] * 7)
        return (
            f"{process.pid} ({process.comm}) {process.state} {process.ppid} {process.pid} {process.pid} 0 -1 4194560 "
            f"{zeros[:7]} {ticks} 0 0 0 20 0 1 0 0 {process.resident * 3} {pages}\n"
        )
    return _status(container, process)


def _status(container: Container, process: Inner) -> str:
    uid, kib = container.uid, process.resident >> 10
    states = {"S": "S (sleeping)", "R": "R (running)", "Z": "Z (zombie)"}
    rows: list[tuple[str, object]] = [
        ("Name", process.comm), ("Umask", "0022"), ("State", states[process.state]), ("Tgid", process.pid),
        ("Ngid", 0), ("Pid", process.pid), ("PPid", process.ppid), ("TracerPid", 0),
        ("Uid", "\t".join([str(uid)] * 4)), ("Gid", "\t".join([str(container.gid)] * 4)),
    ]  # fmt: skip
    if process.state != "Z":
        rows += [("VmPeak", f"{kib * 3:8d} kB"), ("VmSize", f"{kib * 3:8d} kB"), ("VmRSS", f"{kib:8d} kB"),
                 ("VmSwap", f"{0:8d} kB")]  # fmt: skip
    granted = capabilities(container)
    rows += [("Threads", 1), ("NoNewPrivs", 0), ("CapInh", "0" * 16), ("CapPrm", granted), ("CapEff", granted),
             ("CapBnd", capabilities(container, bounding=True)), ("Seccomp", 0)]  # fmt: skip
    return "".join(f"{name}:\t{value}\n" for name, value in rows)


#: Numbers of capabilities (include/uapi/linux/capability.h).
_CAPABILITIES = (
    *("CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP"),
    *("LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER"),
    *("SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE"),
    *("SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP"),
    *("MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF"),
    "CHECKPOINT_RESTORE",
)


def capabilities(container: Container, *, bounding: bool = False) -> str:
    """The mask of its capabilities, in hexadecimal."""
    mask = 0
    for bit, name in enumerate(_CAPABILITIES):
        if container.may(name) or (bounding and container.bounded(name)):
            mask |= 1 << bit
    return f"{mask:016x}"


def limits(container: Container) -> str:
    """/proc/PID/limits of every process of the container."""
    kernel = container.kernel
    soft = kernel.descriptors.limit(container) if kernel is not None else 1_048_576
    return limits_table(soft, soft, "unlimited")


def limits_table(soft: int, hard: int, processes: str) -> str:
    """/proc/PID/limits by the descriptors and processes that one may have; the rest is the kernel's default."""
    rows = (
        ("Max cpu time", "unlimited", "unlimited", "seconds"), ("Max file size", "unlimited", "unlimited", "bytes"),
        ("Max data size", "unlimited", "unlimited", "bytes"), ("Max stack size", "8388608", "unlimited", "bytes"),
        ("Max core file size", "unlimited", "unlimited", "bytes"),
        ("Max resident set", "unlimited", "unlimited", "bytes"),
        ("Max processes", processes, "unlimited", "processes"), ("Max open files", str(soft), str(hard), "files"),
        ("Max locked memory", "8388608", "8388608", "bytes"), ("Max address space", "unlimited", "unlimited", "bytes"),
        ("Max file locks", "unlimited", "unlimited", "locks"), ("Max pending signals", "31452", "31452", "signals"),
        ("Max msgqueue size", "819200", "819200", "bytes"), ("Max nice priority", "0", "0", ""),
        ("Max realtime priority", "0", "0", ""), ("Max realtime timeout", "unlimited", "unlimited", "us"),
    )  # fmt: skip
    head = f"{'Limit':<26}{'Soft Limit':<21}{'Hard Limit':<21}{'Units':<10}\n"
    return head + "".join(f"{a:<26}{b:<21}{c:<21}{d:<10}\n" for a, b, c, d in rows)


_TMPFS = ("emptyDirMemory", "secret", "projected")


def mounts(container: Container) -> str:
    """/proc/mounts: the root, what the runtime mounts, and the pod's volumes."""
    root = "ro" if container.spec.read_only_root else "rw"
    number = int(container.container_id[:3], 16) if container.container_id[:3].isalnum() else 0
    layer = f"/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/{number}"
    rows = [
        f"overlay / overlay {root},relatime,lowerdir={layer}/fs,upperdir={layer}/fs,workdir={layer}/work 0 0",
        "proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0",
        "tmpfs /dev tmpfs rw,nosuid,size=65536k,mode=755,inode64 0 0",
        "devpts /dev/pts devpts rw,nosuid,noexec,relatime,gid=5,mode=620,ptmxmode=666 0 0",
        "mqueue /dev/mqueue mqueue rw,nosuid,nodev,noexec,relatime 0 0",
        "sysfs /sys sysfs ro,nosuid,nodev,noexec,relatime 0 0",
        "cgroup /sys/fs/cgroup cgroup2 ro,nosuid,nodev,noexec,relatime 0 0",
        "shm /dev/shm tmpfs rw,nosuid,nodev,noexec,relatime,size=65536k,inode64 0 0",
        *(
            f"/dev/nvme0n1p2 {path} ext4 rw,relatime,errors=remount-ro 0 0"
            for path in ("/etc/hosts", "/dev/termination-log", "/etc/hostname", "/etc/resolv.conf")
        ),
    ]
    for mount in container.mounts:
        how = "ro" if mount.read_only or mount.source in ("configMap", "secret", "projected") else "rw"
        kind = "tmpfs" if mount.source in _TMPFS else "ext4"
        device = "tmpfs" if kind == "tmpfs" else "/dev/nvme0n1p2"
        rows.append(f"{device} {mount.path.rstrip('/') or '/'} {kind} {how},relatime 0 0")
    return "".join(f"{row}\n" for row in rows)
