"""Faults on components: every fault on every component of an application that it fits, and the proof of one such pair.

A pair needs no file: its task is made of the application's own users, the fault at the component, and the truth that
derives. It is proved like a task, by what is generic: noticed, standing, not over by itself, exploits refused, and
mended by what its record says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from simcluster.api.objects import name_of
from simcluster.apps.cases import case_of as app_case
from simcluster.apps.registry import applications
from simcluster.engine.content import Library, UnknownName
from simcluster.engine.streams import Streams
from simcluster.eval.episode.episode import Episode
from simcluster.eval.episode.start import start
from simcluster.eval.proof.attacks import attacked
from simcluster.eval.proof.findings import Finding, ProofReport
from simcluster.eval.worlds.healthy import HEALTHY, NotAnIncident, Place
from simcluster.faults import registry
from simcluster.faults.cases import case_of
from simcluster.faults.devices import NoKnob
from simcluster.faults.facts import IMAGE
from simcluster.faults.registry import FaultSpec
from simcluster.faults.restore import restore
from simcluster.faults.target import ImpossibleTarget, ObjectRef, resource_of
from simcluster.faults.values import Scene, computed
from simcluster.models.apps.folder import AppFolder
from simcluster.tasks.model import Task
from simcluster.tasks.truth import derived
from simcluster.world import World

#: Kinds of components that a fault which takes any kind is tried on.
KINDS = ("Deployment", "StatefulSet", "Service", "ConfigMap", "PersistentVolumeClaim", "Node")
#: What a mended world may need: a restart after the longest back-off.
MENDED = "240s"
FIRST_AT = "60s"
#: What is said of a pair that hurts nobody who would say so: it is a circumstance, and no incident.
UNNOTICED = "nobody notices it: no incident"


class Pair(NamedTuple):
    """A fault on a component, with what it needs besides."""

    fault: str
    ref: ObjectRef
    params: dict[str, Any]

    @property
    def id(self) -> str:
        """`fault@kind/name`."""
        return f"{self.fault}@{self.ref.kind.lower()}/{self.ref.name}"


class Fit(NamedTuple):
    """Where a fault fits an application.

    Attributes:
        pairs: the components that it fits.
        tried: how many components there are of the kinds that it takes.
        why_not: of one that it does not fit; empty if it fits all.
    """

    fault: str
    pairs: tuple[Pair, ...]
    tried: int
    why_not: str


def fits(app: str, seed: int = 0, library: Library | None = None) -> list[Fit]:
    """Where every fault fits an application, in a healthy world.

    Raises:
        UnknownName: there is no such application.
        NotAnIncident: it does not become healthy.
    """
    folder = _folder(app, library)
    namespace, users = folder.behaviour.namespace, app_case(folder).users
    world = HEALTHY.deployed(Place(app, namespace, users), seed, library)
    return [_fit(fault, app, namespace, world, library) for fault in registry.ids(library)]


def _folder(app: str, library: Library | None) -> AppFolder:
    folders = {one.behaviour.application: one for one in applications(library)}
    if app not in folders:
        raise UnknownName("app", app, sorted(folders))
    return folders[app]


def _fit(fault: str, app: str, namespace: str, world: World, library: Library | None) -> Fit:
    spec, case = registry.load(fault, library), case_of(fault)
    given: dict[str, Any] = case.params if case is not None else {}
    if case is not None and _makes(spec, case.target.kind, given):
        refs = [ObjectRef(kind=case.target.kind, name=case.target.name)] if case.target.name else []
    else:
        refs = _components(spec, namespace, world)
    found, why_not = [], ""
    mechanism = registry.mechanisms()[spec.mechanism]
    for ref in refs:
        for params in mechanism.drawn(world, ref, namespace) or [given]:
            try:
                whole = computed(spec.complete(params), Scene(world, namespace, ref))
                registry.build(spec, ref, namespace, whole).check(world)
            except (ImpossibleTarget, ValueError) as error:
                why_not = why_not or str(error)
            else:
                found.append(Pair(fault, ref, params))
    return Fit(fault, tuple(found), len(refs), why_not)


def _makes(spec: FaultSpec, kind: str, params: dict[str, Any]) -> bool:
    try:
        return registry.build(spec, ObjectRef(kind=kind, name="any"), "", params).makes_target
    except ValueError:
        return False


def _components(spec: FaultSpec, namespace: str, world: World) -> list[ObjectRef]:
    kinds = spec.kinds or registry.mechanisms()[spec.mechanism].kinds or KINDS
    found: list[ObjectRef] = []
    for kind in kinds:
        entry = resource_of(kind, world.api.resources.all)
        if entry is None or kind == "Pod":  # a pod has its workload's name for a while only
            continue
        objects = world.api.store.objects(entry.storage, namespace if entry.namespaced else "")
        found += [ObjectRef(kind=kind, name=name_of(one)) for one in objects]
    return found


def sampled(pairs: list[Pair], seed: int, count: int) -> list[Pair]:
    """So many of the pairs, by the seed; every fault once before any comes again."""
    stream, left, found = Streams(seed).stream("pairs", str(len(pairs))), list(pairs), list[Pair]()
    while left and len(found) < count:
        seen = [one.fault for one in found]
        fewest = min(seen.count(one.fault) for one in left)
        open_ = [one for one in left if seen.count(one.fault) == fewest]
        chosen = open_[stream.choice(list(range(len(open_))))]
        left.remove(chosen)
        found.append(chosen)
    return found


def task_of(app: str, pair: Pair, library: Library | None = None) -> Task:
    """The task of a pair. Raises UnknownName, ValueError: nobody uses the application."""
    folder = _folder(app, library)
    users = app_case(folder).users
    if users is None:
        raise ValueError(f"nobody uses {app}: nobody would notice")
    step = {"fault": pair.fault, "at": FIRST_AT, "params": registry.load(pair.fault, library).complete(pair.params),
            "target": {"kind": pair.ref.kind, "name": pair.ref.name}}  # fmt: skip
    made = Task.model_validate(
        {
            "id": pair.id,
            "title": f"{pair.fault} on {pair.ref}",
            "app": app,
            "namespace": folder.behaviour.namespace,
            "users": users,
            "incident": [step],
            "committed_depth": "D3",
            "protects": [users.entry],
            "accepted_when": [{"check": "users_succeed", "args": {"entry": users.entry, "ratio": 0.99, "for": "60s"}}],
            "reference_fixes": [[{"wait": "1s"}]],
            "reference_diagnoses": {"right": [str(pair.ref)], "plausible_but_wrong": ["nothing is wrong"]},
        }
    )
    return made.model_copy(update={"stated": derived(made, library), "reference_fixes": ()})


def check_pair(app: str, pair: Pair, seed: int = 0, library: Library | None = None) -> ProofReport:
    """Prove a pair. Raises UnknownName, ValueError."""
    try:
        episode = start(task_of(app, pair, library), seed, library=library)
    except NotAnIncident as error:
        return ProofReport("pair", pair.id, seed, (Finding(UNNOTICED, True, str(error)),))
    except ImpossibleTarget as error:
        return ProofReport("pair", pair.id, seed, (Finding("the incident is possible", False, str(error)),))
    return ProofReport("pair", pair.id, seed, tuple(_findings(episode, seed)))


def _findings(episode: Episode, seed: int) -> Iterator[Finding]:
    yield Finding("users or the monitor notice", True, episode.alert.partition("\n")[0])
    still = episode.incident.still_present()
    yield Finding("every cause stands", bool(still), "; ".join(still))
    verdict = episode.fork().examined()
    yield Finding("noop is refused", not verdict.passed, verdict.why_not)
    yield from attacked(episode, seed, 1)
    yield _restored(episode.fork())


def _restored(fork: Episode) -> Finding:
    """Mended by the record: what was changed is as it was, and nothing else is touched."""
    name = "what its record says mends it"
    try:
        restore(fork.world, [fact for fact in fork.incident.facts() if fact.place.kind != IMAGE])
    except NoKnob as error:
        return Finding(name, True, f"it cannot be mended by anybody: {error}")
    fork.wait(MENDED)
    verdict = fork.examined()
    return Finding(name, verdict.passed, verdict.why_not)
