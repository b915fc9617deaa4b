"""How an operator reaches the cluster's Prometheus, Alertmanager, Loki and Jaeger: by the API server's proxy.

Who asks so meets what anybody meets in the cluster: no endpoints while a pod is not ready, no answer over a cut link.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from simcluster.api.request import ADMIN, Request, Response, User

#: Where the charts' Services stand (`world/manifests/observe*.yaml`, `logging.yaml`).
PROMETHEUS = "/api/v1/namespaces/observe/services/prometheus-server:80/proxy"
ALERTMANAGER = "/api/v1/namespaces/observe/services/prometheus-alertmanager:9093/proxy"
LOKI = "/api/v1/namespaces/observe/services/loki:3100/proxy"
#: Port of Jaeger's query service. An application may bring its own; the one of `observe` is for all others.
JAEGER_PORT = 16686


class QueryError(Exception):
    """A query was refused, or nobody could be reached; the message is what was answered."""


def prometheus(path: str, query: Sequence[tuple[str, str]] = (), user: User = ADMIN) -> Request:
    """The request for a path of Prometheus, such as `/api/v1/query`."""
    return Request("GET", PROMETHEUS + path, tuple(query), user=user)


def loki(path: str, query: Sequence[tuple[str, str]] = (), user: User = ADMIN) -> Request:
    """The request for a path of Loki, such as `/loki/api/v1/labels`."""
    return Request("GET", LOKI + path, tuple(query), user=user)


def jaeger(
    look: Callable[[Request], Response], path: str, query: Sequence[tuple[str, str]] = (), user: User = ADMIN
) -> Request:
    """The request for a path of Jaeger, such as `/api/traces`; `look` asks the API server and leaves no trace.

    Raises:
        QueryError: no Service of the cluster has Jaeger's port.
    """
    body = look(Request("GET", "/api/v1/services")).body
    found = [
        (each["metadata"]["namespace"] == "observe", each["metadata"]["namespace"], each["metadata"]["name"])
        for each in (body or {}).get("items", [])
        if any(port["port"] == JAEGER_PORT for port in each["spec"].get("ports", ()))
    ]
    if not found:
        raise QueryError(f"no Service of the cluster has port {JAEGER_PORT} (Jaeger)")
    _, namespace, name = min(found)
    where = f"/api/v1/namespaces/{namespace}/services/{name}:{JAEGER_PORT}/proxy"
    return Request("GET", where + path, tuple(query), user=user)


def traces_of(code: int, body: bytes) -> list[Any]:
    """The `data` of an answer of Jaeger. Raises QueryError."""
    text = body.decode(errors="replace")
    try:
        found = json.loads(text)
    except ValueError:
        raise QueryError(f"{code}: {text.strip()}") from None
    if not isinstance(found, dict) or code != 200:
        errors = (found.get("errors") or [{"msg": found.get("message", "")}]) if isinstance(found, dict) else [{}]
        raise QueryError(f"{code}: {errors[0].get('msg') or text.strip()}")
    return found.get("data") or []


def alertmanager(
    method: str, path: str, query: Sequence[tuple[str, str]] = (), body: bytes | None = None, user: User = ADMIN
) -> Request:
    """The request for a path of Alertmanager, such as `/api/v2/silences`."""
    return Request(method, ALERTMANAGER + path, tuple(query), body or None, user=user)


def data_of(code: int, body: bytes) -> Any:
    """The `data` of an answer. Raises QueryError."""
    text = body.decode(errors="replace")
    try:
        found = json.loads(text)
    except ValueError:
        raise QueryError(f"{code}: {text.strip()}") from None
    if not isinstance(found, dict) or found.get("status") != "success":
        message = (found.get("error") or found.get("message")) if isinstance(found, dict) else ""
        raise QueryError(f"{code}: {message or text.strip()}")
    return found.get("data")
