"""The healthy twin: the world as it would be now if the incident had not happened.

Same seed, same noise, same users, same instant; arrivals are drawn from streams that no incident touches, so what is
counted in both can be compared in pairs. What the incident does besides its faults (pods replaced, a certificate
renewed) does not happen in it either, so that tasks of one application share a twin; with noise only those whose
incidents touch the same, because noise spares that. Nobody looks at what watches a twin: that writes nothing down.
"""

from __future__ import annotations

from simcluster.engine import SECOND, Snapshot
from simcluster.engine.content import Library
from simcluster.eval.worlds.healthy import HEALTHY, Healthy, Place
from simcluster.faults.steps import touched
from simcluster.noise.plan import NoisePlan, load
from simcluster.noise.spared import Spared
from simcluster.tasks.model import Task
from simcluster.world import World

_Twin = tuple[World, NoisePlan | None]
#: On the way to an instant a twin is remembered so often: who asks for an earlier one goes on from there.
GRID_NS = 120 * SECOND


class Twins:
    """Makes twins, and remembers up to so many `instants` of the last `keep` of them, from which they go on."""

    def __init__(self, keep: int = 3, instants: int = 16, worlds: Healthy | None = None) -> None:
        self._keep = keep
        self._instants = instants
        self._worlds = worlds or HEALTHY
        self._made: dict[tuple[object, ...], dict[int, Snapshot[_Twin]]] = {}

    def at(self, task: Task, seed: int, noise: str | None, at_ns: int, library: Library | None = None) -> World:
        """The twin of a task's world at an instant, its noise silenced from there on.

        Args:
            task: with resolved targets.
            at_ns: not before the episode began.

        Raises:
            UnknownName: there is no such noise.
            ValueError: the instant lies before the episode's beginning.
        """
        touched = tuple(str(step.aims) for step in task.incident) if noise else ()
        key = (Place.of(task), touched, seed, noise, library)
        known = self._made[key] = self._made.pop(key, {})
        earlier = [instant for instant in known if instant <= at_ns]
        world, plan = known[max(earlier)].restore() if earlier else self._begun(task, seed, noise, library)
        if at_ns < world.now:
            raise ValueError(f"the twin begins at {world.now} ns: {at_ns} ns is before")
        while world.now < at_ns:
            world.sim.run_until(min(at_ns, (world.now // GRID_NS + 1) * GRID_NS))
            self._remember(key, (world, plan))
        if plan is not None:
            plan.silence()
        return world

    def _begun(self, task: Task, seed: int, noise: str | None, library: Library | None) -> _Twin:
        """The twin at the instant at which the episode begins."""
        world = self._worlds.of(task, seed, library, latent=False)
        world.stop_collecting()
        return world, begin_noise(world, task, noise, library)

    def _remember(self, key: tuple[object, ...], twin: _Twin) -> None:
        known = self._made[key]
        known[twin[0].now] = Snapshot(twin)
        if len(known) > self._instants:  # the one that is nearest to the one before it is made again most cheaply
            instants = sorted(known)
            del known[min(zip(instants[1:], instants, strict=False), key=lambda pair: pair[0] - pair[1])[0]]
        if len(self._made) > self._keep:
            del self._made[next(iter(self._made))]


def begin_noise(world: World, task: Task, noise: str | None, library: Library | None = None) -> NoisePlan | None:
    """Let the disturbances of an episode of a task begin, which spare what its incident touches. Raises UnknownName."""
    if not noise:
        return None
    aimed = [ref for step in task.incident if step.fault for ref in touched(step, task.namespace, library)]
    plan = NoisePlan(world, load(noise, library), task.namespace, Spared.of(world, task.namespace, aimed))
    plan.start()
    return plan


#: One per process: a twin is the same for everybody.
TWINS = Twins()


def twin_of(task: Task, seed: int, noise: str | None, at_ns: int, library: Library | None = None) -> World:
    """The healthy twin of a task's world at an instant: see `Twins.at`."""
    return TWINS.at(task, seed, noise, at_ns, library)
