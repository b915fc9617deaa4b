"""Admission of what is written to subresources: evictions, bindings, tokens, connections."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simcluster.api.backends import WebhookCall, WebhookReply
from simcluster.api.client import Client
from simcluster.api.objects import Json
from simcluster.api.request import ADMIN, Request, Response, request_of
from simcluster.api.server import Api
from simcluster.engine import SECOND, Simulation

VALIDATING = "validatingwebhookconfigurations.admissionregistration.k8s.io"
POD = "/api/v1/namespaces/shop/pods/p"


class Refuser:
    """A webhook that refuses everything and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Json] = []

    def call(self, call: WebhookCall) -> WebhookReply:
        request = call.review["request"]
        self.asked.append(request)
        response = {"uid": request["uid"], "allowed": False, "status": {"message": "no"}}
        body = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response}
        return WebhookReply(status=200, body=json.dumps(body), delay_ns=SECOND // 100)


@pytest.fixture(name="api")
def served() -> Api:
    api = Api(Simulation(7))
    client = Client(api, ADMIN, "kubectl")
    for name in ("default", "shop"):
        client.create("namespaces", "", {"metadata": {"name": name}})
        client.create("serviceaccounts", name, {"metadata": {"name": "default"}})
    spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}
    client.create("pods", "shop", {"metadata": {"name": "p"}, "spec": spec})
    client.create("pods", "shop", {"metadata": {"name": "q"}, "spec": {"containers": spec["containers"]}})
    return api


def refuse(api: Api, operation: str, resource: str) -> Refuser:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": [operation], "resources": [resource]}
    webhook = {
        "name": "no.example.com",
        "clientConfig": {"service": {"namespace": "sys", "name": "hook"}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "rules": [rule],
    }
    body = {"metadata": {"name": "hooks"}, "webhooks": [webhook]}
    Client(api, ADMIN, "kubectl").create(VALIDATING, "", body)
    server = Refuser()
    api.reach_webhooks(server)
    api.sim.run_for(SECOND)
    return server


def post(api: Api, path: str, body: Any = None) -> Response:
    return api.handle(Request("POST", path, body=body))


@pytest.mark.parametrize(
    ("resource", "path", "body", "kind"),
    [
        ("pods/eviction", POD + "/eviction", {"apiVersion": "policy/v1", "kind": "Eviction"}, "Eviction"),
        (
            "pods/binding",
            "/api/v1/namespaces/shop/pods/q/binding",
            {"metadata": {"name": "q"}, "target": {"kind": "Node", "name": "n"}},
            "Binding",
        ),
        ("serviceaccounts/token", "/api/v1/namespaces/shop/serviceaccounts/default/token", {}, "TokenRequest"),
    ],
)
def test_created_at_a_subresource(api: Api, resource: str, path: str, body: Json, kind: str) -> None:
    server = refuse(api, "CREATE", resource)
    answer = post(api, path, {"metadata": {"name": "p"}, **body})
    assert answer.body["message"] == 'admission webhook "no.example.com" denied the request: no'
    (asked,) = server.asked
    assert asked["kind"]["kind"] == kind
    assert asked["subResource"] == resource.partition("/")[2]
    assert asked["object"]["metadata"]["name"] in "pq"
    assert asked["options"]["kind"] == "CreateOptions"


@pytest.mark.parametrize(
    ("part", "query", "options"),
    [
        (
            "exec",
            "command=ls&command=-l&stdout=true",
            {"kind": "PodExecOptions", "apiVersion": "v1", "container": "c", "command": ["ls", "-l"], "stdout": True},
        ),
        ("attach", "", {"kind": "PodAttachOptions", "apiVersion": "v1", "container": "c"}),
        ("portforward", "ports=80", {"kind": "PodPortForwardOptions", "apiVersion": "v1", "ports": [80]}),
    ],
)
def test_connections(api: Api, part: str, query: str, options: Json) -> None:
    server = refuse(api, "CONNECT", f"pods/{part}")
    answer = api.handle(request_of("POST", f"{POD}/{part}?{query}"))
    assert answer.body["message"] == 'admission webhook "no.example.com" denied the request: no'
    (asked,) = server.asked
    assert (asked["operation"], asked["object"], asked["oldObject"]) == ("CONNECT", options, None)
    assert asked["options"] is None


def test_a_plain_request_cannot_be_connected(api: Api) -> None:
    for part in ("attach", "portforward"):
        answer = api.handle(request_of("GET", f"{POD}/{part}"))
        assert (answer.code, answer.body["message"]) == (400, "Upgrade request required")


def test_rules_for_pods_do_not_see_their_subresources(api: Api) -> None:
    server = refuse(api, "CREATE", "pods")
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    assert post(api, POD + "/eviction", body).code == 201
    assert server.asked == []


def test_an_evicted_pod_says_so(api: Api) -> None:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    assert post(api, POD + "/eviction", body).code == 201
    pod = api.store.get("pods", "shop", "p")
    assert pod is not None
    target = next(c for c in pod["status"]["conditions"] if c["type"] == "DisruptionTarget")
    assert (target["reason"], target["message"]) == ("EvictionByEvictionAPI", "Eviction API: evicting")
    assert "deletionTimestamp" in pod["metadata"]
