"""What each kind refuses, in the words of kube-apiserver 1.32, through a whole create."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.objects import Json
from simcluster.api.request import Request
from simcluster.api.server import Api
from simcluster.engine import Simulation

CONTAINER = {"name": "c", "image": "i"}
BACKEND = {"service": {"name": "s", "port": {"number": 80}}}


@pytest.fixture(scope="module", name="api")
def served() -> Api:
    return Api(Simulation(1))


def pod(**spec: Any) -> tuple[str, Json]:
    return "/api/v1/namespaces/default/pods", {"spec": {"containers": [CONTAINER], **spec}}


def job(restart: str = "Never", **spec: Any) -> tuple[str, Json]:
    template = {"spec": {"containers": [CONTAINER], "restartPolicy": restart}}
    return "/apis/batch/v1/namespaces/default/jobs", {"spec": {"template": template, **spec}}


def cronjob(**spec: Any) -> tuple[str, Json]:
    path = "/apis/batch/v1/namespaces/default/cronjobs"
    return path, {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": job()[1]["spec"]}, **spec}}


def autoscaler(**behavior: Any) -> tuple[str, Json]:
    path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
    return path, {"spec": {"scaleTargetRef": target, "maxReplicas": 3, "behavior": behavior}}


def ingress(host: str, path: str) -> tuple[str, Json]:
    rule = {"host": host, "http": {"paths": [{"path": path, "pathType": "Prefix", "backend": BACKEND}]}}
    return "/apis/networking.k8s.io/v1/namespaces/default/ingresses", {"spec": {"rules": [rule]}}


def policy(**rule: Any) -> tuple[str, Json]:
    path = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
    return path, {"spec": {"podSelector": {}, "ingress": [rule]}}


def secret(kind: str, **data: str) -> tuple[str, Json]:
    return "/api/v1/namespaces/default/secrets", {"type": f"kubernetes.io/{kind}", "stringData": data}


CASES: list[tuple[tuple[str, Json], str]] = [
    (pod(os={"name": "mac"}), 'spec.os.name: Unsupported value: "mac": supported values: "linux", "windows"'),
    (
        pod(securityContext={"runAsUser": -1}),
        "spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
    ),
    (
        job(backoffLimitPerIndex=1),
        "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
    ),
    (
        job(podFailurePolicy={"rules": [{"action": "FailJob"}]}),
        "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
    ),
    (
        job(podFailurePolicy={"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [0]}}]}),
        "spec.podFailurePolicy.rules[0].onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator",
    ),
    (
        job("OnFailure", podFailurePolicy={"rules": []}),
        'spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is supported when '
        "podFailurePolicy is specified",
    ),
    (
        job(completionMode="Indexed", completions=2, successPolicy={"rules": [{"succeededCount": 3}]}),
        "spec.successPolicy.rules[0].succeededCount: Invalid value: 3: must be less than or equal to 2 "
        "(the number of specified completions)",
    ),
    (cronjob(timeZone="Mars/X"), 'spec.timeZone: Invalid value: "Mars/X": unknown time zone Mars/X'),
    (
        cronjob(schedule="TZ=UTC * * * * *"),
        'spec.schedule: Invalid value: "TZ=UTC * * * * *": cannot use TZ or CRON_TZ in schedule, '
        "use timeZone field instead",
    ),
    (
        autoscaler(scaleUp={"stabilizationWindowSeconds": 4000}),
        "spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 4000: must be less than or equal to 3600",
    ),
    (
        autoscaler(scaleDown={"policies": [{"type": "Pods", "value": 1, "periodSeconds": 2000}]}),
        "spec.behavior.scaleDown.policies[0].periodSeconds: Invalid value: 2000: must be less than or equal to 1800",
    ),
    (
        ingress("1.2.3.4", "/"),
        'spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
    ),
    (
        ingress("a.b", "/x//y"),
        "spec.rules[0].http.paths[0].path: Invalid value: \"/x//y\": must not contain '//'",
    ),
    (
        policy(ports=[{"port": 80, "endPort": 70}]),
        "spec.ingress[0].ports[0].endPort: Invalid value: 70: must be greater than or equal to `port`",
    ),
    (
        policy(**{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/8"]}}]}),
        'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "11.0.0.0/8": must be a strict subset of `cidr`',
    ),
    (
        secret("dockerconfigjson", **{".dockerconfigjson": "x"}),
        "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": invalid character 'x' looking for "
        "beginning of value",
    ),
    (
        secret("service-account-token"),
        "metadata.annotations[kubernetes.io/service-account.name]: Required value",
    ),
    (
        (
            "/api/v1/namespaces/default/resourcequotas",
            {"spec": {"hard": {"pods": "1"}, "scopes": ["Terminating", "NotTerminating"]}},
        ),
        'spec.scopes: Invalid value: []core.ResourceQuotaScope{"Terminating", "NotTerminating"}: conflicting scopes',
    ),
    (("/apis/networking.k8s.io/v1/ingressclasses", {"spec": {}}), "spec.controller: Required value"),
    (
        (
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
            {"spec": {"minAvailable": 1, "unhealthyPodEvictionPolicy": "X"}},
        ),
        'spec.unhealthyPodEvictionPolicy: Unsupported value: "X": supported values: "AlwaysAllow", "IfHealthyBudget"',
    ),
]


@pytest.mark.parametrize(("made", "why"), CASES)
def test_refused(api: Api, made: tuple[str, Json], why: str) -> None:
    path, body = made
    answer = api.handle(Request("POST", path, body={"metadata": {"name": "x"}, **body}))
    assert answer.code == 422, answer.body
    assert answer.body["message"].partition(" is invalid: ")[2] == why


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+3"])
def test_time_zones(api: Api, zone: str) -> None:
    path, body = cronjob(timeZone=zone)
    answer = api.handle(Request("POST", path, (("dryRun", "All"),), body={"metadata": {"name": "x"}, **body}))
    assert answer.code == 201, answer.body
