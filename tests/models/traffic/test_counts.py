"""Every count of small runs of both engines under a fixed seed: whole tables, window by window.

Counts are integers and exact on every machine; a change of the model changes them, and then they are written anew
(`pytest --repin`) and read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from simcluster.engine.clock import parse_duration
from simcluster.models.traffic import graph as package
from simcluster.models.traffic.aggregate import AggregateRun
from simcluster.models.traffic.aggregate.state import Options
from simcluster.models.traffic.exact import ExactRun
from simcluster.models.traffic.graph import GraphSpec, Result, load_spec, spec_of
from simcluster.models.traffic.graph.histogram import Histogram
from simcluster.models.userland.outcome import Outcome
from tests.transcripts import check

_HERE = Path(__file__).parent
_EXAMPLES = Path(package.__file__).parent / "examples"


def run(line: str) -> Outcome:
    """`ENGINE GRAPH [DURATION [STRATEGY]]`: what was counted."""
    engine, name, *more = line.split()
    path = _HERE / "graphs" / f"{name}.yaml"
    spec = load_spec(path if path.exists() else _EXAMPLES / f"{name}.yaml")
    if more:
        spec = _shortened(spec, more[0])
    result = ExactRun(spec, 3).run() if engine == "exact" else AggregateRun(spec, 3, options=Options()).run()
    return Outcome("".join(f"{row}\n" for row in rows(result)))


def _shortened(spec: GraphSpec, duration: str) -> GraphSpec:
    """The same graph for a shorter time, in four windows, all of them counted."""
    data = json.loads(spec.model_dump_json(by_alias=True, exclude_none=True, exclude_defaults=True))
    length = parse_duration(duration)
    data["run"] = data.get("run", {}) | {"duration": f"{length}ns", "warmup": "0s", "window": f"{length // 4}ns"}
    data["events"] = [event for event in data.get("events", ()) if _begins(event) < length]
    return spec_of(data, spec.name)


def _begins(event: dict[str, str | int]) -> int:
    at = event.get("at", 0)
    return at if isinstance(at, int) else parse_duration(at)


def rows(result: Result) -> Iterator[str]:
    """One line for each window of each load, service and edge."""
    yield f"{result.strategies} {result.end_ns} {result.stopped}".rstrip()
    for name, loads in result.load.items():
        yield f"{name}: arrivals attempts ok, failed, attempts failed, waiting, latency"
        for load in [*loads, result.load_totals[name]]:
            failed = f"{list(load.failed.values())} {list(load.attempts_failed.values())}"
            yield f"  {load.arrivals} {load.attempts} {load.ok} {failed} {load.waiting} {_times(load.latency)}"
    for name, services in result.services.items():
        yield f"{name}: arrivals rejected served errors late, queue up hits lookups pause, busy working, wait, sojourn"
        for one in [*services, result.service_totals[name]]:
            counts = f"{one.arrivals} {one.rejected} {one.served} {one.errors} {one.late}"
            state = f"{one.queue_end} {one.up} {one.hits} {one.lookups} {one.pause_ns}"
            means = f"{one.queue:.4f} {one.busy:.4f} {one.working:.4f}"
            yield f"  {counts}, {state}, {means}, {_times(one.wait)}, {_times(one.sojourn)}"
    for name, edges in result.edges.items():
        totals = [*edges, result.edge_totals[name]]
        yield f"{name}: " + " ".join(f"{edge.attempts} {list(edge.attempts_failed.values())}" for edge in totals)


def _times(seen: Histogram) -> str:
    """How many there are, their mean and quantiles in microseconds."""
    if not seen.count:
        return "-"
    return f"{seen.count}x{seen.mean / 1e3:.1f}/{seen.quantile(0.5) / 1e3:.1f}/{seen.quantile(0.99) / 1e3:.1f}us"


@pytest.mark.parametrize("name", sorted(path.stem for path in _HERE.glob("*.transcript")))
def test_all_that_is_counted(request: pytest.FixtureRequest, name: str) -> None:
    check(request, _HERE / f"{name}.transcript", run, {})
