"""SPDY/3.1 frames, as far as port-forwards use them: streams in pairs, inside of WebSocket messages.

Source: draft-mbelshe-httpbis-spdy-00 (version 3), sections 2.2 to 2.6; the dictionary of its section 2.6.10.1 lies in
`spdy-dictionary.txt`. Left out: flow control, priorities, settings, pushed streams.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from importlib import resources
from typing import NamedTuple

SYN_STREAM, SYN_REPLY, RST_STREAM, PING, GOAWAY = 1, 2, 3, 6, 7
FIN = 1
_VERSION = 3
_DICTIONARY = resources.files("simcluster.surface.http").joinpath("spdy-dictionary.txt").read_bytes()
#: A frame longer than this is an attack (the length field has 24 bits).
_LONGEST = 1 << 20
_HEADERS_MOST = 64 * 1024


class Frame(NamedTuple):
    """One frame.

    Attributes:
        kind: of a control frame; 0 of data.
        stream: its stream, or the number of a ping.
        fin: whether the sender sends nothing more on the stream.
        headers: of SYN_STREAM.
        data: of a data frame.
    """

    kind: int
    stream: int
    fin: bool = False
    headers: dict[str, str] | None = None
    data: bytes = b""


class Session:
    """One end of a connection: bytes in, frames out, and frames as bytes."""

    def __init__(self) -> None:
        self._left = b""
        self._inflater = zlib.decompressobj(zdict=_DICTIONARY)
        self._deflater = zlib.compressobj(zdict=_DICTIONARY)

    def received(self, data: bytes) -> Iterator[Frame]:
        """The frames that are complete now. Raises ValueError: this is no SPDY."""
        self._left += data
        while len(self._left) >= 8:
            first, second = struct.unpack(">II", self._left[:8])
            length, flags = second & 0xFFFFFF, second >> 24
            if length > _LONGEST:
                raise ValueError("a frame is too long")
            if len(self._left) < 8 + length:
                return
            body, self._left = self._left[8 : 8 + length], self._left[8 + length :]
            if first >> 31:
                if (first >> 16) & 0x7FFF != _VERSION:
                    raise ValueError("no frame of SPDY/3")
                yield self._control(first & 0xFFFF, flags, body)
            else:
                yield Frame(0, first, bool(flags & FIN), data=body)

    def _control(self, kind: int, flags: int, body: bytes) -> Frame:
        stream = struct.unpack(">I", body[:4])[0] & 0x7FFFFFFF if len(body) >= 4 else 0
        headers = self._headers(body[10:]) if kind == SYN_STREAM else None
        return Frame(kind, stream, bool(flags & FIN), headers)

    def _headers(self, packed: bytes) -> dict[str, str]:
        try:
            text = self._inflater.decompress(packed, _HEADERS_MOST)
            words, at = [], 4
            for _ in range(2 * struct.unpack(">I", text[:4])[0]):
                size = struct.unpack(">I", text[at : at + 4])[0]
                words.append(text[at + 4 : at + 4 + size].decode("latin-1"))
                at += 4 + size
        except (zlib.error, struct.error) as error:
            raise ValueError(f"garbled headers: {error}") from None
        return dict(zip((word.lower() for word in words[::2]), words[1::2], strict=True))

    def reply(self, stream: int) -> bytes:
        """SYN_REPLY without headers: the stream is accepted."""
        packed = self._deflater.compress(struct.pack(">I", 0)) + self._deflater.flush(zlib.Z_SYNC_FLUSH)
        return _control(SYN_REPLY, struct.pack(">I", stream) + packed)

    def data(self, stream: int, data: bytes, *, fin: bool = False) -> bytes:
        """Data frames."""
        parts = [data[at : at + 32_768] for at in range(0, len(data), 32_768)] or [b""]
        made = []
        for number, part in enumerate(parts, start=1):
            flags = FIN if fin and number == len(parts) else 0
            made.append(struct.pack(">II", stream, flags << 24 | len(part)) + part)
        return b"".join(made)

    def ping(self, number: int) -> bytes:
        """The answer to a ping."""
        return _control(PING, struct.pack(">I", number))


def _control(kind: int, body: bytes) -> bytes:
    return struct.pack(">HHI", 0x8000 | _VERSION, kind, len(body)) + body
