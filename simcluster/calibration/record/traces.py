"""Traces in one form, from Jaeger's answers and from OTLP in JSON.

A line is `{"trace": id, "spans": [...]}`; a span has `id`, `parent` (empty of a root), `service`, `operation`, `kind`
(server, client, internal, producer, consumer or empty), `start_ns`, `duration_ns`, `error` and `tags`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_KINDS = {1: "internal", 2: "server", 3: "client", 4: "producer", 5: "consumer"}
_ERROR = (2, "STATUS_CODE_ERROR")
#: Beginnings of the tags that are kept.
_KEPT = ("http.", "rpc.", "grpc.", "db.", "peer.", "session.id")


def jaeger_lines(traces: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Lines of the traces of Jaeger's query API (`data` of `/api/traces`). Raises KeyError if they are none."""
    for trace in traces:
        processes = trace["processes"]
        yield {"trace": trace["traceID"], "spans": [_jaeger_span(span, processes) for span in trace["spans"]]}


def _jaeger_span(span: Mapping[str, Any], processes: Mapping[str, Any]) -> dict[str, Any]:
    tags = {tag["key"]: tag["value"] for tag in span.get("tags") or ()}
    parents = [each["spanID"] for each in span.get("references") or () if each.get("refType") == "CHILD_OF"]
    failed = tags.get("error") in (True, "true") or tags.get("otel.status_code") == "ERROR"
    return {
        "id": span["spanID"],
        "parent": parents[0] if parents else span.get("parentSpanID") or "",
        "service": processes[span["processID"]]["serviceName"],
        "operation": span["operationName"],
        "kind": str(tags.get("span.kind", "")),
        "start_ns": int(span["startTime"]) * 1000,
        "duration_ns": int(span["duration"]) * 1000,
        "error": bool(failed),
        "tags": {key: value for key, value in tags.items() if key.startswith(_KEPT)},
    }


def otlp_lines(exports: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Lines of the traces in ExportTraceServiceRequests, whose spans may be spread over several of them."""
    found: dict[str, list[dict[str, Any]]] = {}
    for export in exports:
        for resource in export.get("resourceSpans") or ():
            service = _attributes(resource.get("resource") or {}).get("service.name", "unknown_service")
            for scope in resource.get("scopeSpans") or resource.get("instrumentationLibrarySpans") or ():
                for span in scope.get("spans") or ():
                    found.setdefault(span["traceId"], []).append(_otlp_span(span, str(service)))
    return [{"trace": trace, "spans": spans} for trace, spans in found.items()]


def _otlp_span(span: Mapping[str, Any], service: str) -> dict[str, Any]:
    tags = _attributes(span)
    kind, begin_ns = span.get("kind", 0), int(span["startTimeUnixNano"])
    if isinstance(kind, str):
        kind = kind.removeprefix("SPAN_KIND_").lower()
    return {
        "id": span["spanId"],
        "parent": span.get("parentSpanId") or "",
        "service": service,
        "operation": span["name"],
        "kind": _KINDS.get(kind, "") if isinstance(kind, int) else kind,
        "start_ns": begin_ns,
        "duration_ns": int(span["endTimeUnixNano"]) - begin_ns,
        "error": (span.get("status") or {}).get("code") in _ERROR,
        "tags": {key: value for key, value in tags.items() if key.startswith(_KEPT)},
    }


def _attributes(part: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for attribute in part.get("attributes") or ():
        value = attribute.get("value") or {}
        found[attribute["key"]] = next(iter(value.values()), None)
    return found
