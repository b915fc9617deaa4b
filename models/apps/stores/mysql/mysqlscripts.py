r"""What `mysql -e` or its standard input holds: statements, each with what ends it (`;`, `\G`, `\g`).

Quotes and comments are kept apart. Source: the client's manual, "mysql Client Commands". Left out: DELIMITER, `source`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_PARTS = re.compile(
    r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|/\*.*?\*/|--(?=\s|$)[^\n]*|#[^\n]*|\\[GgqcpP]|;|\s+|.",
    re.DOTALL,
)


class Sent(NamedTuple):
    """A statement as it is sent.

    Attributes:
        text: with every space as one blank.
        vertical: whether `\\G` ends it; line: of the script, on which it ends.
    """

    text: str
    vertical: bool
    line: int


def statements(script: str) -> list[Sent]:
    r"""The statements of a script.

    >>> [each[:2] for each in statements("select ';' as a\\G show  databases; -- x\n")]
    [("select ';' as a", True), ('show databases', False)]
    """
    found: list[Sent] = []
    words, line = "", 1
    for part in _PARTS.finditer(script):
        text = part[0]
        line += text.count("\n")
        if text in (";", "\\g", "\\G"):
            if words.strip():
                found.append(Sent(words.strip(), text == "\\G", line))
            words = ""
        elif text == "\\q":
            return found
        elif text == "\\c":
            words = ""
        elif text.isspace() or text.startswith(("/*", "#")) or (text.startswith("--") and len(text) > 1):
            words += "" if words.endswith(" ") else " "
        else:
            words += text
    if words.strip():
        found.append(Sent(words.strip(), False, line))
    return found


def rest_from(text: str, at: int) -> str:
    """What a syntax error is near: the statement from there on, at most 80 characters (MYSQL_ERRMSG_SIZE's form)."""
    return text[max(0, at) : max(0, at) + 80]
