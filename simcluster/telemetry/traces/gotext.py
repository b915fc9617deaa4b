"""Numbers, durations and JSON as Go reads them, with its words for what it cannot read."""

from __future__ import annotations

import json
import re
from typing import Any

from simcluster.engine.clock import MICROSECOND, MILLISECOND, SECOND

_UNITS = {
    "ns": 1, "us": MICROSECOND, "µs": MICROSECOND, "μs": MICROSECOND, "ms": MILLISECOND, "s": SECOND,
    "m": 60 * SECOND, "h": 3600 * SECOND,
}  # fmt: skip
_PART = re.compile(r"(\d*)(?:\.(\d*))?([^\d.]*)")
_LITERALS = {"n": "null", "t": "true", "f": "false"}
#: Python's words for what is wrong with a JSON text, and Go's.
_AFTER = {
    "Expecting value": "looking for beginning of value",
    "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
    "Expecting ':' delimiter": "after object key",
    "Expecting ',' delimiter": "after object key:value pair",
    "Extra data": "after top-level value",
    "Invalid control character at": "in string literal",
    "Invalid \\escape": "in string escape code",
    "Illegal trailing comma before end of object": "looking for beginning of object key string",
}


def integer(text: str, bits: int = 64) -> int:
    """`strconv.ParseInt(text, 10, bits)`. Raises ValueError.

    >>> integer("-5")
    -5
    """
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise ValueError(f"strconv.ParseInt: parsing {quoted(text)}: invalid syntax")
    digits = text.lstrip("+-").lstrip("0")
    if len(digits) > 19 or not -(1 << bits - 1) <= int(text) < 1 << bits - 1:
        raise ValueError(f"strconv.ParseInt: parsing {quoted(text)}: value out of range")
    return int(text)


def hexadecimal(text: str) -> int:
    """`strconv.ParseUint(text, 16, 64)` of at most 16 characters. Raises ValueError."""
    if not re.fullmatch(r"[0-9a-fA-F]+", text):
        raise ValueError(f"strconv.ParseUint: parsing {quoted(text)}: invalid syntax")
    return int(text, 16)


def duration(text: str) -> int:
    """`time.ParseDuration`, in nanoseconds. Raises ValueError.

    >>> duration("1m0.5s") // MILLISECOND
    60500
    """
    wrong = f"time: invalid duration {quoted(text)}"
    body, sign = (text[1:], -1) if text[:1] == "-" else (text.removeprefix("+"), 1)
    if body == "0":
        return 0
    if not body:
        raise ValueError(wrong)
    total, at = 0, 0
    while at < len(body):
        found = _PART.match(body, at)
        assert found is not None
        whole, fraction, unit = found[1], found[2] or "", found[3]
        if not whole and not fraction:
            raise ValueError(wrong)
        if not unit:
            raise ValueError(f"time: missing unit in duration {quoted(text)}")
        if unit not in _UNITS:
            raise ValueError(f"time: unknown unit {quoted(unit)} in duration {quoted(text)}")
        if len(whole) > 19:
            raise ValueError(wrong)
        total += int(whole or "0") * _UNITS[unit] + int(fraction[:18] or "0") * _UNITS[unit] // 10 ** len(fraction[:18])
        at = found.end()
    if total >= 1 << 63:
        raise ValueError(wrong)
    return sign * total


def texts(text: str) -> dict[str, str]:
    """A JSON object of texts, as `json.Unmarshal` reads it into a `map[string]string`. Raises ValueError."""
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError("exceeded max depth") from None
    except json.JSONDecodeError as error:
        raise ValueError(_invalid(text, error)) from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ValueError(f"json: cannot unmarshal {_kind(found)} into Go value of type map[string]string")
    for value in found.values():
        if value is not None and not isinstance(value, str):
            raise ValueError(f"json: cannot unmarshal {_kind(value)} into Go value of type string")
    return {key: value or "" for key, value in found.items()}


def quoted(text: str) -> str:
    """`strconv.Quote`."""
    return json.dumps(text, ensure_ascii=False)


def _invalid(text: str, error: json.JSONDecodeError) -> str:
    rest = text[error.pos :]
    literal = _LITERALS.get(rest[:1], "") if error.msg == "Expecting value" else ""
    for at, letter in enumerate(literal):
        if at >= len(rest):
            break
        if rest[at] != letter:
            return f"invalid character {_character(rest[at])} in literal {literal} (expecting {_character(letter)})"
    if not rest.strip() or literal or error.msg.startswith("Unterminated"):
        return "unexpected end of JSON input"
    start = len(rest) - len(rest.lstrip())
    where = _AFTER.get(error.msg, "looking for beginning of value")
    return f"invalid character {_character(rest[start])} {where}"


def _character(letter: str) -> str:
    return {"'": r"'\''", '"': "'\"'"}.get(letter, f"'{letter}'")


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"
