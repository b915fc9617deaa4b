"""exec and attach over WebSocket: channels of one byte before each message (`v4.channel.k8s.io`, `v5.channel.k8s.io`).

Sources: k8s.io/apimachinery, util/remotecommand/constants.go and util/httpstream/wsstream; k8s.io/kubelet,
pkg/cri/streaming/remotecommand/websocket.go. A command runs to its end before its output is sent: what it prints on the
way comes at once. Standard input of a command that is no interactive shell is read to its end first.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from simcluster.api.request import Request
from simcluster.surface.http.attachment import Attachment
from simcluster.surface.http.door import Caller, Turns
from simcluster.surface.http.terminal import Terminal, ended, is_shell, on_terminal
from simcluster.surface.protocols import BudgetExceeded

STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
#: Subprotocols that are spoken, the best first; the plain `channel.k8s.io` ends without a Status.
PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
#: What a client may send to a command's standard input.
STDIN_BYTES = 64 * 1024 * 1024

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Channels:
    """One open WebSocket of an exec or an attach."""

    def __init__(
        self, turns: Turns, request: Request, caller: Caller, protocol: str, ends: tuple[Receive, Send]
    ) -> None:
        self.turns = turns
        self.request = request
        self.caller = caller
        self.protocol = protocol
        self._receive, self._send = ends
        self._begun = False

    async def run(self) -> None:
        """Serve it to its end."""
        wants_input, tty = self.request.flag("stdin"), self.request.flag("tty")
        if self.request.path.endswith("/attach"):
            status = await Attachment(self).run()
        elif wants_input and is_shell(self.request.params("command")) and (tty or self.protocol != PROTOCOLS[0]):
            status = await Terminal(self, tty=tty).run()
        else:
            piped = wants_input and not tty and self.protocol == PROTOCOLS[0]
            text = await self.whole_input() if piped else b""
            status = await self.execute(self.request, text)
        await self.send(ERROR, json.dumps(status).encode())
        await self._send({"type": "websocket.close", "code": 1000})

    async def execute(
        self, request: Request, stdin: bytes, show: Callable[[str], Awaitable[None]] | None = None
    ) -> dict[str, Any]:
        """Run a command in the container, send what it prints; the Status that says how it ended.

        Args:
            show: sends standard output; by default its channel does.
        """
        ask = Request(
            "POST", request.path, request.query, stdin or None,
            user=request.user, token=request.token, impersonate=request.impersonate, user_agent=request.user_agent,
        )  # fmt: skip
        try:
            answer = await self.turns.take_long(lambda: self.turns.door.exchange(ask, self.exchange_caller()))
        except BudgetExceeded as spent:
            return {
                "metadata": {},
                "status": "Failure",
                "message": str(spent),
                "reason": "TooManyRequests",
                "code": 429,
            }
        response = answer.response
        if response is None or not response.ok:
            return dict(json.loads(answer.wire.body))
        body, tty = response.body, request.flag("tty")
        if show is None:
            await self.send(STDOUT, on_terminal(body["stdout"], tty=tty).encode())
        else:
            await show(body["stdout"])
        await self.send(STDOUT if tty else STDERR, on_terminal(body["stderr"], tty=tty).encode())
        return ended(int(body["code"]))

    def exchange_caller(self) -> Caller:
        """Whose exchange the next one is: the first belongs to the command, each later line is a look of its own."""
        caller = self.caller if not self._begun else Caller()
        self._begun = True
        return caller

    async def send(self, channel: int, data: bytes) -> None:
        """Send bytes on a channel; nothing if there are none."""
        for at in range(0, len(data), 32 * 1024):
            await self._send({"type": "websocket.send", "bytes": bytes([channel]) + data[at : at + 32 * 1024]})

    async def received(self) -> tuple[int, bytes] | None:
        """The next message of the client: its channel and what it carries; None when the client has gone."""
        message = await self._receive()
        if message["type"] == "websocket.disconnect":
            return None
        data = message.get("bytes") or (message.get("text") or "").encode()
        return (data[0], data[1:]) if data else (STDIN, b"")

    async def whole_input(self) -> bytes:
        """Standard input up to where the client closes it."""
        parts: list[bytes] = []
        size = 0
        while (found := await self.received()) is not None:
            channel, data = found
            if channel == STDIN and size + len(data) <= STDIN_BYTES:
                parts.append(data)
                size += len(data)
            elif channel == CLOSE and data[:1] == bytes([STDIN]):
                break
        return b"".join(parts)
