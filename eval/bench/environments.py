"""Measures environments of `eval.training`: steps for a second of CPU over the tasks of `lite`, resets included.

An episode is a reset and 20 steps: looks, a query, a wait, a change. Two kinds of reset are told apart: of an incident
that the process meets for the first time, which lives from the boot of the cluster to the page, and of one that it has
met, which is a copy. Looks are steps that change nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from simcluster import tasks
from simcluster.eval.bench.bench import Measurement
from simcluster.eval.training.environment import IncidentEnv

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
    """Steps a second of CPU of first and of later episodes, and of looks."""
    spent: dict[str, list[float]] = {"first": [], "again": [], "looks": []}
    for name in names or tasks.suite("lite"):
        progress(name)
        env = IncidentEnv(name)
        spent["first"].append(_episode(env, seed))
        spent["again"] += [_episode(env, seed) for _ in range(2)]
        spent["looks"].append(_looks(env, seed))
    first, again = (len(LINES) * len(spent[each]) / math.fsum(spent[each]) for each in ("first", "again"))
    looks = _REPEATS * len(_LOOKS) * len(spent["looks"]) / math.fsum(spent["looks"])
    steps, more = f">= {LEAST_STEPS:g}", f">= {LEAST_LOOKS:g}"
    unit = "steps/s of CPU"
    return [
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
