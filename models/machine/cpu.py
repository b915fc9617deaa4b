"""Sharing a machine's cores between containers, as the kernel's fair scheduler does.

Each container may use what it demands, up to its limit; when all together demand more than
there is, cores are shared in proportion to CPU requests (cgroup weights). Demand is what
was reported for the last accounting window. CPU is counted in integer nanocores.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.models.machine.kernel.group import Group

NANOCORES = 1_000_000_000
#: A container without request still has 2 shares of 1024 a core (kubelet: MinShares).
_MIN_WEIGHT = 2
_SHARES_PER_CORE = 1024
#: Who spins with interrupts off in the kernel: nobody takes a CPU from it, whatever his weight.
SPINNING, _ALL_OF_IT = "kernel/spinning", 1 << 40


class CpuAccount:
    """Who wants how much of a machine's cores.

    Args:
        cores: cores that containers may use (of the whole machine).

    Attributes:
        speed: how fast they run, as a share of nominal; stolen: nanocores that the hypervisor withholds.
        version: how often a demand or a weight has changed.
        asked: nanocores that all containers want together, each no more than its quota.
    """

    def __init__(self, cores: int) -> None:
        self.capacity = cores * NANOCORES
        self.system = 0  # nanocores of the system's own processes
        self._demand: dict[str, int] = {}  # container id -> nanocores
        self._weight: dict[str, int] = {}
        self._total = 0
        self._weights = 0
        self.speed = 1.0
        self.stolen = 0
        self.version = 0
        self.asked = 0
        self._asked: dict[str, int] = {}

    @property
    def mark(self) -> tuple[int, int, int, int, float]:
        """As long as it is the same, every share is."""
        return self.version, self.capacity, self.stolen, self.system, self.speed

    @property
    def available(self) -> int:
        """Nanocores that the hypervisor leaves to this machine."""
        return self.capacity - self.stolen

    def lose(self, cores: int) -> None:
        """So many cores spin in the kernel and run nobody's tasks."""
        self.version += 1
        self._total += cores * NANOCORES - self._demand.pop(SPINNING, 0)
        self._weights -= self._weight.pop(SPINNING, 0)
        if cores:
            self._demand[SPINNING], self._weight[SPINNING] = cores * NANOCORES, _ALL_OF_IT
            self._weights += _ALL_OF_IT

    def steal(self, share: float) -> None:
        """The hypervisor gives so large a share of the machine's CPU time to others. Raises ValueError."""
        if not 0.0 <= share < 1.0:
            raise ValueError(f"the share of stolen time must be at least 0 and less than 1, not {share:g}")
        self.stolen = int(share * self.capacity)

    def burden(self, name: str, nanocores: int, weight: int) -> None:
        """A process that is no container wants so much (0: nothing any more)."""
        self.version += 1
        self._total += nanocores - self._demand.pop(name, 0)
        self._weights -= self._weight.pop(name, 0)
        if nanocores:
            self._demand[name], self._weight[name] = nanocores, weight
            self._weights += weight

    def demand_of(self, container_id: str) -> int:
        """Nanocores that a container wants."""
        return self._demand.get(container_id, 0)

    def used(self, container: Group) -> float:
        """Cores that a container uses now."""
        return min(self._demand.get(container.container_id, 0) / NANOCORES, self.share(container))

    def granted(self, name: str) -> float:
        """Cores that such a process gets."""
        want, weight = self._demand.get(name, 0), self._weight.get(name, 0)
        if not want:
            return 0.0
        free = max(0, self.available - self.system) - (self._total - want)
        if want <= free:
            return want / NANOCORES
        return min(want, max(free, self._fair(name, weight, max(0, self.available - self.system)))) / NANOCORES

    def report(self, container: Group, nanocores: int) -> None:
        """The container wants so much in this window."""
        self.version += 1
        key = container.container_id
        self._total += nanocores - self._demand.get(key, 0)
        self._demand[key] = nanocores
        limit = container.spec.cpu_limit
        asked = nanocores if limit is None else min(nanocores, int(limit * NANOCORES))
        self.asked += asked - self._asked.get(key, 0)
        self._asked[key] = asked
        if key not in self._weight:
            self._weight[key] = weight_of(container)
            self._weights += self._weight[key]

    def release(self, container: Group) -> None:
        """The container wants nothing any more."""
        self.version += 1
        key = container.container_id
        self._total -= self._demand.pop(key, 0)
        self.asked -= self._asked.pop(key, 0)
        self._weights -= self._weight.pop(key, 0)

    def demanded(self) -> int:
        """Nanocores that all want together, the system included."""
        return self._total + self.system

    def share(self, container: Group) -> float:
        """Cores the container could use now, at most its limit."""
        limit = container.spec.cpu_limit
        ceiling = self.capacity if limit is None else min(self.capacity, int(limit * NANOCORES))
        available = max(0, self.capacity - self.stolen - self.system)
        free = available - (self._total - self._demand.get(container.container_id, 0))
        if ceiling <= free:
            return ceiling / NANOCORES
        return min(ceiling, max(free, self._fair(container.container_id, weight_of(container), available))) / NANOCORES

    def shares(self, containers: Sequence[Group]) -> list[float]:
        """`share` of several containers."""
        available = max(0, self.capacity - self.stolen - self.system)
        rest, demand, weights = available - self._total, self._demand, self._weight
        whole = self._weights
        found, crowded, capacity = [], None, self.capacity
        for container in containers:
            key, limit = container.container_id, container.spec.cpu_limit
            ceiling = capacity if limit is None else min(capacity, int(limit * NANOCORES))
            free = rest + demand.get(key, 0)
            if ceiling > free:
                if crowded is None:
                    crowded = _is_crowded(demand, weights, whole, available)
                if crowded or key not in weights:
                    found.append(self.share(container))
                    continue
                ceiling = free if free > 0 else 0
            found.append(ceiling / NANOCORES)
        return found

    def _fair(self, key: str, own: int, available: int) -> int:
        """Water filling: those who want less than their share leave the rest to the others."""
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


def _is_crowded(demand: dict[str, int], weights: dict[str, int], whole: int, available: int) -> bool:
    """Whether somebody wants more than his share."""
    return any(want * whole > available * weights[key] for key, want in demand.items())


def weight_of(container: Group) -> int:
    """cgroup CPU shares of a container: 1024 a requested core, at least 2."""
    return max(_MIN_WEIGHT, int(container.spec.cpu_request * _SHARES_PER_CORE))
