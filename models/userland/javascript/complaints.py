"""Mistakes of the grammar as Babel's parser words them, with the line and a mark under the place.

esprima says where it stopped and at what; Babel says what it would have needed there, which is told by the brackets
that are open and by what stands before. Left out: early errors (names declared twice, `return` outside of a function).
Source: @babel/parser, `parse-error/standard-errors.ts`; @babel/code-frame.
"""

from __future__ import annotations

import re
from typing import Any

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)|(?P<end>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|\d[\w.]*)"""
    r"""|(?P<word>[A-Za-z_$][\w$]*)|(?P<mark>.)""",
    re.DOTALL,
)
#: Words after which an expression begins.
_BEFORE = frozenset(
    ("await", "case", "delete", "do", "else", "in", "instanceof", "new", "of", "return", "throw", "typeof", "void")
)
_HEADS = frozenset(("catch", "for", "if", "switch", "while", "with"))
#: Characters of the line that are shown at most, and characters before a mistake that are looked at.
_SHOWN, _LOOKED_AT = 200, 4000


def placed(source: str, error: Any) -> str:
    """What is said of a mistake that esprima has found: text, place, and the line with a mark under it."""
    at = min(max(0, int(error.index or 0)), len(source))
    text, at = _said(source, at, re.sub(r"^Line \d+: ", "", str(error.message)))
    line = source.count("\n", 0, at) + 1
    begun = source.rfind("\n", 0, at) + 1
    shown, column = source[begun:].split("\n", 1)[0], at - begun
    mark = f"    | {' ' * min(column, _SHOWN)}^"
    return f"{text} ({line}:{column})\n\n> {line} | {shown[:_SHOWN]}\n{mark}\n  {line + 1} |"


def _said(source: str, at: int, said: str) -> tuple[str, int]:
    if said.startswith("Invalid regular expression: missing"):
        return "Unterminated regular expression.", max(0, source.rfind("/", 0, at)) + 1
    if not said.startswith("Unexpected"):
        return said, at
    if said.endswith("ILLEGAL"):
        return _illegal(source, at)
    begun = max(0, at - _LOOKED_AT)
    opened, before, ended = _before(source[begun:at])
    ended += begun
    if before is None or not _ends_value(before):
        return "Unexpected token", at
    if opened:
        return f'Unexpected token, expected "{opened}"', at
    if at < len(source) and source[at] != "}" and "\n" not in source[ended:at]:
        return "Missing semicolon.", ended
    return "Unexpected token", at


def _illegal(source: str, at: int) -> tuple[str, int]:
    if source[at : at + 1] in ("'", '"'):
        return "Unterminated string constant.", at
    if at >= len(source) and "`" in source:
        return "Unterminated template.", source.rfind("`") + 1
    if source[at : at + 1].isalnum():
        return "Identifier directly after number.", at
    return f"Unexpected character '{source[at : at + 1]}'.", at


def _before(text: str) -> tuple[str, str | None, int]:
    """What would go on in the bracket that is open (nothing in a block), the token before, and where it ends."""
    open_: list[str] = []
    before: str | None = None
    ended = 0
    for found in _TOKEN.finditer(text):
        if found["space"] is not None:
            continue
        token = found[0]
        if token in ("(", "[", "{"):
            open_.append(_needed(token, before))
        elif token in (")", "]", "}") and open_:
            open_.pop()
        before, ended = token, found.end()
    return (open_[-1] if open_ else ""), before, ended


def _needed(bracket: str, before: str | None) -> str:
    """What would go on after a value in a bracket: a comma, the end of a statement's head, or the next statement."""
    if bracket == "(":
        return ")" if before in _HEADS else ","
    if bracket == "[":
        return ","
    return "" if before is None or before in (")", ";", "{", "}", "else", "do", "try", "finally", ">") else ","


def _ends_value(token: str) -> bool:
    if token in _BEFORE:
        return False
    return token in (")", "]", "}") or token[0] in "'\"`" or token[0].isalnum() or token[0] in "_$"
