"""Runs a cell on both engines and compares.

Of a collapse cell `FEW` runs are made on each engine, and `MANY` where either share lies between .05 and .95 (few
runs cannot fail: of ten each, .3 and .7 are told apart one time in four). It differs when Fisher's exact test says so
at 1 %. Of a stationary cell the figures differ that are further apart than `TOLERANCE` and the 99 % interval of both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from simcluster.models.traffic.aggregate import AggregateRun
from simcluster.models.traffic.exact import ExactRun
from simcluster.models.traffic.graph import spec_of
from simcluster.models.traffic.graph.result import Result
from simcluster.testing.agreement.families import Cell
from simcluster.testing.agreement.graphs import Graph
from simcluster.testing.agreement.statistics import fisher, half_width

ENGINES = ("exact", "aggregate")
#: Runs of a collapse cell, and where it is between the two ends; runs of a stationary cell.
FEW, MANY, STILL = 10, 100, 6
#: Of a stationary cell: calm, and not.
TOLERANCE = {
    "mean": (0.03, 0.03), "p50": (0.05, 0.1), "p90": (0.05, 0.1), "p99": (0.05, 0.1),
    "attempts": (0.03, 0.03), "failed": (0.05, 0.1),
}  # fmt: skip
#: Utilisation up to which a cell is calm, and the share of requests that may fail there.
CALM, RARE = 0.8, 0.001
#: What fails less often is not compared.
_FEW_FAIL = 0.002


@dataclass(frozen=True)
class Outcome:
    """What one run showed: whether it collapsed, and figures of all its loads together (times in seconds)."""

    collapsed: bool
    busiest: float
    figures: dict[str, float]


@dataclass(frozen=True)
class Share:
    """A collapse cell: how many of so many runs collapsed, on each engine."""

    cell: str
    exact: int
    exact_runs: int
    aggregate: int
    aggregate_runs: int

    @property
    def p(self) -> float:
        """Probability of so different shares by chance."""
        return fisher(self.exact, self.exact_runs, self.aggregate, self.aggregate_runs)

    @property
    def differs(self) -> bool:
        """Whether the engines differ by more than sampling."""
        return self.p < 0.01

    def described(self) -> str:
        """In words."""
        return f"{self.cell}: {self.exact}/{self.exact_runs} and {self.aggregate}/{self.aggregate_runs}, p {self.p:.2g}"


@dataclass(frozen=True)
class Stationary:
    """A stationary cell: relative differences (of `aggregate` from `exact`), and their 99 % intervals."""

    cell: str
    calm: bool
    errors: dict[str, float]
    widths: dict[str, float]

    @property
    def wrong(self) -> dict[str, float]:
        """Figures that differ by more than is allowed."""
        limits = {name: TOLERANCE[name][0 if self.calm else 1] for name in self.errors}
        return {name: e for name, e in self.errors.items() if abs(e) > limits[name] + self.widths[name]}

    @property
    def differs(self) -> bool:
        """Whether any figure does."""
        return bool(self.wrong)

    def described(self) -> str:
        """In words; figures that differ have a mark."""
        wrong = self.wrong
        parts = (f"{name} {e:+.1%}{' !' if name in wrong else ''}" for name, e in self.errors.items())
        return f"{self.cell}: {', '.join(parts)}"


Runner = Callable[[str, Graph, int], Outcome]


def run_of(engine: str, graph: Graph, seed: int) -> Outcome:
    """One run; it collapsed if less than half of the last fifth's requests of its first load succeed."""
    result = (ExactRun if engine == "exact" else AggregateRun)(spec_of(graph), seed).run()
    load = next(iter(result.load))
    late = result.between(load, result.end_ns - max(2 * result.window_ns, result.end_ns // 5), result.end_ns)
    busy = [
        row.working / (servers * row.up)
        for name, row in result.service_totals.items()
        if (servers := result.servers.get(name)) and row.up
    ]
    return Outcome(late.ok < 0.5 * late.arrivals, max(busy, default=0.0), _figures(result))


def _figures(result: Result) -> dict[str, float]:
    total = next(iter(result.load_totals.values()))
    latency, asked = total.latency, max(total.arrivals, 1)
    failed = sum(total.failed.values())  # integers
    return {
        "mean": latency.mean / 1e9,
        **{f"p{int(q * 100)}": latency.quantile(q) / 1e9 for q in (0.5, 0.9, 0.99)},
        "attempts": total.attempts / asked,
        "failed": failed / max(failed + total.ok, 1),
    }


def compare(cell: Cell, few: int = FEW, many: int = MANY, run: Runner = run_of) -> Share | Stationary:
    """Both engines on one cell.

    Args:
        few: runs of each engine; of a stationary cell at most `STILL`, at least two.
        many: runs of a collapse cell between the two ends.
    """
    if not cell.collapse:
        seeds = range(max(2, min(few, STILL)))
        return _stationary(cell.name, *([run(engine, cell.graph, seed) for seed in seeds] for engine in ENGINES))
    counts = [sum(run(engine, cell.graph, seed).collapsed for seed in range(few)) for engine in ENGINES]  # integers
    runs = few
    if many > few and any(0.05 < count / few < 0.95 for count in counts):
        more = range(few, many)
        counts = [
            count + sum(run(engine, cell.graph, seed).collapsed for seed in more)  # integers
            for count, engine in zip(counts, ENGINES, strict=True)
        ]
        runs = many
    return Share(cell.name, counts[0], runs, counts[1], runs)


def _stationary(name: str, exact: Sequence[Outcome], aggregate: Sequence[Outcome]) -> Stationary:
    busiest = max(one.busiest for one in exact)
    failing = max(one.figures["failed"] for one in exact)
    errors, widths = {}, {}
    for figure in TOLERANCE:
        first, second = ([one.figures[figure] for one in runs] for runs in (exact, aggregate))
        mean = sum(first) / len(first)  # of a handful
        if mean <= (_FEW_FAIL if figure == "failed" else 0.0):
            continue
        errors[figure] = sum(second) / len(second) / mean - 1.0
        widths[figure] = half_width(first, second)
    return Stationary(name, busiest <= CALM and failing <= RARE, errors, widths)
