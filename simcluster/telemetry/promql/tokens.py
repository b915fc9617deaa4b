"""The words of an expression with where they stand, and the lexical mistakes that Prometheus reports.

After `promql/parser/lex.go` of Prometheus 3.x. The tree comes from the parser library, which keeps no positions.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class ParseError(ValueError):
    """An expression that is none; the message is Prometheus' with line and column before it."""


class Token(NamedTuple):
    """A word: what it is (`identifier`, `number`, `duration`, `string`, `eof` or the sign itself), text, offset.

    The last is `eof`, or `error` with what is wrong as its text.
    """

    kind: str
    text: str
    start: int


_SPACE = re.compile(r"(?:\s|#[^\n]*)+")
_DURATION_UNITS = r"(?:\d+y)?(?:\d+w)?(?:\d+d)?(?:\d+h)?(?:\d+m(?!s))?(?:\d+s)?(?:\d+ms)?"
_DURATION = re.compile(rf"(?=\d+(?:ms|[smhdwy])){_DURATION_UNITS}(?!\w)")
_LIKE_DURATION = re.compile(r"(?:\d+(?:ms|[smhdwy]))+(?!\w)")
_ESCAPE = re.compile(
    r"\\(?:[abfnrtv\\\"']|[0-7]{3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|\\(.)|[^\\]+", re.DOTALL
)
_PLAIN = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", '"': '"', "'": "'"}
_NUMBER = re.compile(
    r"0[xX][0-9a-fA-F](?:_?[0-9a-fA-F])*(?!\w)|(?:\d(?:_?\d)*(?:\.(?:\d(?:_?\d)*)?)?|\.\d(?:_?\d)*)(?:[eE][+-]?\d(?:_?\d)*)?(?!\w)"
)
_WORD = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")
_SIGNS_IN_BRACES = re.compile(r"=~|!=|!~|[={},]")
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
    """All words, `eof` last; or those before what is no word, or a bracket that does not match, as `error`."""
    found: list[Token] = []
    open_at: list[str] = []
    at = 0
    while True:
        space = _SPACE.match(text, at)
        at = space.end() if space else at
        if at >= len(text):
            return [*found, _ended(text, open_at)]
        inside = open_at[-1] if open_at else ""
        token = _token(text, at, inside == "[", inside == "{")
        if token.kind in ("(", "{", "["):
            open_at.append(token.kind)
        elif token.kind in _CLOSES:
            token = _closed(token, open_at)
        if token.kind == "error":
            return [*found, token]
        found.append(token)
        at = token.start + len(token.text)


def _token(text: str, at: int, in_brackets: bool, in_braces: bool) -> Token:
    if text[at] in "\"'`":
        quoted = _QUOTED.match(text, at)
        if quoted is None:
            return Token("error", f"unterminated {'raw' if text[at] == '`' else 'quoted'} string", at)
        if text[at] != "`":
            for match in _ESCAPE.finditer(quoted[0][1:-1]):
                if match[1]:
                    return Token("error", f"unknown escape sequence U+{ord(match[1]):04X} '{match[1]}'", at)
        return Token("string", quoted[0], at)
    if text[at].isdigit() or (text[at] == "." and text[at + 1 : at + 2].isdigit()):
        return _number(text, at)
    word = _WORD.match(text, at)
    if in_brackets and word is not None and text[at] != ":":
        return Token("error", f"unexpected character in duration expression: {_rune(text[at])}", at)
    if word is not None and not in_brackets:
        if word[0].lower() in ("inf", "nan") and not in_braces:
            return Token("number", word[0], at)
        return Token("identifier", word[0], at)
    sign = (_SIGNS_IN_BRACES if in_braces else _SIGNS).match(text, at)
    if sign is None or (text[at] in "=!" and not in_braces and text[at + 1 : at + 2] == "~"):
        if text[at] in "=!":
            return Token("error", f"unexpected character after '{text[at]}': {_rune(text[at + 1 : at + 2])}", at)
        where = " inside braces" if in_braces else " in duration expression" if in_brackets else ""
        return Token("error", f"unexpected character{where}: {_rune(text[at])}", at)
    return Token(sign[0], sign[0], at)


def _number(text: str, at: int) -> Token:
    duration = _DURATION.match(text, at)
    if duration is not None:
        return Token("duration", duration[0], at)
    like = _LIKE_DURATION.match(text, at)
    if like is not None:
        return Token("error", f'not a valid duration string: "{like[0]}"', at)
    number = _NUMBER.match(text, at)
    if number is None:
        rough = re.compile(r"[0-9a-zA-Z_.]*").match(text, at)
        digits = re.compile(r"(?:0[xX][0-9a-fA-F_]*|[\d._]*(?:[eE][+-]?[\d_]*)?)").match(text, at)
        assert rough is not None
        assert digits is not None
        shown = digits[0] if digits[0] != rough[0] else rough[0]
        return Token("error", f'bad number or duration syntax: "{shown}"', at)
    return Token("number", number[0], at)


def _rune(character: str) -> str:
    return f"'{character}'" if character else "'\ufffd'"


def _closed(token: Token, open_at: list[str]) -> Token:
    if token.kind == ")" and open_at[-1:] == ["["] and "(" in open_at:
        return token  # between brackets only a parenthesis is counted that nobody has opened
    if not open_at or open_at[-1] != _CLOSES[token.kind]:
        names = {")": "right parenthesis ')'", "}": "character: '}'", "]": "right bracket ']'"}
        return Token("error", f"unexpected {names[token.kind]}", token.start + (token.kind == ")"))
    open_at.pop()
    return token


def _ended(text: str, open_at: list[str]) -> Token:
    if not open_at:
        return Token("eof", "", len(text))
    messages = {"(": "unclosed left parenthesis", "[": "unclosed left bracket"}
    return Token("error", messages.get(open_at[-1], "unexpected end of input inside braces"), len(text))


def unquoted(text: str) -> str:
    r"""What a string literal says; bytes that are no UTF-8 are surrogates (`surrogateescape`).

    >>> unquoted(r'"a\n\x41\u00e9"'), unquoted(r"`\n`"), unquoted(r'"\xff"')
    ('a\nAé', '\\n', '\udcff')
    """
    if text[0] == "`":
        return text[1:-1]
    meant = b"".join(_meant(match[0]) for match in _ESCAPE.finditer(text[1:-1]))
    return meant.decode("utf-8", "surrogateescape")


def _meant(part: str) -> bytes:
    if part[0] != "\\":
        return part.encode("utf-8", "surrogatepass")
    if part[1] in _PLAIN:
        return _PLAIN[part[1]].encode()
    if part[1].isdigit():
        return bytes([int(part[1:], 8) & 255])
    code = int(part[2:], 16)
    return bytes([code]) if part[1] == "x" else chr(min(code, 0x10FFFF)).encode("utf-8", "replace")
