"""`simcluster.start()`: from a task and a seed to the instant at which the operator is paged."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from simcluster import tasks
from simcluster.apps.cases import Users
from simcluster.engine import SECOND, Snapshot
from simcluster.engine.content import Library
from simcluster.eval.episode.episode import Episode
from simcluster.faults.incident import Incident, IncidentStep
from simcluster.models.traffic.cluster.users import UserLoad
from simcluster.noise import plan
from simcluster.tasks.model import Task, resolve
from simcluster.world import World
from simcluster.world.pager import REQUESTS_MIN

#: How long an application may take from `kubectl apply` to healthy users.
HEALTHY_LIMIT_NS = 600 * SECOND
#: Healthy users for this long before anything goes wrong: baselines need a past.
WARM_UP_NS = 60 * SECOND
#: An incident that nobody notices within this time after its last step is no incident.
PAGE_LIMIT_NS = 900 * SECOND
STEP_NS = 5 * SECOND
HEALTHY_RATIO = 0.99


class NotAnIncident(Exception):
    """The task does not work in this world: the application is not healthy before, or nobody is paged after."""


class Place(NamedTuple):
    """An application in a namespace, who uses it, and whether Prometheus watches."""

    app: str
    namespace: str
    users: Users | None = None
    telemetry: bool = False


class Starts:
    """Starts episodes, and remembers the instants that many of them share.

    A healthy application under a seed, and a paged operator under a task and a seed, are the
    same for every agent: they are made once and copied.
    """

    def __init__(self, keep: int = 4) -> None:
        self._keep = keep
        self._healthy: dict[tuple[object, ...], Snapshot[World]] = {}
        self._paged: dict[tuple[object, ...], Snapshot[Episode]] = {}

    def start(
        self, task: str | Path | Task, seed: int = 0, noise: str | None = None, library: Library | None = None
    ) -> Episode:
        """An episode at the instant of its page.

        Args:
            task: an id of `simcluster list tasks`, a path of a task file, or a loaded task.
            seed: from which everything random follows.
            noise: a profile of `simcluster list noises`, or None.

        Raises:
            UnknownName: no such task or noise; the nearest names are in the message.
            ContentError: the task's file is wrong: file, line and what would be right.
            ImpossibleTarget: the incident cannot happen in this application.
            NotAnIncident: the application was not healthy, or nobody was paged.
        """
        loaded = task if isinstance(task, Task) else tasks.load(str(task), library)
        key = (loaded.model_dump_json(), seed, noise, library)
        if key not in self._paged:
            self._remember(self._paged, key, Snapshot(self._run(loaded, seed, noise, library)))
        return self._paged[key].restore()

    def healthy(self, task: Task, seed: int, library: Library | None = None) -> World:
        """A world in which the task's application serves its users, before any incident.

        What is latent in a task with resolved targets is in it already.
        """
        latent = tuple(step for step in task.incident if step.latent) if task.resolved else ()
        return self.deployed(Place(task.app, task.namespace, task.users, task.telemetry), seed, library, latent)

    def deployed(
        self, place: Place, seed: int, library: Library | None = None, latent: tuple[IncidentStep, ...] = ()
    ) -> World:
        """A world in which an application serves its users.

        Raises:
            ValueError: there is no such application, or the API server refuses its manifests.
            NotAnIncident: it does not become healthy.
        """
        key = (*place, "".join(step.model_dump_json() for step in latent), seed, library)
        if key not in self._healthy:
            self._remember(self._healthy, key, Snapshot(_healthy_world(place, seed, latent, library)))
        return self._healthy[key].restore()

    def _run(self, task: Task, seed: int, noise: str | None, library: Library | None) -> Episode:
        profile = plan.load(noise, library) if noise else None
        world = self.healthy(task, seed, library)
        found = resolve(task, world)
        if found is not task and any(step.latent for step in found.incident):
            world = self.healthy(found, seed, library)
        episode = Episode(world, found, seed, profile, library)
        episode.begin()
        limit = world.sim.now + episode.incident.last_at_ns + PAGE_LIMIT_NS
        first_fault_ns = world.sim.now + min(step.at for step in task.incident if not step.latent)
        while not (episode.pager.alerts.firing and world.sim.now > first_fault_ns):
            if world.sim.now >= limit:
                raise NotAnIncident(
                    f"{task.id}: nobody was paged within {PAGE_LIMIT_NS // SECOND} s: users do not notice"
                )
            world.run_for(STEP_NS)
        episode.paged()
        return episode

    def _remember(self, memory: dict, key: object, snapshot: object) -> None:  # type: ignore[type-arg]
        memory[key] = snapshot
        if len(memory) > self._keep:
            del memory[next(iter(memory))]


def _healthy_world(place: Place, seed: int, latent: tuple[IncidentStep, ...], library: Library | None) -> World:
    world, namespace, crowd = World(seed, library=library), place.namespace, place.users
    Incident(world, namespace, latent, library).plant()
    if place.telemetry:
        world.observe()
    world.deploy(place.app, namespace)
    limit = world.sim.now + HEALTHY_LIMIT_NS
    if crowd is None or crowd.after:
        while not world.available(namespace) and world.sim.now < limit:
            world.run_for(STEP_NS)
    if crowd is not None:
        world.run_for(crowd.after)
    users = world.add_users(namespace, crowd.entry, crowd.rps) if crowd is not None else None
    healthy_since: int | None = None
    while healthy_since is None or world.sim.now - healthy_since < WARM_UP_NS:
        world.run_for(STEP_NS)
        if world.available(namespace) and (users is None or _served(users, world.sim.now)):
            healthy_since = world.sim.now if healthy_since is None else healthy_since
        else:
            healthy_since = None
        if world.sim.now >= limit:
            raise NotAnIncident(f"{place.app} does not become healthy within {HEALTHY_LIMIT_NS // SECOND} s")
    return world


def _served(users: UserLoad, now_ns: int) -> bool:
    """Whether the users of the last step came, and nearly all of them got what they asked for."""
    stats = users.window(now_ns - STEP_NS, now_ns)
    return stats.sent >= min(REQUESTS_MIN, users.rps) and stats.ok >= HEALTHY_RATIO * stats.ended


#: One per process: starting is the same for everybody, and the snapshots are immutable.
STARTS = Starts()


def start(task: str | Path | Task, seed: int = 0, noise: str | None = None, library: Library | None = None) -> Episode:
    """An episode at the instant at which the operator is paged: see `Starts.start`."""
    return STARTS.start(task, seed, noise, library)
