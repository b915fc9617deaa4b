"""Certificates as far as connections fail over them: who signed whom, for which names, until when.

A certificate made here is a PEM block whose content is its facts; a block made elsewhere is
opaque and trusts only itself. Left out: keys, signatures, key usage, revocation.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import asdict, dataclass

from simcluster.engine import Shared, format_rfc3339
from simcluster.engine.clock import DAY
from simcluster.models.machine.container import Container

_BLOCK = re.compile(r"-----BEGIN CERTIFICATE-----\s*(.*?)\s*-----END CERTIFICATE-----", re.DOTALL)
#: Names under which programs keep what they present, and the authority that signed it.
_CERTIFICATES = ("tls.crt", "cert.pem", "server.crt", "server.pem", "tls.pem")
_AUTHORITIES = ("ca.crt", "ca.pem")
#: `not_before_ns` of a certificate that always was valid.
ALWAYS_NS = -(1 << 62)
_PREFIX = "tls: failed to verify certificate: x509: "


@dataclass(frozen=True)
class Certificate(Shared):
    """One certificate.

    Attributes:
        subject, issuer: common names.
        key, issuer_key: name the keys, so that a renewed authority is another one.
        names: DNS names it is valid for.
        not_after_ns: simulated instant of expiry; not_before_ns: from when on it is valid.
    """

    subject: str
    key: str
    issuer: str
    issuer_key: str
    names: tuple[str, ...] = ()
    not_after_ns: int = 365 * DAY
    not_before_ns: int = ALWAYS_NS

    def pem(self) -> str:
        """The PEM block, as it stands in a Secret (before base64)."""
        facts = {key: value for key, value in asdict(self).items() if value != ALWAYS_NS}
        return pem_of(base64.b64encode(json.dumps(facts, sort_keys=True).encode()).decode())


def pem_of(block: str) -> str:
    """A block with its frame and its line breaks."""
    lines = [block[at : at + 64] for at in range(0, len(block), 64)]
    return "\n".join(("-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----", ""))


def authority(subject: str, key: str) -> Certificate:
    """A self-signed authority."""
    return Certificate(subject, key, subject, key)


def issued(by: Certificate, names: tuple[str, ...], *, not_after_ns: int = 365 * DAY) -> Certificate:
    """A server's certificate for these names."""
    return Certificate(names[0], f"{names[0]} by {by.key}", by.subject, by.key, names, not_after_ns)


def blocks(text: str) -> list[str]:
    """The PEM blocks of a text, without line breaks."""
    return ["".join(block.split()) for block in _BLOCK.findall(text)]


def read(block: str) -> Certificate | None:
    """The facts in a block; None if it was made elsewhere."""
    try:
        facts = json.loads(base64.b64decode(block, validate=True))
        return Certificate(**{**facts, "names": tuple(facts["names"])})
    except (binascii.Error, ValueError, TypeError, KeyError):
        return None


def out_of_date(leaf: Certificate, now_ns: int) -> str:
    """What OpenSSL says of its dates by a clock that shows `now_ns`; "" if it is valid."""
    if now_ns < leaf.not_before_ns:
        return "certificate is not yet valid"
    return "certificate has expired" if now_ns > leaf.not_after_ns else ""


def presented_by(container: Container) -> tuple[list[str], list[str]]:
    """The blocks a server presents, and those of the authority that lies beside; both may be empty."""
    presented: list[str] = []
    beside: list[str] = []
    for mount in container.mounts:
        texts = [(path or mount.path, text) for path, text in mount.files if isinstance(text, str)]
        files = {path.rpartition("/")[2]: text for path, text in texts}
        for name in _CERTIFICATES:
            presented = presented or blocks(files.get(name, ""))
        if any(name in files for name in _CERTIFICATES):
            for name in _AUTHORITIES:
                beside = beside or blocks(files.get(name, ""))
    return presented, beside


def objection(bundle: str, presented: list[str], beside: list[str], host: str, now_ns: int) -> str:
    """Why a client that trusts a base64 bundle refuses the server, in Go's words; empty if it does not."""
    trusted = blocks(_decoded(bundle))
    leaf = read(presented[0]) if presented else None
    if leaf is None:
        known = [*presented, *beside]
        fine = any(block in known for block in trusted) if known else bool(trusted)
        return "" if fine else f"{_PREFIX}certificate signed by unknown authority"
    if now_ns > leaf.not_after_ns:
        now, then = format_rfc3339(now_ns), format_rfc3339(leaf.not_after_ns)
        return f"{_PREFIX}certificate has expired or is not yet valid: current time {now} is after {then}"
    if host not in leaf.names:
        if not leaf.names:
            return f"{_PREFIX}certificate relies on legacy Common Name field, use SANs instead"
        return f"{_PREFIX}certificate is valid for {', '.join(leaf.names)}, not {host}"
    return _untrusted(leaf, presented[0], trusted)


def _untrusted(leaf: Certificate, block: str, trusted: list[str]) -> str:
    candidate = ""
    for other in trusted:
        known = read(other)
        if other == block or (known is not None and (known.subject, known.key) == (leaf.issuer, leaf.issuer_key)):
            return ""
        if known is not None and known.subject == leaf.issuer:
            candidate = known.subject
    why = f"{_PREFIX}certificate signed by unknown authority"
    if candidate:
        why += (
            ' (possibly because of "crypto/rsa: verification error" while trying to verify candidate authority '
            f'certificate "{candidate}")'
        )
    return why


def _decoded(bundle: str) -> str:
    try:
        return base64.b64decode(bundle).decode(errors="replace")
    except binascii.Error:
        return ""
