"""Calls that need nothing of each other, each in a process forked for it, and their results in order.

A world is forked with its process: nothing of it is copied before it is written to, and what a call does to it ends
with it. What comes of a call is the same wherever it runs: results do not tell how many there were at a time.
Only the first process forks, if no thread of it runs: a lock that another thread holds would stay shut in a fork.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple, TypeVar

T = TypeVar("T")
#: How many at a time the user has asked for, in the first process; otherwise one for each core.
JOBS = "SIMCLUSTER_JOBS"


class _Fork(NamedTuple):
    """A process that was forked for a call, and where its result comes from."""

    pid: int
    pipe: int


def jobs() -> int:
    """How many calls may run at a time: as many as were asked for or there are cores, one where nobody may fork."""
    alone = threading.active_count() == 1 and multiprocessing.parent_process() is None
    if not (hasattr(os, "fork") and alone):
        return 1
    asked = os.environ.get(JOBS, "")
    return max(1, int(asked)) if asked.isdigit() else os.cpu_count() or 1


def in_order(calls: Sequence[Callable[[], T]], at_a_time: int) -> Generator[T, None, None]:
    """The results of calls in their order, up to so many computed at a time; who stops asking ends those that run.

    A fork that leaves no result (it was killed) is done without: its call is made here.
    """
    if at_a_time <= 1 or len(calls) <= 1:
        yield from (call() for call in calls)
        return
    running: deque[tuple[_Fork, Callable[[], T]]] = deque()
    waiting = deque(calls)
    gc.freeze()  # a collector that visits everything would write to all of it, in each fork
    try:
        while running or waiting:
            while waiting and len(running) < at_a_time:
                call = waiting.popleft()
                running.append((_forked(call), call))
            fork, call = running.popleft()
            said = _read(fork)
            yield pickle.loads(said) if said else call()
    finally:
        for fork, _ in running:
            os.kill(fork.pid, signal.SIGKILL)
            _read(fork)
        gc.unfreeze()


def _forked(call: Callable[[], T]) -> _Fork:
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid:
        os.close(theirs)
        return _Fork(pid, ours)
    try:  # the fork: nothing of the process it came from may run after this
        os.close(ours)
        with os.fdopen(theirs, "wb") as pipe:
            pickle.dump(call(), pipe)
    finally:
        os._exit(0)


def _read(fork: _Fork) -> bytes:
    """All that a fork has to say; it is over then."""
    with os.fdopen(fork.pipe, "rb") as pipe:
        said = pipe.read()
    os.waitpid(fork.pid, 0)
    return said
