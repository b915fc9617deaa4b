"""Every way to evaluate a graph: named in one table, told in the docs, and alike on the same graphs."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from simcluster.engine import SECOND, fork
from simcluster.models.apps.callgraph import PORT, REPOSITORY, application_of
from simcluster.models.traffic.aggregate.fast import is_installed
from simcluster.models.traffic.aggregate.run import AggregateRun
from simcluster.models.traffic.aggregate.state import Options
from simcluster.models.traffic.exact import ExactRun
from simcluster.models.traffic.graph import GraphSpec, spec_of
from simcluster.models.traffic.graph.result import Result
from simcluster.models.traffic.strategies import STRATEGIES, TRAITS, possible
from tests.clusters.handmade import HandmadeCluster

DOCS = Path(__file__).parents[3] / "docs" / "TRAFFIC.md"
PODS = 42


def exponential(mean: str) -> dict[str, str]:
    return {"law": "exponential", "mean": mean}


def one_queue(rate: float, call: dict[str, Any] | None, seconds: int, **service: Any) -> GraphSpec:
    load = {"target": "s/o", "open": {"rate": rate}, "call": call or {}}
    return spec_of(
        {
            "run": {"duration": f"{seconds}s", "warmup": "2s", "window": "2s"},
            "services": {"s": {"operations": {"o": {"work": exponential("2ms")}}, **service}},
            "load": {"users": load},
        }
    )


def wide_tree(rate: float, seconds: int) -> GraphSpec:
    """Two levels of many pods, whose calls have time-outs and are tried again."""
    call = {"service": "b", "timeout": "1s", "retries": {"attempts": 3}, "times": 1.5}
    return spec_of(
        {
            "run": {"duration": f"{seconds}s", "warmup": "2s", "window": "2s"},
            "services": {
                "a": {
                    "replicas": 24,
                    "blocking": False,
                    "operations": {"o": {"work": exponential("4ms"), "steps": [{"call": call}]}},
                },
                "b": {"replicas": 32, "operations": {"o": {"work": exponential("5ms")}}},
            },
            "load": {"users": {"target": "a/o", "open": {"rate": rate}, "call": {"timeout": "3s"}}},
        }
    )


GRAPHS = {
    "a plain queue": one_queue(300, None, 30, workers=1),
    "a queue with time-outs": one_queue(300, {"timeout": "400ms", "retries": {"attempts": 2}}, 60),
    "a standing storm": one_queue(700, {"timeout": "400ms", "retries": {"attempts": 3}}, 40, queue={"bound": 2000}),
    "a wide tree": wide_tree(1500, 20),
}


def test_the_table_is_whole() -> None:
    for name, each in STRATEGIES.items():
        assert each.name == name
        assert each.never <= TRAITS.keys(), name
        module, _, what = each.evaluator.partition(":")
        if name != "compiled" or is_installed():
            assert not what or hasattr(importlib.import_module(f"simcluster.models.traffic.{module}"), what)
    for engine in ("exact", "aggregate", "cluster"):
        last = [each for each in STRATEGIES.values() if each.engine == engine][-1]
        assert not last.never
        assert possible(engine, TRAITS)[-1] == last.name
    with pytest.raises(ValueError, match="exact has no strategy 'fine'; it has single_queue"):
        possible("exact", (), ("fine",))


def test_the_docs_tell_the_table() -> None:
    text = DOCS.read_text()
    for name, each in STRATEGIES.items():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{name}` |"))
        columns = row.split("|")[3].replace("`", "").split(",")
        assert {trait.strip() for trait in columns if trait.strip() != "–"} == each.never, name


@pytest.mark.parametrize("name", GRAPHS)
def test_exact_strategies_have_the_same_figures(name: str) -> None:
    spec = GRAPHS[name]
    names = possible("exact", ExactRun(spec)._traits)
    results = [ExactRun(spec, 5, strategies=(each,)).run() for each in names]
    assert [result.strategies for result in results] == [(each,) for each in names]
    assert len({repr({**result.to_dict(), "strategies": None}) for result in results}) == 1


def test_each_exact_strategy_is_tried() -> None:
    used = {ExactRun(spec).strategy() for spec in GRAPHS.values()}
    assert used == {name for name, each in STRATEGIES.items() if each.engine == "exact"}


def figures(result: Result) -> tuple[float, float, float]:
    total = result.load_totals["users"]
    return total.ok / total.arrivals, total.attempts / total.arrivals, total.latency.mean / 1e9


@pytest.mark.parametrize("name", GRAPHS)
def test_aggregate_strategies_agree_with_fine_ticks_and_with_exact(name: str) -> None:
    spec = GRAPHS[name]
    reference = figures(ExactRun(spec, 5).run())
    for each in possible("aggregate", AggregateRun(spec).traits):
        run = AggregateRun(spec, 5, options=Options(strategies=(each,)))
        ok, attempts, latency = figures(run.run())
        assert set(run.strategies) == {each, "fine"}
        assert (ok, attempts) == pytest.approx(reference[:2], rel=0.03, abs=0.005), each
        if ok > 0.5:
            assert latency == pytest.approx(reference[2], rel=0.12), each


def test_wide_ticks_and_leaps_are_made_where_they_are_possible() -> None:
    made = {name: AggregateRun(spec, 5).run().strategies for name, spec in GRAPHS.items()}
    assert made["a queue with time-outs"][0] == "wide"
    assert "leap" in made["a standing storm"]
    assert "compiled" in AggregateRun(GRAPHS["a wide tree"]).strategies


@pytest.fixture(scope="module")
def cluster() -> HandmadeCluster:
    """Three services of many pods, one behind the other."""
    call = {"timeout": "1s", "retries": {"attempts": 3}}
    services = {
        name: {
            "replicas": PODS,
            "blocking": False,
            "queue": {"bound": 100},
            "operations": {
                "o": {"work": exponential("4ms"), "steps": [{"call": {"service": below, **call}}] if below else []}
            },
        }
        for name, below in (("a", "b"), ("b", "c"), ("c", ""))
    }
    load = {"users": {"target": "a", "open": {"rate": 1}}}
    made = HandmadeCluster(cores=4.0)
    made.catalog.add(application_of(spec_of({"name": "deep", "services": services, "load": load})))
    for name, below in (("c", ""), ("b", "c"), ("a", "b")):
        made.service(name, PORT, ())
        env = {f"{below.upper()}_ADDR": f"{below}:{PORT}"} if below else {}
        for n in range(PODS):
            made.pod(f"{name}-{n}", f"{REPOSITORY}/deep/{name}:v1", env=env, node=f"n{1 + n % 2}")
        made.service(name, PORT, tuple(f"{name}-{n}" for n in range(PODS)))
    made.run(3)
    return made


def test_strategies_of_a_cluster_agree(cluster: HandmadeCluster) -> None:
    found = {}
    for name in ("calm_arrays", "calm_walk", "hot"):
        one = fork(cluster)
        one.traffic.strategies = possible("cluster", (), (name, "calm_walk") if name == "calm_arrays" else (name,))
        users = one.traffic.add_users("people", "shop", "a", PORT, rps=400, timeout_ns=10 * SECOND)
        one.run(50)
        assert one.traffic.strategy == name
        seen = users.window(one.sim.now - 40 * SECOND, one.sim.now)
        work = sum(server.container.cpu_ns for server in one.traffic.servers.values())
        found[name] = (seen.sent / 16_000, seen.ok / seen.sent, work / 1e9, seen.latency_ms(0.5))
    expected = found["calm_walk"]
    assert expected[:2] == pytest.approx((1.0, 1.0), rel=0.02)
    for name, shares in found.items():
        assert shares[:3] == pytest.approx(expected[:3], rel=0.03), name
        assert shares[3] == pytest.approx(expected[3], rel=0.3), name  # of a large hot plan it is that of the state
