"""What one engine cannot run: refused before it begins, with the place and a way out."""

from __future__ import annotations

import math
from pathlib import Path

from simcluster.engine.content import ContentError, read_document
from simcluster.models.traffic.aggregate.countable import check_countable
from simcluster.models.traffic.graph.load import Load
from simcluster.models.traffic.graph.spec import GraphSpec

#: `exact` gives every request its events, a few microseconds each: more would take hours.
EXACT_REQUESTS = 500_000_000


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
    try:
        check_countable(spec)
    except ContentError as error:
        place, _, reason = error.problem.partition(": ")
        line = read_document(path, words=True).line(tuple(place.split(".")))
        raise ContentError(path, line, f"{place}: {reason}") from None


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
