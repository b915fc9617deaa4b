from __future__ import annotations

import pickle
from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, condition, thaw
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.control.scheduler import Scheduler
from simcluster.control.scheduler.requests import pod_requests
from simcluster.engine import MILLISECOND, MINUTE, SECOND, Simulation
from tests.clusters.controlplane import FakeKubelets, node_object, pod_object

CONTROL_PLANE_TAINT = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}


class Cluster:
    def __init__(self, seed: int = 0) -> None:
        self.sim = Simulation(seed)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        master = node_object("control-plane")
        master["spec"]["taints"] = [CONTROL_PLANE_TAINT]
        self.user.create("nodes", "", master)
        for n, zone in ((1, "a"), (2, "b"), (3, "a")):
            self.user.create("nodes", "", node_object(f"w{n}", topology_kubernetes_io__zone=zone))
        for name, value in (("low", 1), ("high", 1000)):
            body = {"metadata": {"name": name}, "value": value}
            self.user.create("priorityclasses.scheduling.k8s.io", "", body)
        self.scheduler = Scheduler(self.sim, self.api)
        self.sim.run_for(SECOND)

    def pod(self, name: str, labels: dict[str, str] | None = None, **spec: Any) -> None:
        body = pod_object(name, **spec)
        if labels is not None:
            body["metadata"]["labels"] = labels
        self.user.create("pods", "default", body)

    def run(self, duration_ns: int = SECOND) -> None:
        self.sim.run_for(duration_ns)

    def get(self, name: str) -> ApiObject:
        found = self.api.store.get("pods", "default", name)
        assert found is not None
        return found

    def node_of(self, name: str) -> str | None:
        node: str | None = self.get(name)["spec"].get("nodeName")
        return node

    def edit_node(self, name: str, **spec: Any) -> None:
        found = self.api.store.get("nodes", "", name)
        assert found is not None
        node = thaw(found)
        node["spec"].update(spec)
        self.user.update("nodes", node)

    def label_node(self, name: str, **labels: str) -> None:
        self.user.patch("nodes", "", name, {"metadata": {"labels": labels}}, kind="merge")

    def why(self, name: str) -> str:
        entry = condition(self.get(name), "PodScheduled")
        assert entry is not None
        assert (entry["status"], entry["reason"]) == ("False", "Unschedulable")
        message: str = entry["message"]
        return message

    def events(self, reason: str) -> list[str]:
        return [e["message"] for e in self.api.store.objects("events") if e["reason"] == reason]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def anti_affinity(app: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_a_pod_is_bound_within_milliseconds(cluster: Cluster) -> None:
    cluster.pod("a")
    cluster.run(20 * MILLISECOND)
    node = cluster.node_of("a")
    assert node in ("w1", "w2", "w3")
    assert cluster.events("Scheduled") == [f"Successfully assigned default/a to {node}"]


UNFIT = "preemption: 0/4 nodes are available: 1 Preemption is not helpful for scheduling, "
NO_VICTIMS = UNFIT + "3 No preemption victims found for incoming pod."
NOT_HELPFUL = "preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling."
TAINT = "1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"cpu": "64"}, f"0/4 nodes are available: {TAINT}, 3 Insufficient cpu. {NO_VICTIMS}"),
        (
            {"nodeSelector": {"disktype": "ssd"}},
            f"0/4 nodes are available: {TAINT}, 3 node(s) didn't match Pod's node affinity/selector. {NOT_HELPFUL}",
        ),
        (
            {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "nope"}}]},
            f'0/4 nodes are available: persistentvolumeclaim "nope" not found. {NOT_HELPFUL}',
        ),
        (
            {
                "containers": [
                    {"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 1}}},
                ]
            },
            f"0/4 nodes are available: {TAINT}, 3 Insufficient nvidia.com/gpu. {NO_VICTIMS}",
        ),
    ],
)
def test_refusals_in_the_words_of_the_real_scheduler(cluster: Cluster, spec: dict[str, Any], message: str) -> None:
    cluster.pod("a", **spec)
    cluster.run()
    assert cluster.why("a") == message
    assert cluster.events("FailedScheduling") == [message]


def test_cordoned_nodes(cluster: Cluster) -> None:
    for n in (1, 2, 3):
        cluster.edit_node(f"w{n}", unschedulable=True)
    cluster.edit_node("control-plane", unschedulable=True)
    cluster.run()
    cluster.pod("a")
    cluster.run()
    assert cluster.why("a") == f"0/4 nodes are available: 4 node(s) were unschedulable. {NOT_HELPFUL}"
    cluster.edit_node("w2", unschedulable=False)
    cluster.run(2 * SECOND)
    assert cluster.node_of("a") == "w2"


def test_host_ports_and_anti_affinity(cluster: Cluster) -> None:
    ports = [{"containerPort": 9000, "hostPort": 9000}]
    for n in range(4):
        cluster.pod(f"h{n}", containers=[{"name": "c", "image": "i", "ports": ports}])
        cluster.pod(f"x{n}", {"app": "x"}, affinity=anti_affinity("x"))
    cluster.run()
    assert {cluster.node_of(f"h{n}") for n in range(3)} == {"w1", "w2", "w3"}
    text = "3 node(s) didn't have free ports for the requested pod ports."
    assert cluster.why("h3") == f"0/4 nodes are available: {TAINT}, {text} {NO_VICTIMS}"
    assert {cluster.node_of(f"x{n}") for n in range(3)} == {"w1", "w2", "w3"}
    text = "3 node(s) didn't match pod anti-affinity rules."
    assert cluster.why("x3") == f"0/4 nodes are available: {TAINT}, {text} {NO_VICTIMS}"


def test_existing_pods_repel_a_newcomer(cluster: Cluster) -> None:
    for n in range(3):
        cluster.pod(f"x{n}", {"app": "x"}, affinity={**anti_affinity("y"), **{}})
        cluster.run()
    places = {cluster.node_of(f"x{n}") for n in range(3)}
    cluster.pod("y", {"app": "y"})
    cluster.run()
    if len(places) == 3:
        assert "3 node(s) didn't satisfy existing pods anti-affinity rules" in cluster.why("y")
    else:
        assert cluster.node_of("y") not in places


def test_affinity_brings_pods_together(cluster: Cluster) -> None:
    term = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    cluster.pod("lonely", affinity=affinity)
    cluster.run()
    assert "3 node(s) didn't match pod affinity rules" in cluster.why("lonely")
    cluster.pod("db", {"app": "db"})
    cluster.run(3 * SECOND)
    assert cluster.node_of("lonely") == cluster.node_of("db")


def test_topology_spread(cluster: Cluster) -> None:
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "nodeAffinityPolicy": "Ignore",
        "nodeTaintsPolicy": "Honor",
        "labelSelector": {"matchLabels": {"app": "s"}},
    }
    for n in range(2):
        cluster.pod(
            f"s{n}",
            {"app": "s"},
            topologySpreadConstraints=[spread],
            nodeSelector={"kubernetes.io/hostname": "w1"},
        )
    cluster.run()
    assert cluster.why("s1") == (
        f"0/4 nodes are available: 1 node(s) didn't match pod topology spread constraints, {TAINT}, "
        "2 node(s) didn't match Pod's node affinity/selector. preemption: 0/4 nodes are available: "
        "1 No preemption victims found for incoming pod, 3 Preemption is not helpful for scheduling."
    )


def test_a_new_label_wakes_the_right_pod(cluster: Cluster) -> None:
    cluster.pod("a", nodeSelector={"disktype": "ssd"})
    cluster.pod("b", nodeSelector={"disktype": "nvme"})
    cluster.run(30 * SECOND)
    cluster.label_node("w2", disktype="ssd")
    cluster.run(100 * MILLISECOND)
    assert cluster.node_of("a") == "w2"
    assert len(cluster.events("FailedScheduling")) == 2
    cluster.run(6 * MINUTE)
    (event,) = (
        e
        for e in cluster.api.store.objects("events")
        if e["reason"] == "FailedScheduling" and e["involvedObject"]["name"] == "b"
    )
    assert event["count"] == 2  # the second attempt is the flush after five minutes


def test_gates_and_other_schedulers_are_left_alone(cluster: Cluster) -> None:
    cluster.pod("gated", schedulingGates=[{"name": "example.com/wait"}])
    cluster.pod("foreign", schedulerName="my-scheduler")
    cluster.run()
    assert cluster.node_of("gated") is cluster.node_of("foreign") is None
    assert cluster.events("FailedScheduling") == []
    body = thaw(cluster.get("gated"))
    del body["spec"]["schedulingGates"]
    cluster.user.update("pods", body)
    cluster.run()
    assert cluster.node_of("gated") is not None


def test_a_stopped_scheduler_says_nothing(cluster: Cluster) -> None:
    cluster.scheduler.stop()
    cluster.pod("a")
    cluster.run(MINUTE)
    assert cluster.node_of("a") is None
    assert "conditions" not in cluster.get("a")["status"]
    assert cluster.events("Scheduled") == []
    cluster.scheduler.start()
    cluster.run()
    assert cluster.node_of("a") is not None


def test_a_pending_pod_that_is_deleted_is_skipped(cluster: Cluster) -> None:
    cluster.pod("a", cpu="64")
    cluster.run(5 * SECOND)
    cluster.user.delete("pods", "default", "a")
    cluster.run()
    assert cluster.events("FailedScheduling")[-1] == "skip schedule deleting pod: default/a"


def test_preemption_makes_room(cluster: Cluster) -> None:
    kubelets = FakeKubelets(cluster.sim, cluster.api, stop_ns=2 * SECOND)
    for n in range(3):
        cluster.pod(f"batch{n}", cpu="3", priorityClassName="low")
    cluster.run(2 * SECOND)
    cluster.pod("vip", cpu="2500m", priorityClassName="high")
    cluster.run(SECOND)
    assert cluster.why("vip") == f"0/4 nodes are available: {TAINT}, 3 Insufficient cpu."
    nominated = cluster.get("vip")["status"]["nominatedNodeName"]
    (preempted,) = cluster.events("Preempted")
    assert preempted == f"Preempted by pod {cluster.get('vip')['metadata']['uid']} on node {nominated}"
    cluster.run(5 * SECOND)
    assert cluster.node_of("vip") == nominated
    assert len([p for p in cluster.api.store.objects("pods") if p["metadata"]["name"].startswith("batch")]) == 2
    assert not kubelets.dead


def test_equal_priority_does_not_preempt(cluster: Cluster) -> None:
    for n in range(3):
        cluster.pod(f"batch{n}", cpu="3", priorityClassName="low")
    cluster.pod("late", cpu="3", priorityClassName="low")
    cluster.run()
    assert cluster.why("late").endswith("3 No preemption victims found for incoming pod.")


def test_nodes_are_never_overcommitted(cluster: Cluster) -> None:
    stream = cluster.sim.stream("test")
    for n in range(200):
        cluster.pod(f"p{n}", cpu=f"{stream.integer(50, 600)}m")
        cluster.run(stream.integer(0, 5) * MILLISECOND)
        if n % 7 == 0:
            victims = [p for p in cluster.api.store.objects("pods") if p["spec"].get("nodeName")]
            if victims:
                name = stream.choice(victims)["metadata"]["name"]
                cluster.user.delete("pods", "default", name, grace_period_s=0)
        for node in ("w1", "w2", "w3"):
            used = sum(pod_requests(p).get("cpu", 0) for p in cluster.api.store.pods_on(node))
            assert used <= 4000
    cluster.run(30 * SECOND)
    pending = [p for p in cluster.api.store.objects("pods") if not p["spec"].get("nodeName")]
    free = max(
        4000 - sum(pod_requests(p).get("cpu", 0) for p in cluster.api.store.pods_on(node))
        for node in ("w1", "w2", "w3")
    )
    assert all(pod_requests(p)["cpu"] > free for p in pending)


def test_replicas_of_one_owner_spread_over_nodes(cluster: Cluster) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u1", "controller": True}
    for n in range(6):
        body = pod_object(f"r{n}", cpu="10m")
        body["metadata"]["ownerReferences"] = [owner]
        cluster.user.create("pods", "default", body)
    cluster.run()
    places = [cluster.node_of(f"r{n}") for n in range(6)]
    assert sorted(map(places.count, ("w1", "w2", "w3"))) == [2, 2, 2]


def test_throughput_and_latency() -> None:
    sim = Simulation(1)
    api = Api(sim)
    user = Client(api, User(), "kubectl")
    for n in range(20):
        user.create("nodes", "", node_object(f"n{n}"))
    Scheduler(sim, api)
    sim.run_for(SECOND)
    for n in range(300):
        user.create("pods", "default", pod_object(f"p{n}", cpu="10m"))
    sim.run_for(SECOND)
    assert sum(bool(p["spec"].get("nodeName")) for p in api.store.objects("pods")) == 300


def test_pickled_scheduler_goes_on_alike(cluster: Cluster) -> None:
    for n in range(10):
        cluster.pod(f"p{n}", cpu="100m")
    cluster.run(6 * MILLISECOND)
    fork: Cluster = pickle.loads(pickle.dumps(cluster))
    for copy in (cluster, fork):
        copy.run()
    assert fork.sim.digest.hex() == cluster.sim.digest.hex()


def test_requests_of_init_containers_and_sidecars() -> None:
    def container(cpu: str, **more: Any) -> dict[str, Any]:
        return {"name": "c", "resources": {"requests": {"cpu": cpu}}, **more}

    pod = {
        "spec": {
            "containers": [container("100m"), container("200m")],
            "initContainers": [container("50m", restartPolicy="Always"), container("400m")],
        }
    }
    assert pod_requests(pod) == {"cpu": 450}
    pod["spec"]["initContainers"] = [container("50m", restartPolicy="Always"), container("100m")]
    assert pod_requests(pod) == {"cpu": 350}


def spread(key: str, **more: Any) -> dict[str, Any]:
    when = {"whenUnsatisfiable": "DoNotSchedule", "nodeTaintsPolicy": "Honor"}
    return {"maxSkew": 1, "topologyKey": key, "labelSelector": {"matchLabels": {"app": "s"}}, **when, **more}


def test_spread_counts_only_pods_with_the_same_value_of_match_label_keys(cluster: Cluster) -> None:
    hosts = [spread("kubernetes.io/hostname", matchLabelKeys=["version"], nodeAffinityPolicy="Ignore")]
    only = {"kubernetes.io/hostname": "w1"}
    for name, version in (("a", "1"), ("b", "2"), ("c", "1")):
        cluster.pod(name, {"app": "s", "version": version}, topologySpreadConstraints=hosts, nodeSelector=only)
        cluster.run()
    assert (cluster.node_of("a"), cluster.node_of("b"), cluster.node_of("c")) == ("w1", "w1", None)
    assert "1 node(s) didn't match pod topology spread constraints" in cluster.why("c")


def test_spread_wants_as_many_domains_as_it_says(cluster: Cluster) -> None:
    zones = [spread("topology.kubernetes.io/zone", minDomains=3)]
    cluster.pod("a", {"app": "s"}, topologySpreadConstraints=zones)
    cluster.pod("b", {"app": "s"}, topologySpreadConstraints=zones)
    cluster.pod("c", {"app": "s"}, topologySpreadConstraints=zones)
    cluster.run()
    assert {cluster.node_of("a") == "w2", cluster.node_of("b") == "w2"} == {True, False}
    text = "1 node(s) didn't match pod topology spread constraints (missing required label)"
    assert cluster.why("c").startswith(f"0/4 nodes are available: {TAINT}, 3 node(s) didn't match pod topology spread")
    assert text not in cluster.why("c")


def test_affinity_by_labels_of_namespaces(cluster: Cluster) -> None:
    for name, team in (("blue", "x"), ("green", "y")):
        cluster.user.create("namespaces", "", {"metadata": {"name": name, "labels": {"team": team}}})
    body = pod_object("db", "blue", nodeSelector={"kubernetes.io/hostname": "w3"})
    cluster.user.create("pods", "blue", body)
    cluster.run()
    terms = {
        team: {
            "labelSelector": {"matchLabels": {"app": "db"}},
            "namespaceSelector": {"matchLabels": {"team": team}},
            "topologyKey": "kubernetes.io/hostname",
        }
        for team in ("x", "y")
    }
    for team, term in terms.items():
        affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        cluster.pod(f"near-{team}", affinity=affinity)
    cluster.run()
    assert cluster.node_of("near-x") == "w3"
    assert "3 node(s) didn't match pod affinity rules" in cluster.why("near-y")


def test_preemption_spares_pods_under_a_budget(cluster: Cluster) -> None:
    FakeKubelets(cluster.sim, cluster.api, stop_ns=2 * SECOND)
    for n in (1, 2, 3):
        cluster.pod(
            f"batch{n}",
            {"app": "kept" if n != 2 else "free"},
            cpu="3",
            priorityClassName="low",
            nodeSelector={"kubernetes.io/hostname": f"w{n}"},
        )
        cluster.run()
    spec = {"minAvailable": 2, "selector": {"matchLabels": {"app": "kept"}}}
    cluster.user.create("poddisruptionbudgets.policy", "default", {"metadata": {"name": "b"}, "spec": spec})
    cluster.pod("vip", cpu="3", priorityClassName="high")
    cluster.run()
    assert cluster.get("vip")["status"]["nominatedNodeName"] == "w2"
    cluster.run(5 * SECOND)
    assert cluster.node_of("vip") == "w2"


def test_a_more_important_pod_takes_over_a_nominated_node(cluster: Cluster) -> None:
    FakeKubelets(cluster.sim, cluster.api, stop_ns=20 * SECOND)
    for n in (1, 2, 3):
        cluster.edit_node(f"w{n}", unschedulable=n != 1)
    cluster.run()
    cluster.pod("batch", cpu="3")
    cluster.run()
    cluster.pod("low", cpu="3", priorityClassName="low")
    cluster.run()
    assert cluster.get("low")["status"]["nominatedNodeName"] == "w1"
    cluster.pod("high", cpu="3", priorityClassName="high")
    cluster.run(30 * SECOND)
    assert cluster.node_of("high") == "w1"
    assert cluster.node_of("low") is None


def test_images_draw_pods_to_nodes_that_have_them(cluster: Cluster) -> None:
    node = thaw(cluster.user.get("nodes", "", "w3"))
    node["status"]["images"] = [{"names": ["registry.example/big:1"], "sizeBytes": 4_000_000_000}]
    cluster.user.update_status("nodes", node)
    cluster.run()
    cluster.pod("a", containers=[{"name": "c", "image": "registry.example/big:1"}])
    cluster.run()
    assert cluster.node_of("a") == "w3"


def test_preferred_affinity_in_both_directions(cluster: Cluster) -> None:
    def wish(app: str) -> list[dict[str, Any]]:
        term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
        return [{"weight": 100, "podAffinityTerm": term}]

    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    only = {"kubernetes.io/hostname": "w3"}
    cluster.pod("db", {"app": "db"}, nodeSelector=only, affinity={"podAffinity": {preferred: wish("friend")}})
    cluster.run()
    cluster.pod("near", affinity={"podAffinity": {preferred: wish("db")}})
    cluster.pod("friend", {"app": "friend"})
    cluster.pod("far", affinity={"podAntiAffinity": {preferred: wish("db")}})
    cluster.run()
    assert cluster.node_of("near") == cluster.node_of("friend") == "w3"
    assert cluster.node_of("far") in ("w1", "w2")


def test_room_made_for_one_pod_is_not_promised_to_another(cluster: Cluster) -> None:
    kubelets = FakeKubelets(cluster.sim, cluster.api, stop_ns=5 * SECOND)
    for n in range(3):
        cluster.pod(f"batch{n}", cpu="3", priorityClassName="low")
    cluster.run(2 * SECOND)
    for name in ("first", "second"):
        cluster.pod(name, cpu="2500m", priorityClassName="high")
        cluster.run(SECOND)
    nominated = [cluster.get(name)["status"]["nominatedNodeName"] for name in ("first", "second")]
    assert len(set(nominated)) == 2
    assert len(cluster.events("Preempted")) == 2
    assert not kubelets.dead


def test_pods_without_a_replica_set_spread_by_their_services(cluster: Cluster) -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u2", "controller": True}

    def job_pods(prefix: str) -> list[int]:
        for n in range(12):
            body = pod_object(f"{prefix}{n}", cpu="1m")
            body["metadata"].update(ownerReferences=[owner], labels={"app": prefix})
            cluster.user.create("pods", "default", body)
        cluster.run()
        places = [cluster.node_of(f"{prefix}{n}") for n in range(12)]
        return sorted(map(places.count, ("w1", "w2", "w3")))

    service = {"metadata": {"name": "s"}, "spec": {"selector": {"app": "x"}, "ports": [{"port": 80}]}}
    cluster.user.create("services", "default", service)
    found = cluster.api.store.get("services", "default", "s")
    assert found is not None
    # Zone a has two nodes and zone b one: its node takes more than a third.
    assert job_pods("x") in ([3, 3, 6], [3, 4, 5], [4, 4, 4])
