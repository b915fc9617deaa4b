"""Jaeger's query API (`cmd/query/app/http_handler.go`) as a pure function of a request, the spans and the instant.

Left out: archives, the adjustment of clock skew (off by default), metrics, the pages of the user interface.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import unquote

from simcluster.telemetry.traces.answers import TEXT, Answer, failure, success, trace_of
from simcluster.telemetry.traces.parameters import (
    DEPENDENCIES_MS,
    Parameters,
    WrongParameter,
    search,
    trace_id,
)
from simcluster.telemetry.traces.store import TraceStore

_REQUIRED, _NOT_FOUND = "parameter 'service' is required", "trace not found"


class Request(NamedTuple):
    """One request: parts of its path, its parameters, and what answers it."""

    parts: tuple[str, ...]
    values: Parameters
    store: TraceStore


def handle(request: tuple[str, str, str], store: TraceStore, now_us: int) -> Answer:
    """The answer to `(method, path, query string)` at an instant in microseconds since the Unix epoch.

    >>> handle(("GET", "/api/services", ""), TraceStore(), 0).body
    '{"data":[],"total":0,"limit":0,"offset":0,"errors":null}'
    """
    method, path, query = request
    for pattern, route in _ROUTES:
        found = re.fullmatch(pattern, path)
        if found is None:
            continue
        if method not in ("GET", "HEAD"):
            return Answer(405, TEXT, "")
        parts = tuple(unquote(part) for part in found.groups())
        try:
            return route(Request(parts, Parameters(query, now_us), store))
        except WrongParameter as error:
            return failure(400, str(error))
    return Answer(404, TEXT, "404 page not found\n")


def _services(asked: Request) -> Answer:
    found = asked.store.services()
    return success(found, len(found))


def _operations(asked: Request) -> Answer:
    service, kind = asked.values.one("service"), asked.values.one("spanKind")
    if not service:
        return failure(400, _REQUIRED)
    found = asked.store.operations(service, kind)
    return success([{"name": name, "spanKind": kind} for name, kind in found], len(found))


def _operations_of(asked: Request) -> Answer:
    """The older form: names alone."""
    found = list(dict.fromkeys(name for name, _ in asked.store.operations(asked.parts[0])))
    return success(found, len(found))


def _traces(asked: Request) -> Answer:
    wanted = search(asked.values)
    pretty = asked.values.one("prettyPrint") == "true"
    if not wanted.ids:
        found = asked.store.find(wanted.query)
        return success([trace_of(spans) for spans in found], pretty=pretty)
    known = [(trace, asked.store.trace(trace)) for trace in wanted.ids]
    missing = [{"msg": _NOT_FOUND, "traceID": trace} for trace, spans in known if not spans]
    return success([trace_of(spans) for _, spans in known if spans], errors=missing, pretty=pretty)


def _trace(asked: Request) -> Answer:
    try:
        wanted = trace_id(asked.parts[0])
    except ValueError as error:
        return failure(400, str(error))
    spans = asked.store.trace(wanted)
    if not spans:
        return failure(404, _NOT_FOUND)
    return success([trace_of(spans)], pretty=asked.values.one("prettyPrint") == "true")


def _dependencies(asked: Request) -> Answer:
    values = asked.values
    end = values.whole("endTs", values.now_us // 1000)
    lookback = values.whole("lookback", DEPENDENCIES_MS)
    service = values.one("service")
    found = [
        {"parent": caller, "child": callee, "callCount": count}
        for caller, callee, count in asked.store.dependencies((end - lookback) * 1000, end * 1000)
        if not service or service in (caller, callee)
    ]
    return success(found, len(found))


def _metrics(asked: Request) -> Answer:
    return failure(501, "metrics querying is currently disabled")


_ROUTES: tuple[tuple[str, Callable[[Request], Answer]], ...] = (
    ("/api/services", _services),
    ("/api/services/([^/]+)/operations", _operations_of),
    ("/api/operations", _operations),
    ("/api/traces", _traces),
    ("/api/traces/([^/]+)", _trace),
    ("/api/dependencies", _dependencies),
    ("/api/metrics/(?:latencies|calls|errors|minstep)", _metrics),
)
