"""How a lesson's runs are made: variants of a call graph, or episodes of a task.

Series of a graph: `LOAD.arrivals`, `.attempts`, `.ok` (a second), `.mean`, `.p99` (seconds), `.inside` (requests
under way at the end of a window); of a bare one also `SERVICE.arrivals`, `.served`, `.late`, `.rejected` (a second),
`.queue`, `.busy`. Series of a task: `users.arrivals`, `.attempts`, `.ok` (a second) of its users, `SERVICE.arrivals`
(attempts a second) and `SERVICE.queue`. Those of a room stand in `room`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simcluster.engine import SECOND
from simcluster.eval.episode.start import Starts, start
from simcluster.eval.lessons.lesson import Lesson, RunPlan
from simcluster.eval.lessons.room import room_run
from simcluster.eval.lessons.story import Story
from simcluster.eval.validation.context import run_graph
from simcluster.eval.worlds.steps import perform
from simcluster.models.traffic.graph import GraphSpec, Result, spec_of
from simcluster.models.traffic.graph.events import Event
from simcluster.models.traffic.graph.policy import Policy
from simcluster.session import sandbox

#: Length of a step of an episode's series.
STEP_NS = 5 * SECOND
#: Cause and effect of the last requests are told when they have ended.
LAG_NS = 10 * SECOND


def run_all(lesson: Lesson) -> Iterator[tuple[str, Story]]:
    """Every run of a lesson, one after the other.

    Raises:
        ContentError: the graph or the task is wrong.
        UnknownName: there is no such task.
    """
    starts = Starts()
    for name, plan in lesson.runs.items():
        if lesson.room:
            yield name, room_run(lesson, plan, starts)
        else:
            yield name, _graph_run(lesson, name, plan) if lesson.graph else _episode(lesson, plan)


# Graphs.


def changed(data: Any, changes: dict[str, Any]) -> Any:
    """A copy of nested mappings with some keys (with dots) set anew; a value of null removes the key."""
    for path, value in changes.items():
        data = _put(data, path.split("."), value)
    return data


def _put(data: Any, path: list[str], value: Any) -> Any:
    inside = dict(data or {})
    if len(path) > 1:
        inside[path[0]] = _put(inside.get(path[0]), path[1:], value)
    elif value is None:
        inside.pop(path[0], None)
    else:
        inside[path[0]] = value
    return inside


def _graph_run(lesson: Lesson, name: str, plan: RunPlan) -> Story:
    data = changed({"name": f"{lesson.id}-{name}", **lesson.graph}, plan.changes)
    spec = spec_of(data, f"{lesson.id}.yaml, run {name}")
    if lesson.engine == "cluster":
        return in_cluster(data, spec, lesson.seed, plan.title)
    return story_of(run_graph(lesson.engine, spec, lesson.seed), spec, plan.title)


def in_cluster(data: dict[str, Any], spec: GraphSpec, seed: int, title: str) -> Story:
    """A graph that pods of a sandbox run, and what its users meet, after the warm-up; events are left out."""
    box = sandbox(seed=seed)
    box.deploy(data)
    for name, load in spec.load.items():
        service, operation = spec.operation(next(iter(load.targets())))
        box.load(service, load.rate_at(0), mix={operation: 1.0}, **(data["load"][name].get("call") or {}))
    seconds = spec.run.window / 1e9
    box.wait(f"{spec.run.warmup}ns")
    series: dict[str, list[float]] = {}
    for _ in range(0, spec.run.duration - spec.run.warmup, spec.run.window):
        box.wait(f"{spec.run.window}ns")
        for name, load in spec.load.items():
            seen = box.loads[f"default/{spec.operation(next(iter(load.targets())))[0]}"].window(f"{spec.run.window}ns")
            figures = {"arrivals": seen.sent / seconds, "attempts": seen.attempts / seconds, "ok": seen.ok / seconds}
            figures |= {"mean": seen.mean_ms / 1e3, "inside": float(seen.in_flight)}
            figures["p99"] = seen.quantile_ms(0.99) / 1e3 if seen.ok else 0.0
            for what, value in figures.items():
                series.setdefault(f"{name}.{what}", []).append(value)
    return Story(title, seconds, series, (), facts_of(spec))


def story_of(result: Result, spec: GraphSpec, title: str) -> Story:
    """A run of a graph as series."""
    series: dict[str, list[float]] = {}
    for name, rows in result.load.items():
        lengths = [result.window_seconds(index) for index in range(len(rows))]
        for what in ("arrivals", "attempts", "ok"):
            series[f"{name}.{what}"] = [getattr(row, what) / length for row, length in zip(rows, lengths, strict=True)]
        series[f"{name}.mean"] = [row.latency.mean / 1e9 for row in rows]
        series[f"{name}.inside"] = [float(row.waiting) for row in rows]
        series[f"{name}.p99"] = [row.latency.quantile(0.99) / 1e9 if row.ok else 0.0 for row in rows]
    for name, windows in result.services.items():
        lengths = [result.window_seconds(index) for index in range(len(windows))]
        for what in ("arrivals", "served", "late", "rejected"):
            series[f"{name}.{what}"] = [
                getattr(row, what) / length for row, length in zip(windows, lengths, strict=True)
            ]
        for what in ("queue", "busy"):
            series[f"{name}.{what}"] = [float(getattr(row, what)) for row in windows]
    marks = tuple((event.at / 1e9, mark_of(event)) for event in spec.events)
    return Story(title, result.window_ns / 1e9, series, marks, facts_of(spec))


def facts_of(spec: GraphSpec) -> dict[str, float]:
    """What a graph says of its services and callers, before it runs."""
    facts: dict[str, float] = {}
    for name, service in spec.services.items():
        work = service.operations[service.first_operation()].work
        if work is not None and service.workers is not None:
            at_once = min(service.workers, service.cores or service.workers)
            facts[f"capacity {name}"] = service.replicas * at_once * service.speed * 1e9 / work.mean_ns
    callers: list[tuple[str, Policy]] = [(name, load.call) for name, load in spec.load.items()]
    callers += [(caller, call) for caller, _, call in spec.calls() if isinstance(call, Policy)]
    for caller, policy in callers:
        facts.setdefault(f"attempts {caller}", float(policy.attempts))
        if policy.timeout is not None:
            facts.setdefault(f"timeout {caller}", policy.timeout / 1e9)
    for name, load in spec.load.items():
        if load.open is not None and load.open.rate is not None:
            facts[f"rate {name}"] = float(load.open.rate)
    return facts


def mark_of(event: Event) -> str:
    """What an event does, in two words."""
    if event.rate is not None:
        return f"rate {event.rate.rate:g}/s"
    if event.capacity is not None:
        return f"capacity x {event.capacity.factor:g}"
    if event.retries is not None:
        return f"attempts {event.retries.attempts}"
    return f"load x {event.load.factor:g}" if event.load is not None else event.kind


# Tasks.


def _episode(lesson: Lesson, plan: RunPlan) -> Story:
    episode = start(lesson.task, lesson.seed)
    paged_ns = episode.world.sim.now
    began_ns = max(0, paged_ns - 120 * SECOND)
    for step in plan.steps:
        perform(episode, step)
    acted_ns = episode.world.sim.now
    episode.wait(f"{plan.watch}ns")
    marks = [(0.0, "page")] + ([((acted_ns - paged_ns) / 1e9, "steps done")] if plan.steps else [])
    until_ns = episode.world.sim.now - LAG_NS
    series = _series(episode, began_ns, until_ns)
    return Story(plan.title, STEP_NS / 1e9, series, tuple(marks), {}, (began_ns - paged_ns) / 1e9)


def _series(episode: Any, began_ns: int, until_ns: int) -> dict[str, list[float]]:
    """Rates of the users, and of every Service of the task's namespace, from one instant to another."""
    world, task = episode.world, episode.task
    loads = [u for u in world.traffic.users.values() if (u.namespace, u.service) == (task.namespace, task.users.entry)]
    services = [s["metadata"]["name"] for s in world.api.store.objects("services", task.namespace)]
    names = ["users.arrivals", "users.attempts", "users.ok", *(f"{s}.arrivals" for s in services)]
    series: dict[str, list[float]] = {name: [] for name in names}
    seconds = STEP_NS / 1e9
    for at in range(began_ns, until_ns - STEP_NS + 1, STEP_NS):
        stats = [load.window(at, at + STEP_NS) for load in loads]
        series["users.arrivals"].append(sum(s.sent for s in stats) / seconds)  # integers
        series["users.attempts"].append(sum(s.attempts for s in stats) / seconds)  # integers
        series["users.ok"].append(sum(s.ok for s in stats) / seconds)  # integers
        sent = dict.fromkeys(services, 0)
        for edge in world.traffic.history.between(at, at + STEP_NS):
            host = edge.key.host.partition(".")[0]
            if host in sent and edge.key.namespace == task.namespace:
                sent[host] += edge.sent
        for service in services:
            series[f"{service}.arrivals"].append(sent[service] / seconds)
    return series
