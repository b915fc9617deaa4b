"""Brings what others recorded into the one format.

`timeline`: a folder of time-stamped parts of watch events with their manifests. `jaeger`: an answer of `/api/traces`.
`otlp`: ExportTraceServiceRequests, one JSON or a line each. `openmetrics`: exposition text; samples without a time
stamp are refused, because nothing says when they were. `dump`: `kubectl get -o yaml` or `-o json`. `audit`: an API
server's audit log, one event a line. `cloudopsbench`: a case of that data set. What such a source does not hold is
said in the header's remarks.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import yaml

from simcluster.calibration.cloudopsbench.case import read_case
from simcluster.calibration.cloudopsbench.window import WINDOW_REMARK, window_samples
from simcluster.calibration.record.clocks import parse_time
from simcluster.calibration.record.layout import LOGS, OBJECTS, OPERATIONS, TRACES, Header
from simcluster.calibration.record.redaction import Redaction
from simcluster.calibration.record.segments import StreamWriter
from simcluster.calibration.record.series import Sample, labels_text, write_series
from simcluster.calibration.record.store import Store
from simcluster.calibration.record.traces import jaeger_lines, otlp_lines

_SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+(\S+))?(?:\s+#.*)?$")
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')
#: What lines of a timeline call a kind.
_WORDS = {"pod": "pods", "event": "events", "node": "nodes", "deploy": "deployments.apps", "rs": "replicasets.apps",
          "eps": "endpointslices.discovery.k8s.io", "sts": "statefulsets.apps", "ds": "daemonsets.apps",
          "job": "jobs.batch"}  # fmt: skip
_GROUPS = {"apps/v1": "apps", "batch/v1": "batch", "networking.k8s.io/v1": "networking.k8s.io", "policy/v1": "policy",
           "discovery.k8s.io/v1": "discovery.k8s.io", "coordination.k8s.io/v1": "coordination.k8s.io",
           "autoscaling/v2": "autoscaling", "storage.k8s.io/v1": "storage.k8s.io"}  # fmt: skip
_PLURALS = {"NetworkPolicy": "networkpolicies", "Ingress": "ingresses", "EndpointSlice": "endpointslices",
            "StorageClass": "storageclasses", "Endpoints": "endpoints"}  # fmt: skip


class _Out:
    """A recording that is written with times of its own."""

    def __init__(self, folder: Path, source: Path, form: str, remarks: Iterable[str] = ()) -> None:
        header = Header(remarks=[f"imported as {form} from {source.name}", *remarks])
        header.sources[form] = {"address": source.name}
        self.store = Store(folder, header)
        self.redaction = Redaction()
        self.header = header
        self.times: list[int] = []
        self.counts: dict[str, int] = {}
        self._streams: dict[str, StreamWriter] = {}

    def write(self, stream: str, t_ns: int, line: dict[str, Any]) -> None:
        """Append a line with the time of the source."""
        writer = self._streams.setdefault(stream, StreamWriter(self.store.folder / stream))
        writer.write({"t": t_ns, **line})
        self.times.append(t_ns)
        name = stream.partition("/")[0]
        self.counts[name] = self.counts.get(name, 0) + 1

    def object(self, t_ns: int, kind: str, found: dict[str, Any], resource: str = "") -> None:
        """A change of an object."""
        self.write(
            f"{OBJECTS}/{resource or resource_of(found)}", t_ns, {"type": kind, "object": self.redaction.object(found)}
        )

    def close(self) -> dict[str, int]:
        """End it; the session's ends are those of what was written."""
        for writer in self._streams.values():
            writer.close()
        session = self.store.header.sessions[-1]
        if self.times:
            session["began_ns"] = min(self.times)
        self.store.close()
        if self.times:
            session["ended_ns"] = max(self.times)
        session["counts"] = self.counts
        self.store.header.write(self.store.folder)
        return self.counts


def import_as(form: str, source: Path, out: Path) -> dict[str, int]:
    """Write SOURCE as a recording; how many lines of each stream there are now.

    Raises:
        ValueError: there is no such form, or the source is not of it (file, line and what is wrong).
        RecordingError: `out` holds something that is no recording.
    """
    reader = _FORMS.get(form)
    if reader is None:
        raise ValueError(f"there is no form {form}; there are: {', '.join(_FORMS)}")
    try:
        return reader(source, out)
    except (KeyError, TypeError, json.JSONDecodeError, yaml.YAMLError, UnicodeDecodeError) as problem:
        raise ValueError(f"{source}: not of the form {form}: {type(problem).__name__}: {problem}") from None


def resource_of(found: dict[str, Any]) -> str:
    """`plural.group` of an object. Raises KeyError if it has no kind."""
    kind, version = found["kind"], found.get("apiVersion", "v1")
    plural = _PLURALS.get(kind, f"{kind.lower()}s")
    group = _GROUPS.get(version, version.partition("/")[0] if "/" in version else "")
    return f"{plural}.{group}" if group else plural


def _jaeger(source: Path, out: Path) -> dict[str, int]:
    lines = list(jaeger_lines(json.loads(source.read_text(encoding="utf-8"))["data"]))
    return _traces(lines, source, out, "jaeger")


def _otlp(source: Path, out: Path) -> dict[str, int]:
    text = source.read_text(encoding="utf-8").strip()
    try:
        exports = [json.loads(text)]
    except json.JSONDecodeError:
        exports = [json.loads(line) for line in text.splitlines() if line.strip()]
    lines = otlp_lines(exports[0] if isinstance(exports[0], list) else exports)
    return _traces(lines, source, out, "otlp")


def _traces(lines: list[dict[str, Any]], source: Path, out: Path, form: str) -> dict[str, int]:
    if not lines:
        raise ValueError(f"{source}: it holds no trace")
    writer = _Out(out, source, form)
    ends = [(max(span["start_ns"] + span["duration_ns"] for span in line["spans"]), line) for line in lines]
    for t_ns, line in sorted(ends, key=lambda pair: pair[0]):
        writer.write(TRACES, t_ns, line)
    return writer.close()


def _openmetrics(source: Path, out: Path) -> dict[str, int]:
    samples = []
    for number, text in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
        if not text.strip() or text.startswith("#"):
            continue
        match = _SAMPLE.match(text)
        if match is None:
            raise ValueError(f"{source}:{number}: no sample: {text[:80]!r}")
        if match[4] is None:
            raise ValueError(f"{source}:{number}: a sample without a time stamp: nothing says when it was taken")
        labels = {key: value.replace('\\"', '"').replace("\\\\", "\\") for key, value in _LABEL.findall(match[2] or "")}
        stamp = float(match[4])
        t_ms = round(stamp if stamp > 1e11 else stamp * 1000)  # exposition text has milliseconds, OpenMetrics seconds
        samples.append(Sample(match[1], labels_text(labels), t_ms, float(match[3])))
    writer = _Out(out, source, "openmetrics")
    writer.times += [sample.t_ms * 1_000_000 for sample in samples]
    writer.counts["series"] = write_series(out, samples)
    return writer.close()


def _dump(source: Path, out: Path) -> dict[str, int]:
    documents = [one for one in yaml.safe_load_all(source.read_text(encoding="utf-8")) if one]
    writer = _Out(out, source, "dump", ["one instant: nothing in it can be timed"])
    now_ns = round(source.stat().st_mtime * 1e9)
    for document in documents:
        for found in document["items"] if document["kind"].endswith("List") else [document]:
            writer.object(now_ns, "LISTED", found)
    return writer.close()


def _audit(source: Path, out: Path) -> dict[str, int]:
    writer = _Out(out, source, "audit", ["stages ResponseComplete of writes; objects as far as the policy logged them"])
    kinds = {"create": "ADDED", "update": "MODIFIED", "patch": "MODIFIED", "delete": "DELETED"}
    for number, text in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
        if not text.strip():
            continue
        try:
            event = json.loads(text)
        except json.JSONDecodeError as problem:
            raise ValueError(f"{source}:{number}: {problem}") from None
        t_ns = parse_time(event.get("stageTimestamp"))
        if t_ns is None:
            raise ValueError(f"{source}:{number}: an event without stageTimestamp")
        kind = kinds.get(str(event.get("verb")))
        if (
            event.get("stage") != "ResponseComplete"
            or kind is None
            or event.get("responseStatus", {}).get("code", 200) >= 400
        ):
            continue
        found = event.get("responseObject") or {}
        if found.get("kind") == "Status" or not found.get("metadata"):
            reference = event.get("objectRef") or {}
            said = {"verb": event["verb"], "what": f"{reference.get('resource')}/{reference.get('name')}"}
            writer.write(OPERATIONS, t_ns, {"at_s": 0.0, "operation": said, "outcome": "done", "began_ns": t_ns})
        else:
            writer.object(t_ns, kind, found)
    return writer.close()


def _cloudopsbench(source: Path, out: Path) -> dict[str, int]:
    case = read_case(source)
    stamp = datetime.datetime.fromisoformat(str(case.cache["collection_timestamp"])).replace(tzinfo=datetime.UTC)
    read_ns = round(case.read_at * 1e9)
    writer = _Out(out, source, "cloudopsbench", ["one instant; times are the cluster's wall clock, without its zone"])
    for node in case.nodes:
        metadata = {"name": node.name, "labels": node.labels}
        capacity = {"cpu": str(node.cpu), "memory": f"{node.memory >> 10}Ki"}
        found: dict[str, Any]
        found = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}, "status": {"capacity": capacity}}
        writer.object(read_ns, "LISTED", found)
    for name, documents in case.manifests.items():
        for document in documents:
            writer.object(read_ns - round(case.ages_s[name] * 1e9), "ADDED", document)
    samples = list(window_samples(case))
    writer.counts["series"] = write_series(out, samples)
    writer.times += [sample.t_ms * 1_000_000 for sample in samples]
    if samples:
        writer.store.header.remarks.append(WINDOW_REMARK)
    for wanted, answer in case.answers("GetErrorLogs"):
        said = json.loads(answer) if isinstance(answer, str) and answer.startswith("{") else answer
        for pattern in said.get("patterns", ()) if isinstance(said, dict) else ():
            line = {"labels": {"app": wanted["service_name"]}, "line": writer.redaction.text(pattern["sample"])}
            writer.write(LOGS, round(stamp.timestamp() * 1e9), {**line, "count": pattern["count"]})
    return writer.close()


def _timeline(source: Path, out: Path) -> dict[str, int]:
    files = sorted(source.glob("*.jsonl")) if source.is_dir() else []
    if not files:
        raise ValueError(f"{source}: a timeline is a folder with a .jsonl file and manifests")
    lines = [json.loads(text) for text in files[0].read_text(encoding="utf-8").splitlines() if text.strip()]
    remarks = ["parts of objects alone; no Leases: signs of life are the operations that end them"]
    writer = _Out(out, source, "timeline", remarks)
    begin_ns, namespace = _began_ns(lines), "default"
    for path in sorted(source.glob("*.y*ml")):
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            if document:
                writer.object(begin_ns, "ADDED", document)
                namespace = document["metadata"].get("namespace", namespace)
    for line in lines:
        t_ns = begin_ns + round(line["t"] * 1e9)
        if "mark" in line:
            _mark(writer, t_ns, line)
        elif line["w"] in _WORDS and line["w"] not in ("deploy", "rs", "sts", "ds", "job"):
            writer.object(t_ns, line["type"], _rebuilt({"ns": namespace, **line}), _WORDS[line["w"]])
    return writer.close()


def _began_ns(lines: list[dict[str, Any]]) -> int:
    """The wall clock at t = 0: names of Events carry the nanoseconds of their making."""
    found = []
    for line in lines:
        stamp = str(line.get("name", "")).rpartition(".")[2]
        if line.get("w") == "event" and line.get("type") == "ADDED" and re.fullmatch(r"[0-9a-f]{16}", stamp):
            found.append(int(stamp, 16) - round(line["t"] * 1e9))
    return max(found, default=0)


def _mark(writer: _Out, t_ns: int, line: dict[str, Any]) -> None:
    words = str(line["mark"]).split()
    operation: dict[str, Any] = {"run": line["mark"], "means": line["mark"]}
    if words[:1] == ["scale"] and len(words) == 3:
        operation = {"scale": words[1], "replicas": int(words[2])}
    elif words[:1] == ["rollout"] and len(words) == 3:
        operation = {"rollout": words[1], "tag": words[2]}
    elif words == ["end"]:
        operation = {"run": "true", "means": "nothing"}
    writer.write(OPERATIONS, t_ns, {"began_ns": t_ns, "at_s": line["t"], "operation": operation, "outcome": "done"})


def _rebuilt(line: dict[str, Any]) -> dict[str, Any]:
    """The part of an object that a line holds, in its place; names stand for identities."""
    metadata: dict[str, Any] = {"name": line["name"], "uid": line["name"]}
    if line["w"] == "node":
        conditions = [{"type": "Ready", "status": status, "reason": reason} for status, reason in line["ready"]]
        taints = [dict(zip(("key", "effect"), taint.rsplit(":", 1), strict=True)) for taint in line["taints"]]
        return {"kind": "Node", "metadata": metadata, "spec": {"taints": taints}, "status": {"conditions": conditions}}
    metadata["namespace"] = line["ns"]
    if line["w"] == "pod":
        metadata["ownerReferences"] = [{"kind": "ReplicaSet", "name": line["name"].rpartition("-")[0]}]
        if line["del_"]:
            metadata["deletionTimestamp"] = "1970-01-01T00:00:00Z"
        conditions = [{"type": kind, "status": said[0], "reason": said[1]} for kind, said in line["conds"].items()]
        containers = [
            {
                "name": one["name"],
                "ready": one["ready"],
                "restartCount": one["restarts"],
                "state": one["state"],
                "lastState": one["last"],
            }
            for one in line["cs"]
        ]
        status = {"phase": line["phase"], "conditions": conditions, "containerStatuses": containers}
        spec = {"nodeName": line["node"]} if line["node"] else {}
        return {"kind": "Pod", "metadata": metadata, "spec": spec, "status": status}
    if line["w"] == "event":
        kind, _, name = line["obj"].partition("/")
        about = {"kind": kind, "name": name, "uid": name}
        return {
            "kind": "Event",
            "metadata": metadata,
            "involvedObject": about,
            "reason": line["reason"],
            "message": line["msg"],
        }
    if line["w"] == "eps":
        endpoints = [{"targetRef": {"name": name, "uid": name}, "conditions": said} for name, said in line["eps"]]
        return {"kind": "EndpointSlice", "metadata": metadata, "endpoints": endpoints}
    return {"kind": line["w"], "metadata": metadata, "status": line.get("status") or {}}


_FORMS: dict[str, Callable[[Path, Path], dict[str, int]]] = {
    "timeline": _timeline,
    "jaeger": _jaeger,
    "otlp": _otlp,
    "openmetrics": _openmetrics,
    "dump": _dump,
    "audit": _audit,
    "cloudopsbench": _cloudopsbench,
}
