"""Named formats of CEL: `format.dns1123Label().validate(x)`, `format.named("uuid")`.

Source: k8s.io/apiserver/pkg/cel/library/format.go: no value means that the text is good.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from simcluster.api import names
from simcluster.api.cel.library import is_url
from simcluster.api.cel.values import Optional, need_text, no_overload
from simcluster.engine import parse_rfc3339

_UUID = re.compile(r"[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_DATE = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")


class Format(NamedTuple):
    """A named format."""

    name: str


def _prefix(check: Callable[[str], tuple[str, ...]]) -> Callable[[str], tuple[str, ...]]:
    def checked(text: str) -> tuple[str, ...]:
        return check(text[:-1] + "a" if text.endswith("-") else text)

    return checked


def _matching(pattern: re.Pattern[str], why: str) -> Callable[[str], tuple[str, ...]]:
    def check(text: str) -> tuple[str, ...]:
        return () if pattern.fullmatch(text) else (why,)

    return check


def _uri(text: str) -> tuple[str, ...]:
    return () if is_url(text) else (f'parse "{text}": invalid URI for request',)


def _date_time(text: str) -> tuple[str, ...]:
    try:
        parse_rfc3339(text)
    except ValueError:
        return ("invalid datetime",)
    return ()


_CHECKS: dict[str, Callable[[str], tuple[str, ...]]] = {
    "byte": _matching(_BASE64, "invalid base64"),
    "date": _matching(_DATE, "invalid date"),
    "datetime": _date_time,
    "dns1035Label": names.dns1035_label,
    "dns1035LabelPrefix": _prefix(names.dns1035_label),
    "dns1123Label": names.dns_label,
    "dns1123LabelPrefix": _prefix(names.dns_label),
    "dns1123Subdomain": names.dns_subdomain,
    "dns1123SubdomainPrefix": _prefix(names.dns_subdomain),
    "labelValue": names.label_value,
    "qualifiedName": names.qualified_name,
    "uri": _uri,
    "uuid": _matching(_UUID, "does not match the UUID format"),
}
#: Names of the functions of the namespace.
NAMES = (*_CHECKS, "named")


def named(name: Any) -> Optional:
    """`format.named("dns1123Label")`."""
    return Optional((Format(name),)) if need_text(name) in _CHECKS else Optional()


def of_name(name: str) -> Format:
    """`format.dns1123Label()`. Raises CelError."""
    return Format(name) if name in _CHECKS else no_overload()


def validate(value: Any, text: Any) -> Optional:
    """`f.validate(text)`: an optional list of objections."""
    if not isinstance(value, Format):
        no_overload()
    found = _CHECKS[value.name](need_text(text))
    return Optional((list(found),)) if found else Optional()
