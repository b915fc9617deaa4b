"""The list of a SELECT as it was typed: MySQL heads a column without a name with the text of its expression."""

from __future__ import annotations

import re

_PARTS = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|\w+|\s+|.", re.DOTALL)
#: What may follow the list.
_ENDS = ("from", "where", "order", "limit", "group", "having", "into", "union", "for")


def typed(text: str) -> list[str]:
    """The expressions between SELECT and what follows them.

    >>> typed("select  version(), @@a AS x,concat('a,b', 1) from t")
    ['version()', '@@a AS x', "concat('a,b', 1)"]
    >>> typed("insert into t values (1)")
    []
    """
    head = re.match(r"\s*select\b(?:\s+(?:distinct|all)\b)?", text, re.IGNORECASE)
    if head is None:
        return []
    found, depth = [""], 0
    for part in _PARTS.finditer(text, head.end()):
        word = part[0]
        depth += (word == "(") - (word == ")")
        if depth == 0 and word == ",":
            found.append("")
        elif depth == 0 and word.lower() in _ENDS:
            break
        else:
            found[-1] += word
    return [each.strip() for each in found]
