"""Runs a family on both engines and compares."""

from __future__ import annotations

from dataclasses import dataclass

from simcluster.models.traffic.aggregate import AggregateRun
from simcluster.models.traffic.exact import ExactRun
from simcluster.models.traffic.graph import spec_of
from simcluster.models.traffic.graph.histogram import Histogram
from simcluster.testing.agreement.families import COLLAPSE, Graph

ENGINES = (ExactRun, AggregateRun)


@dataclass(frozen=True)
class Cell:
    """Shares of the runs that collapsed, on `exact` and on `aggregate`."""

    load: float
    length_s: float
    exact: float
    aggregate: float

    @property
    def differs(self) -> bool:
        """Whether the engines are on different sides of one half."""
        return (self.exact - 0.5) * (self.aggregate - 0.5) < 0.0


@dataclass(frozen=True)
class Latency:
    """Relative differences of quantiles, `aggregate` against `exact`."""

    p50: float
    p90: float
    p99: float


def collapse_of(family: str, seeds: int) -> list[Cell]:
    """All cells of a family; a run collapsed if less than half of the last fifth's requests succeed."""
    loads, lengths, graph = COLLAPSE[family]
    cells = []
    for load in loads:
        for length in lengths:
            shares = [
                sum(_collapsed(engine, graph(load, length), seed) for seed in range(seeds)) / seeds  # integers
                for engine in ENGINES
            ]
            cells.append(Cell(load, length, *shares))
    return cells


def _collapsed(engine: type[ExactRun] | type[AggregateRun], graph: Graph, seed: int) -> bool:
    result = engine(spec_of(graph), seed).run()
    load = next(iter(result.load))
    late = result.between(load, result.end_ns - max(2 * result.window_ns, result.end_ns // 5), result.end_ns)
    return late.ok < 0.5 * late.arrivals


def latency_of(graph: Graph, seeds: int) -> Latency:
    """Quantiles of all seeds together."""
    found = []
    for engine in ENGINES:
        merged = Histogram()
        for seed in range(seeds):
            result = engine(spec_of(graph), seed).run()
            for total in result.load_totals.values():
                merged.merge(total.latency)
        found.append(merged)
    exact, aggregate = found
    return Latency(*(aggregate.quantile(q) / max(exact.quantile(q), 1.0) - 1.0 for q in (0.5, 0.9, 0.99)))
