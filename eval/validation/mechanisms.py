"""Rows P1, E1, J1, A1, L1: what sustains and what ends metastable failures besides retries, against theory.

Their sources publish rules and no figures that could be read; what the rules imply is computed here.
"""

from __future__ import annotations

import math
from typing import Any

from simcluster.eval.validation import theory
from simcluster.eval.validation.context import Context
from simcluster.eval.validation.copies import Copies
from simcluster.eval.validation.finding import Share, estimate
from simcluster.eval.validation.queues import EXPONENTIAL, MEANS, TAILS, over_load, station
from simcluster.eval.validation.row import Row
from simcluster.eval.validation.storms import backlogged, cut, good, runs, timed


def p1(context: Context) -> None:
    """M/G/1 with processor sharing: the mean does not depend on the law of the work."""
    laws: tuple[tuple[str, dict[str, Any], int], ...] = (
        ("cs2=0", {"law": "deterministic", "mean": "1s"}, 600_000),
        ("cs2=1", EXPONENTIAL, 1_200_000),
        ("cs2=4", {"law": "hyperexponential", "mean": "1s", "cv": 2.0}, 1_200_000),
    )
    for name, law, requests in laws:
        graph = station(context, 0.8, 1, law, requests, cores=1, sharing="processor")
        graph["services"]["s"]["workers"] = None
        run = context.run(graph)
        mean = over_load(run, lambda row: row.latency.mean / 1e9)
        context.note(f"T/E[S], rho=0.8, {name}", 5.0, mean, 5.0 * MEANS[context.engine])
    graph = station(context, 0.8, 1, EXPONENTIAL, 1_200_000, cores=1, sharing="processor")
    graph["services"]["s"]["workers"] = 4
    mean = over_load(context.run(graph), lambda row: row.latency.mean / 1e9)
    context.note("T/E[S], rho=0.8, cs2=1, at most 4 share", 5.0, mean, 5.0 * MEANS[context.engine])


def _costly(later: float | None, lasts: float) -> dict[str, Any]:
    events: list[dict[str, Any]] = [{**cut(1.0), "capacity": {"service": "api", "factor": 0.1}}]
    if later is not None:
        events.append({"at": "4s", "rate": {"name": "users", "rate": later}})
    work = {"work": {"law": "exponential", "mean": "1ms"}, "error_work": {"law": "exponential", "mean": "4ms"}}
    return {
        "run": timed(lasts, "200ms"),
        "services": {"api": {"queue": {"bound": 400}, "operations": {"serve": work}}},
        "load": {"users": {"target": "api", "open": {"rate": 500}, "call": {"timeout": "100ms", "propagate": True}}},
        "events": events,
    }


def e1(context: Context) -> None:
    """Errors that cost 4 ms where a success costs 1 ms, at half of the capacity; a second at a tenth of the CPU."""

    def drained(found: Copies) -> Share:
        share = found.share(backlogged)
        return Share(share.count - share.hits, share.count)

    stays = context.copies(_costly(None, 8.0), runs(context))
    context.share("share of runs that stay collapsed, 500/s", 1.0, 0, stays.share(backlogged))
    context.note("share served afterwards, 500/s", 0.0, stays.ratio(good, 5, 8), 0.005)
    shed = context.copies(_costly(300.0, 10.0), runs(context))
    context.share("share of runs that stay collapsed, shed to 300/s (1/4 ms = 250)", 1.0, 0, shed.share(backlogged))
    shed = context.copies(_costly(150.0, 16.0), runs(context))
    context.share("share of runs that recover, shed to 150/s", 1.0, 0, drained(shed))


def j1(context: Context) -> None:
    """Three decorrelated sleeps of a base of 500 ms: 1, 1.75 and 2.875 s on average."""
    retries = {"attempts": 4, "backoff": {"base": "500ms", "max": "60s", "jitter": "decorrelated"}}
    call = {"service": "backend", "required": False, "timeout": "100ms", "retries": retries}
    graph = {
        "run": {"duration": "260s", "warmup": "20s", "window": "20s"},
        "services": {
            "backend": {"workers": None, "operations": {"get": {"steps": [{"wait": "10s"}]}}},
            "front": {"workers": None, "operations": {"page": {"steps": [{"call": call}]}}},
        },
        "load": {"u": {"target": "front", "open": {"rate": 50}}},
    }
    run = context.run(graph)
    mean = over_load(run, lambda row: row.latency.mean / 1e9)
    context.note("four attempts and three sleeps (s)", 6.025, mean, 6.025 * MEANS[context.engine])


def a1(context: Context) -> None:
    """Limits that adapt, at twice what eight workers can do."""
    limit = ((1.0 + math.sqrt(1.0 + 4.0 * 1.25 * 8.0)) / 2.0) ** 2
    shed = {"adaptive": {"kind": "gradient", "fastest": "10ms"}}
    graph = {
        "run": {"duration": "40s", "warmup": "8s", "window": "2s"},
        "services": {
            "s": {"workers": 8, "shed": shed, "operations": {"o": {"work": {"law": "exponential", "mean": "10ms"}}}}
        },
        "load": {"u": {"target": "s", "open": {"rate": 1600}, "call": {"timeout": "200ms"}}},
    }
    run = context.run(graph)
    rows = run.services["s"][4:]
    inside = estimate([row.queue + row.busy for row in rows])
    context.note("gradient: requests inside (the limit, in whole requests)", limit, inside, 1.0)
    slack = 0.01 * 800.0 if context.engine == "exact" else 0.03 * 800.0
    context.note("gradient: answers a second", 800.0, estimate([row.served / 2.0 for row in rows]), slack)
    took = over_load(run, lambda row: row.latency.mean / 1e6)
    context.note("gradient: response time (ms), limit / 800", limit / 0.8, took, 1.0 / 0.8)


def _linked(reuse: str, clients: int, **more: Any) -> dict[str, Any]:
    """Clients with eight connections each over links, single queries and eight side by side."""
    query = {"service": "links", "timeout": "500ms", "pool": {"name": "db", "size": 8, "reuse": reuse, **more}}
    operations = {
        "one": {"steps": [{"call": query}]},
        "many": {"steps": [{"fan_out": {"width": 8, "call": query}}]},
    }
    return {"replicas": clients, "workers": None, "operations": operations}


def _imbalance(reuse: str, later: float | None) -> dict[str, Any]:
    step, wait = {"call": {"service": "db"}}, {"law": "exponential", "mean": "2ms"}
    event = {"service": "links", "factor": 0.1, "replicas": [0]}
    events: list[dict[str, Any]] = [{"at": "2s", "for": "1s", "capacity": event}]
    if later is not None:
        events.append({"at": "7s", "rate": {"name": "pages", "rate": later}})
    return {
        "run": {"duration": "13s", "window": "1s"},
        "services": {
            "web": _linked(reuse, 100, hold="answer"),
            "links": {
                "replicas": 4, "blocking": False, "balancer": "round_robin",
                "operations": {"pass": {"work": {"law": "exponential", "mean": "1ms"}, "steps": [step]}},
            },
            "db": {"workers": None, "operations": {"query": {"steps": [{"wait": wait}]}}},
        },
        "load": {
            "pages": {"target": "web/one", "open": {"rate": 1200}},
            "lists": {"target": "web/many", "open": {"rate": 100}},
        },
        "events": events,
    }  # fmt: skip


def l1(context: Context) -> None:
    """The order of a pool by the balance equations, and the link that all want."""
    slow, work = 3.0, 0.01
    for reuse in ("mru", "lru"):
        pass_on = {"pass": {"work": {"law": "exponential", "mean": "10ms"}}}
        links = {"replicas": 2, "workers": None, "balancer": "round_robin", "operations": pass_on}
        graph = {
            "run": {"duration": f"{context.size(400, 50)}s", "warmup": "5s", "window": "5s"},
            "services": {"web": _linked(reuse, 16, waiting=0), "links": links},
            "load": {
                "pages": {"target": "web/one", "open": {"rate": 320}},
                "lists": {"target": "web/many", "open": {"rate": 8}},
            },
            "events": [{"at": "0s", "capacity": {"service": "links", "factor": 1.0 / slow, "replicas": [0]}}],
        }
        rows = context.run(graph).services["links"][1:]
        # of queries of 10 and 30 ms so many are under way that the share of the slow ones follows
        found = estimate([(row.busy * 5.0 / row.served / work - 1.0) / (slow - 1.0) for row in rows])
        expected = theory.pool_shares({1: 20.0, 8: 0.5}, (slow * work, work), 4, reuse)[0]
        context.note(f"share over the slower of two links, {reuse}", expected, found, expected * TAILS[context.engine])
    count = context.size(12, 3)
    for name, graph, stays in (
        ("mru: share of runs in which a link stays overloaded", _imbalance("mru", None), 1.0),
        ("lru: the same", _imbalance("lru", None), 0.0),
        ("mru: the same, shed to 600 + 200 < 1000 queries a second", _imbalance("mru", 600.0), 0.0),
    ):
        # connections over the link: 200; a tenth of them wait where all want it
        hits = sum(run.services["links"][-1].queue > 20.0 for run in context.runs(graph, count))
        context.share(name, stays, 0, Share(hits, count))


_SAMPLING = "as of Q1 beyond the 99 % interval"
#: P1, E1, J1, A1, L1.
ROWS: dict[str, Row] = {
    "P1": Row("M/G/1 processor sharing, rho 0.8", "theory: E[S]/(1 - rho) (Kleinrock 1976)", _SAMPLING, p1),
    "E1": Row(
        "slow error path: 1 ms of success, 4 ms of failure, deadlines of 100 ms",
        "Bronson et al., HotOS 2021, section 2.3 (no figures); theory: it stays while lambda > 1/4 ms",
        "outcomes are shares of runs, compared by a two-proportion test at 1 %; half a percent of the requests",
        e1,
    ),
    "J1": Row(
        "decorrelated jitter",
        "AWS Architecture Blog 2015 (its figures are pictures); theory: means (base + 3 x the one before)/2",
        _SAMPLING,
        j1,
    ),
    "A1": Row(
        "adaptive concurrency limit",
        "Envoy, adaptive concurrency filter (the rule; no figures); theory: L - sqrt(L) = 1.25 x 8",
        "one request: limits are whole; 1 % of the throughput, on aggregate 3 %",
        a1,
    ),
    "L1": Row(
        "link imbalance: pools that take the connection used last, over links of unequal speed",
        "Bronson, Facebook 2014, and Bronson et al., HotOS 2021, section 2.4 (no figures); theory: balance equations "
        "of a pool; it may stay while single queries and a link's part of the others are more than it carries",
        "shares: as quantiles of Q1 beyond the 99 % interval; outcomes are shares of runs, compared by a "
        "two-proportion test at 1 %",
        l1,
    ),
}
