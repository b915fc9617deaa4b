"""What counts cannot tell: parts of the language that this engine refuses, with place and reason."""

from __future__ import annotations

from pathlib import Path

from simcluster.engine.content import ContentError
from simcluster.models.traffic.aggregate.priorities import split_services
from simcluster.models.traffic.graph.spec import GraphSpec


def check_countable(spec: GraphSpec) -> None:
    """Refuse what only `exact` can run.

    Raises:
        ContentError: naming the part of the spec and the reason.
    """
    for name in split_services(spec):
        service = spec.services[name]
        for key, given in (("caches", service.caches), ("heap", service.heap), ("rate_limit", service.rate_limit)):
            if given:
                _refuse(f"services.{name}.{key}", "not counted beside a queue of several priorities")


def _refuse(place: str, reason: str) -> None:
    raise ContentError(Path("aggregate"), 0, f"{place}: {reason}; run it with --engine exact")
