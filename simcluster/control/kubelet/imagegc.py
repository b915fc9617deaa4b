"""Image garbage collection: unused images go when the disk is full.

Source: pkg/kubelet/images/image_gc_manager.go: every 5 minutes, from 85 % of the disk down to
80 %, the longest unused first, none younger than 2 minutes. Left out: imageMaximumGCAge.
"""

from __future__ import annotations

from simcluster.control.kubelet.host import Host
from simcluster.engine import MINUTE, FlatDict
from simcluster.models.machine.storage import image_bytes

PERIOD_NS = 5 * MINUTE
HIGH_PERCENT, LOW_PERCENT = 85, 80
MINIMUM_AGE_NS = 2 * MINUTE


class ImageCollector:
    """Removes images of one node that no container uses."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._first_ns: dict[str, int] = FlatDict()  # image -> when it was first seen
        self._used_ns: dict[str, int] = {}  # image -> when a container was last seen to use it

    def start(self) -> None:
        """The kubelet starts: what is on the disk counts as old."""
        self._first_ns = FlatDict(dict.fromkeys(self.host.machine.images.images, -MINIMUM_AGE_NS))
        self._used_ns = {}

    def collect(self) -> None:
        """One turn: nothing happens below the high threshold."""
        host = self.host
        self._look()
        disk = host.machine.disk_usage()
        percent = 100 - disk.available_bytes * 100 // disk.total_bytes
        if percent < HIGH_PERCENT:
            return
        wanted = disk.total_bytes * (100 - LOW_PERCENT) // 100 - disk.available_bytes
        host.klog.info(
            "image_gc_manager.go:383",
            "Disk usage on image filesystem is over the high threshold, trying to free bytes down to the low threshold",
            usage=percent,
            highThreshold=HIGH_PERCENT,
            amountToFree=wanted,
            lowThreshold=LOW_PERCENT,
        )
        freed = self._free(wanted)
        if freed < wanted:
            text = f"Failed to garbage collect required amount of images. Attempted to free {wanted} bytes, "
            host.node_event("Warning", "FreeDiskSpaceFailed", f"{text}but only found {freed} bytes eligible to free.")
            host.node_event("Warning", "ImageGCFailed", f"{text}but only found {freed} bytes eligible to free.")

    def delete_unused(self) -> int:
        """Remove every unused image (the disk is under pressure); bytes that became free."""
        self._look()
        return self._free(1 << 62)

    def _look(self) -> None:
        machine = self.host.machine
        now = self.host.sim.now
        for name in machine.images.images:
            self._first_ns.setdefault(name, now)
        for container in machine.runtime.containers():
            self._used_ns[container.image_name] = now

    def _free(self, wanted: int) -> int:
        machine, now, freed = self.host.machine, self.host.sim.now, 0
        in_use = {container.image_name: None for container in machine.runtime.containers()}
        unused = [name for name in machine.images.images if name not in in_use and "/pause:" not in name]
        for name in sorted(unused, key=self._age):
            if freed >= wanted:
                break
            if now - self._first_ns.get(name, now) < MINIMUM_AGE_NS:
                continue
            freed += image_bytes(machine.images.images[name].size_bytes)
            machine.images.forget(name)
            self._first_ns.pop(name, None)
            self._used_ns.pop(name, None)
        return freed

    def _age(self, name: str) -> tuple[int, int, str]:
        return (self._used_ns.get(name, 0), self._first_ns.get(name, 0), name)
