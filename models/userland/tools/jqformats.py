"""`@csv`, `@tsv`, `@sh`, `@base64` and jq's other formats."""

from __future__ import annotations

import base64
from typing import Any

from simcluster.models.userland.escapes import raw
from simcluster.models.userland.tools.jqvalues import JqError, described, kind_of, number_text, written

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")
_HTML = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "'": "&#39;", '"': "&quot;"}


def formatted(form: str, value: Any) -> str:
    """A value in a format. Raises JqError."""
    text = value if isinstance(value, str) else written(value)
    if form in ("@text", "@json"):
        return text if form == "@text" else written(value)
    if form in ("@csv", "@tsv"):
        if not isinstance(value, list):
            raise JqError(f"{described(value)} cannot be {form[1:]}-formatted, only array")
        return ("," if form == "@csv" else "\t").join(_cell(form, each) for each in value)
    if form == "@html":
        return "".join(_HTML.get(char, char) for char in text)
    if form == "@uri":
        return "".join(chr(byte) if chr(byte) in _PLAIN else f"%{byte:02X}" for byte in raw(text))
    if form == "@sh":
        return " ".join(_word(each) for each in (value if isinstance(value, list) else [value]))
    if form == "@base64":
        return base64.b64encode(raw(text)).decode()
    if form == "@base32":
        return base64.b32encode(raw(text)).decode()
    if form in ("@base64d", "@base32d"):
        try:
            data = base64.b64decode(text + "=" * (-len(text) % 4)) if form == "@base64d" else base64.b32decode(text)
        except ValueError:
            raise JqError(f"{described(value)} is not valid base64 data") from None
        return data.decode("utf-8", "replace")
    raise JqError(f"{form[1:]} is not a valid format")


def _cell(form: str, value: Any) -> str:
    kind = kind_of(value)
    if kind == "number":
        return number_text(value)
    if kind in ("null", "boolean"):
        return "" if value is None else written(value)
    if kind == "string":
        if form == "@csv":
            return '"' + str(value).replace('"', '""') + '"'
        return str(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
    raise JqError(f"{described(value)} is not valid in a {form[1:]} row")


def _word(value: Any) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "'\\''") + "'"
    if isinstance(value, (list, dict)):
        raise JqError(f"{described(value)} can not be escaped for shell")
    return written(value)
