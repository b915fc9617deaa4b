"""ValidatingAdmissionPolicy: what bound policies refuse, and in which words."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.request import ADMIN, MERGE_PATCH, Response, request_of
from simcluster.api.server import Api
from simcluster.engine import SECOND, Simulation, fork

POLICIES = "validatingadmissionpolicies.admissionregistration.k8s.io"
BINDINGS = "validatingadmissionpolicybindings.admissionregistration.k8s.io"
RULES = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["deployments"]}
POD_RULES = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}
LIMIT = {"expression": "object.spec.replicas <= 10", "message": "replicas must be no greater than 10"}


@pytest.fixture
def api() -> Api:
    api = Api(Simulation(7))
    client = Client(api, ADMIN, "kubectl")
    for name in ("default", "shop", "free"):
        client.create("namespaces", "", {"metadata": {"name": name, "labels": {"zone": name}}})
        client.create("serviceaccounts", name, {"metadata": {"name": "default"}})
    return api


def bind(api: Api, name: str = "limit", *, binding: Any = None, rules: Any = RULES, **spec: Any) -> None:
    client = Client(api, ADMIN, "kubectl")
    spec.setdefault("matchConstraints", {"resourceRules": [rules]})
    client.create(POLICIES, "", {"metadata": {"name": name}, "spec": spec})
    body = {"policyName": name, "validationActions": ["Deny"], **(binding or {})}
    client.create(BINDINGS, "", {"metadata": {"name": f"{name}-all"}, "spec": body})
    api.sim.run_for(2 * SECOND)


def deploy(api: Api, replicas: int, namespace: str = "shop", **metadata: Any) -> Response:
    labels = {"app": "geo"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    target = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    return api.handle(request_of("POST", target, body={"metadata": {"name": "geo", **metadata}, "spec": spec}))


def message_of(response: Response) -> str:
    assert not response.ok
    return str(response.body["message"])


def test_denial(api: Api) -> None:
    bind(api, validations=[LIMIT])
    answer = deploy(api, 11)
    why = (
        "ValidatingAdmissionPolicy 'limit' with binding 'limit-all' denied request: replicas must be no greater than 10"
    )
    assert (answer.code, answer.body["reason"]) == (422, "Invalid")
    assert message_of(answer) == f'deployments.apps "geo" is forbidden: {why}'
    assert answer.body["details"]["causes"] == [{"message": why}]
    assert deploy(api, 10).ok


def test_takes_effect_after_a_second_and_ends_with_its_binding(api: Api) -> None:
    client = Client(api, ADMIN, "kubectl")
    client.create(
        POLICIES,
        "",
        {"metadata": {"name": "p"}, "spec": {"matchConstraints": {"resourceRules": [RULES]}, "validations": [LIMIT]}},
    )
    client.create(BINDINGS, "", {"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}})
    target = "/apis/apps/v1/namespaces/shop/deployments/geo"
    assert deploy(api, 11).ok
    assert api.handle(request_of("DELETE", target)).ok
    api.sim.run_for(2 * SECOND)
    assert not deploy(api, 11).ok
    client.delete(BINDINGS, "", "b")
    api.sim.run_for(2 * SECOND)
    assert deploy(api, 11).ok


def test_scale_is_another_resource(api: Api) -> None:
    bind(api, validations=[LIMIT])
    deploy(api, 2)
    target = "/apis/apps/v1/namespaces/shop/deployments/geo"
    scaled = api.handle(
        request_of("PATCH", f"{target}/scale", body={"spec": {"replicas": 20}}, content_type=MERGE_PATCH)
    )
    assert scaled.ok
    patched = api.handle(
        request_of("PATCH", target, body={"metadata": {"labels": {"a": "b"}}}, content_type=MERGE_PATCH)
    )
    assert "no greater than 10" in message_of(patched)


def test_scale_can_be_named(api: Api) -> None:
    rules = {**RULES, "resources": ["deployments/scale"]}
    bind(api, rules=rules, validations=[{"expression": "object.spec.replicas <= oldObject.spec.replicas * 2"}])
    deploy(api, 2)
    target = "/apis/apps/v1/namespaces/shop/deployments/geo/scale"
    answer = api.handle(request_of("PATCH", target, body={"spec": {"replicas": 5}}, content_type=MERGE_PATCH))
    assert "failed expression: object.spec.replicas <= oldObject.spec.replicas * 2" in message_of(answer)


@pytest.mark.parametrize(
    ("validation", "said"),
    [
        ({"expression": "object.spec.replicas < 3"}, "failed expression: object.spec.replicas < 3"),
        (
            {"expression": "object.spec.replicas < 3", "messageExpression": "'got ' + string(object.spec.replicas)"},
            "got 5",
        ),
        ({"expression": "variables.big == false"}, "failed expression: variables.big == false"),
        ({"expression": "namespaceObject.metadata.labels.zone == 'x'", "message": "zone"}, "zone"),
        (
            {"expression": "request.operation != 'CREATE' || request.userInfo.username == 'eve'", "message": "who"},
            "who",
        ),
        (
            {"expression": "object.metadata.labels.team == 'a'"},
            "expression 'object.metadata.labels.team == 'a'' resulted in error: no such key: labels",
        ),
        (
            {"expression": "variables.broken == 1"},
            "expression 'variables.broken == 1' resulted in error: composited variable \"broken\" fails to evaluate: "
            "no such key: nope",
        ),
    ],
)
def test_words(api: Api, validation: dict[str, str], said: str) -> None:
    variables = [
        {"name": "big", "expression": "object.spec.replicas > 4"},
        {"name": "broken", "expression": "object.nope"},
    ]
    bind(api, variables=variables, validations=[validation])
    assert message_of(deploy(api, 5)).endswith("denied request: " + said)


def test_reason_and_failure_policy(api: Api) -> None:
    bind(api, "a", failurePolicy="Ignore", validations=[{"expression": "object.spec.nothing == 1"}])
    assert deploy(api, 1).ok
    bind(api, "b", validations=[{"expression": "false", "reason": "Forbidden", "message": "never"}])
    answer = deploy(api, 1, "free")
    assert (answer.code, answer.body["reason"]) == (403, "Forbidden")


def test_selectors_conditions_and_exclusions(api: Api) -> None:
    match = {
        "resourceRules": [RULES],
        "namespaceSelector": {"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["free"]}]},
        "objectSelector": {"matchExpressions": [{"key": "exempt", "operator": "DoesNotExist"}]},
        "excludeResourceRules": [{**RULES, "resourceNames": ["never"]}],
    }
    conditions = [{"name": "not-bots", "expression": "!request.userInfo.username.startsWith('bot')"}]
    bind(api, matchConstraints=match, matchConditions=conditions, validations=[LIMIT])
    assert deploy(api, 11, "free").ok
    assert deploy(api, 11, labels={"exempt": "yes"}).ok
    assert deploy(api, 11, name="never").ok
    assert not deploy(api, 11, name="other").ok


def test_warnings(api: Api) -> None:
    bind(api, validations=[LIMIT], binding={"validationActions": ["Warn", "Audit"]})
    answer = deploy(api, 11)
    assert answer.ok
    assert answer.warnings == (
        "Validation failed for ValidatingAdmissionPolicy 'limit' with binding 'limit-all': replicas must be no greater "
        "than 10",
    )
    assert api.handle(request_of("GET", "/api/v1/namespaces")).warnings == ()


def test_parameters(api: Api) -> None:
    client = Client(api, ADMIN, "kubectl")
    client.create("configmaps", "shop", {"metadata": {"name": "limits"}, "data": {"replicas": "3"}})
    bind(
        api,
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        validations=[{"expression": "object.spec.replicas <= int(params.data.replicas)", "message": "too many"}],
        binding={"paramRef": {"name": "limits", "parameterNotFoundAction": "Deny"}},
    )
    assert message_of(deploy(api, 4)).endswith("too many")
    assert deploy(api, 3).ok
    assert message_of(deploy(api, 1, "free")).endswith(
        "no params found for policy binding with `Deny` parameterNotFoundAction"
    )


def test_deletions_are_seen(api: Api) -> None:
    guard = {"expression": "request.operation != 'DELETE' || !has(oldObject.metadata.labels)", "message": "kept"}
    bind(api, rules=POD_RULES, validations=[guard])
    client = Client(api, ADMIN, "kubectl")
    pod = {"metadata": {"name": "a", "labels": {"x": "y"}}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
    client.create("pods", "shop", pod)
    with pytest.raises(ApiError, match="kept"):
        client.delete("pods", "shop", "a")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"validations": [LIMIT], "matchConstraints": None}, "spec.matchConstraints: Required value"),
        ({"validations": []}, "spec.validations: Required value: validations or auditAnnotations must be specified"),
        (
            {"validations": [{"expression": "objct.spec.replicas < 3"}]},
            'spec.validations[0].expression: Invalid value: "objct.spec.replicas < 3": compilation failed: ERROR: '
            "<input>:1:1: undeclared reference to 'objct' (in container '')",
        ),
        ({"validations": [{"expression": "1 +"}]}, "Syntax error: mismatched input '<EOF>'"),
        ({"validations": [{**LIMIT, "reason": "Bad"}]}, 'spec.validations[0].reason: Unsupported value: "Bad"'),
    ],
)
def test_wrong_policies(api: Api, spec: dict[str, Any], message: str) -> None:
    with pytest.raises(ApiError) as error:
        bind(api, **spec)
    assert error.value.code == 422
    assert message in error.value.message


def test_wrong_bindings(api: Api) -> None:
    with pytest.raises(ApiError) as error:
        bind(api, validations=[LIMIT], binding={"validationActions": ["Deny", "Warn"]})
    assert "must not contain both Deny and Warn" in error.value.message


def test_a_fork_has_the_policies(api: Api) -> None:
    bind(api, validations=[LIMIT])
    twin = fork(api)
    assert not deploy(twin, 11).ok
    Client(twin, ADMIN, "kubectl").delete(BINDINGS, "", "limit-all")
    twin.sim.run_for(2 * SECOND)
    assert deploy(twin, 11).ok
    assert not deploy(api, 11).ok
