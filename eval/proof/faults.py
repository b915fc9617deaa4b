"""The proof of a fault by its case: possible where it is said to be, once, and refused where it is impossible."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

from simcluster.apps.cases import case_of as app_case
from simcluster.apps.registry import applications
from simcluster.engine import SECOND
from simcluster.engine.content import Library
from simcluster.eval.proof.findings import Finding
from simcluster.eval.proof.leaks import FORBIDDEN_WORDS, readable
from simcluster.eval.worlds.healthy import HEALTHY, NotAnIncident, Place, manifests
from simcluster.faults import registry
from simcluster.faults.cases import FaultCase, case_of
from simcluster.faults.devices import NoKnob
from simcluster.faults.facts import IMAGE, ChangedFact
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.registry import FaultSpec
from simcluster.faults.restore import restore
from simcluster.faults.steps import Aim
from simcluster.faults.survey import changes, survey, value_of
from simcluster.faults.target import ImpossibleTarget, ObjectRef
from simcluster.faults.values import Scene, computed
from simcluster.world import World

#: A machine that gets its power back boots within this.
SETTLED_NS = 120 * SECOND


def case_findings(fault_id: str, seed: int = 0, library: Library | None = None) -> list[Finding]:
    """What the case of a fault shows; nothing if it has none. Raises UnknownName, ContentError."""
    spec = registry.load(fault_id, library)
    case = case_of(fault_id)
    if case is None:
        return []
    folder = next((one for one in applications(library) if one.behaviour.application == case.app), None)
    if folder is None:
        return [Finding("its case is possible", False, f"there is no application {case.app!r}")]
    namespace, own = folder.behaviour.namespace, app_case(folder)
    try:
        also, beside = own.also, manifests(case.beside)
        place = Place(case.app, namespace, own.users, observed=False, workers=own.workers, beside=beside, also=also)
        world = HEALTHY.deployed(place, seed, library)
        mechanism = _aimed(spec, case.target, case.params, world, namespace)
        mechanism.check(world)
    except (ImpossibleTarget, NotAnIncident, ValueError) as error:
        return [Finding("its case is possible", False, str(error))]
    return [
        Finding("its case is possible", True, f"{mechanism.ref} of {case.app}"),
        *_refusals(spec, case, world, mechanism),
        *_injected(mechanism, fault_id, world),
    ]


def _aimed(spec: FaultSpec, aim: Aim, params: dict[str, Any], world: World, namespace: str) -> Mechanism:
    ref, where = aim.resolve(world, namespace)[0], aim.namespace or namespace
    return registry.build(spec, ref, where, computed(spec.complete(params), Scene(world, where, ref)))


def _injected(mechanism: Mechanism, fault_id: str, world: World) -> Iterator[Finding]:
    before = mechanism.still_present(world)
    yield Finding("its cause is not there before", not before, before)
    then = survey(world)
    mechanism.inject(world)
    facts = changes(then, survey(world))
    if not facts:
        world.run_for(1)  # what it set going begins within the instant
        facts = changes(then, survey(world))
    yield _on_record(mechanism, facts)
    mechanism = mechanism.knowing(facts)
    if mechanism.lasting:
        after = mechanism.still_present(world)
        yield Finding("its cause stands afterwards", bool(after), after)
        yield _refused("a second time", mechanism, world)
    words = (fault_id, fault_id.replace("_", "-"), *FORBIDDEN_WORDS)
    found = [
        f"{word!r} stands in {place}"
        for place, text in readable(world, words)
        for word in words
        if word in text.lower()
    ]
    yield Finding("nothing readable tells of it", not found, "; ".join(found[:3]))
    yield _taken_back(mechanism, facts, world)


def _on_record(mechanism: Mechanism, facts: tuple[ChangedFact, ...]) -> Finding:
    """What it changed is on the record, and its data sheet says so."""
    unforeseen = [f"{fact.place} {fact.path}" for fact in mechanism.sheet.unforeseen(facts)]
    root = mechanism.sheet.root(facts)
    why = f"its data sheet does not tell of {', '.join(unforeseen)}" if unforeseen else f"{len(root)} facts"
    return Finding("what it changes is on the record", bool(root) and not unforeseen, why)


def _taken_back(mechanism: Mechanism, facts: tuple[ChangedFact, ...], world: World) -> Finding:
    """With the recorded facts as they were before, the world is as before: the record is all there is."""
    kept = [fact for fact in facts if fact.place.kind != IMAGE]  # what was published stays so
    try:
        restore(world, kept)
    except NoKnob as error:
        return Finding("what it changes is lost for good, as its data sheet says", mechanism.sheet.lost, str(error))
    world.run_for(SETTLED_NS)
    left = [f"{one.place} {one.path}" for one in kept if value_of(world, one.place, one.path) != one.before]
    still = mechanism.still_present(world)
    return Finding("taken back by its record it is gone", not left and not still, "; ".join([*left, still]))


def _refusals(spec: FaultSpec, case: FaultCase, world: World, right: Mechanism) -> Iterator[Finding]:
    nobody = ObjectRef(kind=right.ref.kind, name="nobody-has-this-name")
    if not right.makes_target:
        yield _refused("a missing target", _at(right, nobody), world)
    for kind in ("Node", "Service"):
        if not right.takes(kind):
            other = ObjectRef(kind=kind, name=right.ref.name)
            yield _refused(f"a {kind}", _at(right, other), world)
    for refusal in case.refused:
        name = f"{refusal.because!r} is the answer to {refusal.params or refusal.target}"
        params = case.params if refusal.params is None else refusal.params
        try:
            _aimed(spec, refusal.target or case.target, params, world, right.namespace).check(world)
        except (ImpossibleTarget, ValueError) as error:
            yield Finding(name, refusal.because in str(error), str(error))
        else:
            yield Finding(name, False, "nobody objects")


def _at(right: Mechanism, ref: ObjectRef) -> Mechanism:
    made = copy(right)
    made.ref = ref
    return made


def _refused(what: str, mechanism: Mechanism, world: World) -> Finding:
    try:
        mechanism.check(world)
    except ImpossibleTarget as error:
        return Finding(f"{what} is refused", True, str(error))
    return Finding(f"{what} is refused", False, "nobody objects")
