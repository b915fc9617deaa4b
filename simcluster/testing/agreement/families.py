"""Families of policies, and the cells of each: what both engines are asked.

A cell is one graph. Of a *collapse* cell the share of runs that collapse after a trigger is compared, of a
*stationary* cell latencies, attempts and failures.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from simcluster.testing.agreement.graphs import (
    Graph,
    called,
    closed,
    drawn,
    exponential,
    fan_out,
    fork_join,
    single,
    slowed,
    still,
    tandem,
)

#: Utilisations and lengths of triggers between which the edge of collapse lies; those near saturation; both.
LOADS, LENGTHS = (0.35, 0.5, 0.65), (0.05, 0.1, 0.2, 0.4)
HIGH, LONG = (0.8, 0.9), (0.3, 0.6, 1.0, 2.0)


@dataclass(frozen=True)
class Cell:
    """One graph, and whether it is asked for collapse or for what it does all the time."""

    name: str
    graph: Graph
    collapse: bool = True


def _grid(
    loads: Sequence[float], lengths: Sequence[float], graph: Callable[[float, float], Graph], what: str = ""
) -> list[Cell]:
    return [Cell(f"{what}load {load:g}, {length:g} s", graph(load, length)) for load in loads for length in lengths]


def _stationary(loads: Sequence[float], graph: Callable[[float], Graph], what: str) -> list[Cell]:
    return [Cell(f"{what} {load:g}", graph(load), collapse=False) for load in loads]


def _defended(
    call: Graph | None = None, seconds: float = 8, attempts: int = 6, timeout: str = "100ms", **service: Any
) -> Callable[[float, float], Graph]:
    """One server of 2 ms whose callers try again; `call` and the service say how it is defended."""
    return lambda load, length: single(
        500 * load, 2, timeout, attempts, seconds=seconds, call=call, events=[slowed(1, length)], **service
    )


def _plain(load: float, length: float) -> Graph:
    return single(100 * load, 10, "100ms", 5, seconds=12, events=[slowed(2, length)])


def _large(load: float, length: float) -> Graph:
    return single(1000 * load, 1, "50ms", 31, seconds=4, events=[slowed(1, length)])


def _small(load: float, length: float) -> Graph:
    return single(250 * load, 4, "40ms", 3, events=[slowed(2, length)])


def retries() -> list[Cell]:
    """Nothing but timeouts and retries: large queues and small ones."""
    return [
        *_grid((0.35, 0.65), (0.04, 0.07, 0.1, 0.15), _large, "50 services a timeout, "),
        *_grid((0.3, 0.4), LENGTHS, _plain, "10 services a timeout, "),
        *_grid((0.35, 0.5), (0.02, 0.05, 0.1), _small, "3 attempts, "),
    ]


def backoff() -> list[Cell]:
    """Back-off with and without jitter, and budgets."""
    jitter = _defended({"retries": {"backoff": {"base": "50ms", "jitter": "full"}}})
    budget = _defended({"retries": {"budget": {"tokens": 50, "per_success": 0.2}}})
    cells = _grid((0.5, 0.65, 0.8), (0.1, 0.2, 0.3, 0.5), jitter, "back-off, ")
    return cells + _grid((0.65, 0.85), (0.2, 0.4, 1.0), budget, "budget, ")


def bounds() -> list[Cell]:
    """Bounded queues and shedding."""
    cells = _grid((0.5, 0.8), (0.2, 1.0), _defended(queue={"bound": 60}), "bound 60, ")
    cells += _grid((0.65, 0.8), (0.2, 1.0), _defended(queue={"bound": 45}), "bound 45, ")
    return cells + _grid((0.65, 0.9), (0.4, 1.0), _defended(shed={"max_queue": 30}), "shedding, ")


def cancellation() -> list[Cell]:
    """Callers that take back what still waits."""
    cells = _grid(HIGH, LONG, _defended({"cancel": "queued"}))
    cells += _grid((0.65,), (0.4, 1.0), _defended({"cancel": "queued"}))
    return cells + _grid(
        (0.85,), (0.3, 1.0), _defended({"cancel": "queued"}, attempts=3, timeout="60ms"), "3 attempts, "
    )


def deadlines() -> list[Cell]:
    """Deadlines that travel with the request, and deadlines of calls."""
    cells = _grid(HIGH, LONG, _defended({"propagate": True}))
    cells += _grid((0.65,), (0.4, 1.0), _defended({"propagate": True}))
    of_call = _defended({"deadline": "200ms"}, attempts=12, timeout="50ms")
    return cells + _grid((0.5, 0.8), (0.05, 0.2), of_call, "of the call, ")


def last_first() -> list[Cell]:
    """Last come, first served, with retries."""
    lifo = {"bound": 5000, "discipline": "lifo"}
    cells = _grid((0.5, 0.8), (0.2, 0.6, 1.0), _defended(queue=lifo))
    for attempts in (2, 6):
        for law, what in ((exponential(2), ""), ("2ms", "equal services, ")):
            graph = functools.partial(_lifo, attempts=attempts, law=law)
            cells += _stationary((0.7, 0.9, 1.1), graph, f"{what}{attempts} attempts,")
    return cells


def _lifo(rho: float, attempts: int, law: Graph | str) -> Graph:
    lifo = {"bound": 500, "discipline": "lifo"}
    return single(500 * rho, law, "200ms", attempts, seconds=40, warmup_s=8, queue=lifo)


def guards() -> list[Cell]:
    """Breakers and throttles of callers."""
    breaker = _defended({"breaker": {"failure_ratio": 0.5, "window": "1s", "open_for": "1s"}}, 12)
    throttle = _defended({"throttle": {"k": 2, "window": "2s"}}, 10)
    cells = _grid((0.5, 0.8), (0.2, 0.5), breaker, "breaker, ")
    return cells + _grid((0.5, 0.8), (0.2, 0.5), throttle, "throttle, ")


def hedges_and_pools() -> list[Cell]:
    """Hedges, pools of connections, users who wait."""
    cells = _grid((0.35, 0.5), (0.1, 0.3), _defended({"hedge": {"after": "20ms"}}, attempts=3), "hedge, ")
    cells += _grid((0.5, 0.7), (0.1, 0.3), _defended({"pool": {"size": 30}}), "pool, ")
    return cells + _grid((60, 120), (0.5, 2), closed, "closed, ")


def _pods(load: float, length: float) -> Graph:
    return single(1000 * load, 4, "100ms", 8, replicas=4, seconds=6, events=[slowed(1, length)])


def _workers(load: float, length: float) -> Graph:
    law = {"law": "lognormal", "mean": "20ms", "cv": 0.6}
    return single(200 * load, law, "300ms", 5, workers=4, seconds=12, events=[slowed(2, length)])


def replicas() -> list[Cell]:
    """Several pods behind a balancer, several workers, one speed that changes: collapse and latency."""
    cells = _grid((0.35, 0.5), (0.1, 0.2), _pods, "4 pods, ") + _grid((0.5, 0.65), (0.2, 0.4), _workers, "4 workers, ")
    for how in ("random", "round_robin", "least_requests", "two_choices"):
        graph = functools.partial(_balanced, how=how)
        cells += _stationary((0.6, 0.9), graph, f"4 pods {how}")
    return cells


def _balanced(rho: float, how: str) -> Graph:
    return single(400 * rho, 10, "3s", seconds=300, warmup_s=30, replicas=4, balancer=how)


def queues() -> list[Cell]:
    """Ordinary queues up to saturation."""
    cells = []
    laws: dict[str, Graph | str] = {
        "M/M/1": exponential(2), "M/D/1": "2ms", "lognormal": {"law": "lognormal", "mean": "2ms", "cv": 0.5},
        "hyperexponential": {"law": "hyperexponential", "mean": "2ms", "cv": 2},
    }  # fmt: skip
    for name, law in laws.items():
        cells += _stationary((0.5, 0.8, 0.9), functools.partial(_queue, law=law, workers=1), name)
    cells += _stationary((0.8, 0.95), functools.partial(_queue, law=exponential(8), workers=4), "M/M/4")
    return cells


def _queue(rho: float, law: Graph | str, workers: int) -> Graph:
    return single(500 * rho, law, "10s", seconds=400, warmup_s=40, workers=workers)


def loss() -> list[Cell]:
    """Loss systems: few places to wait, or none."""
    cells = []
    for workers, places in ((1, 0), (4, 0), (20, 0), (1, 3), (1, 9), (4, 6)):
        graph = functools.partial(_lossy, workers=workers, places=places, law=exponential(10))
        cells += _stationary((0.6, 0.9, 1.2), graph, f"M/M/{workers}/{workers + places}")
    cells += _stationary((0.9,), functools.partial(_lossy, workers=4, places=0, law="10ms"), "M/D/4/4")
    return cells


def _lossy(rho: float, workers: int, places: int, law: Graph | str) -> Graph:
    rate = 100 * rho * workers
    return single(
        rate, law, "5s", seconds=40_000 / rate, warmup_s=4_000 / rate, workers=workers, queue={"bound": places}
    )


def forks() -> list[Cell]:
    """Calls side by side."""
    cells = []
    for arms in (2, 5, 10):
        cells += _stationary((0.5, 0.8), functools.partial(fork_join, arms), f"{arms} arms")
    for arms in (2, 6):
        cells += _stationary((0.5, 0.8), functools.partial(fork_join, arms, same=True, workers=4), f"{arms} of one")
    return cells + _grid((0.5,), (0.1, 0.2, 0.4), lambda load, length: fan_out(400 * load, length), "waiting threads, ")


def networks() -> list[Cell]:
    """Ways on which packets take long now and then, and processors of which others take a part."""
    cells = []
    for lost in (0.0, 0.001, 0.01):
        cells += _stationary((0.3, 0.7), functools.partial(_far, lost=lost), f"loss {lost:g},")
    for share in (0.5, 0.15):
        cells += _stationary((0.1, 0.7), functools.partial(_stolen, share=share), f"{share:g} of a processor,")
    return cells + _stationary((0.5,), functools.partial(_chain, hops=5), "chain of 5")


def _far(rho: float, lost: float) -> Graph:
    """A way of half a millisecond; a lost packet comes after the retransmission timer of 200 ms."""
    branches = [{"probability": 1 - lost, "mean": "500us"}]
    branches += [{"probability": lost, "mean": "200ms"}] if lost else []
    law = {"law": "hyperexponential", "branches": branches} if lost else exponential(0.5)
    return single(500 * rho, 2, "3s", 3, seconds=200, warmup_s=20, call={"network": law})


def _stolen(rho: float, share: float) -> Graph:
    return single(1000 * rho * share, 1, "3s", 3, seconds=200, warmup_s=20, speed=share)


def _chain(rho: float, hops: int) -> Graph:
    names = [f"s{i}" for i in range(hops)]
    services = {
        name: {
            "blocking": False,
            "operations": {"do": {"work": exponential(2), "steps": [called(names[i + 1])] if i + 1 < hops else []}},
        }
        for i, name in enumerate(names)
    }
    load = {"users": {"target": "s0", "open": {"rate": 500 * rho}, "call": {"timeout": "3s"}}}
    return still({"services": services, "load": load}, 150)


def chains() -> list[Cell]:
    """Services that call each other, with retries at every layer."""
    cells = _grid((0.35, 0.5, 0.65), (0.1, 0.2, 0.4), lambda load, length: tandem(500 * load, length))
    return cells + _stationary((0.4, 0.6), lambda load: still(tandem(500 * load, 0.1), 100), "left alone")


def graphs_of_24() -> list[Cell]:
    """Graphs of 24 services with errors and optional calls, left alone."""
    return [
        Cell(f"graph {number}, {rho:g}", drawn(number, 24, rho), collapse=False)
        for number in (1, 2, 3, 4) for rho in (0.5, 0.8)
    ]  # fmt: skip


def random_graphs() -> list[Cell]:
    """Graphs of 10 to 40 services, slowed down or left alone."""
    sizes = {11: 10, 12: 18, 13: 26, 14: 33, 15: 40}
    cells = [
        Cell(f"{size} services, {rho:g}, {length:g} s", drawn(number, size, rho, length))
        for number, size in sizes.items() for rho, length in ((0.6, 0.3), (0.7, 1.0))
    ]  # fmt: skip
    return cells + [
        Cell(f"{size} services, {rho:g}", drawn(number, size, rho), collapse=False)
        for number, size in sizes.items() for rho in (0.6,)
    ]  # fmt: skip


#: name -> its cells.
FAMILIES: dict[str, Callable[[], list[Cell]]] = {
    "retries": retries, "back-off and budgets": backoff, "bounds and shedding": bounds,
    "cancellation": cancellation, "deadlines": deadlines, "last in, first out": last_first,
    "breakers and throttles": guards, "hedges, pools, closed loops": hedges_and_pools,
    "pods and workers": replicas, "queues": queues, "loss systems": loss, "fork-join": forks,
    "networks and processors": networks, "chains": chains, "graphs of 24 services": graphs_of_24,
    "random graphs": random_graphs,
}  # fmt: skip
