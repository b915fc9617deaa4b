"""Admission: what a pod is given, and what a namespace refuses."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.request import ADMIN, request_of
from simcluster.api.server import Api
from simcluster.engine import Simulation


@pytest.fixture
def api() -> Api:
    api = Api(Simulation(11))
    client = Client(api, ADMIN, "test")
    for name in ("default", "tiny"):
        client.create("namespaces", "", {"metadata": {"name": name}})
        client.create("serviceaccounts", name, {"metadata": {"name": "default"}})
    return api


@pytest.fixture
def client(api: Api) -> Client:
    return Client(api, ADMIN, "test")


def pod(name: str, resources: Any = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", **({"resources": resources} if resources else {})}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


def message(client: Client, body: Any, resource: str = "pods") -> str:
    with pytest.raises(ApiError) as error:
        client.create(resource, "tiny", body)
    assert error.value.code == 403
    return error.value.message


def test_what_every_pod_gets(client: Client) -> None:
    spec = client.create("pods", "tiny", pod("a"))["spec"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert [(t["key"], t["tolerationSeconds"]) for t in spec["tolerations"]] == [
        ("node.kubernetes.io/not-ready", 300),
        ("node.kubernetes.io/unreachable", 300),
    ]
    (volume,), (mount,) = spec["volumes"], spec["containers"][0]["volumeMounts"]
    assert volume["name"] == mount["name"]
    assert volume["name"].startswith("kube-api-access-")
    assert mount["mountPath"] == "/var/run/secrets/kubernetes.io/serviceaccount"
    other = client.create("pods", "tiny", pod("b"))["spec"]["volumes"][0]["name"]
    assert other != volume["name"]


def test_no_token_if_unwanted(client: Client) -> None:
    assert "volumes" not in client.create("pods", "tiny", pod("a", automountServiceAccountToken=False))["spec"]


def test_missing_service_account(client: Client) -> None:
    text = 'pods "a" is forbidden: error looking up service account tiny/x: serviceaccount "x" not found'
    assert message(client, pod("a", serviceAccountName="x")) == text


def test_priority_classes(client: Client) -> None:
    client.create("priorityclasses.scheduling.k8s.io", "", {"metadata": {"name": "high"}, "value": 1000})
    assert client.create("pods", "tiny", pod("a", priorityClassName="high"))["spec"]["priority"] == 1000
    assert message(client, pod("b", priorityClassName="nope")).endswith("no PriorityClass with name nope was found")


def test_missing_namespace(client: Client) -> None:
    with pytest.raises(ApiError) as error:
        client.create("configmaps", "nope", {"metadata": {"name": "x"}})
    assert (error.value.code, error.value.message) == (404, 'namespaces "nope" not found')


class TestLimitRange:
    @pytest.fixture(autouse=True)
    def limits(self, client: Client) -> None:
        item = {
            "type": "Container",
            "default": {"cpu": "200m", "memory": "64Mi"},
            "defaultRequest": {"cpu": "100m", "memory": "32Mi"},
            "max": {"cpu": "1"},
            "min": {"cpu": "10m"},
        }
        client.create("limitranges", "tiny", {"metadata": {"name": "limits"}, "spec": {"limits": [item]}})

    def test_defaults(self, client: Client) -> None:
        made = client.create("pods", "tiny", pod("a"))
        assert made["spec"]["containers"][0]["resources"] == {
            "limits": {"cpu": "200m", "memory": "64Mi"},
            "requests": {"cpu": "100m", "memory": "32Mi"},
        }
        assert made["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
            "LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c"
        )
        assert made["status"]["qosClass"] == "Burstable"

    def test_maximum(self, client: Client) -> None:
        text = 'pods "big" is forbidden: maximum cpu usage per Container is 1, but limit is 2'
        assert message(client, pod("big", {"limits": {"cpu": "2"}})) == text

    def test_minimum(self, client: Client) -> None:
        text = "minimum cpu usage per Container is 10m, but request is 1m"
        assert message(client, pod("small", {"requests": {"cpu": "1m"}})).endswith(text)


class TestResourceQuota:
    def quota(self, client: Client, **hard: str) -> None:
        named = {name.replace("_", "."): value for name, value in hard.items()}
        made = client.create("resourcequotas", "tiny", {"metadata": {"name": "compute"}, "spec": {"hard": named}})
        zero = dict.fromkeys(named, "0")
        client.update_status("resourcequotas", {**made, "status": {"hard": named, "used": zero}})

    def test_pods(self, client: Client) -> None:
        self.quota(client, pods="2")
        for name in ("a", "b"):
            client.create("pods", "tiny", pod(name))
        text = 'pods "x" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=2, limited: pods=2'
        assert message(client, pod("x")) == text
        assert client.get("resourcequotas", "tiny", "compute")["status"]["used"] == {"pods": "2"}

    def test_requests_must_be_given(self, client: Client) -> None:
        self.quota(client, requests_cpu="1", limits_memory="1Gi")
        text = "failed quota: compute: must specify limits.memory for: c; requests.cpu for: c"
        assert message(client, pod("a")).endswith(text)

    def test_amounts(self, client: Client) -> None:
        self.quota(client, requests_cpu="1")
        client.create("pods", "tiny", pod("a", {"requests": {"cpu": "700m"}}))
        text = "exceeded quota: compute, requested: requests.cpu=400m, used: requests.cpu=700m, limited: requests.cpu=1"
        assert message(client, pod("b", {"requests": {"cpu": "400m"}})).endswith(text)

    def test_counts(self, client: Client) -> None:
        self.quota(client, **{"count/configmaps": "1"})
        client.create("configmaps", "tiny", {"metadata": {"name": "a"}})
        assert "exceeded quota" in message(client, {"metadata": {"name": "b"}}, "configmaps")

    def test_unknown_usage(self, client: Client) -> None:
        spec = {"hard": {"pods": "2"}}
        client.create("resourcequotas", "tiny", {"metadata": {"name": "new"}, "spec": spec})
        assert message(client, pod("a")).endswith("status unknown for quota: new, resources: pods")

    def test_dry_run_charges_nothing(self, api: Api, client: Client) -> None:
        self.quota(client, pods="2")
        api.handle(request_of("POST", "/api/v1/namespaces/tiny/pods?dryRun=All", body=pod("a")))
        assert client.get("resourcequotas", "tiny", "compute")["status"]["used"] == {"pods": "0"}
