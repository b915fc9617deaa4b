"""The operator's desk over HTTP: the page, nodes, time, the diagnosis; and the conductor's endpoints of SREGym.

Plain HTTP on loopback, every endpoint behind the same token as the API (`Authorization: Bearer`, or Basic with any user
name, as in `http://agent:TOKEN@127.0.0.1:PORT`). `/submit`, `/status` and `/get_app` have the payloads, codes and
stages that agents written for SREGym know; the result of a submission is never told.
"""

from __future__ import annotations

import hmac
import json
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable
from typing import Any, Protocol
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from simcluster.api.request import Request as ApiRequest
from simcluster.surface.http.door import Caller, Turns
from simcluster.surface.http.tail import Tail
from simcluster.surface.observability import QueryError, alertmanager, jaeger, loki, prometheus
from simcluster.surface.protocols import BudgetExceeded

#: A command line for a node, a diagnosis: longer ones are mistakes.
_LONGEST = 1024 * 1024


class Incident(Protocol):
    """What the desk knows of what it serves. `simcluster serve` hands in the implementation."""

    @property
    def alert(self) -> str:
        """The page, as text; empty of a sandbox."""

    @property
    def stage(self) -> str:
        """`setup`, `diagnosis`, `mitigation`, `tearing_down` or `done`."""

    @property
    def allowed(self) -> tuple[str, ...]:
        """Tools beyond what an operator has, which the task allows: `fork`, `counterfactual`."""

    def application(self) -> dict[str, Any]:
        """`app_name`, `namespace`, `namespaces`, `descriptions`."""

    def submit(self, solution: str) -> None:
        """A submission of the present stage: the diagnosis, then that the work is done."""


class Desk:
    """Endpoints; `turns` and `incident` are None until there is a cluster.

    Attributes:
        tools: an application of further endpoints behind the same token (MCP); None where there is none.
    """

    def __init__(self, token: str) -> None:
        self._token = token
        self.tools: ASGIApp | None = None
        self.turns: Turns | None = None
        self.incident: Incident | None = None
        self._followers = 0

    def application(self) -> Starlette:
        """The ASGI application."""
        routes = [
            Route("/healthz", self._healthz),
            Route("/alert", self._alert),
            Route("/wait", self._wait, methods=["POST"]),
            Route("/diagnose", self._diagnose, methods=["POST"]),
            Route("/node/{name}", self._node, methods=["POST"]),
            Route("/sh", self._sh, methods=["POST"]),
            Route("/submit", self._submit, methods=["POST"]),
            Route("/status", self._status),
            Route("/get_app", self._get_app),
            *(
                Route(f"/prometheus/{way}/{{path:path}}", self._prometheus, methods=["GET", "POST"])
                for way in ("api", "-")
            ),
            *(Route(f"/prometheus/{name}", self._prometheus) for name in ("", "federate", "metrics")),
            Route("/loki/api/{path:path}", self._loki, methods=["GET", "POST"]),
            WebSocketRoute("/loki/api/v1/tail", self._tail),
            Route("/jaeger/api/{path:path}", self._jaeger),
            *(
                Route(f"/alertmanager/{way}/{{path:path}}", self._alertmanager, methods=["GET", "POST", "DELETE"])
                for way in ("api", "-")
            ),
            Mount("/", self._further),
        ]
        return Starlette(routes=routes)

    async def _prometheus(self, request: Request) -> Response:
        """The cluster's Prometheus, through the API server; where a browser begins is its page of queries."""
        return await self._proxied(
            request, prometheus, request.url.path.removeprefix("/prometheus").rstrip("/") or "/query"
        )

    async def _loki(self, request: Request) -> Response:
        """The cluster's Loki, in the same way."""
        return await self._proxied(request, loki, request.url.path)

    async def _tail(self, socket: WebSocket) -> None:
        """Lines of the cluster's Loki as they come."""
        refusal = self._refusal(socket)
        if refusal is not None:
            await socket.send_denial_response(refusal)
            return
        assert self.turns is not None
        self._followers += 1
        caller = Caller(f"tail-{self._followers}", "tail")
        await Tail(self.turns, socket, dict(socket.query_params), caller).run()

    async def _proxied(self, request: Request, asking: Callable[..., ApiRequest], path: str) -> Response:
        """What the API server's proxy answers; queries by form are taken, too."""
        refusal = self._refusal(request)
        if refusal is not None:
            return refusal
        query = list(request.query_params.multi_items())
        if request.method == "POST":
            text = await _text(request)
            if text is None:
                return JSONResponse({"detail": f"at most {_LONGEST} bytes of UTF-8"}, 413)
            query += parse_qsl(text, keep_blank_values=True)
        return await self._exchanged(asking(path, query))

    async def _jaeger(self, request: Request) -> Response:
        """The cluster's Jaeger, likewise."""
        refusal = self._refusal(request)
        if refusal is not None:
            return refusal
        assert self.turns is not None
        query = list(request.query_params.multi_items())
        try:
            asked = jaeger(self.turns.door.look, f"/api/{request.path_params['path']}", query)
        except QueryError as missing:
            return JSONResponse({"detail": str(missing)}, 503)
        return await self._exchanged(asked)

    async def _alertmanager(self, request: Request) -> Response:
        """The cluster's Alertmanager, likewise."""
        refusal = self._refusal(request)
        if refusal is not None:
            return refusal
        text = await _text(request)
        if text is None:
            return JSONResponse({"detail": f"at most {_LONGEST} bytes of UTF-8"}, 413)
        query = list(request.query_params.multi_items())
        path = request.url.path.removeprefix("/alertmanager")
        return await self._exchanged(alertmanager(request.method, path, query, text.encode()))

    async def _exchanged(self, asked: ApiRequest) -> Response:
        turns = self.turns
        assert turns is not None
        try:
            found = await turns.take_long(lambda: turns.door.exchange(asked, Caller()))
        except BudgetExceeded as ended:
            return JSONResponse({"detail": str(ended)}, 429)
        return Response(found.wire.body, found.wire.code, dict(found.wire.headers))

    async def _further(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(Request(scope)) if scope["type"] == "http" else Response(status_code=403)
        answer: ASGIApp = refusal or self.tools or JSONResponse({"detail": "Not Found"}, 404)
        await answer(scope, receive, send)

    def _refusal(self, request: HTTPConnection) -> Response | None:
        scheme, _, value = request.headers.get("authorization", "").partition(" ")
        given = value.strip()
        if scheme.lower() == "basic":
            try:
                given = b64decode(given).decode().partition(":")[2]
            except (Base64Error, UnicodeDecodeError):
                given = ""
        if not hmac.compare_digest(given.encode(), self._token.encode()):
            head = {"WWW-Authenticate": 'Bearer realm="desk"'}
            return JSONResponse({"detail": "credentials are needed"}, 401, headers=head)
        if self.turns is None or self.incident is None:
            return JSONResponse({"detail": "the cluster is being started"}, 503, headers={"Retry-After": "1"})
        return None

    async def _healthz(self, request: Request) -> Response:
        return PlainTextResponse("ok" if self.turns else "starting", 200 if self.turns else 503)

    async def _alert(self, request: Request) -> Response:
        refusal = self._refusal(request)
        return refusal or PlainTextResponse(self._known().alert)

    async def _wait(self, request: Request) -> Response:
        return await self._run(request, "wait", "")

    async def _diagnose(self, request: Request) -> Response:
        return await self._run(request, "diagnose", "")

    async def _node(self, request: Request) -> Response:
        return await self._run(request, "node", request.path_params["name"])

    async def _sh(self, request: Request) -> Response:
        return await self._run(request, "sh", "")

    async def _run(self, request: Request, tool: str, target: str) -> Response:
        """The body is the command line, the duration or the diagnosis; the answer what was printed."""
        refusal = self._refusal(request)
        if refusal is not None:
            return refusal
        text = await _text(request)
        if text is None:
            return JSONResponse({"detail": f"at most {_LONGEST} bytes of UTF-8"}, 413)
        if tool == "diagnose":
            text = json.dumps(_json_or_text(text))
        turns = self.turns
        assert turns is not None
        try:
            result = await turns.take_long(lambda: turns.door.run(tool, text, target))
        except ValueError as problem:
            return JSONResponse({"detail": str(problem)}, 400)
        except BudgetExceeded as ended:
            return JSONResponse({"detail": str(ended)}, 429)
        return JSONResponse({"stdout": result.stdout, "stderr": result.stderr, "exit_code": result.exit_code})

    async def _submit(self, request: Request) -> Response:
        refusal = self._refusal(request)
        if refusal is not None:
            return refusal
        text = await _text(request)
        try:
            solution = json.loads(text or "")["solution"]
        except (ValueError, TypeError, KeyError):
            return JSONResponse({"detail": 'a submission is {"solution": TEXT}'}, 422)
        incident, turns = self._known(), self.turns
        assert turns is not None
        if incident.stage == "done":
            return JSONResponse({"status": "done", "message": "All stages completed"})
        if incident.stage not in ("diagnosis", "mitigation"):
            return JSONResponse({"detail": f"Cannot submit at stage: {incident.stage!r}"}, 400)
        await turns.take_long(lambda: incident.submit(str(solution)))
        return JSONResponse({"status": "200", "message": "Submission received"})

    async def _status(self, request: Request) -> Response:
        refusal = self._refusal(request)
        if refusal is not None and refusal.status_code == 503:
            return JSONResponse({"stage": "setup"})
        return refusal or JSONResponse({"stage": self._known().stage})

    async def _get_app(self, request: Request) -> Response:
        refusal = self._refusal(request)
        return refusal or JSONResponse(self._known().application())

    def _known(self) -> Incident:
        assert self.incident is not None
        return self.incident


async def _text(request: Request) -> str | None:
    size, parts = 0, []
    async for part in request.stream():
        size += len(part)
        if size > _LONGEST:
            return None
        parts.append(part)
    try:
        return b"".join(parts).decode()
    except UnicodeDecodeError:
        return None


def _json_or_text(text: str) -> Any:
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return found if isinstance(found, (str, dict)) else text
