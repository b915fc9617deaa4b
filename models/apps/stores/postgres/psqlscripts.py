r"""What `psql -c` or its standard input holds: statements, and where each stands; where in them an error is.

Source: psql's lexer (psqlscan.l), libpq's reportErrorPosition (fe-protocol3.c). Left out: variables (`:name`), \if.
"""

from __future__ import annotations

import re
from typing import NamedTuple

#: Characters that tell psql's own commands from SQL.
_COMMAND = 3
#: Of a line with an error psql shows so many characters, and so many behind the place if it can.
_DISPLAYED, _BEHIND = 60, 10
_PARTS = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"[^\"]*\"|\$(\w*)\$.*?\$\1\$|;|\n(?=\\)|.", re.DOTALL)


class Sent(NamedTuple):
    """A statement.

    Attributes:
        text: without comments, every space a blank; raw: of the same length as in the script, comments as blanks.
        at: where in the script it begins; end: where it ends.
    """

    text: str
    raw: str
    at: int
    end: int


def sent(script: str) -> list[Sent]:
    r"""The statements of a script; what is quoted stays as it is.

    >>> [(each.text, each.at) for each in sent("select ';' ; -- x\nselect 2")]
    [("select ';'", 0), ('select 2', 18)]
    """
    found: list[list[tuple[int, str, str]]] = [[]]  # of each statement: place, text, raw
    begun = ""  # the first characters of the statement that are no space: a command of psql's own, or not
    for part in _PARTS.finditer(script):
        text = part[0]
        begun = begun if found[-1] else ""
        meta = begun.startswith("\\")
        if text == ";" or (text == "\n" and (meta or script[part.end() : part.end() + 1] == "\\")):
            found.append([])
        elif text.startswith(("--", "/*")):
            found[-1].append((part.start(), " " if text.startswith("/*") else "", " " * len(text)))
        else:
            shown = " " if text.isspace() else text
            found[-1].append((part.start(), shown, shown))
            begun += text.strip() if len(begun) < _COMMAND else ""
        if begun == "\\q":
            found.append([])
    return [_joined(parts) for parts in found if any(text.strip() for _, text, _ in parts)]


def _joined(parts: list[tuple[int, str, str]]) -> Sent:
    first = next(at for at, text, _ in parts if text.strip())
    text = re.sub(r"^\\(\w+)\s+", r"\\\1 ", "".join(text for _, text, _ in parts).strip())
    raw = "".join(raw for at, _, raw in parts if at >= first).rstrip()
    return Sent(text, raw, first, first + len(raw))


def statements(script: str) -> list[str]:
    """The statements' texts."""
    return [each.text for each in sent(script)]


def pointed(script: str, at: int) -> str:
    r"""The line of a script in which an error is, and a caret below its place, as libpq shows them.

    >>> pointed("select 1;\nselect *\tfrom nope", 24)
    'LINE 2: select * from nope\n                      ^\n'
    """
    lines = script[:at].split("\n")
    begin = at - len(lines[-1])
    line = script[begin:].partition("\n")[0].replace("\t", " ").rstrip("\r")
    low, high, place = 0, len(line), at - begin
    if high > _DISPLAYED:
        if place + _BEHIND <= _DISPLAYED:
            high = _DISPLAYED
        else:
            high = min(high, place + _BEHIND)
            low = max(0, high - _DISPLAYED)
    lead = f"LINE {len(lines)}: " + ("..." if low else "")
    shown = line[low:high] + ("..." if high < len(line) else "")
    return f"{lead}{shown}\n{' ' * (len(lead) + place - low)}^\n"
