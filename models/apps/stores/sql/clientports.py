"""The ports that clients' connections come from."""

from __future__ import annotations

import zlib


def port_of(name: str, number: int) -> int:
    """The port of a client's connection of a number, among those of net.ipv4.ip_local_port_range.

    >>> port_of("shop/caller/server", 0) != port_of("shop/caller/server", 1)
    True
    """
    return 32_768 + (zlib.crc32(name.encode()) + 7_919 * number) % 28_232
