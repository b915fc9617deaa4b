"""The measurements of growth, on clusters so small that only their form can be tested."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from simcluster.cli.commands import bench
from simcluster.eval.bench import Measurement
from simcluster.eval.bench.scale import Load, _figures, load


def test_load() -> None:
    one = load(2)
    assert (one.nodes, one.pods) == (2, 60)
    assert one.spent_s > 0
    assert one.pods_per_s == pytest.approx(60 / one.spent_s)


def test_growth_is_judged_against_the_smallest() -> None:
    small, large = Load(100, 3000, 1.0, 10.0, 10.0, 3000 << 10), Load(300, 9000, 3.0, 60.0, 60.0, 9000 << 10)
    figures = {figure.name: figure for figure in [*_figures(small, small), *_figures(large, small)]}
    assert figures["100 nodes, 3000 pods: scheduled"].holds
    assert not figures["300 nodes, 9000 pods: scheduled"].holds
    assert not figures["300 nodes, 9000 pods: time until Ready"].holds
    assert figures["300 nodes, 9000 pods: memory"].holds


def test_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[int]] = []

    def measured(sizes: list[int], seed: int, progress: object) -> list[Measurement]:
        asked.append(sizes)
        return [Measurement("x", "s", 1.0, (1.0,))]

    monkeypatch.setattr(bench, "measure_scale", measured)
    result = CliRunner().invoke(bench.command, ["--scale", "100,300", "--json"])
    assert json.loads(result.stdout)[0]["name"] == "x"
    assert asked == [[100, 300]]
    assert CliRunner().invoke(bench.command, ["--scale", "0"]).exit_code == 2
