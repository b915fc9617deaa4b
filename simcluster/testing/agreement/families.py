"""Families of call graphs on which the two traffic engines are compared.

`collapse_cells` are grids of load x length of a trigger, for small and large queues and for every defence;
`latency_graphs` are stationary graphs. All are dictionaries as a spec file holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Graph = dict[str, Any]
#: Utilisations before the trigger.
LOADS = (0.2, 0.35, 0.5, 0.65)
LENGTHS = (0.1, 0.2, 0.4, 0.8)


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
            "duration": f"{seconds}s", "window": f"{int(seconds * 100)}ms", "warmup": f"{int(warmup_s * 1000)}ms",
        },
        "services": {"server": described},
        "load": {"users": {"target": "server", "open": {"rate": rate}, "call": policy}},
        "events": list(events),
    }  # fmt: skip


def slowed(at_s: float, length_s: float, service: str = "server") -> Graph:
    """A trigger: a tenth of the capacity for a while."""
    capacity = {"service": service, "factor": 0.1}
    return {"at": f"{int(at_s * 1e6)}us", "for": f"{max(1, int(length_s * 1e6))}us", "capacity": capacity}


def called(service: str, **policy: Any) -> Graph:
    """A step that calls."""
    return {"call": {"service": service, **policy}}


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


def _defended(
    call: Graph | None = None, seconds: float = 6, attempts: int = 6, **service: Any
) -> Callable[[float, float], Graph]:
    return lambda load, length: single(
        500 * load, 2, "100ms", attempts, seconds=seconds, call=call, events=[slowed(1, length)], **service
    )


#: name -> (loads, lengths of the trigger in seconds, graph of a cell).
COLLAPSE: dict[str, tuple[Sequence[float], Sequence[float], Callable[[float, float], Graph]]] = {
    "50 services a timeout, 31 attempts": (
        LOADS, (0.04, 0.07, 0.1, 0.15, 0.25),
        lambda load, length: single(1000 * load, 1, "50ms", 31, seconds=4, events=[slowed(1, length)]),
    ),
    "10 services a timeout, 5 attempts": (
        LOADS, (0.05, 0.1, 0.2, 0.4),
        lambda load, length: single(100 * load, 10, "100ms", 5, seconds=12, events=[slowed(2, length)]),
    ),
    "10 services a timeout, 3 attempts": (
        LOADS, (0.02, 0.05, 0.1, 0.2),
        lambda load, length: single(250 * load, 4, "40ms", 3, events=[slowed(2, length)]),
    ),
    "4 pods": (
        LOADS, (0.05, 0.1, 0.2, 0.4),
        lambda load, length: single(1000 * load, 4, "100ms", 8, replicas=4, seconds=6, events=[slowed(1, length)]),
    ),
    "4 workers, lognormal": (
        LOADS, LENGTHS,
        lambda load, length: single(
            200 * load, {"law": "lognormal", "mean": "20ms", "cv": 0.6}, "300ms", 5, workers=4, seconds=12,
            events=[slowed(2, length)],
        ),
    ),
    "back-off": (LOADS, LENGTHS, _defended({"retries": {"backoff": {"base": "50ms", "jitter": "full"}}}, 8)),
    "bound 60": (LOADS, LENGTHS, _defended(queue={"bound": 60})),
    "bound 40": (LOADS, LENGTHS, _defended(queue={"bound": 40})),
    "retry budget": (LOADS, LENGTHS, _defended({"retries": {"budget": {"tokens": 50, "per_success": 0.2}}}, 8)),
    "breaker": (LOADS, LENGTHS, _defended({"breaker": {"failure_ratio": 0.5, "window": "1s", "open_for": "1s"}}, 12)),
    "throttle": (LOADS, LENGTHS, _defended({"throttle": {"k": 2, "window": "2s"}}, 10)),
    "last in, first out": (LOADS, LENGTHS, _defended(queue={"bound": 5000, "discipline": "lifo"})),
    "cancellation": (LOADS, LENGTHS, _defended({"cancel": "queued"})),
    "deadline": (
        LOADS, LENGTHS,
        lambda load, length: single(
            500 * load, 2, "50ms", 12, seconds=6, call={"deadline": "200ms"}, events=[slowed(1, length)]
        ),
    ),
    "shedding": (LOADS, LENGTHS, _defended(shed={"max_queue": 30})),
    "hedging": (LOADS, LENGTHS, _defended({"hedge": {"after": "20ms"}}, attempts=3)),
    "connection pool": (LOADS, LENGTHS, _defended({"pool": {"size": 30}})),
    "closed loop": ((30, 60, 90, 120), (0.2, 0.5, 1, 2), closed),
    "three in a row": (LOADS, (0.05, 0.1, 0.2, 0.4), lambda load, length: tandem(500 * load, length)),
    "fan-out, waiting threads": (LOADS, (0.05, 0.1, 0.2, 0.4), lambda load, length: fan_out(400 * load, length)),
}  # fmt: skip


def latency_graphs() -> dict[str, Graph]:
    """Stationary graphs by name."""
    found: dict[str, Graph] = {}
    laws: dict[str, Any] = {
        "M/M/1": exponential(2), "M/D/1": "2ms", "lognormal": {"law": "lognormal", "mean": "2ms", "cv": 0.5},
    }  # fmt: skip
    for rho in (0.3, 0.5, 0.7, 0.8):
        for name, law in laws.items():
            found[f"{name} {rho}"] = single(500 * rho, law, "400ms", seconds=200, warmup_s=20)
        found[f"M/M/4 {rho}"] = single(200 * rho, 20, "2s", workers=4, seconds=300, warmup_s=30)
        for how in ("random", "round_robin", "least_requests", "two_choices"):
            found[f"4 pods {how} {rho}"] = single(
                400 * rho, 10, "2s", seconds=200, warmup_s=20, replicas=4, balancer=how
            )  # fmt: skip
    for rho in (0.4, 0.7):
        run = {"duration": "80s", "window": "4s", "warmup": "4s"}
        found[f"three in a row {rho}"] = {**tandem(500 * rho, 0.1), "events": [], "run": run}
        found[f"fan-out {rho}"] = {**fan_out(500 * rho, 0.1), "events": [], "run": run}
        found[f"bound 20 {rho}"] = single(500 * rho, 2, "400ms", seconds=80, warmup_s=8, queue={"bound": 20})
        found[f"network {rho}"] = single(
            500 * rho, 2, "400ms", seconds=80, warmup_s=8, call={"network": exponential(5)}
        )
    for size in (4, 8):
        found[f"pool {size}"] = single(
            300, 10, "400ms", seconds=80, warmup_s=8, workers=8, call={"pool": {"size": size}}
        )
    return found
