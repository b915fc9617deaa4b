"""Pod Security admission: levels, versions, warnings."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.admission.pod_security import Policy, detail_of, policies_of
from simcluster.api.request import Request, Response
from simcluster.api.server import Api
from simcluster.engine import Simulation

PREFIX = "pod-security.kubernetes.io/"
SAFE = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def post(api: Api, path: str, body: dict[str, Any]) -> Response:
    return api.handle(Request("POST", path, body=body))


def cluster(**labels: str) -> Api:
    api = Api(Simulation(1))
    metadata = {"name": "safe", "labels": {PREFIX + key.replace("_", "-"): value for key, value in labels.items()}}
    assert post(api, "/api/v1/namespaces", {"metadata": metadata}).code == 201
    post(api, "/api/v1/namespaces/safe/serviceaccounts", {"metadata": {"name": "default"}})
    return api


def pod(security: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "c", **({"securityContext": security} if security else {})}
    return {"metadata": {"name": "p"}, "spec": {"containers": [container], **spec}}


@pytest.mark.parametrize(
    ("level", "spec", "detail"),
    [
        (
            "baseline",
            pod({"privileged": True, "capabilities": {"add": ["SYS_ADMIN", "CHOWN"]}}, hostPID=True),
            'non-default capabilities (container "c" must not include "SYS_ADMIN" in '
            "securityContext.capabilities.add), host namespaces (hostPID=true), "
            'privileged (container "c" must not set securityContext.privileged=true)',
        ),
        (
            "baseline",
            pod(volumes=[{"name": "a", "hostPath": {"path": "/"}}, {"name": "b", "emptyDir": {}}]),
            'hostPath volumes (volume "a")',
        ),
        (
            "restricted",
            pod(SAFE, volumes=[{"name": "a", "hostPath": {"path": "/"}}, {"name": "b", "nfs": {}}]),
            'restricted volume types (volumes "a", "b" use restricted volume types "hostPath", "nfs")',
        ),
        (
            "restricted",
            pod({**SAFE, "runAsUser": 0}, securityContext={"runAsNonRoot": False}),
            "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false), "
            'runAsUser=0 (container "c" must not set runAsUser=0)',
        ),
        (
            "baseline",
            pod({"seccompProfile": {"type": "Unconfined"}}, securityContext={"sysctls": [{"name": "kernel.msgmax"}]}),
            'seccompProfile (container "c" must not set securityContext.seccompProfile.type to "Unconfined"), '
            "forbidden sysctls (kernel.msgmax)",
        ),
        ("restricted", pod(SAFE), ""),
        ("privileged", pod({"privileged": True}), ""),
    ],
)
def test_what_violates(level: str, spec: dict[str, Any], detail: str) -> None:
    assert detail_of(Policy(level).violations(spec["metadata"], spec["spec"])) == detail


def test_old_versions_ask_for_less() -> None:
    loose = pod({"runAsNonRoot": True, "allowPrivilegeEscalation": False})
    assert Policy("restricted", "v1.18").violations({}, loose["spec"]) == []
    reasons = [v.reason for v in Policy("restricted", "v1.19").violations({}, loose["spec"])]
    assert reasons == ["seccompProfile"]


def test_enforced_on_pods() -> None:
    api = cluster(enforce="restricted")
    response = post(api, "/api/v1/namespaces/safe/pods", pod())
    assert response.code == 403
    assert response.body["message"] == (
        'pods "p" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container '
        '"c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must '
        'set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set '
        'securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set '
        'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")'
    )
    assert post(api, "/api/v1/namespaces/safe/pods", pod(SAFE)).code == 201


def test_warned_about_on_workloads_and_pods() -> None:
    api = cluster(warn="baseline", warn_version="v1.30")
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod({"privileged": True})["spec"]}
    body = {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}}
    text = (
        'would violate PodSecurity "baseline:v1.30": privileged (container "c" must not set '
        "securityContext.privileged=true)"
    )
    assert post(api, "/apis/apps/v1/namespaces/safe/deployments", body).warnings == (text,)
    answer = post(api, "/api/v1/namespaces/safe/pods", pod({"privileged": True}))
    assert (answer.code, answer.warnings) == (201, (text,))


def test_labels_of_namespaces_are_checked() -> None:
    api = Api(Simulation(1))
    metadata = {"name": "x", "labels": {f"{PREFIX}enforce": "tight", f"{PREFIX}warn-version": "1.30"}}
    response = post(api, "/api/v1/namespaces", {"metadata": metadata})
    assert response.code == 422
    assert response.body["message"] == (
        'Namespace "x" is invalid: [metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "tight": must '
        "be one of privileged, baseline, restricted, metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid "
        'value: "1.30": must be "latest" or "v1.x"]'
    )
    assert policies_of({f"{PREFIX}enforce": "tight"}).enforce.level == "restricted"


def test_without_a_level_of_its_own_warn_follows_enforce() -> None:
    labels = {f"{PREFIX}enforce": "baseline", f"{PREFIX}enforce-version": "v1.30"}
    assert policies_of(labels).warn == Policy("baseline", "v1.30")
    assert policies_of({**labels, f"{PREFIX}warn": "restricted"}).warn == Policy("restricted", "latest")


def test_a_stricter_level_tells_of_the_pods_that_are_there() -> None:
    api = cluster()
    for name in ("a", "b", "c"):
        body = pod({"privileged": name != "c"})
        body["metadata"]["name"] = name
        assert post(api, "/api/v1/namespaces/safe/pods", body).code == 201
    patch = {"metadata": {"labels": {f"{PREFIX}enforce": "baseline"}}}
    request = Request("PATCH", "/api/v1/namespaces/safe", body=patch, content_type="application/merge-patch+json")
    assert api.handle(request).warnings == (
        'existing pods in namespace "safe" violate the new PodSecurity enforce level "baseline:latest"',
        "a (and 1 other pod): privileged",
    )
