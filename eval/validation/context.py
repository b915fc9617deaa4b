"""What a row runs with: an engine, and how much of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from simcluster.eval.validation.finding import Estimate, Finding
from simcluster.models.traffic.exact import ExactRun
from simcluster.models.traffic.graph import GraphSpec, Result, spec_of

#: Where the engine of counts is, once installed.
AGGREGATE = "simcluster.models.traffic.aggregate"
Enough = Callable[[Result], bool]


def has_aggregate() -> bool:
    """Whether the `aggregate` engine is there and complete enough to run graphs."""
    return find_spec(AGGREGATE) is not None and hasattr(import_module(AGGREGATE), "AggregateRun")


def run_graph(engine: str, spec: GraphSpec, seed: int, enough: Enough | None = None) -> Result:
    """One run on an engine. `enough` may end it early where the engine can."""
    if engine == "exact":
        return ExactRun(spec, seed).run(enough)
    result: Result = import_module(AGGREGATE).AggregateRun(spec, seed).run()
    return result


@dataclass
class Context:
    """One row on one engine.

    Attributes:
        row, engine: their names.
        quick: a smaller sample, with wider confidence intervals.
        findings: what was found so far.
    """

    row: str
    engine: str
    quick: bool
    findings: list[Finding]

    def run(self, graph: Mapping[str, Any], seed: int = 0, enough: Enough | None = None) -> Result:
        """One run of a graph."""
        return run_graph(self.engine, spec_of(graph, f"{self.row}.yaml"), seed, enough)

    def runs(self, graph: Mapping[str, Any], count: int) -> list[Result]:
        """Independent runs."""
        spec = spec_of(graph, f"{self.row}.yaml")
        return [run_graph(self.engine, spec, seed) for seed in range(count)]

    def size(self, whole: int, quick: int) -> int:
        """How many, by how much was asked for."""
        return quick if self.quick else whole

    def span(self, seconds: int) -> int:
        """Simulated seconds of a long average: the cost of `aggregate` goes by ticks, not by requests."""
        return seconds if self.engine == "exact" else seconds // 8

    def note(
        self, quantity: str, expected: float, measured: float | Estimate, tolerance: float, bound: str = "both"
    ) -> None:
        """Keep one figure."""
        mean, half = measured if isinstance(measured, Estimate) else (measured, 0.0)
        self.findings.append(Finding(self.row, self.engine, quantity, expected, mean, tolerance, half, bound))


def rates(values: Sequence[float]) -> float:
    """The mean of a few rates."""
    return sum(values) / len(values)
