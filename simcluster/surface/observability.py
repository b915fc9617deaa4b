"""How an operator reaches the cluster's Prometheus and Alertmanager: through the API server's proxy of their Services.

Who asks so meets what anybody meets in the cluster: no endpoints while its pod is not ready, no answer over a cut link.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from simcluster.api.request import ADMIN, Request, User

#: Where the charts' Services stand (`world/manifests/observe*.yaml`).
PROMETHEUS = "/api/v1/namespaces/observe/services/prometheus-server:80/proxy"
ALERTMANAGER = "/api/v1/namespaces/observe/services/prometheus-alertmanager:9093/proxy"


class QueryError(Exception):
    """Prometheus refused a query, or could not be reached; the message is what was answered."""


def prometheus(path: str, query: Sequence[tuple[str, str]] = (), user: User = ADMIN) -> Request:
    """The request for a path of Prometheus, such as `/api/v1/query`."""
    return Request("GET", PROMETHEUS + path, tuple(query), user=user)


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
