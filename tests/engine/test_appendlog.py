"""The append-only log: order, positions, what is dropped, what forks share."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from simcluster.engine import AppendLog, fork


@given(st.lists(st.integers()), st.integers(1, 7))
def test_it_behaves_like_a_list(entries: list[int], block: int) -> None:
    log: AppendLog[int] = AppendLog(block=block)
    for entry in entries:
        log.append(entry)
    assert list(log) == entries
    assert list(reversed(log)) == entries[::-1]
    assert len(log) == log.end == len(entries)
    assert [log[i] for i in range(len(entries))] == entries
    if entries:
        assert log[-1] == entries[-1]
    for start in (0, len(entries) // 2, len(entries)):
        assert list(log.since(start)) == entries[start:]


@given(st.integers(0, 60), st.integers(1, 5), st.integers(1, 4))
def test_old_blocks_are_dropped_and_positions_stay(count: int, block: int, keep: int) -> None:
    log: AppendLog[int] = AppendLog(block=block, keep_blocks=keep)
    for entry in range(count):
        log.append(entry)
    assert list(log) == list(range(log.dropped, count))
    assert log.end == count
    assert len(log) <= block * (keep + 1)
    assert list(log.since(log.dropped + 1)) == list(range(log.dropped + 1, count))


def test_forks_share_sealed_blocks_and_go_their_own_way() -> None:
    log: AppendLog[str] = AppendLog(block=2)
    for entry in "abcde":
        log.append(entry)
    twin = fork(log)
    assert twin._blocks[0] is log._blocks[0]
    twin.append("f")
    log.append("g")
    assert (list(log), list(twin)) == (list("abcdeg"), list("abcdef"))
