"""How full a node's root file system is: the system, images, containers' layers, volumes, files and what was stored.

Reckoned from what is there whenever somebody asks; a node that never stored anything needs no objects for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.models.machine.storage.filesystem import Usage
from simcluster.models.machine.storage.unpacking import image_bytes

if TYPE_CHECKING:
    from simcluster.models.machine.container import Container
    from simcluster.models.machine.machine import Machine
    from simcluster.models.machine.shell.files import Layer

#: Size of a node's root file system and what the bare system takes of it, as the recorded nodes had them (KiB).
TOTAL_KIB = 101_202_000
SYSTEM_KIB = 6_200_000
#: ext4 keeps 5 % for root: `df` counts it neither as used nor as available.
RESERVED_KIB = 5_170_000
#: mkfs.ext4 makes one inode for 16 KiB; an installed Ubuntu holds about 120,000 files.
TOTAL_INODES = TOTAL_KIB // 16
SYSTEM_INODES = 120_000
#: Some 3,000 files an image.
IMAGE_INODES = 3_000
CONTAINER_INODES = 150


def usage_of(machine: Machine) -> Usage:
    """The root file system of a machine now."""
    storage = machine.built_storage
    if storage is not None:
        return storage.mounts.at("/").usage()
    used, inodes = root_base(machine)
    total, reserved = TOTAL_KIB << 10, RESERVED_KIB << 10
    return Usage(total, used, max(0, total - reserved - used), TOTAL_INODES, max(0, TOTAL_INODES - inodes))


def root_base(machine: Machine) -> tuple[int, int]:
    """Bytes and inodes of the root file system that the system, its containers and its texts take."""
    used = (SYSTEM_KIB << 10) + machine.files.extra_bytes + image_bytes(machine.images.size_bytes)
    containers = machine.runtime.containers()
    for layer in [container.written for container in containers]:
        if layer is not None:
            used += layer_bytes(layer)
    for sandbox in machine.runtime.sandboxes.values():
        if sandbox.volumes:
            used += sum(layer_bytes(layer) for layer in sandbox.volumes.values())  # integers
    if machine.built_storage is not None:
        for system in machine.built_storage.mounts:
            if system.mount_point != "/":  # what lies below another mount point is not on the root file system
                used -= machine.files.hollow_below(system.mount_point)
    inodes = SYSTEM_INODES + IMAGE_INODES * len(machine.images.images) + CONTAINER_INODES * len(containers)
    return used, inodes


def written_bytes(container: Container) -> int:
    """What a container has written to its own layer."""
    return 0 if container.written is None else layer_bytes(container.written)


def layer_bytes(layer: Layer) -> int:
    """What was written to a layer: a container's own, or an emptyDir."""
    return sum(len(text) for text in layer.files.values() if text)  # integers
