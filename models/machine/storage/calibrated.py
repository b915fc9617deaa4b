"""Drives that are as fast as a profile says.

Named figures of a world: `disk.read.NODE/DEVICE` and `disk.write.NODE/DEVICE`, the mean of 4 KiB alone (a read anywhere
on the surface; a write until it is in the cache of a hard disk, or on flash), and `disk.bandwidth.NODE/DEVICE` of long
transfers. `*/DEVICE` is of that device on any other node, `*` of any other. Everything else that such a drive does
becomes as many times as slow or as fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from simcluster.models.machine.storage.drivemodel import BLOCK, DriveModel
from simcluster.models.machine.storage.service import OVERHEAD_NS, law_of, transfer_ns


def alone_ns(model: DriveModel, what: str, size: float = BLOCK) -> float:
    """Mean time of a `read` or `write` that nobody is before, in ns.

    >>> from simcluster.models.machine.storage.drivemodel import NVME_SSD
    >>> round(alone_ns(NVME_SSD, "read")), round(alone_ns(NVME_SSD, "write", 12288))
    (75365, 20096)
    """
    if what == "write" and model.rotates:  # in its cache
        return (OVERHEAD_NS[model.kind] + transfer_ns(model, size, ())) * model.write_factor
    return law_of(model, "random" if what == "read" else "write", size, 1.0, ()).mean


def calibrated(model: DriveModel, node: str, device: str, parameters: Mapping[str, int]) -> DriveModel:
    """The drive with the figures of its place; the same object if nothing is known of it."""
    found = {}
    for what in ("read", "write", "bandwidth"):
        places = (f"disk.{what}.{whose}" for whose in (f"{node}/{device}", f"*/{device}", "*"))
        found[what] = next((parameters[place] for place in places if place in parameters), None)
    if found["bandwidth"] is not None:
        usual = model.outer_bytes_per_s, model.inner_bytes_per_s
        factor = found["bandwidth"] * 2 / sum(usual)  # integers
        outer, inner = (max(1, round(rate * factor)) for rate in usual)
        model = replace(model, outer_bytes_per_s=outer, inner_bytes_per_s=inner)
    if found["read"] is not None:
        model = replace(model, read_factor=found["read"] / alone_ns(model, "read"))
    if found["write"] is not None:
        model = replace(model, write_factor=found["write"] / alone_ns(model, "write"))
    return model
