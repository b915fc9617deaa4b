"""Distributes runs over worker processes and writes down every result as it comes.

Workers are forked from one process that has imported everything. What an agent does ends its own processes, not
its worker; a worker that is killed nevertheless, or does not come back, is replaced, and its run recorded so.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Collection, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from simcluster.eval.chat.options import is_model
from simcluster.eval.isolation.ending import HARNESS_ERROR, KILLED, Ending
from simcluster.eval.runner.execute import ENDPOINT_REPEATS, record_of
from simcluster.eval.runner.plan import Plan, Record, Run
from simcluster.eval.runner.records import RunDirectory
from simcluster.eval.runner.worker import work

#: Called with every new record.
Listener = Callable[[Record], None]
#: How often deadlines are looked at while nothing comes in, wall-clock seconds.
_LOOK_S = 0.5
#: Beyond the agent's wall-clock limit, a run's start, its last command and its grade may take so many seconds.
GRACE_S = 600.0


def evaluate(plan: Plan, directory: RunDirectory, jobs: int, listener: Listener | None = None) -> list[Record]:
    """Run everything of the plan that the directory does not hold yet.

    Args:
        plan: checked before.
        directory: where results go.
        jobs: worker processes, at least 1.
        listener: is told of every new result.

    Returns:
        The records of all runs of the plan, in its order.
    """
    done = directory.finished()
    waiting = [run for run in plan.runs() if run not in done]
    if waiting:
        pool = _Pool(plan, directory, min(jobs, len(waiting)), listener)
        try:
            pool.run(waiting)
        finally:
            pool.close()
    done = directory.finished()
    return [done[run] for run in plan.runs() if run in done]


class Worker:
    """One process and what it is doing.

    Args:
        folder: where the files of its runs are written.
    """

    def __init__(self, plan: Plan, folder: str) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([work.__module__])
        self.pipe: Connection
        self.pipe, theirs = context.Pipe()
        arguments = (theirs, plan, folder, dict(os.environ))
        self.process: BaseProcess = context.Process(target=work, args=arguments, daemon=True)
        self.process.start()
        theirs.close()
        self.run: Run | None = None
        self.start: tuple[str, int] | None = None
        self.deadline_s = 0.0
        self.began_s = 0.0

    def give(self, run: Run, plan: Plan) -> None:
        """Let it make a run; a model's may be made twice."""
        self.run, self.start = run, run.start
        self.began_s = time.monotonic()
        limit_s = plan.wall_limit_s * (1 + ENDPOINT_REPEATS * is_model(run.agent))
        self.deadline_s = self.began_s + limit_s + GRACE_S
        self.pipe.send(tuple(run))

    def result(self) -> Record | None:
        """The record of its run, waited for; None if the process has ended without."""
        try:
            record: Record = self.pipe.recv()
        except (EOFError, OSError):
            return None
        assert Run(record["task"], record["agent"], record["seed"]) == self.run, record
        self.run = None
        return record

    def lost(self) -> Ending:
        """How a run ended whose record did not come; the process is ended."""
        if time.monotonic() > self.deadline_s:
            seconds = time.monotonic() - self.began_s
            ending = Ending(HARNESS_ERROR, f"the worker did not come back within {seconds:.0f} s")
        else:
            self.process.join()
            ending = Ending(KILLED, f"the worker process ended with status {self.process.exitcode}")
        self.stop()
        return ending

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self.pipe.close()
        self.process.kill()
        self.process.join()


def chosen(waiting: Sequence[Run], start: tuple[str, int] | None, others: Collection[tuple[str, int]]) -> int:
    """Which run comes next: one whose start was made already, else one whose start nobody else is making."""
    for index, run in enumerate(waiting):
        if run.start == start:
            return index
    for index, run in enumerate(waiting):
        if run.start not in others:
            return index
    return 0


class _Pool:
    def __init__(self, plan: Plan, directory: RunDirectory, jobs: int, listener: Listener | None) -> None:
        self._plan = plan
        self._directory = directory
        self._listener = listener
        self._workers = [self._new() for _ in range(max(1, jobs))]

    def _new(self) -> Worker:
        return Worker(self._plan, str(self._directory.runs))

    def run(self, waiting: list[Run]) -> None:
        """Work off the list."""
        waiting = list(waiting)
        while waiting or any(worker.run for worker in self._workers):
            self._workers = [w if w.run or w.process.is_alive() else self._new() for w in self._workers]
            for worker in self._workers:
                if worker.run is None and waiting:
                    others = [other.start for other in self._workers if other.run is not None and other.start]
                    worker.give(waiting.pop(chosen(waiting, worker.start, others)), self._plan)
            busy = {worker.pipe: worker for worker in self._workers if worker.run is not None}
            for pipe in wait(list(busy), timeout=_LOOK_S):
                self._receive(busy[pipe])  # type: ignore[index]
            self._expire()

    def close(self) -> None:
        """End all workers, whatever they are doing."""
        for worker in self._workers:
            worker.stop()

    def _receive(self, worker: Worker) -> None:
        assert worker.run is not None
        record = worker.result()
        if record is None:
            self._replace(worker)
        else:
            self._add(record)

    def _expire(self) -> None:
        for worker in list(self._workers):
            if worker.run is not None and time.monotonic() > worker.deadline_s and not worker.pipe.poll():
                self._replace(worker)

    def _replace(self, worker: Worker) -> None:
        assert worker.run is not None
        run, seconds = worker.run, time.monotonic() - worker.began_s
        ending = worker.lost()
        self._workers[self._workers.index(worker)] = self._new()
        self._add(record_of(run, self._plan.noise, ending, seconds, None))

    def _add(self, record: Record) -> None:
        self._directory.add(record)
        if self._listener is not None:
            self._listener(record)
