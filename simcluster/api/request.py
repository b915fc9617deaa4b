"""Requests and responses of the API server, as values.

`Api.handle(Request) -> Response` is the one entry for the in-process kubectl, the HTTP
facade, controllers and tests. A body may be given as the decoded JSON value (callers in
this process) or as bytes (a socket); the answer's body is a decoded JSON value or text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qsl, urlencode

if TYPE_CHECKING:
    from simcluster.api.routing import Route

JSON = "application/json"
YAML = "application/yaml"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

#: `Accept` with which kubectl asks for server-side Tables.
TABLE = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)

#: Of answers in plain words, which no browser shall take for a page.
NO_SNIFF = {"X-Content-Type-Options": "nosniff"}

Query = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class User:
    """Who asks: the result of authentication; `extra` is what is known beside, as keys and values."""

    name: str = "kubernetes-admin"
    groups: tuple[str, ...] = ("system:masters", "system:authenticated")
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


ADMIN = User(uid="admin")


@dataclass(frozen=True, slots=True)
class Impersonation:
    """As whom a request acts: the Impersonate-User, -Group, -Uid and -Extra-KEY headers."""

    user: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(slots=True)
class Request:
    """One HTTP request. A value: nobody changes it (what Python does to forbid that costs more than to serve some).

    Attributes:
        method: GET, POST, PUT, PATCH or DELETE.
        path: without query, as in `/apis/apps/v1/namespaces/shop/deployments/geo/scale`.
        query: parameters in order; may repeat (`command` of exec).
        body: decoded JSON value (never changed by the server), raw bytes, or None.
        user: who sent it; the server decides whether that user may act as `impersonate`.
        token: the bearer token of the Authorization header; if there is one it decides who the user is.
        route: what the path names, of callers who know; None: the server reads the path.
        patience_ns: how long the client waits for the end of a command before it hangs up; None for ever.
        upgraded: whether the connection can carry streams; a command over a plain one is checked and refused.
    """

    method: str
    path: str
    query: Query = ()
    body: Any = None
    content_type: str = JSON
    accept: str = JSON
    user: User = ADMIN
    user_agent: str = ""
    impersonate: Impersonation | None = None
    token: str = ""
    route: Route | None = None
    patience_ns: int | None = None
    upgraded: bool = True

    def param(self, name: str, default: str = "") -> str:
        """The first value of a query parameter."""
        for key, value in self.query:
            if key == name:
                return value
        return default

    def params(self, name: str) -> list[str]:
        """Every value of a query parameter."""
        return [value for key, value in self.query if key == name]

    def flag(self, name: str) -> bool:
        """A boolean query parameter: true if it is there and neither `false` nor `0`.

        Source: k8s.io/apimachinery, pkg/runtime/conversion.go, Convert_Slice_string_To_bool.
        """
        return self.param(name, "0").lower() not in ("false", "0")

    @property
    def target(self) -> str:
        """Path and query as they stand in the request line."""
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path


def request_of(method: str, target: str, **rest: Any) -> Request:
    """A request from a request target such as `/api/v1/pods?limit=500`."""
    path, _, query = target.partition("?")
    return Request(method, path, tuple(parse_qsl(query, keep_blank_values=True)), **rest)


class WatchStream(Protocol):
    """The open answer to a watch; polled, because time passes only outside of it."""

    def poll(self) -> list[dict[str, Any]]:
        """Watch events (`{"type": ..., "object": ...}`) that have arrived since the last poll."""

    def finish(self) -> None:
        """The server's end of the watch: a last bookmark, if the client asked for such, and nothing after it."""

    def close(self) -> None:
        """Stop watching."""


@dataclass(slots=True)
class Response:
    """One HTTP response, a value as the request. Exactly one of body, text and stream is meaningful.

    Attributes:
        latency_ns: how long admission webhooks took; the client waited so long.
    """

    code: int
    body: Any = None
    text: str | None = None
    stream: WatchStream | None = None
    content_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    latency_ns: int = 0

    @property
    def ok(self) -> bool:
        """Whether the code is a success."""
        return self.code < 400
