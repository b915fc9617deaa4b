"""Rows R1-R8: overload that keeps itself alive by time-outs and retries, and what decides whether it does."""

from __future__ import annotations

from statistics import median
from typing import Any

from simcluster.eval.validation.context import Context
from simcluster.eval.validation.finding import Estimate, against_share, estimate
from simcluster.eval.validation.row import Row
from simcluster.models.traffic.graph import Result

SECOND = 1_000_000_000


def goodput(run: Result, begin_s: float, end_s: float, load: str = "users") -> float:
    """Requests that succeed, a second."""
    return run.between(load, round(begin_s * SECOND), round(end_s * SECOND)).ok / (end_s - begin_s)


def attempts(run: Result, begin_s: float, end_s: float, load: str = "users") -> float:
    """Attempts a second."""
    return run.between(load, round(begin_s * SECOND), round(end_s * SECOND)).attempts / (end_s - begin_s)


def share(run: Result, begin_s: float, end_s: float, load: str = "users") -> float:
    """Requests that succeed of those that begin."""
    window = run.between(load, round(begin_s * SECOND), round(end_s * SECOND))
    return window.ok / window.arrivals


def service(mu: float, **more: Any) -> dict[str, Any]:
    """One service of one worker with exponential service, `mu` a second."""
    return {"api": {"operations": {"serve": {"work": {"law": "exponential", "mean": f"{1e9 / mu:.0f}ns"}}}, **more}}


def users(rate: float, timeout: str, tries: int, **call: Any) -> dict[str, Any]:
    """Poisson arrivals with time-out and retries at once."""
    retries = {"retries": {"attempts": tries}} if tries > 1 else {}
    return {"users": {"target": "api", "open": {"rate": rate}, "call": {"timeout": timeout, **retries, **call}}}


def timed(seconds: float, window: str) -> dict[str, Any]:
    """A run without warm-up."""
    return {"duration": f"{seconds:g}s", "window": window}


# R1: Bronson et al. 2021, section 2.1


def _outage(rate: float, later: float | None = None) -> dict[str, Any]:
    events: list[dict[str, Any]] = [{"at": "60s", "for": "10s", "outage": {"from": "users", "to": "api"}}]
    if later is not None:
        events.append({"at": "90s", "rate": {"name": "users", "rate": later}})
    return {
        "run": timed(600 if later is not None else 400, "5s"),
        "services": service(300.0),
        "load": users(rate, "1s", 2),
        "events": events,
    }


def r1(context: Context) -> None:
    """A network outage of 10 s between application and database at 280 of 300 queries a second."""
    count = context.size(4, 1)
    runs = context.runs(_outage(280.0), count)
    before = estimate([share(run, 20, 60) for run in runs])
    context.note("share served before the outage, lambda=280", 1.0, before, 0.02, "strict")
    held = estimate([attempts(run, 150, 400) for run in runs])
    context.note("attempts a second after it (2 x 280)", 560.0, held, 11.0)
    context.note("share served after it", 0.0, estimate([share(run, 100, 400) for run in runs]), 0.01, "strict")
    runs = context.runs(_outage(130.0), count)
    stable = estimate([share(run, 300, 400) for run in runs])
    context.note("share served after it, lambda=130 (stable: below 300/2)", 1.0, stable, 0.02, "strict")
    for later, expected in ((200.0, 0.0), (100.0, 1.0)):
        runs = context.runs(_outage(280.0, later), count)
        served = estimate([share(run, 500, 600) for run in runs])
        context.note(f"share served after shedding to {later:g}/s", expected, served, 0.02, "strict")


# R2: Bronson et al. 2021, section 2.2


def _cached(rate: float, flush: bool, fill: str = "success") -> dict[str, Any]:
    # 90 % of look-ups hit: uniform popularity, room for nine tenths of the keys.
    cache = {"keys": 3000, "popularity": "uniform", "capacity": 2700, "eviction": "random", "fill": fill}
    miss = [{"call": {"service": "db", "timeout": "1s"}}]
    step = {"cached": {"cache": "items", "miss": miss}}
    query = {"work": {"law": "exponential", "mean": "3333us"}}
    graph: dict[str, Any] = {
        "run": timed(60, "2s"),
        "services": {
            "app": {"workers": None, "caches": {"items": cache}, "operations": {"read": {"steps": [step]}}},
            "db": {"operations": {"query": query}},
        },
        "load": {"users": {"target": "app", "open": {"rate": rate}}},
    }
    if flush:
        graph["events"] = [{"at": "20s", "flush": {"service": "app", "cache": "items"}}]
    return graph


def r2(context: Context) -> None:
    """A look-aside cache of 90 % in front of a database of 300 queries a second."""
    count = context.size(4, 1)
    runs = context.runs(_cached(2700.0, False), count)
    context.note(
        "share served at 2700/s with the cache", 1.0, estimate([share(run, 30, 60) for run in runs]), 0.02, "strict"
    )
    hits = estimate([run.service_totals["app"].hits / run.service_totals["app"].lookups for run in runs])
    context.note("hit rate", 0.9, hits, 0.01, "strict")
    runs = context.runs(_cached(2700.0, True), count)
    asked = estimate([(run.services["app"][10].lookups - run.services["app"][10].hits) / 600.0 for run in runs])
    context.note("database load right after the cache is wiped, x its capacity", 9.0, asked, 1.35)
    kept = estimate([share(run, 40, 60) for run in runs])
    context.note("share served 20 to 40 s after the wipe (the keys that came back)", 0.2, kept, 0.0, "above")
    runs = context.runs(_cached(280.0, True), count)
    small = estimate([share(run, 40, 60) for run in runs])
    context.note("share served after a wipe at 280/s (below the database's capacity)", 1.0, small, 0.02, "strict")


# R3: Huang et al. 2022, section 5.2, at a tenth of the rates (time-outs and durations unchanged)

_SCALE = 10.0
_HEALTHY = 12_000.0 / _SCALE  # within the band in which the model has all four outcomes
_PER_CPU = 9_240.0 / _SCALE


def _mongo(cpus: float, seconds: int, rate: float) -> dict[str, Any]:
    capacity = {"service": "api", "factor": cpus * _PER_CPU / _HEALTHY}
    return {
        "run": timed(75, "1s"),
        "services": service(_HEALTHY),
        "load": users(rate / _SCALE, "3s", 5),
        "events": [{"at": "10s", "for": f"{seconds}s", "capacity": capacity}],
    }


def r3(context: Context) -> None:
    """Retries on a throttled primary: four outcomes on both sides of a sharp edge."""
    cases = (
        ("(a) -78 % for 10 s at 6200/s recovers", 0.45, 10, 6200.0, 1.0),
        ("(b) -80 % for 10 s at 6200/s collapses", 0.40, 10, 6200.0, 0.0),
        ("(c) -80 % for 9 s at 6200/s recovers", 0.40, 9, 6200.0, 1.0),
        ("(d) -80 % for 10 s at 4200/s recovers", 0.40, 10, 4200.0, 1.0),
    )
    for name, cpus, seconds, rate, expected in cases:
        runs = context.runs(_mongo(cpus, seconds, rate), context.size(3, 1))
        served = estimate([share(run, 55, 75) for run in runs])
        context.note(f"{name}: share served at the end", expected, served, 0.02, "strict")
        if not expected:
            made = estimate([attempts(run, 55, 75) / (rate / _SCALE) for run in runs])
            context.note("(b) attempts over requests (5, with no pool that holds clients back)", 5.0, made, 0.1)


# R4: Isaacs et al. 2025


def _long_queue(places: int, later: int) -> dict[str, Any]:
    # As in M/M/c/K the one in service takes a place.
    stages = [{"for": "300s", "rate": 5}, {"for": "600s", "rate": 15}, {"for": f"{later}s", "rate": 5}]
    call = {"timeout": "5s", "retries": {"attempts": 6}}
    return {
        "run": timed(900 + later, "60s"),
        "services": service(10.0, queue={"bound": places - 1, "overflow": "drop"}),
        "load": {"users": {"target": "api", "open": {"stages": stages}, "call": call}},
    }


def r4(context: Context) -> None:
    """A bounded queue, longer or shorter than capacity x time-out = 50."""
    later = 600 if context.quick else 1800
    for places, expected in ((35, 1.0), (55, 1.0), (60, 0.7), (70, 0.0), (150, 0.0)):
        if context.quick and (places in (55, 70) or (places == 60 and context.engine == "aggregate")):
            continue
        count = context.size(24, 8) if context.engine == "exact" else context.size(10, 4)
        good = sum(
            _drains(context, _long_queue(places, 1800 if places == 60 else later), seed) for seed in range(count)
        )
        context.note(f"P(recover), K={places}", expected, against_share(good, count, expected, 10), 0.0)
    runs = context.runs(_long_queue(150, 600), context.size(6, 3))
    rate = estimate([attempts(run, 960, 1500) for run in runs])
    context.note("collapsed attempts a second, K=150", 29.8, rate, 0.6)


def _drains(context: Context, graph: dict[str, Any], seed: int) -> bool:
    """Whether the queue is ever empty again from a minute after the load is back."""
    run = context.run(graph, seed, lambda windows, waiting: windows > 16 and waiting < 3)
    return min(row.queue_end for row in run.services["api"][16:]) < 3


# R5, R6, R8: the retry storm


def storm_graph(rate: float, seconds: float, hurt: float, **more: Any) -> dict[str, Any]:
    """1000 a second, 31 attempts of 50 ms, a tenth of the CPU from 1 s on for `hurt` seconds."""
    events = [{"at": "1s", "for": f"{round(hurt * 1e6)}us", "capacity": {"service": "api", "factor": 0.1}}]
    return {
        "run": timed(seconds, "50ms"),
        "services": service(1000.0, queue={"bound": 5000, "overflow": "drop"}),
        "load": users(rate, "50ms", 31),
        "events": events + more.pop("events", []),
    }


def r5(context: Context) -> None:
    """A quarter of a second at a tenth of the CPU; 31 attempts; recovery only below 1/31 of the capacity."""
    runs = context.runs(storm_graph(600.0, 8.0, 0.25), context.size(6, 3 if context.engine == "exact" else 2))
    good = estimate([share(run, 1.35, 2.0) for run in runs])
    context.note("share served from 0.1 s after the CPU is back", 0.0, good, 0.01)
    made = estimate([attempts(run, 3.0, 8.0) for run in runs])
    context.note("attempts a second after 1.55 s (31 x 600)", 18_600.0, made, 370.0)
    shed = [{"at": "3s", "rate": {"name": "users", "rate": 60}}]
    run = context.run(storm_graph(600.0, 20.0, 0.25, events=shed))
    context.note("share served after shedding to 60/s", 0.0, share(run, 10, 20), 0.02, "strict")
    shed = [{"at": "3s", "rate": {"name": "users", "rate": 10}}]
    run = context.run(storm_graph(600.0, 40.0, 0.25, events=shed))
    context.note("share served after shedding to 10/s", 1.0, share(run, 20, 40), 0.02, "strict")
    patience = (
        60 if context.quick else 150
    )  # seconds; from a full queue at 28/s theory needs 5000/(1000 - 31 x 28) = 38
    for rate, expected in ((28.0, 1.0), (31.0, 0.58), (32.0, 0.33), (36.0, 0.0)):
        count = context.size(8, 2) if context.engine == "exact" else context.size(6, 1)
        if context.quick and expected not in (0.0, 1.0):
            continue
        shed = [{"at": "2.5s", "rate": {"name": "users", "rate": rate}}]
        graph = storm_graph(600.0, float(patience), 0.25, events=shed)
        hits = sum(storm_recovers(context, graph, seed) for seed in range(count))
        name = f"P(recover in {patience} s), shed to {rate:g}/s (mu/31 = 32.3)"
        context.note(name, expected, against_share(hits, count, expected, 12), 0.0)


def storm_recovers(context: Context, graph: dict[str, Any], seed: int) -> bool:
    """Whether the queue is ever empty from 5 s on."""
    run = context.run(graph, seed, lambda windows, waiting: windows > 100 and waiting < 5)
    return min(row.queue_end for row in run.services["api"][100:]) < 5


def critical_duration(context: Context, rho: float, seeds: int) -> Estimate:
    """The median over seeds of the shortest trigger after which the storm stays, in seconds, and its interval."""
    found = []
    for seed in range(seeds):
        low, high = 0.02, 0.8
        while high - low > 0.004:
            middle = (low + high) / 2.0
            if storm_collapses(context, rho, middle, seed):
                high = middle
            else:
                low = middle
        found.append((low + high) / 2.0)
    # The median of a normal sample scatters 1.25 times as far as its mean.
    return Estimate(median(found), 1.25 * estimate(found).half)


def storm_collapses(context: Context, rho: float, hurt: float, seed: int) -> bool:
    """Whether the storm stays when the CPU is back after `hurt` seconds."""

    def decided(windows: int, waiting: float) -> bool:
        return windows * 0.05 > 1.0 + hurt + 0.3 and not 20 <= waiting <= 2500

    run = context.run(storm_graph(1000.0 * rho, 1.0 + hurt + 3.0, hurt), seed, decided)
    return run.services["api"][-1].queue_end > 300


def r6(context: Context) -> None:
    """How long the CPU must be at a tenth until the storm stays, by load."""
    known = {0.15: 0.334, 0.25: 0.180, 0.35: 0.121, 0.5: 0.084, 0.7: 0.065, 0.8: 0.057}
    for rho, expected in known.items():
        if context.quick and rho not in (0.25, 0.5, 0.8):
            continue
        measured = critical_duration(context, rho, context.size(9, 3 if context.engine == "exact" else 2))
        context.note(f"d50 (seconds), rho={rho:g}", expected, measured, max(0.15 * expected, 0.025), "strict")


# R7: collapse without a trigger


def r7(context: Context) -> None:
    """A small server with a short time-out and two retries collapses by chance alone."""
    known = {0.4: 0.0, 0.5: 0.04, 0.55: 0.12, 0.6: 0.38, 0.65: 0.71, 0.7: 1.0}
    count = context.size(24, 8) if context.engine == "exact" else context.size(8, 3)
    for rho, expected in known.items():
        if context.quick and rho in (0.5, 0.55, 0.65):
            continue
        graph = {
            "run": timed(600, "5s"),
            "services": service(100.0),
            "load": users(100.0 * rho, "200ms", 3),
        }
        tipped = sum(_tips(context, graph, seed) for seed in range(count))
        context.note(f"P(collapse in 600 s), rho={rho:g}", expected, against_share(tipped, count, expected, 24), 0.0)


def _tips(context: Context, graph: dict[str, Any], seed: int) -> bool:
    run = context.run(graph, seed, lambda _, waiting: waiting > 500)
    return run.services["api"][-1].queue_end > 500


# R8: a queue shorter than capacity x time-out


def r8(context: Context) -> None:
    """No trigger makes a short queue collapse for good."""
    triggers: list[tuple[str, dict[str, Any]]] = [
        ("no CPU for 2 s", {"at": "2s", "for": "2s", "capacity": {"service": "api", "factor": 0.0}}),
        ("a tenth of the CPU for 5 s", {"at": "2s", "for": "5s", "capacity": {"service": "api", "factor": 0.1}}),
        ("20 x the load for 2 s", {"at": "2s", "for": "2s", "load": {"name": "users", "factor": 20.0}}),
        ("an outage of 2 s", {"at": "2s", "for": "2s", "outage": {"from": "users", "to": "api"}}),
    ]
    for name, event in triggers:
        for rho in (0.3, 0.7):
            graph = {
                "run": timed(12, "100ms"),
                "services": service(1000.0, queue={"bound": 30, "overflow": "drop"}),
                "load": users(1000.0 * rho, "50ms", 31),
                "events": [event],
            }
            runs = context.runs(graph, context.size(4, 1))
            served = min(share(run, 10, 12) for run in runs)
            context.note(f"share served afterwards, rho={rho:g}, {name}", 1.0, served, 0.02)


#: R1-R8.
ROWS: dict[str, Row] = {
    "R1": Row(
        "HotOS'21 retries: 280 of 300 queries/s, time-out 1 s, one retry, 10 s outage",
        "Bronson et al., HotOS 2021, section 2.1",
        "2 % of the requests (the M/M/1 tail beyond the time-out), 2 % on attempts, beyond the interval",
        r1,
    ),
    "R2": Row(
        "HotOS'21 look-aside cache of 90 %, database of 300 queries/s",
        "Bronson et al., HotOS 2021, section 2.2",
        "2 % of the requests, 1 point of the hit rate; amplification 15 %: counted over 2 s in which items come back",
        r2,
    ),
    "R3": Row(
        "OSDI'22 MongoDB, four triggers",
        "Huang et al., OSDI 2022, section 5.2 and figure 5; capacities from the middle of the band that gives all four",
        "2 % of the requests: an outcome is all or nothing; attempts 2 %",
        r3,
    ),
    "R4": Row(
        "HotOS'25: 10/s, time-out 5 s, 5 retries, bounded queue",
        "Isaacs et al., HotOS 2025, figures 2-4; probabilities from another exact simulation",
        "99 % interval of the difference of two shares, the expected one taken as counted in 10 runs; attempts 2 %",
        r4,
    ),
    "R5": Row(
        "retry storm: mu 1000, time-out 50 ms, 31 attempts, bound 5000",
        "theory: (1+R) lambda, recovery iff lambda < mu/31; other exact simulation",
        "2 % on attempts and shares; probabilities: 99 % interval of the difference of two shares, the expected "
        "one counted in 12 runs",
        r5,
    ),
    "R6": Row(
        "critical trigger duration of the retry storm",
        "another exact simulation; closed form in `theory.critical_duration`",
        "15 % or half a time-out (25 ms), whichever is larger: the edge is that wide",
        r6,
    ),
    "R7": Row(
        "collapse without a trigger: mu 100, time-out 200 ms, 2 retries",
        "another exact simulation of 24 runs each; a deterministic fluid gives 0 everywhere",
        "none beyond sampling: the 99 % interval of the difference of two shares, ours and one counted in 24 runs",
        r7,
    ),
    "R8": Row(
        "a queue shorter than capacity x time-out",
        "theory: an attempt that is admitted is answered in time",
        "2 % of the requests: nearly all are served at rho 0.7 too, at most one retry later",
        r8,
    ),
}
