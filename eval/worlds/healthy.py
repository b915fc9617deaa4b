"""Healthy worlds: an application under a seed, deployed, warm and served; made once and copied.

What was before, the past of a cluster, follows from the seed modulo `PASTS`: a past is lived through once and kept, in
this process and on disk. A seed below `PASTS` lives on as it began; every other one goes its own way from the healthy
instant on (`World.reseed`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import yaml

from simcluster.api.objects import Json, name_of
from simcluster.apps.cases import WORKERS, Users
from simcluster.apps.history import usual_age
from simcluster.apps.registry import home_of
from simcluster.engine import SECOND, Snapshot
from simcluster.engine.content import Library, UnknownName
from simcluster.engine.streams import Streams
from simcluster.eval.worlds import reader
from simcluster.eval.worlds.recent import Recent
from simcluster.eval.worlds.shelf import kept
from simcluster.faults.facts import ChangedFact
from simcluster.faults.incident import Incident
from simcluster.faults.steps import IncidentStep
from simcluster.models.traffic.cluster.users import UserLoad
from simcluster.tasks.model import Task
from simcluster.world import World, history
from simcluster.world.profile import Profile

#: How long an application may take from `kubectl apply` to healthy users.
HEALTHY_LIMIT_NS = 600 * SECOND
#: Healthy users for this long before anything goes wrong: baselines need a past.
WARM_UP_NS = 60 * SECOND
STEP_NS = 5 * SECOND
HEALTHY_RATIO = 0.99
#: What comes to a cluster that has lived has started after this.
SETTLED_NS = 60 * SECOND
#: Different pasts of one application: names of pods, places on nodes, ages.
PASTS = 8
#: So many healthy worlds are remembered, and so many histories of applications.
WORLDS, HISTORIES = 8, 6
#: Too few requests say nothing about a ratio.
REQUESTS_MIN = 20


#: What one fault changed.
Facts = tuple[ChangedFact, ...]


class NotAnIncident(Exception):
    """The task does not work in this world: the application is not healthy before, or nobody is paged after."""


class Place(NamedTuple):
    """An application in a namespace, its users, who watches and works, its age, manifests beside it, own figures.

    An age of None is that which the application usually has under the seed.
    """

    app: str
    namespace: str
    users: Users | None = None
    observed: bool = True
    read_only: bool = False
    age: int | None = 0
    workers: int = WORKERS
    beside: str = ""
    also: tuple[str, ...] = ()
    parameters: tuple[tuple[str, str | int], ...] = ()

    @classmethod
    def of(cls, task: Task) -> Place:
        """Where a task is."""
        reads, watched = task.operator == "reader", task.ticket is None
        who = watched, reads, task.age, task.workers
        own = tuple(sorted(task.parameters.items()))
        return cls(task.app, task.namespace, task.users, *who, manifests(task.beside), task.also, own)


def manifests(objects: Sequence[Json]) -> str:
    """Objects as YAML documents, as they are applied."""
    return yaml.safe_dump_all(objects, sort_keys=False) if objects else ""


class Healthy:
    """Makes healthy worlds, and remembers the `keep` of them that were asked for last."""

    def __init__(self, keep: int = WORLDS) -> None:
        self._made: Recent[tuple[Snapshot[World], list[Facts]]] = Recent(keep)
        self._grown: Recent[tuple[Snapshot[World], int]] = Recent(HISTORIES)

    def of(self, task: Task, seed: int, library: Library | None = None, *, latent: bool = True) -> World:
        """A world in which the task's application serves its users, before any incident.

        Args:
            latent: what is latent in a task with resolved targets is in it already.
        """
        planted = tuple(step for step in task.incident if step.latent) if latent and task.resolved else ()
        return self.deployed(Place.of(task), seed, library, planted)

    def planted(self, task: Task, seed: int, library: Library | None = None) -> dict[int, Facts]:
        """What the latent steps of a task with resolved targets changed in its healthy world, by step."""
        latent = [index for index, step in enumerate(task.incident) if step.latent]
        place = Place.of(task)
        steps = tuple(task.incident[index] for index in latent)
        return dict(zip(latent, self._begun(place, seed, library, steps)[1], strict=True))

    def deployed(
        self, place: Place, seed: int, library: Library | None = None, latent: tuple[IncidentStep, ...] = ()
    ) -> World:
        """A world in which an application serves its users.

        Raises:
            ValueError: there is no such application, or the API server refuses its manifests.
            NotAnIncident: it does not become healthy.
        """
        snapshot = self._begun(place, seed, library, latent)[0]
        if seed == seed % PASTS:
            return snapshot.restore()
        world = snapshot.restore(Streams(seed).key("reseed"))
        world.reseed(seed)
        return world

    def _begun(
        self, place: Place, seed: int, library: Library | None, latent: tuple[IncidentStep, ...]
    ) -> tuple[Snapshot[World], list[Facts]]:
        past = seed % PASTS
        key = ("healthy", *place, "".join(step.model_dump_json() for step in latent), past, library)
        make = partial(self._healthy, place, past, latent, library)
        return self._made.get(key, partial(kept, key, library, make))

    def _healthy(
        self, place: Place, seed: int, latent: tuple[IncidentStep, ...], library: Library | None
    ) -> tuple[Snapshot[World], list[Facts]]:
        age_ns = usual_age(place.app, seed) if place.age is None else place.age
        if latent or not age_ns:
            world, began_ns = _empty(place, seed, library), None
        else:
            world, began_ns = self._lived(place, age_ns, seed, library)
        incident = Incident(world, place.namespace, latent, library)
        incident.plant()
        late = not age_ns or _has_jobs(place.beside)  # whose time cannot be skipped
        if age_ns:
            if began_ns is None:
                began_ns = history.begin(world, place.app, place.namespace, age_ns)
            if not late and (place.also or place.beside):
                _come(world, place)
                world.run_for(SETTLED_NS)
            history.go_on(world, place.app, place.namespace, age_ns, began_ns)
        if place.read_only:
            reader.grant(world)
        if place.observed:
            world.observe()  # what it would have collected in skipped time is not there
        if not age_ns:
            world.deploy(place.app, place.namespace)
        if late:
            _come(world, place)
        _warm(world, place)
        return Snapshot(world), [incident.record[index] for index in range(len(latent))]

    def _lived(self, place: Place, age_ns: int, seed: int, library: Library | None) -> tuple[World, int]:
        """A world with all of the application's history but the last changes, and when that began."""
        key = ("lived", place.app, place.namespace, place.workers, place.parameters, age_ns, seed, library)
        make = partial(_grown, place, age_ns, seed, library)
        snapshot, began_ns = self._grown.get(key, partial(kept, key, library, make))
        return snapshot.restore(), began_ns


def _grown(place: Place, age_ns: int, seed: int, library: Library | None) -> tuple[Snapshot[World], int]:
    world = _empty(place, seed, library)
    began_ns = history.begin(world, place.app, place.namespace, age_ns)
    return Snapshot(world), began_ns


def _empty(place: Place, seed: int, library: Library | None) -> World:
    """Its cluster without applications."""
    profile = Profile(parameters=dict(place.parameters)) if place.parameters else None
    return World(seed, workers=place.workers, library=library, profile=profile)


def _come(world: World, place: Place) -> None:
    """What is in the cluster beside the application."""
    for app in place.also:
        world.deploy(app, home_of(app, world.library))
    if place.beside:
        world.apply(place.beside, namespace=place.namespace)


def _has_jobs(beside: str) -> bool:
    return any(one["kind"] in ("Job", "CronJob") for one in yaml.safe_load_all(beside)) if beside else False


def _warm(world: World, place: Place) -> None:
    """Let its users come, until they are served."""
    namespace, crowd = place.namespace, place.users
    limit = world.sim.now + HEALTHY_LIMIT_NS
    if crowd is None or crowd.after:
        while not world.available(namespace) and world.sim.now < limit:
            world.run_for(STEP_NS)
    if crowd is not None:
        world.run_for(crowd.after)
    users = None
    if crowd is not None:
        names = [name_of(one) for one in world.api.store.objects("services", namespace)]
        if names and "." not in crowd.entry and crowd.entry not in names:
            raise NotAnIncident(f"users have nowhere to go: {UnknownName('Service', crowd.entry, names)}")
        users = world.add_users(namespace, crowd.entry, crowd.rps, mix=dict(crowd.mix) or None, tls=crowd.tls)
    healthy_since: int | None = None
    while healthy_since is None or world.sim.now - healthy_since < WARM_UP_NS:
        world.run_for(STEP_NS)
        if world.available(namespace) and (users is None or _served(users, world.sim.now)):
            healthy_since = world.sim.now if healthy_since is None else healthy_since
        else:
            healthy_since = None
        if world.sim.now >= limit:
            raise NotAnIncident(f"{place.app} does not become healthy within {HEALTHY_LIMIT_NS // SECOND} s")


def _served(users: UserLoad, now_ns: int) -> bool:
    """Whether the users of the last step came, and nearly all of them got what they asked for."""
    stats = users.window(now_ns - STEP_NS, now_ns)
    return stats.sent >= min(REQUESTS_MIN, users.rps) and stats.ok >= HEALTHY_RATIO * stats.ended


#: One per process: a healthy world is the same for everybody.
HEALTHY = Healthy()
