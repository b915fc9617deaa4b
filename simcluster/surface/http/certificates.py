"""The server's own certificate authority, and what it signs: made when a server starts, kept nowhere else."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

#: As long as kubeadm's certificates live.
_LIFE = datetime.timedelta(days=365)
_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)


class Pair(NamedTuple):
    """A certificate and its private key, PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """A certificate authority.

    Attributes:
        certificate: its own, PEM.
    """

    def __init__(self, now: datetime.datetime) -> None:
        self._now = now
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubernetes")])
        usage = x509.KeyUsage(True, False, True, False, False, True, False, False, False)
        built = self._builder(self._name, self._key).add_extension(x509.BasicConstraints(True, None), critical=True)
        self._own = built.add_extension(usage, critical=True).sign(self._key, hashes.SHA256())
        self.certificate = self._own.public_bytes(serialization.Encoding.PEM)

    def server(self, address: str) -> Pair:
        """What a server on an address of this machine shows."""
        alternatives = [x509.DNSName(name) for name in _NAMES]
        addresses = [x509.IPAddress(ipaddress.ip_address(address))]
        names = x509.SubjectAlternativeName([*alternatives, *addresses])
        return self._pair("kube-apiserver", (), ExtendedKeyUsageOID.SERVER_AUTH, names)

    def client(self, user: str, groups: tuple[str, ...]) -> Pair:
        """What a user shows: the common name is the user, organizations are groups."""
        return self._pair(user, groups, ExtendedKeyUsageOID.CLIENT_AUTH, None)

    def _pair(
        self,
        name: str,
        organizations: tuple[str, ...],
        purpose: x509.ObjectIdentifier,
        names: x509.SubjectAlternativeName | None,
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, text) for text in organizations]
        subject = x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = self._builder(subject, key).add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        signed = builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return Pair(signed, private)

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - datetime.timedelta(hours=1))
            .not_valid_after(self._now + _LIFE)
            .add_extension(issuer, critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )


def server_context(pair: Pair, authority: bytes, folder: Path) -> ssl.SSLContext:
    """TLS of a server which accepts, and does not demand, client certificates of an authority.

    Args:
        folder: where files are written that only this user can read; `ssl` takes its key from a file.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    place = folder / "server.pem"
    place.touch(0o600)
    place.write_bytes(pair.key + pair.certificate)
    context.load_cert_chain(place)
    context.load_verify_locations(cadata=authority.decode())
    context.verify_mode = ssl.CERT_OPTIONAL
    context.set_alpn_protocols(["http/1.1"])
    return context
