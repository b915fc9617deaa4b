"""Disks that pods mount without a claim, and of which a node takes only one user or only readers.

Source: kubernetes pkg/scheduler/framework/plugins/volumerestrictions (isVolumeConflict) of 1.32: Google
and Amazon disks, iSCSI and Ceph block devices. Left out: a device that is named by one of several monitors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple


class InlineDisk(NamedTuple):
    """One disk of a pod.

    Attributes:
        key: which disk it is.
        reads: whether it is mounted only to be read, and readers may share it.
    """

    key: tuple[str, ...]
    reads: bool


def inline_disks(pod: Mapping[str, Any]) -> list[InlineDisk]:
    """The disks of a pod that can be in conflict with those of others."""
    volumes = pod["spec"].get("volumes")
    return [] if not volumes else list(_found(volumes))


def are_in_conflict(one: list[InlineDisk], other: list[InlineDisk]) -> bool:
    """Whether two pods cannot be on one node."""
    return any(a.key == b.key and not (a.reads and b.reads) for a in one for b in other)


def _found(volumes: list[Mapping[str, Any]]) -> Iterator[InlineDisk]:
    for volume in volumes:
        if disk := volume.get("gcePersistentDisk"):
            yield InlineDisk(("gce", disk.get("pdName", "")), bool(disk.get("readOnly")))
        elif disk := volume.get("awsElasticBlockStore"):
            yield InlineDisk(("aws", disk.get("volumeID", "")), reads=False)
        elif disk := volume.get("iscsi"):
            yield InlineDisk(("iscsi", disk.get("iqn", "")), bool(disk.get("readOnly")))
        elif disk := volume.get("rbd"):
            monitors = ",".join(sorted(disk.get("monitors") or ()))
            key = ("rbd", monitors, disk.get("pool", "rbd"), disk.get("image", ""))
            yield InlineDisk(key, bool(disk.get("readOnly")))
