"""Processes of a node that are nobody's container: somebody's batch job, a miner, a backup.

They compete for cores with their weight and hold memory; the kernel may kill them. Left out:
what they do besides.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class HostProcess:
    """One such process.

    Attributes:
        name: as the kernel knows it; pid, user: as `ps` shows them.
        cores: what it wants; weight: CPU shares (1024 is a normal service).
        memory_bytes: what it holds.
        cpu_ns: CPU time used until `since_ns`.
    """

    name: str
    pid: int
    cores: float
    weight: int
    memory_bytes: int
    started_ns: int
    since_ns: int
    cpu_ns: int = 0
    granted: float = 0.0
    user: str = "root"

    @property
    def comm(self) -> str:
        """Its name as the kernel prints it."""
        return self.name[:15]

    def used_ns(self, now_ns: int) -> int:
        """CPU time until now."""
        return self.cpu_ns + int(self.granted * (now_ns - self.since_ns))

    def settle(self, now_ns: int, granted: float) -> None:
        """From now on it gets `granted` cores."""
        self.cpu_ns, self.since_ns, self.granted = self.used_ns(now_ns), now_ns, granted
