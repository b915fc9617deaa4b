"""Worlds in which one thing is otherwise: incidents without some steps, broken worlds with some facts set right."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from simcluster.api.errors import ApiError
from simcluster.engine import SECOND, Snapshot
from simcluster.engine.content import Library
from simcluster.eval.examination.twin import begin_noise
from simcluster.eval.trajectory.recorder import USERS_LAG_NS
from simcluster.eval.worlds.healthy import HEALTHY
from simcluster.faults.devices import NoKnob
from simcluster.faults.facts import ChangedFact
from simcluster.faults.incident import Incident
from simcluster.faults.restore import restore
from simcluster.tasks.model import Task
from simcluster.world import World

#: Users who are served as well as this, over a while, do not suffer.
SERVED = 0.99
WHILE_NS = 90 * SECOND
#: A rollout, a restart after the longest back-off of five minutes, and a queue that drains.
RECOVERY_NS = 480 * SECOND
STEP_NS = 10 * SECOND
#: What another fault of the same incident does shows within so long after the page.
AFTER_NS = 60 * SECOND
#: Fewer requests say nothing.
REQUESTS_MIN = 20


class Served(NamedTuple):
    """Requests of users of an application, over a stretch of time."""

    ended: int
    ok: int

    @property
    def well(self) -> bool:
        """Whether there were some, and nearly all succeeded."""
        return self.ended >= REQUESTS_MIN and self.ok >= SERVED * self.ended

    def __str__(self) -> str:
        return f"{self.ok} of {self.ended} requests of users succeeded"


def served(world: World, namespace: str, from_ns: int, to_ns: int | None = None) -> Served:
    """What users of a namespace met."""
    end = (world.sim.now if to_ns is None else to_ns) - USERS_LAG_NS
    stats = [one.window(from_ns, end) for one in world.traffic.users.values() if one.namespace == namespace]
    return Served(sum(one.ended for one in stats), sum(one.ok for one in stats))  # integers


class Paged(NamedTuple):
    """An incident at the instant of its page, when nobody has done anything yet.

    Attributes:
        task: with resolved targets.
        at_ns: the instant.
        world: as it is then.
        record: what each step of the incident has changed by then, by step.
    """

    task: Task
    seed: int
    noise: str | None
    library: Library | None
    at_ns: int
    world: Snapshot[World]
    record: Mapping[int, tuple[ChangedFact, ...]]


def without(paged: Paged, steps: Collection[int], weak: Iterable[ChangedFact] = ()) -> World:
    """The world a minute after the page if some steps of the incident had not been, from its start on.

    Args:
        steps: indices of steps that do not happen.
        weak: facts that have their other value before the incident begins.
    """
    task, paged_ns = paged.task, paged.at_ns
    kept = tuple(step for index, step in enumerate(task.incident) if index not in steps)
    world = HEALTHY.of(task.model_copy(update={"incident": kept}), paged.seed, paged.library)
    set_right = tuple(weak)
    if set_right:
        restore(world, set_right)
        began = world.sim.now
        while world.sim.now < began + RECOVERY_NS and not world.available(task.namespace):
            world.run_for(STEP_NS)
        world.run_for(WHILE_NS)
        paged_ns += world.sim.now - began
    begin_noise(world, task, paged.noise, paged.library)
    Incident(world, task.namespace, kept, paged.library).start()
    world.sim.run_until(paged_ns + AFTER_NS)
    return world


def recovers(world: World, namespace: str, limit_ns: int = RECOVERY_NS) -> tuple[bool, str]:
    """Whether users are served well again within a bound, for a while; the world lives on until they are."""
    begun = world.sim.now
    while True:
        world.run_for(STEP_NS)
        passed_ns = world.sim.now - begun
        last = served(world, namespace, world.sim.now - WHILE_NS - USERS_LAG_NS)
        if passed_ns >= WHILE_NS + STEP_NS and last.well:
            return True, f"after {passed_ns // SECOND} s {last}"
        if passed_ns >= limit_ns:
            return False, f"after {passed_ns // SECOND} s {last}"


def set_right(world: World, facts: Iterable[ChangedFact]) -> str:
    """Give facts the value they had before; why that cannot be, or an empty text."""
    try:
        restore(world, facts)
    except (NoKnob, ApiError) as error:
        return str(error)
    return ""
