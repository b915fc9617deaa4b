"""Lines, numbers and sizes, as several tools read and write them."""

from __future__ import annotations

import re

from simcluster.models.userland.outcome import ROOM, Exhausted

_SUFFIXES = {
    "": 1,
    "b": 512,
    "c": 1,
    "w": 2,
    "K": 1 << 10,
    "k": 1 << 10,
    "M": 1 << 20,
    "m": 1 << 20,
    "G": 1 << 30,
    "T": 1 << 40,
    "kB": 1000,
    "KB": 1000,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
}


def split_lines(text: str, end: str = "\n") -> list[str]:
    """Lines without their ends.

    >>> split_lines("a\\nb"), split_lines("a\\n\\n"), split_lines("")
    (['a', 'b'], ['a', ''], [])
    """
    lines = text.split(end)
    if not lines[-1]:
        lines.pop()
    return lines


def kept_lines(text: str, end: str = "\n") -> list[str]:
    """Lines with their ends; the last one may have none."""
    lines = [line + end for line in text.split(end)]
    lines[-1] = lines[-1][: -len(end)]
    if not lines[-1]:
        lines.pop()
    return lines


def size_of(text: str) -> int | None:
    """A size with its suffix, in bytes; None if it is none.

    >>> size_of("2K"), size_of("x")
    (2048, None)
    """
    match = re.fullmatch(r"(\d{1,18})([A-Za-z]*)", text, re.ASCII)
    factor = _SUFFIXES.get(match[2]) if match is not None else None
    return None if match is None or factor is None else int(match[1]) * factor


def cut(out: list[str]) -> None:
    """Look whether what is to be printed still has room.

    Raises:
        Exhausted: it has not.
    """
    if len("".join(out)) > 2 * ROOM:
        raise Exhausted


def human(size: int, base: int = 1024) -> str:
    """A size as `ls -h` and `du -h` write it: rounded up.

    >>> human(1536), human(999), human(20 << 20)
    ('1.5K', '999', '20M')
    """
    if size < base:
        return str(size)
    rank, scale = 0, base
    while size >= scale * base and rank < 4:
        rank, scale = rank + 1, scale * base
    unit = "KMGTP"[rank]
    tenths = -(-size * 10 // scale)
    if tenths < 100:
        return f"{tenths // 10}.{tenths % 10}{unit}"
    whole = -(-size // scale)
    return f"{whole}{unit}"
