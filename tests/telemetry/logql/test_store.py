"""Where lines are kept: order, forks, what is let go."""

from __future__ import annotations

import pickle

from simcluster.engine import fork
from simcluster.telemetry.logql.store import BLOCK, LogStore, labelled
from simcluster.telemetry.promql.storage import Matcher

A = labelled({"app": "a"})
APP = (Matcher("app", "=", "a"),)


def _filled(count: int) -> LogStore:
    found = LogStore()
    for at in range(count):
        found.append(A, at, f"line {at}")
    return found


def test_a_span_is_open_at_its_end() -> None:
    (stream,) = _filled(300).select(APP, 10, 13)
    assert stream == (A, [(10, "line 10"), (11, "line 11"), (12, "line 12")])
    assert _filled(300).select(APP, 300, 400) == []


def test_late_lines_are_put_in_order() -> None:
    store = LogStore()
    for at in (5, 1, 3):
        store.append(A, at, str(at))
    assert [line for _, line in store.select(APP, 0, 9)[0].entries] == ["1", "3", "5"]


def test_a_fork_and_a_pickle_have_the_same_past_and_another_future() -> None:
    store = _filled(BLOCK + 5)
    for other in (fork(store), pickle.loads(pickle.dumps(store))):
        assert other.select(APP, 0, 999) == store.select(APP, 0, 999)
        other.append(A, 500, "only there")
        assert len(store.select(APP, 0, 999)[0].entries) == BLOCK + 5
        assert other.size_bytes == store.size_bytes + len("only there")


def test_a_fork_shares_what_is_sealed() -> None:
    store = _filled(BLOCK)
    line = store.select(APP, 0, 1)[0].entries[0]
    assert fork(store).select(APP, 0, 1)[0].entries[0] is line


def test_old_blocks_go_by_age_and_by_size() -> None:
    aged = LogStore(max_age_ns=100)
    small = LogStore(max_bytes=2 * BLOCK * 3)
    for at in range(4 * BLOCK):
        aged.append(A, at, "xyz")
        small.append(A, at, "xyz")
    kept = aged.select(APP, 0, 10**9)[0].entries
    assert kept[0][0] == 3 * BLOCK
    assert small.size_bytes <= 2 * BLOCK * 3
    assert small.select(APP, 0, 10**9)[0].entries[-1] == (4 * BLOCK - 1, "xyz")
    assert small.streams(APP, 0, BLOCK) == []
