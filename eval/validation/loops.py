"""Rows G1 and C1: loops without retries: garbage collection, and a cold cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from simcluster.eval.validation import theory
from simcluster.eval.validation.context import Context
from simcluster.eval.validation.finding import Estimate, estimate
from simcluster.eval.validation.row import Row
from simcluster.eval.validation.storms import timed
from simcluster.models.traffic.graph.result import ServiceWindow


def collector_graph() -> dict[str, Any]:
    """OSDI'22, section 5.1: 100 threads, jobs of about 1 MB that sleep 100 ms, a heap of 256 MB.

    What lives besides jobs, the collector's cost for a live byte and the size of a waiting job
    are fitted to the paper's 600 and 900 ms of collection a second; everything else follows.
    """
    heap = {
        "size": "256Mi", "base": "42Mi", "running": "512Ki", "waiting": 230, "allocation": "1Mi",
        "pause_per_byte": 8.6,
    }  # fmt: skip
    operation = {"steps": [{"wait": "100ms"}]}
    stages = [{"for": "240s", "rate": rate} for rate in (220, 280, 220, 180, 140)]
    return {
        "run": timed(1200, "10s"),
        "services": {"jvm": {"workers": 100, "heap": heap, "operations": {"job": operation}}},
        "load": {"users": {"target": "jvm", "open": {"stages": stages}}},
    }


def _queue(rows: Sequence[ServiceWindow], second: int) -> float:
    return float(rows[second // 10 - 1].queue_end)


def g1(context: Context) -> None:
    """More waiting jobs, more live bytes, more collection, less capacity."""
    found = context.copies(collector_graph(), context.size(8, 8 if context.engine == "aggregate" else 4))

    def over(value: Callable[[Sequence[ServiceWindow]], float]) -> Estimate:
        # The median: 220/s is near the edge, and some runs tip there.
        values = [value(rows) for rows in found.rows]
        return Estimate(median(values), 1.25 * estimate(values).half)

    def grown(begin: int, end: int) -> Estimate:
        return Estimate(median(_queue(rows, end) - _queue(rows, begin) for rows in found.rows), 0.0)

    def paused(begin: int, end: int) -> Estimate:
        return over(lambda rows: sum(row.pause_ns for row in rows[begin // 10 : end // 10]) / 1e9 / (end - begin))

    context.note("queue at the end of 220/s", 200.0, median(_queue(rows, 240) for rows in found.rows), 0.0, "above")
    context.note("collection, seconds a second, at 220/s", 0.6, paused(60, 240), 0.05, unmet=_FITTED)
    context.note("queue grows at 280/s", 1000.0, grown(240, 480), 0.0, "below")
    context.note("and keeps growing back at 220/s", 5000.0, grown(480, 720), 0.0, "below")
    context.note("and at 180/s", 2000.0, grown(720, 960), 0.0, "below")
    last = over(lambda rows: _queue(rows, 1200))
    context.note("queue at the end", 57_000.0, last, 2_000.0, unmet=_FITTED)
    capacity = over(lambda rows: sum(row.served for row in rows[96:120]) / 240.0)
    context.note("collapsed capacity, jobs/s", 147.5, capacity, 2.5)
    context.note("collection, seconds a second, collapsed", 0.9, paused(720, 1200), 0.05)


_FITTED = (
    "not a model of one collector: with three fitted parameters capacity falls in minutes, not at once, "
    "so that the queue ends shorter (it would need the collapsed capacity from the first second of 280/s on)"
)


def cold_graph(cap: int) -> dict[str, Any]:
    """Brooker's cache_sim: Zipf 1.3, LRU of 1000, 1000 requests a second, flushed at 4 s."""
    cache = {"keys": 200_000, "exponent": 1.3, "capacity": 1000}
    step = {"cached": {"cache": "items", "miss": [{"call": {"service": "backend"}}]}}
    backend = {"workers": None, "rate_limit": {"rate": cap, "burst": cap}, "operations": {"get": {"work": "10ms"}}}
    return {
        "run": timed(28, "1s"),
        "services": {
            "app": {"workers": None, "caches": {"items": cache}, "operations": {"read": {"steps": [step]}}},
            "backend": backend,
        },
        "load": {"users": {"target": "app", "open": {"rate": 1000, "arrivals": "even"}}},
        "events": [{"at": "4s", "flush": {"service": "app", "cache": "items"}}],
    }


def c1(context: Context) -> None:
    """After a flush the hit rate comes back the slower the less the backend takes."""
    raw = [k**-1.3 for k in range(1, 20_001)]
    whole = sum(raw) + 20_000.0**-0.3 / 0.3 - 200_000.0**-0.3 / 0.3  # the rarer items never come back in time
    weights = [w / whole for w in raw]
    times = []
    count = context.size(8, 3) if context.engine == "exact" else 1  # counts of even arrivals have no chance in them
    for cap in (5, 10, 20, 100):
        runs = [run.services["app"] for run in context.runs(cold_graph(cap), count)]
        shares = [sum(row.hits for row in rows[22:26]) / sum(row.lookups for row in rows[22:26]) for rows in runs]
        expected = theory.cold_cache(weights, 1000.0, cap, 20.0, 0.1)
        context.note(f"hit rate 20 s after the flush, backend of {cap}/s", expected,
                     estimate(shares), 0.01, unmet=_MEAN_FIELD if cap == 100 else "")  # fmt: skip
        times.append(median(_reached(rows) for rows in runs))
    ordered = all(slow > fast for slow, fast in pairwise(times))
    context.note("time to 60 % falls with the cap of the backend", 1.0, float(ordered), 0.0)


_MEAN_FIELD = "the mean-field equation has room for all that comes back; the cache of 1000 is full again and evicts"


def _reached(rows: Sequence[ServiceWindow]) -> int:
    """Seconds from the flush to a hit rate of 60 %."""
    found = [index - 4 for index, row in enumerate(rows) if index >= 4 and row.hits > 0.6 * row.lookups]
    return found[0] if found else 60


#: G1, C1.
ROWS: dict[str, Row] = {
    "G1": Row(
        "OSDI'22 garbage collection",
        "Huang et al., OSDI 2022, section 5.1, figure 4a and their repository",
        "half of the last digit that the figure shows; medians, for 220/s is near the edge and some runs tip there",
        g1,
    ),
    "C1": Row(
        "cold cache",
        "M. Brooker, simulator_example/cache_sim; hit rates from the mean-field equation in `theory.cold_cache`",
        "1 point of the hit rate beyond the interval: the equation leaves out that items come back one by one",
        c1,
    ),
}
