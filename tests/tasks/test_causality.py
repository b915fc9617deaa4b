"""Nothing is visible before it has happened: every task, watched from its page on.

What states a duration or an outcome, and is watched here: request lines of applications and of nginx, slow queries,
what programs tell of themselves, the runtime's stamps, the kernel's ring buffer and the journals, what users met, edges
of the history, drives' counters, pages. Windows of users and edges are those of the half-second grid, and so are
changes of routes: the fork is made on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from simcluster import tasks
from simcluster.engine import MILLISECOND, SECOND, fork
from simcluster.eval.episode.start import Starts
from simcluster.models.machine.container import Container
from simcluster.telemetry.logs import LogLine
from simcluster.world import World

STARTS = Starts(keep=2)
TICK_NS = SECOND // 2
#: Where a line states how long something took, and in which unit.
DURATIONS = (
    (re.compile(r'took_ms":(\d+)'), MILLISECOND),
    (re.compile(r" 200 (\d+)ms"), MILLISECOND),
    (re.compile(r'"durationMillis":(\d+)'), MILLISECOND),
    (re.compile(r"duration: (\d+)\.\d{3} ms"), MILLISECOND),
    (re.compile(r"\] \[\] \S+ \d+ (\d+)\.\d{3} "), SECOND),
)


def containers(world: World) -> Iterator[Container]:
    for machine in world.machines.values():
        yield from machine.runtime.containers()


def took_ns(line: LogLine) -> int:
    return max((int(m[1]) * unit for pattern, unit in DURATIONS if (m := pattern.search(line.text))), default=0)


def past(world: World, runs: list[Container], until_ns: int) -> dict[str, object]:
    """All that is stamped up to an instant; the logs of these containers."""
    found: dict[str, object] = {}
    for container in runs:
        found[container.container_id] = [line for line in container.log.read() if line.t_ns <= until_ns]
    for name, machine in world.machines.items():
        found[f"journal of {name}"] = [line for line in machine.log if line.t_ns - line.wrong_ns <= until_ns]
    found["edges"] = [repr(edge) for edge in world.traffic.history.between(0, until_ns)]
    for name, users in world.traffic.users.items():
        stats = users.window(0, until_ns)
        found[f"users {name}"] = (stats.sent, stats.ok, stats.errors, stats.latency_ms_p99)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("task_id", tasks.ids())
def test_nothing_is_visible_before_it_has_happened(task_id: str) -> None:
    episode = STARTS.start(task_id, 3)
    world = episode.world
    before: dict[str, list[LogLine]] = {}
    for step_ns in (2_300 * MILLISECOND, 900 * MILLISECOND, 7_100 * MILLISECOND, 1_200 * MILLISECOND):
        world.run_for(step_ns)
        now = world.sim.now
        for container in containers(world):
            lines = container.log.read(tail=4000)
            assert [line.t_ns for line in lines] == sorted(line.t_ns for line in lines)
            for line in lines:
                assert line.t_ns <= now
                assert line.t_ns - took_ns(line) >= container.started_ns, line
            seen = before.get(container.container_id)
            if seen and lines and lines[0].t_ns < seen[-1].t_ns:  # not rotated
                since = max(seen[0].t_ns, lines[0].t_ns) + 1
                known = [line for line in seen if line.t_ns >= since]
                assert [line for line in lines if line.t_ns >= since][: len(known)] == known
            before[container.container_id] = lines
        for machine in world.machines.values():
            stamps = [line.t_ns - line.wrong_ns for line in machine.log]
            assert stamps == sorted(stamps)
            assert not stamps or stamps[-1] <= now
            for disk in machine.disks.values():
                counted = disk.counted()
                assert 0.0 <= disk.utilisation() <= 1.0
                assert min(counted.reads, counted.read_ns, counted.writes, counted.write_ns) >= 0.0
                assert counted.read_ns <= counted.reads * max(1, now - disk.born_ns)
        for users in world.traffic.users.values():
            stats = users.window(now - 60 * SECOND, now)
            assert 0.0 <= stats.success_ratio <= 1.0
            assert stats.latency_ms(0.5) * MILLISECOND <= users.timeout_ns
    world.run_for(-world.sim.now % TICK_NS)
    now = world.sim.now
    other = fork(world)
    runs = {id(each): list(containers(each)) for each in (world, other)}
    for container in runs[id(other)][::3]:
        container.kill()
    for users in other.traffic.users.values():
        users.rps *= 3.0
    for each in (world, other):
        each.run_for(5 * SECOND)
    assert past(world, runs[id(world)], now) == past(other, runs[id(other)], now)
