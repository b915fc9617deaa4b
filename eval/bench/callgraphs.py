"""Measures what bare call graphs cost: calm ones, and ones that collapse while it is measured.

The graphs are `layered`; the storm's spike, its growth and what stands afterwards are all inside. CPU time counts; what
numba compiles, or loads, is left out by a run before.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable

from simcluster.eval.bench.bench import Measurement
from simcluster.eval.bench.layered import layered_spec
from simcluster.models.traffic.aggregate import AggregateRun, fast
from simcluster.models.traffic.graph.spec import GraphSpec

#: Services of a graph, and what is wanted of it with the accelerator: simulated seconds a second, calm and in a storm.
WANTED = {52: (1000.0, 300.0), 137: (400.0, 100.0), 494: (100.0, 30.0)}
#: Length of a run, when the spike of a storm begins, and repeats.
SECONDS, STORM_AT_S, REPEATS = 60, 5, 3


def measure_callgraphs(tell: Callable[[str], None]) -> list[Measurement]:
    """Speeds of graphs of all sizes; without the accelerator nothing is promised."""
    found = []
    _speed(layered_spec(min(WANTED), seconds=4))
    for services, wanted in WANTED.items():
        for what, least, at in zip(("calm", "in a storm"), wanted, (None, STORM_AT_S), strict=True):
            tell(f"a call graph of {services} services, {what}")
            spec = layered_spec(services, seconds=SECONDS, storm_at=at)
            speeds = tuple(round(_speed(spec), 1) for _ in range(REPEATS))
            median = statistics.median(speeds)
            bound = f">= {least:g}" if fast.kernels() is not None else ""
            name = f"call graph of {services} services, {what}"
            found.append(Measurement(name, "simulated s / s", median, speeds, bound, not bound or median >= least))
    return found


def _speed(spec: GraphSpec) -> float:
    """Simulated seconds a second of CPU, result included."""
    run = AggregateRun(spec, 1)
    gc.collect()
    began = time.process_time()
    run.run()
    return spec.run.duration / 1e9 / (time.process_time() - began)
