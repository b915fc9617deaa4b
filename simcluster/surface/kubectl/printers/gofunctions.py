"""Functions of Go's text/template, and how Go prints values."""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
from typing import Any
from urllib.parse import quote_plus

NAMES = (
    *("and", "base64decode", "eq", "exists", "ge", "gt", "html", "index", "js", "le", "len"),
    *("lt", "ne", "not", "or", "print", "printf", "println", "slice", "urlquery"),
)

#: Widths and precisions beyond this are no numbers to Go's fmt (fmt/print.go, `tooLarge`).
_WIDEST = 1_000_000
_VERB = re.compile(r"%([-+# 0]*)(\d*)(?:\.(\d+))?([a-zA-Z%])")


class CallError(Exception):
    """A function refuses its arguments."""


def truth(value: Any) -> bool:
    """Whether a value counts as true: neither zero nor empty nor nothing."""
    return bool(value)


def type_name(value: Any) -> str:
    """The Go type of a value out of an interface{}."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int"
    if isinstance(value, float):
        return "float64"
    if isinstance(value, str):
        return "string"
    return "[]interface {}" if isinstance(value, list) else "map[string]interface {}"


def go_printed(value: Any) -> str:
    """What an action prints."""
    return "<no value>" if value is None else shown(value)


def shown(value: Any) -> str:
    """A value as `%v`."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{shown(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(shown(item) for item in value) + "]"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _float(value) if isinstance(value, float) else str(value)


def _float(value: float) -> str:
    """Go's shortest form, with an exponent below 1e-04 and from 1e+06 on (`%v` of a float64)."""
    text = repr(value)
    digits, _, exponent = text.partition("e")
    whole, _, fraction = digits.partition(".")
    negative = whole.startswith("-")
    significant = (whole.lstrip("-") + (fraction if fraction != "0" else "")).lstrip("0")
    if not significant:
        return "-0" if negative else "0"
    if exponent:
        power = int(exponent) + len(whole.lstrip("-")) - 1
    elif whole.lstrip("-") != "0":
        power = len(whole.lstrip("-")) - 1
    else:
        power = -(len(fraction) - len(fraction.lstrip("0")) + 1)
    if -4 <= power < 6:
        return text.removesuffix(".0")
    mantissa = significant.rstrip("0") or "0"
    mantissa = mantissa[0] + ("." + mantissa[1:] if len(mantissa) > 1 else "")
    return f"{'-' if negative else ''}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


def call(name: str, arguments: list[Any]) -> Any:
    """Call a function (but `and` and `or`, which do not look at everything). Raises CallError."""
    if name in ("eq", "ne", "lt", "le", "gt", "ge"):
        return _compared(name, arguments)
    if name == "index":
        return _indexed(arguments)
    if name == "slice":
        return _sliced(arguments)
    if name == "exists":
        return _exists(arguments)
    if name == "len":
        return _length(_one(name, arguments))
    if name == "not":
        return not truth(_one(name, arguments))
    if name == "print":
        return printed(arguments)
    if name == "println":
        return " ".join(shown(value) for value in arguments) + "\n"
    if name == "printf":
        return formatted(str(_at_least_one(name, arguments)), arguments[1:])
    if name == "base64decode":
        return _decoded(str(_one(name, arguments)))
    return _escaped(name, printed(arguments))


def _one(name: str, arguments: list[Any]) -> Any:
    if len(arguments) != 1:
        raise CallError(f"wrong number of args for {name}: want 1 got {len(arguments)}")
    return arguments[0]


def _at_least_one(name: str, arguments: list[Any]) -> Any:
    if not arguments:
        raise CallError(f"wrong number of args for {name}: want at least 1 got 0")
    return arguments[0]


def _escaped(name: str, text: str) -> str:
    if name == "html":
        return html.escape(text).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")
    return json.dumps(text)[1:-1] if name == "js" else quote_plus(text)


def printed(values: list[Any]) -> str:
    """As fmt.Sprint: spaces between operands when neither is a string."""
    pieces: list[str] = []
    for i, value in enumerate(values):
        if i and not isinstance(value, str) and not isinstance(values[i - 1], str):
            pieces.append(" ")
        pieces.append(shown(value))
    return "".join(pieces)


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode(errors="replace")
    except binascii.Error as error:
        raise CallError(f"error calling base64decode: base64 decode failed: {error}") from None


def _length(value: Any) -> int:
    if isinstance(value, (dict, list)):
        return len(value)
    if isinstance(value, str):
        return len(value.encode())
    if value is None:
        raise CallError("error calling len: len of nil pointer")
    raise CallError(f"error calling len: len of type {type_name(value)}")


def _indexed(arguments: list[Any]) -> Any:
    value = _at_least_one("index", arguments)
    for key in arguments[1:]:
        if value is None:
            raise CallError("error calling index: index of untyped nil")
        if isinstance(value, dict):
            if not isinstance(key, str):
                raise CallError(f"error calling index: value has type {type_name(key)}; should be string")
            value = value.get(key)
            continue
        if not isinstance(value, (list, str)):
            raise CallError(f"error calling index: can't index item of type {type_name(value)}")
        if not isinstance(key, int):
            raise CallError(f"error calling index: cannot index slice/array with type {type_name(key)}")
        if not 0 <= key < len(value):
            raise CallError(f"error calling index: reflect: slice index out of range: {key}")
        value = value.encode()[key] if isinstance(value, str) else value[key]
    return value


def _sliced(arguments: list[Any]) -> Any:
    value = _at_least_one("slice", arguments)
    if not isinstance(value, (list, str)):
        raise CallError(f"error calling slice: can't slice item of type {type_name(value)}")
    start = arguments[1] if len(arguments) > 1 else 0
    end = arguments[2] if len(arguments) > 2 else len(value)
    if not isinstance(start, int) or not isinstance(end, int) or not 0 <= start <= end <= len(value):
        raise CallError(f"error calling slice: index out of range: {shown(end)}")
    return value[start:end]


def _exists(arguments: list[Any]) -> bool:
    try:
        return _indexed(arguments) is not None
    except CallError:
        return False


def _compared(name: str, arguments: list[Any]) -> bool:
    if len(arguments) < 2:
        raise CallError(f"error calling {name}: missing argument for comparison")
    first, rest = arguments[0], arguments[1:]
    if name == "eq":
        answers = [_equal(name, first, other) for other in rest]  # all are looked at, for their types
        return any(answers)
    second = rest[0]
    if name == "ne":
        return not _equal(name, first, second)
    if type_name(first) != type_name(second) or isinstance(first, (bool, dict, list)) or first is None:
        raise CallError(f"error calling {name}: incompatible types for comparison")
    less, same = bool(first < second), bool(first == second)
    return {"lt": less, "le": less or same, "gt": not less and not same, "ge": not less}[name]


def _equal(name: str, first: Any, second: Any) -> bool:
    if first is None or second is None:
        return first is second
    if isinstance(first, (dict, list)) or isinstance(second, (dict, list)):
        raise CallError(f"error calling {name}: non-comparable type {shown(first)}: {type_name(first)}")
    if type_name(first) != type_name(second):
        raise CallError(f"error calling {name}: incompatible types for comparison")
    return bool(first == second)


def formatted(text: str, values: list[Any]) -> str:
    """As fmt.Sprintf, for the verbs s, v, d, q, t, f, g, e, x and T."""
    position = 0
    pieces: list[str] = []
    used = 0
    for match in _VERB.finditer(text):
        pieces.append(text[position : match.start()])
        position = match.end()
        if match[4] == "%":
            pieces.append("%")
        elif used >= len(values):
            pieces.append(f"%!{match[4]}(MISSING)")
        else:
            pieces.append(_verb(match, values[used]))
            used += 1
    pieces.append(text[position:])
    if used < len(values):
        extra = ", ".join(f"{type_name(value)}={shown(value)}" for value in values[used:])
        pieces.append(f"%!(EXTRA {extra})")
    return "".join(pieces)


def _verb(match: re.Match[str], value: Any) -> str:
    flags, width, precision, verb = match.groups()
    if precision and int(precision[:9]) > _WIDEST:
        return "%!(BADPREC)" + _formatted_value(verb, None, value)
    body = _formatted_value(verb, precision, value)
    if "+" in flags and isinstance(value, (int, float)) and not body.startswith("-"):
        body = "+" + body
    if not width:
        return body
    if int(width[:9]) > _WIDEST:
        return "%!(BADWIDTH)" + body
    if "-" in flags:
        return body.ljust(int(width))
    return body.zfill(int(width)) if "0" in flags and isinstance(value, (int, float)) else body.rjust(int(width))


def _formatted_value(verb: str, precision: str | None, value: Any) -> str:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if verb == "T":
        return "<nil>" if value is None else type_name(value)
    if verb == "v":
        return shown(value)
    if verb == "s" and not is_number and not isinstance(value, bool):
        text = "%!s(<nil>)" if value is None else shown(value)
        return text[: int(precision)] if precision else text
    if verb == "q" and isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if verb == "d" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if verb == "t" and isinstance(value, bool):
        return shown(value)
    if verb in "fFeg" and isinstance(value, float):
        if verb == "g" and precision is None:
            return shown(value)
        return format(value, f".{precision or 6}{verb}")
    if verb in "xX" and isinstance(value, (int, str)):
        text = value.encode().hex() if isinstance(value, str) else format(value, "x")
        return text.upper() if verb == "X" else text
    return f"%!{verb}({'<nil>' if value is None else f'{type_name(value)}={shown(value)}'})"
