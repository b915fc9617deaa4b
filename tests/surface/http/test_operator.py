"""An operator of somebody else's making keeps its custom resources true in a served cluster whose clock runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.surface.http.served import ServedCluster

DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "sites.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Site", "plural": "sites", "singular": "site"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
            }
        ],
    },
}
SITE = {"apiVersion": "example.com/v1", "kind": "Site", "metadata": {"name": "blog"}, "spec": {"replicas": 2}}
SITES = "/apis/example.com/v1/namespaces/default/sites"
DEPLOYMENT = "/apis/apps/v1/namespaces/default/deployments/blog"
#: Real seconds that a change may take to come through.
PATIENCE_S = 300


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ServedCluster]:
    served = ServedCluster(tmp_path / "served", "--empty", "--nodes", "1", "--clock", "realtime:10")
    served.wait()
    yield served
    served.kill()


def test_an_operator_written_with_kopf_reconciles(cluster: ServedCluster, tmp_path: Path) -> None:
    pytest.importorskip("kopf")
    kind = "application/json"
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert cluster.ask("POST", path, json.dumps(DEFINITION).encode(), content_type=kind).code == 201
    until(lambda: cluster.ask("GET", SITES).code == 200)
    operator = str(Path(__file__).with_name("siteoperator.py"))
    environment = {**os.environ, "KUBECONFIG": str(cluster.out / "kubeconfig")}
    said = (tmp_path / "operator.log").open("w")
    command = [sys.executable, "-m", "kopf", "run", "--namespace", "default", operator]
    with subprocess.Popen(command, env=environment, stdout=said, stderr=subprocess.STDOUT) as process:
        try:
            assert cluster.ask("POST", SITES, json.dumps(SITE).encode(), content_type=kind).code == 201
            until(lambda: deployment(cluster).get("readyReplicas") == 2)
            patch = json.dumps({"spec": {"replicas": 3}}).encode()
            cluster.ask("PATCH", f"{SITES}/blog", patch, content_type="application/merge-patch+json")
            until(lambda: deployment(cluster).get("readyReplicas") == 3)
            until(lambda: cluster.ask("GET", f"{SITES}/blog").json["status"]["update"] == {"replicas": 3})
            assert cluster.ask("DELETE", f"{SITES}/blog").code == 200
            until(lambda: cluster.ask("GET", f"{SITES}/blog").code == 404)
            until(lambda: cluster.ask("GET", DEPLOYMENT).code == 404)
        finally:
            process.kill()
            said.close()


def deployment(cluster: ServedCluster) -> dict[str, Any]:
    """Its status; nothing if there is none."""
    found = cluster.ask("GET", DEPLOYMENT)
    return dict(found.json.get("status") or {}) if found.code == 200 else {}


def until(condition: Callable[[], Any]) -> None:
    """Ask until it is so."""
    ends = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < ends, "it did not happen"
