"""Word wrapping with the rules of github.com/mitchellh/go-wordwrap, which kubectl uses.

Runs of spaces stay as they are; a word that is longer than the limit is not broken.
"""

from __future__ import annotations

_NO_BREAK_SPACE = "\u00a0"


def wrap(text: str, limit: int) -> str:
    """The text with line breaks after at most `limit` characters.

    >>> wrap("one two three", 8)
    'one two\\nthree'
    """
    return "\n".join(_wrap_line(line, limit) for line in text.split("\n"))


def _wrap_line(line: str, limit: int) -> str:
    out: list[str] = []
    width = 0  # of what stands on the present line
    spaces = word = ""
    for char in line:
        if char.isspace() and char != _NO_BREAK_SPACE:
            if not spaces or word:
                width += len(spaces) + len(word)
                out += [spaces, word]
                spaces = word = ""
            spaces += char
            continue
        word += char
        if width + len(spaces) + len(word) > limit and len(word) < limit:
            out.append("\n")
            width, spaces = 0, ""
    if word or width + len(spaces) <= limit:
        out += [spaces, word]
    return "".join(out)
