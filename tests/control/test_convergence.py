"""Whatever is done to a cluster, it comes to rest in what was asked for."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from simcluster.api.client import Client
from simcluster.api.objects import is_pod_ready, is_terminating, thaw
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.control.manager import CONTROLLERS, ControllerManager
from simcluster.control.scheduler import Scheduler
from simcluster.control.scheduler.requests import pod_requests
from simcluster.engine import MILLISECOND, SECOND, Simulation
from tests.clusters.controlplane import FakeKubelets, deployment_object, node_object, service_object

DEPLOYMENTS = "deployments.apps"
#: Without the node controller: these nodes have no kubelets that renew leases.
RUN = tuple(name for name in CONTROLLERS if name != "node-lifecycle-controller")


class Disturbances(RuleBasedStateMachine):
    """One Deployment behind one Service, changed, scaled and hurt at random."""

    @initialize()
    def build(self) -> None:
        self.sim = Simulation(7)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        self.user.create("namespaces", "", {"metadata": {"name": "default"}})
        for n in range(3):
            self.user.create("nodes", "", node_object(f"n{n}", cpu="2"))
        self.manager = ControllerManager(self.sim, self.api, RUN)
        self.scheduler = Scheduler(self.sim, self.api)
        self.kubelets = FakeKubelets(self.sim, self.api)
        self.sim.run_for(SECOND)
        body = deployment_object("web", 3)
        body["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "300m"}}
        body["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 1
        self.user.create(DEPLOYMENTS, "default", body)
        self.user.create("services", "default", service_object("web", {"app": "web"}))
        self.sim.run_for(SECOND)

    def change(self, **fields: Any) -> None:
        found = self.api.store.get(DEPLOYMENTS, "default", "web")
        assert found is not None
        body = thaw(found)
        image = fields.pop("image", None)
        if image:
            body["spec"]["template"]["spec"]["containers"][0]["image"] = image
        body["spec"].update(fields)
        self.user.update(DEPLOYMENTS, body)

    @rule(replicas=st.integers(0, 8))
    def scale(self, replicas: int) -> None:
        self.change(replicas=replicas)

    @rule(version=st.integers(1, 3))
    def roll(self, version: int) -> None:
        self.change(image=f"shop/app:{version}.0")

    @rule(position=st.integers(0, 20), grace=st.sampled_from([None, 0]))
    def kill_pod(self, position: int, grace: int | None) -> None:
        pods = self.api.store.objects("pods", "default")
        if pods:
            name = pods[position % len(pods)]["metadata"]["name"]
            self.user.delete("pods", "default", name, grace_period_s=grace)

    @rule(position=st.integers(0, 20))
    def delete_replica_set(self, position: int) -> None:
        sets = self.api.store.objects("replicasets.apps", "default")
        if sets:
            self.user.delete("replicasets.apps", "default", sets[position % len(sets)]["metadata"]["name"])

    @rule(n=st.integers(0, 2), cordon=st.booleans())
    def cordon(self, n: int, cordon: bool) -> None:
        self.user.patch("nodes", "", f"n{n}", {"spec": {"unschedulable": cordon or None}}, kind="merge")

    @rule(milliseconds=st.integers(1, 3000))
    def wait(self, milliseconds: int) -> None:
        self.sim.run_for(milliseconds * MILLISECOND)

    @invariant()
    def nodes_are_not_overcommitted(self) -> None:
        if not hasattr(self, "api"):
            return
        for n in range(3):
            assert sum(pod_requests(p).get("cpu", 0) for p in self.api.store.pods_on(f"n{n}")) <= 2000

    def teardown(self) -> None:
        if not hasattr(self, "api"):
            return
        for n in range(3):
            self.user.patch("nodes", "", f"n{n}", {"spec": {"unschedulable": None}}, kind="merge")
        self.sim.run_for(120 * SECOND)
        deployment = self.api.store.get(DEPLOYMENTS, "default", "web")
        assert deployment is not None
        wanted = deployment["spec"]["replicas"]
        image = deployment["spec"]["template"]["spec"]["containers"][0]["image"]
        pods = self.api.store.objects("pods", "default")
        assert len(pods) == wanted, [p["metadata"]["name"] for p in pods]
        assert all(is_pod_ready(p) and not is_terminating(p) for p in pods)
        assert all(p["spec"]["containers"][0]["image"] == image for p in pods)
        assert deployment["status"].get("availableReplicas", 0) == wanted
        slices = self.api.store.objects("endpointslices.discovery.k8s.io", "default")
        listed = [e["targetRef"]["name"] for s in slices for e in s["endpoints"] if e["conditions"]["ready"]]
        assert sorted(listed) == [p["metadata"]["name"] for p in pods]


Disturbances.TestCase.settings = settings(max_examples=12, stateful_step_count=12, deadline=None, derandomize=True)
TestDisturbances = Disturbances.TestCase
