"""Measures episodes by the expert: CPU from the start of a process to the end of its work, imports and noise included.

What a world needs before its page is made once for an application and kept (`eval.worlds.shelf`): it is there already
when the clock starts, and what a process takes that may have to make it stands beside. From there on the episode is
new: its seed is one whose page nobody keeps. The grade is apart: see `grading`.
"""

from __future__ import annotations

import math
import multiprocessing
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor

from simcluster import tasks
from simcluster.engine.streams import Streams
from simcluster.eval.bench.bench import Measurement
from simcluster.eval.episode.start import start
from simcluster.eval.runner.execute import agent_for
from simcluster.eval.worlds.healthy import PASTS, NotAnIncident
from simcluster.tasks.loader import ALL

#: What is promised: CPU seconds of an episode in the mean, and of the slowest.
MOST_S, SLOWEST_S = 1.8, 5.0
#: The noise, where a task has none of its own.
NOISE = "default"


def measure_episodes(
    progress: Callable[[str], None], count: int = 0, seed: int = 0, names: Sequence[str] = ()
) -> list[Measurement]:
    """Each of some tasks; those whose incident nobody is paged for are counted.

    Args:
        count: so many of all tasks, drawn by the seed; 0: all.
        names: these instead.
    """
    chosen = list(names or tasks.suite(ALL))
    if count and not names:
        Streams(seed).stream("bench", "episodes").shuffle(chosen)
        chosen = sorted(chosen[:count])
    found = []
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        for name in chosen:
            progress(name)
            try:
                before_s = pool.submit(past_of, name, seed).result()
            except NotAnIncident as problem:
                progress(str(problem))
                continue
            spent_s = pool.submit(cost_of, name, seed).result()
            found.append(Measurement(name, "s of CPU", spent_s, (spent_s, before_s)))
    spent, lost = [one.value for one in found], len(chosen) - len(found)
    mean, slowest = math.fsum(spent) / len(spent), max(spent)
    return [
        *found,
        Measurement("episode, mean", "s of CPU", mean, (mean,), f"<= {MOST_S:g}", mean <= MOST_S),
        Measurement("without a page", "tasks", lost, (lost,), "<= 0", not lost),
        Measurement("slowest", "s of CPU", slowest, (slowest,), f"<= {SLOWEST_S:g}", slowest <= SLOWEST_S),
    ]


def past_of(name: str, seed: int) -> float:
    """CPU seconds of a process that makes what comes before the page, and keeps it; hardly any if it is kept."""
    start(name, seed % PASTS + PASTS, NOISE)
    return time.process_time()


def cost_of(name: str, seed: int) -> float:
    """CPU seconds of a process from its beginning to the end of the expert's work."""
    episode = start(name, seed % PASTS + PASTS, NOISE)
    agent_for("expert", episode).run(episode)
    return time.process_time()
