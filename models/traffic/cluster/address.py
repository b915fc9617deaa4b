"""Addresses as people write them into environment variables."""

from __future__ import annotations

import re

_URL = re.compile(
    r"(?:([a-z][a-z0-9+.-]*)://)?(?:[^/@\s]*@)?([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?::(\d{1,5}))?(?:/\S*)?"
)
_SCHEME_PORTS = {
    "http": 80,
    "https": 443,
    "redis": 6379,
    "mongodb": 27017,
    "postgres": 5432,
    "postgresql": 5432,
    "mysql": 3306,
    "amqp": 5672,
    "nats": 4222,
}


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of `host`, `host:port` or `scheme://user@host:port/path`; port 0 if it says none.

    >>> parse_address("cartservice:7070"), parse_address("http://web/x"), parse_address("redis-cart")
    (('cartservice', 7070), ('web', 80), ('redis-cart', 0))
    >>> parse_address("two words"), parse_address("")
    (('', 0), ('', 0))
    """
    match = _URL.fullmatch(text.strip())
    if match is None:
        return "", 0
    scheme, host, port = match[1], match[2], match[3]
    return host, int(port) if port else _SCHEME_PORTS.get(scheme or "", 0)
