"""What every row about traffic promises, and the graphs that it asks for: pinned.

The graphs run with a fiftieth of their requests, two copies where a row wants many, and what is measured then is
pinned to three digits; whether the figures hold says a whole run (`test_rows`, `simcluster validate`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from simcluster.engine.clock import parse_duration
from simcluster.eval.validation import ROWS
from simcluster.eval.validation.context import Asked, Context
from simcluster.eval.validation.copies import Copies, Enough
from simcluster.models.traffic.graph import Result
from tests.pins import Pins

#: So much of every rate is left.
THIN = 0.02
#: Rows about traffic but C1, whose cache takes its time to fill.
NAMES = [name for name in ROWS if name[0] in "QRGPEJA"]


def few(graph: Mapping[str, Any]) -> dict[str, Any]:
    """A graph with fewer requests: a shorter time where nothing happens but arrivals, else lower rates."""
    if graph.get("events") or "stages" in json.dumps(graph["load"]) or "caches" in json.dumps(graph["services"]):
        return dict(thin(graph))
    run = {name: f"{max(1, round(parse_duration(span) * THIN))}ns" for name, span in graph["run"].items()}
    return {**graph, "run": run}


def thin(part: Any, key: str = "") -> Any:
    """A graph with fewer requests: rates of loads, of their stages and of events, and users who wait."""
    if isinstance(part, Mapping):
        return {name: thin(inner, name) for name, inner in part.items()}
    if isinstance(part, list):
        return [thin(inner, key) for inner in part]
    if key in ("rate", "to") and isinstance(part, int | float):
        return part * THIN
    return max(1, round(part * THIN)) if key == "users" and isinstance(part, int) else part


@dataclass
class Glance(Context):
    """A context that keeps what it is asked for, and looks at little of it."""

    asked: list[str] = field(default_factory=list)

    def run(self, graph: Mapping[str, Any], seed: int = 0, enough: Asked | None = None) -> Result:
        self.asked.append(f"run {seed} {json.dumps(graph)}")
        return super().run(few(graph), seed, enough)

    def runs(self, graph: Mapping[str, Any], count: int) -> list[Result]:
        self.asked.append(f"runs {count} {json.dumps(graph)}")
        return super().runs(few(graph), 2)

    def copies(self, graph: Mapping[str, Any], count: int, enough: Enough | None = None) -> Copies:
        self.asked.append(f"copies {count} {json.dumps(graph)}")
        return super().copies(few(graph), 2, enough)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_row_promises(pins: Pins, name: str) -> None:
    row = ROWS[name]
    lines = [row.title, row.source, row.tolerance, " ".join(row.engines)]
    for engine, quick in (("exact", False), ("exact", True)):
        context = Glance(name, engine, quick, [])
        row.measure(context)
        lines += [engine, *context.asked]
        for one in context.findings:
            bounds = f"{one.expected:g} {one.bound} {one.tolerance:.3g} {one.measured:.3g}"
            lines.append(f"{one.quantity}: {bounds} {one.unmet}".rstrip())
    pins.hold(f"{name}.txt.xz", lines)
