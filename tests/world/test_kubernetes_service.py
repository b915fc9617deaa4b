"""The API server keeps `default/kubernetes`, whoever deletes or changes it."""

from __future__ import annotations

import pytest

from simcluster.engine import SECOND, Snapshot
from simcluster.world import World


@pytest.fixture(scope="module")
def booted() -> Snapshot[World]:
    return Snapshot(World(seed=4, workers=1))


def content(world: World, resource: str) -> tuple[object, ...] | None:
    found = world.api.store.get(resource, "default", "kubernetes")
    return None if found is None else tuple(found.get(field) for field in ("subsets", "endpoints", "ports"))


@pytest.mark.parametrize("resource", ["services", "endpoints", "endpointslices.discovery.k8s.io"])
def test_what_is_deleted_comes_back_within_ten_seconds(booted: Snapshot[World], resource: str) -> None:
    world = booted.restore()
    before = content(world, resource)
    client = world.client("kubernetes-admin", "kubectl")
    client.delete(resource, "default", "kubernetes")
    assert content(world, resource) is None
    world.run_for(11 * SECOND)
    assert content(world, resource) == before
    service = world.api.store.get("services", "default", "kubernetes")
    assert service is not None
    assert service["spec"]["clusterIP"] == "10.96.0.1"


def test_endpoints_are_put_right_and_the_service_is_left_alone(booted: Snapshot[World]) -> None:
    world = booted.restore()
    before = content(world, "endpoints")
    client = world.client("kubernetes-admin", "kubectl")
    client.patch("endpoints", "default", "kubernetes", {"subsets": None}, kind="merge")
    labels = {"metadata": {"labels": {"colour": "green"}}}
    client.patch("services", "default", "kubernetes", labels, kind="merge")
    world.run_for(11 * SECOND)
    assert content(world, "endpoints") == before
    service = world.api.store.get("services", "default", "kubernetes")
    assert service is not None
    assert service["metadata"]["labels"]["colour"] == "green"


def test_without_an_api_server_nobody_restores_it(booted: Snapshot[World]) -> None:
    world = booted.restore()
    world.client("kubernetes-admin", "kubectl").delete("endpoints", "default", "kubernetes")
    world.machines["control-plane"].files.remove("/etc/kubernetes/manifests/kube-apiserver.yaml")
    world.run_for(60 * SECOND)
    assert content(world, "endpoints") is None
