"""What stands still, and what only seems to: against the exact engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simcluster.models.traffic.aggregate import AggregateRun
from simcluster.models.traffic.aggregate.state import Options
from simcluster.models.traffic.exact import ExactRun
from simcluster.models.traffic.graph import spec_of
from simcluster.models.traffic.graph.result import LoadWindow
from simcluster.testing.agreement.graphs import single


def _total(engine: type[AggregateRun] | type[ExactRun], graph: dict[str, Any], seed: int = 3) -> LoadWindow:
    return engine(spec_of(graph), seed).run().load_totals["users"]


def test_an_ordinary_queue_whose_callers_are_now_and_then_late_is_no_storm() -> None:
    graph = single(42.5, 20, "200ms", seconds=20, warmup_s=2)
    run = AggregateRun(spec_of(graph), 3)
    leapt = 0
    while run.tick < run.ticks:
        before = run.tick
        run.step()
        leapt += run.tick - before - 1
    assert leapt < 0.5 * run.ticks
    total = run.result().load_totals["users"]
    assert 0.5 < total.ok / total.arrivals < 0.98
    assert total.latency.quantile(0.9) < 200e6


def test_what_a_full_queue_drops_is_late_though_nobody_waits_so_long() -> None:
    graph = single(650, 2, "300ms", seconds=10, warmup_s=2, queue={"bound": 50, "overflow": "drop"})
    total = _total(AggregateRun, graph)
    assert total.ok / total.arrivals == pytest.approx(500 / 650, abs=0.05)


def test_requests_that_a_breaker_refuses_are_requests() -> None:
    call = {"breaker": {"failure_ratio": 0.5, "window": "5s", "open_for": "1s"}}
    total = _total(AggregateRun, single(700, 2, "100ms", seconds=4, call=call))
    assert total.arrivals == pytest.approx(4 * 700, rel=0.08)
    assert total.failed["refused"] > 0.4 * total.arrivals


def test_an_unbounded_queue_grows_while_the_engine_leaps() -> None:
    graph = single(1500, 2, "200ms", seconds=40, queue={})
    result = AggregateRun(spec_of(graph), 1).run()
    ends = [row.queue for row in result.services["server"]]
    assert ends == sorted(ends)
    assert ends[-1] == pytest.approx(1000 * 38, rel=0.1)


def test_users_who_think_equally_long_are_never_fewer_than_none() -> None:
    graph = single(1, 2, "1s", seconds=2)
    graph["load"]["users"] = {"target": "server", "closed": {"users": 80, "think": "200ms"}, "call": {"timeout": "1s"}}
    total = _total(AggregateRun, graph)
    assert total.ok / 2.0 == pytest.approx(80 / 0.206, rel=0.12)


def test_bursts_weigh_as_much_as_they_bring() -> None:
    graph = single(1, 2, "2s", seconds=30)
    burst = {"factor": 3, "on": "500ms", "off": "4s"}
    graph["load"]["users"] = {"target": "server", "open": {"rate": 200, "burst": burst}, "call": {"timeout": "2s"}}
    ours, theirs = _total(AggregateRun, graph), _total(ExactRun, graph)
    assert ours.latency.quantile(0.95) == pytest.approx(theirs.latency.quantile(0.95), rel=0.5)


@pytest.mark.parametrize(("rate", "strategy"), [(150.0, "wide"), (900.0, "leap")])
def test_as_many_requests_end_as_begin_or_are_under_way_at_every_tick(rate: float, strategy: str) -> None:
    graph = single(rate, 2, "300ms", 3, seconds=40)
    graph["services"]["server"]["operations"]["serve"]["failure"] = 0.05
    run = AggregateRun(spec_of(graph), 3, options=Options(strategies=(strategy,)))
    roots = run.recorder.roots
    while run.tick < run.ticks:
        run.step()
        sums = run.recorder.so_far()
        ended = sums.edges[2] + np.add.reduce(sums.final, axis=0) + run.callers.in_flight()
        assert ended[roots] == pytest.approx(sums.fresh[roots], abs=1e-6), run.tick
    assert run.used[strategy] > run.ticks // 4
    rows = run.result().load["users"]
    begun = sum(row.arrivals for row in rows)
    assert sum(row.ok + sum(row.failed.values()) for row in rows) + rows[-1].waiting == begun
