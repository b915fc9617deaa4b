"""`kubectl describe csr`: the request for a certificate, read out of its DER.

Of PKCS #10 (RFC 2986) only what the page shows is read: the subject and the alternative
names. Left out: checking the signature.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

from simcluster.api.objects import Json
from simcluster.engine import SECOND, format_age
from simcluster.surface.kubectl.describe.page import Page, events_of, rfc1123
from simcluster.surface.kubectl.errors import plain

_PEM_HEAD, _PEM_END = "-----BEGIN CERTIFICATE REQUEST-----", "-----END CERTIFICATE REQUEST-----"
#: DER tags (X.690).
_SEQUENCE, _SET, _OBJECT_ID, _ATTRIBUTES = 0x30, 0x31, 0x06, 0xA0
#: Object identifiers of a name's parts (RFC 5280), encoded, and the page's titles in its order.
_PARTS = (
    (b"\x55\x04\x0a", "Organization"),
    (b"\x55\x04\x0b", "Organizational Unit"),
    (b"\x55\x04\x06", "Country"),
    (b"\x55\x04\x07", "Locality"),
    (b"\x55\x04\x08", "Province"),
    (b"\x55\x04\x09", "StreetAddress"),
    (b"\x55\x04\x11", "PostalCode"),
)
_COMMON_NAME, _SERIAL_NUMBER = b"\x55\x04\x03", b"\x55\x04\x05"
_ALTERNATIVE_NAMES = b"\x55\x1d\x11"
#: Kinds of alternative names by their context tags, in the page's order.
_ALTERNATIVES = ((0x82, "DNS Names"), (0x81, "Email Addresses"), (0x86, "URIs"), (0x87, "IP Addresses"))

_Part = tuple[int, bytes]


def signing_request(page: Page, obj: Json) -> None:
    """A CertificateSigningRequest and who asks for what. Raises KubectlError if it cannot be read."""
    spec, metadata = obj.get("spec") or {}, obj["metadata"]
    try:
        subject, alternatives = _read(spec.get("request") or "")
    except (IndexError, ValueError) as error:
        raise plain(f"Error parsing CSR: {error}") from None
    page.head(obj, namespace=False)
    page.labels("Labels", metadata.get("labels"))
    annotations = metadata.get("annotations") or {}
    page.pair("Annotations", ",".join(f"{key}={annotations[key]}" for key in sorted(annotations)) or "<none>")
    page.pair("CreationTimestamp", rfc1123(metadata.get("creationTimestamp")))
    page.pair("Requesting User", spec.get("username", ""))
    if spec.get("signerName"):
        page.pair("Signer", spec["signerName"])
    if spec.get("expirationSeconds") is not None:
        page.pair("Requested Duration", format_age(spec["expirationSeconds"] * SECOND))
    page.pair("Status", _status(obj.get("status") or {}))
    page.line("Subject:")
    for title, key in (("Common Name", _COMMON_NAME), ("Serial Number", _SERIAL_NUMBER)):
        page.line(f"\t{title}:\t{(subject.get(key) or [''])[-1]}")
    for key, title in _PARTS:
        _listed(page, title, subject.get(key) or ())
    if any(alternatives.values()):
        page.line("Subject Alternative Names:")
        for tag, title in _ALTERNATIVES:
            _listed(page, title, alternatives[tag])
    page.events(events_of(page.invocation, obj))


def _listed(page: Page, title: str, values: Sequence[str]) -> None:
    for number, value in enumerate(values):
        page.line(f"\t{'' if number else f'{title}:'}\t{value}")


def _status(status: Json) -> str:
    """`Approved,Issued` and so on."""
    kinds = [condition["type"] for condition in status.get("conditions") or ()]
    text = "Denied" if "Denied" in kinds else "Approved" if "Approved" in kinds else "Pending"
    if "Failed" in kinds:
        text += ",Failed"
    return f"{text},Issued" if status.get("certificate") else text


def _read(request: str) -> tuple[dict[bytes, list[str]], dict[int, list[str]]]:
    """Subject and alternative names of a base64 PEM. Raises ValueError or IndexError if it is none."""
    try:
        pem = base64.b64decode(request).decode("ascii", "replace")
        start, end = pem.find(_PEM_HEAD), pem.find(_PEM_END)
        if start < 0 or end < 0:
            raise ValueError("PEM block type must be CERTIFICATE REQUEST")
        der = base64.b64decode("".join(pem[start + len(_PEM_HEAD) : end].split()))
    except binascii.Error:
        raise ValueError("PEM block type must be CERTIFICATE REQUEST") from None
    info = _parts(_only(_only(der)))
    subject: dict[bytes, list[str]] = {}
    for _, names in _parts(info[1][1]):
        for _, pair in _parts(names):
            key, value = _parts(pair)
            subject.setdefault(key[1], []).append(value[1].decode("utf-8", "replace"))
    alternatives: dict[int, list[str]] = {tag: [] for tag, _ in _ALTERNATIVES}
    for tag, attributes in info[3:]:
        if tag == _ATTRIBUTES:
            _collect(attributes, alternatives)
    return subject, alternatives


def _collect(der: bytes, alternatives: dict[int, list[str]]) -> None:
    """Look for the extension of alternative names wherever it is nested."""
    pieces = _parts(der)
    for tag, value in pieces:
        if tag == _OBJECT_ID and value == _ALTERNATIVE_NAMES:
            for kind, name in _parts(_only(pieces[-1][1])):
                if kind in alternatives:
                    alternatives[kind].append(_address(name) if kind == 0x87 else name.decode("ascii", "replace"))
            return
        if tag in (_SEQUENCE, _SET):
            _collect(value, alternatives)


def _address(octets: bytes) -> str:
    if len(octets) == 4:
        return ".".join(str(octet) for octet in octets)
    groups = [f"{octets[i] << 8 | octets[i + 1]:x}" for i in range(0, len(octets), 2)]
    return ":".join(groups)


def _only(der: bytes) -> bytes:
    return _parts(der)[0][1]


def _parts(der: bytes) -> list[_Part]:
    """The tag-length-value pieces of a DER text. Raises ValueError."""
    found: list[_Part] = []
    at = 0
    while at < len(der):
        tag, size, at = der[at], der[at + 1], at + 2
        if size & 0x80:
            count = size & 0x7F
            size = int.from_bytes(der[at : at + count], "big")
            at += count
        if at + size > len(der):
            raise ValueError("asn1: syntax error: data truncated")
        found.append((tag, der[at : at + size]))
        at += size
    return found
