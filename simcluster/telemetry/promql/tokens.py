"""The words of an expression with where they stand, and the lexical mistakes that Prometheus reports.

After `promql/parser/lex.go` of Prometheus 3.x. The tree comes from the parser library, which keeps no positions.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class ParseError(ValueError):
    """An expression that is none; the message is Prometheus' with line and column before it."""


class Token(NamedTuple):
    """A word: what it is (`identifier`, `number`, `duration`, `string`, `eof` or the sign itself), text, offset."""

    kind: str
    text: str
    start: int


_SPACE = re.compile(r"(?:\s|#[^\n]*)+")
_DURATION_UNITS = r"(?:\d+y)?(?:\d+w)?(?:\d+d)?(?:\d+h)?(?:\d+m(?!s))?(?:\d+s)?(?:\d+ms)?"
_DURATION = re.compile(rf"(?=\d+(?:ms|[smhdwy])){_DURATION_UNITS}(?![\w.])")
_NUMBER = re.compile(
    r"0[xX][0-9a-fA-F](?:_?[0-9a-fA-F])*(?!\w)|(?:\d(?:_?\d)*(?:\.(?:\d(?:_?\d)*)?)?|\.\d(?:_?\d)*)(?:[eE][+-]?\d(?:_?\d)*)?(?![\w.])"
)
_WORD = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")
_SIGNS = re.compile(r"==|=~|!=|!~|>=|<=|[-+*/%^=<>(){}\[\],@:]")
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|`[^`]*`')
_UNIT_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000, "y": 31_536_000_000}
_CLOSES = {")": "(", "}": "{", "]": "["}


def parse_error(text: str, start: int, message: str) -> ParseError:
    """An error at an offset: `line:column: parse error: message`, both from 1."""
    before = text[:start]
    line = before.count("\n") + 1
    return ParseError(f"{line}:{start - before.rfind(chr(10))}: parse error: {message}")


def duration_ms(text: str) -> int:
    """Milliseconds of `1h30m`.

    >>> duration_ms("1h30m"), duration_ms("1m5ms")
    (5400000, 60005)
    """
    return sum(int(count) * _UNIT_MS[unit] for count, unit in re.findall(r"(\d+)(ms|[smhdwy])", text))  # integers


def tokens(text: str) -> list[Token]:
    """All words, `eof` last.

    Raises:
        ParseError: what is no word, or brackets that do not match.
    """
    found: list[Token] = []
    open_at: list[Token] = []
    at = 0
    while True:
        space = _SPACE.match(text, at)
        at = space.end() if space else at
        if at >= len(text):
            _ended(text, open_at)
            return [*found, Token("eof", "", at)]
        token = _token(text, at, bool(open_at) and open_at[-1].kind == "[", bool(open_at) and open_at[-1].kind == "{")
        if token.kind in ("(", "{", "["):
            open_at.append(token)
        elif token.kind in _CLOSES:
            _closed(text, token, open_at)
        found.append(token)
        at = token.start + len(token.text)


def _token(text: str, at: int, in_brackets: bool, in_braces: bool) -> Token:
    if text[at] in "\"'`":
        quoted = _QUOTED.match(text, at)
        if quoted is None:
            raise parse_error(text, at, f"unterminated {'raw' if text[at] == '`' else 'quoted'} string")
        return Token("string", quoted[0], at)
    if text[at].isdigit() or (text[at] == "." and text[at + 1 : at + 2].isdigit()):
        return _number(text, at)
    word = _WORD.match(text, at)
    if word is not None and not (in_brackets and text[at] == ":"):
        if word[0].lower() in ("inf", "nan") and not in_braces:
            return Token("number", word[0], at)
        return Token("identifier", word[0], at)
    sign = _SIGNS.match(text, at)
    if sign is None:
        if text[at] == "!":
            raise parse_error(text, at, f"unexpected character after '!': {_rune(text[at + 1 : at + 2])}")
        where = " inside braces" if in_braces else ""
        raise parse_error(text, at, f"unexpected character{where}: {_rune(text[at])}")
    return Token(sign[0], sign[0], at)


def _number(text: str, at: int) -> Token:
    duration = _DURATION.match(text, at)
    if duration is not None:
        return Token("duration", duration[0], at)
    number = _NUMBER.match(text, at)
    if number is None:
        rough = re.compile(r"[0-9a-zA-Z_.]*").match(text, at)
        digits = re.compile(r"(?:0[xX][0-9a-fA-F_]*|[\d._]*(?:[eE][+-]?[\d_]*)?)").match(text, at)
        assert rough is not None
        assert digits is not None
        shown = digits[0] if digits[0] != rough[0] else rough[0]
        raise parse_error(text, at, f'bad number or duration syntax: "{shown}"')
    return Token("number", number[0], at)


def _rune(character: str) -> str:
    return f"'{character}'" if character else "'￾'"


def _closed(text: str, token: Token, open_at: list[Token]) -> None:
    if not open_at or open_at[-1].kind != _CLOSES[token.kind]:
        names = {")": "right parenthesis ')'", "}": "right brace '}'", "]": "right bracket ']'"}
        raise parse_error(text, token.start, f"unexpected {names[token.kind]}")
    open_at.pop()


def _ended(text: str, open_at: list[Token]) -> None:
    if not open_at:
        return
    if open_at[-1].kind == "{":
        raise parse_error(text, len(text), "unexpected end of input inside braces")
    kind = {"(": "unclosed left parenthesis", "[": "unclosed left bracket"}[open_at[-1].kind]
    raise parse_error(text, len(text), kind)
