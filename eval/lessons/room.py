"""Runs of a lesson in a whole cluster whose machines fail, watched from before the first fault on.

Time begins at the first fault. Series, every two seconds: `users.arrivals`, `users.ok` (a second); of the drive
under the task's store (that of the node that is wrong): `drive.reads` (a second), `drive.read_ms` (mean wait of a
read), `drive.busy` (share), `drive.known` (sectors that it knows it cannot read), `drive.bad` (sectors that it cannot
read or that give back something else, which only the model knows), `kernel.errors` (lines of that node's kernel about
it so far); `nodes.ready`, `pods.ready`, `pods.bound` (pods of the application that are bound to the node that is
wrong), `pods.restarts` (so far). Facts: `reads a second` (what the drive does alone, one after the other).
"""

from __future__ import annotations

from typing import Any

from simcluster import tasks
from simcluster.api.objects import condition
from simcluster.engine import SECOND
from simcluster.eval.episode.episode import Episode
from simcluster.eval.episode.start import Starts
from simcluster.eval.lessons.lesson import Lesson, RunPlan
from simcluster.eval.lessons.story import Story
from simcluster.eval.worlds.steps import perform
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.storage import Disk
from simcluster.models.machine.storage.service import law_of
from simcluster.tasks.model import TARGET, Step, Task, resolve

STEP_NS = 2 * SECOND
#: What users met is told when their requests have ended.
LAG_NS = 10 * SECOND
#: The drive on which the volumes of a node lie, and bytes that its stores read at once.
DRIVE, READ_BYTES = "sda", 32 << 10
LEVELS = (
    *("drive.reads", "drive.read_ms", "drive.busy", "drive.known", "drive.bad", "kernel.errors"),
    *("nodes.ready", "pods.ready", "pods.bound", "pods.restarts"),
)


class Sampler:
    """Looks at an episode's world every other second."""

    def __init__(self, episode: Episode, node: str) -> None:
        self.episode = episode
        self.node = node
        self.times: list[int] = []
        self.series: dict[str, list[float]] = {name: [] for name in LEVELS}
        self._machine: Machine = episode.world.machines[node]
        self._before = (0.0, 0.0, 0.0)
        self.look()
        for values in self.series.values():
            values.clear()
        self.times.clear()
        episode.world.sim.every(STEP_NS, self.look)

    @property
    def drive(self) -> Disk:
        """The drive that is looked at."""
        return self._machine.disks[DRIVE]

    def look(self) -> None:
        """Take all levels of now."""
        seconds = STEP_NS / SECOND
        counted = self.drive.counted()
        totals = (counted.reads, counted.read_ns, counted.busy_ns)
        reads, waited, busy = (now - before for now, before in zip(totals, self._before, strict=True))
        self._before = totals
        sectors = self.drive.sectors
        bad = len(sectors.bad_in(0, self.drive.model.size_bytes)) + len(
            sectors.wrong_in(0, self.drive.model.size_bytes)
        )
        errors = sum(1 for line in self._machine.journal() if f"I/O error, dev {DRIVE}" in line.text)  # integers
        rates = (reads / seconds, waited / reads / 1e6 if reads > 0.0 else 0.0, min(1.0, busy / STEP_NS))
        values = (*rates, float(self.drive.pending()), float(bad), float(errors), *self._cluster())
        for name, value in zip(LEVELS, values, strict=True):
            self.series[name].append(value)
        self.times.append(self.episode.world.sim.now)

    def _cluster(self) -> tuple[float, ...]:
        store, namespace = self.episode.world.api.store, self.episode.task.namespace
        nodes = sum(1 for node in store.objects("nodes") if _is_ready(node))  # integers
        pods = [pod for pod in store.objects("pods", namespace) if "deletionTimestamp" not in pod["metadata"]]
        bound = sum(1 for pod in pods if pod["spec"].get("nodeName") == self.node)  # integers
        statuses = [status for pod in pods for status in (pod.get("status") or {}).get("containerStatuses") or ()]
        restarts = sum(status["restartCount"] for status in statuses)  # integers
        return float(nodes), float(sum(1 for pod in pods if _is_ready(pod))), float(bound), float(restarts)  # integers


def room_run(lesson: Lesson, plan: RunPlan, starts: Starts) -> Story:
    """One run.

    Raises:
        UnknownName, ContentError: there is no such task, or its file is wrong.
    """
    task = tasks.load(plan.task or lesson.room)
    world = starts.healthy(task, lesson.seed)
    task = resolve(task, world)
    first_ns = min(step.at for step in task.incident if not step.latent)
    episode = Episode(world, task, lesson.seed, None, None)
    sampler = Sampler(episode, task.truth.ref.name)
    alone = law_of(sampler.drive.model, "random", float(READ_BYTES), _span(sampler.drive), ())
    began_ns, zero_ns = world.sim.now, world.sim.now + first_ns
    if not plan.calm:
        episode.begin()
    marks = [] if plan.calm else _marks(task, first_ns)
    if plan.steps:
        world.run_for(first_ns + plan.after)
        episode.paged()
        for step in plan.steps:
            perform(episode, _aimed(step, sampler.node))
        marks.append(((world.sim.now - zero_ns) / 1e9, "operator done"))
    world.run_for(max(0, zero_ns + plan.watch + LAG_NS - world.sim.now))
    series = _users(episode, sampler.times[: -LAG_NS // STEP_NS]) | {
        name: values[: -LAG_NS // STEP_NS] for name, values in sampler.series.items()
    }
    facts = {"reads a second": SECOND / alone.mean}
    return Story(plan.title, STEP_NS / 1e9, series, tuple(marks), facts, (began_ns - zero_ns) / 1e9)


def _users(episode: Episode, times: list[int]) -> dict[str, list[float]]:
    """Requests of the task's users in the steps that end at these instants."""
    task, seconds = episode.task, STEP_NS / SECOND
    loads = [u for u in episode.world.traffic.users.values() if u.service == task.users.entry]
    series: dict[str, list[float]] = {"users.arrivals": [], "users.ok": []}
    for at in times:
        stats = [load.window(at - STEP_NS, at) for load in loads]
        series["users.arrivals"].append(sum(s.sent for s in stats) / seconds)  # integers
        series["users.ok"].append(sum(s.ok for s in stats) / seconds)  # integers
    return series


def _marks(task: Task, first_ns: int) -> list[tuple[float, str]]:
    found = []
    for step in task.incident:
        what = step.fault.replace("_", " ") if step.fault else f"new pod of {step.replace_pods}"
        found.append(((step.at - first_ns) / 1e9, what))
    return found


def _aimed(step: Step, node: str) -> Step:
    """The step with the node's name where it says `<target>`."""
    return Step.model_validate({key: value.replace(TARGET, node) for key, value in step.model_dump().items()})


def _span(drive: Disk) -> float:
    """Share of the surface on which a store of two GiB lies."""
    return (2 << 30) / drive.model.size_bytes


def _is_ready(obj: Any) -> bool:
    found = condition(obj, "Ready")
    return found is not None and found["status"] == "True"
