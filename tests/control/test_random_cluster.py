"""All controllers and the scheduler together, under random orders, losses and limits.

No node is overcommitted by requests, evictions respect budgets, endpoints hold only ready
pods, replicas converge when the disturbances end, and what waits for a node says the
truth about why: the message is worked out here once more, by plain loops over plain objects.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, condition, is_pod_ready, is_terminating, name_of, thaw
from simcluster.api.request import Request, User
from simcluster.api.server import Api
from simcluster.control.manager import CONTROLLERS, ControllerManager
from simcluster.control.scheduler import Scheduler
from simcluster.engine import MILLISECOND, SECOND, Simulation
from tests.clusters.controlplane import FakeKubelets, deployment_object, node_object, pod_object, service_object

DEPLOYMENTS = "deployments.apps"
BUDGETS = "poddisruptionbudgets.policy"
NODES, CPU = 4, 2000
APPS = ("web", "db")
#: Without the node controller: these nodes have no kubelets that renew leases.
RUN = tuple(name for name in CONTROLLERS if name != "node-lifecycle-controller")
#: Steps of `make test-all`, 20,000 in all; `make test` runs a sample.
WHOLE, SAMPLE, STEPS = 400, 4, 50

nodes = st.integers(0, NODES - 1).map(lambda n: f"n{n}")
apps = st.sampled_from(APPS)
positions = st.integers(0, 30)


def cpu_of(pod: ApiObject) -> int:
    """Millicores that a pod of these tests requests."""
    requests = pod["spec"]["containers"][0].get("resources", {}).get("requests", {})
    text = requests.get("cpu", "0")
    return int(text.removesuffix("m")) if text.endswith("m") else 1000 * int(text)


class RandomCluster(RuleBasedStateMachine):
    """Two applications, single pods, and everything that happens to them."""

    def __init__(self) -> None:
        super().__init__()
        self.sim = Simulation(11)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        self.user.create("namespaces", "", {"metadata": {"name": "default"}})
        for n in range(NODES):
            self.user.create("nodes", "", node_object(f"n{n}", cpu="2"))
        self.manager = ControllerManager(self.sim, self.api, RUN)
        self.scheduler = Scheduler(self.sim, self.api)
        self.kubelets = FakeKubelets(self.sim, self.api)
        self.made = 0
        self.sim.run_for(SECOND)
        for number, app in enumerate(APPS):
            body = deployment_object(app, 2)
            spec = body["spec"]["template"]["spec"]
            spec["containers"][0]["resources"] = {"requests": {"cpu": "300m"}}
            spec["terminationGracePeriodSeconds"] = 1
            self.user.create(DEPLOYMENTS, "default", body)
            service = service_object(app, {"app": app})
            service["spec"]["clusterIP"] = f"10.96.0.{20 + number}"
            self.user.create("services", "default", service)
        self.sim.run_for(2 * SECOND)

    def pods(self) -> list[ApiObject]:
        return self.api.store.objects("pods", "default")

    def patch(self, resource: str, namespace: str, name: str, body: dict[str, Any]) -> None:
        if self.api.store.get(resource, namespace, name) is not None:
            self.user.patch(resource, namespace, name, body, kind="merge")

    # Orders.

    @rule(app=apps, replicas=st.integers(0, 6))
    def scale(self, app: str, replicas: int) -> None:
        self.patch(DEPLOYMENTS, "default", app, {"spec": {"replicas": replicas}})

    @rule(app=apps, version=st.integers(1, 3))
    def roll(self, app: str, version: int) -> None:
        body = thaw(self.user.get(DEPLOYMENTS, "default", app))
        body["spec"]["template"]["spec"]["containers"][0]["image"] = f"shop/app:{version}.0"
        self.user.update(DEPLOYMENTS, body)

    @rule(
        cpu=st.sampled_from(("100m", "700m", "1900m", "9")),
        selector=st.sampled_from((None, {"disk": "ssd"}, {"kubernetes.io/hostname": "n1"})),
        apart=st.booleans(),
        gated=st.booleans(),
    )
    def create_pod(self, cpu: str, selector: dict[str, str] | None, apart: bool, gated: bool) -> None:
        spec: dict[str, Any] = {"terminationGracePeriodSeconds": 1}
        if selector:
            spec["nodeSelector"] = selector
        if apart:
            term = {"labelSelector": {"matchLabels": {"kind": "apart"}}, "topologyKey": "kubernetes.io/hostname"}
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        if gated:
            spec["schedulingGates"] = [{"name": "example.com/wait"}]
        self.made += 1
        body = pod_object(f"single-{self.made}", cpu=cpu, **spec)
        body["metadata"]["labels"] = {"app": "single", **({"kind": "apart"} if apart else {})}
        response = self.api.handle(Request("POST", "/api/v1/namespaces/default/pods", body=body))
        assert response.code in (201, 403)  # 403: the quota

    @rule(position=positions)
    def open_gate(self, position: int) -> None:
        gated = [pod for pod in self.pods() if pod["spec"].get("schedulingGates")]
        if gated:
            self.patch("pods", "default", name_of(gated[position % len(gated)]), {"spec": {"schedulingGates": None}})

    @rule(position=positions, grace=st.sampled_from((None, 0)))
    def delete_pod(self, position: int, grace: int | None) -> None:
        found = self.pods()
        if found:
            self.user.delete("pods", "default", name_of(found[position % len(found)]), grace_period_s=grace)

    @rule(app=apps, least=st.integers(0, 4))
    def set_budget(self, app: str, least: int) -> None:
        spec = {"minAvailable": least, "selector": {"matchLabels": {"app": app}}}
        if self.api.store.get(BUDGETS, "default", app) is None:
            self.user.create(BUDGETS, "default", {"metadata": {"name": app}, "spec": spec})
        else:
            self.patch(BUDGETS, "default", app, {"spec": {"minAvailable": least}})

    @rule(count=st.integers(2, 20))
    def set_quota(self, count: int) -> None:
        if self.api.store.get("resourcequotas", "default", "q") is None:
            self.user.create(
                "resourcequotas", "default", {"metadata": {"name": "q"}, "spec": {"hard": {"pods": count}}}
            )
        else:
            self.patch("resourcequotas", "default", "q", {"spec": {"hard": {"pods": count}}})

    # Disturbances.

    @rule(node=nodes, cordoned=st.booleans())
    def cordon(self, node: str, cordoned: bool) -> None:
        self.patch("nodes", "", node, {"spec": {"unschedulable": cordoned or None}})

    @rule(node=nodes, effect=st.sampled_from(("NoSchedule", "NoExecute", "")))
    def taint(self, node: str, effect: str) -> None:
        taints = [{"key": "dedicated", "value": "batch", "effect": effect}] if effect else None
        self.patch("nodes", "", node, {"spec": {"taints": taints}})

    @rule(node=nodes, disk=st.sampled_from(("ssd", None)))
    def label(self, node: str, disk: str | None) -> None:
        self.patch("nodes", "", node, {"metadata": {"labels": {"disk": disk}}})

    @rule(node=nodes)
    def lose_node(self, node: str) -> None:
        if self.api.store.count("nodes") > 1 and self.api.store.get("nodes", "", node) is not None:
            self.kubelets.dead[node] = None
            self.user.delete("nodes", "", node)

    @rule(node=nodes)
    def join_node(self, node: str) -> None:
        if self.api.store.get("nodes", "", node) is None and not self.api.store.pods_on(node):
            self.kubelets.dead.pop(node, None)
            self.user.create("nodes", "", node_object(node, cpu="2"))

    @rule(position=positions)
    def evict(self, position: int) -> None:
        self.sim.run_for(SECOND)  # the budgets' status is up to date
        found = [pod for pod in self.pods() if not is_terminating(pod)]
        if found:
            self.evict_pod(found[position % len(found)])

    @rule(node=nodes)
    def drain(self, node: str) -> None:
        self.cordon(node, True)
        for pod in self.api.store.pods_on(node):
            self.sim.run_for(SECOND)
            current = self.api.store.get("pods", "default", name_of(pod))
            if current is not None and not is_terminating(current):
                self.evict_pod(current)

    def evict_pod(self, pod: ApiObject) -> None:
        """Evict; a pod that counts for a budget must have been one too many."""
        app = pod["metadata"]["labels"]["app"]
        budget = self.api.store.get(BUDGETS, "default", app)
        healthy = [
            other
            for other in self.pods()
            if other["metadata"]["labels"]["app"] == app and is_pod_ready(other) and not is_terminating(other)
        ]
        path = f"/api/v1/namespaces/default/pods/{name_of(pod)}/eviction"
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name_of(pod)}}
        response = self.api.handle(Request("POST", path, body=body))
        assert response.code in (201, 429), response.body
        if response.code == 201 and budget is not None and is_pod_ready(pod):
            assert len(healthy) - 1 >= budget["spec"]["minAvailable"]

    # Time.

    @rule(milliseconds=st.integers(1, 5000))
    def wait(self, milliseconds: int) -> None:
        self.sim.run_for(milliseconds * MILLISECOND)

    @rule()
    def settle(self) -> None:
        """After the flush of the unschedulable pods every message is about what is there now."""
        self.sim.run_for(400 * SECOND)
        for pod in self.pods():
            if pod["spec"].get("nodeName") or is_terminating(pod):
                continue
            entry = condition(pod, "PodScheduled")
            assert entry is not None
            assert entry["status"] == "False"
            if pod["spec"].get("schedulingGates"):
                assert entry["reason"] == "SchedulingGated"
            else:
                assert (entry["reason"], entry["message"]) == ("Unschedulable", self.why(pod))
        self.endpoints_are_ready_pods()

    def why(self, pod: ApiObject) -> str:
        """Why the pod fits nowhere, in the scheduler's words."""
        counts: dict[str, int] = {}
        tails: dict[str, int] = {}
        found = self.api.store.objects("nodes")
        for node in found:
            reason, helps = self.refusal(pod, node)
            assert reason, f"{name_of(pod)} fits {name_of(node)}"
            counts[reason] = counts.get(reason, 0) + 1
            tail = (
                "No preemption victims found for incoming pod" if helps else "Preemption is not helpful for scheduling"
            )
            tails[tail] = tails.get(tail, 0) + 1
        reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
        after = ", ".join(sorted(f"{count} {reason}" for reason, count in tails.items()))
        head = f"0/{len(found)} nodes are available: "
        return f"{head}{reasons}. preemption: {head}{after}."

    def refusal(self, pod: ApiObject, node: ApiObject) -> tuple[str, bool]:
        """The first reason against a node, and whether removing pods could help."""
        if node["spec"].get("unschedulable"):
            return "node(s) were unschedulable", False
        for taint in node["spec"].get("taints") or ():
            return f"node(s) had untolerated taint {{{taint['key']}: {taint['value']}}}", False
        wanted = pod["spec"].get("nodeSelector") or {}
        if not wanted.items() <= node["metadata"]["labels"].items():
            return "node(s) didn't match Pod's node affinity/selector", False
        others = self.api.store.pods_on(name_of(node))
        if sum(map(cpu_of, others)) + cpu_of(pod) > CPU:
            return "Insufficient cpu", True
        if pod["metadata"]["labels"].get("kind") == "apart" and any(
            other["metadata"]["labels"].get("kind") == "apart" for other in others
        ):
            return "node(s) didn't match pod anti-affinity rules", True
        return "", False

    # Promises.

    @invariant()
    def nodes_are_not_overcommitted(self) -> None:
        for n in range(NODES):
            assert sum(map(cpu_of, self.api.store.pods_on(f"n{n}"))) <= CPU

    @invariant()
    def gated_pods_have_no_node(self) -> None:
        assert not any(pod["spec"].get("nodeName") for pod in self.pods() if pod["spec"].get("schedulingGates"))

    def endpoints_are_ready_pods(self) -> None:
        slices = self.api.store.objects("endpointslices.discovery.k8s.io", "default")
        for app in APPS:
            listed = [
                entry["targetRef"]["name"]
                for one in slices
                if one["metadata"]["labels"].get("kubernetes.io/service-name") == app
                for entry in one["endpoints"]
                if entry["conditions"]["ready"]
            ]
            ready = [
                name_of(pod)
                for pod in self.pods()
                if pod["metadata"]["labels"]["app"] == app and is_pod_ready(pod) and not is_terminating(pod)
            ]
            assert sorted(listed) == ready

    def teardown(self) -> None:
        """Left alone on a whole cluster, both applications are what was asked for."""
        if self.api.store.get("resourcequotas", "default", "q") is not None:
            self.user.delete("resourcequotas", "default", "q")
        for pod in self.pods():
            if pod["metadata"]["labels"]["app"] == "single":
                self.user.delete("pods", "default", name_of(pod), grace_period_s=0)
        self.sim.run_for(120 * SECOND)
        for n in range(NODES):
            self.join_node(f"n{n}")
            self.patch("nodes", "", f"n{n}", {"spec": {"unschedulable": None, "taints": None}})
        self.sim.run_for(1100 * SECOND)  # longer than the longest back-off of a ReplicaSet that met a quota
        for app in APPS:
            deployment = self.api.store.get(DEPLOYMENTS, "default", app)
            assert deployment is not None
            mine = [pod for pod in self.pods() if pod["metadata"]["labels"]["app"] == app]
            assert len(mine) == deployment["spec"]["replicas"]
            assert all(is_pod_ready(pod) and not is_terminating(pod) for pod in mine)
        self.endpoints_are_ready_pods()


def test_a_random_cluster_keeps_its_promises(request: pytest.FixtureRequest) -> None:
    examples = WHOLE if request.config.getoption("--whole") else SAMPLE
    run_state_machine_as_test(
        RandomCluster,
        settings=settings(
            max_examples=examples,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
