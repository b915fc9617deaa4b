"""An incident: steps on a time line, done under the identity of a plausible deployer."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from pydantic import Field, model_validator

from simcluster.api.errors import ApiError
from simcluster.api.objects import name_of, namespace_of
from simcluster.engine.content import Content, Library, Nanoseconds
from simcluster.faults import registry
from simcluster.faults.deployer import Deployer
from simcluster.faults.facts import ChangedFact
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.survey import Survey, changes, net, survey
from simcluster.faults.target import FaultTarget, ImpossibleTarget, ObjectRef, pods_of, ready_pods_of


class Aim(Content):
    """What a step is aimed at: a named object, or a Node by rule.

    Attributes:
        kind: the object's kind.
        name: its name, or nothing when a rule chooses it.
        node_of: the node on which the first ready pod of this Deployment runs.
    """

    kind: str
    name: str = ""
    node_of: str = ""

    @model_validator(mode="after")
    def _one_way(self) -> Aim:
        if bool(self.name) == bool(self.node_of):
            raise ValueError("give either name or node_of")
        if self.node_of and self.kind != "Node":
            raise ValueError("node_of chooses a Node")
        return self

    def resolve(self, target: FaultTarget, namespace: str) -> ObjectRef:
        """The object meant, chosen now. Raises ImpossibleTarget."""
        if self.name:
            return ObjectRef(kind=self.kind, name=self.name)
        workload = target.api.store.get("deployments.apps", namespace, self.node_of)
        pods = [] if workload is None else ready_pods_of(target.api.store, workload)
        if not pods:
            raise ImpossibleTarget(f"no ready pod of Deployment/{self.node_of} tells a node")
        return ObjectRef(kind="Node", name=pods[0]["spec"]["nodeName"])


class Scale(Content):
    """Set the replicas of a Deployment, as a deployer that stops before it starts does."""

    deployment: str
    replicas: int = Field(ge=0)


class IncidentStep(Content):
    """One thing that happens. Exactly one of `fault`, `replace_pods`, `scale` and `renew_certificate`.

    Attributes:
        at: after the start of the incident.
        fault: id of a fault, with `target` and `params`.
        latent: the fault has been there since before the application came, and nobody has noticed (`at` must be 0).
        harmless: the fault hurts nobody by itself: a circumstance, and no cause.
        replace_pods: a Deployment whose pods are deleted, so that its new pods meet the fault.
        scale: a Deployment that is scaled.
        renew_certificate: the API server's certificate is renewed, as once a year, and everybody connects anew.
        deployer: who does it, when it is not the fault's own.
    """

    at: Nanoseconds
    fault: str = ""
    latent: bool = False
    harmless: bool = False
    target: Aim | None = None
    params: dict[str, Any] = Field(default_factory=dict)
    replace_pods: str = ""
    scale: Scale | None = None
    renew_certificate: bool = False
    deployer: Deployer = Deployer()

    @model_validator(mode="after")
    def _one_deed(self) -> IncidentStep:
        deeds = (bool(self.fault), bool(self.replace_pods), self.scale is not None, self.renew_certificate)
        if deeds.count(True) != 1:
            raise ValueError("a step is exactly one of fault, replace_pods, scale and renew_certificate")
        if self.latent and (self.at or not self.fault):
            raise ValueError("only a fault is latent, and it has no time `at` which it begins")
        if self.harmless and not self.fault:
            raise ValueError("only a fault is harmless")
        if self.fault and self.target is None:
            raise ValueError("a fault needs a target")
        return self


def mechanism_of(step: IncidentStep, namespace: str, library: Library | None = None) -> Mechanism:
    """The mechanism of a fault step whose target has a name. Raises UnknownName, ContentError, ValueError."""
    assert step.target is not None, step
    assert step.target.name, step
    spec = registry.load(step.fault, library)
    ref = ObjectRef(kind=step.target.kind, name=step.target.name)
    return registry.build(spec, ref, namespace, dict(step.params))


def _impossible(error: ImpossibleTarget, step: int) -> ImpossibleTarget:
    error.step = step
    return error


class Incident:
    """The steps of one task in one world.

    Args:
        target: the world.
        namespace: of the application.
        steps: with resolved targets.

    Attributes:
        mechanisms: those of the fault steps, in order.
        started_ns: when `start` was called.
        done: how many steps have been done.
        record: what each fault changed, by step: every difference between what was so before its injection and after.
    """

    def __init__(
        self, target: FaultTarget, namespace: str, steps: tuple[IncidentStep, ...], library: Library | None = None
    ) -> None:
        self.target = target
        self.namespace = namespace
        self.steps = steps
        self.mechanisms = {
            index: mechanism_of(step, namespace, library) for index, step in enumerate(steps) if step.fault
        }
        self.started_ns = -1
        self.done = 0
        self.record: dict[int, tuple[ChangedFact, ...]] = {}

    def check(self) -> None:
        """Refuse the incident if a step is impossible in this world. Raises ImpossibleTarget."""
        for index, mechanism in self.mechanisms.items():
            if not self.steps[index].latent:
                self._possible(index, mechanism)
        for (_, one), (index, other) in combinations(self.mechanisms.items(), 2):
            reason = one.contradiction(other) or other.contradiction(one)
            if reason:
                raise _impossible(ImpossibleTarget(reason), index)
        for index, step in enumerate(self.steps):
            name = step.replace_pods or (step.scale.deployment if step.scale else "")
            if name and self.target.api.store.get("deployments.apps", self.namespace, name) is None:
                reason = f"there is no Deployment/{name} in namespace {self.namespace}"
                raise _impossible(ImpossibleTarget(reason), index)

    def _possible(self, index: int, mechanism: Mechanism) -> None:
        try:
            mechanism.check(self.target)
        except ImpossibleTarget as error:
            raise _impossible(error, index) from None

    def start(self) -> None:
        """Schedule all steps, counted from now."""
        self.check()
        self.started_ns = self.target.sim.now
        for index, step in enumerate(self.steps):
            if not step.latent:
                self.target.sim.after(step.at, self.perform, index)

    def plant(self) -> None:
        """Do the latent steps, in a cluster without applications. Raises ImpossibleTarget."""
        for index, step in enumerate(self.steps):
            if step.latent:
                self._possible(index, self.mechanisms[index])
                self._inject(index)

    @property
    def last_at_ns(self) -> int:
        """When the last step is done, after the start."""
        return max((step.at for step in self.steps), default=0)

    def faulted(self) -> list[ObjectRef]:
        """The objects that faults were aimed at."""
        return [mechanism.ref for mechanism in self.mechanisms.values()]

    def still_present(self) -> list[str]:
        """Why causes still stand, one text each; empty when all are gone."""
        reasons = [mechanism.still_present(self.target) for mechanism in self.mechanisms.values()]
        return [reason for reason in reasons if reason]

    def perform(self, index: int) -> None:
        """Do one step now."""
        step = self.steps[index]
        if step.fault:
            try:
                self._inject(index)
            except ImpossibleTarget:  # somebody has removed meanwhile what it would have happened to
                self.target.sim.record("incident", f"{index} has nothing to happen to")
        elif step.scale is not None:
            client = self.target.client(step.deployer.user, step.deployer.manager)
            patch = {"spec": {"replicas": step.scale.replicas}}
            client.patch("deployments.apps", self.namespace, step.scale.deployment, patch, kind="merge")
        elif step.renew_certificate:
            self.target.api.renew_certificate()
        else:
            self._replace_pods(step)
        self.done += 1
        self.target.sim.record("incident", str(index))

    def _inject(self, index: int) -> None:
        """Make it so, and record what that changed; the mechanism has no part in the record."""
        before = survey(self.target)
        self.mechanisms[index].inject(self.target)
        self._note(index, before)
        if not self.record[index]:  # what it set going begins within this instant
            self.target.sim.after(0, self._note, index, before)

    def _note(self, index: int, before: Survey) -> None:
        self.record[index] = changes(before, survey(self.target))

    def facts(self) -> tuple[ChangedFact, ...]:
        """What all faults together have changed so far."""
        return net([self.record[index] for index in sorted(self.record)])

    def _replace_pods(self, step: IncidentStep) -> None:
        workload = self.target.api.store.get("deployments.apps", self.namespace, step.replace_pods)
        assert workload is not None, step
        client = self.target.client(step.deployer.user, step.deployer.manager)
        for pod in pods_of(self.target.api.store, workload):
            try:
                client.delete("pods", namespace_of(pod), name_of(pod))
            except ApiError as error:
                if error.code != 404:  # gone already: somebody else replaced it
                    raise
