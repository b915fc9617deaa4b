"""Values in colours, as jq 1.6 prints them with `-C`. Source: `jv_print.c`."""

from __future__ import annotations

from typing import Any

from simcluster.models.userland.outcome import ROOM, Exhausted
from simcluster.models.userland.tools.jqvalues import kind_of, written

_COLOURS = {"null": "1;30", "boolean": "0;39", "number": "0;39", "string": "0;32", "array": "1;39", "object": "1;39"}
_KEY, _END = "\x1b[34;1m", "\x1b[0m"


def coloured(value: Any, indent: int | str, *, sort: bool, depth: int = 0) -> str:
    r"""A value as JSON in colours.

    >>> coloured([1], 0, sort=False)
    '\x1b[1;39m[\x1b[0;39m1\x1b[0m\x1b[1;39m\x1b[1;39m]\x1b[0m'
    """
    if depth > 256:
        raise Exhausted
    colour = f"\x1b[{_COLOURS[kind_of(value)]}m"
    if not isinstance(value, list | dict) or not value:
        return f"{colour}{written(value)}{_END}"
    step = indent if isinstance(indent, str) else " " * indent
    lead, tail = (f"\n{step * (depth + 1)}", f"\n{step * depth}") if step else ("", "")
    if isinstance(value, list):
        inner, signs = [coloured(one, indent, sort=sort, depth=depth + 1) for one in value], "[]"
    else:
        colon = f"{colour}:{' ' if step else ''}{_END}"
        inner = [
            f"{_END}{_KEY}{written(name)}{_END}{colon}{coloured(value[name], indent, sort=sort, depth=depth + 1)}"
            for name in (sorted(value) if sort else value)
        ]
        signs = "{}"
    text = f"{colour}{signs[0]}{lead}" + f"{colour},{lead}".join(inner) + f"{colour}{tail}{colour}{signs[1]}{_END}"
    if len(text) > ROOM:
        raise Exhausted
    return text
