"""Rows R9-R12: what callers do: layers of retries, budgets, buckets, breakers, back-off."""

from __future__ import annotations

from statistics import median
from typing import Any

from simcluster.eval.validation import theory
from simcluster.eval.validation.context import Context
from simcluster.eval.validation.finding import estimate
from simcluster.eval.validation.row import Row
from simcluster.eval.validation.storms import goodput, timed
from simcluster.models.traffic.graph import Result

# R9: layers


def _layers(depth: int, tries: int) -> dict[str, Any]:
    """A chain whose last service always fails; every layer makes `tries` attempts."""
    services: dict[str, Any] = {}
    for level in range(1, depth):
        call = {"call": {"service": f"s{level + 1}", "retries": {"attempts": tries}}}
        services[f"s{level}"] = {"workers": None, "operations": {"o": {"steps": [call]}}}
    services[f"s{depth}"] = {"workers": None, "operations": {"o": {"work": "1ms", "failure": 1.0}}}
    stages = [{"for": "15s", "rate": 10}, {"for": "5s", "rate": 0}]  # all that began is over at the end
    load = {"target": "s1", "open": {"stages": stages}, "call": {"retries": {"attempts": tries}}}
    return {"run": timed(20, "1s"), "services": services, "load": {"users": load}}


def _hotel(later: float) -> dict[str, Any]:
    """Search behind a front end, 60 % of requests; the branch is drawn again at every attempt."""
    policy = {"timeout": "50ms", "retries": {"attempts": 4}}

    def call(name: str) -> dict[str, Any]:
        return {"call": {"service": name, **policy}}

    def quick(mean: str, *steps: dict[str, Any]) -> dict[str, Any]:
        operation = {"work": {"law": "exponential", "mean": mean}, "steps": list(steps)}
        return {"workers": 8, "blocking": False, "operations": {"o": operation}}

    geo = {
        "queue": {"bound": 5000, "overflow": "drop"},
        "operations": {"o": {"work": {"law": "exponential", "mean": "166667ns"}}},
    }
    choice = {"choose": [{"probability": 0.6, "steps": [call("search")]}]}
    return {
        "run": timed(14, "500ms"),
        "services": {"frontend": quick("200us", choice), "search": quick("200us", call("geo")), "geo": geo},
        "load": {"users": {"target": "frontend", "open": {"rate": 800}, "call": {**policy}}},
        "events": [
            {"at": "2s", "for": "500ms", "capacity": {"service": "geo", "factor": 0.02}},
            {"at": "5s", "rate": {"name": "users", "rate": later}},
        ],
    }


def r9(context: Context) -> None:
    """Attempts multiply from layer to layer."""
    for depth, tries, expected in ((3, 4, 64.0), (5, 3, 243.0)):
        run = context.run(_layers(depth, tries))
        bottom = run.service_totals[f"s{depth}"].arrivals / run.load_totals["users"].arrivals
        context.note(f"attempts at the bottom of {depth} layers of {tries}", expected, bottom, 0.01 * expected)
    for later, served in ((200.0, 1.0), (300.0, 0.0)):
        graph = _hotel(later)
        runs = context.runs(graph, context.size(4, 1))
        if served:
            ratios = [_per_request(run) for run in runs]
            context.note("hotel: attempts on geo over requests, collapsed", 20.9, estimate(ratios), 1.5, "strict")
        empty = sum(run.services["geo"][-1].queue_end < 300 for run in runs) / len(runs)
        context.note(f"hotel: share of runs in which geo drains after shedding to {later:g}/s", served, empty, 0.0)


def _per_request(run: Result) -> float:
    asked = [window.arrivals for window in run.services["geo"][7:10]]
    return sum(asked) / sum(window.arrivals for window in run.load["users"][7:10])


# R10: budgets


def r10(context: Context) -> None:
    """A backend that always fails, three attempts, with and without a budget of a tenth."""
    for budget, expected in ((None, 3.0), ({"tokens": 10, "per_call": 0.1}, 1.1)):
        retries: dict[str, Any] = {"attempts": 3}
        if budget is not None:
            retries["budget"] = budget
        call = {"retries": retries}
        graph = {
            "run": {"duration": "120s", "warmup": "20s", "window": "10s"},
            "services": {"s": {"workers": None, "operations": {"o": {"work": "20ms", "failure": 1.0}}}},
            "load": {"users": {"target": "s", "open": {"rate": 500}, "call": call}},
        }
        total = context.run(graph).load_totals["users"]
        name = "attempts over requests, 3 attempts" + (" and a budget of 10 %" if budget else "")
        context.note(name, expected, total.attempts / total.arrivals, 0.01 * expected)


# R11: Brooker's retry_sim

_STRATEGIES: dict[str, dict[str, Any]] = {
    "no retries": {},
    "3 retries": {"retries": {"attempts": 4}},
    "token bucket": {"retries": {"attempts": 1000, "budget": {"tokens": 5, "per_call": 0.1}}},
    "breaker 10 %": {
        "retries": {"attempts": 4},
        "breaker": {"failure_ratio": 0.1, "window": 0, "minimum": 1, "per": "call", "guards": "retries"},
    },
}
_BROOKER = {
    0.1: {"no retries": (0.899, 1.0), "3 retries": (0.9999, 1.107), "token bucket": (0.986, 1.097),
          "breaker 10 %": (0.934, 1.037)},
    0.5: {"no retries": (0.499, 1.0), "3 retries": (0.939, 1.87), "token bucket": (0.556, 1.114),
          "breaker 10 %": (0.500, 1.0)},
}  # fmt: skip


def r11(context: Context) -> None:
    """100 clients of 10 calls a second against a server that fails a share of them."""
    for failure, known in _BROOKER.items():
        for name, (success, load) in known.items():
            graph = {
                "network": {"law": "exponential", "mean": "10ms"},
                "run": timed(30, "30s"),
                "services": {"s": {"workers": None, "operations": {"o": {"work": "5ms", "failure": failure}}}},
                "load": {"users": {"target": "s", "clients": 100, "open": {"rate": 1000}, "call": _STRATEGIES[name]}},
            }
            runs = [run.load_totals["users"] for run in context.runs(graph, context.size(10, 3))]
            good = estimate([one.ok / max(1, one.arrivals - one.waiting) for one in runs])
            made = estimate([one.attempts / one.arrivals for one in runs])
            slack = 0.01 if name in ("no retries", "3 retries") else 0.015
            context.note(f"success, f={failure:g}, {name}", success, good, slack)
            context.note(f"attempts over calls, f={failure:g}, {name}", load, made, slack * load)
        good_theory, load_theory = theory.retry_success(failure, 3)
        assert abs(good_theory - known["3 retries"][0]) < 0.005
        assert abs(load_theory - known["3 retries"][1]) < 0.01


# R12: Brooker's simple_collapse_sim


def _contended(stages: list[dict[str, Any]], backoff: bool) -> dict[str, Any]:
    retries: dict[str, Any] = {"attempts": 3}
    if backoff:
        retries["backoff"] = {"base": "20s", "factor": 2.0, "jitter": "full"}
    return {
        "network": {"law": "exponential", "mean": "100ms"},
        "run": timed(80, "1s"),
        "services": {"s": {"workers": None, "operations": {"o": {"work": "1010ms", "contention": "10ms"}}}},
        "load": {"users": {"target": "s", "open": {"stages": stages}, "call": {"timeout": "3s", "retries": retries}}},
    }


_SPIKE = [{"for": "20s", "rate": 40}, {"for": "5s", "rate": 80}, {"for": "60s", "rate": 40}]
_RAMP = [{"for": "25s", "rate": 40, "to": 80}, {"for": "50s", "rate": 80, "to": 0}]


def _successes(runs: list[Result], begin: int, end: int) -> list[float]:
    return [goodput(run, begin, end) for run in runs]


def r12(context: Context) -> None:
    """A server that slows down with its concurrency; a spike and a ramp; with and without back-off."""
    count = context.size(10, 4)
    plain = context.runs(_contended(_SPIKE, False), count)
    context.note("spike, no back-off: successes/s, 40-79 s", 8.0, estimate(_successes(plain, 40, 79)), 2.0)
    rows = [run.between("users", 40 * 10**9, 79 * 10**9) for run in plain]
    late = estimate([row.attempts_failed["timeout"] / 39.0 for row in rows])
    context.note("spike, no back-off: time-outs/s, 40-79 s", 97.0, late, 5.0)
    again = estimate([(row.attempts - row.arrivals) / 39.0 for row in rows])
    context.note("spike, no back-off: retries/s, 40-79 s", 64.0, again, 4.0)
    # The median: a run in ten tips over in spite of the back-off and would weigh a tenth in a mean.
    patient = context.runs(_contended(_SPIKE, True), count)
    context.note("spike, back-off: successes/s, 30-79 s, median run", 43.0, median(_successes(patient, 30, 79)), 3.5)
    for backoff in (False, True):
        runs = context.runs(_contended(_RAMP, backoff), count)
        name = "ramp, back-off" if backoff else "ramp, no back-off"
        context.note(f"{name}: successes/s, 30-40 s", 0.0, estimate(_successes(runs, 30, 40)), 2.0)


_COUNTS = "1 % (counts of thousands), 1.5 % where the state of 100 small clients starts cold"
#: R9-R12.
ROWS: dict[str, Row] = {
    "R9": Row(
        "layers of retries",
        "SRE book, chapter 22; AWS Builders' Library; theory for the hotel graph: 16 x (1 + w + w^2 + w^3) w, w = 0.6",
        "1 %: multiplication; hotel 7 %: measured over 1.5 s of the storm",
        r9,
    ),
    "R10": Row(
        "retry budget", "SRE book, chapter 21: just below 3 x, and 1.1 x", "1 %: counts of 50 000 requests", r10
    ),
    "R11": Row("Brooker's retry simulation", "M. Brooker, simulator_example/retry_sim, run again", _COUNTS, r11),
    "R12": Row(
        "Brooker's collapse simulation",
        "M. Brooker, simulator_example/simple_collapse_sim, run again",
        "5 to 8 % (a quarter on a goodput of 8) beyond the interval: the original is a mean of few runs too",
        r12,
    ),
}
