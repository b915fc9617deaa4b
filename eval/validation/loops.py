"""Rows G1 and C1: loops without retries: garbage collection, and a cold cache."""

from __future__ import annotations

from itertools import pairwise
from statistics import median
from typing import Any

from simcluster.eval.validation import theory
from simcluster.eval.validation.context import Context
from simcluster.eval.validation.row import Row
from simcluster.eval.validation.storms import goodput, timed
from simcluster.models.traffic.graph import Result


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


def _queue(run: Result, second: int) -> float:
    return float(run.services["jvm"][second // 10 - 1].queue_end)


def _paused(run: Result, begin: int, end: int) -> float:
    rows = run.services["jvm"][begin // 10 : end // 10]
    return sum(row.pause_ns for row in rows) / 1e9 / (end - begin)


def g1(context: Context) -> None:
    """More waiting jobs, more live bytes, more collection, less capacity."""
    runs = context.runs(collector_graph(), context.size(5, 3))

    def queue(second: int) -> float:
        return median(_queue(run, second) for run in runs)

    def paused(begin: int, end: int) -> float:
        return median(_paused(run, begin, end) for run in runs)

    context.note("queue at the end of 220/s", 0.0, queue(240), 200.0)
    context.note("collection, seconds a second, at 220/s", 0.6, paused(60, 240), 0.12)
    context.note("queue grows at 280/s", 1000.0, queue(480), 0.0, "below")
    context.note("and keeps growing back at 220/s", 5000.0, queue(720) - queue(480), 0.0, "below")
    context.note("and at 180/s", 2000.0, queue(960) - queue(720), 0.0, "below")
    context.note("queue at the end", 57_000.0, queue(1200), 19_000.0)
    capacity = median(goodput(run, 960, 1200) for run in runs)
    context.note("collapsed capacity, jobs/s", 147.0, capacity, 15.0)
    context.note("collection, seconds a second, collapsed", 0.9, paused(720, 1200), 0.06)


def cold_graph(cap: int) -> dict[str, Any]:
    """Brooker's cache_sim: Zipf 1.3, LRU of 1000, 1000 requests a second, flushed at 4 s."""
    cache = {"keys": 200_000, "exponent": 1.3, "capacity": 1000}
    step = {"cached": {"cache": "items", "miss": [{"call": {"service": "backend"}}]}}
    backend = {"workers": None, "rate_limit": {"rate": cap, "burst": cap}, "operations": {"get": {"work": "10ms"}}}
    return {
        "run": timed(64, "1s"),
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
    for cap in (5, 10, 20, 100):
        run = context.run(cold_graph(cap))
        rows = run.services["app"]
        rate = sum(row.hits for row in rows[22:26]) / sum(row.lookups for row in rows[22:26])
        # LRU pushes items out again only where 1000 fit no more: not within 20 s but at 100 a second.
        expected = theory.cold_cache(weights, 1000.0, cap, 20.0, 0.1)
        context.note(f"hit rate 20 s after the flush, backend of {cap}/s", expected, rate, 0.03 if cap < 100 else 0.06)
        reached = [index - 4 for index, row in enumerate(rows) if index >= 4 and row.hits > 0.6 * row.lookups]
        times.append(reached[0] if reached else 60)
    ordered = all(slow > fast for slow, fast in pairwise(times))
    context.note(f"time to 60 % falls with the cap ({' > '.join(map(str, times))} s)", 1.0, float(ordered), 0.0)


#: G1, C1.
ROWS: dict[str, Row] = {
    "G1": Row(
        "OSDI'22 garbage collection",
        "Huang et al., OSDI 2022, section 5.1, figure 4a and their repository",
        "20 % on the healthy collector, 10 % on the collapsed capacity, a third on the final queue: "
        "three parameters are fitted, the rest is shape; medians, for 220/s is near the edge and some runs tip there",
        g1,
    ),
    "C1": Row(
        "cold cache",
        "M. Brooker, simulator_example/cache_sim; hit rates from the mean-field equation in `theory.cold_cache`",
        "3 points of the hit rate (the cache in one run is random), 6 where the cache fills up",
        c1,
    ),
}
