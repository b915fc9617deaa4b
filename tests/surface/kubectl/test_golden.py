"""Recorded output of a real cluster, printed again from the recorded objects."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simcluster.api.request import Request, Response
from simcluster.api.schema import decode_yaml
from simcluster.engine import parse_rfc3339
from simcluster.surface.kubectl import Kubectl
from simcluster.surface.kubectl.printers.jsontext import to_json
from simcluster.surface.kubectl.printers.yaml import to_yaml
from simcluster.testing.recordings import recordings

GOLDEN = recordings() / "kubectl"


def read(name: str) -> str:
    (path,) = GOLDEN.glob(f"{name}*.out")
    return path.read_text()


def yaml_of(name: str) -> dict[str, Any]:
    document = decode_yaml(read(name))[0][0]
    assert isinstance(document, dict)
    return document


class Recorded:
    """An API server that knows some objects by path, and a clock that stands still."""

    def __init__(self, objects: dict[str, dict[str, Any]], now: str) -> None:
        self.objects = objects
        self.now = parse_rfc3339(now)

    def advance(self, duration_ns: int) -> None:
        self.now += duration_ns

    def handle(self, request: Request) -> Response:
        if request.path in self.objects:
            return Response(200, self.objects[request.path])
        if request.path.rpartition("/")[2] in ("events", "pods", "replicasets", "endpointslices"):
            return Response(200, {"kind": "List", "apiVersion": "v1", "metadata": {}, "items": []})
        return Response(404, {"kind": "Status", "reason": "NotFound", "message": "not found", "code": 404})


@pytest.mark.parametrize("number", [111, 112, 113, 118, 119, 120, 121, 122, 124, 126, 435])
def test_yaml_round_trip(number: int) -> None:
    found = list(GOLDEN.glob(f"{number}_*.out"))
    if not found:
        pytest.skip("this output is kept back")
    text = found[0].read_text()
    assert to_yaml(decode_yaml(text)[0][0]) == text


def test_json_round_trip() -> None:
    text = read("114")
    assert to_json(json.loads(text)) == text


def test_describe_quota() -> None:
    path = "/api/v1/namespaces/hotel/resourcequotas/hotel-quota"
    server = Recorded({path: yaml_of("122")}, "2026-11-21T20:39:54Z")
    assert Kubectl(server, server).run("describe quota hotel-quota -n hotel").stdout == read("150")


def test_describe_deployment() -> None:
    deployment = json.loads(read("114"))
    template = json.loads(json.dumps(deployment["spec"]["template"]))
    template["metadata"]["labels"]["pod-template-hash"] = "dbcd974fd"
    owner = {"kind": "Deployment", "name": "geo", "uid": deployment["metadata"]["uid"], "controller": True}
    replica_set = {
        "metadata": {"name": "geo-dbcd974fd", "ownerReferences": [owner], "creationTimestamp": "2026-11-21T20:39:16Z"},
        "spec": {"replicas": 1, "template": template},
        "status": {"replicas": 1},
    }
    base = "/apis/apps/v1/namespaces/hotel"
    found = {
        f"{base}/deployments/geo": deployment,
        f"{base}/replicasets": {"kind": "ReplicaSetList", "items": [replica_set]},
    }
    server = Recorded(found, "2026-11-21T20:39:54Z")
    printed = Kubectl(server, server).run("describe deploy geo -n hotel --show-events=false").stdout
    assert printed == read("178")


def test_describe_service() -> None:
    service = yaml_of("119")
    ready = {"conditions": {"ready": True}}
    addresses = ("10.244.1.2", "10.244.3.2", "10.244.2.2")
    endpoints = [{"addresses": [address], **ready} for address in addresses]
    slices = {
        "kind": "EndpointSliceList",
        "items": [{"ports": [{"name": "http", "port": 8080}], "endpoints": endpoints}],
    }
    found = {
        "/api/v1/namespaces/hotel/services/frontend": service,
        "/apis/discovery.k8s.io/v1/namespaces/hotel/endpointslices": slices,
    }
    server = Recorded(found, "2026-11-21T20:39:54Z")
    assert Kubectl(server, server).run("describe svc frontend -n hotel").stdout == read("147")


def test_describe_replica_set_of_the_recording() -> None:
    answer = yaml_of("118")
    server = Recorded({"/apis/apps/v1/namespaces/hotel/replicasets": answer}, "2026-11-21T20:39:54Z")
    printed = Kubectl(server, server).run("describe rs -n hotel -l app=search").stdout
    assert printed.startswith("Name:           search-65c7574d8c\nNamespace:      hotel\n")
    assert "Controlled By:  Deployment/search\nReplicas:       2 current / 2 desired\n" in printed


def test_raw_tables_print_like_get() -> None:
    raw = recordings() / "kubernetes-http" / "raw-1.32"
    table = json.loads((raw / "040_table_services.body").read_text())
    server = Recorded({"/api/v1/namespaces/hotel/services": table}, "2026-11-21T20:39:54Z")
    lines = Kubectl(server, server).run("get svc -n hotel").stdout.splitlines()
    assert lines[0].split() == ["NAME", "TYPE", "CLUSTER-IP", "EXTERNAL-IP", "PORT(S)", "AGE"]
    assert len(lines) == len(table["rows"]) + 1
