from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, is_pod_ready, thaw
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.control.endpoints import EndpointsController
from simcluster.control.endpointslice import EndpointSliceController
from simcluster.control.services.ports import find_port
from simcluster.engine import SECOND, Simulation
from tests.clusters.controlplane import FakeKubelets, node_object, pod_object, service_object

SLICES = "endpointslices.discovery.k8s.io"


class Cluster:
    def __init__(self) -> None:
        self.sim = Simulation(0)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        self.controllers = [EndpointsController(self.sim, self.api), EndpointSliceController(self.sim, self.api)]
        self.kubelets = FakeKubelets(self.sim, self.api)
        self.user.create("nodes", "", node_object("n1", topology_kubernetes_io__zone="a"))

    def pod(self, name: str, app: str = "web", **spec: Any) -> ApiObject:
        body = pod_object(name, nodeName="n1", **spec)
        body["metadata"]["labels"] = {"app": app}
        return self.user.create("pods", "default", body)

    def run(self) -> None:
        self.sim.run_for(2 * SECOND)

    @property
    def endpoints(self) -> ApiObject:
        found = self.api.store.get("endpoints", "default", "web")
        assert found is not None
        return found

    @property
    def slices(self) -> list[ApiObject]:
        return self.api.store.objects(SLICES, "default")

    def report(self, name: str, *, ready: bool) -> None:
        pod = self.api.store.get("pods", "default", name)
        assert pod is not None
        self.kubelets.report(pod, ready=ready)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def conditions(entry: dict[str, Any]) -> tuple[bool, bool, bool]:
    c = entry["conditions"]
    return c["ready"], c["serving"], c["terminating"]


def test_a_service_without_pods_has_empty_results(cluster: Cluster) -> None:
    cluster.user.create("services", "default", service_object("web", {"app": "web"}))
    cluster.run()
    assert "subsets" not in cluster.endpoints
    (entry,) = cluster.slices
    assert entry["endpoints"] == []
    assert entry["metadata"]["name"].startswith("web-")
    assert entry["metadata"]["labels"] == {
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": "web",
    }
    assert entry["metadata"]["ownerReferences"][0]["kind"] == "Service"


def test_ready_and_unready_pods(cluster: Cluster) -> None:
    cluster.user.create("services", "default", service_object("web", {"app": "web"}))
    cluster.pod("a")
    cluster.pod("b")
    cluster.pod("c", app="other")
    cluster.run()
    (subset,) = cluster.endpoints["subsets"]
    assert [x["targetRef"]["name"] for x in subset["addresses"]] == ["a", "b"]
    assert subset["ports"] == [{"port": 8080, "protocol": "TCP"}]
    cluster.report("a", ready=False)
    cluster.run()
    (subset,) = cluster.endpoints["subsets"]
    assert [x["targetRef"]["name"] for x in subset["addresses"]] == ["b"]
    assert [x["targetRef"]["name"] for x in subset["notReadyAddresses"]] == ["a"]
    (entry,) = cluster.slices
    assert {e["targetRef"]["name"]: conditions(e) for e in entry["endpoints"]} == {
        "a": (False, False, False),
        "b": (True, True, False),
    }
    assert entry["endpoints"][0]["zone"] == "a"


def test_a_terminating_pod_leaves_endpoints_and_serves_in_the_slice(cluster: Cluster) -> None:
    cluster.user.create("services", "default", service_object("web", {"app": "web"}))
    cluster.pod("a")
    cluster.run()
    cluster.kubelets.stop_ns = 20 * SECOND
    cluster.user.delete("pods", "default", "a")
    cluster.run()
    assert "subsets" not in cluster.endpoints
    (entry,) = cluster.slices
    assert conditions(entry["endpoints"][0]) == (False, True, True)


def test_selector_change_moves_the_endpoints(cluster: Cluster) -> None:
    service = cluster.user.create("services", "default", service_object("web", {"app": "web"}))
    cluster.pod("a")
    cluster.pod("o", app="other")
    cluster.run()
    changed = thaw(service)
    changed["spec"]["selector"] = {"app": "nobody"}
    service = cluster.user.update("services", changed)
    cluster.run()
    assert "subsets" not in cluster.endpoints
    assert [e for s in cluster.slices for e in s["endpoints"]] == []
    changed = thaw(service)
    changed["spec"]["selector"] = {"app": "other"}
    cluster.user.update("services", changed)
    cluster.run()
    assert [e["targetRef"]["name"] for s in cluster.slices for e in s["endpoints"]] == ["o"]


def test_unready_pods_are_published_on_demand(cluster: Cluster) -> None:
    body = service_object("web", {"app": "web"}, publishNotReadyAddresses=True, clusterIP="None")
    cluster.user.create("services", "default", body)
    cluster.pod("a")
    cluster.run()
    cluster.report("a", ready=False)
    cluster.run()
    assert len(cluster.endpoints["subsets"][0]["addresses"]) == 1
    assert cluster.endpoints["metadata"]["labels"] == {"service.kubernetes.io/headless": ""}
    assert conditions(cluster.slices[0]["endpoints"][0]) == (True, False, False)


def test_many_endpoints_fill_slices_of_a_hundred(cluster: Cluster) -> None:
    cluster.user.create("services", "default", service_object("web", {"app": "web"}))
    for n in range(230):
        cluster.pod(f"p{n:03}")
    cluster.run()
    assert sorted(len(s["endpoints"]) for s in cluster.slices) == [30, 100, 100]
    names = sorted(e["targetRef"]["name"] for s in cluster.slices for e in s["endpoints"])
    assert names == [f"p{n:03}" for n in range(230)]


def test_a_deleted_object_comes_back_and_follows_its_service(cluster: Cluster) -> None:
    cluster.user.create("services", "default", service_object("web", {"app": "web"}))
    cluster.pod("a")
    cluster.run()
    cluster.user.delete("endpoints", "default", "web")
    cluster.user.delete(SLICES, "default", cluster.slices[0]["metadata"]["name"])
    cluster.run()
    assert len(cluster.endpoints["subsets"][0]["addresses"]) == 1
    assert len(cluster.slices[0]["endpoints"]) == 1
    cluster.user.delete("services", "default", "web")
    cluster.run()
    assert cluster.api.store.get("endpoints", "default", "web") is None
    cluster.report("a", ready=False)
    cluster.pod("b")
    cluster.run()
    assert cluster.api.store.get("endpoints", "default", "web") is None


def test_only_ready_pods_are_ever_ready_endpoints(cluster: Cluster) -> None:
    cluster.user.create("services", "default", service_object("web", {"app": "web"}))
    stream = cluster.sim.stream("test")
    for n in range(10):
        cluster.pod(f"p{n}")
    cluster.run()
    for _ in range(40):
        cluster.report(f"p{stream.integer(0, 9)}", ready=stream.chance(0.5))
        cluster.sim.run_for(SECOND // 2)
        ready = {p["metadata"]["name"] for p in cluster.api.store.objects("pods") if is_pod_ready(p)}
        subsets = cluster.endpoints.get("subsets") or []
        listed = {a["targetRef"]["name"] for s in subsets for a in s.get("addresses", ())}
        sliced = {e["targetRef"]["name"] for s in cluster.slices for e in s["endpoints"] if e["conditions"]["ready"]}
        assert ready == listed == sliced


@pytest.mark.parametrize(
    ("target", "expected"), [(8080, 8080), ("http", 8000), ("dns", None), ("nope", None), (None, 80)]
)
def test_find_port(target: int | str | None, expected: int | None) -> None:
    ports = [{"name": "http", "containerPort": 8000}, {"name": "dns", "containerPort": 53, "protocol": "UDP"}]
    pod = {"spec": {"containers": [{"ports": ports}]}}
    port = {"port": 80, **({"targetPort": target} if target else {})}
    assert find_port(pod, port) == expected
