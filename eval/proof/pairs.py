"""Faults on components: every fault on every component of an application that it fits, and the proof of one such pair.

A pair needs no file: its task is made of the application's own users, the fault at the component, and the truth that
derives. It is proved like a task, by what is generic: noticed, standing, not over by itself, exploits refused, and
mended by what its record says.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

from simcluster.api.objects import controller_of, name_of
from simcluster.apps.cases import case_of as app_case
from simcluster.apps.registry import applications
from simcluster.control.volumes.attachable import volume_of_claim
from simcluster.control.volumes.matching import reaches
from simcluster.engine.content import Library, UnknownName
from simcluster.engine.streams import Streams
from simcluster.eval.episode.episode import Episode
from simcluster.eval.episode.start import start
from simcluster.eval.proof.attacks import attacked
from simcluster.eval.proof.findings import Finding, ProofReport
from simcluster.eval.proof.mending import restored
from simcluster.eval.worlds.healthy import HEALTHY, NotAnIncident, Place
from simcluster.faults import registry
from simcluster.faults.cases import case_of
from simcluster.faults.draws import LEVELS, magnitudes
from simcluster.faults.incident import Incident
from simcluster.faults.registry import FaultSpec
from simcluster.faults.steps import Aim, IncidentStep, completed
from simcluster.faults.target import ImpossibleTarget, ObjectRef, resource_of
from simcluster.models.apps.folder import AppFolder
from simcluster.tasks.model import Task
from simcluster.tasks.truth import NothingLasts, derived
from simcluster.world import World

#: Kinds of components that a fault which takes any kind is tried on.
KINDS = ("Deployment", "StatefulSet", "Service", "ConfigMap", "PersistentVolumeClaim", "Node")
#: Kinds whose objects have their names for a while only.
PASSING = ("Pod", "ReplicaSet")
#: The unit of an input that is the whole name of a Service.
DNS_NAME = "DNS name"
#: What is in every namespace without anybody's decision.
GIVEN = ("kube-root-ca.crt",)
FIRST_AT = "60s"
#: What is said of a pair that hurts nobody who would say so: it is a circumstance, and no incident.
OVER = "it is over by itself: no incident without what keeps it going"
UNNOTICED = "nobody notices it: no incident"


class Pair(NamedTuple):
    """A fault on a component, with what it needs besides; in a namespace of its own or in the application's."""

    fault: str
    ref: ObjectRef
    params: dict[str, Any]
    namespace: str = ""
    drawn: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """`fault@kind/name`, with the values that were drawn for it."""
        values = ",".join(f"{name}={self.params[name]}" for name in self.drawn)
        return f"{self.fault}@{self.ref.kind.lower()}/{self.ref.name}" + (f"[{values}]" if values else "")


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
    namespace, world = healthy(app, seed, library)
    return [_fit(fault, namespace, world, library) for fault in registry.ids(library)]


def fit(fault: str, app: str, seed: int = 0, library: Library | None = None) -> Fit:
    """Where one fault fits an application: see `fits`."""
    return _fit(fault, *healthy(app, seed, library), library)


def healthy(app: str, seed: int, library: Library | None) -> tuple[str, World]:
    """The namespace of an application, and a world in which it serves its users. Raises UnknownName, NotAnIncident."""
    folder = _folder(app, library)
    namespace, case = folder.behaviour.namespace, app_case(folder)
    # That in which its pairs are proved, too.
    place = Place(app, namespace, case.users, age=None, workers=case.workers, also=case.also)
    return namespace, HEALTHY.deployed(place, seed, library)


def _folder(app: str, library: Library | None) -> AppFolder:
    folders = {one.behaviour.application: one for one in applications(library)}
    if app not in folders:
        raise UnknownName("app", app, sorted(folders))
    return folders[app]


def _fit(fault: str, namespace: str, world: World, library: Library | None) -> Fit:
    spec, case = registry.load(fault, library), case_of(fault)
    given: dict[str, Any] = case.params if case is not None else {}
    where = namespace
    if spec.component is not None:
        where = spec.component.namespace or namespace
        refs = [ObjectRef(kind=spec.component.kind, name=spec.component.name)]
    elif case is not None and _makes(spec, case.target.kind, given):
        refs = [ObjectRef(kind=case.target.kind, name=case.target.name)] if case.target.name else []
    else:
        refs = _components(spec, namespace, world)
    found, tried, why_not = [], 0, ""
    for ref in refs:
        for params, drawn in _drawn(spec, ref, namespace, world, given):
            tried += 1
            pair = Pair(fault, ref, params, "" if where == namespace else where, drawn)
            try:
                _check(spec, pair, where, namespace, world, library)
            except (ImpossibleTarget, ValueError) as error:
                why_not = why_not or str(error)
            else:
                found.append(pair)
    return Fit(fault, tuple(found), tried, why_not)


def _check(spec: FaultSpec, pair: Pair, where: str, namespace: str, world: World, library: Library | None) -> None:
    """Refuse a pair that is impossible, with what comes with it. Raises ImpossibleTarget, ValueError."""
    steps = tuple(_step(pair, library).each(world, namespace, library))
    Incident(world, namespace, steps, library).check()


def _drawn(
    spec: FaultSpec, ref: ObjectRef, namespace: str, world: World, given: dict[str, Any]
) -> Iterator[tuple[dict[str, Any], tuple[str, ...]]]:
    """Parameters of a fault on a component, and the names of those that were drawn for it."""
    choices = {name: list(one.such_as) for name, one in spec.inputs.items() if one.such_as}
    for name, one in spec.inputs.items():
        if one.of:
            tail = f".{namespace}.svc.cluster.local" if one.unit == DNS_NAME else ""
            others = _objects(one.of, namespace, world)
            choices[name] = [f"{other.name}{tail}" for other in others if not _tied(other, namespace, world)]
    own = registry.mechanisms()[spec.mechanism].drawn(world, ref, namespace)
    for params in own or [given]:
        for values in product(*choices.values()):
            some = {**params, **dict(zip(choices, values, strict=True))}
            yield some, (*(params if own else ()), *choices)


def _tied(ref: ObjectRef, namespace: str, world: World) -> bool:
    """Whether a workload has to stay where one of its volumes is: no circumstance can move it."""
    store, found = world.api.store, ref.find(world.api, namespace)
    template = {} if found is None else (found.get("spec") or {}).get("template") or {}
    claims = [
        one["persistentVolumeClaim"]["claimName"]
        for one in (template.get("spec") or {}).get("volumes") or ()
        if "persistentVolumeClaim" in one
    ]
    volumes = [volume_of_claim(store, namespace, claim) for claim in claims]
    return any(
        volume is not None and not reaches(volume, node) for volume in volumes for node in store.objects("nodes")
    )


def _makes(spec: FaultSpec, kind: str, params: dict[str, Any]) -> bool:
    try:
        return registry.build(spec, ObjectRef(kind=kind, name="any"), "", params).makes_target
    except ValueError:
        return False


def _components(spec: FaultSpec, namespace: str, world: World) -> list[ObjectRef]:
    kinds = spec.kinds or registry.mechanisms()[spec.mechanism].kinds or KINDS
    return [ref for kind in kinds if kind not in PASSING for ref in _objects(kind, namespace, world)]


def _objects(kind: str, namespace: str, world: World) -> list[ObjectRef]:
    entry = resource_of(kind, world.api.resources.all)
    if entry is None:
        return []
    objects = world.api.store.objects(entry.storage, namespace if entry.namespaced else "")
    return [ObjectRef(kind=kind, name=name_of(one)) for one in objects if name_of(one) not in GIVEN]


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


def bare(pair: Pair, late: int = 0) -> IncidentStep:
    """The step of a pair as people write it, so many nanoseconds later than the first."""
    aim = Aim(kind=pair.ref.kind, name=pair.ref.name, namespace=pair.namespace)
    step = IncidentStep.model_validate({"fault": pair.fault, "at": FIRST_AT, "target": aim, "params": pair.params})
    return step.model_copy(update={"at": step.at + late})


def _step(pair: Pair, library: Library | None) -> IncidentStep:
    return completed(bare(pair), library)


def task_of(app: str, pair: Pair, library: Library | None = None) -> Task:
    """The task of a pair. Raises UnknownName, NothingLasts, ValueError: nobody uses the application."""
    folder = _folder(app, library)
    case = app_case(folder)
    users = case.users
    if users is None:
        raise ValueError(f"nobody uses {app}: nobody would notice")
    made = Task.model_validate(
        {
            "id": pair.id,
            "title": f"{pair.fault} on {pair.ref}",
            "app": app,
            "namespace": folder.behaviour.namespace,
            "users": users,
            "workers": case.workers,
            "also": case.also,
            "incident": [_step(pair, library).model_dump()],
            "committed_depth": "D3",
            "protects": [users.entry],
            "accepted_when": [{"check": "users_succeed", "args": {"entry": users.entry, "ratio": 0.99, "for": "60s"}}],
            "reference_fixes": [],
            "reference_diagnoses": {"right": [str(pair.ref)], "plausible_but_wrong": ["nothing is wrong"]},
        }
    )
    return made.model_copy(update={"stated": derived(made, library)})


def check_pair(app: str, pair: Pair, seed: int = 0, library: Library | None = None) -> ProofReport:
    """Prove a pair. Raises UnknownName, ValueError."""
    try:
        task_of(app, pair, library)
    except NothingLasts as error:
        return ProofReport("pair", pair.id, seed, (Finding(OVER, True, str(error)),))
    why = ""
    for one in (pair, *worse(pair, LEVELS // 2, library)):
        try:
            episode = start(task_of(app, one, library), seed, library=library)
        except NotAnIncident as error:
            why = str(error)
        except ImpossibleTarget as error:
            if why:  # so bad it cannot be
                break
            return ProofReport("pair", pair.id, seed, (Finding("the incident is possible", False, str(error)),))
        else:
            return ProofReport("pair", pair.id, seed, tuple(_findings(episode, seed, one)))
    return ProofReport("pair", pair.id, seed, (Finding(UNNOTICED, True, why),))


def worse(pair: Pair, level: int, library: Library | None = None) -> list[Pair]:
    """A pair at the magnitudes of its fault from one on, the worst last; none if it has none."""
    draws = registry.load(pair.fault, library).draws
    levels = range(level, LEVELS) if draws else ()
    return [pair._replace(params={**pair.params, **magnitudes(draws, one)}) for one in levels]


def drawn_proof(fault: str, seed: int, library: Library | None = None) -> tuple[Finding, ...]:
    """What a pair of a fault shows, drawn by the seed: of the first application that it fits. Raises UnknownName."""
    for app in sorted(one.behaviour.application for one in applications(library) if app_case(one).users is not None):
        pairs = fit(fault, app, seed, library).pairs
        if pairs:
            pair = sampled(list(pairs), seed, 1)[0]
            return (Finding(f"it fits {app}", True, pair.id), *check_pair(app, pair, seed, library).findings)
    return ()


def _owner(episode: Episode, pair: Pair) -> str:
    """Whose object it is: an operator's custom resource, say, which knows how it has to be; empty if nobody's."""
    found = pair.ref.find(episode.world.api, pair.namespace or episode.task.namespace)
    owner = None if found is None else controller_of(found)
    return f"{owner['kind']}/{owner['name']}" if owner is not None else ""


def _findings(episode: Episode, seed: int, pair: Pair) -> Iterator[Finding]:
    yield Finding("users or the monitor notice", True, episode.alert.partition("\n")[0])
    still = episode.incident.still_present()
    owner = "" if still else _owner(episode, pair)
    if owner:
        yield Finding(OVER, True, f"{owner} has set {pair.ref} back")
        return
    if not still and not episode.incident.facts(harmless=False):  # whatever else somebody was paged for
        yield Finding(OVER, True, f"{pair.fault} leaves {pair.ref} as it was")
        return
    yield Finding("every cause stands", bool(still), "; ".join(still))
    verdict = episode.fork().examined()
    yield Finding("noop is refused", not verdict.passed, verdict.why_not)
    yield from attacked(episode, seed, 1)
    yield restored(episode.fork())
