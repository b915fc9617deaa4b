"""The tests of an examination: what is done to a fork at rest, and how long it may take to be well again.

A trial acts as the cluster's administrator. It is survived as soon as everything has been rolled out for a look and
nothing is worse than at rest in the healthy twin; it is not if that has not come to pass after `LIMIT_NS`, or if hardly
a user is served although everything is rolled out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from simcluster.api.objects import ApiObject, name_of
from simcluster.engine import SECOND
from simcluster.eval.examination.standing import failings, growing, memory
from simcluster.eval.examination.vitals import Vitals, vitals
from simcluster.faults.steps import mechanism_of
from simcluster.faults.target import ImpossibleTarget
from simcluster.tasks.model import Task

if TYPE_CHECKING:
    from simcluster.engine.content import Library
    from simcluster.world import World

#: How long a world may take to be well again.
LIMIT_NS = 240 * SECOND
#: How long nothing is done at least to see what comes by itself.
LASTS_NS = 120 * SECOND
#: After so long a node that says nothing is no longer Ready (kube-controller-manager 1.32: 50 s, looked at every 5 s).
MISSED_NS = 60 * SECOND
#: It is looked at so often, at what happened since.
LOOK_NS = 10 * SECOND
#: So many looks at a world in which everything is rolled out and hardly a user is served: it has collapsed.
COLLAPSED_LOOKS = 8


@dataclass(frozen=True)
class Norm:
    """What is normal, learned from the healthy twin at rest.

    Attributes:
        task: with resolved targets; library: where its faults are found.
        rest: what its users and programs met.
        critical: components of its control plane.
        slow_ns: how long the incident took from its cause to the page.
        lived_ns: how long nothing has been done to the world already.
        eased: what users and programs met after the reference fix, where not even that is as good as the twin.
        left: what is unfinished after it: of two workloads that do not fit beside each other one waits.
    """

    task: Task
    library: Library | None
    rest: Vitals
    critical: list[str]
    slow_ns: int
    lived_ns: int = 0
    eased: Vitals | None = None
    left: frozenset[str] = frozenset()

    @property
    def bound(self) -> tuple[str, ...]:
        """Workloads that circumstances of the incident were aimed at: they may stay where these put them."""
        return tuple(step.target.name for step in self.task.incident if step.harmless and step.target is not None)

    def worse(self, seen: Vitals) -> list[str]:
        """In which ways what was seen is worse than normal, and than what the reference fix makes of it."""
        found = seen.worse_than(self.rest)
        return seen.worse_than(self.eased) if found and self.eased is not None else found

    def failings(self, world: World) -> list[str]:
        """What is unfinished or does not run now, but for what is so after the reference fix."""
        found = failings(world, self.task.homes, self.critical, self.bound)
        return [why for why in found if why not in self.left]

    def complaints(self, world: World, lasts_ns: int) -> list[str]:
        """What is unfinished now or was worse than normal in the last nanoseconds."""
        return [*self.failings(world), *self.worse(vitals(world, self.task.namespace, lasts_ns))]


@dataclass(frozen=True)
class Trial(ABC):
    """One test.

    Attributes:
        subject: what it is done to.
        good_looks: so many good looks in a row it takes to survive it.
    """

    subject: str
    group: ClassVar[str]
    verb: ClassVar[str]
    good_looks: ClassVar[int] = 1

    @property
    def name(self) -> str:
        """What it is called in reports."""
        return f"{self.group}: {self.subject} {self.verb}"

    @abstractmethod
    def begin(self, world: World, norm: Norm) -> str:
        """Do it. Returns why it cannot be done, or an empty text."""

    def take(self, world: World, norm: Norm) -> str:
        """Take the test in a fork of one's own. Returns why it is not survived, or an empty text."""
        problem = self.begin(world, norm)
        if problem:
            return problem
        end_ns, collapsed, complete, good = world.sim.now + LIMIT_NS, 0, False, 0
        while True:
            world.run_for(LOOK_NS)
            found = norm.complaints(world, LOOK_NS)
            good = good + 1 if complete and not found else 0
            if good >= self.good_looks:
                return ""
            found = found or ["it is not complete"]
            unserved = vitals(world, norm.task.namespace, LOOK_NS).collapsed
            complete = not norm.failings(world)
            collapsed = collapsed + 1 if unserved and complete else 0
            if collapsed >= COLLAPSED_LOOKS or world.sim.now >= end_ns:
                return "; ".join(found[:2])


@dataclass(frozen=True)
class TimePasses(Trial):
    """Nothing is done: what only comes with time comes, such as what fills up."""

    subject: str = "the cluster"
    group: ClassVar[str] = "at rest"
    verb: ClassVar[str] = "goes on for minutes"

    def begin(self, world: World, norm: Norm) -> str:
        """Nothing."""
        return ""

    def take(self, world: World, norm: Norm) -> str:
        """Be left alone for half as long again as the incident took to be noticed, from now on at least `LASTS_NS`."""
        lasts_ns = max(LASTS_NS, norm.slow_ns + norm.slow_ns // 2 - norm.lived_ns)
        end_ns, namespace = world.sim.now + lasts_ns, norm.task.namespace
        before = memory(world, namespace)
        while world.sim.now < end_ns:
            world.run_for(LASTS_NS // 2)
            found = norm.complaints(world, LASTS_NS // 2)
            if found:
                return "; ".join(found[:2])
        return next(iter(growing(before, memory(world, namespace), lasts_ns)), "")


@dataclass(frozen=True)
class Commanded(Trial):
    """What one command of kubectl does."""

    group: ClassVar[str] = "change"

    @property
    @abstractmethod
    def command(self) -> str:
        """What is typed after `kubectl`."""

    def begin(self, world: World, norm: Norm) -> str:
        """Type it."""
        return kubectl(world, norm, self.command)


@dataclass(frozen=True)
class Roll(Commanded):
    """A workload's pods are replaced, one after the other."""

    verb: ClassVar[str] = "is rolled"

    @property
    def command(self) -> str:
        """`rollout restart`."""
        return f"rollout restart {self.subject}"


@dataclass(frozen=True)
class OneMore(Commanded):
    """A workload gets one replica more."""

    replicas: int = 1
    verb: ClassVar[str] = "gets one replica more"

    @property
    def command(self) -> str:
        """`scale`."""
        return f"scale {self.subject} --replicas={self.replicas + 1}"


@dataclass(frozen=True)
class Recreated(Commanded):
    """Pods that no workload owns are deleted: what is needed is made again by somebody."""

    pods: tuple[str, ...] = ()
    verb: ClassVar[str] = "are deleted"

    @property
    def command(self) -> str:
        """`delete`."""
        return f"delete pod {' '.join(self.pods)} --wait=false"


@dataclass(frozen=True)
class Again(Trial):
    """What set the incident going, and was over by itself, happens again."""

    step: int = 0
    group: ClassVar[str] = "change"
    verb: ClassVar[str] = "happens again"

    def begin(self, world: World, norm: Norm) -> str:
        """Let it happen, and wait until it is over."""
        mechanism = mechanism_of(norm.task.incident[self.step], norm.task.namespace, norm.library)
        try:
            mechanism.inject(world)
        except ImpossibleTarget:
            return ""  # what it would have happened to is no longer there
        world.run_for(int(getattr(mechanism.params, "lasts", LOOK_NS)))
        return ""


@dataclass(frozen=True)
class Reboot(Trial):
    """A node is rebooted in an orderly way: whatever is not enabled or not written down is gone."""

    group: ClassVar[str] = "loss"
    verb: ClassVar[str] = "is rebooted"

    def begin(self, world: World, norm: Norm) -> str:
        """Press the button, and wait until a node that does not come back is missed."""
        world.machines[self.subject].power.shut_down(reboot=True)
        world.run_for(MISSED_NS)
        return ""


@dataclass(frozen=True)
class Drain(Trial):
    """A node is drained, and taken back into service."""

    group: ClassVar[str] = "loss"
    verb: ClassVar[str] = "is drained"

    def begin(self, world: World, norm: Norm) -> str:
        """Drain it, wait until what it ran is elsewhere, and uncordon it."""
        words = "--ignore-daemonsets --delete-emptydir-data --force --timeout=120s"
        problem = kubectl(world, norm, f"drain {self.subject} {words}")
        world.run_for(2 * LOOK_NS)
        return problem or kubectl(world, norm, f"uncordon {self.subject}")


@dataclass(frozen=True)
class Returned(Trial):
    """Workloads that a node runs in the healthy twin come back to it, where nothing keeps them away.

    The other nodes take no pods for a while. Who may not go there goes elsewhere afterwards. What is wrong with a node
    may hurt now and then only: a minute must be good.
    """

    workloads: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    group: ClassVar[str] = "change"
    verb: ClassVar[str] = "gets its pods back"
    good_looks: ClassVar[int] = 6

    def begin(self, world: World, norm: Norm) -> str:
        """Cordon the others, roll the workloads, and uncordon the others once pods have been placed."""
        open_ones = [name for name in self.others if not _cordoned(world, name)]
        problem = kubectl(world, norm, f"cordon {' '.join(open_ones)}") if open_ones else ""
        problem = problem or kubectl(world, norm, f"rollout restart {' '.join(self.workloads)}")
        world.run_for(2 * LOOK_NS)
        return problem or (kubectl(world, norm, f"uncordon {' '.join(open_ones)}") if open_ones else "")


def _cordoned(world: World, node: str) -> bool:
    stored = world.api.store.get("nodes", "", node)
    return stored is None or bool((stored.get("spec") or {}).get("unschedulable"))


def kubectl(world: World, norm: Norm, command: str) -> str:
    """Run it as the administrator in the application's namespace. Returns what it complains of."""
    result = world.kubectl(namespace=norm.task.namespace).run(command)
    return f"kubectl {command}: {result.stderr.strip()}" if result.exit_code else ""


def label(obj: ApiObject) -> str:
    """`deployment/name`, as kubectl takes it."""
    return f"{obj['kind'].lower()}/{name_of(obj)}"
