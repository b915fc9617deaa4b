"""What a signer reads in a certificate request: the names of its subject.

PKCS #10 (RFC 2986) in DER, as far as the subject; nothing is verified.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import NamedTuple

_COMMON_NAME, _ORGANIZATION = bytes.fromhex("550403"), bytes.fromhex("55040a")
_HEAD, _TAIL = "-----BEGIN CERTIFICATE REQUEST-----", "-----END CERTIFICATE REQUEST-----"


class Subject(NamedTuple):
    """Whom a certificate shall be for."""

    common_name: str = ""
    organizations: tuple[str, ...] = ()


def subject_of(request: str) -> Subject:
    """The subject of a request as `spec.request` holds it. Raises ValueError with Go's words if it is none."""
    try:
        text = base64.b64decode(request, validate=True).decode()
        body = text.partition(_HEAD)[2].partition(_TAIL)[0]
        data = base64.b64decode("".join(body.split()), validate=True)
    except (binascii.Error, UnicodeDecodeError):
        raise ValueError("PEM block type must be CERTIFICATE REQUEST") from None
    if not data:
        raise ValueError("PEM block type must be CERTIFICATE REQUEST")
    try:
        return _read(data)
    except (IndexError, StopIteration):
        raise ValueError("asn1: structure error: tags don't match") from None


def _read(data: bytes) -> Subject:
    (_, outer), *_ = _parts(data)
    (_, info), *_ = _parts(outer)
    fields = list(_parts(info))  # version, subject, key, attributes
    name, organizations = "", []
    for _, names in _parts(fields[1][1]):
        for _, pair in _parts(names):
            (_, kind), (_, value), *_ = _parts(pair)
            if kind == _COMMON_NAME:
                name = value.decode(errors="replace")
            elif kind == _ORGANIZATION:
                organizations.append(value.decode(errors="replace"))
    return Subject(name, tuple(organizations))


def _parts(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The elements of a constructed value: tag and content."""
    at = 0
    while at < len(data):
        tag, length, at = data[at], data[at + 1], at + 2
        if length & 0x80:
            count = length & 0x7F
            length, at = int.from_bytes(data[at : at + count], "big"), at + count
        if at + length > len(data):
            raise IndexError("an element is longer than what holds it")
        yield tag, data[at : at + length]
        at += length
