"""Sent = succeeded + failed + under way, exactly: of every load and every edge, at every tick and in every window.

In both engines, through calm and storms and the switches between them, lost replicas and cut edges, and where a live
graph is built anew because pods come and go, services get other names or calls lead elsewhere. (In the cluster:
`cluster/test_conservation.py`.)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from simcluster.eval.bench.layered import layered_spec
from simcluster.models.traffic import graph as package
from simcluster.models.traffic.aggregate import AggregateRun
from simcluster.models.traffic.aggregate.live import LiveTraffic
from simcluster.models.traffic.aggregate.wholes import whole, whole_parts
from simcluster.models.traffic.exact import ExactRun
from simcluster.models.traffic.graph import GraphSpec, Result, load_spec, spec_of
from tests.models.traffic.test_counts import _shortened

Array = NDArray[np.float64]

GRAPHS = sorted((Path(__file__).parent / "graphs").glob("*.yaml"))
EXAMPLES = [*sorted((Path(package.__file__).parent / "examples").glob("*.yaml")), *GRAPHS]
#: Examples short enough for every test; the others in the long sweep.
SHORT = ("retry_storm", "hotel", "defences", "retry_budget", "first_tries_first")
MS, SECOND = 1_000_000, 1_000_000_000


def books(run: AggregateRun) -> tuple[Array, Array]:
    """Calls that began on every edge since the beginning, and those that ended or are under way."""
    sums, callers = run.recorder.so_far(), run.callers
    ended = sums.edges[2] + np.add.reduce(sums.final, axis=0)
    found = ended + callers.in_flight()
    begun = sums.fresh.copy()
    for side in (begun, found):
        side[run.layout.asynchronous] = 0.0
        side[callers.firsts] += side[callers.laters]  # those make the retries of these
        side[callers.laters] = 0.0
    return begun, found


def assert_balanced(run: AggregateRun) -> None:
    begun, found = books(run)
    assert found == pytest.approx(begun, abs=1e-6, rel=1e-9), run.tick


def assert_whole(result: Result) -> None:
    """Whole numbers, window by window."""
    for rows in result.load.values():
        open_ = 0
        for row in rows:
            assert min(row.arrivals, row.attempts, row.ok, *row.failed.values(), *row.attempts_failed.values()) >= 0
            open_ += row.arrivals - row.ok - sum(row.failed.values())
            assert row.waiting == open_ >= 0


def followed(spec: GraphSpec) -> Result:
    run = AggregateRun(spec, 3)
    while run.tick < run.ticks and not run.stopped:
        run.step()
        assert_balanced(run)
    result = run.result()
    assert_whole(result)
    return result


@pytest.mark.parametrize("name", SHORT)
def test_books_of_examples_balance(name: str) -> None:
    spec = load_spec(next(path for path in EXAMPLES if path.stem == name))
    assert followed(_shortened(spec, "2s")).load
    assert_whole(ExactRun(_shortened(spec, "1s"), 3).run())


@pytest.mark.slow(sample=0)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_books_of_all_examples_balance(path: Path) -> None:
    spec = load_spec(path)
    followed(_shortened(spec, "4s"))
    assert_whole(ExactRun(_shortened(spec, "4s"), 3).run())


@pytest.mark.parametrize("storm_at", [None, 1])
def test_books_of_a_large_graph_balance(storm_at: int | None) -> None:
    result = followed(layered_spec(52, seconds=4, storm_at=storm_at))
    assert ("wide" if storm_at is None else "fine") in result.strategies


def test_the_last_tick_of_a_long_window_counts() -> None:
    graph = {
        "network": {"law": "exponential", "mean": "10ms"},
        "run": {"duration": "30s", "window": "30s"},
        "services": {"s": {"workers": None, "operations": {"o": {"work": "5ms", "failure": 0.1}}}},
        "load": {"users": {"target": "s", "open": {"rate": 1000}, "call": {"retries": {"attempts": 4}}}},
    }
    for engine in (AggregateRun, ExactRun):
        total = engine(spec_of(graph), 1).run().load_totals["users"]
        assert total.arrivals == pytest.approx(30_000, abs=700)
        assert total.arrivals == total.ok + sum(total.failed.values()) + total.waiting
        assert 0 <= total.waiting < 100


# --- graphs that are built anew -----------------------------------------------------------


def shop(**change: Any) -> dict[str, Any]:
    """Users, a front end, and a store that may be called otherwise, have other replicas or nobody behind it."""
    store = {"timeout": "300ms", "retries": {"attempts": 3, "backoff": {"base": "50ms"}}, **change.get("policy", {})}
    back = change.get("store", "store")
    call = {"call": {"service": back, **store}}
    second = {"call": {"service": "cache", "timeout": None, "required": False}}
    users = {"timeout": "1s", "retries": {"attempts": 2, "budget": {"tokens": 5, "per_call": 0.1}}}
    users["breaker"] = {"failure_ratio": 0.9, "window": "5s"}
    front = {"operations": {"o": {"work": "1ms", "steps": [call, second]}}, "workers": None}
    work = {"law": "exponential", "mean": "8ms"}
    return {
        "services": {
            change.get("front", "front"): {**front, "replicas": change.get("fronts", 2)},
            back: {"replicas": change.get("stores", 2), "operations": {"o": {"work": work}}},
            "cache": {"workers": None, "operations": {"o": {"work": "1ms"}}},
        },
        "load": {
            "people": {
                "target": change.get("front", "front"),
                "open": {"rate": 200},
                "call": {**users, **change.get("call", {})},
                "clients": 3,
            }
        },
    }


def pods_of(graph: dict[str, Any], names: dict[str, list[str]]) -> dict[str, list[str]]:
    return {
        service: names.get(service, [f"{service}-{i}" for i in range(law.get("replicas", 1))])
        for service, law in graph["services"].items()
    }


#: What happens to the graph, one change after the other; every one is a whole description.
CHANGES: dict[str, dict[str, Any]] = {
    "a pod is gone": {"stores": 1},
    "it is back": {"stores": 2},
    "it is called otherwise": {"store": "store~2", "names": {"store~2": ["store-0", "store-1"]}},
    "its pods are replaced": {"store": "store~2", "names": {"store~2": ["store-8", "store-9"]}},
    "nobody answers": {"store": "nobody.80", "stores": 1},
    "some do again": {"stores": 3},
    "the front end is called otherwise": {"front": "front~2", "names": {"front~2": ["front-0", "front-1"]}},
    "it is as it was": {},
    "users wait less": {"call": {"timeout": "100ms"}},
    "users wait for ever": {"call": {"timeout": None}},
    "calls wait longer": {"policy": {"timeout": "2s", "retries": {"attempts": 6}}},
}


@settings(max_examples=3, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(st.permutations(list(CHANGES)), st.sampled_from([40, 150, 400]))
def test_no_call_is_lost_when_a_live_graph_is_built_anew(order: list[str], rate: int) -> None:
    graph = shop()
    live = LiveTraffic(spec_of(graph), 5, 20 * MS, pods_of(graph, {}), prompt=True)
    live.set_rate("people", float(rate))
    begun = ended = 0.0
    for number, change in enumerate(order):
        for _ in range(12):
            live.advance(live.now_ns + 20 * MS)
            assert_balanced_since(live.engine, begun - ended)
        here, there = books(live.engine)
        sums, under_way = here.sum(), live.engine.callers.in_flight()[~live.engine.layout.asynchronous].sum()
        begun, ended = begun + sums, ended + there.sum() - under_way
        live.take()
        if number % 3 == 2:
            live.set_edge("people", next(iter(graph["services"])), refused=0.3)
        described = dict(CHANGES[change])
        names = described.pop("names", {})
        graph = shop(**described)
        live.rebuild(spec_of(graph), pods_of(graph, names))
        assert live.engine.callers.in_flight().sum() == pytest.approx(under_way, abs=1e-6), change
        live.set_rate("people", float(rate))
    live.set_rate("people", 0.0)
    live.advance(live.now_ns + 40 * SECOND)
    assert live.engine.callers.in_flight().sum() == pytest.approx(0.0, abs=1e-3)


def assert_balanced_since(run: AggregateRun, open_: float) -> None:
    """All edges together, since a graph was built with so many calls under way."""
    begun, found = books(run)
    assert found.sum() == pytest.approx(begun.sum() + open_, abs=1e-5), run.tick


def test_who_waited_for_a_pod_that_is_gone_hears_of_it_though_the_call_leads_elsewhere_now() -> None:
    graph = shop()
    live = LiveTraffic(spec_of(graph), 5, 20 * MS, pods_of(graph, {}))
    live.set_rate("people", 400.0)
    live.advance(2 * SECOND)
    edge = next(e.index for e in live.engine.graph.edges if e.caller_name == "front")
    waiting = float(live.engine.callers.flying[:, :, edge].sum())
    assert waiting > 50
    assert live.waiting("store-0") + live.waiting("store-1") > waiting
    live.take()
    graph = shop(store="nobody.80", stores=1)
    live.rebuild(spec_of(graph), pods_of(graph, {}))
    live.set_edge("front", "nobody.80", refused=1.0)
    live.advance(live.now_ns + 20 * MS)
    counted = live.take().edges["front", "nobody.80/o"]
    assert counted.error == pytest.approx(waiting, rel=0.1)


# --- whole numbers ------------------------------------------------------------------------


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.lists(st.floats(0.0, 3.0), min_size=5, max_size=5), min_size=1, max_size=30))
def test_whole_parts_make_up_the_whole(windows: list[list[float]]) -> None:
    kinds = np.array(windows).T
    parts, sums = whole_parts(kinds), np.add.reduce(kinds, axis=0)
    assert (parts >= 0).all()
    assert np.abs(np.cumsum(parts, axis=1) - np.cumsum(kinds, axis=1)).max() < 2.0
    total = np.cumsum(np.add.reduce(parts, axis=0))
    assert np.abs(total - np.cumsum(sums)).max() <= 0.5 + 1e-9
    assert (whole(kinds, axis=1) >= 0).all()
