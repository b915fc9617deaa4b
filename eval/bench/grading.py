"""Measures what a grade costs: CPU of the grade over that of the episode before it, each task in a process of its own.

A grade lives the acceptance window, makes the healthy twin, and takes its tests on forks; an episode boots a cluster,
waits for the page and is worked on by the expert. In a process of its own nothing is shared with other runs.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor

from simcluster import tasks
from simcluster.eval.bench.bench import Measurement
from simcluster.eval.episode.start import start
from simcluster.eval.worlds.shelf import VARIABLE
from simcluster.eval.worlds.steps import perform
from simcluster.tasks.loader import ALL

#: What is promised: at the median task a grade takes as much as the episode before it.
MOST_RATIO = 1.0


def measure_grading(progress: Callable[[str], None], names: Sequence[str] = (), seed: int = 0) -> list[Measurement]:
    """The ratio of each task (all of them by default), and the median; some minutes."""
    found = []
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        for name in names or tasks.suite(ALL):
            progress(name)
            before_s, grade_s = pool.submit(cost_of, name, seed).result()
            found.append(Measurement(name, "times", grade_s / before_s, (before_s, grade_s)))
    median = statistics.median(one.value for one in found)
    bound = f"<= {MOST_RATIO:g}"
    return [*found, Measurement("grade over episode", "times", median, (median,), bound, median <= MOST_RATIO)]


def cost_of(name: str, seed: int) -> tuple[float, float]:
    """CPU seconds of an episode from the boot to the end of the expert's work, and of its grade."""
    os.environ[VARIABLE] = "0"
    began_s = time.process_time()
    episode = start(name, seed)
    for step in episode.task.reference_fixes[0]:
        perform(episode, step)
    worked_s = time.process_time()
    episode.finish()
    return worked_s - began_s, time.process_time() - worked_s
