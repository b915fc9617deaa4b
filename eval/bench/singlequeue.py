"""The exact engine against other simulators on one queue: M/M/1 at a utilisation of 0.8.

Every contestant serves as many requests and gives their mean time in the system. A bare loop
over a heap is the least that can be done in Python; SimPy with a process for each request is
what people write; Ciw and salabim take part when they are installed. Runs alternate, the medians count.
"""

from __future__ import annotations

import importlib
import importlib.util
import random
import statistics
import time
from collections import deque
from collections.abc import Callable, Generator
from heapq import heappop, heappush
from typing import Any

import simpy

from simcluster.eval.bench.bench import Measurement
from simcluster.models.traffic.exact import ExactRun
from simcluster.models.traffic.graph import spec_of

RATE, SERVICE_RATE = 0.8, 1.0
REQUESTS, REPEATS = 100_000, 5
#: salabim takes a thousand times as long for each request as the heap.
SLOW_SHARE = {"salabim": 0.05, "Ciw": 0.2}
#: What is promised: no more than so many times what the heap takes.
MOST_HEAPS = 2.5


def measure_queue(progress: Callable[[str], None]) -> list[Measurement]:
    """Time of `exact` and of everybody else, as shares of what the bare heap takes for a request."""
    times: dict[str, list[float]] = {name: [] for name in contestants()}
    for repeat in range(REPEATS):
        for name, run in contestants().items():
            progress(f"M/M/1: {name}, repeat {repeat + 1} of {REPEATS}")
            requests = int(REQUESTS * SLOW_SHARE.get(name, 1.0))
            began = time.process_time()
            run(requests)
            times[name].append((time.process_time() - began) / requests)
    return figures({name: statistics.median(found) for name, found in times.items()})


def figures(seconds: dict[str, float]) -> list[Measurement]:
    """The table of seconds for each request."""
    heap, exact = seconds["heapq"], seconds["exact"]
    found = [Measurement("M/M/1 on exact", "requests/s", round(1.0 / exact), ())]
    for name, spent in seconds.items():
        ratio = round(spent / heap, 2)
        if name == "exact":
            holds = ratio <= MOST_HEAPS
            found.append(Measurement("M/M/1: exact over heapq", "x", ratio, (), f"<= {MOST_HEAPS:g}", holds))
        elif name != "heapq":
            found.append(
                Measurement(f"M/M/1: {name} over exact", "x", round(spent / exact, 2), (), "> 1", spent > exact)
            )
    return found


def contestants() -> dict[str, Callable[[int], float]]:
    """Who takes part here, by name; each gives the mean time in the system of so many requests."""
    found: dict[str, Callable[[int], float]] = {"heapq": by_heap, "exact": by_exact, "SimPy processes": by_simpy}
    for name, module, run in (("Ciw", "ciw", by_ciw), ("salabim", "salabim", by_salabim)):
        if importlib.util.find_spec(module) is not None:
            found[name] = run
    return found


def by_exact(requests: int) -> float:
    """The exact engine."""
    spec = {
        "name": "mm1",
        "services": {"s": {"workers": 1, "operations": {"op": {"work": {"law": "exponential", "mean": "1s"}}}}},
        "load": {"users": {"target": "s", "open": {"rate": RATE}}},
        "run": {"duration": f"{int(requests / RATE)}s", "requests": 2 * requests},
    }
    result = ExactRun(spec_of(spec), seed=1).run()
    return float(result.load_totals["users"].latency.mean) / 1e9


def by_heap(requests: int) -> float:
    """Arrivals and departures in a heap, waiting requests in a deque."""
    draw = random.Random(1).expovariate
    events: list[tuple[float, int, float]] = [(draw(RATE), 0, 0.0)]
    waiting: deque[float] = deque()
    busy, done, total, order = False, 0, 0.0, 1
    while done < requests:
        now, kind, came = heappop(events)
        if kind == 0:
            heappush(events, (now + draw(RATE), 0, 0.0))
            if busy:
                waiting.append(now)
            else:
                busy = True
                heappush(events, (now + draw(SERVICE_RATE), order, now))
        else:
            done += 1
            total += now - came
            if waiting:
                heappush(events, (now + draw(SERVICE_RATE), order, waiting.popleft()))
            else:
                busy = False
    return total / requests


def by_simpy(requests: int) -> float:
    """A process for each request, which asks for the one server."""
    draw = random.Random(1).expovariate
    env = simpy.Environment()
    server = simpy.Resource(env, capacity=1)
    times: list[float] = []

    def request() -> Generator[Any, Any, None]:
        came = env.now
        with server.request() as turn:
            yield turn
            yield env.timeout(draw(SERVICE_RATE))
        times.append(env.now - came)

    def arrivals() -> Generator[Any, Any, None]:
        for _ in range(requests):
            yield env.timeout(draw(RATE))
            env.process(request())

    env.process(arrivals())
    env.run()
    return statistics.fmean(times)


def by_ciw(requests: int) -> float:
    """Ciw: a network of one node."""
    ciw = importlib.import_module("ciw")
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate=RATE)],
        service_distributions=[ciw.dists.Exponential(rate=SERVICE_RATE)],
        number_of_servers=[1],
    )
    ciw.seed(1)
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(requests, method="Finish")
    return statistics.fmean(r.exit_date - r.arrival_date for r in simulation.get_all_records())


def by_salabim(requests: int) -> float:
    """salabim: a component for each request, with generators."""
    sim = importlib.import_module("salabim")
    sim.yieldless(False)
    draw = random.Random(1).expovariate
    env = sim.Environment(trace=False)
    server = sim.Resource("server", capacity=1, env=env)
    times: list[float] = []

    def process(self: Any) -> Generator[Any, Any, None]:
        came = env.now()
        yield self.request(server)
        yield self.hold(draw(SERVICE_RATE))
        self.release(server)
        times.append(env.now() - came)

    def arrivals(self: Any) -> Generator[Any, Any, None]:
        for _ in range(requests):
            yield self.hold(draw(RATE))
            request_class(env=env)

    request_class = type("Request", (sim.Component,), {"process": process})
    type("Source", (sim.Component,), {"process": arrivals})(env=env)
    env.run()
    return statistics.fmean(times)
