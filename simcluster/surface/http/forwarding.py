"""Port-forwards over WebSocket: SPDY streams of kubectl from 1.31 on, or a pair of channels for each port.

A forwarded connection carries HTTP/1.1, which is asked of the pod by the API server's own proxy
(`.../pods/NAME:PORT/proxy/`); other protocols are refused on the connection's error stream. Sources: k8s.io/client-go,
tools/portforward; k8s.io/kubelet, pkg/cri/streaming/portforward/websocket.go (even channels carry data, odd ones
errors, each begins with the port).
"""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable, MutableMapping
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

import h11

from simcluster.api.request import Request
from simcluster.surface.http import spdy
from simcluster.surface.http.door import Caller, Turns
from simcluster.surface.protocols import BudgetExceeded

TUNNEL = "SPDY/3.1+portforward.k8s.io"
PROTOCOLS = (TUNNEL, "v4.channel.k8s.io", "portforward.k8s.io", "")
_NO_HTTP = "error forwarding port {port} to pod {pod}: only HTTP/1.1 is forwarded"
#: Hop by hop: the connection's own.
_OWN = ("connection", "transfer-encoding", "content-length", "keep-alive")

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Forwarded:
    """One connection to a port of a pod: bytes in, bytes out."""

    def __init__(self, turns: Turns, request: Request, caller: Caller, port: int) -> None:
        self._turns = turns
        self._request = request
        self._caller = caller
        self.port = port
        self._http = h11.Connection(h11.SERVER)
        self._asked: h11.Request | None = None
        self._body = b""
        self.closed = False

    async def received(self, data: bytes) -> tuple[bytes, str]:
        """What the pod answers to these bytes, and what goes wrong, or an empty text."""
        answered = b""
        try:
            self._http.receive_data(data)
            while (event := self._http.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
                if isinstance(event, h11.Request):
                    self._asked, self._body = event, b""
                elif isinstance(event, h11.Data):
                    self._body += event.data
                elif isinstance(event, h11.EndOfMessage):
                    answered += await self._answer()
                elif isinstance(event, h11.ConnectionClosed):
                    self.closed = True
                    break
        except h11.RemoteProtocolError:
            self.closed = True
            pod = self._request.path.split("/")[-2]
            return answered, _NO_HTTP.format(port=self.port, pod=pod)
        except BudgetExceeded as ended:
            self.closed = True
            return answered, str(ended)
        return answered, ""

    async def _answer(self) -> bytes:
        asked = self._asked
        assert asked is not None
        path, _, query = asked.target.decode("latin-1").partition("?")
        pod = self._request.path.removesuffix("/portforward")
        headers = {name.decode(): value.decode("latin-1") for name, value in asked.headers}
        request = Request(
            asked.method.decode(), f"{pod}:{self.port}/proxy{path}",
            tuple(parse_qsl(query, keep_blank_values=True)), self._body or None,
            content_type=headers.get("content-type", ""), accept=headers.get("accept", "*/*"),
            user=self._request.user, token=self._request.token, impersonate=self._request.impersonate,
        )  # fmt: skip
        answer = await self._turns.take_long(lambda: self._turns.door.exchange(request, self._caller))
        self._caller = Caller()  # each further request is a look of its own
        wire = answer.wire
        sent = [(name, value) for name, value in wire.headers if name.lower() not in _OWN]
        sent.append(("Content-Length", str(len(wire.body))))
        made = [
            self._http.send(h11.Response(status_code=wire.code, reason=_phrase(wire.code), headers=sent)),
            self._http.send(h11.Data(data=wire.body)) if asked.method != b"HEAD" else b"",
            self._http.send(h11.EndOfMessage()),
        ]
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        else:
            self.closed = True
        return b"".join(part for part in made if part)


def _phrase(code: int) -> str:
    return HTTPStatus(code).phrase if code in HTTPStatus.__members__.values() else ""


class Tunnel:
    """A port-forward of kubectl: SPDY inside of WebSocket messages, two streams for each connection."""

    def __init__(self, turns: Turns, request: Request, caller: Caller, ends: tuple[Receive, Send]) -> None:
        self._context = (turns, request, caller)
        self._receive, self._send = ends
        self._spdy = spdy.Session()
        self._connections: dict[int, Forwarded] = {}  # by data stream
        self._errors: dict[str, int] = {}  # request id -> error stream
        self._requests: dict[int, str] = {}

    async def run(self) -> None:
        """Serve it until the client goes."""
        while (message := await self._receive())["type"] != "websocket.disconnect":
            try:
                for frame in self._spdy.received(message.get("bytes") or b""):
                    await self._frame(frame)
            except ValueError:
                await self._send({"type": "websocket.close", "code": 1002})
                return

    async def _frame(self, frame: spdy.Frame) -> None:
        if frame.kind == spdy.SYN_STREAM and frame.headers is not None:
            await self._opened(frame.stream, frame.headers)
        elif frame.kind == spdy.PING:
            await self._out(self._spdy.ping(frame.stream))
        elif frame.kind == spdy.RST_STREAM:
            self._connections.pop(frame.stream, None)
        elif frame.kind == 0 and frame.stream in self._connections:
            await self._data(frame)

    async def _opened(self, stream: int, headers: dict[str, str]) -> None:
        number, kind = headers.get("requestid", ""), headers.get("streamtype", "")
        if kind == "error":
            self._errors[number] = stream
        elif kind == "data" and headers.get("port", "").isdecimal():
            self._connections[stream] = Forwarded(*self._context, int(headers["port"]))
            self._requests[stream] = number
        await self._out(self._spdy.reply(stream))

    async def _data(self, frame: spdy.Frame) -> None:
        connection = self._connections[frame.stream]
        data, problem = await connection.received(frame.data) if frame.data else (b"", "")
        if data:
            await self._out(self._spdy.data(frame.stream, data))
        if not (problem or connection.closed or frame.fin):
            return
        del self._connections[frame.stream]
        error = self._errors.pop(self._requests.pop(frame.stream), None)
        await self._out(self._spdy.data(frame.stream, b"", fin=True))
        if error is not None:
            await self._out(self._spdy.data(error, problem.encode(), fin=True))

    async def _out(self, data: bytes) -> None:
        await self._send({"type": "websocket.send", "bytes": data})


class PortChannels:
    """A port-forward of client libraries: channels 2i and 2i + 1 are the data and the errors of the i-th port."""

    def __init__(self, turns: Turns, request: Request, caller: Caller, ends: tuple[Receive, Send]) -> None:
        ports = [int(part) for text in request.params("ports") for part in text.split(",") if part.isdecimal()]
        self._connections = [Forwarded(turns, request, caller, port) for port in ports]
        self._receive, self._send = ends

    async def run(self) -> None:
        """Serve it until the client goes."""
        for number, connection in enumerate(self._connections):
            for channel in (2 * number, 2 * number + 1):
                await self._out(channel, struct.pack("<H", connection.port))
        while (message := await self._receive())["type"] != "websocket.disconnect":
            data = message.get("bytes") or b""
            number = data[0] // 2 if data else len(self._connections)
            if number >= len(self._connections) or len(data) < 2 or data[0] % 2:
                continue
            answered, problem = await self._connections[number].received(data[1:])
            await self._out(2 * number, answered)
            await self._out(2 * number + 1, problem.encode())
            if self._connections[number].closed:
                await self._send({"type": "websocket.close", "code": 1000})
                return

    async def _out(self, channel: int, data: bytes) -> None:
        if data:
            await self._send({"type": "websocket.send", "bytes": bytes([channel]) + data})
