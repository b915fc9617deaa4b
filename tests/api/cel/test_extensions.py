"""Functions that Kubernetes adds to CEL: addresses, URLs, formats, `authorizer`, optional elements."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.authorization import bootstrap
from simcluster.api.cel import CelError, evaluate
from simcluster.api.cel.authority import Authority
from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.objects import Json
from simcluster.api.request import ADMIN, User
from simcluster.api.server import Api
from simcluster.engine import SECOND, Simulation


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("ip('192.168.0.1').family()", 4),
        ("ip('::1').isLoopback()", True),
        ("ip('10.0.0.1').isGlobalUnicast()", True),
        ("ip('169.254.0.1').isLinkLocalUnicast()", True),
        ("ip('224.0.0.1').isLinkLocalMulticast()", True),
        ("ip('0.0.0.0').isUnspecified()", True),
        ("ip.isCanonical('::0001')", False),
        ("isIP('10.0.0.300')", False),
        ("string(ip('::0001'))", "::1"),
        ("cidr('10.0.0.0/8').containsIP('10.1.1.1')", True),
        ("cidr('10.0.0.0/8').containsIP(ip('11.1.1.1'))", False),
        ("cidr('10.0.0.0/8').containsCIDR('10.2.0.0/16')", True),
        ("string(cidr('10.1.2.3/8').masked())", "10.0.0.0/8"),
        ("cidr('10.1.2.3/8').ip() == ip('10.1.2.3')", True),
        ("cidr('10.1.2.3/8').prefixLength()", 8),
        ("isCIDR('10.0.0.0')", False),
        ("url('https://a.b:80/c?x=1&x=2').getPort()", "80"),
        ("url('https://a.b:80/c?x=1&x=2').getHostname()", "a.b"),
        ("url('https://a.b:80/c?x=1&x=2').getQuery()", {"x": ["1", "2"]}),
        ("quantity('2').isInteger() && !quantity('1m').isInteger()", True),
        ("quantity('500m').asApproximateFloat()", 0.5),
        ("timestamp('2026-03-02T09:00:00Z').getDayOfWeek()", 1),
        ("timestamp('2026-03-02T09:00:00Z').getDayOfYear()", 60),
        ("timestamp('2026-03-02T09:00:00Z').getDayOfMonth()", 1),
        ("format.dns1123Label().validate('a-b').hasValue()", False),
        ("format.named('uuid').value().validate('x').value()", ["does not match the UUID format"]),
        ("format.named('nothing').hasValue()", False),
        ("[?optional.of(1), ?optional.none(), 3]", [1, 3]),
        ("{?'a': optional.of(2), ?'b': optional.none(), 'c': 1}", {"a": 2, "c": 1}),
        ("optional.of(1).optFlatMap(x, optional.of(x + 1)).value()", 2),
        ("strings.quote('a\"b')", '"a\\"b"'),
        ("'a1b22'.findAll('[0-9]+')", ["1", "22"]),
        ("sets.equivalent([1, 2], [2, 1, 1])", True),
    ],
)
def test_functions(expression: str, value: Any) -> None:
    assert evaluate(expression, {}) == value


def test_an_address_that_is_none() -> None:
    with pytest.raises(CelError, match="parse error during conversion from string"):
        evaluate("ip('x')", {})


class Judge:
    def __init__(self) -> None:
        self.heard: list[tuple[Any, dict[str, str]]] = []

    def may(self, user: tuple[str, str] | None, asked: dict[str, str]) -> tuple[bool, str]:
        self.heard.append((user, asked))
        return asked["verb"] == "get", "because"


@pytest.mark.parametrize(
    ("expression", "user", "asked"),
    [
        ("authorizer.path('/healthz').check('get').allowed()", None, {"path": "/healthz", "verb": "get"}),
        (
            "authorizer.group('').resource('pods').subresource('log').namespace('n').name('p').check('get').allowed()",
            None,
            {"group": "", "resource": "pods", "subresource": "log", "namespace": "n", "name": "p", "verb": "get"},
        ),
        (
            "authorizer.serviceAccount('n', 'a').group('').resource('pods').check('get').allowed()",
            ("n", "a"),
            {"group": "", "resource": "pods", "verb": "get"},
        ),
        ("authorizer.requestResource.check('get').allowed()", None, {"resource": "pods", "verb": "get"}),
    ],
)
def test_authorizer(expression: str, user: Any, asked: dict[str, str]) -> None:
    judge = Judge()
    assert evaluate(expression, {"authorizer": Authority(judge, {"resource": "pods"})}) is True
    assert judge.heard == [(user, asked)]


def test_reason_of_a_refusal() -> None:
    variables = {"authorizer": Authority(Judge(), {})}
    assert evaluate("authorizer.path('/x').check('put').reason()", variables) == "because"
    assert evaluate("authorizer.path('/x').check('put').errored()", variables) is False


def test_a_policy_that_asks_the_authorizer() -> None:
    api = Api(Simulation(5))
    bootstrap.enforce(api)
    admin = Client(api, ADMIN, "kubectl")
    admin.create("namespaces", "", {"metadata": {"name": "default"}})
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]
    check = "authorizer.group('').resource('secrets').namespace('default').check('create').allowed()"
    policy: Json = {
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": rules},
            "validations": [{"expression": check, "message": "secrets first"}],
        },
    }
    admin.create("validatingadmissionpolicies.admissionregistration.k8s.io", "", policy)
    binding = {"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}}
    admin.create("validatingadmissionpolicybindings.admissionregistration.k8s.io", "", binding)
    rule = {"verbs": ["create"], "apiGroups": [""], "resources": ["configmaps"]}
    admin.create("clusterroles.rbac.authorization.k8s.io", "", {"metadata": {"name": "r"}, "rules": [rule]})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}
    bound = {"metadata": {"name": "r"}, "roleRef": reference, "subjects": [subject]}
    admin.create("clusterrolebindings.rbac.authorization.k8s.io", "", bound)
    api.sim.run_for(3 * SECOND)
    jane = Client(api, User("jane", ("system:authenticated",)), "kubectl")
    with pytest.raises(ApiError, match="secrets first"):
        jane.create("configmaps", "default", {"metadata": {"name": "a"}})
    admin.create("configmaps", "default", {"metadata": {"name": "a"}})
