"""Admission webhooks: who is asked, what an answer does, what a missing one costs."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from simcluster.api.backends import WebhookCall, WebhookReply
from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.request import ADMIN, Response, request_of
from simcluster.api.server import Api
from simcluster.engine import SECOND, Simulation

MUTATING = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
VALIDATING = "validatingwebhookconfigurations.admissionregistration.k8s.io"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["pods"]}


class Servers:
    """Answers prepared by path; remembers what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.asked: list[WebhookCall] = []

    def call(self, call: WebhookCall) -> WebhookReply:
        self.asked.append(call)
        answer = self.answers.get(call.url.rpartition("/")[2], {})
        if isinstance(answer, WebhookReply):
            return answer
        response = {"uid": call.review["request"]["uid"], "allowed": True, **answer}
        body = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response}
        return WebhookReply(status=200, body=json.dumps(body), delay_ns=SECOND // 100)


def patch(*operations: dict[str, Any]) -> dict[str, Any]:
    return {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(operations).encode()).decode()}


def add_label(key: str, value: str) -> dict[str, Any]:
    return patch({"op": "add", "path": f"/metadata/labels/{key}", "value": value})


@pytest.fixture
def api() -> Api:
    api = Api(Simulation(7))
    client = Client(api, ADMIN, "kubectl")
    for name in ("default", "shop"):
        client.create("namespaces", "", {"metadata": {"name": name}})
        client.create("serviceaccounts", name, {"metadata": {"name": "default"}})
    return api


@pytest.fixture
def servers(api: Api) -> Servers:
    servers = Servers()
    api.reach_webhooks(servers)
    return servers


def configure(api: Api, *paths: str, kind: str = MUTATING, name: str = "hooks", **rest: Any) -> None:
    webhooks = [
        {
            "name": f"{path}.example.com",
            "clientConfig": {"service": {"namespace": "sys", "name": "hook", "path": path}},
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "timeoutSeconds": 5,
            "rules": [RULE],
            **rest,
        }
        for path in paths
    ]
    Client(api, ADMIN, "kubectl").create(kind, "", {"metadata": {"name": name}, "webhooks": webhooks})
    api.sim.run_for(SECOND)


def run(api: Api, name: str = "web", query: str = "", **container: Any) -> Response:
    spec = {"containers": [{"name": "c", "image": "nginx", **container}]}
    body = {"metadata": {"name": name, "labels": {"app": name}}, "spec": spec}
    return api.handle(request_of("POST", f"/api/v1/namespaces/shop/pods{query}", body=body))


class TestAnswers:
    def test_a_patch_changes_the_object(self, api: Api, servers: Servers) -> None:
        configure(api, "label")
        servers.answers["label"] = add_label("team", "core")
        answer = run(api)
        assert answer.body["metadata"]["labels"] == {"app": "web", "team": "core"}
        assert answer.latency_ns == SECOND // 100

    def test_the_review(self, api: Api, servers: Servers) -> None:
        configure(api, "see")
        run(api)
        call = servers.asked[0]
        assert (call.namespace, call.service, call.port, call.url) == (
            "sys", "hook", 443, "https://hook.sys.svc:443/see",
        )  # fmt: skip
        request = call.review["request"]
        assert request["kind"] == {"group": "", "version": "v1", "kind": "Pod"}
        assert request["resource"] == {"group": "", "version": "v1", "resource": "pods"}
        assert (request["namespace"], request["name"], request["operation"]) == ("shop", "web", "CREATE")
        assert request["userInfo"]["username"] == "kubernetes-admin"
        assert request["object"]["spec"]["containers"][0]["imagePullPolicy"] == "Always"
        assert request["oldObject"] is None

    def test_what_is_added_is_completed(self, api: Api, servers: Servers) -> None:
        limits = {"limits": [{"type": "Container", "default": {"memory": "64Mi"}}]}
        Client(api, ADMIN, "kubectl").create("limitranges", "shop", {"metadata": {"name": "l"}, "spec": limits})
        configure(api, "inject")
        servers.answers["inject"] = patch(
            {"op": "add", "path": "/spec/containers/-", "value": {"name": "sidecar", "image": "proxy:1"}}
        )
        sidecar = run(api).body["spec"]["containers"][1]
        assert sidecar["terminationMessagePath"] == "/dev/termination-log"
        assert sidecar["resources"]["limits"] == {"memory": "64Mi"}
        assert sidecar["volumeMounts"][0]["mountPath"] == "/var/run/secrets/kubernetes.io/serviceaccount"

    def test_denials(self, api: Api, servers: Servers) -> None:
        configure(api, "deny", kind=VALIDATING)
        servers.answers["deny"] = {"allowed": False, "status": {"code": 403, "message": "no nginx here"}}
        answer = run(api)
        said = 'admission webhook "deny.example.com" denied the request: no nginx here'
        assert (answer.code, answer.body["message"]) == (403, said)
        servers.answers["deny"] = {"allowed": False}
        answer = run(api)
        said = 'admission webhook "deny.example.com" denied the request without explanation'
        assert (answer.code, answer.body["message"]) == (400, said)

    def test_warnings(self, api: Api, servers: Servers) -> None:
        configure(api, "warn", kind=VALIDATING)
        servers.answers["warn"] = {"warnings": ["mind the gap"]}
        assert run(api).warnings == ("mind the gap",)

    def test_configurations_are_asked_by_name_and_the_quota_last(self, api: Api, servers: Servers) -> None:
        hard = {"hard": {"limits.memory": "1Gi"}}
        client = Client(api, ADMIN, "kubectl")
        client.create("resourcequotas", "shop", {"metadata": {"name": "q"}, "spec": hard})
        status = {"status": {**hard, "used": {"limits.memory": "0"}}}
        client.patch("resourcequotas", "shop", "q", status, kind="merge", subresource="status")
        configure(api, "second", name="b")
        configure(api, "first", name="a")
        servers.answers["second"] = patch(
            {"op": "add", "path": "/spec/containers/0/resources", "value": {"limits": {"memory": "2Gi"}}}
        )
        answer = run(api)
        assert [call.url.rpartition("/")[2] for call in servers.asked] == ["first", "second"]
        assert answer.body["message"].startswith('pods "web" is forbidden: exceeded quota: q')

    def test_reinvocation(self, api: Api, servers: Servers) -> None:
        configure(api, "early", name="a", reinvocationPolicy="IfNeeded")
        configure(api, "late", name="b")
        servers.answers["late"] = add_label("late", "yes")
        run(api)
        assert [call.url.rpartition("/")[2] for call in servers.asked] == ["early", "late", "early"]
        assert servers.asked[2].review["request"]["object"]["metadata"]["labels"]["late"] == "yes"

    def test_updates_count_generations_after_the_patch(self, api: Api, servers: Servers) -> None:
        rule = {"apiGroups": ["apps"], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": ["deployments"]}
        labels = {"app": "web"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
        spec = {"selector": {"matchLabels": labels}, "template": template}
        client = Client(api, ADMIN, "kubectl")
        client.create("deployments.apps", "shop", {"metadata": {"name": "web"}, "spec": spec})
        configure(api, "replicas", rules=[rule])
        servers.answers["replicas"] = patch({"op": "replace", "path": "/spec/replicas", "value": 4})
        made = client.patch("deployments.apps", "shop", "web", {"metadata": {"labels": {"a": "b"}}}, kind="merge")
        assert (made["spec"]["replicas"], made["metadata"]["generation"]) == (4, 2)


class TestFailures:
    CALL = 'failed calling webhook "x.example.com": failed to call webhook: '
    POST = CALL + 'Post "https://hook.sys.svc:443/x?timeout=5s": '

    @pytest.mark.parametrize(
        ("reply", "said"),
        [
            (WebhookReply('service "hook" not found'), POST + 'service "hook" not found'),
            (WebhookReply(delay_ns=6 * SECOND), POST + "context deadline exceeded"),
            (WebhookReply(status=404, body="404"), CALL + "the server could not find the requested resource"),
            (
                WebhookReply(status=500, body="boom"),
                CALL + 'an error on the server ("boom") has prevented the request from succeeding',
            ),
            (WebhookReply(status=200), CALL + "0-length response with status code: 200 and content type: "),
            (
                WebhookReply(status=200, body="ok"),
                CALL
                + "couldn't get version/kind; json parse error: invalid character 'o' looking for beginning of value",
            ),
            (
                WebhookReply(status=200, body='{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}'),
                'failed calling webhook "x.example.com": received invalid webhook response: webhook response was '
                "absent",
            ),
        ],
    )
    def test_words(self, api: Api, servers: Servers, reply: WebhookReply, said: str) -> None:
        configure(api, "x")
        servers.answers["x"] = reply
        answer = run(api)
        assert (answer.code, answer.body["reason"]) == (500, "InternalError")
        assert answer.body["message"] == f"Internal error occurred: {said}"
        assert answer.body["details"]["causes"] == [{"message": said}]

    def test_a_wrong_uid(self, api: Api, servers: Servers) -> None:
        configure(api, "x")
        servers.answers["x"] = {"uid": ""}
        said = str(run(api).body["message"])
        assert "received invalid webhook response: expected response.uid=" in said
        assert said.endswith('got ""')

    def test_may_be_ignored(self, api: Api, servers: Servers) -> None:
        configure(api, "x", failurePolicy="Ignore")
        servers.answers["x"] = WebhookReply(delay_ns=60 * SECOND)
        answer = run(api)
        assert (answer.code, answer.latency_ns) == (201, 5 * SECOND)

    def test_time_outs_add_up_to_the_deadline_of_the_request(self, api: Api, servers: Servers) -> None:
        configure(api, *"abcd", failurePolicy="Ignore", timeoutSeconds=10)
        for path in "abcd":
            servers.answers[path] = WebhookReply(delay_ns=60 * SECOND)
        answer = run(api)
        assert answer.code == 504
        assert answer.body["message"] == (
            "Timeout: request did not complete within requested timeout - context deadline exceeded"
        )
        assert answer.latency_ns == 34 * SECOND

    def test_validating_ones_wait_together(self, api: Api, servers: Servers) -> None:
        configure(api, *"abcd", kind=VALIDATING, failurePolicy="Ignore", timeoutSeconds=10)
        for path in "abcd":
            servers.answers[path] = WebhookReply(delay_ns=60 * SECOND)
        answer = run(api)
        assert (answer.code, answer.latency_ns) == (201, 10 * SECOND)

    def test_dry_runs(self, api: Api, servers: Servers) -> None:
        configure(api, "x", sideEffects="NoneOnDryRun")
        assert run(api, query="?dryRun=All").ok
        assert servers.asked[0].review["request"]["dryRun"] is True

    def test_a_patch_that_does_not_apply(self, api: Api, servers: Servers) -> None:
        configure(api, "x")
        servers.answers["x"] = patch({"op": "remove", "path": "/spec/nothing"})
        answer = run(api)
        assert answer.code == 500
        assert "Internal error occurred: jsonpatch" in answer.body["message"]


class TestMatching:
    def test_selectors_conditions_and_own_configuration(self, api: Api, servers: Servers) -> None:
        everything = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}
        configure(
            api,
            "x",
            rules=[everything],
            namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "shop"}},
            objectSelector={"matchLabels": {"app": "web"}},
            matchConditions=[{"name": "no-db", "expression": "!request.name.startsWith('db')"}],
        )
        run(api, "other")
        run(api, "web")
        assert [call.review["request"]["name"] for call in servers.asked] == ["web"]
        api.handle(request_of("DELETE", "/api/v1/namespaces/shop/pods/web"))
        assert servers.asked[1].review["request"]["operation"] == "DELETE"
        servers.answers["x"] = WebhookReply("connection refused")
        Client(api, ADMIN, "kubectl").delete(MUTATING, "", "hooks")

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"sideEffects": "Some"}, 'sideEffects: Unsupported value: "Some"'),
            ({"timeoutSeconds": 31}, "the timeout value must be between 1 and 30 seconds"),
            ({"clientConfig": {}}, "clientConfig: Required value: exactly one of url or service is required"),
            ({"admissionReviewVersions": ["v2"]}, "must include at least one of v1, v1beta1"),
            ({"rules": [{**RULE, "operations": []}]}, "rules[0].operations: Required value"),
            ({"clientConfig": {"url": "http://x.io"}}, "'https' is the only allowed URL scheme"),
            ({"matchConditions": [{"name": "a", "expression": "objct.x"}]}, "undeclared reference to 'objct'"),
        ],
    )
    def test_wrong_configurations(self, api: Api, change: dict[str, Any], message: str) -> None:
        with pytest.raises(ApiError) as error:
            configure(api, "x", **change)
        assert error.value.code == 422
        assert message in error.value.message
