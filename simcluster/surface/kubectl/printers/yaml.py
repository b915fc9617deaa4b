"""API objects as YAML, in the style of sigs.k8s.io/yaml: block style, sorted keys, folded at 80.

Strings stand bare unless they would read as something else (then double quotes) or hold
characters with a meaning (then single quotes); text of several lines is a literal block.
The rules are those of libyaml's emitter, of which Go's package is a translation.
"""

from __future__ import annotations

import functools
import json
import re
from typing import Any

#: Column after which a long line is folded at the next space.
_BEST_WIDTH = 80
#: What needs no look at all: a word that starts with a letter and cannot be a bool or null.
_WORD = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*")
_LETTERS = re.compile(r"[A-Za-z]+")
#: Texts that YAML 1.1 readers take for a bool or null.
_RESERVED = frozenset(
    (
        *("y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO", "true", "True", "TRUE", "false", "False", "FALSE"),
        *("on", "On", "ON", "off", "Off", "OFF", "~", "null", "Null", "NULL"),
    )
)
_NUMBER = re.compile(
    r"[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)"
    r"|[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"
)
_TIMESTAMP = re.compile(r"\d{4}-\d{1,2}-\d{1,2}(?:(?:[Tt]|[ \t]+)\d{1,2}:\d\d:\d\d(?:\.\d*)?(?:[ \t]*(?:Z|[-+].*))?)?")
_INDICATORS_FIRST = frozenset("#,[]{}&*!|>'\"%@`")
_ESCAPES = {
    "\0": "\\0",
    "\a": "\\a",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\v": "\\v",
    "\f": "\\f",
    "\r": "\\r",
    "\x1b": "\\e",
    '"': '\\"',
    "\\": "\\\\",
    "\x85": "\\N",
    "\xa0": "\\_",
    "\u2028": "\\L",
    "\u2029": "\\P",
}


def to_yaml(value: Any) -> str:
    """The document, ended by a newline."""
    lines: list[str] = []
    if isinstance(value, dict) and value:
        _mapping(value, 0, lines, "")
    elif isinstance(value, list) and value:
        _sequence(value, 0, lines)
    else:
        lines.append(_scalar(value, 0, 0))
    return "\n".join(lines) + "\n"


def _mapping(value: dict[str, Any], indent: int, lines: list[str], first: str) -> None:
    """Lines of a mapping; `first` stands before the first key instead of its indentation."""
    prefix = first or " " * indent
    for key in _ordered(value):
        head = prefix + _key(key) + ":"
        prefix = " " * indent
        item = value[key]
        if isinstance(item, dict) and item:
            lines.append(head)
            _mapping(item, indent + 2, lines, "")
        elif isinstance(item, (list, tuple)) and item:
            lines.append(head)
            _sequence(item, indent, lines)
        else:
            lines.append(f"{head} {_scalar(item, len(head) + 1, indent + 2)}")


def _sequence(value: list[Any] | tuple[Any, ...], indent: int, lines: list[str], first: str = "") -> None:
    prefix = first or " " * indent
    for item in value:
        head = prefix + "- "
        prefix = " " * indent
        if isinstance(item, dict) and item:
            _mapping(item, indent + 2, lines, head)
        elif isinstance(item, (list, tuple)) and item:
            _sequence(item, indent + 2, lines, head)
        else:
            lines.append(head + _scalar(item, len(head), indent + 2))


def _ordered(keys: dict[str, Any]) -> list[str]:
    """Keys in the order of Go's package: digits by value, letters after everything else."""
    if all(_LETTERS.fullmatch(key) for key in keys):
        return sorted(keys)
    return sorted(keys, key=functools.cmp_to_key(_compare_keys))


def _compare_keys(a: str, b: str) -> int:
    """Negative if `a` comes first: `k2` before `k10`, `app.x/y` before `appx`.

    >>> _compare_keys("k2", "k10") < 0, _compare_keys("app.kubernetes.io/name", "apple") < 0
    (True, True)
    """
    at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), -1)
    if at < 0:
        return len(a) - len(b)
    x, y = a[at], b[at]
    if x.isalpha() or y.isalpha():
        return ord(x) - ord(y) if x.isalpha() and y.isalpha() else 1 if x.isalpha() else -1
    digits_a, digits_b = _digits(a, at), _digits(b, at)
    # Digits that follow an equal digit other than 0 belong to a longer number.
    lead = "1" if "0" in (x, y) and _follows_number(a, at) else "0"
    number_a, number_b = int(lead + digits_a), int(lead + digits_b)
    if number_a != number_b:
        return -1 if number_a < number_b else 1
    if len(digits_a) != len(digits_b):
        return len(digits_a) - len(digits_b)
    return ord(x) - ord(y)


def _digits(text: str, start: int) -> str:
    end = start
    while end < len(text) and text[end].isdigit():
        end += 1
    return text[start:end]


def _follows_number(text: str, at: int) -> bool:
    position = at - 1
    while position >= 0 and text[position].isdigit():
        if text[position] != "0":
            return True
        position -= 1
    return False


def _key(key: str) -> str:
    if _WORD.fullmatch(key) and key not in _RESERVED:
        return key
    style = _style(key, simple_key=True)
    if style == "plain":
        return key
    return _single_quoted(key, 0, None) if style == "single" else _double_quoted(key, 0, None)


def _scalar(value: Any, column: int, indent: int) -> str:
    """A scalar that starts at `column`; further lines are indented by `indent`."""
    if isinstance(value, str):
        return _string(value, column, indent)
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, dict):
        return "{}"
    if isinstance(value, (list, tuple)):
        return "[]"
    return number_text(value)


def number_text(value: int | float) -> str:
    """A number as Go prints it: integral floats without a point."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return json.dumps(value)


def _string(text: str, column: int, indent: int) -> str:
    if _WORD.fullmatch(text) and text not in _RESERVED:
        return text
    style = _style(text, simple_key=False)
    if style == "plain":
        return _folded(text, column, indent)
    if style == "single":
        return _single_quoted(text, column, indent)
    if style == "literal":
        return _literal(text, indent)
    return _double_quoted(text, column, indent)


def _style(text: str, *, simple_key: bool) -> str:
    if not text or text in _RESERVED or _NUMBER.fullmatch(text) or _TIMESTAMP.fullmatch(text):
        return "double"
    if any(not _is_printable(c) for c in text):
        return "double"
    if "\n" in text:
        return "double" if simple_key or " \n" in text or text[-1] == " " else "literal"
    if text[0] == " " or text[-1] == " " or text.startswith(("---", "...")):
        return "single"
    first = text[0]
    if first in _INDICATORS_FIRST or (first in "-?:" and (len(text) == 1 or text[1] == " ")):
        return "single"
    if ": " in text or text[-1] == ":" or " #" in text:
        return "single"
    return "plain"


def _is_printable(c: str) -> bool:
    """What libyaml calls printable; the tab is not."""
    code = ord(c)
    return (
        code == 0x0A
        or 0x20 <= code <= 0x7E
        or (0xA0 <= code <= 0xD7FF)
        or (0xE000 <= code <= 0xFFFD and code != 0xFEFF)
    )


def _folded(text: str, column: int, indent: int) -> str:
    """Plain text with line breaks at single spaces beyond the best width."""
    if column + len(text) <= _BEST_WIDTH:
        return text
    return _fold(text, column, indent, inner_only=False)


def _fold(text: str, column: int, indent: int, *, inner_only: bool) -> str:
    pieces: list[str] = []
    was_space = False
    last = len(text) - 1
    for i, c in enumerate(text):
        if c == " ":
            lonely = not was_space and (i == last or text[i + 1] != " ")
            inside = 0 < i < last or not inner_only
            if lonely and inside and column > _BEST_WIDTH:
                pieces.append("\n" + " " * indent)
                column = indent
            else:
                pieces.append(c)
                column += 1
            was_space = True
        else:
            pieces.append(c)
            # A doubled quote is two columns wide.
            column += 2 if inner_only and c == "'" else 1
            was_space = False
    return "".join(pieces)


def _single_quoted(text: str, column: int, indent: int | None) -> str:
    if indent is None or column + len(text) <= _BEST_WIDTH:
        return "'" + text.replace("'", "''") + "'"
    return "'" + _fold(text, column + 1, indent, inner_only=True).replace("'", "''") + "'"


def _double_quoted(text: str, column: int, indent: int | None) -> str:
    pieces = ['"']
    column += 1
    was_space = False
    last = len(text) - 1
    for i, c in enumerate(text):
        if c == " ":
            if indent is not None and not was_space and column > _BEST_WIDTH and 0 < i < last:
                pieces.append("\n" + " " * indent)
                column = indent
                if text[i + 1] == " ":
                    pieces.append("\\")
                    column += 1
            else:
                pieces.append(c)
                column += 1
            was_space = True
            continue
        piece = _ESCAPES.get(c) or (c if _is_printable(c) else _code(ord(c)))
        pieces.append(piece)
        column += len(piece)
        was_space = False
    pieces.append('"')
    return "".join(pieces)


def _code(code: int) -> str:
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def _literal(text: str, indent: int) -> str:
    head = "|"
    if text[0] in " \n":
        head += "2"
    if not text.endswith("\n"):
        head += "-"
    elif text.endswith("\n\n") or text == "\n":
        head += "+"
    body = text[:-1] if text.endswith("\n") else text
    pad = " " * indent
    return head + "\n" + "\n".join(pad + line if line else "" for line in body.split("\n"))
