"""Tokens of CEL.

Source: the lexis of the language definition (github.com/google/cel-spec, doc/langdef.md).
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple


class CelSyntaxError(ValueError):
    """A text is no expression; the message is what the compiler of Kubernetes prints about it."""


class Token(NamedTuple):
    """One token.

    Attributes:
        kind: `name`, `literal`, `op` or `end`.
        text: as it stands in the expression.
        value: of a literal.
        at: offset of its first character.
    """

    kind: str
    text: str
    value: Any
    at: int


class UInt(int):
    """An unsigned integer of CEL."""


_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)"""
    r"""|(?P<string>(?:[rR][bB]?|[bB][rR]?)?(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''"""
    r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))"""
    r"""|(?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)"""
    r"""|(?P<int>0x[0-9a-fA-F]+[uU]?|\d+[uU]?)"""
    r"""|(?P<name>[_a-zA-Z][_a-zA-Z0-9]*)"""
    r"""|(?P<op>&&|\|\||==|!=|<=|>=|\.\?|\[\?|[-+*/%!<>=?:.,()\[\]{}])""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}|.)", re.DOTALL)
_SIMPLE = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "?": "?",
}  # fmt: skip
_LITERALS = {"true": True, "false": False, "null": None}


def error_at(source: str, at: int, why: str) -> CelSyntaxError:
    """The compiler's complaint about a place, with the line and a mark below it."""
    before = source[:at]
    line, column = before.count("\n") + 1, at - (before.rfind("\n") + 1)
    text = source.split("\n")[line - 1] if source else ""
    return CelSyntaxError(f"ERROR: <input>:{line}:{column + 1}: {why}\n | {text}\n | {'.' * column}^")


def tokens(source: str) -> list[Token]:
    """The tokens of an expression, with an `end` at the end. Raises CelSyntaxError."""
    found: list[Token] = []
    at = 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None:
            raise error_at(source, at, f"Syntax error: token recognition error at: '{source[at]}'")
        text, kind = match[0], match.lastgroup or ""
        if kind == "name" and text in _LITERALS:
            found.append(Token("literal", text, _LITERALS[text], at))
        elif kind in ("name", "op"):
            found.append(Token(kind, text, None, at))
        elif kind != "space":
            found.append(Token("literal", text, _literal(kind, text), at))
        at = match.end()
    found.append(Token("end", "<EOF>", None, at))
    return found


def _literal(kind: str, text: str) -> Any:
    if kind == "float":
        return float(text)
    if kind == "int":
        digits = text.rstrip("uU")
        value = int(digits, 16) if digits.startswith("0x") else int(digits)
        return UInt(value) if digits != text else value
    prefix = text[: len(text) - len(text.lstrip("rRbB"))].lower()
    body = text[len(prefix) :]
    body = body[3:-3] if body[:3] in ('"""', "'''") else body[1:-1]
    if "r" not in prefix:
        body = _ESCAPE.sub(_unescaped, body)
    return body.encode() if "b" in prefix else body


def _unescaped(match: re.Match[str]) -> str:
    text = match[1]
    if text[0] in "xuU" and len(text) > 1:
        return chr(int(text[1:], 16))
    if len(text) == 3:
        return chr(int(text, 8))
    return _SIMPLE.get(text, "\\" + text)
