"""Idle time that is skipped: a cluster grows old without being lived through second by second.

While nobody uses or changes it, all that happens in a cluster is a pulse: heartbeats, looks, renewals, compactions. A
leap moves the clock and keeps the pulse in step. What is an integral over time (CPU time, counters, uptime, wear) has
grown by the span when somebody looks; what must not be old (Leases, statuses of nodes, heartbeats of stores) is renewed
by its owners' own methods at the instant of arrival, before anybody compares; what would have expired has (Events);
versions of the store have grown as in the minute before. Timers that go off once and are far away are appointments
(the end of a Job's time to live): the world is there in time, and lives through the minute in which they fall.

Left out: counters of requests that heartbeats would have added, and samples that Prometheus would have taken; install
it after the last leap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.api.objects import name_of, namespace_of
from simcluster.engine import MINUTE
from simcluster.models.machine.process import Process
from simcluster.world.etcdlog import Idle

if TYPE_CHECKING:
    from simcluster.world.world import World

#: One-shot timers so near are the pulse of the world, later ones appointments: the longest pause of anything that
#: schedules itself anew with a pause of its own is that of watches (5 to 10 minutes).
NEAR_NS = 15 * MINUTE
#: What is lived through before and after each leap, and what versions are reckoned by.
PULSE_NS = MINUTE
#: The longest life of a world: after it certificates of a kubeadm cluster (a year) would have been renewed.
OLDEST_NS = 300 * 24 * 60 * MINUTE


def leap(world: World, span_ns: int) -> None:
    """Let `span_ns` of idle time pass.

    Raises:
        ValueError: there are users, Prometheus or CronJobs, whose work cannot be skipped, or it would grow too old.
    """
    for program in _programs(world):
        program.rest()
    _refuse(world, world.sim.now + span_ns)
    goal = world.sim.now + span_ns
    while world.sim.now + PULSE_NS < goal:
        before = world.api.store.version
        world.run_for(PULSE_NS)
        written = world.api.store.version - before
        now, due = world.sim.now, world.sim.appointment(world.sim.now + NEAR_NS)
        arrival = goal if due is None else min(goal, due - PULSE_NS // 2)
        if arrival > now:
            _skip(world, arrival - now, written)
    world.sim.run_until(goal)
    for program in _programs(world):
        program.resume()


def _programs(world: World) -> list[Process]:
    """The main processes that run, in the order of nodes."""
    return [one.program for machine in world.machines.values() for one in machine.containers() if one.running]


def _skip(world: World, span_ns: int, written: int) -> None:
    """Skip a span without appointments; `written`: versions in a pulse."""
    store, since_ns = world.api.store, world.sim.now
    for program in _programs(world):
        program.rest()
    for kubelet in world.kubelets.values():
        kubelet.resting.catch_up()  # looks at pods are pulse, too: not one of them is made up for
    world.sim.leap(span_ns, NEAR_NS)
    before = store.version
    store.skip(span_ns * written // PULSE_NS)
    idle = Idle(since_ns, world.sim.now, before, store.version)
    for component in world.control_plane.components.values():
        component.leapt(idle)
    for kubelet in world.kubelets.values():
        kubelet.leapt()
    for program in _programs(world):
        program.leapt(since_ns)
    for machine in world.machines.values():
        machine.os.times.leapt(since_ns)


def _refuse(world: World, until_ns: int) -> None:
    if world.traffic.users:
        raise ValueError(f"users of {', '.join(world.traffic.users)} are there: only idle time can be skipped")
    if world.observed:
        raise ValueError(
            "what watches the cluster would have collected: only time before it is installed can be skipped"
        )
    for job in world.api.store.objects("cronjobs.batch"):
        if not job["spec"].get("suspend"):
            raise ValueError(f"CronJob {namespace_of(job)}/{name_of(job)} would have run: its time cannot be skipped")
    if until_ns > OLDEST_NS:
        raise ValueError("a world grows no older than 300 days: its certificates would have been renewed")
