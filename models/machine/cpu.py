"""Sharing a machine's cores between containers, as the kernel's fair scheduler does.

Each container may use what it demands, up to its limit; when all together demand more than
there is, cores are shared in proportion to CPU requests (cgroup weights). Demand is what
was reported for the last accounting window. CPU is counted in integer nanocores.
"""

from __future__ import annotations

from simcluster.models.machine.container import Container

NANOCORES = 1_000_000_000
#: A container without request still has 2 shares of 1024 a core (kubelet: MinShares).
_MIN_WEIGHT = 2
_SHARES_PER_CORE = 1024


class CpuAccount:
    """Who wants how much of a machine's cores.

    Args:
        cores: cores that containers may use (of the whole machine).
    """

    def __init__(self, cores: int) -> None:
        self.capacity = cores * NANOCORES
        self.system = 0  # nanocores of the system's own processes
        self._demand: dict[str, int] = {}  # container id -> nanocores
        self._weight: dict[str, int] = {}
        self._total = 0
        self._weights = 0

    def report(self, container: Container, nanocores: int) -> None:
        """The container wants so much in this window."""
        key = container.container_id
        self._total += nanocores - self._demand.get(key, 0)
        self._demand[key] = nanocores
        if key not in self._weight:
            self._weight[key] = weight_of(container)
            self._weights += self._weight[key]

    def release(self, container: Container) -> None:
        """The container wants nothing any more."""
        key = container.container_id
        self._total -= self._demand.pop(key, 0)
        self._weights -= self._weight.pop(key, 0)

    def demanded(self) -> int:
        """Nanocores that all want together, the system included."""
        return self._total + self.system

    def share(self, container: Container) -> float:
        """Cores the container could use now, at most its limit."""
        limit = container.spec.cpu_limit
        ceiling = self.capacity if limit is None else min(self.capacity, int(limit * NANOCORES))
        available = max(0, self.capacity - self.system)
        free = available - (self._total - self._demand.get(container.container_id, 0))
        if ceiling <= free:
            return ceiling / NANOCORES
        return min(ceiling, max(free, self._fair(container, available))) / NANOCORES

    def _fair(self, container: Container, available: int) -> int:
        """Water filling: those who want less than their share leave the rest to the others."""
        key, own = container.container_id, weight_of(container)
        total_weight = self._weights + (0 if key in self._weight else own)
        weights = self._weight
        if not any(
            want * total_weight > available * weights[other] for other, want in self._demand.items() if other != key
        ):
            return 0  # all others are modest: what they leave is the answer
        rest, wanting = available, {other: want for other, want in self._demand.items() if other != key}
        while True:
            modest = [other for other, want in wanting.items() if want * total_weight <= rest * weights[other]]
            if not modest:
                return rest * own // total_weight
            for other in modest:
                rest -= wanting.pop(other)
                total_weight -= weights[other]


def weight_of(container: Container) -> int:
    """cgroup CPU shares of a container: 1024 a requested core, at least 2."""
    return max(_MIN_WEIGHT, int(container.spec.cpu_request * _SHARES_PER_CORE))
