"""What happens on a connection before there is a request, and to those that never become one.

TLS is begun by this room, not by asyncio's server, so that somebody who speaks plain HTTP is told so, as Go's net/http
tells him. Limits of the real server: 1 MiB of headers (431), 32 s for a request's headers; who sends nothing is hung up
on. Sources: net/http, DefaultMaxHeaderBytes and server.go; k8s.io/apiserver, pkg/server/secure_serving.go
(ReadHeaderTimeout 32 s).
"""

from __future__ import annotations

import asyncio
import ssl
from asyncio.sslproto import SSLProtocol
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_BYTES = 1024 * 1024
HEADER_S = 32.0
#: A client that has opened a connection says hello within so many seconds, and has shaken hands within as many more.
HELLO_S = 10
#: Larger pieces are not copied for the sake of a packet.
_JOINED_BYTES = 64 * 1024
_HANDSHAKE = 0x16  # the first byte of TLS (RFC 8446, 5.1)
_PLAIN = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
_METHODS = (b"GET ", b"HEAD ", b"POST ", b"PUT ", b"PATCH ", b"DELETE ", b"OPTIONS ", b"CONNECT ", b"TRACE ")
_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"connection: close\r\n\r\n431 Request Header Fields Too Large"
)


class _Joining:
    """A transport that sends an answer's head together with what follows at once: one record of TLS, one packet."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send, the first small piece of a turn of the loop with the second one."""
        held, self._held = self._held, b""
        if len(data) > _JOINED_BYTES:
            if held:
                self._transport.write(held)
            self._transport.write(data)
        elif held:
            self._transport.write(held + data)
        elif data:
            self._held = data
            self._loop.call_soon(self._flush)

    def close(self) -> None:
        """Send what is held, and close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        held, self._held = self._held, b""
        if held and not self._transport.is_closing():
            self._transport.write(held)


class Connection(HttpToolsProtocol):
    """HTTP on one connection: tells applications the client's certificate and what nobody has read yet.

    Attributes:
        below: the transport under TLS, if there is any.
    """

    below: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """It is open, after TLS."""
        super().connection_made(_Joining(transport, self.loop))  # type: ignore[arg-type]
        self._header_bytes = 0
        self._late = self.loop.call_later(HEADER_S, self._give_up)
        self.app_state = {**self.app_state, "unread": self._unread}
        found = transport.get_extra_info("peercert")
        if found:
            self.app_state["certificate"] = found

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed."""
        self._late.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes of requests."""
        self._header_bytes += len(data)
        if self.parser is not None and not self.transport.is_closing():
            super().data_received(data)
            if self._header_bytes > HEADER_BYTES and not self._late.cancelled():
                self.transport.write(_TOO_LARGE)
                self.transport.close()

    def on_message_begin(self) -> None:
        """The first line of a request begins."""
        super().on_message_begin()
        if self._late.cancelled():
            self._header_bytes = 0
            self._late = self.loop.call_later(HEADER_S, self._give_up)

    def on_headers_complete(self) -> None:
        """Its headers have come."""
        self._late.cancel()
        super().on_headers_complete()

    def _give_up(self) -> None:
        self._late.cancel()
        self.transport.abort()

    def _unread(self) -> int:
        """Bytes of answers that the clients of this server have not taken yet; encrypted ones lie below TLS."""
        own = (one.below or one.transport for one in self.connections if isinstance(one, Connection))
        return sum(transport.get_write_buffer_size() for transport in own if transport is not None)


class Front(asyncio.Protocol):
    """The first bytes of a connection: TLS goes on as `Connection`, plain HTTP is refused.

    Args:
        context: TLS.
        given: what a `Connection` is made of.
    """

    def __init__(self, context: ssl.SSLContext, given: dict[str, Any]) -> None:
        self._context = context
        self._given = given
        self._loop = given["_loop"] or asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody has connected."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._late = self._loop.call_later(HELLO_S, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """He has gone."""
        self._late.cancel()

    def data_received(self, data: bytes) -> None:
        """His first bytes."""
        self._late.cancel()
        if data[0] != _HANDSHAKE:
            if data.startswith(_METHODS):
                self._transport.write(_PLAIN)
            self._transport.close()
            return
        made = Connection(**self._given)
        made.below = self._transport
        nobody: Any = None  # waits for the handshake
        secured = SSLProtocol(self._loop, made, self._context, nobody, server_side=True, ssl_handshake_timeout=HELLO_S)
        self._transport.set_protocol(secured)
        secured.connection_made(self._transport)
        place = secured.get_buffer(len(data))
        place[: len(data)] = data
        secured.buffer_updated(len(data))
