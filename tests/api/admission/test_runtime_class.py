"""RuntimeClass admission: the class must exist, and it shapes the pod."""

from __future__ import annotations

from typing import Any

from simcluster.api.request import Request, Response
from simcluster.api.server import Api
from simcluster.engine import Simulation


def post(api: Api, path: str, body: dict[str, Any]) -> Response:
    return api.handle(Request("POST", path, body=body))


def pod(name: str) -> dict[str, Any]:
    containers = [{"name": "c", "image": "c"}]
    return {"metadata": {"name": "p"}, "spec": {"containers": containers, "runtimeClassName": name}}


def test_missing_and_present() -> None:
    api = Api(Simulation(1))
    post(api, "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    refused = post(api, "/api/v1/namespaces/default/pods", pod("kata"))
    assert refused.code == 403
    assert refused.body["message"] == 'pods "p" is forbidden: pod rejected: RuntimeClass "kata" not found'
    kata = {
        "metadata": {"name": "kata"},
        "handler": "kata",
        "overhead": {"podFixed": {"cpu": "250m"}},
        "scheduling": {"nodeSelector": {"vm": "yes"}, "tolerations": [{"key": "vm", "operator": "Exists"}]},
    }
    assert post(api, "/apis/node.k8s.io/v1/runtimeclasses", kata).code == 201
    made = post(api, "/api/v1/namespaces/default/pods", pod("kata"))
    assert made.code == 201
    spec = made.body["spec"]
    assert spec["overhead"] == {"cpu": "250m"}
    assert spec["nodeSelector"] == {"vm": "yes"}
    assert {"key": "vm", "operator": "Exists"} in spec["tolerations"]
