"""Loki's pattern expressions: `<ip> - - <_> "<method> <path> <_>"`."""

from __future__ import annotations

import itertools
import re
from functools import lru_cache

from simcluster.telemetry.logql.tokens import ParseError

_CAPTURE = re.compile(r"<([a-zA-Z_][a-zA-Z0-9_]*)>")
#: Literal text, or a capture's name.
Part = tuple[str, bool]


@lru_cache(maxsize=256)
def pattern_parts(text: str, *, names: bool) -> tuple[Part, ...]:
    """Literals and captures in turn.

    Args:
        names: whether some capture must have a name (a parser), or none may (a line filter).

    Raises:
        ParseError: it is no expression.

    >>> pattern_parts("<a>: <_>", names=True)
    (('a', True), (': ', False), ('_', True))
    """
    found: list[Part] = []
    at = 0
    for match in _CAPTURE.finditer(text):
        if match.start() > at:
            found.append((text[at : match.start()], False))
        found.append((match[1], True))
        at = match.end()
    if at < len(text):
        found.append((text[at:], False))
    _check(text, found, names)
    return tuple(found)


def _check(text: str, parts: list[Part], names: bool) -> None:
    captured = [name for name, is_capture in parts if is_capture and name != "_"]
    if not names:
        if captured:
            raise ParseError(f"invalid pattern {text}: named captures are not allowed in line filters")
        return
    if not captured:
        raise ParseError("at least one capture is required")
    for (left, is_left), (right, is_right) in itertools.pairwise(parts):
        if is_left and is_right:
            raise ParseError(f"found consecutive capture '<{left}><{right}>'")
    twice = next((name for at, name in enumerate(captured) if name in captured[:at]), None)
    if twice is not None:
        raise ParseError(f"duplicate capture name ({twice})")


def captures(parts: tuple[Part, ...], line: str) -> list[tuple[str, str]]:
    """Named parts of a line, up to where it stops fitting.

    >>> captures(pattern_parts('<ip> "<method> <_>" <status>', names=True), '::1 "GET /" 200')
    [('ip', '::1'), ('method', 'GET'), ('status', '200')]
    """
    found: list[tuple[str, str]] = []
    at, place = 0, 0
    if parts and not parts[0][1]:
        if not line.startswith(parts[0][0]):
            return found
        at, place = len(parts[0][0]), 1
    while place < len(parts):
        name = parts[place][0]
        literal = parts[place + 1][0] if place + 1 < len(parts) else ""
        end = line.find(literal, at) if literal else len(line)
        if end < 0:
            break
        if name != "_":
            found.append((name, line[at:end]))
        at, place = end + len(literal), place + 2
    return found


def fits(parts: tuple[Part, ...], line: str) -> bool:
    """Whether a line has the literals in this order; captures between them take at least one character.

    >>> fits(pattern_parts("<_>level=<_>", names=False), "ts=1 level=info")
    True
    """
    if not parts:
        return not line
    at = 0
    for place, (text, is_capture) in enumerate(parts):
        if is_capture:
            continue
        begun = place > 0 and parts[place - 1][1]
        found = line.find(text, at + 1 if begun else at)
        if found < 0 or (place == 0 and found != 0):
            return False
        at = found + len(text)
    return at < len(line) if parts[-1][1] else at == len(line) or len(parts) == 1
