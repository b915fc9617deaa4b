"""The key by which the cluster signs tokens: RSA with SHA-256 (`RS256` of RFC 7518), by integers.

Every simulated cluster has the same key. It protects nothing: its primes are the first ones
above two numbers that anybody can compute again, and they stand below.
"""

from __future__ import annotations

import functools
import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error

_P = int(
    "c0bcb153658c8c11ff18fa324233d691c059dd062e0e6058ed84ccc3f87fb91ffde015db3c8ace97a5195e5120422376"
    "e12e02a75569132e5b2be7667f2cfb6a236fd5975137333ebac5493e29390b2988042043e5b84bcf1c5c67be51c40fab"
    "b9edf9ed44432253df18b76b11f1a388b1652ced2b7de6385e7b4915a939725f",
    16,
)
_Q = int(
    "d6684349b864e56b30aa16140b0b7a35474b23b6b23cb53c84b698f57f66017f764b0efdcf4588f59c024e4bf610ee50"
    "c1ca7f76f36142eb7feb4897ccc1cd2728e3b889d556f2c9d8a861fd88a47e818139335b1b2aa3bc67399d9d70f92303"
    "cad43308744ba854f19028fb33c07860b26bd415b511e0b9b75f93c914720d35",
    16,
)
_N = _P * _Q
_E = 65537
_D_P, _D_Q, _Q_INVERSE = pow(_E, -1, _P - 1), pow(_E, -1, _Q - 1), pow(_Q, -1, _P)
_BYTES = 256
#: What stands before a SHA-256 digest in a signature (RFC 8017, section 9.2).
_DIGEST_INFO = bytes.fromhex("3031300d060960864801650304020105000420")
#: DER of `rsaEncryption` without parameters (RFC 8017, appendix C).
_ALGORITHM = bytes.fromhex("300d06092a864886f70d0101010500")


def encoded(data: bytes) -> str:
    """Base64 for URLs, without padding."""
    return urlsafe_b64encode(data).decode().rstrip("=")


def decoded(text: str) -> bytes:
    """Bytes of `encoded`. Raises ValueError."""
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except Base64Error as error:
        raise ValueError(str(error)) from None


def sign(text: str) -> str:
    """The signature of a text, encoded."""
    message = _padded(text)
    by_p, by_q = pow(message % _P, _D_P, _P), pow(message % _Q, _D_Q, _Q)
    signature = by_q + _Q * ((by_p - by_q) * _Q_INVERSE % _P)
    return encoded(signature.to_bytes(_BYTES, "big"))


def is_signed(text: str, signature: str) -> bool:
    """Whether the signature is this cluster's."""
    try:
        number = int.from_bytes(decoded(signature), "big")
    except ValueError:
        return False
    return number < _N and pow(number, _E, _N) == _padded(text)


def _padded(text: str) -> int:
    tail = _DIGEST_INFO + hashlib.sha256(text.encode()).digest()
    return int.from_bytes(b"\x00\x01" + b"\xff" * (_BYTES - 3 - len(tail)) + b"\x00" + tail, "big")


@functools.cache
def key_id() -> str:
    """The key's name: a digest of its public part. Source: pkg/serviceaccount/jwt.go, keyIDFromPublicKey."""
    public = _der(0x30, _der_integer(_N) + _der_integer(_E))
    info = _der(0x30, _ALGORITHM + _der(0x03, b"\x00" + public))
    return encoded(hashlib.sha256(info).digest())


def _der(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 128:
        return bytes([tag, size]) + content
    digits = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(digits)]) + digits + content


def _der_integer(value: int) -> bytes:
    return _der(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def public_keys() -> dict[str, object]:
    """The answer to `/openid/v1/jwks`."""
    modulus = encoded(_N.to_bytes(_BYTES, "big"))
    key = {"use": "sig", "kty": "RSA", "kid": key_id(), "alg": "RS256", "n": modulus, "e": encoded(b"\x01\x00\x01")}
    return {"keys": [key]}
