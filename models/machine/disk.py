"""The file system of a node: how full it is, in bytes and inodes.

One disk carries everything: the system, images, containers' writable layers, volumes and what
somebody puts on it. Left out: latency, bad sectors, quotas (their room is reserved).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from simcluster.models.machine.container import Container
    from simcluster.models.machine.machine import Machine
    from simcluster.models.machine.shellfiles import Layer

#: Size of a node's file system and what the bare system takes of it, as the recorded nodes had them (KiB).
TOTAL_KIB = 101_202_000
SYSTEM_KIB = 6_200_000
#: ext4 keeps 5 % for root: `df` counts it neither as used nor as available.
RESERVED_KIB = 5_170_000
#: mkfs.ext4 makes one inode for 16 KiB; an installed Ubuntu holds about 120,000 files.
TOTAL_INODES = TOTAL_KIB // 16
SYSTEM_INODES = 120_000
#: Unpacked layers take about 2.5 times their compressed size, and some 3,000 files an image.
UNPACKED_PERCENT = 250
IMAGE_INODES = 3_000
CONTAINER_INODES = 150


class Usage(NamedTuple):
    """How full the file system is: bytes and inodes."""

    total_bytes: int
    used_bytes: int
    available_bytes: int
    total_inodes: int
    free_inodes: int


def usage_of(machine: Machine) -> Usage:
    """The file system of a machine now."""
    images = machine.images.images.values()
    used = (SYSTEM_KIB << 10) + machine.files.extra_bytes
    used += sum(image.size_bytes for image in images) * UNPACKED_PERCENT // 100  # integers
    containers = machine.runtime.containers()
    used += sum(written_bytes(container) for container in containers)  # integers
    for sandbox in machine.runtime.sandboxes.values():
        used += sum(layer_bytes(layer) for layer in sandbox.volumes.values())  # integers
    total, reserved = TOTAL_KIB << 10, RESERVED_KIB << 10
    inodes = SYSTEM_INODES + IMAGE_INODES * len(images) + CONTAINER_INODES * len(containers)
    return Usage(total, used, max(0, total - reserved - used), TOTAL_INODES, max(0, TOTAL_INODES - inodes))


def written_bytes(container: Container) -> int:
    """What a container has written to its own layer."""
    return 0 if container.written is None else layer_bytes(container.written)


def layer_bytes(layer: Layer) -> int:
    """What was written to a layer: a container's own, or an emptyDir."""
    return sum(len(text) for text in layer.files.values() if text)  # integers


def image_bytes(size_bytes: int) -> int:
    """What an image of a compressed size takes on the disk."""
    return size_bytes * UNPACKED_PERCENT // 100
