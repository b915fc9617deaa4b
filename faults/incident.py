"""An incident: steps on a time line, done under the identity of a plausible deployer."""

from __future__ import annotations

from collections.abc import Collection
from copy import copy
from fnmatch import fnmatchcase
from itertools import combinations

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, name_of, namespace_of
from simcluster.engine import fork
from simcluster.engine.content import Library
from simcluster.faults.facts import ChangedFact
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.steps import IncidentStep, mechanism_of
from simcluster.faults.survey import Survey, changes, net, survey
from simcluster.faults.target import FaultTarget, ImpossibleTarget, ObjectRef, pods_of


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
        made: list[ObjectRef] = []  # by then
        for index, mechanism in self.mechanisms.items():
            if not self.steps[index].latent and mechanism.ref not in made:
                self._possible(index, mechanism)
            if mechanism.makes_target:
                made.append(mechanism.ref)
        causes = [(index, one) for index, one in self.mechanisms.items() if not self.steps[index].harmless]
        for (_, one), (index, other) in combinations(causes, 2):
            reason = one.contradiction(other) or other.contradiction(one)
            if reason:
                raise _impossible(ImpossibleTarget(reason + self._elsewhere(index)), index)
        for index, step in enumerate(self.steps):
            name = step.replace_pods or (step.scale.deployment if step.scale else "")
            if name and not self._deployments(name):
                reason = f"there is no Deployment/{name} in namespace {self.namespace}"
                raise _impossible(ImpossibleTarget(reason), index)

    def _rehearse(self) -> None:
        """Refuse causes of one object of which a later one undoes an earlier one, or finds nothing left to happen to.

        All steps are done in a copy, one after the other, without time between them.
        """
        order = sorted(range(len(self.steps)), key=lambda index: self.steps[index].at)
        causes = [index for index in order if index in self.mechanisms and self._is_cause(index)]
        together = [(a, b) for a, b in combinations(causes, 2) if self.mechanisms[a].ref == self.mechanisms[b].ref]
        if not together:
            return
        played = Incident(fork(self.target), self.namespace, self.steps)
        played.mechanisms = self.mechanisms
        for index in order:
            if not self.steps[index].latent:
                played.perform(index)
        for first, then in together:
            one, names = self.mechanisms[first], (self.steps[first].fault, self.steps[then].fault)
            if one.settles_ns or not (one.lasting and self.mechanisms[then].lasting):
                continue
            if then not in played.record:
                why = "{0} leaves nothing to which {1} could happen"
            elif not one.knowing(played.record[first]).still_present(played.target):
                why = "{1} undoes {0}"
            else:
                continue
            reason = f"{why.format(*names)} on {one.ref}{self._elsewhere(then)}"
            raise _impossible(ImpossibleTarget(reason), then)

    def _is_cause(self, index: int) -> bool:
        return not (self.steps[index].harmless or self.steps[index].latent)

    def _elsewhere(self, index: int) -> str:
        """The first component of the same kind that a fault fits and that nothing else happens to."""
        mechanism, taken = self.mechanisms[index], [one.ref for one in self.mechanisms.values()]
        try:
            resource, where, _ = mechanism.ref.key_in(self.target.api, mechanism.namespace)
        except ImpossibleTarget:  # there is no such kind
            return ""
        for name in sorted(name_of(one) for one in self.target.api.store.objects(resource, where)):
            other = copy(mechanism)
            other.ref = ObjectRef(kind=mechanism.ref.kind, name=name)
            try:
                if other.ref not in taken:
                    other.check(self.target)
                    return f"; the nearest that fits is {other.ref}"
            except ImpossibleTarget:
                continue
        return ""

    def _possible(self, index: int, mechanism: Mechanism) -> None:
        try:
            mechanism.check(self.target)
        except ImpossibleTarget as error:
            raise _impossible(error, index) from None

    def start(self) -> None:
        """Schedule all steps, counted from now. Raises ImpossibleTarget, with the nearest component that fits."""
        try:
            self.check()
        except ImpossibleTarget as error:
            offered = "nearest" in str(error) or "there is one in" in str(error)
            index = None if offered else error.step
            if index is None or index not in self.mechanisms:
                raise
            raise _impossible(ImpossibleTarget(f"{error}{self._elsewhere(index)}"), index) from None
        self._rehearse()
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
        """The objects that faults were aimed at, and those at which they take effect besides."""
        return [ref for mechanism in self.mechanisms.values() for ref in (mechanism.ref, *mechanism.others)]

    def still_present(self) -> list[str]:
        """Why causes still stand, one text each; empty when all are gone."""
        reasons = [
            mechanism.knowing(self.record.get(index, ())).still_present(self.target)
            for index, mechanism in self.mechanisms.items()
            if not self.steps[index].harmless
        ]
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
            for one in self._deployments(step.scale.deployment):
                client.patch("deployments.apps", self.namespace, name_of(one), patch, kind="merge")
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
        settles_ns = self.mechanisms[index].settles_ns
        if settles_ns:
            self.target.sim.after(settles_ns, self._settled, index, before)
        elif not self.record[index]:  # what it set going begins within this instant
            self.target.sim.after(0, self._note, index, before)

    def _note(self, index: int, before: Survey) -> None:
        self.record[index] = changes(before, survey(self.target))

    def _settled(self, index: int, before: Survey) -> None:
        """What has become meanwhile of what it was aimed at; of others, what it changed in its instant."""
        ref, now = self.mechanisms[index].ref, changes(before, survey(self.target))
        mine = [fact for fact in now if (fact.place.kind, fact.place.name) == (ref.kind, ref.name)]
        others = [fact for fact in self.record[index] if (fact.place.kind, fact.place.name) != (ref.kind, ref.name)]
        self.record[index] = (*mine, *others)

    def facts(self, *, harmless: bool = True, but: Collection[int] = ()) -> tuple[ChangedFact, ...]:
        """What all faults together have changed so far.

        Args:
            harmless: or only those that are causes, not what is harmless.
            but: steps that do not count.
        """
        counted = [i for i in sorted(self.record) if i not in but and (harmless or not self.steps[i].harmless)]
        return net([self.record[index] for index in counted])

    def lost(self) -> tuple[ChangedFact, ...]:
        """What a circumstance took away and a cause kept from coming back: who mends that makes it again, too."""
        counted = [index for index in sorted(self.record) if self.steps[index].harmless]
        found = net([self.record[index] for index in counted])
        return tuple(fact for fact in found if not fact.path and fact.after is None)

    def _deployments(self, name: str) -> list[ApiObject]:
        found = self.target.api.store.objects("deployments.apps", self.namespace)
        return [one for one in found if fnmatchcase(name_of(one), name)]

    def _replace_pods(self, step: IncidentStep) -> None:
        client = self.target.client(step.deployer.user, step.deployer.manager)
        for workload in self._deployments(step.replace_pods):
            for pod in pods_of(self.target.api.store, workload):
                try:
                    client.delete("pods", namespace_of(pod), name_of(pod))
                except ApiError as error:
                    if error.code != 404:  # gone already: somebody else replaced it
                        raise
