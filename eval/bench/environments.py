"""Measures environments of `eval.training`: steps for a second of CPU over the tasks of `lite`, resets included.

An episode is a reset and 20 steps: looks, a query, a wait, a change. Three kinds of reset are told apart: of an
incident under a seed that nobody has drawn before, which lives from the healthy application (made once, not counted
here) to the page; of one that another process has met, whose page is kept on disk; and of one that this process has
met, which is a copy. Looks are steps that change nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from simcluster import tasks
from simcluster.eval.bench.bench import Measurement
from simcluster.eval.episode.start import Starts
from simcluster.eval.training.environment import IncidentEnv
from simcluster.eval.worlds.healthy import HEALTHY, PASTS

#: What is promised: steps for a second of one core, of whole episodes and of looks.
LEAST_STEPS, LEAST_LOOKS = 20.0, 200.0
#: One episode: 20 steps. `{namespace}` is the application's.
LINES = (
    *("kubectl get pods -n {namespace}", "alerts", "kubectl get events -n {namespace}", "kubectl get nodes"),
    *("promql count(up)", "kubectl get endpoints -n {namespace}", "kubectl describe nodes", "ssh worker-1 dmesg"),
    *("kubectl get services -n {namespace}", "wait 10s") * 2,
    *("kubectl get deployments -n {namespace} -o wide", "kubectl get pods -A", "ssh worker-2 free -m"),
    *("kubectl label namespace {namespace} seen=yes", "wait 30s", "kubectl get pods -n {namespace}"),
    *("kubectl top nodes", "diagnose unknown"),
)
#: Looks that are repeated for the second figure.
_LOOKS = ("kubectl get pods -n {namespace}", "kubectl get endpoints -n {namespace}", "kubectl get nodes")
_REPEATS = 30


def measure_environments(
    progress: Callable[[str], None], names: Sequence[str] = (), seed: int = 0
) -> list[Measurement]:
    """Steps a second of CPU of first and of later episodes, and of looks. The seed is below `PASTS`."""
    assert seed < PASTS, seed
    spent: dict[str, list[float]] = {"drawn": [], "first": [], "again": [], "looks": []}
    for name in names or tasks.suite("lite"):
        progress(name)
        Starts(worlds=HEALTHY).start(name, seed)  # another process
        env = IncidentEnv(name)
        spent["drawn"].append(_episode(env, seed + PASTS))
        spent["first"].append(_episode(env, seed))
        spent["again"] += [_episode(env, seed) for _ in range(2)]
        spent["looks"].append(_looks(env, seed))
    drawn, first, again = (
        len(LINES) * len(spent[each]) / math.fsum(spent[each]) for each in ("drawn", "first", "again")
    )
    looks = _REPEATS * len(_LOOKS) * len(spent["looks"]) / math.fsum(spent["looks"])
    steps, more = f">= {LEAST_STEPS:g}", f">= {LEAST_LOOKS:g}"
    unit = "steps/s of CPU"
    return [
        Measurement("20 steps and a reset, seed never drawn", unit, drawn, (drawn,), steps, drawn >= LEAST_STEPS),
        Measurement(
            "20 steps and a reset, incident new to the process", unit, first, (first,), steps, first >= LEAST_STEPS
        ),
        Measurement("20 steps and a reset, incident met before", unit, again, (again,), steps, again >= LEAST_STEPS),
        Measurement("steps that only look", unit, looks, (looks,), more, looks >= LEAST_LOOKS),
    ]


def _episode(env: IncidentEnv, seed: int) -> float:
    """CPU seconds of a reset and 20 steps."""
    began_s = time.process_time()
    env.reset(seed=seed)
    _steps(env, LINES)
    return time.process_time() - began_s


def _looks(env: IncidentEnv, seed: int) -> float:
    env.reset(seed=seed)
    began_s = time.process_time()
    for _ in range(_REPEATS):
        _steps(env, _LOOKS)
    return time.process_time() - began_s


def _steps(env: IncidentEnv, lines: Sequence[str]) -> None:
    assert env.episode is not None
    namespace = env.episode.task.namespace
    for line in lines:
        env.step(line.format(namespace=namespace))
