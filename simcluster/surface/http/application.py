"""The Kubernetes listener's application: HTTP goes to `kubernetes`, WebSockets to `channels`."""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from dataclasses import replace
from typing import Any

from simcluster.surface.http import forwarding
from simcluster.surface.http.channels import PROTOCOLS, Channels, Receive, Send
from simcluster.surface.http.door import Caller
from simcluster.surface.http.kubernetes import STREAMS, KubernetesApi, header_texts, needs_upgrade


class Application:
    """One ASGI application for both kinds of connections."""

    def __init__(self, api: KubernetesApi) -> None:
        self.api = api

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request or serve one WebSocket."""
        if scope["type"] == "http":
            await self.api(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()  # websocket.connect
            self.api.requests += 1
            await self._websocket(scope, receive, send)

    async def _websocket(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        turns = self.api.turns
        if turns is None:
            await _refuse(send, 503, _status(503, "ServiceUnavailable", "the cluster is being started"))
            return
        texts = header_texts(scope)
        headers = dict(texts)
        request = self.api.request_of({**scope, "method": "GET"}, texts, b"")
        caller = Caller(headers.get("kubectl-session", ""), headers.get("kubectl-command", ""))
        name = request.path.rpartition("/")[2]
        if name not in STREAMS:
            await _refuse(send, 400, _status(400, "BadRequest", "nothing here is reached over a WebSocket"))
            return
        known = forwarding.PROTOCOLS if name == "portforward" else PROTOCOLS
        offered = scope.get("subprotocols") or [""]
        protocol = next((one for one in known if one in offered), None)
        if protocol is None:
            await _refuse(send, 403, _status(403, "Forbidden", "no subprotocol is offered that this server speaks"))
            return
        # A client that may not, or asks for what is not there, gets its answer before the connection is upgraded.
        asked = replace(request, method="POST")
        if not needs_upgrade(await turns.take(lambda: turns.door.look(asked))):
            answer = await turns.take(lambda: turns.door.exchange(asked, caller))
            await _refuse(send, answer.wire.code, answer.wire.body)
            return
        await send({"type": "websocket.accept", "subprotocol": protocol or None})
        if name != "portforward":
            await Channels(turns, request, caller, protocol, (receive, send)).run()
        elif protocol == forwarding.TUNNEL:
            await forwarding.Tunnel(turns, request, caller, (receive, send)).run()
        else:
            await forwarding.PortChannels(turns, request, caller, (receive, send)).run()


def _status(code: int, reason: str, message: str) -> bytes:
    return json.dumps(
        {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        | {"message": message, "reason": reason, "code": code}
    ).encode()


async def _refuse(send: Send, code: int, body: bytes) -> None:
    """Deny the upgrade with an HTTP answer (the `websocket.http.response` extension of ASGI)."""
    headers = [(b"content-type", b"application/json")]
    await send({"type": "websocket.http.response.start", "status": code, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": body})
