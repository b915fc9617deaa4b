"""The Kubernetes API over HTTP: one ASGI application, from bytes to `Door.exchange` and back.

Served: every method and header that clients use, chunked watches and followed logs, gzip. Left out: HTTP/2 and SPDY
upgrades (clients fall back to HTTP/1.1; one that has only SPDY is told to use WebSockets).
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, unquote

from simcluster.api.encoding import wire
from simcluster.api.encoding.codec import MAX_BODY_BYTES
from simcluster.api.errors import ApiError
from simcluster.api.objects import Json
from simcluster.api.request import JSON, NO_SNIFF, Request, Response, WatchStream
from simcluster.api.subresources.containers import NO_UPGRADE
from simcluster.surface.http.authentication import ANONYMOUS, Credentials, impersonated, proved
from simcluster.surface.http.door import Caller, Turns
from simcluster.surface.http.logfollow import LogFollower, follows
from simcluster.surface.protocols import BudgetExceeded, HttpAnswer

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

#: Answers from this size on are compressed (k8s.io/apiserver, responsewriters, defaultGzipThresholdBytes).
GZIP_FROM_BYTES = 128 * 1024
_GZIP_LEVEL = 1  # defaultGzipContentEncodingLevel
#: What is asked over connections that carry streams.
STREAMS = ("exec", "attach", "portforward")
#: Before time passes for a command, it gets so long to react to what it has been sent: most hang up when they have seen
#: enough, and within a hundredth of this.
REACTION_S = 0.3
_SPDY = (
    "this server speaks WebSocket (v5.channel.k8s.io, v4.channel.k8s.io) and no SPDY: "
    "kubectl 1.31 or later, or a client library that uses WebSocket, is needed for exec, attach, cp and port-forward"
)


class Gone(Exception):
    """The client has hung up."""


class KubernetesApi:
    """The ASGI application.

    Attributes:
        turns: the door, in turn; None until the cluster is there, and readiness says 503.
        requests: how many have come, upgraded ones too.
    """

    def __init__(self, credentials: Credentials) -> None:
        self.credentials = credentials
        self.turns: Turns | None = None
        self.requests = 0

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        self.requests += 1
        try:
            await self._answer(scope, receive, send)
        except (Gone, ConnectionError):
            return

    async def _answer(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        headers = dict(texts := header_texts(scope))
        if self.turns is None:
            await _send(send, headers, _starting(scope["path"]))
            return
        body = await _body(receive)
        if body is None:
            message = f"Request entity too large: limit is {MAX_BODY_BYTES}"
            await _send(send, headers, _failed(413, "RequestEntityTooLarge", message))
            return
        request = self.request_of(scope, texts, body)
        caller = Caller(headers.get("kubectl-session", ""), headers.get("kubectl-command", ""))
        door = self.turns.door
        try:
            answer = await self._ask(request, caller)
        except BudgetExceeded as ended:
            await _send(send, headers, _failed(429, "TooManyRequests", str(ended)))
            return
        response = answer.response
        if headers.get("upgrade", "").lower().startswith("spdy") and needs_upgrade(response):
            await _send(send, headers, _failed(400, "BadRequest", _SPDY))
        elif response is not None and response.stream is not None:
            await self._stream(send, receive, answer, _Watched(response.stream), caller)
        elif response is not None and response.ok and follows(request):
            await self._stream(send, receive, answer, LogFollower(door, request), caller)
        else:
            await _send(send, headers, answer.wire, body=scope["method"] != "HEAD")

    async def _ask(self, request: Request, caller: Caller) -> HttpAnswer:
        assert self.turns is not None
        door = self.turns.door
        ask = partial(door.exchange, request, caller)
        # Only what goes through a proxy can let much time pass.
        return await (self.turns.take_long(ask) if "/proxy" in request.path else self.turns.take(ask))

    def request_of(self, scope: MutableMapping[str, Any], headers: list[tuple[str, str]], body: bytes) -> Request:
        """What came over the socket, as the API server's request."""
        named = dict(headers)
        who = proved(self.credentials, named, scope.get("state", {}).get("certificate"))
        path = unquote(scope["raw_path"].decode("ascii", "replace"), errors="replace")
        query = parse_qsl(scope["query_string"].decode("ascii", "replace"), keep_blank_values=True)
        return Request(
            scope.get("method", "GET"),
            # `/version/` is served as `/version`, paths of objects have no empty ends; a proxied path is another's.
            path if "/proxy/" in path else path.rstrip("/") or "/",
            tuple((clean(key), clean(value)) for key, value in query),
            body or None,
            content_type=named.get("content-type", JSON),
            accept=", ".join(value for name, value in headers if name == "accept") or JSON,
            user=who.user,
            token=who.token,
            user_agent=named.get("user-agent", ""),
            impersonate=impersonated(headers),
            upgraded=path.rpartition("/")[2] not in STREAMS,
        )

    async def _stream(
        self, send: Send, receive: Receive, answer: HttpAnswer, source: _Watched | LogFollower, caller: Caller
    ) -> None:
        """Send what comes, as long as the client listens and the source has not ended."""
        turns = self.turns
        assert turns is not None
        head = [(name, value) for name, value in answer.wire.headers if name != "Content-Length"]
        await send({"type": "http.response.start", "status": 200, "headers": _encoded(head)})
        if answer.wire.body:
            await send({"type": "http.response.body", "body": answer.wire.body, "more_body": True})
        gone = asyncio.ensure_future(_hang_up(receive))
        try:
            while not gone.done():
                chunk = await turns.take(source.read)
                if chunk:
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                elif source.ended:
                    break
                elif turns.door.drives(caller):
                    await asyncio.wait({gone}, timeout=REACTION_S)
                    if gone.done():
                        break
                    if not await turns.take_long(lambda: turns.door.follow(caller, source.has_news)):
                        source.finish()  # nothing for 30 simulated seconds: the command decides what then
                else:
                    await turns.news(gone)
            if not gone.done():
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            gone.cancel()
            source.close()


class _Watched:
    """A watch as a stream of bytes."""

    def __init__(self, stream: WatchStream) -> None:
        self._stream = stream
        self._events: list[Json] = []

    @property
    def ended(self) -> bool:
        """Whether the server has closed it."""
        return bool(getattr(self._stream, "is_closed", False)) and not self._events

    def has_news(self) -> bool:
        """Whether something has arrived that is not sent yet."""
        self._events += self._stream.poll()
        return bool(self._events) or self.ended

    def read(self) -> bytes:
        """What has arrived, one JSON value a line."""
        self.has_news()
        events, self._events = self._events, []
        return wire.frames(events)

    def finish(self) -> None:
        """The server ends it."""
        self._stream.finish()

    def close(self) -> None:
        """Nobody watches any more."""
        self._stream.close()


def header_texts(scope: MutableMapping[str, Any]) -> list[tuple[str, str]]:
    """The headers as texts, names in lower case."""
    return [(name.decode("latin-1"), clean(value.decode("latin-1"))) for name, value in scope["headers"]]


def needs_upgrade(response: Response | None) -> bool:
    """Whether nothing but a connection that carries streams was lacking."""
    return response is not None and response.code == 400 and response.body.get("message") == NO_UPGRADE


def clean(text: str) -> str:
    """A text that JSON in UTF-8 can carry."""
    return text.encode("utf-8", "replace").decode()


async def _body(receive: Receive) -> bytes | None:
    """The whole body; None if it is longer than the server reads. Raises Gone."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        size += len(message.get("body", b""))
        if size <= MAX_BODY_BYTES:
            parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts) if size <= MAX_BODY_BYTES else None
        if size > 2 * MAX_BODY_BYTES:
            return None  # nobody reads the rest: the connection ends with the answer


async def _hang_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(send: Send, asked: dict[str, str], answer: wire.Wire, *, body: bool = True) -> None:
    headers, content = list(answer.headers), answer.body
    if len(content) >= GZIP_FROM_BYTES and "gzip" in asked.get("accept-encoding", ""):
        content = gzip.compress(content, _GZIP_LEVEL, mtime=0)
        headers = [pair for pair in headers if pair[0] != "Content-Length"]
        headers += [("Content-Encoding", "gzip"), ("Content-Length", str(len(content))), ("Vary", "Accept-Encoding")]
    await send({"type": "http.response.start", "status": answer.code, "headers": _encoded(headers)})
    await send({"type": "http.response.body", "body": content if body else b""})


def _encoded(headers: list[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    """Header lines; what a text of the world says must not end one."""
    return [
        (name.lower().encode("latin-1"), value.replace("\r", " ").replace("\n", " ").encode("latin-1", "replace"))
        for name, value in headers
    ]


def _failed(code: int, reason: str, message: str) -> wire.Wire:
    error = ApiError(code, reason, message)
    return wire.encode(Request("GET", "/"), Response(code, error.status(), headers=dict(NO_SNIFF)))


def _starting(path: str) -> wire.Wire:
    """Before there is a cluster: alive, and not ready."""
    if path.rstrip("/") == "/livez":
        return wire.encode(Request("GET", path), Response(200, text="ok", content_type="text/plain; charset=utf-8"))
    if path.rstrip("/") in ("/readyz", "/healthz"):
        text = "[-]cluster failed: reason withheld\nreadyz check failed\n"
        return wire.encode(Request("GET", path), Response(503, text=text, content_type="text/plain; charset=utf-8"))
    error = ApiError(503, "ServiceUnavailable", "the cluster is being started")
    body = json.loads(json.dumps(error.status()))
    body["details"] = {**(body.get("details") or {}), "retryAfterSeconds": 1}
    return wire.encode(Request("GET", path, user=ANONYMOUS), Response(503, body))
