"""The examples say what their comments promise: published figures, from files that anybody could write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simcluster.cli import main
from simcluster.eval.validation.context import run_graph
from simcluster.models.traffic import graph as package
from simcluster.models.traffic.graph import load_spec

EXAMPLES = Path(package.__file__).parent / "examples"
#: Example, engine -> figures of the totals: path, expected, tolerance (random ones: four standard deviations).
FIGURES: list[tuple[str, str, str, float, float]] = [
    ("erlang_b", "exact", "load.callers.success", 0.8783, 0.012),
    ("two_choices", "exact", "load.users.latency.mean", 0.2614, 0.01),
    ("two_choices", "aggregate", "load.users.latency.mean", 0.2614, 0.02),
    ("fan_out", "exact", "load.users.latency.p50", 1.01, 0.01),
    ("fan_out", "exact", "load.users.latency.mean", 0.01 + 0.634, 0.08),
    ("fan_out", "aggregate", "load.users.latency.mean", 0.01 + 0.634, 0.08),
    ("hedging", "exact", "load.users.latency.mean", 0.039, 0.02),
    ("hedging", "exact", "services.leaf.per_request", 101.0, 0.2),
    ("retry_layers", "exact", "services.database.per_request", 64.0, 0.5),
    ("retry_layers", "exact", "load.users.attempts_per_request", 4.0, 0.05),
    ("retry_budget", "exact", "load.without.attempts_per_request", 3.0, 0.01),
    ("retry_budget", "exact", "load.with.attempts_per_request", 1.1, 0.01),
    ("adaptive_throttling", "exact", "services.backend.arrivals", 20.0, 1.0),
    ("first_tries_first", "exact", "services.database.queue_end", 0.0, 20.0),
    ("processor_sharing", "exact", "load.users.latency.mean", 0.05, 0.008),
    ("processor_sharing", "aggregate", "load.users.latency.mean", 0.05, 0.005),
    ("slow_error_path", "exact", "services.api.queue_end", 0.0, 30.0),
    ("slow_error_path", "aggregate", "services.api.queue_end", 0.0, 30.0),
    ("decorrelated_jitter", "exact", "load.users.latency.mean", 6.025, 0.15),
    ("decorrelated_jitter", "aggregate", "load.users.latency.mean", 6.025, 0.15),
    ("adaptive_concurrency", "exact", "load.users.latency.mean", 13.7 / 800.0, 1.0 / 800.0),
    ("adaptive_concurrency", "aggregate", "load.users.latency.mean", 13.7 / 800.0, 1.0 / 800.0),
    ("last_in_first_out", "exact", "load.one.goodput", 0.0, 0.5),
    ("last_in_first_out", "exact", "load.other.goodput", 97.0, 5.0),
]
#: Runs of many seconds, with `--whole` only; that the engines agree on such graphs, cells of `test_agreement` say.
LONG = [(name, "aggregate") for name in ("decorrelated_jitter", "processor_sharing", "slow_error_path")]
SMALL = """
run: {duration: 3s, window: 1s}
services:
  web: {workers: null, operations: {page: {steps: [{call: {service: db, timeout: 100ms, retries: {attempts: 2}}}]}}}
  db: {workers: 2, operations: {query: {work: {law: exponential, mean: 5ms}, failure: 0.2}}}
load:
  users: {target: web, open: {rate: 100}, call: {timeout: 1s}}
"""
_RUNS: dict[tuple[str, str], dict[str, Any]] = {}


def totals(name: str, engine: str) -> dict[str, Any]:
    if (name, engine) not in _RUNS:
        _RUNS[name, engine] = run_graph(engine, load_spec(EXAMPLES / f"{name}.yaml"), 1).to_dict()["totals"]
    return _RUNS[name, engine]


@pytest.mark.parametrize(
    ("name", "engine", "path", "expected", "tolerance"),
    [pytest.param(*row, marks=[pytest.mark.slow(sample=0)] * (row[:2] in LONG)) for row in FIGURES],
)
def test_an_example_shows_the_published_figure(
    name: str, engine: str, path: str, expected: float, tolerance: float
) -> None:
    value: Any = totals(name, engine)
    for step in path.split("."):
        value = value[step]
    assert value == pytest.approx(expected, abs=tolerance)


def test_json_has_the_documented_keys_on_both_engines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shapes, path = [], tmp_path / "small.yaml"
    path.write_text(SMALL)
    for engine in ("exact", "aggregate"):
        assert main(["traffic", str(path), "--engine", engine, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["format"] == "simcluster.traffic/1"
        shapes.append(shape(found["series"][1]))
        assert shape(found["totals"]) == {key: part for key, part in shapes[-1].items() if key != "t_s"}
        assert found["totals"]["edges"]["web -> db"]["failed"]["error"] > 0.0
    assert shapes[0] == shapes[1]
    assert list(shapes[0]["load"]["users"]) == [
        "arrivals", "attempts", "goodput", "failed", "attempts_failed", "success", "attempts_per_request", "latency",
        "waiting",
    ]  # fmt: skip


def shape(value: Any) -> Any:
    """The keys of a nested map."""
    return {key: shape(part) for key, part in value.items()} if isinstance(value, dict) else None


def test_several_seeds_make_a_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "small.yaml").write_text(SMALL)
    assert main(["traffic", str(tmp_path / "small.yaml"), "--seed", "5", "--seeds", "2", "--json"]) == 0
    assert [run["seed"] for run in json.loads(capsys.readouterr().out)] == [5, 6]
