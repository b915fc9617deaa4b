"""Drives, sectors and file systems of a machine."""

from simcluster.models.machine.storage import slow
from simcluster.models.machine.storage.disk import Disk, Partition
from simcluster.models.machine.storage.drivemodel import (
    BLOCK,
    DESKTOP_HDD,
    DRIVE_MODELS,
    NEARLINE_HDD,
    NVME_SSD,
    SATA_SSD,
    SECTOR,
    DriveModel,
)
from simcluster.models.machine.storage.fileload import load_file
from simcluster.models.machine.storage.filesystem import FileSystem, StoredFile, Usage
from simcluster.models.machine.storage.io import FailedBlocks, IoDemand, IoOutcome, IoShare, Latency
from simcluster.models.machine.storage.mounts import DATA_MOUNT, TMPFS, MountTable, Storage
from simcluster.models.machine.storage.slow import SlowMode
from simcluster.models.machine.storage.usage import layer_bytes, written_bytes
from simcluster.models.machine.unpacking import image_bytes

__all__ = [
    "BLOCK",
    "DATA_MOUNT",
    "DESKTOP_HDD",
    "DRIVE_MODELS",
    "NEARLINE_HDD",
    "NVME_SSD",
    "SATA_SSD",
    "SECTOR",
    "TMPFS",
    "Disk",
    "DriveModel",
    "FailedBlocks",
    "FileSystem",
    "IoDemand",
    "IoOutcome",
    "IoShare",
    "Latency",
    "MountTable",
    "Partition",
    "SlowMode",
    "Storage",
    "StoredFile",
    "Usage",
    "image_bytes",
    "layer_bytes",
    "load_file",
    "slow",
    "written_bytes",
]
