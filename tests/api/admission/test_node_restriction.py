"""What a kubelet may not write."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.authorization import bootstrap
from simcluster.api.client import Client
from simcluster.api.objects import Json
from simcluster.api.request import ADMIN, MERGE_PATCH, Request, User
from simcluster.api.server import Api
from simcluster.engine import Simulation

KUBELET = User("system:node:a", ("system:nodes", "system:authenticated"))
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture(name="api")
def served() -> Api:
    api = Api(Simulation(7))
    bootstrap.enforce(api)
    client = Client(api, ADMIN, "kubectl")
    for name in ("default", "kube-node-lease"):
        client.create("namespaces", "", {"metadata": {"name": name}})
    client.create("serviceaccounts", "default", {"metadata": {"name": "default"}})
    for name in "ab":
        client.create("nodes", "", {"metadata": {"name": name}})
        spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": name}
        client.create("pods", "default", {"metadata": {"name": f"on-{name}"}, "spec": spec})
    return api


def refusal(api: Api, method: str, path: str, body: Any = None) -> str:
    content = MERGE_PATCH if method == "PATCH" else "application/json"
    answer = api.handle(Request(method, path, body=body, user=KUBELET, content_type=content))
    return "" if answer.ok else str(answer.body["message"])


def mirror(api: Api, **changes: Any) -> Json:
    node = api.store.get("nodes", "", "a")
    assert node is not None
    owner = {"apiVersion": "v1", "kind": "Node", "name": "a", "uid": node["metadata"]["uid"], "controller": True}
    metadata = {
        "name": "static",
        "annotations": {"kubernetes.io/config.mirror": "x"},
        "ownerReferences": [owner],
        **changes.pop("metadata", {}),
    }
    spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "a", **changes}
    return {"metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, ""),
        ({"nodeName": "b"}, 'node "a" can only create pods with spec.nodeName set to itself'),
        (
            {"volumes": [{"name": "v", "secret": {"secretName": "s"}}]},
            'node "a" can not create pods that reference secrets',
        ),
        (
            {"metadata": {"ownerReferences": []}},
            'node "a" can only create pods with an owner reference set to itself',
        ),
    ],
)
def test_mirror_pods(api: Api, changes: Json, why: str) -> None:
    expected = f'pods "static" is forbidden: {why}' if why else ""
    assert refusal(api, "POST", PODS, mirror(api, **changes)) == expected


def test_other_pods(api: Api) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    assert refusal(api, "POST", PODS, {"metadata": {"name": "x"}, "spec": spec}) == (
        'pods "x" is forbidden: pod does not have "kubernetes.io/config.mirror" annotation, '
        'node "a" can only create mirror pods'
    )
    assert refusal(api, "DELETE", f"{PODS}/on-b") == (
        'pods "on-b" is forbidden: node "a" can only delete pods with spec.nodeName set to itself'
    )
    assert refusal(api, "DELETE", f"{PODS}/on-a") == ""


def test_status_of_pods(api: Api) -> None:
    change = {"status": {"message": "m"}}
    assert refusal(api, "PATCH", f"{PODS}/on-a/status", change) == ""
    assert refusal(api, "PATCH", f"{PODS}/on-b/status", change) == (
        'pods "on-b" is forbidden: node "a" can only update pod status for pods with spec.nodeName set to itself'
    )
    assert refusal(api, "PATCH", f"{PODS}/on-a/status", {"metadata": {"labels": {"a": "b"}}}) == (
        'pods "on-a" is forbidden: node "a" cannot update labels through pod status'
    )


def test_nodes(api: Api) -> None:
    path = "/api/v1/nodes"
    label = {"metadata": {"labels": {"topology.kubernetes.io/zone": "z"}}}
    assert refusal(api, "PATCH", f"{path}/a", label) == ""
    assert refusal(api, "PATCH", f"{path}/b", label) == (
        'nodes "b" is forbidden: node "a" is not allowed to modify node "b"'
    )
    forbidden = {"metadata": {"labels": {"node-role.kubernetes.io/x": "", "node-restriction.kubernetes.io/y": ""}}}
    assert refusal(api, "PATCH", f"{path}/a", forbidden) == (
        'nodes "a" is forbidden: is not allowed to modify labels: '
        "node-restriction.kubernetes.io/y, node-role.kubernetes.io/x"
    )
    taints = {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}
    assert refusal(api, "PATCH", f"{path}/a", taints) == (
        'nodes "a" is forbidden: node "a" is not allowed to modify taints'
    )


def test_leases(api: Api) -> None:
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    assert refusal(api, "POST", path, {"metadata": {"name": "a"}}) == ""
    assert refusal(api, "POST", path, {"metadata": {"name": "b"}}) == (
        'leases.coordination.k8s.io "b" is forbidden: can only access node lease with the same name as the '
        "requesting node"
    )


def test_tokens(api: Api) -> None:
    path = "/api/v1/namespaces/default/serviceaccounts/default/token"
    pod = api.store.get("pods", "default", "on-a")
    assert pod is not None
    reference = {"apiVersion": "v1", "kind": "Pod", "name": "on-a", "uid": pod["metadata"]["uid"]}
    assert refusal(api, "POST", path, {"spec": {"boundObjectRef": reference}}) == ""
    assert refusal(api, "POST", path, {"spec": {}}) == (
        'serviceaccounts "default" is forbidden: node requested token not bound to a pod'
    )
