"""SimPy on the clock of a simulation: the models of its documentation give the numbers of `simpy.Environment`."""

from __future__ import annotations

import math
import pickle
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import simpy

from simcluster.engine import SECOND, AppendLog, NotForkable, Simulation, Snapshot, fork

#: What a model saw: instant, what.
Trace = list[tuple[float, str]]
Model = Callable[[simpy.Environment, Trace], None]


def bank(env: simpy.Environment, seen: Trace) -> None:
    """Bank renege: customers leave when nobody serves them within their patience."""
    draw = random.Random(42)
    counter = simpy.Resource(env, capacity=1)

    def customer(name: str, service: float, patience: float) -> Iterator[Any]:
        arrived = env.now
        with counter.request() as turn:
            result = yield turn | env.timeout(patience)
            seen.append((env.now, f"{name} {'waited' if turn in result else 'left after'} {env.now - arrived:.2f}"))
            if turn in result:
                yield env.timeout(service)
                seen.append((env.now, f"{name} done"))

    def source() -> Iterator[Any]:
        for number in range(20):
            env.process(customer(f"c{number}", draw.expovariate(1 / 12.0), draw.uniform(1, 3)))
            yield env.timeout(draw.expovariate(1 / 10.0))

    env.process(source())
    env.run()


def carwash(env: simpy.Environment, seen: Trace) -> None:
    """Machines as a resource; processes that wait for processes."""
    draw = random.Random(7)
    machines = simpy.Resource(env, 2)

    def wash(car: str) -> Iterator[Any]:
        yield env.timeout(5)
        seen.append((env.now, f"{car} lost {draw.randint(50, 99)} % of its dirt"))

    def car(name: str) -> Iterator[Any]:
        with machines.request() as machine:
            yield machine
            seen.append((env.now, f"{name} enters"))
            yield env.process(wash(name))

    def setup() -> Iterator[Any]:
        for number in range(4):
            env.process(car(f"car {number}"))
        for number in range(4, 12):
            yield env.timeout(draw.randint(5, 9))
            env.process(car(f"car {number}"))

    env.process(setup())
    env.run(until=40)


def machine_shop(env: simpy.Environment, seen: Trace) -> None:
    """Machines break and interrupt their work; one repairman prefers repairs to his other jobs."""
    draw = random.Random(1)
    repairman = simpy.PreemptiveResource(env, capacity=1)
    broken: set[str] = set()

    def machine(name: str) -> Iterator[Any]:
        made, work = 0, env.process(working(name))
        while True:
            yield env.timeout(draw.expovariate(1 / 300.0))
            made += 1
            if name not in broken:
                work.interrupt(f"break {made}")

    def working(name: str) -> Iterator[Any]:
        parts = 0
        while True:
            left = max(0.1, draw.gauss(10.0, 2.0))
            while left:
                begun = env.now
                try:
                    yield env.timeout(left)
                    left = 0
                except simpy.Interrupt as interrupt:
                    broken.add(name)
                    left -= env.now - begun
                    with repairman.request(priority=1) as request:
                        yield request
                        yield env.timeout(30.0)
                    broken.remove(name)
                    seen.append((env.now, f"{name} repaired of {interrupt.cause} after {parts} parts"))
            parts += 1

    def other_jobs() -> Iterator[Any]:
        while True:
            left = 30.0
            while left:
                with repairman.request(priority=2) as request:
                    yield request
                    begun = env.now
                    try:
                        yield env.timeout(left)
                        left = 0
                    except simpy.Interrupt as preempted:
                        left -= env.now - begun
                        seen.append((preempted.cause.usage_since, "preempted"))

    for number in range(6):
        env.process(machine(f"machine {number}"))
    env.process(other_jobs())
    env.run(until=2000)


def movies(env: simpy.Environment, seen: Trace) -> None:
    """Movie renege: an event tells all who queue that their film is sold out."""
    draw = random.Random(3)
    counter = simpy.Resource(env, capacity=1)
    films = {name: simpy.Container(env, 10, init=10) for name in ("one", "two", "three")}
    sold_out = {name: env.event() for name in films}

    def moviegoer(film: str, tickets: int) -> Iterator[Any]:
        with counter.request() as turn:
            result = yield turn | sold_out[film]
            if turn not in result:
                seen.append((env.now, f"{film}: leaves the queue"))
                return
            if films[film].level < tickets:
                yield env.timeout(0.5)
                return
            yield films[film].get(tickets)
            if films[film].level < 2 and not sold_out[film].triggered:
                sold_out[film].succeed()
                seen.append((env.now, f"{film}: sold out"))
            yield env.timeout(1)

    def arrivals() -> Iterator[Any]:
        while True:
            yield env.timeout(draw.expovariate(1 / 0.5))
            film = draw.choice(list(films))
            if films[film].level:
                env.process(moviegoer(film, draw.randint(1, 6)))

    env.process(arrivals())
    env.run(until=120)


def gas_station(env: simpy.Environment, seen: Trace) -> None:
    """Cars take fuel of one tank; a truck is called when it is low."""
    draw = random.Random(42)
    pumps, tank = simpy.Resource(env, 2), simpy.Container(env, 200, init=200)

    def car(name: str) -> Iterator[Any]:
        level = draw.randint(5, 25)
        with pumps.request() as request:
            yield request
            yield tank.get(50 - level)
            yield env.timeout((50 - level) / 2)
            seen.append((env.now, f"{name} refuelled {50 - level} l"))

    def control() -> Iterator[Any]:
        while True:
            if tank.level / tank.capacity < 0.25:
                yield env.timeout(300)
                amount = tank.capacity - tank.level
                yield tank.put(amount)
                seen.append((env.now, f"truck brings {amount} l"))
            yield env.timeout(10)

    def cars() -> Iterator[Any]:
        for number in range(1000):
            yield env.timeout(draw.randint(30, 300))
            env.process(car(f"car {number}"))

    env.process(control())
    env.process(cars())
    env.run(until=3000)


def communication(env: simpy.Environment, seen: Trace) -> None:
    """Process communication: stores as pipes, from one and to many."""
    draw = random.Random(9)
    pipes = [simpy.Store(env, capacity=5) for _ in range(3)]

    def producer() -> Iterator[Any]:
        while True:
            yield env.timeout(draw.uniform(4, 9))
            yield env.all_of([pipe.put(f"said at {env.now:.2f}") for pipe in pipes])

    def consumer(number: int) -> Iterator[Any]:
        while True:
            message = yield pipes[number].get()
            seen.append((env.now, f"{number} heard {message}"))
            yield env.timeout(draw.uniform(4, 12))

    env.process(producer())
    for number in range(3):
        env.process(consumer(number))
    env.run(until=200)


def latency(env: simpy.Environment, seen: Trace) -> None:
    """Event latency: what is sent into a cable comes out later."""
    cable = simpy.Store(env)

    def delayed(value: str) -> Iterator[Any]:
        yield env.timeout(10)
        yield cable.put(value)

    def sender() -> Iterator[Any]:
        while True:
            yield env.timeout(5)
            env.process(delayed(f"sent at {env.now:g}"))

    def receiver() -> Iterator[Any]:
        while True:
            message = yield cable.get()
            seen.append((env.now, message))

    env.process(sender())
    env.process(receiver())
    env.run(until=100)


MODELS = (bank, carwash, machine_shop, movies, gas_station, communication, latency)


@pytest.mark.parametrize("unit", ["1s", "1ms", "1h"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_models_give_the_numbers_of_simpy(model: Model, unit: str) -> None:
    expected: Trace = []
    found: Trace = []
    model(simpy.Environment(), expected)
    sim, ticks = Simulation(), AppendLog[int]()
    env = sim.simpy(unit)
    sim.every(7 * env.unit_ns // 10, ticks.append, 1)
    model(env, found)
    assert len(expected) >= 8
    assert [what for _, what in found] == [what for _, what in expected]
    assert [at for at, _ in found] == pytest.approx([at for at, _ in expected], abs=1e-4)
    assert abs(len(ticks) - sim.now / (7 * env.unit_ns // 10)) <= 1


@pytest.mark.parametrize(
    ("unit", "delay", "ns"),
    [("1s", 1.5, 1_500_000_000), ("1ns", 0.5, 0), ("1ns", 1.5, 2), ("1ns", 2.5, 2), ("1h", 1, 3600 * SECOND),
     ("1ms", 0.1, 100_000), ("10ns", 0.25, 2), ("1s", 1e-10, 0)],
)  # fmt: skip
def test_time_is_rounded_to_the_nearest_nanosecond_halves_to_even(unit: str, delay: float, ns: int) -> None:
    sim = Simulation()
    env = sim.simpy(unit)
    env.run(until=env.timeout(delay))
    assert sim.now == ns
    assert env.now == ns / env.unit_ns
    assert isinstance(env.now, float)


def test_processes_and_timers_live_on_one_clock() -> None:
    sim, seen = Simulation(), AppendLog[str]()
    env = sim.simpy("1s")

    def watcher(change: simpy.Event) -> Iterator[Any]:
        seen.append(f"{env.now} begins")
        value = yield change
        seen.append(f"{env.now} {value}")
        return "seen"

    change = env.event()
    process = env.process(watcher(change))
    sim.after(3 * SECOND // 2, change.succeed, "changed")
    sim.after(10 * SECOND, seen.append, "later")
    sim.run_for(SECOND)
    assert env.run(until=process) == "seen"
    assert sim.now == 3 * SECOND // 2
    assert list(seen) == ["0.0 begins", "1.5 changed"]
    sim.run_for(20 * SECOND)
    assert (list(seen)[-1], env.now) == ("later", 21.5)
    assert env.run(until=process) == "seen"
    env.run(until=22)
    assert sim.now == 22 * SECOND


def test_what_cannot_be_run_is_refused() -> None:
    env = Simulation().simpy()
    with pytest.raises(ValueError, match="until \\(0\\) must be greater"):
        env.run(until=0)
    with pytest.raises(RuntimeError, match='"until" event was not triggered'):
        env.run(until=env.event())
    assert env.peek() == math.inf
    for unit in ("0s", "-1s", "soon"):
        with pytest.raises(ValueError, match=unit):
            Simulation().simpy(unit)
    with pytest.raises(TypeError, match=r"sim.simpy\(\)"):
        Simulation().clock.timeout(1.5)


def test_a_failed_process_fails_the_run() -> None:
    sim = Simulation()
    env = sim.simpy()

    def failing() -> Iterator[Any]:
        yield env.timeout(1)
        raise KeyError("lost")

    env.process(failing())
    with pytest.raises(KeyError, match="lost"):
        sim.run_for(2 * SECOND)
    assert sim.now == SECOND
    fork(sim).run_for(SECOND)


def test_an_infinite_delay_never_comes() -> None:
    sim = Simulation()
    env = sim.simpy()
    env.timeout(math.inf)
    env.run()
    assert sim.now == 0


class World:
    """Something to fork that has a simulation."""

    def __init__(self) -> None:
        self.sim = Simulation()
        self.sim.every(SECOND, self.tick)
        self.ticks = 0
        self.kept: Any = None

    def tick(self) -> None:
        self.ticks += 1


COPIES = (fork, Snapshot, pickle.dumps)


@pytest.mark.parametrize("copy", COPIES)
def test_live_processes_refuse_a_copy_by_name(copy: Callable[[World], object]) -> None:
    world = World()
    env = world.sim.simpy("1s")
    store, desk = simpy.Store(env), simpy.Resource(env)

    def clerk() -> Iterator[Any]:
        with desk.request() as turn:
            yield turn
            yield store.get()

    def second() -> Iterator[Any]:
        with desk.request() as turn:
            yield turn

    env.process(clerk())
    env.process(second())
    world.sim.run_for(SECOND)
    with pytest.raises(NotForkable) as refusal:
        copy(world)
    assert str(refusal.value) == (
        "SimPy is at work in this world, which therefore cannot be copied: "
        "process clerk, which waits for StoreGet() of a Store; process second, which waits for Request() of a Resource"
    )
    store.put("a letter")
    world.sim.run_for(SECOND)
    copy(world)


def test_scheduled_events_that_somebody_waits_for_refuse_a_copy() -> None:
    world, seen = World(), AppendLog[Any]()
    env = world.sim.simpy("1s")
    for number in range(10):
        env.timeout(number + 2.5).callbacks.append(seen.append)
    env.timeout(20)  # nobody waits for this one
    with pytest.raises(NotForkable, match=r"copied: Timeout\(2.5\); .*, and 2 more"):
        fork(world)
    world.sim.run_for(15 * SECOND)
    twin = fork(world)
    assert len(seen) == 10
    for each in (world, twin):
        each.sim.simpy("1s").run()
    assert world.sim.now == twin.sim.now == 20 * SECOND


def test_after_all_has_ended_the_copy_has_an_environment_of_its_own() -> None:
    world = World()
    bank(world.sim.simpy("1s"), [])
    for twin in (fork(world), Snapshot(world).restore(), pickle.loads(pickle.dumps(world))):
        assert (twin.ticks, twin.sim.now) == (world.ticks, world.sim.now)
        expected: Trace = []
        found: Trace = []
        env = twin.sim.simpy("1s")
        assert env is not world.sim.simpy("1s")
        assert env is twin.sim.simpy("1s")
        for model_env, trace in ((simpy.Environment(world.sim.now / SECOND), expected), (env, found)):
            later(model_env, trace)
        assert [what for _, what in found] == [what for _, what in expected]
        assert [at for at, _ in found] == pytest.approx([at for at, _ in expected], abs=1e-6)
    assert world.sim.now == pytest.approx(world.sim.simpy("1s").now * SECOND)


def later(env: simpy.Environment, seen: Trace) -> None:
    """A model that begins at any instant."""
    parts = simpy.FilterStore(env)
    shelf = simpy.PriorityStore(env)

    def worker(size: int) -> Iterator[Any]:
        part = yield parts.get(lambda part: part >= size)
        yield shelf.put(simpy.PriorityItem(-part, "part"))
        seen.append((env.now, f"{size} took {part}"))

    def supply() -> Iterator[Any]:
        for part in (1, 5, 3, 9):
            yield env.timeout(0.3)
            yield parts.put(part)
        item = yield shelf.get()
        seen.append((env.now, f"first {item.priority}"))

    for size in (4, 2, 8, 0):
        env.process(worker(size))
    env.process(supply())
    env.run()


class Spare(simpy.Container):
    """A resource of somebody's own."""


@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("kind", [simpy.Resource, simpy.Store, Spare])
def test_a_resource_that_the_world_holds_refuses_a_copy(kind: type[Any], copy: Callable[[World], object]) -> None:
    world = World()
    world.kept = kind(world.sim.simpy())
    if kind is Spare:
        world.kept.put(1)
        world.sim.run_for(1)
    with pytest.raises(NotForkable, match=f"a {kind.__name__} of SimPy cannot be copied"):
        copy(world)
    world.kept = None
    copy(world)
