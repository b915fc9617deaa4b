from __future__ import annotations

import pickle

from simcluster.api.client import Client
from simcluster.api.objects import is_pod_ready
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.control.manager import CONTROLLERS, ControllerManager
from simcluster.control.scheduler import Scheduler
from simcluster.engine import SECOND, Simulation
from tests.clusters.controlplane import FakeKubelets, deployment_object, node_object, service_object

RUN = tuple(name for name in CONTROLLERS if name != "node-lifecycle-controller")


class ControlPlane:
    def __init__(self, seed: int) -> None:
        self.sim = Simulation(seed)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        self.user.create("namespaces", "", {"metadata": {"name": "default"}})
        for n in range(3):
            self.user.create("nodes", "", node_object(f"n{n}"))
        self.manager = ControllerManager(self.sim, self.api, RUN)
        self.scheduler = Scheduler(self.sim, self.api)
        self.kubelets = FakeKubelets(self.sim, self.api)
        self.user.create("deployments.apps", "default", deployment_object("web", 3))
        self.user.create("services", "default", service_object("web", {"app": "web"}))


def test_equal_seeds_give_equal_runs_and_forks_go_on_alike() -> None:
    one, two = ControlPlane(5), ControlPlane(5)
    for plane in (one, two):
        plane.sim.run_for(SECOND // 3)
    fork: ControlPlane = pickle.loads(pickle.dumps(one))
    for plane in (one, two, fork):
        plane.sim.run_for(30 * SECOND)
    assert one.sim.digest.hex() == two.sim.digest.hex() == fork.sim.digest.hex()
    assert sum(map(is_pod_ready, one.api.store.objects("pods", "default"))) == 3


def test_deleting_the_deployment_takes_everything_with_it() -> None:
    plane = ControlPlane(1)
    plane.sim.run_for(5 * SECOND)
    plane.user.delete("deployments.apps", "default", "web", propagation="Foreground")
    plane.sim.run_for(5 * SECOND)
    store = plane.api.store
    assert store.objects("deployments.apps") == store.objects("replicasets.apps") == []
    assert store.objects("pods", "default") == []
    plane.user.delete("services", "default", "web")
    plane.sim.run_for(5 * SECOND)
    assert store.objects("endpointslices.discovery.k8s.io", "default") == []


def test_a_deployment_is_bound_within_the_time_of_a_real_control_plane() -> None:
    plane = ControlPlane(2)
    plane.sim.run_for(SECOND // 10)
    assert all(p["spec"].get("nodeName") for p in plane.api.store.objects("pods", "default"))
    assert plane.api.store.count("pods") == 3


def owner(api_version: str, kind: str, **spec: object) -> dict[str, object]:
    """An object whose controller wants one pod of the label `of: KIND`."""
    labels = {"of": kind.lower()}
    containers = [{"name": "c", "image": "i"}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers, **spec}}
    selector = labels if kind == "ReplicationController" else {"matchLabels": labels}
    body: dict[str, object] = {"template": template} if kind == "Job" else {"template": template, "selector": selector}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": kind.lower()}, "spec": body}


def test_a_manager_that_starts_late_finds_what_is_there_and_adopts_it() -> None:
    late = Simulation(9)
    api = Api(late)
    user = Client(api, User(), "kubectl")
    user.create("namespaces", "", {"metadata": {"name": "default"}})
    user.create("nodes", "", node_object("n0"))
    owners = {
        "replicasets.apps": owner("apps/v1", "ReplicaSet"),
        "replicationcontrollers": owner("v1", "ReplicationController"),
        "statefulsets.apps": owner("apps/v1", "StatefulSet"),
        "daemonsets.apps": owner("apps/v1", "DaemonSet"),
        "jobs.batch": owner("batch/v1", "Job", restartPolicy="Never"),
    }
    for resource, body in owners.items():
        user.create(resource, "default", body)
        if resource not in ("jobs.batch", "statefulsets.apps"):
            pod = {"metadata": {"name": f"{body['kind']}-orphan".lower(), "labels": {"of": str(body["kind"]).lower()}}}
            user.create(
                "pods", "default", {**pod, "spec": {"nodeName": "n0", "containers": [{"name": "c", "image": "i"}]}}
            )
    late.run_for(5 * SECOND)
    ControllerManager(late, api, RUN)
    late.run_for(10 * SECOND)
    owned = {
        pod["metadata"]["name"]: pod["metadata"]["ownerReferences"][0]["kind"]
        for pod in api.store.objects("pods", "default")
    }
    made = {name: kind for name, kind in owned.items() if kind in ("Job", "DaemonSet")}
    assert {name: kind for name, kind in owned.items() if name not in made} == {
        "replicaset-orphan": "ReplicaSet",
        "replicationcontroller-orphan": "ReplicationController",
        "statefulset-0": "StatefulSet",
    }
    assert sorted(made.values()) == ["DaemonSet", "Job"]
    assert "daemonset-orphan" in made
