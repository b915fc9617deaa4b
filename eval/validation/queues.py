"""Rows Q1-Q7: single queues and tandems against closed forms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from simcluster.eval.validation import theory
from simcluster.eval.validation.context import Context
from simcluster.eval.validation.finding import Estimate, estimate
from simcluster.eval.validation.row import Row
from simcluster.models.traffic.graph import Result

#: The diffusion inside a tick of the aggregate engine has a known error on short queues.
SLACK = {"exact": 0.005, "aggregate": 0.10}
#: Its barriers at 0 and at the bound lie half a request off, and equal service times are drawn as normal ones.
SLACK_SHORT = {"exact": 0.005, "aggregate": 0.20}
#: A diffusion is hardly ever exactly empty, so that more requests wait, if only for an instant.
SLACK_WAIT = {"exact": 0.005, "aggregate": 0.25}
EXPONENTIAL = {"law": "exponential", "mean": "1s"}
#: Stations that `aggregate` runs at once, each a pod of its own: its cost goes by ticks, hardly by pods.
PODS = 64


def pods(context: Context) -> int:
    """How many independent stations one run is."""
    return PODS if context.engine == "aggregate" else 1


def station(
    context: Context, rate: float, workers: int, work: Mapping[str, Any], requests: int, **more: Any
) -> dict[str, Any]:
    """One service, Poisson arrivals, long enough for so many requests; time in seconds.

    Requests are spread over the pods at random, so that each of them has Poisson arrivals too.
    """
    quick = 4 if context.quick else 1
    if context.engine == "aggregate":
        seconds = min(max(500, round(requests / rate / 40 / quick)), 2000)
    else:
        seconds = round(requests / rate / quick)
    count = pods(context)
    # A warm-up of 4 relaxation times at 80 %, 1 at 90 % (theory: 1/(sqrt(mu) - sqrt(lambda))**2 = 90, 380 s), or more.
    warmup = max(seconds // 50, min(400, seconds // 4))
    if context.engine == "aggregate" and workers == 1 and rate > 0.9:  # many pods for a short time: 2 of them
        warmup = round(2.0 / (1.0 - math.sqrt(rate)) ** 2)
        seconds = warmup + max(seconds, 1000)
    return {
        "run": {"duration": f"{seconds}s", "warmup": f"{warmup}s", "window": f"{warmup}s"},
        "services": {"s": {"workers": workers, "replicas": count, "operations": {"o": {"work": work}}, **more}},
        "load": {"u": {"target": "s", "open": {"rate": rate * count}}},
    }


def over_runs(runs: list[Result], value: Any) -> Estimate:
    """Mean and interval of a figure over independent runs."""
    return estimate([value(run) for run in runs])


def _sojourn(run: Result) -> float:
    return run.service_totals["s"].sojourn.mean / 1e9


def _wait(run: Result) -> float:
    return run.service_totals["s"].wait.mean / 1e9


def _blocked(run: Result) -> float:
    total = run.service_totals["s"]
    return total.rejected / total.arrivals


def _repeated(context: Context, graph: Mapping[str, Any]) -> list[Result]:
    """Independent runs; a run of `aggregate` is already the mean of many pods."""
    return context.runs(graph, context.size(10, 5) if context.engine == "aggregate" else context.size(20, 8))


def q1(context: Context) -> None:
    """M/M/1 at 80 %."""
    runs = _repeated(context, station(context, 0.8, 1, EXPONENTIAL, 160_000))
    slack, count = SLACK[context.engine], pods(context)
    inside = over_runs(runs, lambda run: (run.service_totals["s"].queue + run.service_totals["s"].busy) / count)
    context.note("L (requests inside)", 4.0, inside, 4.0 * slack)
    context.note("T (seconds)", theory.mmc_sojourn(0.8, 1.0, 1), over_runs(runs, _sojourn), 5.0 * slack)
    p99 = over_runs(runs, lambda run: run.service_totals["s"].sojourn.quantile(0.99) / 1e9)
    context.note("p99 of T (seconds)", theory.mm1_quantile(0.8, 1.0, 0.99), p99, 23.03 * max(slack, 0.008))


def q2(context: Context) -> None:
    """M/M/c."""
    for servers, rho in ((4, 0.8), (4, 0.95), (8, 0.9), (16, 0.9)):
        rate = servers * rho
        runs = _repeated(context, station(context, rate, servers, EXPONENTIAL, 300_000 if rho > 0.94 else 100_000))
        expected = theory.mmc_sojourn(rate, 1.0, servers)
        slack = SLACK[context.engine]
        context.note(f"T mu, c={servers} rho={rho}", expected, over_runs(runs, _sojourn), expected * slack)
        waits = over_runs(runs, lambda run: run.service_totals["s"].wait.share_above(0.0))
        chance = theory.erlang_c(rate, servers)
        slack = SLACK_WAIT[context.engine]
        context.note(f"P(wait), c={servers} rho={rho}", chance, waits, chance * slack)


def q3(context: Context) -> None:
    """M/G/1."""
    laws: tuple[tuple[float, Mapping[str, Any]], ...] = (
        (0.0, {"law": "deterministic", "mean": "1s"}),
        (1.0, EXPONENTIAL),
        (4.0, {"law": "hyperexponential", "mean": "1s", "cv": 2.0}),
    )
    for squared, law in laws:
        runs = _repeated(context, station(context, 0.8, 1, law, 100_000 if squared < 2.0 else 300_000))
        expected = theory.mg1_wait(0.8, 1.0, squared)
        slack = (SLACK if squared else SLACK_SHORT)[context.engine]
        context.note(f"Wq/E[S], cs2={squared:g}", expected, over_runs(runs, _wait), expected * slack)


def q4(context: Context) -> None:
    """M/M/c/K."""
    for rate, servers, places in ((0.9, 1, 10), (1.2, 1, 10), (3.6, 4, 20), (6.0, 4, 20)):
        graph = station(context, rate, servers, EXPONENTIAL, 60_000, queue={"bound": places - servers})
        runs = _repeated(context, graph)
        expected = theory.mmck(rate, 1.0, servers, places)
        slack, name = SLACK_SHORT[context.engine], f"(lam,c,K)=({rate:g},{servers},{places})"
        context.note(f"P(block) {name}", expected.blocked, over_runs(runs, _blocked), expected.blocked * slack)
        context.note(f"T {name}", expected.sojourn, over_runs(runs, _sojourn), expected.sojourn * slack)


def _abandoned(run: Result) -> float:
    total = run.service_totals["s"]
    return 1.0 - (total.served + total.rejected) / total.arrivals


def _waited(run: Result) -> float:
    total = run.service_totals["s"]
    return 1.0 - total.wait.count * (1.0 - total.wait.share_above(0.0)) / total.arrivals


def q5(context: Context) -> None:
    """Erlang-A: who waits gives up after an exponential time."""
    for rate, servers, theta in ((10.0, 10, 0.5), (12.0, 10, 0.5), (10.0, 10, 2.0)):
        graph = station(context, rate, servers, EXPONENTIAL, 30_000)
        patience = {"law": "exponential", "mean": f"{1.0 / theta:g}s"}
        graph["load"]["u"]["call"] = {"patience": patience, "cancel": "queued"}
        runs = _repeated(context, graph)
        expected = theory.erlang_a(rate, 1.0, servers, theta)
        slack, name = SLACK[context.engine], f"(lam,c,theta)=({rate:g},{servers},{theta:g})"
        if context.engine == "exact":
            waits = over_runs(runs, _waited)
            context.note(f"P(wait) {name}", expected.wait, waits, expected.wait * SLACK_WAIT["exact"])
        context.note(f"P(abandon) {name}", expected.abandon, over_runs(runs, _abandoned), expected.abandon * slack)


def q6(context: Context) -> None:
    """A tandem of three queues: Jackson's theorem."""
    names = {"a": 1.0, "b": 1.25, "c": 2.0}
    count = pods(context)
    graph = station(context, 0.8, 1, EXPONENTIAL, 40_000)
    graph["services"] = {
        "entry": {"workers": None, "operations": {"o": {"steps": [{"call": {"service": name}} for name in names]}}}
    }
    for name, mu in names.items():
        work = {"law": "exponential", "mean": f"{1.0 / mu:g}s"}
        graph["services"][name] = {"replicas": count, "operations": {"o": {"work": work}}}
    graph["load"]["u"]["target"] = "entry"
    runs = _repeated(context, graph)
    slack = SLACK[context.engine]
    whole = sum(theory.mmc_sojourn(0.8, mu, 1) for mu in names.values())
    context.note(
        "T (seconds)", whole, over_runs(runs, lambda run: run.load_totals["u"].latency.mean / 1e9), whole * slack
    )
    for name, mu in names.items():
        expected = 0.8 / (mu - 0.8)
        inside = estimate([(run.service_totals[name].queue + run.service_totals[name].busy) / count for run in runs])
        context.note(f"L of the queue with mu={mu:g}", expected, inside, expected * slack)


def q7(context: Context) -> None:
    """M/M/1 with a time-out of one attempt and no retry: the server serves everybody all the same."""
    for rate in (50, 80, 90, 95):
        graph = station(context, rate / 100.0, 1, EXPONENTIAL, {50: 10_000, 80: 20_000, 90: 40_000, 95: 80_000}[rate])
        graph["load"]["u"]["call"] = {"timeout": "10s"}
        runs = _repeated(context, graph)
        expected = math.exp(-(100.0 - rate) * 0.1)
        late = estimate([run.load_totals["u"].failed["timeout"] / run.load_totals["u"].arrivals for run in runs])
        allowed = 0.01 * expected if context.engine == "exact" else max(0.10 * expected, 0.005)
        context.note(f"P(timeout), mu T=10, lambda={rate} of mu=100", expected, late, allowed)


_EXACT = "exact: 0.5 % of the figure beyond the 99 % confidence interval of the runs"
_SAMPLING = f"{_EXACT} (quantiles 0.8 %: the bins); aggregate: 10 %, what its diffusion is off on short queues"
_WAITING = "; 25 % on P(wait): a diffusion is hardly ever exactly empty, so that more wait, if only for an instant"

#: Q1-Q7.
ROWS: dict[str, Row] = {
    "Q1": Row("M/M/1, rho 0.8", "theory (Kleinrock 1975)", _SAMPLING, q1),
    "Q2": Row("M/M/c", "theory (Erlang C)", _SAMPLING + _WAITING, q2),
    "Q3": Row(
        "M/G/1, rho 0.8",
        "theory (Pollaczek-Khinchine)",
        _SAMPLING + "; 20 % where service times are all equal: in a tick it draws their number as a normal one",
        q3,
    ),
    "Q4": Row(
        "M/M/c/K",
        "theory (balance equations)",
        f"{_EXACT}; aggregate: 20 %: its barriers at 0 and at the bound lie half a request off, "
        "which is a tenth of a queue of ten places",
        q4,
    ),
    "Q5": Row(
        "Erlang-A: impatience in the queue",
        "theory (balance equations; Garnett, Mandelbaum, Reiman 2002)",
        f"{_EXACT}; aggregate: 10 % of those who abandon; not P(wait), which needs the chance that a queue is "
        "exactly empty: a diffusion whose waits end by impatience is hardly ever",
        q5,
    ),
    "Q6": Row("tandem of three queues", "theory (Jackson 1957)", _SAMPLING, q6),
    "Q7": Row(
        "M/M/1 with a time-out, no retry",
        "theory: exp(-(mu - lambda) T)",
        "exact: 1 % beyond the interval; aggregate: 10 %, or half a percent of the requests: the tail of its "
        "diffusion is half again too heavy at rho 0.5, where hardly any request is late",
        q7,
    ),
}
