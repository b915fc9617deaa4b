from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, owner_reference
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.control.garbagecollector import GarbageCollector
from simcluster.engine import SECOND, Simulation


class Cluster:
    def __init__(self) -> None:
        self.sim = Simulation(0)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        self.collector = GarbageCollector(self.sim, self.api)

    def create(self, name: str, *owners: ApiObject, finalizers: tuple[str, ...] = ()) -> ApiObject:
        metadata: dict[str, Any] = {"name": name, "namespace": "default"}
        if owners:
            metadata["ownerReferences"] = [owner_reference(o, controller=n == 0) for n, o in enumerate(owners)]
        if finalizers:
            metadata["finalizers"] = list(finalizers)
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        return self.user.create("configmaps", "default", body)

    def delete(self, name: str, propagation: str = "Background") -> None:
        self.user.delete("configmaps", "default", name, propagation=propagation)
        self.sim.run_for(2 * SECOND)

    @property
    def names(self) -> list[str]:
        return [o["metadata"]["name"] for o in self.api.store.objects("configmaps", "default")]

    def get(self, name: str) -> ApiObject:
        found = self.api.store.get("configmaps", "default", name)
        assert found is not None
        return found


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_background_deletes_the_whole_tree(cluster: Cluster) -> None:
    root = cluster.create("root")
    child = cluster.create("child", root)
    cluster.create("grandchild", child)
    cluster.create("other")
    cluster.delete("root")
    assert cluster.names == ["other"]


def test_a_second_owner_keeps_the_dependent(cluster: Cluster) -> None:
    one, two = cluster.create("one"), cluster.create("two")
    cluster.create("child", one, two)
    cluster.delete("one")
    assert cluster.names == ["child", "two"]
    assert [r["name"] for r in cluster.get("child")["metadata"]["ownerReferences"]] == ["two"]


def test_orphan_leaves_the_dependents(cluster: Cluster) -> None:
    root = cluster.create("root")
    cluster.create("child", root)
    cluster.delete("root", "Orphan")
    assert cluster.names == ["child"]
    assert "ownerReferences" not in cluster.get("child")["metadata"]


def test_foreground_waits_for_blocking_dependents(cluster: Cluster) -> None:
    root = cluster.create("root")
    child = cluster.create("child", root)
    cluster.create("held", child, finalizers=("example.com/hold",))
    cluster.delete("root", "Foreground")
    assert cluster.names == ["child", "held", "root"]
    assert cluster.get("root")["metadata"]["finalizers"] == ["foregroundDeletion"]
    cluster.user.patch("configmaps", "default", "held", {"metadata": {"finalizers": None}}, kind="merge")
    cluster.sim.run_for(2 * SECOND)
    assert cluster.names == []


def test_an_object_whose_owner_never_existed_is_collected(cluster: Cluster) -> None:
    ghost = ApiObject({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ghost", "uid": "nope"}})
    cluster.create("child", ghost)
    cluster.sim.run_for(2 * SECOND)
    assert cluster.names == []


def test_an_owner_of_a_new_kind_may_go_before_its_kind_is_watched(cluster: Cluster) -> None:
    names = {"plural": "shops", "singular": "shop", "kind": "Shop", "listKind": "ShopList"}
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]}
    cluster.user.create(
        "customresourcedefinitions.apiextensions.k8s.io", "", {"metadata": {"name": "shops.example.com"}, "spec": spec}
    )
    cluster.sim.run_for(SECOND)
    shop = cluster.user.create("shops.example.com", "default", {"metadata": {"name": "corner"}})
    cluster.create("till", shop)
    cluster.sim.run_for(2 * SECOND)
    assert cluster.names == ["till"]
    cluster.user.delete("shops.example.com", "default", "corner")
    cluster.sim.run_for(20 * SECOND)  # well before the next look for new kinds
    assert cluster.names == []


def test_an_object_of_an_owner_of_an_unknown_kind_stays(cluster: Cluster) -> None:
    metadata = {"name": "ghost", "uid": "nope", "namespace": "default"}
    ghost = ApiObject({"apiVersion": "gone.example.com/v1", "kind": "Ghost", "metadata": metadata})
    root = cluster.create("root")
    cluster.create("child", root, ghost)
    cluster.delete("root")
    assert cluster.names == ["child"]
    assert len(cluster.get("child")["metadata"]["ownerReferences"]) == 2


def test_an_owner_of_another_namespace_is_an_absent_one(cluster: Cluster) -> None:
    owner = cluster.create("owner")
    metadata = {"name": "far", "namespace": "other", "ownerReferences": [owner_reference(owner)]}
    cluster.user.create("configmaps", "other", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    cluster.sim.run_for(5 * SECOND)
    assert cluster.api.store.get("configmaps", "other", "far") is None
    (event,) = [e for e in cluster.api.store.objects("events") if e["reason"] == "OwnerRefInvalidNamespace"]
    what = f"[v1/ConfigMap, namespace: other, name: owner, uid: {owner['metadata']['uid']}]"
    assert event["message"] == f'ownerRef {what} does not exist in namespace "other"'
    assert event["source"]["component"] == "garbage-collector-controller"


def test_nothing_is_decided_of_a_cluster_wide_object_with_a_namespaced_owner(cluster: Cluster) -> None:
    owner = cluster.create("owner")
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    metadata = {"name": "wide", "ownerReferences": [owner_reference(owner)]}
    cluster.user.create("persistentvolumes", "", {"metadata": metadata, "spec": spec})
    cluster.delete("owner")
    cluster.sim.run_for(60 * SECOND)
    assert cluster.api.store.get("persistentvolumes", "", "wide") is not None
