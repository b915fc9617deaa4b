"""The measurements of traffic: the worlds they use, and the contest on one queue."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from simcluster.cli.commands import bench
from simcluster.eval.bench import Measurement
from simcluster.eval.bench import singlequeue as queue
from simcluster.eval.bench.treeworld import tree_spec


def test_utilisation_is_the_same_at_every_pace() -> None:
    usual, slow = tree_spec(15, rate=3000.0), tree_spec(15, rate=3.0, pace=0.001)
    for name, service in usual.services.items():
        work, scaled = service.operations["op"].work, slow.services[name].operations["op"].work
        assert work is not None
        assert scaled is not None
        assert scaled.mean_ns == pytest.approx(1000 * work.mean_ns, rel=1e-4)


@pytest.mark.parametrize("run", [queue.by_heap, queue.by_exact, queue.by_simpy])
def test_contestants_agree_with_theory(run: object) -> None:
    assert callable(run)
    assert run(20_000) == pytest.approx(5.0, rel=0.25)  # 1 / (mu - lambda)


def test_exact_is_judged_against_heap_and_others() -> None:
    found = {one.name: one for one in queue.figures({"heapq": 1e-6, "exact": 3e-6, "Ciw": 2e-6})}
    assert not found["M/M/1: exact over heapq"].holds
    assert not found["M/M/1: Ciw over exact"].holds
    assert found["M/M/1 on exact"].value == pytest.approx(333333.3)


def test_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "measure_traffic", lambda progress: [Measurement("calm", "x", 1.0, ())])
    result = CliRunner().invoke(bench.command, ["--traffic", "--json"])
    assert json.loads(result.stdout)[0]["name"] == "calm"
    assert CliRunner().invoke(bench.command, ["--traffic", "--scale", "4"]).exit_code == 2
