"""Steps of an incident: what happens when, and what it is aimed at."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from pydantic import Field, model_validator

from simcluster.api.objects import name_of
from simcluster.engine import SECOND
from simcluster.engine.content import Content, Library, Nanoseconds, UnknownName
from simcluster.faults import registry
from simcluster.faults.deployer import Deployer
from simcluster.faults.expressions import is_open
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.target import FaultTarget, ImpossibleTarget, ObjectRef, missing, ready_pods_of
from simcluster.faults.values import Scene, computed

#: What of a name makes it a pattern.
_WILD = frozenset("*?[")
#: A Deployment that is stopped has no pods any more after this (Kubernetes: 5 s of grace in most manifests).
_STOPPED_NS = 6 * SECOND
#: What is changed is started so long afterwards.
_STARTED_NS = 2 * SECOND


class Aim(Content):
    """What a step is aimed at: named objects, or a Node by rule. `Kind/name` in one text is the same.

    Attributes:
        kind: the object's kind.
        name: its name; with `*` all objects of the kind whose names are like it.
        node_of: the node on which the first ready pod of this Deployment runs.
        namespace: where it is, if not where the application is.
    """

    kind: str
    name: str = ""
    node_of: str = ""
    namespace: str = ""

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, data: Any) -> Any:
        if not isinstance(data, str):
            return data
        ref = ObjectRef.parse(data)
        return {"kind": ref.kind, "name": ref.name}

    @model_validator(mode="after")
    def _one_way(self) -> Aim:
        if bool(self.name) == bool(self.node_of):
            raise ValueError("give either name or node_of")
        if self.node_of and self.kind != "Node":
            raise ValueError("node_of chooses a Node")
        return self

    @property
    def definite(self) -> bool:
        """Whether it is one named object."""
        return bool(self.name) and not _WILD & set(self.name)

    def resolve(self, target: FaultTarget, namespace: str) -> list[ObjectRef]:
        """The objects meant, chosen now, sorted by name. Raises ImpossibleTarget: there is none."""
        namespace = self.namespace or namespace
        if self.definite:
            return [ObjectRef(kind=self.kind, name=self.name)]
        if self.name:
            resource, where, _ = ObjectRef(kind=self.kind, name="any").key_in(target.api, namespace)
            names = sorted(name_of(one) for one in target.api.store.objects(resource, where))
            like = [name for name in names if fnmatchcase(name, self.name)]
            if not like:
                raise ImpossibleTarget(str(UnknownName(self.kind, self.name, names)))
            return [ObjectRef(kind=self.kind, name=name) for name in like]
        workload = target.api.store.get("deployments.apps", namespace, self.node_of)
        if workload is None:
            raise missing(ObjectRef(kind="Deployment", name=self.node_of), target.api, namespace)
        pods = ready_pods_of(target.api.store, workload)
        if not pods:
            raise ImpossibleTarget(f"no ready pod of Deployment/{self.node_of} tells a node")
        return [ObjectRef(kind="Node", name=pods[0]["spec"]["nodeName"])]


class Scale(Content):
    """Set the replicas of a Deployment (`*` as in a target), as a deployer that stops before it starts does."""

    deployment: str
    replicas: int = Field(ge=0)


class IncidentStep(Content):
    """One thing that happens. Exactly one of `fault`, `replace_pods`, `scale` and `renew_certificate`.

    Attributes:
        at: after the start of the incident.
        fault: id of a fault, with `target` or several `targets`, and `params`.
        latent: the fault has been there since before the application came, and nobody has noticed (`at` must be 0).
        harmless: the fault hurts nobody by itself: a circumstance, and no cause.
        drawn: nobody wrote it: a change of others, drawn for the time of the incident, which is harmless, too.
        replace_pods: a Deployment whose pods are deleted, so that its new pods meet the fault; `*` as in a target.
        scale: a Deployment that is scaled.
        renew_certificate: the API server's certificate is renewed, as once a year, and everybody connects anew.
        deployer: who does it, when it is not the fault's own.
        redeploys, lead, around: what comes with the fault, as the fault says (`FaultSpec`).
    """

    at: Nanoseconds = Field(ge=0)
    fault: str = ""
    latent: bool = False
    harmless: bool = False
    drawn: bool = False
    target: Aim | None = None
    targets: tuple[Aim, ...] = ()
    params: dict[str, Any] = Field(default_factory=dict)
    replace_pods: str = ""
    scale: Scale | None = None
    renew_certificate: bool = False
    deployer: Deployer = Deployer()
    redeploys: str = ""
    lead: Nanoseconds = 0
    around: tuple[dict[str, Any], ...] = ()

    @model_validator(mode="after")
    def _one_deed(self) -> IncidentStep:
        deeds = (bool(self.fault), bool(self.replace_pods), self.scale is not None, self.renew_certificate)
        if deeds.count(True) != 1:
            raise ValueError("a step is exactly one of fault, replace_pods, scale and renew_certificate")
        if self.latent and (self.at or not self.fault):
            raise ValueError("only a fault is latent, and it has no time `at` which it begins")
        if self.harmless and not self.fault:
            raise ValueError("only a fault is harmless")
        if self.fault and (self.target is None) == (not self.targets):
            raise ValueError("a fault needs a target, or several targets")
        return self

    @property
    def aims(self) -> tuple[Aim, ...]:
        """What the fault is aimed at."""
        return self.targets if self.target is None else (self.target,)

    @property
    def resolved(self) -> bool:
        """Whether it has one named target, and nothing of it is to be computed."""
        if not self.fault:
            return True
        alone = not (self.redeploys or self.around)
        return alone and self.target is not None and self.target.definite and not is_open(self.params)

    def aimed(self, ref: ObjectRef, params: Mapping[str, Any], namespace: str = "") -> IncidentStep:
        """It with this one target, in a namespace of its own or not, and these parameters."""
        aim = Aim(kind=ref.kind, name=ref.name, namespace=namespace)
        return self.model_copy(update={"target": aim, "targets": (), "params": dict(params)})

    def each(self, target: FaultTarget, namespace: str, library: Library | None = None) -> list[IncidentStep]:
        """It as steps with one named target each, with the values of this world. Raises ImpossibleTarget."""
        if self.resolved:
            return [self]
        found: dict[tuple[ObjectRef, str], list[IncidentStep]] = {}
        for aim in self.aims:
            where = aim.namespace or namespace
            for ref in aim.resolve(target, namespace):
                scene = Scene(target, where, ref)
                one = self.aimed(ref, computed(self.params, scene), aim.namespace)
                found.setdefault((ref, where), one.surrounded(scene, namespace, library))
        return [step for steps in found.values() for step in steps]

    def surrounded(self, scene: Scene, namespace: str, library: Library | None = None) -> list[IncidentStep]:
        """It and what comes with it, each by itself. Raises ImpossibleTarget: there is nothing that could come."""
        with_it = [self._beside(computed(one, scene), scene.target, namespace, library) for one in self.around]
        around, lead = [step for steps in with_it for step in steps], self.lead
        name = str(computed(self.redeploys, scene))
        workload = scene.target.api.store.get("deployments.apps", namespace, name) if name else None
        if workload is not None:
            lead = max(lead, _STOPPED_NS)
            last = max([lead, *(one.at for one in around)])
            again = Scale(deployment=name, replicas=int(workload["spec"].get("replicas", 1)))
            around += [_scaled(0, Scale(deployment=name, replicas=0)), _scaled(last + _STARTED_NS, again)]
        plain = {"at": self.at + lead, "redeploys": "", "lead": 0, "around": ()}
        moved = [one.model_copy(update={"at": self.at + one.at}) for one in around]
        return sorted([*moved, self.model_copy(update=plain)], key=_when)

    def _beside(
        self, raw: dict[str, Any], target: FaultTarget, namespace: str, library: Library | None
    ) -> list[IncidentStep]:
        return completed(IncidentStep.model_validate(raw), library).each(target, namespace, library)


def _scaled(at: int, scale: Scale) -> IncidentStep:
    return IncidentStep.model_validate({"at": f"{at}ns", "scale": scale})


def _when(step: IncidentStep) -> int:
    return step.at


def completed(step: IncidentStep, library: Library | None = None) -> IncidentStep:
    """A step with all parameters of its fault and what comes with it, where some are computed.

    Raises UnknownName, ContentError, ValueError.
    """
    spec = registry.load(step.fault, library) if step.fault else None
    if spec is None or not (spec.inputs or spec.redeploys or spec.around or is_open(spec.params)):
        return step
    filled = spec.filled({"redeploys": spec.redeploys, "around": list(spec.around)}, step.params)
    with_it = {**filled, "around": tuple(filled["around"])}
    return step.model_copy(update={"params": spec.complete(step.params), "lead": spec.lead, **with_it})


def mechanism_of(step: IncidentStep, namespace: str, library: Library | None = None) -> Mechanism:
    """The mechanism of a fault step whose target has a name. Raises UnknownName, ContentError, ValueError."""
    assert step.target is not None, step
    assert step.target.name, step
    spec = registry.load(step.fault, library)
    ref = ObjectRef(kind=step.target.kind, name=step.target.name)
    made = registry.build(spec, ref, step.target.namespace or namespace, dict(step.params))
    if step.deployer != Deployer():
        made.deployer = step.deployer
    return made


def touched(step: IncidentStep, namespace: str, library: Library | None = None) -> tuple[Aim | ObjectRef, ...]:
    """What a fault step is aimed at, and where its mechanism takes effect besides. Raises as `mechanism_of` does."""
    definite = step.target is not None and step.target.definite
    return (*step.aims, *(mechanism_of(step, namespace, library).others if definite else ()))
