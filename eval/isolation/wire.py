"""Messages between an episode and its agent's process: JSON with its length in front, over a stream socket.

Nothing that comes from an agent's process is ever unpickled.
"""

from __future__ import annotations

import json
import socket
from typing import Any

#: The longest message that is taken, bytes: nobody pipes a longer manifest into kubectl.
MESSAGE_MAX = 64 * 2**20
_HEAD_BYTES = 4
_CHUNK = 1 << 16


class Garbled(Exception):
    """What came in is no message."""


class Wire:
    """One end of a connection.

    Args:
        end: a connected stream socket.
    """

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self._received = bytearray()

    def send(self, message: dict[str, Any]) -> None:
        """Send a message.

        Raises:
            TypeError, ValueError: it holds what JSON cannot carry, or more than `MESSAGE_MAX` bytes.
            OSError: the other end is closed, or takes nothing within the socket's timeout.
        """
        data = json.dumps(message).encode()
        if len(data) > MESSAGE_MAX:
            raise ValueError(f"a message of {len(data)} bytes is longer than {MESSAGE_MAX}")
        self.socket.sendall(len(data).to_bytes(_HEAD_BYTES, "big") + data)

    def receive(self) -> dict[str, Any]:
        """Wait for the next message.

        Raises:
            EOFError: the other end is closed.
            Garbled: this is no message.
        """
        while (message := self.take()) is None:
            self.feed()
        return message

    def feed(self) -> None:
        """Read what has come in, once. Raises EOFError when the other end is closed."""
        try:
            data = self.socket.recv(_CHUNK)
        except ConnectionResetError:
            data = b""
        if not data:
            raise EOFError("the other end is closed")
        self._received += data

    def take(self) -> dict[str, Any] | None:
        """The next message of what was read; None if it is not complete. Raises Garbled."""
        if len(self._received) < _HEAD_BYTES:
            return None
        length = int.from_bytes(self._received[:_HEAD_BYTES], "big")
        if length > MESSAGE_MAX:
            raise Garbled(f"it announces {length} bytes")
        end = _HEAD_BYTES + length
        if len(self._received) < end:
            return None
        data = bytes(self._received[_HEAD_BYTES:end])
        del self._received[:end]
        try:
            message = json.loads(data)
        except (ValueError, RecursionError) as problem:
            raise Garbled(f"{type(problem).__name__}: {problem}") from None
        if not isinstance(message, dict):
            raise Garbled(f"a {type(message).__name__}")
        return message
