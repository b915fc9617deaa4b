"""`format` and `pattern` of OpenAPI schemas, as kube-openapi checks them.

Source: k8s.io/kube-openapi/pkg/validation/strfmt. Formats it does not know are not checked.
"""

from __future__ import annotations

import binascii
import functools
import re
from base64 import b64decode

from simcluster.engine import parse_rfc3339

_PATTERNS = {
    "date": r"\d{4}-\d{2}-\d{2}",
    "email": r"[^@\s]+@[^@\s]+\.[^@\s]+|[^@\s]+@[^@\s]+",
    "hostname": r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*",
    "ipv4": r"((25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(25[0-5]|2[0-4]\d|1?\d?\d)",
    "ipv6": r"[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*",
    "cidr": r"[0-9A-Fa-f:.]+/\d{1,3}",
    "mac": r"([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}",
    "uri": r"([A-Za-z][A-Za-z0-9+.-]*:\S+|/\S*)",
    "uuid": r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}",
    "duration": r"[-+]?(\d+(\.\d*)?\s*(ns|us|µs|ms|s|m|h|d|w|[a-z]+)\s*)+",
}
#: POSIX classes, which Go's expressions know and Python's do not.
_CLASSES = {
    "[:alpha:]": "A-Za-z", "[:digit:]": "0-9", "[:alnum:]": "A-Za-z0-9", "[:lower:]": "a-z", "[:upper:]": "A-Z",
    "[:space:]": r"\s", "[:xdigit:]": "0-9A-Fa-f", "[:word:]": r"\w",
}  # fmt: skip


def has_format(value: str, name: str) -> bool:
    """Whether a text has a format; true for formats that are not checked."""
    if name in ("date-time", "datetime"):
        try:
            parse_rfc3339(value)
        except ValueError:
            return False
        return True
    if name == "byte":
        try:
            b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            return False
        return True
    pattern = _PATTERNS.get(name)
    return pattern is None or re.fullmatch(pattern, value) is not None


@functools.lru_cache(maxsize=512)
def expression(pattern: str) -> re.Pattern[str] | None:
    """A Go regular expression for Python; None if it cannot be translated."""
    text = pattern
    for posix, plain in _CLASSES.items():
        text = text.replace(posix, plain)
    text = text.replace(r"\z", r"\Z").replace(r"\pL", r"[^\W\d_]").replace(r"\p{L}", r"[^\W\d_]")
    try:
        return re.compile(text, re.ASCII)
    except re.error:
        return None


def matches(value: str, pattern: str) -> bool:
    """Whether the expression is found in the text."""
    compiled = expression(pattern)
    return compiled is None or compiled.search(value) is not None
