"""The listener: uvicorn on loopback with TLS, whose applications are those of this room."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.wsproto_impl import WSProtocol

LOOPBACK = "127.0.0.1"
#: A client that has sent its request's beginning and no more, or is idle, is hung up on after so many seconds.
_IDLE_S = 75
#: Open connections at most; a flood of more is answered 503.
_CONNECTIONS = 2000
#: A frame of a WebSocket at most (kubectl writes 32 KiB).
_FRAME_BYTES = 4 * 1024 * 1024


class _Http(HttpToolsProtocol):
    """Tells applications the client's certificate."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        found = transport.get_extra_info("peercert")
        if found:
            self.app_state = {**self.app_state, "certificate": found}


def listening(port: int) -> socket.socket:
    """A socket on loopback. Raises OSError: the port is taken."""
    # By its protocol asyncio knows that answers in several pieces are not to wait for acknowledgements (TCP_NODELAY).
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((LOOPBACK, port))
    made.setblocking(False)
    return made


class Served(uvicorn.Server):
    """One listener.

    Args:
        application: an ASGI application.
        context: TLS; None for plain HTTP.
    """

    def __init__(self, application: Any, place: socket.socket, context: ssl.SSLContext | None) -> None:
        config = uvicorn.Config(
            application,
            http=_Http,
            ws=WSProtocol,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=True,
            timeout_keep_alive=_IDLE_S,
            timeout_graceful_shutdown=2,
            limit_concurrency=_CONNECTIONS,
            ws_max_size=_FRAME_BYTES,
            ws_ping_interval=None,
        )
        logging.getLogger("uvicorn.error").addHandler(logging.NullHandler())  # what clients do wrong, they are told
        config.load()
        config.ssl = context
        super().__init__(config)
        self._place = place

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._place.getsockname()[1])

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        """Signals are the caller's."""
        yield

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Listen as long as the block lasts."""
        task = asyncio.create_task(self.serve(sockets=[self._place]))
        try:
            while not self.started and not task.done():
                await asyncio.sleep(0.005)
            yield
        finally:
            self.should_exit = True
            self.force_exit = True
            await task
