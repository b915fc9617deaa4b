"""Call graphs on which the two traffic engines are compared: dictionaries as a spec file holds them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

Graph = dict[str, Any]


def exponential(milliseconds: float) -> Graph:
    """An exponential law."""
    return {"law": "exponential", "mean": f"{int(milliseconds * 1e6)}ns"}


def single(
    rate: float, work: float | str | Graph, timeout: str | None, attempts: int = 1, *, seconds: float = 8,
    warmup_s: float = 0, call: Graph | None = None, events: Sequence[Graph] = (), **service: Any,
) -> Graph:  # fmt: skip
    """One service under an open load; its work is a law or the mean of an exponential one in milliseconds."""
    law = work if isinstance(work, (dict, str)) else exponential(work)
    policy: Graph = {"timeout": timeout} if timeout else {}
    policy.update(call or {})
    if attempts > 1:
        policy["retries"] = {"attempts": attempts, **(call or {}).get("retries", {})}
    described = {"queue": {"bound": 5000}, "operations": {"serve": {"work": law}}, **service}
    return {
        "run": {
            "duration": f"{int(seconds * 1000)}ms", "window": f"{int(seconds * 100)}ms",
            "warmup": f"{int(warmup_s * 1000)}ms",
        },
        "services": {"server": described},
        "load": {"users": {"target": "server", "open": {"rate": rate}, "call": policy}},
        "events": list(events),
    }  # fmt: skip


def slowed(at_s: float, length_s: float, service: str = "server", factor: float = 0.1) -> Graph:
    """A trigger: a part of the capacity for a while."""
    capacity = {"service": service, "factor": factor}
    return {"at": f"{int(at_s * 1e6)}us", "for": f"{max(1, int(length_s * 1e6))}us", "capacity": capacity}


def called(service: str, **policy: Any) -> Graph:
    """A step that calls."""
    return {"call": {"service": service, **policy}}


def still(graph: Graph, seconds: float) -> Graph:
    """The same graph left alone for so long, the first tenth of it not counted."""
    run = {"duration": f"{int(seconds * 1000)}ms", "window": f"{int(seconds * 50)}ms"}
    return {**graph, "events": [], "run": {**run, "warmup": f"{int(seconds * 100)}ms"}}


def tandem(rate: float, length_s: float) -> Graph:
    """Three services in a row, with retries at every layer."""
    retries = {"attempts": 3}
    free = {"blocking": False, "queue": {"bound": 5000}}
    front = {"work": exponential(3), "steps": [called("mid", timeout="120ms", retries=retries)]}
    mid = {"work": exponential(2), "steps": [called("db", timeout="50ms", retries=retries)]}
    return {
        "run": {"duration": "6s", "window": "600ms"},
        "services": {
            "front": {"workers": 4, "operations": {"get": front}, **free},
            "mid": {"workers": 2, "operations": {"do": mid}, **free},
            "db": {"queue": {"bound": 5000}, "operations": {"query": {"work": exponential(2)}}},
        },
        "load": {
            "users": {"target": "front", "open": {"rate": rate}, "call": {"timeout": "300ms", "retries": retries}}
        },
        "events": [slowed(1, length_s, "db")],
    }


def fan_out(rate: float, length_s: float) -> Graph:
    """Threads that wait for two callees side by side."""
    retries = {"attempts": 3}
    both = [called("a", timeout="60ms", retries=retries), called("b", timeout="60ms", retries=retries)]
    get = {"work": exponential(3), "steps": [{"parallel": both}]}
    return {
        "run": {"duration": "6s", "window": "600ms"},
        "services": {
            "front": {"workers": 100, "cores": 4, "queue": {"bound": 500}, "operations": {"get": get}},
            "a": {"queue": {"bound": 2000}, "operations": {"query": {"work": exponential(2)}}},
            "b": {"workers": 4, "queue": {"bound": 2000}, "operations": {"query": {"work": exponential(4)}}},
        },
        "load": {
            "users": {"target": "front", "open": {"rate": rate}, "call": {"timeout": "250ms", "retries": retries}}
        },
        "events": [slowed(1, length_s, "a")],
    }


def fork_join(arms: int, rho: float, workers: int = 1, *, same: bool = False, seconds: float = 100) -> Graph:
    """A request that asks so many servers at once and waits for all: of a service each, or all of `same` one."""
    leaf = {"workers": workers, "operations": {"get": {"work": exponential(4)}}}
    names = ["leaf"] if same else [f"leaf{i}" for i in range(arms)]
    steps = [{"parallel": [called("leaf" if same else name) for name in (names * arms)[:arms]]}]
    rate = 250 * rho * workers / (arms if same else 1)
    return {
        "run": {"duration": f"{seconds}s", "window": f"{int(seconds * 50)}ms", "warmup": f"{int(seconds * 100)}ms"},
        "services": {
            "front": {"workers": None, "operations": {"get": {"work": "10us", "steps": steps}}},
            **dict.fromkeys(names, leaf),
        },
        "load": {"users": {"target": "front", "open": {"rate": rate}}},
    }  # fmt: skip


def closed(users: float, length_s: float) -> Graph:
    """Users who wait for their answers."""
    graph = single(1, 5, "200ms", 4, seconds=16, events=[slowed(2, length_s)])
    call = graph["load"]["users"]["call"]
    graph["load"]["users"] = {
        "target": "server",
        "closed": {"users": int(users), "think": exponential(500)},
        "call": call,
    }
    return graph


def drawn(number: int, services: int, rho: float, length_s: float = 0.0, *, seconds: float = 60) -> Graph:
    """A graph of so many services drawn from a number: layers, errors, optional calls, calls side by side.

    Args:
        rho: utilisation of the busiest service; the others have between half of it and all.
        length_s: how long the busiest one is slowed down; 0: not at all, and the run is stationary.
    """
    chance = random.Random(number)
    layers: list[list[str]] = [[f"s{i}" for i in range(services)][low::4] for low in range(4)]
    visits = dict.fromkeys((name for layer in layers for name in layer), 0.0)
    visits[layers[0][0]] = 1.0
    made: Graph = {}
    for depth, layer in enumerate(layers):
        for name in layer:
            made[name] = _operation(chance, layers[depth + 1] if depth < 3 else [], depth, visits[name], visits)
    root = layers[0][0]
    rate = 200.0
    for name, operation in made.items():
        workers = chance.choice((1, 1, 2, 4))
        load = rho * chance.uniform(0.5, 1.0)
        mean = 1000.0 * load * workers / (rate * max(visits[name], 0.05))
        law = chance.choice(("exponential", "lognormal", "exponential"))
        work = {"law": law, "mean": f"{int(min(mean, 30.0) * 1e6)}ns", **({"cv": 0.7} if law == "lognormal" else {})}
        operation["work"] = work
        made[name] = {"workers": workers, "blocking": False, "operations": {"do": operation}}
    graph = {
        "services": {name: one for name, one in made.items() if visits[name] > 0.0},
        "load": {"users": {"target": root, "open": {"rate": rate}, "call": {"timeout": "2s"}}},
    }
    if length_s <= 0.0:
        return still(graph, seconds)
    slow = max((name for name in visits if visits[name] > 0.0 and name != root), key=visits.__getitem__)
    return {**graph, "run": {"duration": "10s", "window": "1s"}, "events": [slowed(2, length_s, slow)]}


def _operation(chance: random.Random, below: list[str], depth: int, here: float, visits: dict[str, float]) -> Graph:
    """The calls of one operation, and how often its callees are visited by them."""
    steps: list[Graph] = []
    calls = []
    for name in chance.sample(below, min(len(below), chance.choice((1, 2, 2, 3)))) if here > 0.0 else []:
        policy: Graph = {"timeout": f"{600 >> depth}ms", "retries": {"attempts": chance.choice((1, 2, 3))}}
        if chance.random() < 0.3:
            policy["required"] = False
        part = chance.choice((1.0, 1.0, 0.5))
        visits[name] += here * part
        one = called(name, **policy)
        calls.append({"choose": [{"probability": part, "steps": [one]}]} if part < 1.0 else one)
    if len(calls) > 1 and chance.random() < 0.4:
        steps.append({"parallel": calls})
    else:
        steps += calls
    return {"steps": steps, **({"failure": 0.01} if chance.random() < 0.3 else {})}
