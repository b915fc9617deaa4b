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


def workload(resource: str, **spec: Any) -> tuple[str, Json]:
    return f"/api/v1/namespaces/default/{resource}", {"spec": spec}


def storage(resource: str, **body: Any) -> tuple[str, Json]:
    return f"/apis/storage.k8s.io/v1/{resource}", body


def flow(resource: str, **spec: Any) -> tuple[str, Json]:
    return f"/apis/flowcontrol.apiserver.k8s.io/v1/{resource}", {"spec": spec}


def metric(kind: str, **body: Any) -> tuple[str, Json]:
    path, made = autoscaler()
    field = kind[:1].lower() + kind[1:]
    return path, {"spec": {**made["spec"], "metrics": [{"type": kind, field: body}]}}


TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [CONTAINER]}}
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
QUALIFIED = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)

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
    (
        workload("limitranges", limits=[{"max": {"cpu": "1"}}]),
        '[spec.limits[0].type: Invalid value: "": name part must be non-empty, spec.limits[0].type: Invalid value: "": '
        f"{QUALIFIED}]",
    ),
    (
        workload("limitranges", limits=[{"type": "Box"}]),
        'spec.limits[0].type: Invalid value: "Box": must be a standard limit type or fully qualified',
    ),
    (
        workload("limitranges", limits=[{"type": "PersistentVolumeClaim", "max": {"cpu": "1"}}]),
        "spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was "
        "provided",
    ),
    (workload("replicationcontrollers", selector={"app": "a"}), "spec.template: Required value"),
    (
        workload("replicationcontrollers", selector={"app": "b"}, template=TEMPLATE),
        'spec.template.metadata.labels: Invalid value: map[string]string{"app":"a"}: `selector` does not match '
        "template `labels`",
    ),
    (
        ("/api/v1/namespaces/default/podtemplates", {"template": {"spec": {"containers": []}}}),
        "template.spec.containers: Required value",
    ),
    (
        ("/apis/apps/v1/namespaces/default/controllerrevisions", {"revision": -1}),
        "[data: Required value: data is mandatory, revision: Invalid value: -1: must be greater than or equal to 0]",
    ),
    (
        storage("volumeattachments", spec={}),
        "[spec.attacher: Required value, spec.source: Required value: must specify exactly one of inlineVolumeSpec and "
        f'persistentVolumeName, spec.nodeName: Invalid value: "": {SUBDOMAIN}, spec.attacher: Invalid value: "": '
        f"{SUBDOMAIN}]",
    ),
    (
        storage("volumeattachments", spec={"attacher": "a.b", "source": {"persistentVolumeName": "v"}}),
        f'spec.nodeName: Invalid value: "": {SUBDOMAIN}',
    ),
    (
        storage("storageclasses", provisioner="a.b/c", allowedTopologies=[{}]),
        'allowedTopologies[0].matchLabelExpressions: Duplicate value: ""',
    ),
    (
        storage(
            "storageclasses", provisioner="a.b/c", allowedTopologies=[{"matchLabelExpressions": [{"key": "zone"}]}]
        ),
        "allowedTopologies[0].matchLabelExpressions[0].values: Required value",
    ),
    (
        storage("csinodes", spec={"drivers": [{"name": "a.b"}]}),
        "spec.drivers[0].nodeID: Required value",
    ),
    (
        storage("csidrivers", spec={"fsGroupPolicy": "All"}),
        'spec.fsGroupPolicy: Unsupported value: "All": supported values: "File", "None", "ReadWriteOnceWithFSType"',
    ),
    (
        storage("namespaces/default/csistoragecapacities", capacity="1Gi"),
        f'storageClassName: Invalid value: "": {SUBDOMAIN}',
    ),
    (
        ("/apis/apiregistration.k8s.io/v1/apiservices", {"spec": {"group": "a.b", "version": "v1"}}),
        '[metadata.name: Invalid value: "x": must be `spec.version+"."+spec.group`: "v1.a.b", '
        "spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000, "
        "spec.versionPriority: Invalid value: 0: must be positive and less than 1000]",
    ),
    (
        flow("flowschemas", rules=[{"subjects": [{"kind": "Robot"}]}]),
        "[spec.priorityLevelConfiguration.name: Required value: must reference a priority level, "
        'spec.rules[0].subjects[0].kind: Unsupported value: "Robot": supported values: "Group", "ServiceAccount", '
        '"User", spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be '
        "non-empty]",
    ),
    (
        flow("prioritylevelconfigurations", type="Limited", limited={"limitResponse": {"type": "Queue"}}),
        "spec.limited.limitResponse.queuing: Required value: must not be empty if limited.limitResponse.type is "
        "Limited",
    ),
    (
        metric("ContainerResource", name="cpu", target={"type": "Utilization", "averageUtilization": 50}),
        "spec.metrics[0].containerResource.container: Required value: must specify a container",
    ),
    (
        metric("Pods", metric={"name": "m"}, target={"type": "AverageValue", "averageValue": "0"}),
        '[spec.metrics[0].pods.target.averageValue: Invalid value: "0": must be positive, '
        "spec.metrics[0].pods.target.averageValue: Required value: must specify a positive target averageValue]",
    ),
    (
        metric("External", target={}),
        "[spec.metrics[0].external.metric.name: Required value: must specify a metric name, "
        "spec.metrics[0].external.target.type: Required value: must specify a metric target type, "
        'spec.metrics[0].external.target.type: Invalid value: "": must be either Utilization, Value, or AverageValue, '
        "spec.metrics[0].external.target.averageValue: Required value: must set either a target value for metric or a "
        "per-pod target]",
    ),
    (
        pod(securityContext={"seccompProfile": {}, "sysctls": [{"value": "1"}]}),
        "[spec.securityContext.seccompProfile.type: Required value: type is required when seccompProfile is set, "
        "spec.securityContext.sysctls[0].name: Required value]",
    ),
    (
        pod(containers=[{**CONTAINER, "volumeDevices": [{"name": "d"}]}]),
        '[spec.containers[0].volumeDevices[0].name: Not found: "d", '
        "spec.containers[0].volumeDevices[0].devicePath: Required value]",
    ),
    (
        pod(volumes=[{"name": "v", "downwardAPI": {"items": [{"path": "p"}]}}]),
        "spec.volumes[0].downwardAPI.items[0]: Required value: one of fieldRef and resourceFieldRef is required",
    ),
    (
        pod(
            volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}}]
        ),
        "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value",
    ),
    (
        workload("resourcequotas", scopeSelector={"matchExpressions": [{"scopeName": "PriorityClass"}]}),
        'spec.scopeSelector.matchExpressions.operator: Invalid value: "": not a valid selector operator',
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
