"""Bare call graphs of any size, for measurements: layers of services, every call with a timeout and four attempts.

A gateway calls the first layer, and so on down to the leaves; some services are called by two of the layer above.
Operations call one after the other, side by side, by chance, and now and then without needing the answer; some leaves
fail by themselves. Times of work follow from the calls that arrive and from a utilisation, so that graphs of all
sizes are as busy.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

from simcluster.engine.streams import Stream, Streams
from simcluster.models.traffic.graph import GraphSpec, spec_of

#: Requests a second of the users, attempts of every call, and utilisations between which services lie.
RATE, ATTEMPTS, LEAST_BUSY, MOST_BUSY = 600.0, 4, 0.3, 0.6
#: Timeouts of the calls into the lowest layer in milliseconds; each one above waits twice as long, up to a second.
SHORTEST_MS, LONGEST_MS = 50, 1000
#: Work is at most so small a part of the timeout of whoever calls.
OF_TIMEOUT = 30.0
#: Services that one calls; the share of leaves that fail by themselves, and how often.
CALLS, FAULTY, FAILURE = 3, 0.25, 1e-3
#: The trigger of a storm: this many times the requests, for so long.
SPIKE, SPIKE_S = 8.0, 3


class _Call(NamedTuple):
    service: str
    reach: float
    timeout_ms: int
    required: bool

    def described(self) -> dict[str, Any]:
        """As the language has it."""
        needed = {} if self.required else {"required": False}
        return {"service": self.service, **policy(self.timeout_ms), **needed}


def policy(timeout_ms: int) -> dict[str, Any]:
    """A timeout and all attempts."""
    return {"timeout": f"{timeout_ms}ms", "retries": {"attempts": ATTEMPTS}}


def timeout_ms(height: int) -> int:
    """How long calls wait for services that stand so many layers above the lowest."""
    return min(SHORTEST_MS << height, LONGEST_MS)


def layered_spec(services: int, *, seconds: int, storm_at: int | None = None, seed: int = 1) -> GraphSpec:
    """A graph of a gateway and layers of services below it.

    Args:
        services: how many, the gateway included.
        seconds: length of the run; a window is a second.
        storm_at: second at which a spike begins that collapses it; None: it stays calm.
        seed: of the graph.
    """
    stream = Streams(seed).stream("bench", "layered", services)
    layers = _layers(services)
    calls = _calls(layers, stream)
    flow = _flows(layers, calls)
    described = {}
    for depth, layer in enumerate(layers):
        for name in layer:
            described[name] = _service(timeout_ms(len(layers) - 1 - depth), calls[name], flow[name], stream)
    load = {"target": "s0", "open": {"rate": RATE}, "call": policy(LONGEST_MS)}
    run = {"duration": f"{seconds}s", "window": "1s", "warmup": "2s", "events": 100_000_000_000}
    spec: dict[str, Any] = {
        "name": f"layered-{services}", "run": run, "services": described, "load": {"users": load},
    }  # fmt: skip
    if storm_at is not None:
        spec["events"] = [{"at": f"{storm_at}s", "for": f"{SPIKE_S}s", "load": {"name": "users", "factor": SPIKE}}]
    return spec_of(spec)


def _layers(services: int) -> list[list[str]]:
    """Names by layer: one, 3, 9, ... and what is left in the last."""
    found: list[list[str]] = []
    first, size = 0, 1
    while first < services:
        found.append([f"s{i}" for i in range(first, min(first + size, services))])
        first, size = first + size, size * CALLS
    return found


def _calls(layers: list[list[str]], stream: Stream) -> dict[str, list[_Call]]:
    """Whom everybody calls, and how likely: a service of the layer above, and now and then a second one."""
    found: dict[str, list[_Call]] = {name: [] for layer in layers for name in layer}
    for depth, (above, below) in enumerate(pairwise(layers)):
        timeout = timeout_ms(len(layers) - 2 - depth)
        for place, name in enumerate(below):
            reach = 0.5 if place // len(above) == 1 else 1.0
            found[above[place % len(above)]].append(_Call(name, reach, timeout, place % 11 != 7))
            if place % (2 * CALLS) == 0 and len(above) > 1:
                other = above[(place + stream.integer(1, len(above) - 1)) % len(above)]
                found[other].append(_Call(name, 0.25, timeout, required=True))
    return found


def _flows(layers: list[list[str]], calls: dict[str, list[_Call]]) -> dict[str, float]:
    """Requests a second of every service while all is well."""
    found = {name: 0.0 for layer in layers for name in layer}
    found[layers[0][0]] = RATE
    for layer in layers:
        for name in layer:
            for call in calls[name]:
                found[call.service] += found[name] * call.reach
    return found


def _service(timeout: int, calls: list[_Call], flow: float, stream: Stream) -> dict[str, Any]:
    replicas, workers = stream.integer(1, 2), stream.integer(1, 4)
    work_ms = 1e3 * stream.uniform(LEAST_BUSY, MOST_BUSY) * replicas * workers / flow
    work_ms = min(work_ms, timeout / OF_TIMEOUT)
    law = {"law": "lognormal", "cv": 1.5} if stream.chance(0.25) else {"law": "exponential"}
    operation: dict[str, Any] = {"work": {**law, "mean": f"{int(1e6 * work_ms)}ns"}}
    if calls:
        operation["steps"] = _steps(calls, aside=stream.chance(0.5))
    elif stream.chance(FAULTY):
        operation["failure"] = FAILURE
    bound = int(4e3 / work_ms)  # four seconds of work for one worker
    return {
        "replicas": replicas, "workers": workers, "blocking": False, "queue": {"bound": bound},
        "operations": {"op": operation},
    }  # fmt: skip


def _steps(calls: list[_Call], *, aside: bool) -> list[dict[str, Any]]:
    """Calls of an operation: those always made side by side or one after the other, then those made by chance."""
    sure = [{"call": call.described()} for call in calls if call.reach >= 1.0]
    steps = [{"parallel": sure}] if aside and len(sure) > 1 else sure
    return steps + [
        {"choose": [{"probability": call.reach, "steps": [{"call": call.described()}]}]}
        for call in calls
        if call.reach < 1.0
    ]
