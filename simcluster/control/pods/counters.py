"""What a kubelet's `/metrics/resource` says of the containers of a node at one instant, as a few tuples.

Who runs changes rarely, what they have used always: the first is shared from scrape to scrape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from simcluster.engine import Shared


class Usages(Protocol):
    """Cumulative counters of one container or node, as a kubelet reports them."""

    @property
    def cpu_ns(self) -> int:
        """CPU time since the start, nanoseconds of one core."""

    @property
    def memory_bytes(self) -> int:
        """Working set."""

    @property
    def started_ns(self) -> int:
        """When counting began."""


class PodUsages(Protocol):
    """The running containers of one pod."""

    @property
    def namespace(self) -> str:
        """Namespace of the pod."""

    @property
    def name(self) -> str:
        """Name of the pod."""

    @property
    def containers(self) -> Mapping[str, Usages]:
        """Counters by container name."""


class Counted(NamedTuple):
    """Counters of one container."""

    cpu_ns: int
    memory_bytes: int
    started_ns: int


class Roster(Shared):
    """Containers that run on a node, in the order of their counters.

    Args:
        entries: namespace, pod and container, and when it was started.
    """

    __slots__ = ("_places", "entries")

    def __init__(self, entries: Sequence[tuple[str, str, str, int]]) -> None:
        self.entries = tuple(entries)
        self._places: dict[tuple[str, str], list[int]] = {}
        for place, (namespace, pod, _, _) in enumerate(self.entries):
            self._places.setdefault((namespace, pod), []).append(place)

    def __reduce__(self) -> tuple[type[Roster], tuple[tuple[tuple[str, str, str, int], ...]]]:
        return (Roster, (self.entries,))

    def places(self, namespace: str, pod: str) -> Sequence[int]:
        """Where the counters of a pod's containers stand."""
        return self._places.get((namespace, pod), ())


class Counters(Shared):
    """Counters of the containers of a roster."""

    __slots__ = ("cpu_ns", "memory_bytes", "roster")

    def __init__(self, roster: Roster, cpu_ns: Sequence[int], memory_bytes: Sequence[int]) -> None:
        self.roster = roster
        self.cpu_ns = tuple(cpu_ns)
        self.memory_bytes = tuple(memory_bytes)

    def __reduce__(self) -> tuple[type[Counters], tuple[Roster, tuple[int, ...], tuple[int, ...]]]:
        return (Counters, (self.roster, self.cpu_ns, self.memory_bytes))

    @classmethod
    def of(cls, pods: Sequence[PodUsages]) -> Counters:
        """The same counters, pod by pod."""
        entries, cpu, memory = [], [], []
        for pod in pods:
            for name, usage in pod.containers.items():
                entries.append((pod.namespace, pod.name, name, usage.started_ns))
                cpu.append(usage.cpu_ns)
                memory.append(usage.memory_bytes)
        return cls(Roster(entries), cpu, memory)

    def pod(self, namespace: str, name: str) -> dict[str, Counted]:
        """Counters of a pod's containers by name; empty if none runs."""
        found = {}
        for place in self.roster.places(namespace, name):
            _, _, container, started_ns = self.roster.entries[place]
            found[container] = Counted(self.cpu_ns[place], self.memory_bytes[place], started_ns)
        return found
