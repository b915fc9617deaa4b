from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simcluster import tasks
from simcluster.api.objects import thaw
from simcluster.engine import SECOND, fork
from simcluster.eval.trajectory import Recorder, observe, verify
from simcluster.eval.trajectory.recorder import read_jsonl, write_jsonl
from simcluster.models.machine.process import Answer
from tests.clusters.shop import ShopWorld


def recorder(world: ShopWorld) -> Recorder:
    task = tasks.load("wrong_env_address_online_boutique")
    return Recorder(world, task.model_copy(update={"namespace": "shop"}))  # type: ignore[arg-type]


def test_a_record_every_5_s_and_a_request_every_20_s() -> None:
    world = ShopWorld()
    seen = recorder(world)
    world.run_for(60 * SECOND)
    assert [int(r["t_ns"] - seen.marks["start"]) // SECOND for r in seen.records] == list(range(5, 61, 5))
    assert [r["d3"] is not None for r in seen.records] == [True, False, False, False] * 3
    first = seen.records[0]
    assert first["d1"] == {"ready": 3, "total": 3, "availability": 1.0, "not_ready": []}
    assert first["d2"] == {"frontend": 1}
    assert first["d3"] == {"frontend": {"reachable": True, "status": 200, "latency_ms": 4.0}}
    assert first["placement"] == {"worker-1": 2, "worker-2": 1}
    assert first["users"] == {"sent": 50, "ok": 50}


def test_what_goes_wrong_is_recorded() -> None:
    world = ShopWorld()
    seen = recorder(world)
    world.report_ready("cart-5d4f7c9b8-x2x9k", False)
    world.report_node("worker-2", False)
    world.set_endpoints("frontend", [])
    world.traffic.answer = Answer("timeout")
    world.traffic.users["shop/frontend"].ratio = 0.5
    at_ns = world.sim.now
    seen.command("desk", write=False, at_ns=at_ns)
    seen.wrote("desk", at_ns)  # a later request of the same command
    seen.probed("oncall", "container", "shop/cart", at_ns)
    world.run_for(5 * SECOND)
    record = seen.records[0]
    assert record["d1"] == {"ready": 2, "total": 3, "availability": 0.6667, "not_ready": ["cart-5d4f7c9b8-x2x9k"]}
    assert record["d2"] == {"frontend": 0}
    assert record["d3"]["frontend"] == {"reachable": False, "status": 0, "latency_ms": 3000.0}
    assert record["nodes_not_ready"] == ["worker-2"]
    assert record["users"] == {"sent": 50, "ok": 25}
    assert record["commands"] == [["desk", True, at_ns]]
    look = {"by": "oncall", "tool": "container", "into": "shop/cart", "at_ns": at_ns, "took_ms": 0.0}
    assert record["probes"] == [look]


def test_a_request_is_given_up_after_3_s() -> None:
    world = ShopWorld()
    seen = recorder(world)
    world.traffic.answer = Answer("ok", 200, "", 3_000_000_001)
    world.run_for(5 * SECOND)
    assert seen.records[0]["d3"]["frontend"] == {"reachable": False, "status": 0, "latency_ms": 3000.0}


class Speaker:
    """A pod's container of one program, as the network finds it by its address."""

    def __init__(self, protocol: str) -> None:
        self.program = self
        self.protocol = protocol

    def container_on(self, port: int) -> Speaker:
        return self

    def speaks(self, port: int) -> str:
        return self.protocol


def test_a_request_speaks_what_the_program_spoke_while_it_was_healthy() -> None:
    world = ShopWorld()
    port = {"port": 8080, "targetPort": 8080, "protocol": "TCP"}  # that nobody has named
    piece = thaw(world.get("endpointslices.discovery.k8s.io", "frontend-abcde"))
    world.api.store.put("endpointslices.discovery.k8s.io", {**piece, "ports": [port]})
    service = thaw(world.get("services", "frontend"))
    world.api.store.put("services", {**service, "spec": {**service["spec"], "ports": [port]}})
    assert observe.spoken(world, "shop", "frontend") == "http"  # type: ignore[arg-type]
    [address] = piece["endpoints"][0]["addresses"]
    world.network.sandboxes[address] = Speaker("grpc")
    seen = recorder(world)
    assert seen.header()["protocols"] == {"frontend": "grpc"}
    world.network.sandboxes[address] = Speaker("http")  # another program in its place is asked the same
    world.run_for(5 * SECOND)
    assert world.traffic.asked == [("frontend.shop", 8080, "", "grpc")]


def test_scaling_to_zero_is_no_way_to_be_available() -> None:
    world = ShopWorld()
    seen = recorder(world)
    world.client("a", "kubectl").patch("deployments.apps", "shop", "cart", {"spec": {"replicas": 0}}, kind="merge")
    world.api.store.remove("pods", "shop", "cart-5d4f7c9b8-x2x9k")
    world.run_for(5 * SECOND)
    assert seen.records[0]["d1"]["availability"] == 0.6667


def test_critical_pods() -> None:
    world = ShopWorld()
    seen = recorder(world)
    world.api.store.remove("pods", "kube-system", "kube-proxy-worker-1")
    world.run_for(5 * SECOND)
    assert seen.records[0]["d4"] == {"critical_failing": []}
    for node in ("worker-2", "control-plane"):
        world.api.store.remove("pods", "kube-system", f"kube-proxy-{node}")
    world.run_for(5 * SECOND)
    assert seen.records[1]["d4"] == {"critical_failing": ["kube-proxy"]}


def test_recording_changes_nothing_but_the_digest_and_forks() -> None:
    world = ShopWorld()
    seen = recorder(world)
    version = world.api.store.version
    world.run_for(30 * SECOND)
    assert world.api.store.version == version
    other_world, other = fork((world, seen))
    for one in (world, other_world):
        one.run_for(30 * SECOND)
    assert list(seen.records) == list(other.records)
    assert world.sim.digest.hex() == other_world.sim.digest.hex()


def test_the_file_scores_like_the_run(tmp_path: Path) -> None:
    world = ShopWorld()
    seen = recorder(world)
    seen.mark("incident")
    world.run_for(20 * SECOND)
    seen.mark("paged")
    seen.mark("paged")
    world.run_for(33 * SECOND)
    seen.close()
    world.run_for(60 * SECOND)
    assert seen.records[-1]["final"]
    assert seen.records[-1]["d3"] is not None
    assert seen.marks["paged"] - seen.marks["incident"] == 20 * SECOND
    path = tmp_path / "trajectory.jsonl"
    write_jsonl(path, seen.header(), seen.records)
    header, records = read_jsonl(path)
    assert records == json.loads(json.dumps(list(seen.records)))
    verdict = verify(header, records)
    assert verdict == verify(seen.header(), list(seen.records))
    assert verdict.passed


@pytest.mark.parametrize("text", ["{}", "nonsense", '{"kind": "other"}', '{"kind": "record"}'])
def test_a_file_that_is_no_record_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "trajectory.jsonl"
    path.write_text(text + "\n")
    with pytest.raises(ValueError, match=r"trajectory.jsonl"):
        read_jsonl(path)


def test_records_are_plain() -> None:
    world = ShopWorld()
    seen = recorder(world)
    world.run_for(5 * SECOND)
    plain: Any = json.loads(json.dumps([seen.header(), *seen.records]))
    assert plain == [seen.header(), *seen.records]
