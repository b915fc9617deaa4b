"""Words of a POSIX command line, as `shlex` splits them, in time that grows with the line and not with its square."""

from __future__ import annotations

import re
from collections.abc import Iterator

_PIECE = re.compile(
    r"""(?P<blank>[ \t\r\n]+)|"(?P<double>[^"\\]*(?:\\.[^"\\]*)*)"|'(?P<single>[^']*)'|\\(?P<escaped>.)"""
    r"""|(?P<sign>[|&;<>()]+)|(?P<plain>[^ \t\r\n"'\\|&;<>()]+)""",
    re.DOTALL,
)


def split(line: str) -> list[str]:
    """The words; signs such as `|` are letters like any other.

    Raises:
        ValueError: a quotation is not closed, or nothing follows a backslash.

    >>> split("get pods -l 'a in (b)' x\\\\ y|z")
    ['get', 'pods', '-l', 'a in (b)', 'x y|z']
    """
    return list(_words(line, signs=False))


def tokens(line: str) -> list[str]:
    """The words, and runs of `|&;<>()` outside of quotes as tokens of their own. Raises ValueError as `split`.

    >>> tokens("a 'b|c'|wc>x")
    ['a', 'b|c', '|', 'wc', '>', 'x']
    """
    return list(_words(line, signs=True))


def _words(line: str, *, signs: bool) -> Iterator[str]:
    word: list[str] = []
    begun, at = False, 0
    while at < len(line):
        piece = _PIECE.match(line, at)
        if piece is None:
            escapes = len(line) - len(line.rstrip("\\"))
            escaped = line[at] != "'" and escapes % 2 == 1
            raise ValueError("No escaped character" if escaped else "No closing quotation")
        at, kind = piece.end(), piece.lastgroup
        if kind == "blank" or (signs and kind == "sign"):
            if begun:
                yield "".join(word)
            word, begun = [], False
            if kind == "sign":
                yield piece["sign"]
            continue
        begun = True
        text = piece[kind or 0]
        word.append(re.sub(r'\\(["\\])', r"\1", text) if kind == "double" and "\\" in text else text)
    if begun:
        yield "".join(word)
