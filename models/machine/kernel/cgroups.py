"""The tree of control groups (cgroup v2) of a node: names, weights, and how a level shares CPU time.

    /                                      of the machine
      system.slice            100          units of systemd, CPUWeight each (100 is the default)
      kubepods.slice          by cores     the kubelet: CPU shares of the node's allocatable cores
        kubepods-podUID.slice              pods of class Guaranteed, by their requests
        kubepods-burstable.slice           by the sum of its pods' requests
          kubepods-burstable-podUID.slice
        kubepods-besteffort.slice   1
          kubepods-besteffort-podUID.slice
            cri-containerd-ID.scope        containers, by their requests

At every level the members share what their group gets in proportion to their weights; who wants less leaves the
rest to the others (max-min), which is what the fair scheduler's entities of groups come to over seconds. Sources:
Documentation/admin-guide/cgroup-v2.rst; pkg/kubelet/cm/qos_container_manager_linux.go and helpers_linux.go
(MilliCPUToShares, MinShares); runc 1.2 ConvertCPUSharesToCgroupV2Value; systemd.resource-control(5).
Left out: user.slice and machine.slice, in which nobody runs anything here.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from simcluster.engine.fork import FlatDict
from simcluster.models.machine.containerspec import ContainerSpec

PODS, SYSTEM, ROOT_SLICE = "kubepods.slice", "system.slice", "-.slice"
GUARANTEED, BURSTABLE, BEST_EFFORT = "Guaranteed", "Burstable", "BestEffort"
#: The group in which the groups of pods of a class lie.
_PARENTS = {
    GUARANTEED: PODS,
    **{qos: f"{PODS}/kubepods-{qos.lower()}.slice" for qos in (BURSTABLE, BEST_EFFORT)},
}
#: systemd.resource-control(5): CPUWeight=100 is the default of units and slices; 1 to 10000.
DEFAULT_WEIGHT, MOST_WEIGHT = 100, 10_000
#: kubelet: SharesPerCPU, MinShares, MaxShares.
_SHARES_PER_CORE, _MIN_SHARES, _MAX_SHARES = 1024, 2, 262_144


class PodGroup(NamedTuple):
    """What the kubelet makes of a pod's resources when it makes the pod's group.

    Attributes:
        qos: quality of service class; cpu_request: cores requested by all containers together.
    """

    qos: str = BEST_EFFORT
    cpu_request: float = 0.0

    @property
    def weight(self) -> int:
        """cpu.weight of the pod's group."""
        return weight_of(self.cpu_request)

    @property
    def parent(self) -> str:
        """The group in which the pod's lies, as a path from the root without a slash in front."""
        return _PARENTS[self.qos]

    def path(self, pod_uid: str) -> str:
        """The pod's group, as a path from the root without a slash in front."""
        tier = "" if self.qos == GUARANTEED else f"{self.qos.lower()}-"
        return f"{self.parent}/kubepods-{tier}pod{pod_uid.replace('-', '_')}.slice"


#: A pod that requests nothing.
NO_REQUESTS = PodGroup()


def group_of(*specs: ContainerSpec) -> PodGroup:
    """The group of a pod of which only the containers are known."""
    if not any(each.cpu_request or each.memory_request or each.cpu_limit or each.memory_limit for each in specs):
        return NO_REQUESTS
    same = all(
        each.cpu_limit and each.memory_limit and each.cpu_limit == each.cpu_request
        and each.memory_limit == each.memory_request
        for each in specs
    )  # fmt: skip
    millis = sum(int(each.cpu_request * 1000.0 + 0.5) for each in specs)  # integers
    return PodGroup(GUARANTEED if same else BURSTABLE, millis / 1000.0)


@lru_cache(maxsize=1024)
def weight_of(cores: float) -> int:
    """cpu.weight for so many cores requested: through CPU shares of cgroup v1, 2..262144 onto 1..10000."""
    shares = min(_MAX_SHARES, max(_MIN_SHARES, int(cores * 1000.0 + 0.5) * _SHARES_PER_CORE // 1000))
    return 1 + (shares - 2) * 9999 // 262142


def scope_of(container_id: str) -> str:
    """Name of a container's group."""
    return f"cri-containerd-{container_id}.scope"


class Level:
    """The members of one group: what each weighs and how many nanocores it wants.

    Attributes:
        wanted: nanocores that all want together; weight: of all of them.
    """

    __slots__ = ("members", "wanted", "weight")

    def __init__(self) -> None:
        self.members: FlatDict[str, tuple[int, int]] = FlatDict()  # name -> weight, nanocores
        self.wanted = 0
        self.weight = 0

    def put(self, name: str, weight: int, wants: int) -> None:
        """From now on a member weighs and wants so much."""
        before = self.members.get(name, _NOBODY)
        self.members[name] = (weight, wants)
        self.weight += weight - before[0]
        self.wanted += wants - before[1]

    def remove(self, name: str) -> None:
        """A member is gone. Harmless when there is none."""
        weight, wants = self.members.pop(name, _NOBODY)
        self.weight -= weight
        self.wanted -= wants

    def wants(self, name: str) -> int:
        """What a member wants."""
        return self.members.get(name, _NOBODY)[1]

    def gets(self, name: str, weight: int, wants: int, there: int) -> int:
        """What a member gets of what is there if it weighs and wants so much, and the others what they do."""
        own = self.members.get(name, _NOBODY)
        rest = there - (self.wanted - own[1])
        if wants <= rest:
            return wants
        whole = self.weight - own[0] + weight
        wanting = [each for other, each in self.members.items() if each[1] and other != name]
        if rest < 0 or any(want * whole > there * each for each, want in wanting):
            rest = max(rest, _part(wanting, weight, whole - self._idle(name), there))
        return min(wants, rest)

    def _idle(self, name: str) -> int:
        """Weight of those that want nothing: they do not take part."""
        return sum(weight for other, (weight, want) in self.members.items() if not want and other != name)  # integers


_NOBODY = (0, 0)


def _part(wanting: Iterable[tuple[int, int]], weight: int, whole: int, there: int) -> int:
    """The part of one who takes whatever he can get, by filling up: the modest are served first."""
    rest, others = there, list(wanting)
    while True:
        modest = [each for each in others if each[1] * whole <= rest * each[0]]
        if not modest:
            return max(0, rest) * weight // whole
        others = [each for each in others if each[1] * whole > rest * each[0]]
        for own, wants in modest:
            rest, whole = rest - wants, whole - own
