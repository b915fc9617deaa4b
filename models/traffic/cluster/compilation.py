"""An operation of the language as the cluster's traffic evaluates it: own times added up, calls in steps.

The order of work, waits and calls is forgotten: own times come first. What follows a choice or stands behind a cache is
made by a part of the requests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from simcluster.engine import MICROSECOND
from simcluster.models.traffic.cluster.operations import CallSpec, OperationSpec
from simcluster.models.traffic.graph.flat import Part, Site, flatten
from simcluster.models.traffic.graph.service import Operation

#: CPU time of an operation that says none.
LEAST_NS = MICROSECOND


def compiled(name: str, operation: Operation, speed: float, call_of: Callable[[Site], CallSpec]) -> OperationSpec:
    """The compiled form.

    Args:
        speed: by which work is divided.
        call_of: what becomes of a call or message.
    """
    flat = flatten(operation)
    works, waits = [part for part in flat.parts if part.is_work], [part for part in flat.parts if not part.is_work]
    work_ns, cpu_cv = _sum(works) if works else (LEAST_NS * speed, 1.0)
    latency_ns, latency_cv = _sum(waits) if waits else (0.0, 0.5)
    steps: dict[int, list[CallSpec]] = {}
    for site in flat.sites:
        steps.setdefault(site.unit, []).append(call_of(site))
    return OperationSpec(
        name=name,
        cpu_ns=round(work_ns / speed),
        cpu_cv=cpu_cv,
        work=works[0].law if len(works) == 1 and works[0].reach == speed == 1.0 else None,
        failure=operation.failure,
        contention_ns=int(operation.contention / speed),
        error_work=operation.error_work,
        allocation=operation.allocation,
        latency_ns=int(latency_ns),
        latency_cv=latency_cv,
        steps=tuple(tuple(step) for step in steps.values()),
    )


def _sum(parts: Sequence[Part]) -> tuple[float, float]:
    """Mean in nanoseconds and coefficient of variation of parts that follow each other."""
    if len(parts) == 1 and parts[0].reach == 1.0:
        return parts[0].law.mean_ns, math.sqrt(parts[0].law.scv)
    means = [(part.reach, part.law.mean_ns, part.law.scv) for part in parts]
    mean = math.fsum(p * m for p, m, _ in means)
    variance = math.fsum(p * m * m * (1.0 + scv) - p * p * m * m for p, m, scv in means)
    return mean, math.sqrt(max(0.0, variance)) / mean if mean > 0.0 else 0.0
