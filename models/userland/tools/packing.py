"""gzip's format, without a time stamp, and with a bound on what is unpacked."""

from __future__ import annotations

import gzip
import zlib

from simcluster.models.userland.outcome import ROOM, Exhausted


def packed(data: bytes) -> str:
    """The bytes compressed, as text."""
    return gzip.compress(data, 6, mtime=0).decode("utf-8", "surrogateescape")


def unpacked(data: bytes) -> bytes:
    """Bytes that may be compressed.

    Raises:
        Exhausted: there are more of them than a process can hold.
    """
    if data[:2] != b"\x1f\x8b":
        return data
    reader = zlib.decompressobj(31)
    try:
        found = reader.decompress(data, ROOM + 1)
    except zlib.error:
        return b""
    if len(found) > ROOM:
        raise Exhausted
    return found
