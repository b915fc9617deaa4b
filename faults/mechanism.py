"""A mechanism of failure: code, few of them; the many faults are YAML that names one.

A mechanism is a frozen value: what it does to which object. It holds no memory of the world
but the record it is given, so it can be asked at any instant, in any fork, whether the cause still stands.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from copy import copy
from typing import Any, ClassVar, Self

from simcluster.api.objects import ApiObject
from simcluster.engine import Shared
from simcluster.engine.content import Content
from simcluster.faults.datasheet import DataSheet
from simcluster.faults.deployer import Deployer
from simcluster.faults.facts import ChangedFact
from simcluster.faults.target import FaultTarget, ImpossibleTarget, ObjectRef, containers_of, missing


class Mechanism(Shared, ABC):
    """One way to break one object.

    Attributes:
        Params: the model of its parameters.
        kinds: kinds of objects it can be aimed at; none stands for any.
        sheet: its data sheet.
        family: the kind of cause, of `simcluster list families`; the sheet's unless the fault says another.
        decisive: patterns of paths, each of whose changed values is the cause by itself; none: they are it together.
        meant_for: kinds of objects it can be aimed at; the mechanism's unless the fault says fewer.
        lasting: whether it stays until somebody undoes it; what is not is over by itself.
        changed: what it changed, of the record of an injection; nothing of one that has not been.
        ref: the object.
        namespace: where namespaced objects of the task live.
    """

    Params: ClassVar[type[Content]]
    sheet: ClassVar[DataSheet]
    kinds: ClassVar[tuple[str, ...]] = ()
    lasting: bool = True
    changed: tuple[ChangedFact, ...] = ()
    decisive: tuple[str, ...] = ()

    def __init__(self, ref: ObjectRef, namespace: str, params: Any, deployer: Deployer) -> None:
        self.ref = ref
        self.namespace = namespace
        self.params = params
        self.deployer = deployer
        self.family = self.sheet.family
        self.meant_for = self.kinds

    def check(self, target: FaultTarget) -> None:
        """Refuse an impossible target. Raises ImpossibleTarget."""
        if not self.takes(self.ref.kind):
            raise ImpossibleTarget(f"{type(self).__name__} takes {' or '.join(self.meant_for)}, not {self.ref}")
        self.object(target)

    def takes(self, kind: str) -> bool:
        """Whether it can be aimed at objects of a kind."""
        return not self.meant_for or kind in self.meant_for

    def knowing(self, facts: Iterable[ChangedFact]) -> Self:
        """It with the record of what its injection changed."""
        made = copy(self)
        made.changed = tuple(self.sheet.root(facts))
        return made

    @abstractmethod
    def inject(self, target: FaultTarget) -> None:
        """Make it so, now."""

    @abstractmethod
    def still_present(self, target: FaultTarget) -> str:
        """Why the cause still stands, or an empty text when it is gone.

        A deleted object counts as gone: that it must exist is another check's business.
        """

    @property
    def part(self) -> str:
        """What of the object is wrong, in words: two lasting faults of one part contradict each other."""
        return type(self).__name__

    @classmethod
    def drawn(cls, target: FaultTarget, ref: ObjectRef, namespace: str) -> list[dict[str, Any]]:
        """Parameters with which it fits a component of a world, for those that differ from component to component."""
        return []

    @property
    def others(self) -> tuple[ObjectRef, ...]:
        """Objects besides its target at which it takes effect."""
        return ()

    @property
    def makes_target(self) -> bool:
        """Whether what it is aimed at comes with it."""
        return False

    @property
    def settles_ns(self) -> int:
        """How long after its injection what it changes is complete."""
        return 0

    @property
    def moves_target(self) -> bool:
        """Whether what it is aimed at comes or goes with it: to delete that is a repair, or cannot be."""
        return self.makes_target

    @property
    def details(self) -> dict[str, str]:
        """By what people tell of it, key to value."""
        return {}

    def contradiction(self, other: Mechanism) -> str:
        """Why this and another fault of the same incident cannot both be; empty if they can."""
        if self.ref == other.ref and self.part == other.part and self.lasting and other.lasting:
            return f"{self.part} of {self.ref} can be wrong in one way only"
        return ""

    def object(self, target: FaultTarget) -> ApiObject:
        """The object aimed at. Raises ImpossibleTarget."""
        found = self.ref.find(target.api, self.namespace)
        if found is None:
            raise missing(self.ref, target.api, self.namespace)
        return found


def container_named(workload: Any, name: str) -> dict[str, Any] | None:
    """A container of a workload's pod template: the named one, or the first when no name is given."""
    for container in containers_of(workload):
        if not name or container["name"] == name:
            return container
    return None


class ContainerMechanism(Mechanism):
    """Base of what is wrong with one container of a Deployment's pod template.

    Its parameters have a `container`: a name, or nothing for the first one.
    """

    kinds = ("Deployment",)

    def container(self, target: FaultTarget) -> dict[str, Any]:
        """The container aimed at. Raises ImpossibleTarget."""
        found = container_named(self.object(target), self.params.container)
        if found is None:
            names = ", ".join(one["name"] for one in containers_of(self.object(target)))
            raise ImpossibleTarget(f"{self.ref} has no container {self.params.container!r}; the nearest are {names}")
        return found

    def current(self, target: FaultTarget) -> dict[str, Any] | None:
        """The container as it is now, or None when it or its Deployment is gone."""
        workload = self.ref.find(target.api, self.namespace)
        return None if workload is None else container_named(workload, self.params.container)
