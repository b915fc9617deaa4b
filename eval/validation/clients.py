"""Rows R9-R12: what callers do: layers of retries, budgets, buckets, breakers, back-off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from simcluster.eval.validation import theory
from simcluster.eval.validation.context import Context
from simcluster.eval.validation.finding import Share, estimate
from simcluster.eval.validation.row import Row
from simcluster.eval.validation.storms import timed
from simcluster.models.traffic.graph import Result
from simcluster.models.traffic.graph.result import LoadWindow, ServiceWindow

# R9: layers


def _layers(depth: int, tries: int) -> dict[str, Any]:
    """A chain whose last service always fails; every layer makes `tries` attempts."""
    services: dict[str, Any] = {}
    for level in range(1, depth):
        call = {"call": {"service": f"s{level + 1}", "retries": {"attempts": tries}}}
        services[f"s{level}"] = {"workers": None, "operations": {"o": {"steps": [call]}}}
    services[f"s{depth}"] = {"workers": None, "operations": {"o": {"work": "1ms", "failure": 1.0}}}
    stages = [{"for": "1s", "rate": 150}, {"for": "1s", "rate": 0}]  # all that began is over at the end
    load = {"target": "s1", "open": {"stages": stages}, "call": {"retries": {"attempts": tries}}}
    return {"run": timed(2, "1s"), "services": services, "load": {"users": load}}


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
        "run": timed(11, "500ms"),
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
        context.note(f"attempts at the bottom of {depth} layers of {tries}", expected, bottom, 0.005 * expected)
    for later, served in ((200.0, 1.0), (300.0, 0.0)):
        runs = context.runs(_hotel(later), context.size(16, 5))
        if served:
            ratios = estimate([_per_request(run) for run in runs])
            # Given to a tenth; of that, stretches of 1.5 s of a storm whose branches are drawn again and again.
            context.note("hotel: attempts on geo over requests, collapsed", 20.9, ratios, 0.05)
        empty = Share(sum(run.services["geo"][-1].queue_end < 300 for run in runs), len(runs))
        what = "drains" if served else "does not drain"
        counted = empty if served else Share(empty.count - empty.hits, empty.count)
        context.share(f"hotel: share of runs in which geo {what} after shedding to {later:g}/s", 1.0, 0, counted)


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
        context.note(name, expected, total.attempts / total.arrivals, 0.005 * expected)


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
            runs = [run.load_totals["users"] for run in context.runs(graph, context.size(10, 4))]
            good = estimate([one.ok / max(1, one.arrivals - one.waiting) for one in runs])
            made = estimate([one.attempts / one.arrivals for one in runs])
            context.note(f"success, f={failure:g}, {name}", success, good, 0.005)
            context.note(f"attempts over calls, f={failure:g}, {name}", load, made, 0.005 * load)
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


#: The re-run's means tell how many of its runs recovered by themselves: 8 of 40 succeed, and of the 80 retries and 120
#: time-outs a second that three attempts make 64 and 97 are left: a fifth of the runs, of which some ten were made.
_RERUN = 10


def _rate(kind: str) -> Callable[[LoadWindow], float]:
    counts: dict[str, Callable[[LoadWindow], float]] = {
        "ok": lambda row: row.ok,
        "again": lambda row: row.attempts - row.arrivals,
        "late": lambda row: row.attempts_failed["timeout"],
    }
    return counts[kind]


def r12(context: Context) -> None:
    """A server that slows down with its concurrency; a spike and a ramp; with and without back-off."""
    ok, again, late = _rate("ok"), _rate("again"), _rate("late")
    count = context.size(64, 40)
    plain = context.copies(_contended(_SPIKE, False), count)
    context.note("spike, no back-off: successes/s, 25-30 s", 25.0, plain.rate(ok, 25, 30), 2.5)
    context.note("spike, no back-off: retries/s, 25-30 s", 51.0, plain.rate(again, 25, 30), 2.5)
    stay = plain.share(_stays)
    context.share("spike, no back-off: share of runs that stay collapsed", 0.8, _RERUN, stay)
    if stay.hits:
        gone = [rows for rows in plain.rows if _stays(rows)]
        context.note("spike, no back-off: attempts/s of a collapsed run, 60-79 s (3 x 40)", 120.0,
                     estimate([sum(row.arrivals for row in rows[60:79]) / 19.0 for rows in gone]), 1.0)  # fmt: skip
    patient = context.copies(_contended(_SPIKE, True), context.size(24, 12))
    # The median: a run in ten tips over in spite of the back-off and would weigh a tenth in a mean.
    calm = median(sum(row.served - row.late for row in rows[30:79]) / 49.0 for rows in patient.rows)
    context.note("spike, back-off: successes/s, 30-79 s, median run", 43.0, calm, 3.0)
    for backoff, end in ((False, 40), (True, 79)):
        ramp = context.copies(_contended(_RAMP, backoff), context.size(24, 8))
        name = "ramp, back-off" if backoff else "ramp, no back-off"
        context.note(f"{name}: successes/s, 30-{end} s", 0.0, ramp.rate(ok, 30, end), 0.5)
        if not backoff:
            context.note(f"{name}: time-outs/s, 30-40 s", 215.0, ramp.rate(late, 30, 40), 5.0)


def _stays(rows: Sequence[ServiceWindow]) -> bool:
    """Whether less than half of 40 a second is answered in time at the end."""
    return sum(row.served - row.late for row in rows[60:79]) < 19 * 20


_COUNTS = "half a percent: the sampling error of thousands of calls"
#: R9-R12.
ROWS: dict[str, Row] = {
    "R9": Row(
        "layers of retries",
        "SRE book, chapter 22; AWS Builders' Library; theory for the hotel graph: 16 x (1 + w + w^2 + w^3) w, w = 0.6",
        "half a percent: multiplication; hotel: half of the last digit given",
        r9,
    ),
    "R10": Row(
        "retry budget",
        "SRE book, chapter 21: just below 3 x, and 1.1 x",
        "half a percent: counts of 50 000 requests",
        r10,
    ),
    "R11": Row("Brooker's retry simulation", "M. Brooker, simulator_example/retry_sim, run again", _COUNTS, r11),
    "R12": Row(
        "Brooker's collapse simulation",
        "M. Brooker, simulator_example/simple_collapse_sim, run again",
        "what stays collapsed is a share of runs, the expected one taken as counted in 10; else half of the last "
        "digit, and a tenth in the five seconds after the spike: the original is a mean of few runs too",
        r12,
    ),
}
