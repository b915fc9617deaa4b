"""What a row runs with: an engine, and how much of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from simcluster.eval.validation.copies import Copies, Enough, copied
from simcluster.eval.validation.finding import Estimate, Finding, Share
from simcluster.models.traffic.exact import ExactRun
from simcluster.models.traffic.graph import GraphSpec, Result, spec_of

#: Where the engine of counts is, once installed.
AGGREGATE = "simcluster.models.traffic.aggregate"
#: Asked after every window with the number of windows and what waits in each service's queue.
Asked = Callable[[int, Sequence[float]], bool]


def has_aggregate() -> bool:
    """Whether the `aggregate` engine is there and complete enough to run graphs."""
    return find_spec(AGGREGATE) is not None and hasattr(import_module(AGGREGATE), "AggregateRun")


def run_graph(engine: str, spec: GraphSpec, seed: int, enough: Asked | None = None) -> Result:
    """One run on an engine.

    Args:
        enough: asked after every window; True ends the run there.
    """
    if engine == "exact":
        return _known(ExactRun(spec, seed).run(None if enough is None else _asked(enough)), spec)
    run = import_module(AGGREGATE).AggregateRun(spec, seed)
    window, seen = spec.run.window, 0
    while enough is not None and run.tick < run.ticks and not run.stopped:
        run.step()
        if run.tick * run.tick_ns // window > seen:
            seen = run.tick * run.tick_ns // window
            if enough(seen, run.recorder.queue_end[seen - 1].tolist()):
                break
    result: Result = run.run() if enough is None else run.result()
    return _known(result, spec)


def _known(result: Result, spec: GraphSpec) -> Result:
    """The result, and on how many requests a replica can work."""
    result.servers = {name: service.cores or service.workers for name, service in spec.services.items()}
    return result


def _asked(enough: Asked) -> Callable[[Result], bool]:
    def ask(result: Result) -> bool:
        rows = list(result.services.values())
        return enough(len(rows[0]), [row[-1].queue_end for row in rows])

    return ask


class _AllDecided:
    """Whether the outcome of every copy is known; a copy's stays known."""

    def __init__(self, enough: Enough, count: int) -> None:
        self.enough = enough
        self.known = [False] * count

    def __call__(self, windows: int, waiting: Sequence[float]) -> bool:
        self.known = [known or self.enough(windows, here) for known, here in zip(self.known, waiting, strict=True)]
        return all(self.known)


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

    def run(self, graph: Mapping[str, Any], seed: int = 0, enough: Asked | None = None) -> Result:
        """One run of a graph."""
        return run_graph(self.engine, spec_of(graph, f"{self.row}.yaml"), seed, enough)

    def runs(self, graph: Mapping[str, Any], count: int) -> list[Result]:
        """Independent runs."""
        spec = spec_of(graph, f"{self.row}.yaml")
        return [run_graph(self.engine, spec, seed) for seed in range(count)]

    def copies(self, graph: Mapping[str, Any], count: int, enough: Enough | None = None) -> Copies:
        """Independent runs of a graph of one service and one load; `enough` may end a run whose outcome is known."""
        load = next(iter(graph["load"]))
        if self.engine == "aggregate":
            asked = None if enough is None else _AllDecided(enough, count)
            result = self.run(copied(graph, count), 0, asked)
            return Copies(list(result.services.values()), [result], load)
        ends = None if enough is None else lambda windows, waiting: enough(windows, waiting[0])
        spec = spec_of(graph, f"{self.row}.yaml")
        results = [run_graph(self.engine, spec, seed, ends) for seed in range(count)]
        return Copies([next(iter(result.services.values())) for result in results], results, load)

    def size(self, whole: int, quick: int) -> int:
        """How many, by how much was asked for."""
        return quick if self.quick else whole

    def note(
        self,
        quantity: str,
        expected: float,
        measured: float | Estimate,
        tolerance: float,
        bound: str = "both",
        unmet: str = "",
    ) -> None:
        """Keep one figure; `unmet` says why the model cannot give it."""
        mean, half = measured if isinstance(measured, Estimate) else (measured, 0.0)
        self.findings.append(
            Finding(self.row, self.engine, quantity, expected, mean, tolerance, half, bound, None, unmet)
        )

    def share(self, quantity: str, expected: float, runs: int, counted: Share) -> None:
        """Keep a share of runs.

        Args:
            expected: the fact, counted in so many `runs`; 0 runs is a probability that theory gives.
        """
        fact = Share(round(expected * runs) if runs else expected, runs)
        tolerance = fact.half if runs else 0.0
        found = Finding(self.row, self.engine, quantity, expected, counted.mean, tolerance, counted.half, "both",
                        (counted, fact))  # fmt: skip
        self.findings.append(found)
