"""Recordings of others: what each form becomes, and what is refused with file and line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simcluster.calibration.importing import import_as
from simcluster.calibration.record.layout import read_header
from simcluster.calibration.record.segments import segments
from simcluster.calibration.record.series import read_series
from simcluster.calibration.recording import Recording
from simcluster.calibration.replaying import recorded, script_of
from simcluster.cli import main

TRACE = {
    "traceID": "a1",
    "processes": {"p1": {"serviceName": "web"}},
    "spans": [
        {
            **{"traceID": "a1", "spanID": "1", "operationName": "GET /", "processID": "p1"},
            **{"startTime": 1_700_000_000_000_000, "duration": 2500},
            "tags": [{"key": "span.kind", "value": "server"}],
        },
    ],
}
EXPORT = {
    "resourceSpans": [{
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "web"}}]},
        "scopeSpans": [{"spans": [{
            "traceId": "b1", "spanId": "2", "name": "page", "kind": "SPAN_KIND_SERVER",
            "startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000000002500000",
            "status": {"code": "STATUS_CODE_ERROR"},
        }]}],
    }],
}  # fmt: skip
AUDIT = {
    "kind": "Event", "verb": "create", "stage": "ResponseComplete", "stageTimestamp": "2026-01-02T03:04:05.678901Z",
    "objectRef": {"resource": "pods", "name": "x"}, "responseStatus": {"code": 201},
    "responseObject": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "uid": "u"}, "spec": {}},
}  # fmt: skip


def lines(folder: Path, stream: str) -> list[dict[str, Any]]:
    return [line for segment in segments(folder / stream) for line in segment]


@pytest.mark.parametrize(("form", "text", "error"), [("jaeger", {"data": [TRACE]}, False), ("otlp", EXPORT, True)])
def test_traces_come_in_one_form(tmp_path: Path, form: str, text: Any, error: bool) -> None:
    (tmp_path / "t.json").write_text(json.dumps(text))
    assert import_as(form, tmp_path / "t.json", tmp_path / "out") == {"traces": 1}
    span = lines(tmp_path / "out", "traces")[0]["spans"][0]
    assert (span["service"], span["kind"], span["duration_ns"], span["error"]) == ("web", "server", 2_500_000, error)
    assert span["start_ns"] == 1_700_000_000_000_000_000


def test_openmetrics_become_series(tmp_path: Path) -> None:
    text = '# TYPE a counter\na_total{x="1",y="b\\"c"} 5 1700000000.5\na_total{x="1"} 7 1700000001500\n# EOF\n'
    (tmp_path / "m.txt").write_text(text)
    assert import_as("openmetrics", tmp_path / "m.txt", tmp_path / "out") == {"series": 2}
    samples = [sample for _, part in read_series(tmp_path / "out") for sample in part]
    assert [(sample.t_ms, sample.value) for sample in samples] == [(1_700_000_000_500, 5), (1_700_000_001_500, 7)]
    assert json.loads(samples[0].labels) == {"x": "1", "y": 'b"c'}


def test_dumps_and_audit_logs_become_objects(tmp_path: Path) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "b3Blbg=="}}
    (tmp_path / "d.yaml").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [secret]}))
    assert import_as("dump", tmp_path / "d.yaml", tmp_path / "dump") == {"objects": 1}
    assert "b3Blbg" not in json.dumps(lines(tmp_path / "dump", "objects/secrets"))
    (tmp_path / "a.log").write_text(json.dumps(AUDIT) + "\n")
    assert import_as("audit", tmp_path / "a.log", tmp_path / "audit") == {"objects": 1}
    assert lines(tmp_path / "audit", "objects/pods")[0]["type"] == "ADDED"


def test_a_timeline_of_parts_can_be_timed(tmp_path: Path) -> None:
    source = tmp_path / "timeline"
    source.mkdir()
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}}
    (source / "manifests.yaml").write_text(json.dumps({**deployment, "spec": {}}))
    pod: dict[str, Any] = {"w": "pod", "name": "web-7d-x", "node": None, "phase": "Pending", "del_": False,
                           "reason": None, "conds": {}, "cs": []}  # fmt: skip
    node = {"w": "node", "name": "one-control-plane", "taints": [], "ready": [["True", "KubeletReady"]]}
    gone = {**node, "ready": [["Unknown", "NodeStatusUnknown"]]}
    (source / "v.jsonl").write_text("\n".join(map(json.dumps, [
        {"t": 0.0, "type": "ADDED", **node}, {"t": 0.1, "type": "ADDED", **pod},
        {"t": 0.15, "type": "MODIFIED", **pod, "node": "one-control-plane"},
        {"t": 5.0, "mark": "kill kubelet one-control-plane"}, {"t": 50.0, "type": "MODIFIED", **gone},
        {"t": 60.0, "mark": "end"},
    ])))  # fmt: skip
    import_as("timeline", source, tmp_path / "out")
    recording = Recording(tmp_path / "out")
    script = script_of(recording)
    found = recorded(recording, script)
    assert found["scheduling"].values == [pytest.approx(0.05)]
    assert found["detection"].values == [pytest.approx(45.0)]
    assert [act.verb for act in script.acts] == ["apply", "kill"]
    assert script.length_ns == 60_000_000_000


@pytest.mark.parametrize(
    ("form", "text", "said"),
    [
        ("jaeger", "{}", "not of the form"),
        ("otlp", "{", "not of the form"),
        ("openmetrics", "a_total 5", "1: a sample without a time stamp"),
        ("openmetrics", "a_total 5 1700000000\n???", "2: no sample"),
        ("audit", "{}\n", "1: an event without stageTimestamp"),
        ("dump", "[1]", "not of the form"),
        ("timeline", "x", "folder"),
        ("nothing", "x", "there is no form nothing"),
    ],
)
def test_what_is_of_another_form_is_refused(tmp_path: Path, form: str, text: str, said: str) -> None:
    (tmp_path / "source").write_text(text)
    with pytest.raises(ValueError, match=said):
        import_as(form, tmp_path / "source", tmp_path / "out")


def test_the_command_says_what_was_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.json").write_text(json.dumps({"data": [TRACE]}))
    given = ["calibrate", "import", str(tmp_path / "t.json"), "--out", str(tmp_path / "out"), "--format"]
    assert main([*given, "jaeger"]) == 0
    assert "1 traces" in capsys.readouterr().out
    assert main([*given, "otlp"]) == 2
    assert read_header(tmp_path / "out").remarks[0] == "imported as jaeger from t.json"
