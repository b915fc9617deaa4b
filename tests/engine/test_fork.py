"""Forks: what is shared, what is copied in one go, what is looked into, and that none of it is seen from outside."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcluster.engine import AppendLog, Flat, FlatDict, FlatList, Parted, Shared, Snapshot, fork


class Fact(Shared):
    def __init__(self, text: str) -> None:
        self.text = text


class Pod(Parted):
    def __init__(self, name: str, fact: Fact) -> None:
        self.name, self.fact, self.started_ns = name, fact, 0
        self.waiting: dict[str, int] = {}
        self.peer: Pod | None = None
        self.value: Any = None


class Ring(Flat):
    def __init__(self, entries: list[int]) -> None:
        self.entries = entries

    def copy(self) -> Ring:
        return Ring(self.entries.copy())


def test_flat_containers_are_copied_and_their_contents_shared() -> None:
    fact = Fact("a")
    before = {"dict": FlatDict({("a", 1): fact}), "list": FlatList([fact, "b"]), "ring": Ring([1, 2])}
    after = fork(before)
    assert type(after["dict"]) is FlatDict
    assert type(after["list"]) is FlatList
    assert type(after["ring"]) is Ring
    assert after["dict"][("a", 1)] is fact
    assert after["list"][0] is fact
    before["dict"]["c"] = 1
    before["list"].append("c")
    before["ring"].entries.append(3)
    assert list(after["dict"]) == [("a", 1)]
    assert after["list"] == [fact, "b"]
    assert after["ring"].entries == [1, 2]


def test_a_snapshot_does_not_see_what_comes_later() -> None:
    world = {"dict": FlatDict({"a": 1}), "pod": Pod("p", Fact("x")), "ring": Ring([1])}
    snapshot = Snapshot(world)
    world["dict"]["b"] = 2
    world["pod"].started_ns, world["pod"].waiting["w"] = 5, 6
    world["ring"].entries.append(2)
    for _ in range(2):
        found = snapshot.restore()
        assert (found["dict"], found["pod"].started_ns, found["pod"].waiting) == ({"a": 1}, 0, {})
        assert found["ring"].entries == [1]
        found["dict"]["c"] = found["pod"].started_ns = 7
        found["ring"].entries.clear()


def test_identity_within_a_fork_is_kept() -> None:
    first, second = Pod("a", Fact("x")), Pod("b", Fact("y"))
    first.peer, second.peer = second, first
    table = FlatDict({"k": 1})
    one, two, tables = fork((first, second, [table, table]))
    assert one.peer is two
    assert two.peer is one
    assert tables[0] is tables[1]
    assert one is not first
    assert one.fact is first.fact


VALUES = st.one_of(
    st.none(), st.integers(), st.text(), st.booleans(), st.floats(allow_nan=False), st.lists(st.integers()),
    st.dictionaries(st.text(), st.integers()), st.tuples(st.integers(), st.lists(st.text())),
)  # fmt: skip


@given(st.lists(VALUES, max_size=12))
def test_of_parted_objects_only_what_may_change_is_copied(values: list[Any]) -> None:
    """Whatever an attribute held in others of its class."""
    pods = []
    for number, value in enumerate(values):
        pod = Pod(f"p{number}", Fact(str(number)))
        pod.value = value
        pods.append(pod)
    found = fork(pods)
    assert [vars(pod) for pod in found] == [vars(pod) for pod in pods]
    for one, other in zip(pods, found, strict=True):
        assert one.fact is other.fact
        assert one.waiting is not other.waiting
        if isinstance(one.value, list | dict):
            assert one.value is not other.value
        if isinstance(one.value, tuple):
            assert one.value[1] is not other.value[1]


def test_a_plain_pickle_of_all_that_is_complete() -> None:
    pod = Pod("p", Fact("x"))
    log: AppendLog[int] = AppendLog(block=2)
    for number in range(5):
        log.append(number)
    world = {"pod": pod, "dict": FlatDict({"a": pod.fact}), "list": FlatList([1]), "log": log}
    found = pickle.loads(pickle.dumps(world))
    assert found["pod"].fact.text == "x"
    assert found["dict"]["a"] is found["pod"].fact
    assert found["list"] == [1]
    assert list(found["log"]) == [0, 1, 2, 3, 4]


def test_a_snapshot_is_of_no_use_to_plain_pickle() -> None:
    snapshot = Snapshot(Pod("p", Fact("x")))
    with pytest.raises(AssertionError, match="the snapshot it belongs to"):
        pickle.loads(snapshot._data)


@given(st.integers(0, 40), st.integers(1, 5), st.integers(0, 3))
def test_copies_of_an_append_log_go_separate_ways(count: int, block: int, keep: int) -> None:
    log: AppendLog[int] = AppendLog(block=block, keep_blocks=keep)
    for number in range(count):
        log.append(number)
    before, other = list(log), fork(log)
    for number in range(12):
        log.append(-number)
    assert list(other) == before
    assert (other.end, len(other)) == (count, len(before))
    other.append(99)
    assert list(other)[-1] == 99
    assert 99 not in list(log)
