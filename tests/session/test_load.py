"""Call graphs in a sandbox, and the users who load them: what is taken, what is refused, what they tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import simcluster
from simcluster.engine import SECOND
from simcluster.session import Sandbox, log
from simcluster.session.replay import repeat

GRAPH = """
name: pair
services:
  api:
    workers: 4
    operations:
      get: {work: {law: exponential, mean: 2ms}, steps: [{call: {service: db, timeout: 500ms}}]}
  db:
    replicas: 2
    workers: 1
    operations: {query: {work: {law: exponential, mean: 5ms}}}
load: {people: {target: api, open: {rate: 1}}}
"""


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    path = tmp_path_factory.mktemp("graphs") / "graph.yaml"
    path.write_text(GRAPH)
    box = simcluster.sandbox(nodes=2, seed=5)
    assert box.deploy(path) == ["api", "db"]
    return box


def test_a_graph_runs_as_manifests_and_programs(deployed: Sandbox) -> None:
    box = deployed.fork()
    assert box.kubectl("get deploy db -o jsonpath={.status.availableReplicas}").stdout == "2"
    limits = box.kubectl("get deploy api -o jsonpath={.spec.template.spec.containers[0].resources}").stdout
    assert '"limits":{"cpu":"4"}' in limits
    assert "requests" in limits
    load = box.load("api", rps=40)
    box.wait("1m")
    seen = load.window("1m")
    assert 2200 < seen.sent < 2600
    assert seen.failed == 0
    assert (seen.in_flight_before, seen.sent) == (0, seen.succeeded + seen.in_flight)
    assert seen.attempts == seen.sent
    assert 5.0 < seen.mean_ms < 15.0
    assert seen.quantile_ms(0.5) < seen.mean_ms < seen.quantile_ms(0.99)


def test_a_changed_graph_rolls_out_anew(deployed: Sandbox) -> None:
    box = deployed.fork()
    before = box.kubectl("get deploy db -o jsonpath={.spec.template.spec.containers[0].image}").stdout
    box.deploy({**_pair(), "services": {**_pair()["services"], "db": _server("50ms")}})
    assert box.kubectl("get deploy db -o jsonpath={.spec.template.spec.containers[0].image}").stdout != before
    load = box.load("api", rps=5)
    box.wait("1m")
    assert load.window("40s").mean_ms > 40.0


def test_policies_of_the_language_are_those_of_the_load(deployed: Sandbox) -> None:
    box = deployed.fork()
    load = box.load("api", rps=20, timeout="1ms", retries={"attempts": 3}, clients=2)
    box.wait("30s")
    seen = load.window("20s")
    assert seen.attempts > 2.5 * seen.sent
    assert seen.failed > 0.8 * seen.sent
    assert set(seen.errors) == {"timeout"}


def test_a_closed_loop_waits_for_its_answers(deployed: Sandbox) -> None:
    box = deployed.fork()
    load = box.load("api", rps=1000, users=1)
    box.wait("30s")
    assert load.window("20s").sent < 20 * 200


def test_a_fork_has_users_of_its_own(deployed: Sandbox) -> None:
    box = deployed.fork()
    load = box.load("api", rps=10)
    twin = box.fork()
    twin.loads["default/api"].rps = 50
    for each in (box, twin):
        each.wait("30s")
    assert twin.loads["default/api"].window("20s").sent > 3 * load.window("20s").sent


def test_a_log_with_a_graph_and_a_load_repeats(deployed: Sandbox, tmp_path: Path) -> None:
    fresh = simcluster.sandbox(nodes=1, seed=1)
    again, path = fresh.fork(), tmp_path / "log.jsonl"
    fresh.deploy(_pair())
    fresh.load("api", rps=20, timeout="2s", mix={"get": 1.0})
    fresh.wait("20s")
    fresh.write_log(path)
    assert repeat(again, log.read(path)) == []
    assert again.digest == fresh.digest


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ({"load": {}}, "graph.yaml:1: load: must not be empty"),
        ({"services": {"db": {"workers": 0}}}, "services.db.workers: must be at least 1, not 0"),
        ({"services": {"db": {"workerz": 1}}}, "unknown key 'workerz'; did you mean 'workers'?"),
        ({"services": {"Web Shop": {}}}, "a Kubernetes Service has a name like web-1"),
    ],
)
def test_a_wrong_graph_is_refused_and_nothing_happens(deployed: Sandbox, graph: dict[str, Any], message: str) -> None:
    box = deployed.fork()
    digest, commands = box.digest, len(box.commands)
    if "services" in graph:
        name = next(iter(graph["services"]))
        graph["services"][name] = {**_server("1ms"), **graph["services"][name]}
        graph = {"load": {"u": {"target": name, "open": {"rate": 1}}}, **graph}
    with pytest.raises(ValueError, match=r"graph\.yaml") as refused:
        box.deploy(graph)
    assert message in str(refused.value)
    assert (box.digest, len(box.commands)) == (digest, commands)


def test_refusals_of_deploy_name_what_is_missing(deployed: Sandbox, tmp_path: Path) -> None:
    box = deployed.fork()
    with pytest.raises(ValueError, match=r"nowhere\.yaml: cannot be read: No such file"):
        box.deploy(tmp_path / "nowhere.yaml")
    with pytest.raises(ValueError, match='namespaces "shop" not found'):
        box.deploy(_pair(), namespace="shop")
    huge = {**_server("1ms"), "replicas": 200}
    with pytest.raises(TimeoutError, match="timed out waiting"):
        box.deploy({**_pair(), "services": {**_pair()["services"], "db": huge}}, ready_within="5s")


@pytest.mark.parametrize(
    ("habits", "message"),
    [
        ({"rps": 0}, "rps must be above zero, not 0"),
        ({"rps": True}, "rps must be above zero, not true"),
        ({"timeout": 5}, "timeout: a duration needs a unit: write 5s or 5ms"),
        ({"timeout": "soon"}, "timeout: must be a duration"),
        ({"retries": 3}, "retries: must be a map with keys of attempts"),
        ({"retry": {"attempts": 3}}, "unknown key 'retry'; did you mean 'retries'?"),
        ({"timeout": "5s", "deadline": "1s"}, "the timeout of an attempt is longer than the deadline of the call"),
        ({"users": 0}, "users must be a whole number of at least 1, not 0"),
        ({"mix": {}}, "mix must be a map of operations and their weights"),
        ({"node": "worker-9"}, "node: there is no 'worker-9'"),
    ],
)
def test_a_wrong_load_is_refused(deployed: Sandbox, habits: dict[str, Any], message: str) -> None:
    box = deployed.fork()
    with pytest.raises(ValueError, match=r"must|unknown|duration|timeout|no") as refused:
        box.load("api", **{"rps": 5, **habits})
    assert message in str(refused.value)
    assert box.loads == {}


def test_a_window_has_a_length(deployed: Sandbox) -> None:
    box = deployed.fork()
    load = box.load("api", rps=5)
    with pytest.raises(ValueError, match="exist already"):
        box.load("api", rps=5)
    box.wait("10s")
    for wrong in ("0s", "-5s", "soon"):
        with pytest.raises(ValueError, match=r"window|invalid duration"):
            load.window(wrong)
    with pytest.raises(ValueError, match="between 0 and 1, not 99"):
        load.window("5s").quantile_ms(99)
    assert load.window("5s").sent == load.window(box.world.now - 5 * SECOND, box.world.now).sent


def _server(mean: str) -> dict[str, Any]:
    return {"workers": 1, "operations": {"query": {"work": {"law": "exponential", "mean": mean}}}}


def _pair() -> dict[str, Any]:
    call = {"call": {"service": "db", "timeout": "500ms"}}
    api = {"workers": 4, "operations": {"get": {"work": {"law": "exponential", "mean": "2ms"}, "steps": [call]}}}
    load = {"people": {"target": "api", "open": {"rate": 1}}}
    return {"name": "pair", "services": {"api": api, "db": _server("5ms")}, "load": load}


def test_three_pods_are_three_queues_in_mean_and_tail() -> None:
    graph = {
        "name": "q",
        "services": {"db": {**_server("10ms"), "replicas": 3}},
        "load": {"people": {"target": "db", "open": {"rate": 1}}},
    }
    box = simcluster.sandbox(nodes=3, cpu=16, seed=4)
    box.deploy(graph)
    load = box.load("db", rps=150, timeout="60s")
    box.wait("12m")
    seen = load.window("10m")  # M/M/1 at 0.5: exponential with a mean of 20 ms, 0.06 ms of network
    assert seen.mean_ms == pytest.approx(20.06, rel=0.03)
    assert seen.quantile_ms(0.5) == pytest.approx(13.9, rel=0.04)
    assert seen.quantile_ms(0.99) == pytest.approx(92.2, rel=0.04)


def test_nodes_are_as_large_as_asked_for() -> None:
    box = simcluster.sandbox(nodes=1, cpu=16, memory="32Gi")
    shown = str(box.kubectl("get node worker-1 -o jsonpath='{.status.capacity.cpu} {.status.capacity.memory}'"))
    assert shown.split() == ["16", "32Gi"]
    with pytest.raises(ValueError, match="1 to 1024 cores, not 0"):
        simcluster.sandbox(cpu=0)
    with pytest.raises(ValueError, match="2Gi to 64Ti of memory, not 1Gi"):
        simcluster.sandbox(memory="1Gi")
