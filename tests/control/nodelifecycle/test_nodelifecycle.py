from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, condition, is_pod_ready, is_terminating, thaw
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.control.nodelifecycle import NodeLifecycleController, PodGarbageCollector, TaintEvictionController
from simcluster.control.nodelifecycle.zones import eviction_interval_ns, zone_state
from simcluster.engine import SECOND, Simulation, format_rfc3339
from tests.clusters.controlplane import FakeKubelets, node_object, pod_object

LEASES = "leases.coordination.k8s.io"
TOLERATIONS = [
    {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
]


class Cluster:
    """Nodes whose Leases are renewed every 10 s while they are alive."""

    def __init__(self) -> None:
        self.sim = Simulation(0)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        self.names = [f"n{n}" for n in range(4)]
        self.dead: dict[str, None] = {}
        for name in self.names:
            self.user.create("nodes", "", node_object(name))
        self.controllers = [
            NodeLifecycleController(self.sim, self.api),
            TaintEvictionController(self.sim, self.api),
            PodGarbageCollector(self.sim, self.api),
        ]
        self.kubelets = FakeKubelets(self.sim, self.api)
        self.sim.every(10 * SECOND, self.renew)
        self.sim.run_for(20 * SECOND + SECOND // 2)  # between two looks

    def renew(self) -> None:
        for name in self.names:
            if name in self.dead:
                continue
            spec = {"holderIdentity": name, "renewTime": format_rfc3339(self.sim.now, digits=6)}
            if self.api.store.get(LEASES, "kube-node-lease", name) is None:
                body = {"metadata": {"name": name, "namespace": "kube-node-lease"}, "spec": spec}
                self.user.create(LEASES, "kube-node-lease", body)
            else:
                self.user.patch(LEASES, "kube-node-lease", name, {"spec": spec}, kind="merge")

    def kill(self, name: str) -> None:
        self.dead[name] = None
        self.kubelets.dead[name] = None

    def revive(self, name: str) -> None:
        del self.dead[name], self.kubelets.dead[name]
        node = thaw(self.node(name))
        node["status"]["conditions"] = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
        self.user.update_status("nodes", node)

    def node(self, name: str) -> ApiObject:
        found = self.api.store.get("nodes", "", name)
        assert found is not None
        return found

    def taints(self, name: str) -> list[str]:
        return [f"{t['key']}:{t['effect']}" for t in self.node(name)["spec"].get("taints", ())]

    def pod(self, name: str, node: str, **spec: Any) -> None:
        self.user.create("pods", "default", pod_object(name, nodeName=node, tolerations=TOLERATIONS, **spec))

    def get(self, name: str) -> ApiObject | None:
        return self.api.store.get("pods", "default", name)

    def events(self, reason: str) -> list[tuple[str, str]]:
        found = [e for e in self.api.store.objects("events") if e["reason"] == reason]
        return [(e["involvedObject"]["kind"], e["message"]) for e in found]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def ready_of(node: ApiObject) -> tuple[str, str, str]:
    entry = condition(node, "Ready")
    assert entry is not None
    return entry["status"], entry["reason"], entry.get("message", "")


def test_nodes_are_registered_and_stay_ready(cluster: Cluster) -> None:
    cluster.sim.run_for(300 * SECOND)
    assert len(cluster.events("RegisteredNode")) == 4
    assert all(ready_of(cluster.node(n))[0] == "True" for n in cluster.names)


def test_a_dead_node_step_by_step(cluster: Cluster) -> None:
    cluster.pod("a", "n1")
    cluster.sim.run_for(5 * SECOND)
    cluster.kill("n1")
    cluster.sim.run_for(44 * SECOND)
    assert ready_of(cluster.node("n1"))[0] == "True"
    cluster.sim.run_for(5 * SECOND)
    expected = ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
    assert ready_of(cluster.node("n1")) == expected
    assert "node.kubernetes.io/unreachable:NoSchedule" in cluster.taints("n1")
    pod = cluster.get("a")
    assert pod is not None
    assert not is_pod_ready(pod)
    assert cluster.events("NodeNotReady") == [
        ("Pod", "Node is not ready"),
        ("Node", "Node n1 status is now: NodeNotReady"),
    ] or set(cluster.events("NodeNotReady")) == {
        ("Pod", "Node is not ready"),
        ("Node", "Node n1 status is now: NodeNotReady"),
    }
    cluster.sim.run_for(6 * SECOND)
    assert "node.kubernetes.io/unreachable:NoExecute" in cluster.taints("n1")
    cluster.sim.run_for(280 * SECOND)
    pod = cluster.get("a")
    assert pod is not None
    assert not is_terminating(pod)
    cluster.sim.run_for(30 * SECOND)
    pod = cluster.get("a")
    assert pod is not None
    assert is_terminating(pod)
    target = condition(pod, "DisruptionTarget")
    assert target is not None
    assert target["reason"] == "DeletionByTaintManager"
    assert cluster.events("TaintManagerEviction") == [("Pod", "Marking for deletion Pod default/a")]


def test_a_node_that_returns_keeps_its_pods(cluster: Cluster) -> None:
    cluster.pod("a", "n1")
    cluster.sim.run_for(5 * SECOND)
    cluster.kill("n1")
    cluster.sim.run_for(120 * SECOND)
    assert len(cluster.taints("n1")) == 2
    cluster.revive("n1")
    cluster.sim.run_for(16 * SECOND)
    assert cluster.taints("n1") == []
    assert cluster.events("TaintManagerEviction") == [("Pod", "Cancelling deletion of Pod default/a")]
    cluster.sim.run_for(400 * SECOND)
    pod = cluster.get("a")
    assert pod is not None
    assert not is_terminating(pod)


def test_kubelet_reports_not_ready(cluster: Cluster) -> None:
    node = thaw(cluster.node("n1"))
    node["status"]["conditions"] = [{"type": "Ready", "status": "False", "reason": "KubeletNotReady"}]
    cluster.user.update_status("nodes", node)
    cluster.sim.run_for(SECOND)
    assert cluster.taints("n1") == ["node.kubernetes.io/not-ready:NoSchedule"]
    cluster.sim.run_for(6 * SECOND)
    assert sorted(cluster.taints("n1")) == [
        "node.kubernetes.io/not-ready:NoExecute",
        "node.kubernetes.io/not-ready:NoSchedule",
    ]


def test_cordon_becomes_a_taint(cluster: Cluster) -> None:
    cluster.user.patch("nodes", "", "n2", {"spec": {"unschedulable": True}}, kind="merge")
    cluster.sim.run_for(SECOND)
    assert cluster.taints("n2") == ["node.kubernetes.io/unschedulable:NoSchedule"]
    cluster.user.patch("nodes", "", "n2", {"spec": {"unschedulable": None}}, kind="merge")
    cluster.sim.run_for(SECOND)
    assert cluster.taints("n2") == []


def test_when_all_nodes_vanish_nothing_is_evicted(cluster: Cluster) -> None:
    for name in cluster.names:
        cluster.pod(f"p-{name}", name)
    cluster.sim.run_for(5 * SECOND)
    for name in cluster.names:
        cluster.kill(name)
    cluster.sim.run_for(600 * SECOND)
    assert all(cluster.taints(n) == ["node.kubernetes.io/unreachable:NoSchedule"] for n in cluster.names)
    assert not any(is_terminating(p) for p in cluster.api.store.objects("pods"))


def test_a_no_execute_taint_evicts_at_once(cluster: Cluster) -> None:
    cluster.pod("a", "n1")
    cluster.pod("b", "n2")
    cluster.sim.run_for(5 * SECOND)
    taint = {"key": "maintenance", "value": "now", "effect": "NoExecute"}
    cluster.user.patch("nodes", "", "n1", {"spec": {"taints": [taint]}}, kind="merge")
    cluster.sim.run_for(2 * SECOND)
    assert cluster.get("a") is None
    assert cluster.get("b") is not None


def test_pods_of_a_deleted_node_are_collected(cluster: Cluster) -> None:
    cluster.pod("a", "n1")
    cluster.sim.run_for(5 * SECOND)
    cluster.kill("n1")
    cluster.names.remove("n1")
    cluster.user.delete("nodes", "", "n1")
    cluster.sim.run_for(35 * SECOND)
    assert cluster.get("a") is not None
    cluster.sim.run_for(30 * SECOND)
    assert cluster.get("a") is None
    assert len(cluster.events("RemovingNode")) == 1


def test_zone_states() -> None:
    assert zone_state([True] * 4) == "Normal"
    assert zone_state([False] * 3 + [True] * 2) == "PartialDisruption"
    assert eviction_interval_ns("PartialDisruption", 60, False) == 100 * SECOND
    assert eviction_interval_ns("PartialDisruption", 5, False) is None
    assert eviction_interval_ns("Normal", 5, False) == 10 * SECOND


def test_pods_of_a_silent_node_are_marked_one_after_another(cluster: Cluster) -> None:
    names = ("a", "b", "c")
    for name in names:
        cluster.pod(name, "n1")
    cluster.sim.run_for(5 * SECOND)
    cluster.kill("n1")
    seen = []
    for _ in range(70 * 100):
        cluster.sim.run_for(SECOND // 100)
        count = sum(not is_pod_ready(pod) for name in names if (pod := cluster.get(name)) is not None)
        if not seen or count != seen[-1]:
            seen.append(count)
    assert seen == [0, 1, 2, 3]


def test_when_nobody_is_heard_evictions_stop_and_taints_go(cluster: Cluster) -> None:
    cluster.pod("a", "n0")
    cluster.sim.run_for(5 * SECOND)
    cluster.kill("n0")
    cluster.sim.run_for(70 * SECOND)
    unreachable = "node.kubernetes.io/unreachable:NoExecute"
    assert unreachable in cluster.taints("n0")
    for name in ("n1", "n2", "n3"):
        cluster.kill(name)
    cluster.sim.run_for(400 * SECOND)
    assert [name for name in cluster.names if unreachable in cluster.taints(name)] == []
    pod = cluster.get("a")
    assert pod is not None
    assert not is_terminating(pod)
    cluster.revive("n1")
    cluster.sim.run_for(70 * SECOND)
    assert unreachable not in cluster.taints("n0")  # three of four are down: a small zone is left alone
    for name in ("n2", "n3"):
        cluster.revive(name)
    cluster.sim.run_for(30 * SECOND)
    assert unreachable in cluster.taints("n0")


def test_after_an_outage_of_everything_the_one_that_stays_silent_is_tainted(cluster: Cluster) -> None:
    unreachable = "node.kubernetes.io/unreachable:NoExecute"
    for name in cluster.names:
        cluster.kill(name)
    cluster.sim.run_for(200 * SECOND)
    assert [name for name in cluster.names if unreachable in cluster.taints(name)] == []
    back = ("n1", "n2", "n3")
    cluster.dead = {"n0": None}
    cluster.sim.run_for(11 * SECOND)  # Leases come first, then the kubelets report
    for name in back:
        cluster.dead[name] = None
        cluster.revive(name)
    cluster.sim.run_for(60 * SECOND)
    assert [name for name in cluster.names if unreachable in cluster.taints(name)] == ["n0"]
