"""JSON that reads back as it was written: what may be submitted to a session, and so stand in its log.

Python's `json` writes what no other reader takes (NaN), loses what it writes (tuples, subclasses, keys that are no
texts), and fails late on the rest (cycles, lone surrogates). Here all of that is refused, and told where it stands.
"""

from __future__ import annotations

import json
import math
from typing import Any

#: Values may be nested so deep. Python's own reader gives up at about a thousand.
DEPTH_MAX = 100
#: Integers that every reader of JSON in a 64-bit language keeps.
_INTEGER_MAX = 2**63


def check_text(text: object, where: str) -> None:
    """Refuse what is no text that UTF-8 can carry.

    Raises:
        ValueError: no `str`, a subclass of it, or a lone surrogate in it.
    """
    if type(text) is not str:
        raise ValueError(f"{where} is {_named(text)}, not a plain str")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{where} holds a lone surrogate at character {error.start}: it is no Unicode text") from None


def dumps(value: object, where: str = "the value") -> str:
    """The JSON text of a value on one line; `json.loads` gives an equal value of the same types.

    Args:
        where: how errors name the value.

    Raises:
        ValueError: anything but dict, list, str, int, float, bool and None of exactly these types; NaN or an infinity;
            an integer over 64 bits; a key that is no str; a cycle, or nesting deeper than `DEPTH_MAX`.
    """
    _check(value, where, 0)
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(", ", ": "))


def _check(value: Any, where: str, depth: int) -> None:
    if depth > DEPTH_MAX:
        raise ValueError(f"the value is nested deeper than {DEPTH_MAX} levels, or contains itself: {where[:80]}…")
    kind = type(value)
    if kind is str:
        check_text(value, where)
    elif kind is dict:
        for key, item in value.items():
            check_text(key, f"a key of {where}")
            _check(item, f"{where}.{key}", depth + 1)
    elif kind is list:
        for index, item in enumerate(value):
            _check(item, f"{where}[{index}]", depth + 1)
    elif kind is int:
        if not -_INTEGER_MAX <= value < _INTEGER_MAX:
            raise ValueError(f"{where} is an integer of more than 64 bits")
    elif kind is float:
        if not math.isfinite(value):
            raise ValueError(f"{where} is {value}, which JSON does not know")
    elif kind is not bool and value is not None:
        raise ValueError(f"{where} is {_named(value)}, which JSON does not know: use dict, list, str, int, float, bool")


def _named(value: object) -> str:
    kind = type(value)
    base = next((base.__name__ for base in (str, dict, list, int, float) if isinstance(value, base)), "")
    return f"of type {kind.__name__}" + (f", a subclass of {base}" if base else "")
