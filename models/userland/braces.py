"""Brace expansion of bash: `{a,b}` and `{1..9..2}` in unquoted parts of a word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from simcluster.models.userland.lexer import Part, Word
from simcluster.models.userland.outcome import Exhausted

#: Words that a process has memory for.
WORDS_MAX = 200_000
_RANGE = re.compile(r"(-?\d{1,18})\.\.(-?\d{1,18})(?:\.\.(-?\d{1,18}))?|([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d{1,9}))?")
_Item = Part | str  # a part that stays whole, or one unquoted character


def braced(word: Word) -> Iterator[Word] | tuple[Word]:
    """The words that a word with braces stands for, in their order.

    Raises:
        Exhausted: there are too many.
    """
    if not any(part[0] == "lit" and not part[2] and "{" in part[1] for part in word):
        return (word,)
    items: list[_Item] = []
    for part in word:
        if part[0] == "lit" and not part[2]:
            items += list(part[1])
        else:
            items.append(part)
    return (_word(found) for found in _expanded(items, 0))


def _expanded(items: list[_Item], depth: int) -> list[list[_Item]]:
    at = 0
    while True:
        place = _braces(items, at)
        if place is None or depth > 30:
            return [items]
        start, commas, stop = place
        if commas:
            edges = [start, *commas, stop]
            choices = [items[a + 1 : b] for a, b in pairwise(edges)]
            break
        inner = items[start + 1 : stop]
        text = "".join(item for item in inner if isinstance(item, str))
        match = _RANGE.fullmatch(text) if all(isinstance(item, str) for item in inner) else None
        if match is not None:
            choices = [list(each) for each in _range(match)]
            break
        at = start + 1
    found: list[list[_Item]] = []
    tails = _expanded(items[stop + 1 :], depth + 1)
    for choice in choices:
        for head in _expanded(choice, depth + 1):
            found += [[*items[:start], *head, *tail] for tail in tails]
            if len(found) > WORDS_MAX:
                raise Exhausted
    return found


def _braces(items: list[_Item], at: int) -> tuple[int, list[int], int] | None:
    """The first braces that close from a place on: where they open, their commas, where they close."""
    for start in range(at, len(items)):
        if items[start] != "{":
            continue
        depth = 0
        commas: list[int] = []
        for stop in range(start, len(items)):
            item = items[stop]
            if item == "{":
                depth += 1
            elif item == "}":
                depth -= 1
                if depth == 0:
                    return start, commas, stop
            elif item == "," and depth == 1:
                commas.append(stop)
    return None


def _range(match: re.Match[str]) -> list[str]:
    if match[4]:
        first, last, step = ord(match[4]), ord(match[5]), abs(int(match[6] or 1)) or 1
        return [chr(number) for number in _numbers(first, last, step)]
    first, last, step = int(match[1]), int(match[2]), abs(int(match[3] or 1)) or 1
    padded = any(len(text.lstrip("-")) > 1 and text.lstrip("-")[0] == "0" for text in (match[1], match[2]))
    width = max(len(match[1]), len(match[2])) if padded else 0
    if abs(last - first) // step > WORDS_MAX:
        raise Exhausted
    return [f"{number:0{width}d}" if width else str(number) for number in _numbers(first, last, step)]


def _numbers(first: int, last: int, step: int) -> range:
    return range(first, last + 1, step) if first <= last else range(first, last - 1, -step)


def _word(items: list[_Item]) -> Word:
    parts: list[Part] = []
    run = ""
    for item in items:
        if isinstance(item, str):
            run += item
            continue
        if run:
            parts.append(("lit", run, False))
            run = ""
        parts.append(item)
    if run:
        parts.append(("lit", run, False))
    return tuple(parts)
