"""Patterns of file names on the command line of a node: `*` and `?` outside of quotes.

Left out: `[...]`, braces, `**`, names that begin with a dot.
"""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase

#: Stand for an unquoted `*` and `?` in a parsed word (a private use area of Unicode).
MARKS = {"*": "\ue000", "?": "\ue001"}


def plain(word: str) -> str:
    """The word as it was typed.

    >>> plain("a" + MARKS["*"])
    'a*'
    """
    return word.replace(MARKS["*"], "*").replace(MARKS["?"], "?")


def expanded(word: str, names_in: Callable[[str], list[str]]) -> list[str]:
    """The paths that match, sorted; the word itself if it is no pattern, or nothing matches.

    Args:
        names_in: names directly in a folder.

    >>> expanded("/a/" + MARKS["*"] + "c", lambda folder: ["bc", "b", "xc"])
    ['/a/bc', '/a/xc']
    """
    if not any(mark in word for mark in MARKS.values()):
        return [word]
    found = ["/" if word.startswith("/") else ""]
    matched = False
    for part in word.strip("/").split("/"):
        if any(mark in part for mark in MARKS.values()):
            pattern = plain(part)
            found = [
                f"{base}{name}/"
                for base in found
                for name in sorted(names_in(base or "."))
                if fnmatchcase(name, pattern) and not name.startswith(".")
            ]
            matched = True
        else:
            found = [f"{base}{part}/" for base in found if not matched or part in names_in(base)]
    return [path.rstrip("/") for path in found] or [plain(word)]
