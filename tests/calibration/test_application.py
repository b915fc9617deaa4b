"""`simcluster import`: what is inferred of plain manifests and of traces, and that it lives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from simcluster.calibration.application import make
from simcluster.calibration.application.folder import spans_of
from simcluster.cli import main
from simcluster.engine.content import Library
from simcluster.eval.proof.apps import check_app
from simcluster.models.apps.behaviour import read_application

MANIFESTS = """\
apiVersion: v1
kind: Namespace
metadata: {name: desk}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: kiosk, namespace: desk}
spec:
  selector: {matchLabels: {app: kiosk}}
  template:
    metadata: {labels: {app: kiosk}}
    spec:
      containers:
        - name: kiosk
          image: registry.acme.dev/kiosk:v3
          ports: [{containerPort: 8080}]
          env: [{name: LISTEN_PORT, value: "8080"}, {name: DSN, value: "host=depot port=9000"},
                {name: DEPOT, valueFrom: {configMapKeyRef: {name: places, key: depot}}}]
          envFrom: [{secretRef: {name: stores}}]
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 2}
          resources: {requests: {memory: 96Mi}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: places, namespace: desk}
data: {depot: "http://depot.desk:9000/take"}
---
apiVersion: v1
kind: Secret
metadata: {name: stores, namespace: desk}
stringData: {CACHE_URL: "redis://cache:6379"}
---
apiVersion: v1
kind: Service
metadata: {name: kiosk, namespace: desk}
spec: {type: LoadBalancer, selector: {app: kiosk}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: depot, namespace: desk}
spec:
  selector: {matchLabels: {app: depot}}
  template:
    metadata: {labels: {app: depot}}
    spec: {containers: [{name: depot, image: "registry.acme.dev/depot:v1", ports: [{name: grpc, containerPort: 9000}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: depot, namespace: desk}
spec: {selector: {app: depot}, ports: [{name: grpc, port: 9000}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cache, namespace: desk}
spec:
  selector: {matchLabels: {app: cache}}
  template:
    metadata: {labels: {app: cache}}
    spec: {containers: [{name: redis, image: "redis:7-alpine", ports: [{containerPort: 6379}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: cache, namespace: desk}
spec: {selector: {app: cache}, ports: [{port: 6379}]}
"""
REQUESTS, STEP_NS = 40, 100_000_000


def manifests(folder: Path) -> Path:
    path = folder / "desk.yaml"
    path.write_text(MANIFESTS)
    return path


def export() -> dict[str, Any]:
    """OTLP: a page of the kiosk of 30 ms, in which the depot answers for 10."""
    spans: dict[str, list[dict[str, Any]]] = {"kiosk": [], "depot": []}
    for number in range(REQUESTS):
        begin = number * STEP_NS + 1
        trace = f"{number:032x}"

        def span(service: str, name: str, parent: str, kind: int, at: int, took_ms: int, trace: str = trace) -> str:
            identity = f"{trace[-8:]}{len(spans[service]):08x}"
            spans[service].append({
                "traceId": trace, "spanId": identity, "parentSpanId": parent, "name": name, "kind": kind,
                "startTimeUnixNano": str(at), "endTimeUnixNano": str(at + took_ms * 1_000_000),
            })  # fmt: skip
            return identity

        page = span("kiosk", "GET /paper", "", 2, begin, 30)
        call = span("kiosk", "Take", page, 3, begin + 5_000_000, 11)
        span("depot", "Take", call, 2, begin + 5_500_000, 10)
    resources = [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": name}}]},
                  "scopeSpans": [{"spans": found}]} for name, found in spans.items()]  # fmt: skip
    return {"resourceSpans": resources}


def test_manifests_say_ports_protocols_probes_stores_and_calls(tmp_path: Path) -> None:
    made = make(manifests(tmp_path), tmp_path / "mine", "desk")
    assert sorted(made.edges) == [("kiosk", "cache"), ("kiosk", "depot")]
    found = yaml.safe_load((made.folder / "behaviour.yaml").read_text())
    kiosk = found["services"]["kiosk"]
    assert (found["namespace"], found["users"]["entry"], sorted(found["services"])) == (
        "desk",
        "kiosk",
        ["depot", "kiosk"],
    )
    assert kiosk["ports"] == [{"number": 8080, "env": "LISTEN_PORT"}]
    assert (kiosk["health_paths"], kiosk["memory"], found["services"]["depot"]["protocol"]) == (
        ["/healthz"],
        "48Mi",
        "grpc",
    )
    calls = [step["call"] for step in kiosk["operations"]["serve"]["steps"][0]["parallel"]]
    assert [(call["env"], call["client"], call.get("operation")) for call in calls] == [
        ("CACHE_URL", "redis-go", "GET"), ("DEPOT", "go-grpc", None),
    ]  # fmt: skip
    assert "left out: DSN of kiosk names a Service, but is no address that a client reads" in made.remarks
    assert "inferred: cache is redis (redis:7-alpine), which is described already" in made.remarks
    assert "guessed: 10 requests a second" in made.remarks
    assert "namespace: desk" not in (made.folder / "manifests.yaml").read_text()


def test_traces_say_operations_times_calls_and_how_often_users_come(tmp_path: Path) -> None:
    path = tmp_path / "otel.json"
    path.write_text(json.dumps(export()))
    made = make(manifests(tmp_path), tmp_path / "mine", "desk", path)
    behaviour = read_application(made.folder / "behaviour.yaml")
    kiosk = next(one for one in behaviour.images if one.name == "kiosk")
    (operation,) = kiosk.operations.values()
    assert operation.path == "/paper"
    assert behaviour.users is not None
    assert behaviour.users.rps == pytest.approx(1e9 / STEP_NS, rel=0.05)
    found = yaml.safe_load((made.folder / "behaviour.yaml").read_text())["services"]
    (page,) = found["kiosk"]["operations"].values()
    assert [step["call"]["env"] for step in page["steps"]] == ["DEPOT"]
    assert page["steps"][0]["call"]["operation"] in found["depot"]["operations"]
    own_ns = float(page["work"]["mean"].removesuffix("ns"))
    assert own_ns == pytest.approx(19e6, rel=0.05)


def test_what_was_made_lives_and_survives_restarts_and_cuts(tmp_path: Path) -> None:
    assert main(["import", str(manifests(tmp_path)), "--out", str(tmp_path / "mine")]) == 0
    report = check_app("desk", library=Library((tmp_path / "mine",)), shaken=True)
    assert [finding for finding in report.findings if not finding.passed] == []
    assert [finding.name for finding in report.findings[-2:]] == [
        f"a cut between Deployment/kiosk and {host} is felt, and over when it is mended"
        for host in ("cache", "depot.desk")
    ]


@pytest.mark.parametrize(
    ("text", "because"),
    [
        ("a: [", "render charts and overlays first"),
        ("a: 1", "without kind or metadata.name"),
        ("{{- if .Values.x }}", "render charts and overlays first"),
        ("kind: Namespace\napiVersion: v1\nmetadata: {name: a}", "no manifest of anything that runs"),
        ("kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}", "leads to a program that is to be described"),
    ],
)
def test_what_is_no_application_is_refused(tmp_path: Path, text: str, because: str) -> None:
    path = tmp_path / "some.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=because):
        make(path, tmp_path / "mine", "some")


@pytest.mark.parametrize("text", ["[]", "{}", "no JSON", '{"data": [{"spans": []}]}'])
def test_what_is_no_trace_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "traces.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"neither an answer of Jaeger|holds no trace"):
        spans_of(path)
