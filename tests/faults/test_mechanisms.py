from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from simcluster.engine import SECOND
from simcluster.faults import registry
from simcluster.faults.deployer import LAST_APPLIED
from simcluster.faults.images.container_image import ContainerImage
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.target import ImpossibleTarget, ObjectRef
from tests.clusters.shop import NAMESPACE, REGISTRY, ShopWorld

CASES: dict[str, tuple[ObjectRef, dict[str, Any]]] = {
    "service_selector_mismatch": (ObjectRef(kind="Service", name="cart"), {"label": "version", "value": "v2"}),
    "wrong_image_tag": (ObjectRef(kind="Deployment", name="cart"), {"tag": "v9"}),
    "wrong_env_address": (ObjectRef(kind="Deployment", name="cart"), {"variable": "GEO_ADDR", "value": "geo:8081"}),
    "cpu_limit_too_low": (ObjectRef(kind="Deployment", name="cart"), {"limit": "10m"}),
    "kubelet_stopped": (ObjectRef(kind="Node", name="worker-1"), {}),
    "load_spike": (ObjectRef(kind="Service", name="frontend"), {"factor": 3.0, "lasts": "20s"}),
    "noisy_neighbour": (ObjectRef(kind="Deployment", name="cart"), {"share": 0.9, "lasts": "20s"}),
    "aggressive_retries": (ObjectRef(kind="Deployment", name="cart"), {"variable": "GEO_ADDR", "value": "12"}),
}


def build(fault: str, ref: ObjectRef | None = None, **params: Any) -> Mechanism:
    default, given = CASES[fault]
    return registry.build(registry.load(fault), ref or default, NAMESPACE, {**given, **params})


def container(world: ShopWorld) -> dict[str, Any]:
    found: dict[str, Any] = world.get("deployments.apps", "cart")["spec"]["template"]["spec"]["containers"][0]
    return found


LASTING = [fault for fault in CASES if registry.mechanisms()[registry.load(fault).mechanism].lasting]


def test_the_selector_changes_alike_in_the_object_and_its_manifest() -> None:
    world = ShopWorld()
    build("service_selector_mismatch").inject(world)
    service = world.get("services", "cart")
    manifest = json.loads(service["metadata"]["annotations"][LAST_APPLIED])
    assert service["spec"]["selector"] == manifest["spec"]["selector"] == {"app": "cart", "version": "v2"}
    assert service["spec"]["clusterIP"] == "10.96.0.10"


def test_labelling_the_workload_instead_also_removes_the_cause() -> None:
    world, mechanism = ShopWorld(), build("service_selector_mismatch")
    mechanism.inject(world)
    patch = {"spec": {"template": {"metadata": {"labels": {"version": "v2"}}}}}
    world.client("kubernetes-admin", "kubectl").patch("deployments.apps", NAMESPACE, "cart", patch, kind="merge")
    assert mechanism.still_present(world) == ""


def test_an_image_keeps_its_repository_and_the_port_of_its_registry() -> None:
    world = ShopWorld()
    build("wrong_image_tag").inject(world)
    assert container(world)["image"] == f"{REGISTRY}/cart:v9"
    mechanism = build("wrong_image_tag")
    assert isinstance(mechanism, ContainerImage)
    assert mechanism._wrong("host:5000/a/b") == "host:5000/a/b:v9"
    assert mechanism._wrong("a/b@sha256:00") == "a/b:v9"


def test_the_request_falls_with_the_limit() -> None:
    world = ShopWorld()
    build("cpu_limit_too_low").inject(world)
    assert container(world)["resources"] == {"limits": {"cpu": "10m"}, "requests": {"cpu": "10m"}}


def test_a_higher_limit_or_none_removes_the_cause() -> None:
    for limit in ("50m", None):
        world, mechanism = ShopWorld(), build("cpu_limit_too_low")
        mechanism.inject(world)
        changed = json.loads(json.dumps(container(world)))
        changed["resources"] = {"limits": {"cpu": limit}} if limit else {}
        patch = {"spec": {"template": {"spec": {"containers": [changed]}}}}
        world.client("kubernetes-admin", "kubectl").patch("deployments.apps", NAMESPACE, "cart", patch, kind="merge")
        assert mechanism.still_present(world) == ""


def test_mechanisms_survive_a_fork() -> None:
    world = ShopWorld()
    for fault in LASTING:
        mechanism = pickle.loads(pickle.dumps(build(fault)))
        mechanism.inject(world)
        assert mechanism.still_present(world)


def test_a_spike_multiplies_the_rate_of_the_services_users() -> None:
    world, mechanism = ShopWorld(), build("load_spike")
    mechanism.check(world)
    mechanism.inject(world)
    assert world.traffic.users["shop/frontend"].rps == 30.0
    assert mechanism.still_present(world) == ""
    with pytest.raises(ImpossibleTarget, match="has no users"):
        build("load_spike", ObjectRef(kind="Service", name="cart")).check(world)


def test_a_neighbour_takes_the_cpu_of_the_deployments_nodes_and_gives_it_back() -> None:
    world, mechanism = ShopWorld(), build("noisy_neighbour")
    nodes = {pod["spec"]["nodeName"] for pod in world.api.store.objects("pods", NAMESPACE) if "cart" in str(pod)}
    mechanism.check(world)
    mechanism.inject(world)
    hurt = [name for name, host in world.machines.items() if host.stolen_share == 0.9]
    assert hurt
    assert set(hurt) <= nodes
    assert "still lack CPU" in mechanism.still_present(world)
    with pytest.raises(ImpossibleTarget, match="lack CPU already"):
        mechanism.check(world)
    world.sim.run_for(20 * SECOND)
    assert mechanism.still_present(world) == ""
    mechanism.check(world)


def test_a_neighbour_of_one_node_leaves_the_others_alone() -> None:
    world, mechanism = ShopWorld(), build("noisy_neighbour", ObjectRef(kind="Node", name="worker-2"))
    mechanism.inject(world)
    assert [name for name, host in world.machines.items() if host.stolen_share] == ["worker-2"]
