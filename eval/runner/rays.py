"""Distributes runs over a Ray cluster: the same plan, records and digests as on one machine.

On every place works one actor with a worker process of its own, as the local pool has them, and sends back the record
and the files of a run. An actor that is lost, with its machine or alone, is replaced, and its run made anew; a result
is taken from nobody but the actor that the run was given to last, so that none counts twice.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import ray
from ray.exceptions import RayActorError, RayTaskError

from simcluster.eval.isolation.ending import HARNESS_ERROR, KILLED, Ending
from simcluster.eval.runner.execute import record_of
from simcluster.eval.runner.plan import Plan, Record, Run
from simcluster.eval.runner.records import RunDirectory
from simcluster.eval.runner.runner import Listener, Worker, chosen

#: How often a run is given away whose actor was lost, before it is recorded as killed.
ATTEMPTS = 3
#: How long results are waited for before it is looked again, wall-clock seconds.
_LOOK_S = 1.0


class Made(NamedTuple):
    """What comes back of a run: its record, and name and bytes of its files."""

    record: Record
    files: dict[str, bytes]


class Place:
    """What an actor does. Every run gets a folder of its own."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._folder = tempfile.TemporaryDirectory()
        self._worker: Worker | None = None

    def execute(self, run: Run) -> Made:
        """Make one run; what an agent does to its worker is its outcome, as everywhere."""
        folder = Path(self._folder.name)
        if self._worker is None or not self._worker.process.is_alive():
            self._worker = Worker(self._plan, self._folder.name)
        worker = self._worker
        worker.give(run, self._plan)
        if worker.pipe.poll(worker.deadline_s - time.monotonic()):
            record = worker.result()
        else:
            record = None
        if record is None:
            seconds = time.monotonic() - worker.began_s
            self._worker = None
            record = record_of(run, self._plan.noise, worker.lost(), seconds, None)
        files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
        for name in files:
            (folder / name).unlink()
        return Made(record, files)

    def pid(self) -> int:
        """The process id of the actor."""
        return os.getpid()


def connect(address: str = "") -> int:
    """Join the cluster (by default that of `RAY_ADDRESS`, else a new one on this machine); how many CPUs it has."""
    if not ray.is_initialized():
        where = address or os.environ.get("RAY_ADDRESS") or None
        ray.init(address=where, include_dashboard=False, log_to_driver=False, configure_logging=False)
    cluster: Any = ray  # one of its releases has types, another has none
    return int(cluster.cluster_resources().get("CPU", 1))


def evaluate_on_ray(
    plan: Plan, directory: RunDirectory, jobs: int, listener: Listener | None = None, address: str = ""
) -> list[Record]:
    """Run everything of the plan that the directory does not hold yet; as `runner.evaluate`.

    Args:
        jobs: actors, each on a CPU of its own; 0: as many as the cluster has.
        address: of the cluster.
    """
    done = directory.finished()
    waiting = [run for run in plan.runs() if run not in done]
    if waiting:
        _Cluster(plan, directory, listener).run(waiting, min(jobs or connect(address), len(waiting)), address)
    done = directory.finished()
    return [done[run] for run in plan.runs() if run in done]


class _Cluster:
    def __init__(self, plan: Plan, directory: RunDirectory, listener: Listener | None) -> None:
        self._plan = plan
        self._directory = directory
        self._listener = listener
        self._attempts: Counter[Run] = Counter()
        self._actor = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(Place)

    def run(self, waiting: list[Run], places: int, address: str) -> None:
        """Work off the list."""
        connect(address)
        waiting = list(waiting)
        idle: list[tuple[Any, tuple[str, int] | None]] = [(self._actor.remote(self._plan), None) for _ in range(places)]
        busy: dict[Any, tuple[Any, Run]] = {}
        try:
            while waiting or busy:
                while waiting and idle:
                    actor, start = idle.pop()
                    run = waiting.pop(chosen(waiting, start, [one.start for _, one in busy.values()]))
                    self._attempts[run] += 1
                    busy[actor.execute.remote(run)] = (actor, run)
                ready, _ = ray.wait(list(busy), num_returns=1, timeout=_LOOK_S)
                for reference in ready:
                    actor, run = busy.pop(reference)
                    again = self._taken(reference, actor, run)
                    idle.append((self._actor.remote(self._plan), None) if again is not None else (actor, run.start))
                    waiting[:0] = [run] if again else []
        finally:
            for actor in [*(one for one, _ in idle), *(one for one, _ in busy.values())]:
                ray.kill(actor)

    def _taken(self, reference: Any, actor: Any, run: Run) -> bool | None:
        """Keep a result. None if its actor lives on; else whether the run has to be made again."""
        try:
            made: Made = ray.get(reference)
        except RayActorError as lost:
            if self._attempts[run] < ATTEMPTS:
                return True
            self._add(Made(record_of(run, self._plan.noise, Ending(KILLED, str(lost)), 0.0, None), {}))
            return False
        except RayTaskError as problem:
            ray.kill(actor)
            self._add(Made(record_of(run, self._plan.noise, Ending(HARNESS_ERROR, str(problem)), 0.0, None), {}))
            return False
        assert Run(made.record["task"], made.record["agent"], made.record["seed"]) == run, made.record
        self._add(made)
        return None

    def _add(self, made: Made) -> None:
        for name, data in made.files.items():
            (self._directory.runs / name).write_bytes(data)
        self._directory.add(made.record)
        if self._listener is not None:
            self._listener(made.record)
