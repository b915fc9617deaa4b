"""Timers, order, the digest, and forks of all of it."""

from __future__ import annotations

import pickle

from hypothesis import given, settings
from hypothesis import strategies as st

from simcluster.engine import SECOND, AppendLog, Digest, Shared, Simulation, Snapshot, fork


class Ticker:
    """A small world: repeats itself with random pauses and keeps a log."""

    def __init__(self, seed: int) -> None:
        self.sim = Simulation(seed)
        self.stream = self.sim.stream("ticker")
        self.log: AppendLog[str] = AppendLog(block=8)
        self.sim.after(0, self.tick)
        self.grid = self.sim.every(5 * SECOND, self.note, "grid")

    def tick(self) -> None:
        self.note("tick")
        self.sim.after(self.stream.uniform_ns(0, 3 * SECOND), self.tick)

    def note(self, what: str) -> None:
        self.log.append(f"{self.sim.now} {what}")
        self.sim.record("note", what)


def test_ties_are_served_in_order_of_scheduling() -> None:
    sim, seen = Simulation(), AppendLog[str]()
    for name in "abc":
        sim.at(SECOND, seen.append, name)
    sim.after(0, seen.append, "first")
    sim.run_until(SECOND)
    assert list(seen) == ["first", "a", "b", "c"]


def test_time_stands_where_it_was_asked_to() -> None:
    sim = Simulation()
    sim.run_for(7)
    assert sim.now == 7
    sim.run_until(10)
    assert sim.now == 10
    assert isinstance(sim.now, int)


def test_cancelled_timers_do_nothing() -> None:
    sim, seen = Simulation(), AppendLog[str]()
    timer = sim.after(5, seen.append, "no")
    timer.cancel()
    timer.cancel()
    sim.run_for(10)
    assert list(seen) == []
    assert sim.clock.next_at() is None


def test_repeating_timers_share_one_grid_and_can_be_cancelled() -> None:
    sim, seen = Simulation(), AppendLog[str]()
    sim.run_for(7)
    first = sim.every(10, seen.append, "a")
    sim.run_for(5)
    sim.every(10, seen.append, "b")
    sim.run_until(40)
    assert list(seen) == ["a", "a", "b", "a", "b", "a", "b"]
    first.cancel()
    sim.run_until(60)
    assert list(seen)[7:] == ["b", "b"]


def test_a_timer_may_cancel_itself_while_it_fires() -> None:
    sim = Simulation()
    once = Once(sim)
    sim.run_for(100)
    assert once.count == 1


class Once:
    """Cancels its own repetition."""

    def __init__(self, sim: Simulation) -> None:
        self.count = 0
        self.timer = sim.every(10, self.fire)

    def fire(self) -> None:
        self.count += 1
        self.timer.cancel()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.integers(0, 60 * SECOND), st.integers(0, 60 * SECOND))
def test_a_fork_at_any_instant_has_the_same_future(seed: int, at_ns: int, more_ns: int) -> None:
    world = Ticker(seed)
    world.sim.run_until(at_ns)
    twin, plain = fork(world), pickle.loads(pickle.dumps(world))
    for each in (world, twin, plain):
        each.sim.run_for(more_ns)
    assert list(world.log) == list(twin.log) == list(plain.log)
    assert world.sim.digest.hex() == twin.sim.digest.hex() == plain.sim.digest.hex()


def test_the_same_seed_gives_the_same_digest_and_another_does_not() -> None:
    digests = []
    for seed in (1, 1, 2):
        world = Ticker(seed)
        world.sim.run_for(60 * SECOND)
        digests.append(world.sim.digest.hex())
    assert digests[0] == digests[1] != digests[2]


def test_forks_do_not_touch_each_other() -> None:
    world = Ticker(3)
    world.sim.run_for(20 * SECOND)
    before = list(world.log)
    snapshot = Snapshot(world)
    for _ in range(2):
        twin = snapshot.restore()
        twin.grid.cancel()
        twin.sim.run_for(30 * SECOND)
        assert len(list(twin.log)) > len(before)
    assert list(world.log) == before
    world.sim.run_for(10 * SECOND)
    assert any(line.endswith("grid") for line in list(world.log)[len(before) :])


class Stone(Shared):
    """Never changes."""

    def __init__(self, weight: int) -> None:
        self.weight = weight


def test_shared_objects_are_passed_by_identity_and_plain_pickles_copy_them() -> None:
    stone = Stone(3)
    world = {"a": stone, "b": [stone], "own": [1]}
    twin, plain = fork(world), pickle.loads(pickle.dumps(world))
    assert twin["a"] is twin["b"][0] is stone
    assert plain["a"] is plain["b"][0]
    assert plain["a"] is not stone
    assert twin["own"] is not world["own"]


def test_digest_depends_on_time_kind_payload_and_order() -> None:
    def digest(*records: tuple[int, str, str]) -> str:
        chain = Digest()
        for record in records:
            chain.add(record[0], record[1], record[2].encode())
        return chain.hex()

    a, b = (1, "k", "x"), (2, "k", "y")
    found = {digest(), digest(a), digest(a, b), digest(b, a), digest((1, "k", "y")), digest((1, "j", "x"))}
    assert len(found) == 6
    assert digest(a, b) == digest(a, b)


def test_single_steps_are_those_of_simpy() -> None:
    runs = []
    for stepwise in (False, True):
        world = Ticker(5)
        if stepwise:
            while (next_ns := world.sim.clock.next_at()) is not None and next_ns <= 30 * SECOND:
                world.sim.clock.step()
        else:
            world.sim.run_until(30 * SECOND)
        runs.append((list(world.log), world.sim.digest.hex()))
    assert runs[0] == runs[1]
