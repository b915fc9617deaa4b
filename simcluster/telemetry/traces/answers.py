"""Answers of Jaeger's query service: traces as its user interface reads them, and the envelope around everything."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from simcluster.telemetry.traces.span import Log, Source, Span, Tags

JSON, TEXT = "application/json", "text/plain; charset=utf-8"


class Answer(NamedTuple):
    """An HTTP response."""

    status: int
    content_type: str
    body: str


def success(
    data: Any, total: int = 0, errors: Sequence[dict[str, Any]] | None = None, *, pretty: bool = False
) -> Answer:
    """Data in the usual envelope."""
    return Answer(200, JSON, _encoded(data, total, errors or None, pretty=pretty))


def failure(status: int, message: str) -> Answer:
    """An error, as Go's `http.Error` writes it."""
    text = _encoded(None, 0, [{"code": status, "msg": message}], pretty=False)
    return Answer(status, TEXT, text + "\n")


def _encoded(data: Any, total: int, errors: Sequence[dict[str, Any]] | None, *, pretty: bool) -> str:
    shown = {"data": data, "total": total, "limit": 0, "offset": 0, "errors": errors}
    form: dict[str, Any] = {"indent": 4} if pretty else {"separators": (",", ":")}
    text = json.dumps(shown, ensure_ascii=False, **form)
    for character, escape in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(character, escape)
    return text


def trace_of(spans: Sequence[Span]) -> dict[str, Any]:
    """One trace."""
    processes: dict[Source, str] = {}
    shown = []
    for span in spans:
        process = processes.setdefault(span.source, f"p{len(processes) + 1}")
        shown.append(_span(span, process))
    named = {name: {"serviceName": source.service, "tags": _tags(source.tags)} for source, name in processes.items()}
    return {"traceID": spans[0].trace_id, "spans": shown, "processes": named, "warnings": None}


def _span(span: Span, process: str) -> dict[str, Any]:
    parent = {"refType": "CHILD_OF", "traceID": span.trace_id, "spanID": span.parent_id}
    return {
        "traceID": span.trace_id,
        "spanID": span.span_id,
        "flags": 1,
        "operationName": span.operation,
        "references": [parent] if span.parent_id else [],
        "startTime": span.start_us,
        "duration": span.duration_us,
        "tags": _tags(span.tags),
        "logs": [_log(log) for log in span.logs],
        "processID": process,
        "warnings": None,
    }


def _log(log: Log) -> dict[str, Any]:
    return {"timestamp": log.at_us, "fields": _tags(log.fields)}


def _tags(tags: Tags) -> list[dict[str, Any]]:
    return [{"key": key, "type": _type(value), "value": _number(value)} for key, value in tags]


def _type(value: object) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int64"
    return "float64" if isinstance(value, float) else "string"


def _number(value: str | int | float | bool) -> str | int | float | bool:
    """Go writes a whole float as an integer."""
    return int(value) if isinstance(value, float) and value == int(value) else value
