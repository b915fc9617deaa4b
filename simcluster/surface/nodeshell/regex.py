"""POSIX regular expressions, basic (`G`), extended (`E`) or fixed (`F`), as Python patterns."""

from __future__ import annotations

import re

_CLASSES = {
    "[:alnum:]": "A-Za-z0-9",
    "[:alpha:]": "A-Za-z",
    "[:digit:]": "0-9",
    "[:lower:]": "a-z",
    "[:punct:]": r"!-/:-@\[-`{-~",
    "[:space:]": r"\s",
    "[:upper:]": "A-Z",
    "[:xdigit:]": "0-9A-Fa-f",
}
#: Characters whose meaning a backslash switches on in basic and off in extended patterns.
_SWITCHED = "(){}+?|"


class RegexError(Exception):
    """The pattern is malformed."""


def compile_pattern(
    pattern: str, kind: str, *, ignore_case: bool = False, whole_word: bool = False, whole_line: bool = False
) -> re.Pattern[str]:
    """A compiled pattern. Several lines of pattern are alternatives.

    Raises:
        RegexError: the pattern is malformed.
    """
    parts = [re.escape(part) if kind == "F" else _translated(part, kind) for part in pattern.split("\n")]
    text = "|".join(f"(?:{part})" for part in parts) if len(parts) > 1 else parts[0]
    if whole_word:
        text = rf"(?<!\w)(?:{text})(?!\w)"
    if whole_line:
        text = rf"^(?:{text})$"
    try:
        return re.compile(text, re.IGNORECASE if ignore_case else 0)
    except re.error as error:
        raise RegexError(f"Invalid regular expression: {error.msg}") from None


def _translated(pattern: str, kind: str) -> str:
    output: list[str] = []
    position = 0
    while position < len(pattern):
        c = pattern[position]
        if c == "[":
            text, position = _bracket(pattern, position)
            output.append(text)
            continue
        if c == "\\" and position + 1 < len(pattern):
            escaped = pattern[position + 1]
            if kind == "G" and escaped in _SWITCHED:
                output.append(escaped)
            elif escaped in "<>":
                output.append(r"\b")
            else:
                output.append("\\" + escaped)
            position += 2
            continue
        if kind == "G" and c in _SWITCHED:
            output.append("\\" + c)
        else:
            output.append(c)
        position += 1
    return "".join(output)


def _bracket(pattern: str, start: int) -> tuple[str, int]:
    position = start + 1
    head = "["
    if pattern.startswith("^", position):
        head, position = "[^", position + 1
    body: list[str] = []
    while position < len(pattern):
        named = next((name for name in _CLASSES if pattern.startswith(name, position)), None)
        if named is not None:
            body.append(_CLASSES[named])
            position += len(named)
            continue
        c = pattern[position]
        if c == "]" and body:
            return head + "".join(body) + "]", position + 1
        body.append(
            "\\" + c if c in "[]\\&~|" and not (c == "\\" and pattern[position + 1 : position + 2].isalpha()) else c
        )
        position += 1
    raise RegexError("Unmatched [, [^, [:, [., or [=")
