"""The words in which mechanisms of failure are told, read from `vocabulary.yaml`."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from pydantic import model_validator

from simcluster.engine.content import Content, load_content, nearest


class Pattern(Content):
    """Every phrase of `all`, and one of `any` if there are any."""

    all: tuple[str, ...]
    any: tuple[str, ...] = ()


class Family(Content):
    """One mechanism of failure.

    Attributes:
        means: it in a few words.
        consequences: what may follow from it without being a cause of its own.
        patterns: ways to say it.
    """

    means: str
    consequences: tuple[str, ...] = ()
    patterns: tuple[Pattern, ...]


class Vocabulary(Content):
    """All families, and words for what is seen."""

    families: dict[str, Family]
    symptoms: dict[str, tuple[str, ...]]

    @model_validator(mode="after")
    def _closed(self) -> Vocabulary:
        known = [*self.families, *self.symptoms]
        for name, family in self.families.items():
            for other in family.consequences:
                if other not in known:
                    offer = ", ".join(nearest(other, known)) or ", ".join(sorted(known))
                    raise ValueError(f"{name} names the unknown consequence {other!r}; did you mean {offer}?")
        return self


@functools.cache
def vocabulary() -> Vocabulary:
    """The vocabulary of the package."""
    return load_content(Path(__file__).with_name("vocabulary.yaml"), Vocabulary)


@functools.cache
def phrase(text: str) -> re.Pattern[str]:
    """The regular expression of a phrase in normalised (lower-case) text."""
    words = [r"[\w']*".join(re.escape(part) for part in word.split("*")) for word in text.split(" ")]
    return re.compile(r"(?<![\w'])" + r"[\s_-]+".join(words) + r"(?![\w'])")


#: What in front of a mechanism's word takes it back: "not a selector problem", "no OOM kill".
_DENIAL = re.compile(
    r"(?:\bnot|\bno|n't|\bnever|\bneither|\bnor|\bwithout|\brather than|\binstead of|\bruled out)\s+"
    r"(?:(?:an?|the|any|about|due|to|caused|by|because|of|related)\s+)*$"
)


def claimed(clause: str) -> list[str]:
    """Families that a clause claims, in the order of the vocabulary."""
    return [name for name, family in vocabulary().families.items() if any(_says(p, clause) for p in family.patterns)]


def _says(pattern: Pattern, clause: str) -> bool:
    anchor = phrase(pattern.all[0])
    if not any(_DENIAL.search(clause[: match.start()]) is None for match in anchor.finditer(clause)):
        return False
    if not all(phrase(text).search(clause) for text in pattern.all[1:]):
        return False
    return not pattern.any or any(phrase(text).search(clause) for text in pattern.any)
