"""`simcluster.start()`: from a task and a seed to the instant at which the operator is paged."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from simcluster import tasks
from simcluster.apps.history import world_age
from simcluster.engine import SECOND, Snapshot
from simcluster.engine.content import Library
from simcluster.eval.episode.episode import Episode
from simcluster.eval.trajectory.recorder import USERS_LAG_NS
from simcluster.eval.worlds.bystanders import accompanied
from simcluster.eval.worlds.healthy import HEALTHY, PASTS, STEP_NS, WORLDS, Healthy, NotAnIncident
from simcluster.eval.worlds.recent import Recent
from simcluster.eval.worlds.shelf import kept
from simcluster.noise import plan
from simcluster.tasks.beyond import is_outage
from simcluster.tasks.model import Task, resolve
from simcluster.world import World
from simcluster.world.profile import Profile

#: An incident that nobody notices within this time after its last step is no incident.
PAGE_LIMIT_NS = 900 * SECOND
#: In the last minute before the page such a share of users' requests must fail in a provider's outage: who evaluates
#: rules may starve, and page, long before a user does.
MINUTE_NS, SUFFERS = 60 * SECOND, 0.5


class Starts:
    """Starts episodes, and remembers the instants that many of them share.

    A healthy application under a seed, and a paged operator under a task and a seed, are the
    same for every agent: they are made once and copied. Under the first seeds (`PASTS`) they are kept on disk, too.

    Args:
        keep: so many of the instants that were asked for last are remembered: of a small application one takes 2 to
            6 MB, and 12 more for each seed.
    """

    def __init__(self, keep: int = 8, worlds: Healthy | None = None) -> None:
        self.worlds = worlds or Healthy(min(keep, WORLDS))
        self._paged: Recent[Snapshot[Episode]] = Recent(keep)

    def start(
        self,
        task: str | Path | Task,
        seed: int = 0,
        noise: str | None = None,
        library: Library | None = None,
        age: str | None = None,
        profile: Profile | None = None,
    ) -> Episode:
        """An episode at the instant of its page.

        Args:
            task: an id of `simcluster list tasks`, a path of a task file, or a loaded task.
            seed: from which everything random follows.
            noise: a profile of `simcluster list noises`; None is that of the task, `none` is no noise.
            age: for how long the cluster has lived, such as `74d`; by default as the task says.
            profile: figures of a calibrated cluster instead of the task's; its call graph has no say.

        Raises:
            ValueError: no cluster can be so old.
            UnknownName: no such task or noise; the nearest names are in the message.
            ContentError: the task's file is wrong: file, line and what would be right.
            ImpossibleTarget: the incident cannot happen in this application.
            NotAnIncident: the application was not healthy, or nobody was paged.
        """
        library = library or Library()  # one name for one place
        loaded = task if isinstance(task, Task) else tasks.load(str(task), library)
        if age is not None:
            loaded = loaded.model_copy(update={"age": world_age(age)})
        if profile is not None:
            loaded = loaded.model_copy(update={"parameters": profile.parameters})
        noise = loaded.noise if noise is None else noise
        key = ("paged", loaded.model_dump_json(), seed, noise, library)
        make = partial(self._snapshot, loaded, seed, noise, library)
        if seed < PASTS:  # those that are asked for again, not those that training draws
            make = partial(kept, key, library, make)
        return self._paged.get(key, make).restore()

    def healthy(self, task: Task, seed: int, library: Library | None = None) -> World:
        """A world before the incident, in which what is latent in it may be: see `Healthy.of`."""
        return self.worlds.of(task, seed, library)

    def _snapshot(self, task: Task, seed: int, noise: str, library: Library | None) -> Snapshot[Episode]:
        return Snapshot(self._run(task, seed, noise, library))

    def _run(self, task: Task, seed: int, noise: str, library: Library | None) -> Episode:
        disturbances = plan.load(noise, library) if noise and noise != plan.NONE else None
        world = self.healthy(task, seed, library)
        found = resolve(task, world, library)
        if found is not task and any(step.latent for step in found.incident):
            world = self.healthy(found, seed, library)
        found = accompanied(found, world, seed, library)
        episode = Episode(world, found, seed, disturbances, library)
        episode.incident.record.update(self.worlds.planted(found, seed, library) if found.resolved else {})
        episode.begin()
        if task.ticket is not None:
            world.run_for(max(step.at for step in task.incident) + task.ticket.after)
            episode.paged()
            return episode
        limit = world.sim.now + episode.incident.last_at_ns + PAGE_LIMIT_NS
        first_fault_ns = world.sim.now + min(step.at for step in task.incident if not step.latent)
        while not (episode.pager.alerts.firing and world.sim.now > first_fault_ns):
            if world.sim.now >= limit:
                raise NotAnIncident(
                    f"{task.id}: nobody was paged within {PAGE_LIMIT_NS // SECOND} s: users do not notice"
                )
            world.run_for(STEP_NS)
        episode.paged()
        if is_outage(task.id) and not suffering(world):
            raise NotAnIncident(f"{task.id}: users are served all the same: no outage of the provider hurts them")
        return episode


def suffering(world: World) -> bool:
    """Whether all users failed in most of what they asked for during the last minute, if they asked for anything."""
    now = world.sim.now - USERS_LAG_NS
    met = [load.window(now - MINUTE_NS, now) for load in world.traffic.users.values()]
    return any(one.sent for one in met) and all(one.ok <= (1.0 - SUFFERS) * one.ended for one in met)


#: One per process: starting is the same for everybody, and the snapshots are immutable.
STARTS = Starts(worlds=HEALTHY)


def start(
    task: str | Path | Task,
    seed: int = 0,
    noise: str | None = None,
    library: Library | None = None,
    age: str | None = None,
    profile: Profile | None = None,
) -> Episode:
    """An episode at the instant at which the operator is paged: see `Starts.start`.

    Raises:
        TypeError: the seed is no integer.
    """
    if not isinstance(seed, int):
        raise TypeError(f"the seed is an integer, not {type(seed).__name__}")
    return STARTS.start(task, seed, noise, library, age, profile)
