"""File systems of a node that lie on no drive of their own: tmpfs, what the kernel makes up, the boot partition,
and what the runtime and the kubelet mount for pods.

Left out: devpts, mqueue and others that nobody looks at; namespaces (the mounts of a pod are those of its sandbox).
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.models.machine.machine import Machine

_MIB = 1 << 20
_STATE = "/run/containerd/io.containerd.grpc.v1.cri/sandboxes"
_TASKS = "/run/containerd/io.containerd.runtime.v2.task/k8s.io"


class PseudoMount(NamedTuple):
    """One of them; `size_bytes` is 0 where `df` does not show it."""

    source: str
    point: str
    kind: str
    options: str
    size_bytes: int = 0
    used_bytes: int = 0
    kept_bytes: int = 0  # for root alone


def before_root(machine: Machine) -> list[PseudoMount]:
    """What is mounted before the root file system, in that order."""
    memory = machine.memory_bytes
    size = f"size={memory // 10 >> 10}k"
    return [
        PseudoMount("sysfs", "/sys", "sysfs", "rw,nosuid,nodev,noexec,relatime"),
        PseudoMount("proc", "/proc", "proc", "rw,nosuid,nodev,noexec,relatime"),
        PseudoMount("udev", "/dev", "devtmpfs", f"rw,nosuid,relatime,size={memory // 2 >> 10}k,mode=755,inode64"),
        PseudoMount("tmpfs", "/run", "tmpfs", f"rw,nosuid,nodev,noexec,relatime,{size},mode=755,inode64",
                    *machine.tmpfs_bytes("/run")),
    ]  # fmt: skip


def after_root(machine: Machine) -> list[PseudoMount]:
    """What is mounted after the root file system, in that order."""
    tmpfs = "rw,nosuid,nodev,inode64"
    found = [
        PseudoMount("tmpfs", "/dev/shm", "tmpfs", tmpfs, *machine.tmpfs_bytes("/dev/shm")),
        PseudoMount("tmpfs", "/run/lock", "tmpfs", "rw,nosuid,nodev,noexec,relatime,size=5120k,inode64",
                    *machine.tmpfs_bytes("/run/lock")),
        PseudoMount("cgroup2", "/sys/fs/cgroup", "cgroup2", "rw,nosuid,nodev,noexec,relatime,nsdelegate,"
                    "memory_recursiveprot"),
        *_boot(machine),
    ]  # fmt: skip
    return found


def of_pods(machine: Machine) -> list[PseudoMount]:
    """What is mounted for pods: each sandbox's shared memory, and each container's root."""
    found = []
    root = machine.mounts.at("/").usage()
    for uid, sandbox in machine.runtime.sandboxes.items():
        living = [container for container in sandbox.containers.values() if container.running]
        if not living:
            continue
        point = f"{_STATE}/{sandbox.sandbox_id}/shm"
        size = machine.os.shm.size(living[0])
        found.append(PseudoMount("shm", point, "tmpfs", f"rw,nosuid,nodev,noexec,relatime,size={size >> 10}k,inode64",
                                 size, machine.os.shm.used(uid)))  # fmt: skip
        found += [
            PseudoMount("overlay", f"{_TASKS}/{container.container_id}/rootfs", "overlay", "rw,relatime,xino=off",
                        root.total_bytes, root.used_bytes,
                        max(0, root.total_bytes - root.used_bytes - root.available_bytes))
            for container in living
        ]  # fmt: skip
    return found


def _boot(machine: Machine) -> list[PseudoMount]:
    """The partition of the firmware, on the drive of the system."""
    device = machine.mounts.at("/").device.rstrip("0123456789") + "1"
    options = "rw,relatime,fmask=0022,dmask=0022,codepage=437,iocharset=iso8859-1,shortname=mixed,errors=remount-ro"
    return [PseudoMount(f"/dev/{device}", "/boot/efi", "vfat", options, 1024 * _MIB, 6 * _MIB)]
