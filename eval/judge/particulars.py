"""What is known of an incident besides its truth: what its faults were told, as names, words and amounts.

A Service's port, the key of a taint, whose name is refused: a text that tells of the right kind of cause and of another
port, key or name tells of another cause.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from simcluster.eval.judge.learned import stem
from simcluster.eval.judge.values import amounts

#: Leaves of parameters that are looked at, and characters of each.
_LEAVES_MAX, _LEAF_MAX = 200, 400
#: Where values are cut into pieces.
_CUT = re.compile(r"[\s\"'`,;(){}\[\]=<>|&]+")
_PIECE = re.compile(r"[:/@.]+")
#: Steps of paths that every object has.
_PLAIN_STEPS = """spec template metadata containers labels annotations data value name values set patch create run file
    content replace append restart items rules op path type kind object"""
_PLAIN = frozenset(_PLAIN_STEPS.split())
_STEP = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_LETTERS_MIN = 2
#: Words of which names are made: `storageClassName`, `one_way`.
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


class Particulars(NamedTuple):
    """What faults were told, in lower case.

    Attributes:
        whole: values that are one word each.
        pieces: what values are made of.
        keys: steps of paths and names of settings.
        numbers: amounts among them.
        parts: stems of the words of which all names are made.
    """

    whole: frozenset[str] = frozenset()
    pieces: frozenset[str] = frozenset()
    keys: frozenset[str] = frozenset()
    numbers: tuple[float, ...] = ()
    parts: frozenset[str] = frozenset()


def leaves(given: Any) -> list[tuple[str, str]]:
    """Paths and values of nested parameters; what is not set is none.

    >>> leaves({"set": {"spec.port": 80}, "loss": 0.0, "to": ("web",)})
    [('set spec.port', '80'), ('to', 'web')]
    """
    found: list[tuple[str, str]] = []
    stack: list[tuple[str, Any]] = [("", given)]
    while stack and len(found) < _LEAVES_MAX:
        key, value = stack.pop(0)
        if isinstance(value, Mapping):
            stack = [(f"{key} {name}".strip(), item) for name, item in value.items()] + stack
        elif isinstance(value, (list, tuple)):
            stack = [(key, item) for item in value] + stack
        elif value not in (None, "", 0, False):
            found.append((key, str(value)[:_LEAF_MAX]))
    return found


def particulars(given: Iterable[tuple[str, str]], faults: Iterable[str] = ()) -> Particulars:
    """Words and amounts of paths and values; of the names of faults the parts alone."""
    whole: set[str] = set()
    pieces: set[str] = set()
    keys: set[str] = set()
    numbers: list[float] = []
    parts = {stem(part) for fault in faults for part in fault.split("_")}
    for key, value in given:
        parts |= {stem(part.lower()) for part in _PART.findall(f"{key} {value}")}
        keys |= {step.lower() for step in _STEP.findall(key)}
        words = [word.strip(".:-/").lower() for word in _CUT.split(value)]
        words = [word for word in words if word]
        whole |= {word for word in words if len(word) >= _LETTERS_MIN or word.isdigit()}
        for word in words:
            pieces |= {piece for piece in _PIECE.split(word) if len(piece) >= _LETTERS_MIN or piece.isdigit()}
            found = amounts(word)
            numbers += found
        if key.endswith("_ms"):
            numbers += [one / 1000 for one in amounts(value)]
    return Particulars(
        frozenset(whole), frozenset(pieces | whole), frozenset(keys - _PLAIN), tuple(numbers), frozenset(parts)
    )
