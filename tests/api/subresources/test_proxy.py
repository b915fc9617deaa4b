"""The `proxy` subresources: where a request goes, who may send it, and what comes back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from simcluster.api.authorization import bootstrap as access
from simcluster.api.backends import ProxyCall, ProxyReply
from simcluster.api.request import Response, User, request_of
from simcluster.api.server import Api
from simcluster.engine import Simulation

POD = "/api/v1/namespaces/default/pods"
SERVICE = "/api/v1/namespaces/default/services"


class Transport:
    """Remembers what it was asked to send."""

    def __init__(self, reply: ProxyReply) -> None:
        self.reply = reply
        self.calls: list[ProxyCall] = []

    def send(self, call: ProxyCall) -> ProxyReply:
        self.calls.append(call)
        return self.reply


@pytest.fixture(name="api")
def served() -> Api:
    api = Api(Simulation(1))
    metadata = {"name": "web-0", "namespace": "default", "uid": "u"}
    containers = [{"name": "a", "image": "b"}, {"name": "c", "image": "d", "ports": [{"containerPort": 8080}]}]
    status = {"podIP": "10.244.1.7", "podIPs": [{"ip": "10.244.1.7"}]}
    api.store.put("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers},
                           "status": status})  # fmt: skip
    ports = [{"name": "http", "port": 80, "targetPort": 8080}]
    named = {"name": "web", "namespace": "default", "uid": "s"}
    api.store.put(
        "services", {"apiVersion": "v1", "kind": "Service", "metadata": dict(named), "spec": {"ports": ports}}
    )
    target = {"kind": "Pod", "name": "web-0", "namespace": "default"}
    subsets = [{"addresses": [{"ip": "10.244.1.7", "targetRef": target}], "ports": [{"name": "http", "port": 8080}]}]
    api.store.put("endpoints", {"apiVersion": "v1", "kind": "Endpoints", "metadata": dict(named), "subsets": subsets})
    addresses = [{"type": "InternalIP", "address": "10.0.0.11"}]
    api.store.put("nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "n"}, "spec": {},
                            "status": {"addresses": addresses}})  # fmt: skip
    api.proxy = Transport(ProxyReply("", 200, "hello\n", "text/plain", 1_000))
    return api


def get(api: Api, target: str, method: str = "GET", **rest: Any) -> Response:
    return api.handle(request_of(method, target, **rest))


@pytest.mark.parametrize(
    ("target", "where"),
    [
        (f"{POD}/web-0/proxy/a/b?c=d", ("http", "10.244.1.7", 8080, "", "/a/b?c=d")),
        (f"{POD}/web-0:9090/proxy/", ("http", "10.244.1.7", 9090, "", "/")),
        (f"{POD}/https:web-0:8443/proxy/x/", ("https", "10.244.1.7", 8443, "", "/x/")),
        (f"{SERVICE}/web:80/proxy/", ("http", "10.244.1.7", 8080, "", "/")),
        (f"{SERVICE}/web:http/proxy/", ("http", "10.244.1.7", 8080, "", "/")),
        (f"{SERVICE}/https:web:http/proxy/", ("https", "10.244.1.7", 8080, "", "/")),
        ("/api/v1/nodes/n/proxy/healthz", ("https", "10.0.0.11", 10250, "n", "/healthz")),
        ("/api/v1/nodes/n:10250/proxy/healthz", ("https", "10.0.0.11", 10250, "n", "/healthz")),
        ("/api/v1/nodes/n:9100/proxy/metrics", ("http", "10.0.0.11", 9100, "", "/metrics")),
    ],
)
def test_where_a_request_goes(api: Api, target: str, where: tuple[str, str, int, str, str]) -> None:
    response = get(api, target)
    assert (response.code, response.text, response.latency_ns) == (200, "hello\n", 1_000)
    assert isinstance(api.proxy, Transport)
    (call,) = api.proxy.calls
    assert (call.scheme, call.host, call.port, call.kubelet, call.path) == where


@pytest.mark.parametrize(
    ("target", "code", "message"),
    [
        (f"{POD}/none/proxy/", 404, 'pods "none" not found'),
        (f"{POD}/a:b:c:d/proxy/", 400, 'invalid pod request "a:b:c:d"'),
        (f"{SERVICE}/none/proxy/", 404, 'endpoints "none" not found'),
        (f"{SERVICE}/web:81/proxy/", 503, 'no service port 81 found for service "web"'),
        (f"{SERVICE}/web/proxy/", 503, 'no endpoints available for service "web"'),
        (f"{SERVICE}/web:other/proxy/", 503, 'no endpoints available for service "web:other"'),
        ("/api/v1/nodes/none/proxy/", 404, 'nodes "none" not found'),
    ],
)
def test_what_cannot_be_reached(api: Api, target: str, code: int, message: str) -> None:
    response = get(api, target)
    assert (response.code, response.body["message"]) == (code, message)


def test_nobody_listens(api: Api) -> None:
    api.proxy = Transport(ProxyReply("dial tcp 10.244.1.7:8080: connect: connection refused"))
    response = get(api, f"{POD}/web-0/proxy/")
    assert (response.code, response.body["reason"]) == (503, "ServiceUnavailable")
    refused = "dial tcp 10.244.1.7:8080: connect: connection refused"
    assert response.body["message"] == f"error trying to reach service: {refused}"


def test_a_path_without_slash_is_redirected(api: Api) -> None:
    response = get(api, f"{POD}/web-0/proxy?a=b")
    assert (response.code, response.headers["Location"]) == (301, f"{POD}/web-0/proxy/?a=b")


def test_errors_of_the_server_behind_are_passed_on(api: Api) -> None:
    api.proxy = Transport(ProxyReply("", 404, "404 page not found\n", "text/plain"))
    response = get(api, f"{POD}/web-0/proxy/x", "POST", body=b"data")
    assert (response.code, response.text) == (404, "404 page not found\n")
    assert api.proxy.calls[0].body == "data"


@pytest.mark.parametrize(("method", "verb"), [("GET", "get"), ("POST", "create"), ("DELETE", "delete")])
def test_who_may_send(api: Api, method: str, verb: str) -> None:
    access.enforce(api)
    request = replace(request_of(method, f"{SERVICE}/web:80/proxy/a"), user=User("bob", ("system:authenticated",)))
    response = api.handle(request)
    assert response.code == 403
    assert response.body["message"] == (
        f'services "web:80" is forbidden: User "bob" cannot {verb} resource "services/proxy" in API group "" '
        'in the namespace "default"'
    )


def test_the_deprecated_paths_of_watches(api: Api) -> None:
    for target, names in (
        ("/api/v1/watch/pods", ["web-0"]),
        ("/api/v1/watch/namespaces/default/pods", ["web-0"]),
        ("/api/v1/watch/namespaces/default/pods/web-0", ["web-0"]),
        ("/api/v1/watch/namespaces/default/pods/other", []),
        ("/api/v1/watch/namespaces/other/pods", []),
    ):
        stream = get(api, target).stream
        assert stream is not None
        assert [event["object"]["metadata"]["name"] for event in stream.poll()] == names
    assert get(api, "/api/v1/watch/watch/pods").code == 404
    assert get(api, "/api/v1/watch/pods", "POST").code == 405
    assert get(api, "/api/v1/watch/namespaces/default/pods/web-0/status").code == 404


def test_the_verb_of_a_deprecated_path(api: Api) -> None:
    access.enforce(api)
    request = replace(request_of("GET", "/api/v1/watch/pods"), user=User("bob", ("system:authenticated",)))
    assert 'cannot watch resource "pods" in API group "" at the cluster scope' in api.handle(request).body["message"]


def test_metrics_of_the_server(api: Api) -> None:
    made = {"metadata": {"name": "n1"}}
    assert get(api, "/api/v1/namespaces", "POST", body=made).code == 201
    assert get(api, "/api/v1/namespaces", "POST", body=made).code == 409
    assert get(api, "/api/v1/namespaces?dryRun=All", "POST", body={"metadata": {"name": "n2"}}).code == 201
    lines = (get(api, "/metrics").text or "").splitlines()
    counted = [line for line in lines if line.startswith("apiserver_request_total{")]
    assert [line.rpartition(" ")[2] for line in counted] == ["1", "1"]
    assert 'code="201"' in counted[0]
    assert 'resource="namespaces",scope="resource",subresource="",verb="POST",version="v1"' in counted[0]
    assert 'apiserver_storage_objects{resource="pods"} 1' in lines
    assert lines == (get(api, "/metrics").text or "").splitlines()  # reading counts nothing
    assert 'kubernetes_healthcheck{name="ping",type="livez"} 1' in (get(api, "/metrics/slis").text or "")
