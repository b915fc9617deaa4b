"""LogQL in tokens, with the positions that Loki's errors name.

Its scanner loses the line of a token that it reads further than one rune or word (`|=`, `[5m]`, `10s`): such errors are
at line 0.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from simcluster.telemetry.logql.units import duration_ns, range_ns, size_bytes

RANGE_OPS = (
    "count_over_time", "rate", "rate_counter", "bytes_over_time", "bytes_rate", "avg_over_time", "sum_over_time",
    "min_over_time", "max_over_time", "stdvar_over_time", "stddev_over_time", "quantile_over_time", "first_over_time",
    "last_over_time", "absent_over_time",
)  # fmt: skip
VECTOR_OPS = (
    "sum", "avg", "max", "min", "count", "stddev", "stdvar", "bottomk", "topk", "sort", "sort_desc", "approx_topk",
)  # fmt: skip
CONVERSIONS = ("bytes", "duration", "duration_seconds")
_FUNCTIONS = frozenset((*RANGE_OPS, *VECTOR_OPS, *CONVERSIONS, "vector", "label_replace", "ip"))
_WORDS = frozenset({
    "unwrap", "by", "without", "bool", "label_replace", "offset", "on", "ignoring", "group_left", "group_right", "or",
    "and", "unless", "json", "regexp", "logfmt", "unpack", "pattern", "label_format", "line_format", "ip",
    "decolorize", "drop", "keep",
})  # fmt: skip
#: What the parser's tables call functions; the others have their own text.
_SHOWN = {"bytes": "BYTES_CONV", "duration": "DURATION_CONV", "duration_seconds": "DURATION_SECONDS_CONV"}
_SIGNS = ("=~", "!=", "!~", "!>", "|=", "|~", "|>", "==", ">=", "<=", *",.{}=|()+-*/%^<>]")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_FLAG = re.compile(r"--(?:strict|keep-empty)(?![a-zA-Z-])")
_FOLLOWS = re.compile(r"\s*(?:\(|(?:by|without)\s*\()", re.IGNORECASE)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", '"': '"', "'": "'"}
_ESCAPED = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))", re.DOTALL)


class ParseError(ValueError):
    """No LogQL; the message is Loki's."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        place = f" at line {line}, col {column}: " if line or column else " : "
        super().__init__(f"parse error{place}{message}")


class Token(NamedTuple):
    """A token.

    Attributes:
        kind: as messages name it: its text, or `IDENTIFIER`, `STRING`, `NUMBER`, `DURATION`, `BYTES`, `RANGE`,
            `PARSER_FLAG`, `$end`.
        text: of a string, what it means.
        number: nanoseconds or bytes of those that are.
    """

    kind: str
    text: str
    line: int
    column: int
    number: int = 0


def shown(function: str) -> str:
    """What messages call the token of a function."""
    return function if function in ("ip", "label_replace") else _SHOWN.get(function, function.upper())


def tokens(source: str) -> list[Token]:
    """All tokens; the last is `$end`, or of kind `error` with the message as its text.

    >>> [token.kind for token in tokens('rate({app="x"} |= "y" [5m])')]
    ['RATE', '(', '{', 'IDENTIFIER', '=', 'STRING', '}', '|=', 'STRING', 'RANGE', ')', '$end']
    """
    found: list[Token] = []
    at, line, begun = 0, 1, 0
    while at < len(source):
        character = source[at]
        if character == "\n":
            line, begun = line + 1, at + 1
        if character.isspace():
            at += 1
            continue
        if character == "#":
            end = source.find("\n", at)
            at = len(source) if end < 0 else end
            continue
        token, end = _token(source, at, line, at - begun + 1)
        found.append(token)
        if token.kind == "error":
            return found
        inside = source[at:end]
        if "\n" in inside:
            line, begun = line + inside.count("\n"), at + inside.rindex("\n") + 1
        at = end
    found.append(Token("$end", "", line, len(source) - begun + 1))
    return found


def _token(source: str, at: int, line: int, column: int) -> tuple[Token, int]:
    character = source[at]
    if character in '"`':
        return _string(source, at, line, column)
    if character == "[":
        return _range(source, at, column)
    if character == "-":
        flag = _FLAG.match(source, at)
        if flag is not None:
            return Token("PARSER_FLAG", flag[0], 0, column), flag.end()
        measured = _measured(source, at, at + 1, column)
        if measured is not None and measured[0].kind == "DURATION":
            return measured
    number = _NUMBER.match(source, at)
    if number is not None:
        measured = _measured(source, at, number.end(), column)
        return measured or (Token("NUMBER", number[0], line, column), number.end())
    word = _IDENTIFIER.match(source, at)
    if word is not None:
        return Token(_kind(word[0].lower(), source, word.end()), word[0], line, column), word.end()
    sign = next((one for one in _SIGNS if source.startswith(one, at)), None)
    if sign is None:
        return Token("IDENTIFIER", character, line, column), at + 1
    return Token(sign, sign, line if len(sign) == 1 else 0, column), at + len(sign)


def _kind(word: str, source: str, end: int) -> str:
    if word in _FUNCTIONS:
        return shown(word) if _FOLLOWS.match(source, end) else "IDENTIFIER"
    return word if word in _WORDS else "IDENTIFIER"


def _measured(source: str, at: int, end: int, column: int) -> tuple[Token, int] | None:
    """A duration or size that begins with the number in front of `end`."""
    for kind, runes, meaning in (("DURATION", "nuµmshdwy.", duration_ns), ("BYTES", "BikKMGTP.", size_bytes)):
        last = end
        while last < len(source) and (source[last].isdigit() or source[last] in runes):
            last += 1
        value = meaning(source[at:last]) if last > end else None
        if value is not None:
            return Token(kind, source[at:last], 0, column, value), last
    return None


def _range(source: str, at: int, column: int) -> tuple[Token, int]:
    end = source.find("]", at)
    if end < 0:
        return Token("error", "missing closing ']' in duration", 0, column), len(source)
    inside = source[at + 1 : end]
    value = range_ns(inside)
    if value is None:
        wrong = f'not a valid duration string: "{inside}"' if inside else "empty duration string"
        return Token("error", wrong, 0, column), len(source)
    return Token("RANGE", inside, 0, column, value), end + 1


def _string(source: str, at: int, line: int, column: int) -> tuple[Token, int]:
    quote, end = source[at], at + 1
    while end < len(source) and source[end] != quote and (quote == "`" or source[end] != "\n"):
        end += 2 if source[end] == "\\" and quote == '"' else 1
    if end >= len(source) or source[end] != quote:
        return Token("error", "literal not terminated", line, column), len(source)
    inside = source[at + 1 : end]
    if quote == '"':
        try:
            inside = _ESCAPED.sub(_meant, inside)
        except (KeyError, ValueError):
            return Token("error", "invalid char escape", line, column), len(source)
    return Token("STRING", inside, line, column), end + 1


def _meant(match: re.Match[str]) -> str:
    for group, base in ((1, 16), (2, 16), (3, 16), (4, 8)):
        if match[group]:
            return chr(int(match[group], base))
    return _ESCAPES[match[5]]
