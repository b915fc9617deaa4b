"""exec and attach over WebSocket: channels of one byte before each message (`v4.channel.k8s.io`, `v5.channel.k8s.io`).

Sources: k8s.io/apimachinery, util/remotecommand/constants.go and util/httpstream/wsstream; k8s.io/kubelet,
pkg/cri/streaming/remotecommand/websocket.go. A command runs to its end before its output is sent: what it prints on the
way comes at once. Standard input of a command that is no interactive shell is read to its end first. kubectl always
ends it; of other clients, of which most never do, it has ended when they send nothing for a while.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from simcluster.api.request import Request
from simcluster.surface.http.attachment import Attachment
from simcluster.surface.http.door import Caller, Turns
from simcluster.surface.http.terminal import Terminal, is_shell
from simcluster.surface.protocols import BudgetExceeded

STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
#: Subprotocols that are spoken, the best first; a client that names none gets the oldest. Left out: those in base64.
PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io", "channel.k8s.io", "")
#: What a client may send to a command's standard input.
STDIN_BYTES = 64 * 1024 * 1024
#: After so many seconds without any, a client that is not kubectl sends no more of it.
INPUT_PAUSE_S = 1.0

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_SUCCESS = {"metadata": {}, "status": "Success"}


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
        self._begun = self._gone = False

    async def run(self) -> None:
        """Serve it to its end."""
        wants_input, tty = self.request.flag("stdin"), self.request.flag("tty")
        if self.request.path.endswith("/attach"):
            status = await Attachment(self).run()
        elif wants_input and is_shell(self.request.params("command")) and (tty or not self._ends_input):
            status = await Terminal(self, tty=tty).run()
        else:
            text = await self.whole_input() if wants_input and not tty else b""
            status = await self.execute(self.request, text)
        await self.send(ERROR, self._ending(status))
        if not self._gone:
            await self._send({"type": "websocket.close", "code": 1000})

    def _ending(self, status: dict[str, Any]) -> bytes:
        """How a command ended: a Status, before version 4 what went wrong, if anything did."""
        if self.protocol in PROTOCOLS[:2]:
            return json.dumps(status).encode()
        return str(status.get("message", "")).encode()

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
        except BudgetExceeded as ended:
            return {
                "metadata": {},
                "status": "Failure",
                "message": str(ended),
                "reason": "TooManyRequests",
                "code": 429,
            }
        response = answer.response
        if response is None or not response.ok:
            return dict(json.loads(answer.wire.body))
        body = response.body
        if show is None:
            await self.send(STDOUT, body["stdout"].encode())
        else:
            await show(body["stdout"])
        await self.send(STDERR if not request.flag("tty") else STDOUT, body["stderr"].encode())
        return _ended(int(body["code"]))

    def exchange_caller(self) -> Caller:
        """Whose exchange the next one is: the first belongs to the command, each later line is a look of its own."""
        caller = self.caller if not self._begun else Caller()
        self._begun = True
        return caller

    async def send(self, channel: int, data: bytes) -> None:
        """Send bytes on a channel; nothing if there are none, or nobody listens any more."""
        for at in range(0, 0 if self._gone else len(data), 32 * 1024):
            await self._send({"type": "websocket.send", "bytes": bytes([channel]) + data[at : at + 32 * 1024]})

    async def received(self) -> tuple[int, bytes] | None:
        """The next message of the client: its channel and what it carries; None when the client has gone."""
        message = await self._receive()
        if message["type"] == "websocket.disconnect":
            self._gone = True
            return None
        data = message.get("bytes") or (message.get("text") or "").encode()
        return (data[0], data[1:]) if data else (STDIN, b"")

    @property
    def _ends_input(self) -> bool:
        """Whether the client says when standard input ends."""
        return bool(self.caller.session) and self.protocol == PROTOCOLS[0]

    async def whole_input(self) -> bytes:
        """Standard input up to where the client closes it."""
        parts: list[bytes] = []
        size = 0
        while True:
            try:
                found = await asyncio.wait_for(self.received(), None if self._ends_input else INPUT_PAUSE_S)
            except TimeoutError:
                break
            if found is None:
                break
            channel, data = found
            if channel == STDIN and size + len(data) <= STDIN_BYTES:
                parts.append(data)
                size += len(data)
            elif channel == CLOSE and data[:1] == bytes([STDIN]):
                break
        return b"".join(parts)


def _ended(code: int) -> dict[str, Any]:
    """The Status with which a command's stream ends (k8s.io/kubelet, remotecommand/exec.go)."""
    if not code:
        return dict(_SUCCESS)
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: command terminated with exit code {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }
