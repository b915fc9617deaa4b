"""Rows Q1-Q7: single queues and tandems against closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from simcluster.engine import SECOND
from simcluster.eval.validation import theory
from simcluster.eval.validation.context import Context
from simcluster.eval.validation.finding import Estimate, batched
from simcluster.eval.validation.row import Row
from simcluster.models.traffic.graph import Result
from simcluster.models.traffic.graph.result import LoadWindow, ServiceWindow
from simcluster.models.traffic.graph.spec import DURATION_MAX

#: Theory is exact. `exact` draws whole nanoseconds and counts durations in bins of 1/128 of an octave; `aggregate` is
#: held to what it promises on calm graphs: means within 3 %, quantiles and the shares that follow from them 5 %.
MEANS = {"exact": 0.005, "aggregate": 0.03}
TAILS = {"exact": 0.008, "aggregate": 0.05}
EXPONENTIAL = {"law": "exponential", "mean": "1s"}
#: Stations that `aggregate` runs at once, each a pod of its own: its cost goes by ticks, hardly by pods.
PODS = 256
#: Stretches of one run of which an interval is made.
BATCHES = 32
Value = Callable[[ServiceWindow], float]


def pods(context: Context) -> int:
    """How many independent stations one run is."""
    return PODS if context.engine == "aggregate" else 1


def station(
    context: Context, rate: float, workers: int, work: Mapping[str, Any], requests: int, **more: Any
) -> dict[str, Any]:
    """One service, Poisson arrivals, long enough for so many requests in all; time in seconds.

    Requests are spread over the pods at random, so that each of them has Poisson arrivals too. One long run, with one
    warm-up, tells more than several short ones: its stretches give the interval.
    """
    count = pods(context)
    requests = requests * (3 if context.engine == "aggregate" else 1) // (6 if context.quick else 1)
    # A warm-up of 4 relaxation times at 80 %, 2 at 95 % (theory: 1/(sqrt(mu) - sqrt(lambda))**2 = 90 and 1560 s).
    idle = 1.0 - math.sqrt(min(rate / workers, 0.975))
    warmup = round(min(max(4.0 / idle**2, 20.0), 800.0) / workers)
    length = max(round(requests / rate / count), 3 * warmup if rate < workers else warmup, BATCHES)
    length = min(length, DURATION_MAX // SECOND * 9 // 10)  # besides the warm-up, and whole windows
    window = -(-length // BATCHES)
    warmup = -(-warmup // window) * window
    return {
        "run": {"duration": f"{warmup + BATCHES * window}s", "warmup": f"{warmup}s", "window": f"{window}s"},
        "services": {"s": {"workers": workers, "replicas": count, "operations": {"o": {"work": work}}, **more}},
        "load": {"u": {"target": "s", "open": {"rate": rate * count}}},
    }


def over(run: Result, value: Value, name: str = "s") -> Estimate:
    """A figure of a service after the warm-up, and its interval from the stretches of the run."""
    first = run.warmup_ns // run.window_ns
    return batched(value(run.service_totals[name]), [value(row) for row in run.services[name][first:]])


def over_load(run: Result, value: Callable[[LoadWindow], float]) -> Estimate:
    """The same of the load."""
    first = run.warmup_ns // run.window_ns
    return batched(value(run.load_totals["u"]), [value(row) for row in run.load["u"][first:]])


def _sojourn(row: ServiceWindow) -> float:
    return row.sojourn.mean / 1e9


def _wait(row: ServiceWindow) -> float:
    return row.wait.mean / 1e9


def _blocked(row: ServiceWindow) -> float:
    return row.rejected / row.arrivals


def q1(context: Context) -> None:
    """M/M/1 at 80 %."""
    run = context.run(station(context, 0.8, 1, EXPONENTIAL, 3_200_000))
    slack, count = MEANS[context.engine], pods(context)
    context.note("L (requests inside)", 4.0, over(run, lambda row: (row.queue + row.busy) / count), 4.0 * slack)
    context.note("T (seconds)", theory.mmc_sojourn(0.8, 1.0, 1), over(run, _sojourn), 5.0 * slack)
    p99 = over(run, lambda row: row.sojourn.quantile(0.99) / 1e9)
    context.note("p99 of T (seconds)", theory.mmc_quantile(0.8, 1.0, 1, 0.99), p99, 23.03 * TAILS[context.engine])


def q2(context: Context) -> None:
    """M/M/c."""
    for servers, rho in ((4, 0.8), (4, 0.95), (8, 0.9), (16, 0.9)):
        rate = servers * rho
        run = context.run(station(context, rate, servers, EXPONENTIAL, 6_000_000 if rho > 0.94 else 2_000_000))
        expected = theory.mmc_sojourn(rate, 1.0, servers)
        context.note(f"T mu, c={servers} rho={rho}", expected, over(run, _sojourn), expected * MEANS[context.engine])
        waits, chance = over(run, lambda row: row.wait.share_above(0.0)), theory.erlang_c(rate, servers)
        context.note(f"P(wait), c={servers} rho={rho}", chance, waits, chance * TAILS[context.engine])


def q3(context: Context) -> None:
    """M/G/1."""
    laws: tuple[tuple[float, Mapping[str, Any]], ...] = (
        (0.0, {"law": "deterministic", "mean": "1s"}),
        (1.0, EXPONENTIAL),
        (4.0, {"law": "hyperexponential", "mean": "1s", "cv": 2.0}),
    )
    for squared, law in laws:
        run = context.run(station(context, 0.8, 1, law, 1_500_000 if squared < 2.0 else 3_000_000))
        expected = theory.mg1_wait(0.8, 1.0, squared)
        context.note(f"Wq/E[S], cs2={squared:g}", expected, over(run, _wait), expected * MEANS[context.engine])


def q4(context: Context) -> None:
    """M/M/c/K."""
    for rate, servers, places in ((0.9, 1, 10), (1.2, 1, 10), (3.6, 4, 20), (6.0, 4, 20)):
        graph = station(context, rate, servers, EXPONENTIAL, 1_200_000, queue={"bound": places - servers})
        run = context.run(graph)
        expected = theory.mmck(rate, 1.0, servers, places)
        name = f"(lam,c,K)=({rate:g},{servers},{places})"
        slack = expected.blocked * TAILS[context.engine]
        context.note(f"P(block) {name}", expected.blocked, over(run, _blocked), slack)
        context.note(f"T {name}", expected.sojourn, over(run, _sojourn), expected.sojourn * MEANS[context.engine])


def _abandoned(row: ServiceWindow) -> float:
    return 1.0 - (row.served + row.rejected) / row.arrivals


def _waited(row: ServiceWindow) -> float:
    return 1.0 - row.wait.count * (1.0 - row.wait.share_above(0.0)) / row.arrivals


def q5(context: Context) -> None:
    """Erlang-A: who waits gives up after an exponential time."""
    for rate, servers, theta in ((10.0, 10, 0.5), (12.0, 10, 0.5), (10.0, 10, 2.0)):
        graph = station(context, rate, servers, EXPONENTIAL, 600_000)
        patience = {"law": "exponential", "mean": f"{1.0 / theta:g}s"}
        graph["load"]["u"]["call"] = {"patience": patience, "cancel": "queued"}
        run = context.run(graph)
        expected = theory.erlang_a(rate, 1.0, servers, theta)
        slack, name = TAILS[context.engine], f"(lam,c,theta)=({rate:g},{servers},{theta:g})"
        why = "" if context.engine == "exact" else _NEVER_EMPTY
        context.note(f"P(wait) {name}", expected.wait, over(run, _waited), expected.wait * slack, unmet=why)
        context.note(f"P(abandon) {name}", expected.abandon, over(run, _abandoned), expected.abandon * slack)


def q6(context: Context) -> None:
    """A tandem of three queues: Jackson's theorem."""
    names = {"a": 1.0, "b": 1.25, "c": 2.0}
    count = pods(context)
    graph = station(context, 0.8, 1, EXPONENTIAL, 800_000)
    graph["services"] = {
        "entry": {"workers": None, "operations": {"o": {"steps": [{"call": {"service": name}} for name in names]}}}
    }
    for name, mu in names.items():
        work = {"law": "exponential", "mean": f"{1.0 / mu:g}s"}
        graph["services"][name] = {"replicas": count, "operations": {"o": {"work": work}}}
    graph["load"]["u"]["target"] = "entry"
    run = context.run(graph)
    slack = MEANS[context.engine]
    whole = sum(theory.mmc_sojourn(0.8, mu, 1) for mu in names.values())
    context.note("T (seconds)", whole, over_load(run, lambda row: row.latency.mean / 1e9), whole * slack)
    for name, mu in names.items():
        expected = 0.8 / (mu - 0.8)
        inside = over(run, lambda row: (row.queue + row.busy) / count, name)
        context.note(f"L of the queue with mu={mu:g}", expected, inside, expected * slack)


def q7(context: Context) -> None:
    """M/M/1 with a time-out of one attempt and no retry: the server serves everybody all the same."""
    sizes = {50: 1_500_000, 80: 1_000_000, 90: 1_500_000, 95: 4_000_000}
    for rate, requests in sizes.items():
        graph = station(context, rate / 100.0, 1, EXPONENTIAL, requests)
        graph["load"]["u"]["call"] = {"timeout": "10s"}
        run = context.run(graph)
        expected = math.exp(-(100.0 - rate) * 0.1)
        late = over_load(run, lambda row: row.failed["timeout"] / row.arrivals)
        slack = expected * TAILS[context.engine]
        context.note(f"P(timeout), mu T=10, lambda={rate} of mu=100", expected, late, slack)


_NEVER_EMPTY = (
    "a diffusion whose waits end by impatience is hardly ever exactly empty, so that more wait for an instant"
)
_EXACT = "exact: 0.5 % of means, 0.8 % (a bin of its histograms) of quantiles and shares"
_SAMPLING = f"{_EXACT}; aggregate: 3 % of means, 5 % of quantiles and shares; both beyond the 99 % interval"

#: Q1-Q7.
ROWS: dict[str, Row] = {
    "Q1": Row("M/M/1, rho 0.8", "theory (Kleinrock 1975)", _SAMPLING, q1),
    "Q2": Row("M/M/c", "theory (Erlang C)", _SAMPLING, q2),
    "Q3": Row("M/G/1, rho 0.8", "theory (Pollaczek-Khinchine)", _SAMPLING, q3),
    "Q4": Row("M/M/c/K", "theory (balance equations)", _SAMPLING, q4),
    "Q5": Row(
        "Erlang-A: impatience in the queue",
        "theory (balance equations; Garnett, Mandelbaum, Reiman 2002)",
        _SAMPLING,
        q5,
    ),
    "Q6": Row("tandem of three queues", "theory (Jackson 1957)", _SAMPLING, q6),
    "Q7": Row("M/M/1 with a time-out, no retry", "theory: exp(-(mu - lambda) T)", _SAMPLING, q7),
}
