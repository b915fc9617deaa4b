"""The rules of the runbook, each on objects as `kubectl get -o json` gives them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from simcluster.agents.expert import Expert, ReferenceStep
from simcluster.agents.runbook import Runbook
from simcluster.agents.runbook.reading import millicores
from simcluster.surface.protocols import Outcome

Json = dict[str, Any]


class Cluster:
    """Objects to read, and what was done. A kubelet that is started makes its node Ready."""

    alert = "[FIRING] EntrySuccessLow shop/front"

    def __init__(self, **objects: list[Json]) -> None:
        self.objects = {"nodes": [node("worker-1", "True")], **objects}
        self.top = ""
        self.acts: list[str] = []
        self.answer: dict[str, Any] = {}

    def kubectl(self, command: str, stdin: str = "") -> Outcome:
        if command == "get namespaces -o name":
            return Outcome("namespace/kube-system\nnamespace/shop\nnamespace/other\n")
        read = re.fullmatch(r"get (\w+)(?: -n (\w+))? -o json", command)
        if read:
            assert read[2] in (None, "shop"), "the page names the namespace"
            return Outcome(json.dumps({"items": self.objects.get(read[1], [])}))
        if command.startswith("top "):
            return Outcome(self.top)
        self.acts.append(command)
        return Outcome("")

    def node(self, name: str) -> Cluster:
        return self

    def sh(self, command: str) -> Outcome:
        if command == "systemctl is-active containerd":
            return Outcome("active\n")
        if command == "systemctl is-active kubelet":
            return Outcome("inactive\n", "", 3)
        if command.startswith("systemctl start"):
            self.acts.append(command)
            self.objects["nodes"] = [node("worker-1", "True")]
        return Outcome("")

    def wait(self, duration: str) -> None:
        pass

    def diagnose(self, answer: str | dict[str, object]) -> None:
        assert isinstance(answer, dict)
        self.answer = answer


def node(name: str, ready: str) -> Json:
    return {"metadata": {"name": name}, "spec": {}, "status": {"conditions": [{"type": "Ready", "status": ready}]}}


def deployment(name: str, container: Json, revision: int = 2, replicas: int = 1) -> Json:
    labels = {"app": name}
    return {
        "metadata": {
            "name": name, "namespace": "shop", "uid": "u-" + name,
            "annotations": {"deployment.kubernetes.io/revision": str(revision)},
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "server", **container}]}},
        },
    }  # fmt: skip


def replicaset(name: str, container: Json, revision: int) -> Json:
    return {
        "metadata": {
            "name": f"{name}-{revision}",
            "ownerReferences": [{"uid": "u-" + name}],
            "annotations": {"deployment.kubernetes.io/revision": str(revision)},
        },
        "spec": {"template": {"spec": {"containers": [{"name": "server", **container}]}}},
    }


def pod(name: str, waiting: str = "", ports: tuple[int, ...] = ()) -> Json:
    state: Json = {"waiting": {"reason": waiting}} if waiting else {"running": {}}
    box = {"name": "server", "ports": [{"containerPort": port} for port in ports]}
    return {
        "metadata": {"name": name + "-x", "labels": {"app": name}},
        "spec": {"containers": [box]},
        "status": {"containerStatuses": [{"name": "server", "state": state}]},
    }


def service(name: str, selector: dict[str, str], port: int = 80, target: int = 80) -> Json:
    ports = [{"port": port, "targetPort": target}]
    return {"metadata": {"name": name, "namespace": "shop"}, "spec": {"selector": selector, "ports": ports}}


def work(cluster: Cluster) -> Cluster:
    Runbook().run(cluster)
    return cluster


def test_a_stopped_kubelet_is_started() -> None:
    done = work(Cluster(nodes=[node("worker-1", "Unknown")]))
    assert done.acts == ["systemctl start kubelet"]
    assert done.answer["component"] == "Node/worker-1"
    assert done.answer["details"] == {"unit": "kubelet"}


def test_the_expert_says_what_it_saw_and_does_what_it_was_given() -> None:
    cluster = Cluster(nodes=[node("worker-1", "Unknown")])
    Expert([ReferenceStep(kubectl="scale x"), ReferenceStep(wait="3s")]).run(cluster)
    assert (cluster.acts, cluster.answer["component"]) == (["scale x"], "Node/worker-1")
    alone = Cluster(nodes=[node("worker-1", "Unknown")])
    Expert().run(alone)
    assert alone.acts == ["systemctl start kubelet"]


def test_an_image_that_cannot_be_pulled_is_rolled_back() -> None:
    done = work(
        Cluster(
            deployments=[deployment("cart", {"image": "cart:v22"})],
            replicasets=[replicaset("cart", {"image": "cart:v2"}, 1), replicaset("cart", {"image": "cart:v22"}, 2)],
            pods=[pod("cart", "ImagePullBackOff")],
        )
    )
    assert done.acts[0] == "rollout undo deployment/cart -n shop"
    assert (done.answer["component"], done.answer["details"]) == ("Deployment/cart", {"image": "cart:v22"})


@pytest.mark.parametrize(
    ("selector", "change"),
    [
        ({"app": "cart", "version": "v2"}, {"version": None}),
        ({"app": "kart"}, {}),
        ({"app": "cart", "x": "y"}, {"x": None}),
    ],
)
def test_a_selector_is_reduced_to_what_pods_carry(selector: dict[str, str], change: dict[str, Any]) -> None:
    cluster = Cluster(services=[service("cart", selector)], pods=[pod("cart")])
    done = work(cluster)
    expected = change or {"app": "cart"}
    patch = json.loads(done.acts[0].partition(" -p ")[2].strip("'"))
    assert patch == {"spec": {"selector": expected}}
    assert done.answer["component"] == "Service/cart"
    assert done.answer["details"] == {key: selector[key] for key in expected}


def test_services_that_select_pods_are_left_alone() -> None:
    done = work(Cluster(services=[service("cart", {"app": "cart"})], pods=[pod("cart")]))
    assert (done.acts, done.answer) == ([], {})


def test_a_wrong_target_port_is_set_to_the_only_one_there_is() -> None:
    done = work(Cluster(services=[service("cart", {"app": "cart"}, target=81)], pods=[pod("cart", ports=(7070,))]))
    assert '"value":7070' in done.acts[0]


def test_a_port_that_nobody_declares_is_not_wrong_where_somebody_answers() -> None:
    there = pod("cart", ports=(7070,))
    there["spec"]["nodeName"], there["status"]["podIP"] = "worker-1", "10.244.1.9"
    done = work(Cluster(services=[service("cart", {"app": "cart"}, target=81)], pods=[there]))
    assert done.acts == []
    assert done.answer == {}


def test_an_address_that_reaches_nothing_gets_its_former_value() -> None:
    def box(value: str) -> Json:
        return {"image": "x", "env": [{"name": "PAY_ADDR", "value": value}, {"name": "LEVEL", "value": "info"}]}

    done = work(
        Cluster(
            deployments=[deployment("checkout", box("pay:50052"))],
            replicasets=[replicaset("checkout", box("pay:50051"), 1)],
            services=[service("pay", {"app": "pay"}, 50051)],
            pods=[pod("pay"), pod("checkout")],
        )
    )
    assert done.acts[0] == "set env deployment/checkout -n shop PAY_ADDR=pay:50051"
    assert done.answer["details"] == {"PAY_ADDR": "pay:50052"}


def test_an_address_without_history_is_a_last_resort() -> None:
    def box(value: str) -> Json:
        return {"image": "x", "env": [{"name": "PAY_ADDR", "value": value}]}

    alone = Cluster(
        deployments=[deployment("checkout", box("pay:50052"))],
        services=[service("pay", {"app": "pay"}, 50051)],
        pods=[pod("pay"), pod("checkout")],
    )
    assert work(alone).acts[0] == "set env deployment/checkout -n shop PAY_ADDR=pay:50051"
    beside = Cluster(
        deployments=[deployment("checkout", box("assistant:80"))],
        replicasets=[replicaset("checkout", box("assistant:80"), 1)],
        services=[service("cart", {"app": "cart", "x": "y"})],
        pods=[pod("cart"), pod("checkout")],
    )
    assert work(beside).answer["component"] == "Service/cart"


FINE = ("pay:50051", "pay.shop:50051", "pay.shop.svc.cluster.local:50051", "http://pay:50051/v1")
STRANGE = ("db.example.com:5432", "localhost:9000", "0.0.0.0:80", "12:30")


@pytest.mark.parametrize("value", FINE + STRANGE)
def test_right_addresses_and_strangers_are_left_alone(value: str) -> None:
    box = {"image": "x", "env": [{"name": "PAY_ADDR", "value": value}]}
    services = [service("pay", {"app": "pay"}, 50051)]
    assert work(Cluster(deployments=[deployment("a", box)], services=services, pods=[pod("pay"), pod("a")])).acts == []


def test_a_container_at_its_limit_gets_the_former_one() -> None:
    def box(cpu: str) -> Json:
        return {"image": "x", "resources": {"limits": {"cpu": cpu}}}

    cluster = Cluster(
        deployments=[deployment("cat", box("12m")), deployment("dog", box("500m"))],
        replicasets=[replicaset("cat", box("200m"), 1)],
        pods=[pod("cat"), pod("dog")],
    )
    cluster.top = "cat-x server 12m 30Mi\ndog-x server 100m 30Mi\n"
    done = work(cluster)
    assert done.acts[0] == "set resources deployment/cat -n shop -c server --limits=cpu=200m"
    assert done.answer["details"] == {"cpu": "12m"}


def test_a_limit_that_was_cut_down_is_suspect_before_it_is_measured() -> None:
    def box(cpu: str) -> Json:
        return {"image": "x", "resources": {"limits": {"cpu": cpu}}}

    cluster = Cluster(
        deployments=[deployment("cat", box("12m")), deployment("dog", box("150m"))],
        replicasets=[replicaset("cat", box("200m"), 1), replicaset("dog", box("200m"), 1)],
        pods=[pod("cat"), pod("dog")],
    )
    assert work(cluster).acts[0] == "set resources deployment/cat -n shop -c server --limits=cpu=200m"


def test_a_deployment_without_replicas_behind_a_service_is_scaled_up() -> None:
    cluster = Cluster(
        deployments=[deployment("cart", {"image": "x"}, replicas=0)], services=[service("cart", {"app": "cart"})]
    )
    assert work(cluster).acts[0] == "scale deployment/cart -n shop --replicas=1"


def test_a_crashing_revision_is_rolled_back() -> None:
    done = work(
        Cluster(
            deployments=[deployment("cart", {"image": "cart:v3"})],
            replicasets=[replicaset("cart", {"image": "cart:v2"}, 1)],
            pods=[pod("cart", "CrashLoopBackOff")],
        )
    )
    assert done.acts[0] == "rollout undo deployment/cart -n shop"


def test_quantities() -> None:
    assert [millicores(text) for text in ("250m", "2", "0.5", "12000000n", "1500u", "", "x")] == [
        250,
        2000,
        500,
        12,
        1,
        0,
        0,
    ]
