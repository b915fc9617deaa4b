"""What a node's own daemons write all the time: journald, the kubelet, on a control plane etcd.

It comes at a steady rate while the drive answers, each write as long as the drive took for one when it was last looked
at; what was counted stays counted, whatever the drive does later. Booting has read the system once.
"""

from __future__ import annotations

from simcluster.engine import SECOND
from simcluster.models.machine.storage.counters import Counters

#: Bytes of a write; requests and bytes each that booting a server reads (systemd-analyze and iostat of a kubeadm node).
WRITE_BYTES = 12_288
BOOT_READS, BOOT_BYTES = 21_450, 38_912


class Background:
    """The daemons' requests on one drive, and what they come to."""

    __slots__ = ("_counted", "_each_ns", "_flush_ns", "_flushes", "_since_ns", "_writes")

    def __init__(self, writes_per_s: float, flushes_per_s: float, flush_ns: float, since_ns: int) -> None:
        self._writes, self._flushes = writes_per_s, flushes_per_s
        self._flush_ns = flush_ns
        self._counted = Counters()
        self._each_ns = 0.0
        self._since_ns = since_ns

    @property
    def there(self) -> bool:
        """Whether daemons write to this drive at all."""
        return self._writes > 0.0

    def anew(self, now_ns: int) -> Background:
        """The same daemons on a drive that was put in now."""
        return Background(self._writes, self._flushes, self._flush_ns, now_ns)

    def booted(self, now_ns: int, each_ns: float) -> None:
        """The system has booted from this drive: the kernel counts anew."""
        self._counted, self._since_ns, self._each_ns = Counters(), now_ns, each_ns
        if not self.there:
            return  # no system boots from it
        self._counted.read(BOOT_READS, BOOT_READS * BOOT_BYTES, each_ns * 4.0)
        self._counted.busy_ns += BOOT_READS * each_ns

    def look(self, now_ns: int, each_ns: float) -> None:
        """Count until now; from now on a write takes so long (0: the drive answers nobody)."""
        self._counted = self.counted(now_ns)
        self._since_ns, self._each_ns = now_ns, each_ns

    def counted(self, now_ns: int) -> Counters:
        """All until an instant."""
        found = self._counted.copy()
        if self._each_ns and now_ns > self._since_ns:
            span = now_ns - self._since_ns
            wrote = self._writes * span / SECOND
            found.write(wrote, wrote * WRITE_BYTES, self._each_ns)
            found.flush(self._flushes * span / SECOND, self._flush_ns)
            found.busy_ns += wrote * self._each_ns
        return found
