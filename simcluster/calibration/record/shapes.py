"""What a line of each stream has to be like; what is not is passed over by readers and named by `record --verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simcluster.calibration.record.layout import NOTES, OBJECTS, OPERATIONS, TRACES

#: Kinds of changes, as watches name them; GAP has no object.
_KINDS = ("LISTED", "ADDED", "MODIFIED", "DELETED")
#: Kinds without a spec say nothing that can be used.
_WITH_SPEC = ("pods", "nodes", "deployments.apps", "statefulsets.apps", "daemonsets.apps")
_SPAN = {"id": str, "parent": str, "service": str, "operation": str, "kind": str, "start_ns": int, "duration_ns": int,
         "tags": dict}  # fmt: skip


def stream_of(path: Path) -> tuple[str, str]:
    """The stream that a segment is of, and of `objects` the kind.

    >>> stream_of(Path("rec/objects/pods/000001.jsonl.gz")), stream_of(Path("rec/traces/000001.jsonl.gz"))
    (('objects', 'pods'), ('traces', ''))
    """
    folder = path.parent
    return (OBJECTS, folder.name) if folder.parent.name == OBJECTS else (folder.name, "")


def wrong_with(stream: str, kind: str, line: dict[str, Any]) -> str:
    """What is wrong with a line; empty if nothing is.

    >>> wrong_with("objects", "pods", {"t": 5, "type": "ADDED", "object": {"metadata": {"name": "a"}}})
    'pods have a spec'
    >>> wrong_with("notes", "", {"t": "soon"})
    't is no whole number of nanoseconds'
    """
    if type(line.get("t")) is not int:
        return "t is no whole number of nanoseconds"
    if stream == OBJECTS:
        return _wrong_object(kind, line)
    if stream == TRACES:
        return _wrong_trace(line.get("spans"))
    if stream == OPERATIONS and not (isinstance(line.get("operation"), dict) and isinstance(line.get("outcome"), str)):
        return "an operation says what was done and its outcome"
    if stream == NOTES and not (isinstance(line.get("note"), str) and isinstance(line.get("source"), str)):
        return "a note says what of, and its source"
    return ""


def _wrong_object(kind: str, line: dict[str, Any]) -> str:
    found = line.get("object")
    if line.get("type") == "GAP" and found is None:
        return ""
    if line.get("type") not in _KINDS:
        return f"type {line.get('type')!r} is none of {', '.join(_KINDS)}"
    metadata = found.get("metadata") if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return "an object has metadata with a name"
    if kind in _WITH_SPEC and not isinstance(found.get("spec"), dict):
        return f"{kind} have a spec"
    if kind == "pods" and not isinstance(metadata.get("uid"), str) and line["type"] != "ADDED":
        return "pods have a uid"
    if not isinstance(found.get("status") or {}, dict):
        return "status is no map"
    return ""


def _wrong_trace(spans: Any) -> str:
    if not isinstance(spans, list) or not spans:
        return "a trace has spans"
    for span in spans:
        missing = [key for key, kind in _SPAN.items() if not isinstance(span, dict) or type(span.get(key)) is not kind]
        if missing:
            return f"a span's {missing[0]} is missing or no {_SPAN[missing[0]].__name__}"
        if span["duration_ns"] < 0:
            return "a span ends before it begins"
    return ""
