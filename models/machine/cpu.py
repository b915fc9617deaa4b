"""Sharing a machine's cores between containers, as the kernel's fair scheduler does.

Each container may use what it demands, up to its limit; when all together demand more than
there is, cores are shared down the tree of control groups, at every level in proportion to
weights (`kernel.cgroups`). Demand is what was reported for the last accounting window. CPU is
counted in integer nanocores. A pod's own quota is the sum of its containers' and never binds first.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.engine.fork import FlatDict
from simcluster.models.machine.kernel.cgroups import (
    DEFAULT_WEIGHT,
    NO_REQUESTS,
    PODS,
    ROOT_SLICE,
    SYSTEM,
    Level,
    PodGroup,
    weight_of,
)
from simcluster.models.machine.kernel.group import Group

NANOCORES = 1_000_000_000
#: The units that use what the system's own processes do: kubelet.service and containerd.service.
_SYSTEM, _SYSTEM_WEIGHT = "the system's own", 2 * DEFAULT_WEIGHT

#: Cores of a container that nobody runs: so few that nothing is ever done.
_HALTED = 1e-6


class CpuAccount:
    """Who wants how much of a machine's cores.

    Args:
        cores: cores that containers may use (of the whole machine).

    Attributes:
        speed: how fast they run, as a share of nominal; stolen: nanocores that the hypervisor withholds.
        spinning: nanocores that spin in the kernel with interrupts off: nobody takes a CPU from it.
        version: how often a demand or a weight has changed.
        halted: containers whose processes somebody has stopped (SIGSTOP).
    """

    def __init__(self, cores: int) -> None:
        self.capacity = cores * NANOCORES
        self.speed = 1.0
        self.stolen = 0
        self.spinning = 0
        self.version = 0
        self.halted: FlatDict[str, None] = FlatDict()
        self._pods: FlatDict[str, tuple[PodGroup, tuple[tuple[str, int, int], ...]]] = FlatDict()
        self._levels = {"": Level(), SYSTEM: Level(), PODS: Level()}
        self._levels[""].put(SYSTEM, DEFAULT_WEIGHT, 0)
        self._levels[""].put(PODS, weight_of(cores), 0)
        self._slices: FlatDict[str, str] = FlatDict()  # process -> its slice

    @property
    def mark(self) -> tuple[int, int, int, int, float]:
        """As long as it is the same, every share is."""
        return self.version, self.capacity, self.stolen, self.system, self.speed

    @property
    def available(self) -> int:
        """Nanocores that the hypervisor leaves to this machine."""
        return self.capacity - self.stolen

    @property
    def asked(self) -> int:
        """Nanocores that all containers want together, each no more than its quota."""
        return self._levels[PODS].wanted

    @property
    def system(self) -> int:
        """Nanocores of the system's own processes."""
        return self._levels[SYSTEM].wants(_SYSTEM)

    @system.setter
    def system(self, nanocores: int) -> None:
        self._put(SYSTEM, _SYSTEM, _SYSTEM_WEIGHT, nanocores)

    def lose(self, cores: int) -> None:
        """So many cores spin in the kernel and run nobody's tasks."""
        self.version += 1
        self.spinning = cores * NANOCORES

    def halt(self, container: Group) -> None:
        """No core runs it any more."""
        self.version += 1
        self.halted[container.container_id] = None

    def go_on(self, container: Group) -> None:
        """It is run again. Harmless for one that is not halted."""
        self.version += 1
        self.halted.pop(container.container_id, None)

    def steal(self, share: float) -> None:
        """The hypervisor gives so large a share of the machine's CPU time to others. Raises ValueError."""
        if not 0.0 <= share < 1.0:
            raise ValueError(f"the share of stolen time must be at least 0 and less than 1, not {share:g}")
        self.stolen = int(share * self.capacity)

    # Processes that are no containers.

    def burden(self, name: str, nanocores: int, weight: int, group: str = SYSTEM) -> None:
        """A unit of a slice (or `-.slice`, the root) wants so much (0: nothing any more)."""
        self.forget(name)
        if nanocores:
            self._slices[name] = group
            self._put("" if group == ROOT_SLICE else group, name, weight, nanocores)

    def forget(self, name: str) -> None:
        """A unit wants nothing any more."""
        self.version += 1
        group = self._slices.pop(name, SYSTEM)
        self._drop("" if group == ROOT_SLICE else group, name)

    def granted(self, name: str) -> float:
        """Cores that such a process gets."""
        group = self._slices.get(name)
        if group is None:
            return 0.0
        there, root = self._there(), self._levels[""]
        if group == ROOT_SLICE:
            weight, wants = root.members[name]
            return root.gets(name, weight, wants, there) / NANOCORES
        level = self._levels[group]
        weight, wants = level.members[name]
        there = root.gets(group, root.members[group][0], level.wanted, there)
        return level.gets(name, weight, wants, there) / NANOCORES

    # Pods and their containers.

    def admit(self, pod_uid: str, group: PodGroup) -> None:
        """A pod's group is made, or weighs something else from now on."""
        self.version += 1
        before = self._pods.get(pod_uid)
        if before is not None:
            self.dismiss(pod_uid)
        self._pods[pod_uid] = (group, () if before is None else before[1])
        self._settle(pod_uid)

    def dismiss(self, pod_uid: str) -> None:
        """A pod's group is gone. Harmless when there is none."""
        self.version += 1
        found = self._pods.pop(pod_uid, None)
        if found is None:
            return
        parent = found[0].parent
        self._drop(parent, pod_uid)
        if parent != PODS:
            self._weigh(parent)

    def demand_of(self, container: Group) -> int:
        """Nanocores that a container wants, no more than its quota."""
        key = container.container_id
        for name, _, wants in self._pods.get(container.spec.pod_uid, _NO_POD)[1]:
            if name == key:
                return wants
        return 0

    def used(self, container: Group) -> float:
        """Cores that a container uses now."""
        return min(self.demand_of(container) / NANOCORES, self.share(container))

    def report(self, container: Group, nanocores: int) -> None:
        """The container wants so much in this window."""
        self.version += 1
        spec, key = container.spec, container.container_id
        limit, uid = spec.cpu_limit, spec.pod_uid
        asked = nanocores if limit is None else min(nanocores, int(limit * NANOCORES))
        group, members = self._pods.get(uid) or (container.sandbox.group, ())
        own = (key, weight_of(spec.cpu_request), asked)
        others = [each for each in members if each[0] != key]
        self._pods[uid] = (group, (*others, own))
        self._settle(uid)

    def release(self, container: Group) -> None:
        """The container wants nothing any more."""
        self.version += 1
        self.halted.pop(container.container_id, None)
        uid = container.spec.pod_uid
        found = self._pods.get(uid)
        if found is not None:
            self._pods[uid] = (found[0], tuple(each for each in found[1] if each[0] != container.container_id))
            self._settle(uid)

    def share(self, container: Group) -> float:
        """Cores the container could use now, at most its limit."""
        there = self._there()
        return self._share(container, there, there - self._levels[""].wanted)

    def shares(self, containers: Sequence[Group]) -> list[float]:
        """`share` of several containers."""
        there = self._there()
        rest = there - self._levels[""].wanted
        return [self._share(container, there, rest) for container in containers]

    # Inside.

    def _share(self, container: Group, there: int, rest: int) -> float:
        """What it could use of what is there, of which `rest` is left by what all want."""
        if self.halted and container.container_id in self.halted:
            return _HALTED
        ceiling, limit = self.capacity, container.spec.cpu_limit
        if limit is not None:
            ceiling = min(ceiling, int(limit * NANOCORES))
        if ceiling > rest and ceiling > rest + self.demand_of(container):
            ceiling = self._climb(container, ceiling, there)
        return ceiling / NANOCORES

    def _there(self) -> int:
        return max(0, self.capacity - self.stolen - self.spinning)

    def _climb(self, container: Group, wants: int, there: int) -> int:
        """What a container gets if it wants so much: down the tree, at every level its group's part."""
        uid, key = container.spec.pod_uid, container.container_id
        group, members = self._pods.get(uid) or (container.sandbox.group, ())
        root, pods, tier = self._levels[""], self._levels[PODS], self._levels.get(group.parent)
        more = wants - next((want for name, _, want in members if name == key), 0)
        there = root.gets(PODS, root.members[PODS][0], pods.wanted + more, there)
        if tier is None:
            tier = Level()
        if tier is not pods:
            weight = pods.members.get(group.parent, (weight_of(group.cpu_request), 0))[0]
            there = pods.gets(group.parent, weight, tier.wanted + more, there)
        there = tier.gets(uid, group.weight, tier.wants(uid) + more, there)
        if all(name == key for name, _, _ in members):
            return min(wants, there)
        inside = Level()
        for name, weight, want in members:
            inside.put(name, weight, want)
        return inside.gets(key, weight_of(container.spec.cpu_request), wants, there)

    def _settle(self, pod_uid: str) -> None:
        """A pod's demand or weight has changed."""
        group, members = self._pods[pod_uid]
        parent = group.parent
        level = self._levels.get(parent)
        if level is None:
            level = self._levels[parent] = Level()
        anew = pod_uid not in level.members
        level.put(pod_uid, group.weight, sum(wants for _, _, wants in members))  # integers
        if parent != PODS:
            if anew:
                self._weigh(parent)
            else:
                pods = self._levels[PODS]
                pods.put(parent, pods.members[parent][0], level.wanted)
        root = self._levels[""]  # the system's own wants what it did
        root.put(PODS, root.members[PODS][0], self._levels[PODS].wanted)

    def _weigh(self, tier: str) -> None:
        """A tier weighs what its pods request together; BestEffort, which requests nothing, the least."""
        level = self._levels[tier]
        millis = sum(int(self._pods[uid][0].cpu_request * 1000.0 + 0.5) for uid in level.members)  # integers
        self._levels[PODS].put(tier, weight_of(millis / 1000.0), level.wanted)
        self._pass_up()

    def _put(self, group: str, name: str, weight: int, nanocores: int) -> None:
        self._levels[group].put(name, weight, nanocores)
        self._pass_up()

    def _drop(self, group: str, name: str) -> None:
        self._levels[group].remove(name)
        self._pass_up()

    def _pass_up(self) -> None:
        root = self._levels[""]
        for name in (SYSTEM, PODS):
            root.put(name, root.members[name][0], self._levels[name].wanted)

    def weights(self) -> dict[str, int]:
        """cpu.weight of the groups between the root and the pods."""
        root, pods = self._levels[""], self._levels[PODS]
        inner = {name: weight for name, (weight, _) in pods.members.items() if name in self._levels}
        return {SYSTEM: root.members[SYSTEM][0], PODS: root.members[PODS][0], **inner}


_NO_POD: tuple[PodGroup, tuple[tuple[str, int, int], ...]] = (NO_REQUESTS, ())
