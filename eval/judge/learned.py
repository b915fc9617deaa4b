"""What a clause most likely speaks of, by weights that were learned from phrases.

`weights.txt` is made by `tests/eval/judge/learn.py` from phrases and labelled texts: for each stem, end of a word and
pair of neighbours what it says for each class, in eighths of a doubling. A class is a family, or a family and a way of
it, or something that is no kind of cause: that something is in order, what is felt, what is to be done. All arithmetic
is of integers.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

#: Words that say nothing of a kind of cause.
_LITTLE = """the a an its it is are was were be been has have had of to in on at for and or by with that this which as
    so from there their they them he she we i you who will would do does did also just very , . : ; ( ) - — – = ! ?"""
STOP = frozenset(_LITTLE.split())
_SUFFIXES = ("ingly", "edly", "ings", "ing", "ies", "ied", "ed", "es", "ly", "s", "e", "y")
#: Words with fewer letters are their own stems, and stems keep as many.
_STEM_MIN = 3
#: Of words of so many letters the beginning and the end count, too.
_LONG, _PART = 6, 5
#: Classes that are no kind of cause.
NO_CAUSE = ("advice", "fine", "symptom", "vague")
#: `2 ** (-n / 8)` in 256ths.
_EIGHTHS = (256, 235, 215, 197, 181, 166, 152, 140)
#: What all shares of a clause sum to.
WHOLE = 1000


def stem(word: str) -> str:
    """A word without its ending.

    >>> [stem(word) for word in ("throttled", "throttling", "policies", "dropped", "oom")]
    ['throttl', 'throttl', 'polic', 'drop', 'oom']
    """
    if len(word) <= _STEM_MIN or not word.isascii():
        return word
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _STEM_MIN:
            word = word[: -len(suffix)]
            break
    return word[:-1] if len(word) > _STEM_MIN and word[-1] == word[-2] and word[-1] not in "sl" else word


def features(words: Sequence[str]) -> list[str]:
    """What counts of the words of a clause, each once: stems, parts of long words, pairs of neighbours.

    >>> features(["memory", "limit", "of", "appx"])
    ['memor', 'limit', 'appx', 'memor-', '-memor', 'memor limit', 'limit appx', 'memor . appx']
    """
    kept = [stem(word) for word in words if word not in STOP]
    found = dict.fromkeys(kept)
    for word in words:
        if len(word) >= _LONG and word.isascii() and word.isalpha():
            found[f"{word[:_PART]}-"] = None
            found[f"-{stem(word)[-_PART:]}"] = None
    found |= {f"{one} {other}": None for one, other in itertools.pairwise(kept)}
    found |= {f"{one} . {other}": None for one, other in zip(kept, kept[2:], strict=False)}
    return list(found)


class Weights(NamedTuple):
    """What each feature says for each class.

    Attributes:
        classes: their names; of a family and a way, the family first.
        of: by feature, pairs of the number of a class and eighths of doublings.
    """

    classes: tuple[str, ...]
    of: Mapping[str, tuple[tuple[int, int], ...]]

    def shares(self, words: Sequence[str]) -> dict[str, int]:
        """How likely each class is for a clause of words, in parts that sum to about `WHOLE`; none of nought."""
        sums = [0] * len(self.classes)
        for feature in features(words):
            for number, weight in self.of.get(feature, ()):
                sums[number] += weight
        best = max(sums)
        parts = [(_EIGHTHS[(best - one) % 8] << 16) >> ((best - one) // 8) for one in sums]
        total = sum(parts)  # integers
        return {
            name: WHOLE * part // total for name, part in zip(self.classes, parts, strict=True) if WHOLE * part >= total
        }


def parsed(lines: Iterable[str]) -> Weights:
    """Weights from lines: the classes, then `feature<TAB>number:weight …`."""
    rows = (line.rstrip("\n").split("\t") for line in lines)
    classes = tuple(next(rows))
    of = {}
    for feature, given in rows:
        pairs = (pair.split(":") for pair in given.split(" "))
        of[feature] = tuple((int(number), int(weight)) for number, weight in pairs)
    return Weights(classes, of)


@functools.cache
def _both() -> tuple[Weights, Weights]:
    lines = Path(__file__).with_name("weights.txt").read_text(encoding="utf-8").split("\n")
    gap = lines.index("")
    return parsed(lines[:gap]), parsed(line for line in lines[gap + 1 :] if line)


def weights() -> Weights:
    """What clauses speak of: the first part of `weights.txt`."""
    return _both()[0]


def order() -> Weights:
    """Whether they say that something is wrong or in order: the second."""
    return _both()[1]


@functools.lru_cache(maxsize=4096)
def spoken_in(words: tuple[str, ...]) -> Mapping[str, int]:
    """The shares of classes in a clause."""
    return weights().shares(words)


@functools.lru_cache(maxsize=4096)
def fine_in(words: tuple[str, ...]) -> int:
    """How likely a clause says that all is in order, in thousandths."""
    return order().shares(words).get("fine", 0)
