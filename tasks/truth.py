"""The truth about a task, from what its incident does and the data sheets of its mechanisms.

The origin is what the first fault that lasts and is a cause by itself was aimed at; where nothing that was done still
stands, it is the weakness that keeps the incident going. What is wrong in words is what its kind of cause means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field, field_validator, model_validator

from simcluster.engine.content import Content, Library
from simcluster.faults.facts import ChangedFact, Place, segments
from simcluster.faults.families import meanings
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.steps import IncidentStep, mechanism_of
from simcluster.faults.survey import value_of
from simcluster.faults.target import FaultTarget, ObjectRef

if TYPE_CHECKING:
    from simcluster.tasks.model import Task

#: The kind of cause of a task in which there is none.
NO_FAULT = "no_fault"


class Truth(Content):
    """What is wrong, for the judge. A task says of it only what does not derive.

    Attributes:
        component: `Kind/name` of the origin.
        family: the kind of cause, of `simcluster list families`.
        mechanism: one sentence; what the family means if nothing else is said.
        details: what was changed, key to value.
        scope: names of all components that are wrong themselves (not their victims).
        faults: ids of the faults that are causes by themselves.
    """

    component: str
    family: str = ""
    mechanism: str = ""
    details: dict[str, str] = Field(default_factory=dict)
    scope: tuple[str, ...] = Field(min_length=1)
    faults: tuple[str, ...] = ()

    @field_validator("component")
    @classmethod
    def _kind_and_name(cls, value: str) -> str:
        ObjectRef.parse(value)
        return value

    @model_validator(mode="before")
    @classmethod
    def _in_words(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and data.get("family") and not data.get("mechanism"):
            return {**data, "mechanism": meanings().get(data["family"], data["family"])}
        return data

    @property
    def ref(self) -> ObjectRef:
        """The component as an object."""
        return ObjectRef.parse(self.component)


class Weakness(Content):
    """What keeps an incident going whose trigger is over; several are alternatives, each of which ends it.

    Attributes:
        component: `Kind/name` of an object of the API.
        path: of the value in it, such as `spec.template.spec.containers[server].env[ATTEMPTS].value`.
        standing: the value that is there in the application as it is deployed.
        reference: the value with which the incident ends, in plain JSON; nothing: without the value.
        family: the kind of cause, of `simcluster list families`.
    """

    component: str
    path: str
    standing: str
    reference: Any = None
    family: str

    @field_validator("component")
    @classmethod
    def _kind_and_name(cls, value: str) -> str:
        ObjectRef.parse(value)
        return value

    @field_validator("family")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in meanings() and value != NO_FAULT:
            raise ValueError(f"unknown family {value!r}; known: {', '.join(meanings())}")
        return value

    def fact(self, target: FaultTarget, namespace: str) -> ChangedFact:
        """It as a fact of a world: `after` is what stands there, `before` what would end the incident."""
        ref = ObjectRef.parse(self.component)
        _, where, name = ref.key_in(target.api, namespace)
        place = Place(ref.kind, where, name)
        return ChangedFact(place, self.path, self.reference, value_of(target, place, self.path))


class NothingLasts(ValueError):
    """An incident of which nothing stands, and that nothing is said to keep going."""


def causes(steps: Sequence[IncidentStep], namespace: str, library: Library | None = None) -> list[Mechanism]:
    """Mechanisms of the steps that are causes by themselves; a target that a rule chooses is `<target>`."""
    return [
        mechanism_of(
            step.aimed(ObjectRef(kind=aim.kind, name=aim.name or "<target>"), step.params, aim.namespace),
            namespace,
            library,
        )
        for step in steps
        if step.fault and not step.harmless
        for aim in step.aims
    ]


def derived(task: Task, library: Library | None = None) -> Truth:
    """The truth about a task. Raises UnknownName, ContentError, NothingLasts, ValueError: a fault of it is none."""
    lasting = [one for one in causes(task.incident, task.namespace, library) if one.lasting]
    if task.sustained_by and not lasting:
        return weaknesses(task)[0]
    if not lasting:
        raise NothingLasts(f"{task.id}: nothing of the incident lasts: say what it is sustained_by")
    first = lasting[0]
    scope = tuple(dict.fromkeys(one.ref.name for one in lasting))
    details: dict[str, str] = {}
    for one in lasting:
        details = {**one.details, **details}  # of several targets the first is an example
    return Truth(component=str(first.ref), family=first.family, details=details, scope=scope, faults=faults_of(task))


def faults_of(task: Task) -> tuple[str, ...]:
    """Ids of the faults of a task that are causes by themselves."""
    return tuple(dict.fromkeys(step.fault for step in task.incident if step.fault and not step.harmless))


def weaknesses(task: Task) -> list[Truth]:
    """What may be said of what keeps an incident going, a truth for each weakness."""
    found = []
    for weak in task.sustained_by:
        name = ObjectRef.parse(weak.component).name
        tells = next((step for step in reversed(segments(weak.path)) if step not in ("value", "name")), weak.path)
        found.append(Truth(component=weak.component, family=weak.family, details={tells: weak.standing}, scope=(name,)))
    return found
