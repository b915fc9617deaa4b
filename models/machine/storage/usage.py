"""How full a node's root file system is: the system, images, containers' layers, volumes, files and what was stored.

Reckoned from what is there whenever somebody asks; a node that never stored anything needs no objects for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from simcluster.engine import Simulation
from simcluster.models.machine.hostfiles import HostFiles
from simcluster.models.machine.imagestore import ImageStore
from simcluster.models.machine.kernel.group import Group
from simcluster.models.machine.shell.files import Layer
from simcluster.models.machine.storage.outage import DiskHost
from simcluster.models.machine.unpacking import image_bytes

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


class Chassis(DiskHost, Protocol):
    """The machine around drives, as far as it matters for how full they are."""

    sim: Simulation
    role: str
    files: HostFiles
    images: ImageStore

    def containers(self) -> Sequence[Group]:
        """The newest run of every container on it."""

    def layers(self) -> Iterable[Layer]:
        """What containers have written to the root file system: layers in which there is something."""


#: Where an Ubuntu server's own files lie, in hundredths (a fresh installation of 24.04; journal and packages in /var).
_SYSTEM_PERCENT = {
    "/usr": 78,
    "/boot": 5,
    "/var/lib/apt": 6,
    "/var/lib/snapd": 5,
    "/var/cache": 4,
    "/var/log/journal": 2,
}


def root_base(machine: Chassis) -> tuple[int, int]:
    """Bytes and inodes of the root file system that the system, its containers and its texts take."""
    used = (SYSTEM_KIB << 10) + image_bytes(machine.images.size_bytes)
    if machine.files.extra_bytes:  # what lies in /run and /dev/shm lies in memory
        used += machine.files.extra_bytes
        used -= sum(machine.files.hollow_below(point) for point in ("/run", "/dev/shm"))  # integers
    used += sum(map(layer_bytes, machine.layers()))  # integers
    inodes = SYSTEM_INODES + IMAGE_INODES * len(machine.images.images) + CONTAINER_INODES * len(machine.containers())
    return used, inodes


def beyond(machine: Chassis) -> dict[str, int]:
    """What of that stands in no list of files, by folder: programs in /usr, kernels in /boot, images and layers."""
    system = SYSTEM_KIB << 10
    layers = image_bytes(machine.images.size_bytes) + sum(map(layer_bytes, machine.layers()))  # integers
    parts = {folder: system * percent // 100 for folder, percent in _SYSTEM_PERCENT.items()}
    return {**parts, "/var/lib/containerd": layers}


def written_bytes(container: Group) -> int:
    """What a container has written to its own layer."""
    return 0 if container.written is None else layer_bytes(container.written)


def layer_bytes(layer: Layer) -> int:
    """What was written to a layer: a container's own, or an emptyDir."""
    return sum(len(text) for text in layer.files.values() if text) if layer.files else 0  # integers
