"""Calls in forked processes: their results are those of calls made here, in the same order."""

from __future__ import annotations

import itertools
import os
import signal
from functools import partial
from pathlib import Path

import pytest

from simcluster.eval.episode import start
from simcluster.eval.examination import parallel
from simcluster.eval.examination.parallel import JOBS, in_order

HERE = os.getpid()


def cubed(number: int) -> tuple[int, bool]:
    return number**3, os.getpid() == HERE


def shot(number: int) -> tuple[int, bool]:
    if os.getpid() != HERE and number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return cubed(number)


def children() -> set[str]:
    """Processes that this one has made and that have not gone."""
    return {pid for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()}


def test_results_come_in_order_from_elsewhere() -> None:
    calls = [partial(cubed, number) for number in range(9)]
    assert list(in_order(calls, 3)) == [(number**3, False) for number in range(9)]
    assert list(in_order(calls, 1)) == [(number**3, True) for number in range(9)]


def test_a_fork_that_is_killed_is_done_without() -> None:
    calls = [partial(shot, number) for number in range(5)]
    assert list(in_order(calls, 2)) == [(number**3, number == 3) for number in range(5)]


def test_who_has_heard_enough_waits_for_nobody() -> None:
    before = children()
    done = in_order([partial(cubed, 2), *[partial(os.read, os.pipe()[0], 1)] * 2], 3)  # two that never end
    assert list(itertools.islice(done, 1)) == [(8, False)]
    done.close()
    assert children() == before


def test_a_grade_is_the_same_however_many_are_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    episode = start("wrong_service_selector_online_boutique", 0)
    episode.kubectl("set selector service/cartservice app=cartservice")
    graded = []
    for jobs in ("1", "3"):
        monkeypatch.setenv(JOBS, jobs)
        assert parallel.jobs() == int(jobs)
        graded.append(repr(episode.fork().examined()))
    assert graded[0] == graded[1]
