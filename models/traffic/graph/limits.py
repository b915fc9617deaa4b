"""What one engine cannot run: refused before it begins, with the place and a way out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from simcluster.engine.content import ContentError
from simcluster.models.traffic.graph.load import Load
from simcluster.models.traffic.graph.policy import Policy
from simcluster.models.traffic.graph.spec import GraphSpec, walk

#: `exact` gives every request its events, a few microseconds each: more would take hours.
EXACT_REQUESTS = 500_000_000
#: What `aggregate` has no counts for.
_NOT_COUNTED = ("patience", "hedge")


def refuse_for(engine: str, spec: GraphSpec, path: Path) -> None:
    """Raise ContentError for a graph that the engine (`exact` or `aggregate`) cannot run."""
    if engine == "exact":
        requests = math.fsum(expected_requests(load, spec.run.duration) for load in spec.load.values())
        if requests > EXACT_REQUESTS:
            raise ContentError(
                path, 1, f"load: about {requests:.2g} requests, and exact makes events for each of at most "
                f"{EXACT_REQUESTS:.0e}; lower the rate, shorten run.duration, or use --engine aggregate",
            )  # fmt: skip
        return
    for place, policy in policies(spec):
        for key in _NOT_COUNTED:
            if getattr(policy, key) is not None:
                raise ContentError(path, 1, f"{place}.{key}: aggregate does not count it; use --engine exact")


def expected_requests(load: Load, duration_ns: int) -> float:
    """How many requests an open load makes in a run, about; of other loads only what is sure (0)."""
    if load.open is None:
        return 0.0
    steps = 200
    mean = math.fsum(load.rate_at((2 * k + 1) * duration_ns // (2 * steps)) for k in range(steps)) / steps
    burst = load.open.burst
    if burst is not None:
        mean *= (burst.factor * burst.on + burst.off) / (burst.on + burst.off)
    return mean * duration_ns / 1e9


def policies(spec: GraphSpec) -> Iterator[tuple[str, Policy]]:
    """All policies of callers, each with its place in the file."""
    for name, load in spec.load.items():
        yield f"load.{name}.call", load.call
    for name, service in spec.services.items():
        for operation, one in service.operations.items():
            for where, step in walk(one.steps, ("services", name, "operations", operation, "steps")):
                if step.call is not None:
                    yield ".".join(str(part) for part in (*where, "call")), step.call
