"""The words in which mechanisms of failure are told, family by family."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from pydantic import Field

from simcluster.engine.content import Content, ContentError, UnknownName, load_content, read_document
from simcluster.faults import registry


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
    """Families, and words for what is seen without being a mechanism."""

    families: dict[str, Family]
    symptoms: dict[str, tuple[str, ...]] = Field(default_factory=dict)


@functools.cache
def vocabulary() -> Vocabulary:
    """The words of all families of faults, those of families that no mechanism owns, and symptoms.

    Raises:
        ContentError: a file is wrong, tells of a family that another tells of, or names an unknown consequence.
    """
    files = [Path(__file__).with_name("vocabulary.yaml")]
    files += [registry.folder_of(family) / "words.yaml" for family in registry.families()]
    read = {path: load_content(path, Vocabulary) for path in files if path.is_file()}
    families: dict[str, Family] = {}
    symptoms = {name: words for one in read.values() for name, words in one.symptoms.items()}
    for path, one in read.items():
        for name in one.families:
            if name in families:
                raise ContentError(path, read_document(path).line(("families", name)), f"{name} is told of elsewhere")
        families |= one.families
    for path, one in read.items():
        for name, family in one.families.items():
            for index, other in enumerate(family.consequences):
                if other not in families and other not in symptoms:
                    line = read_document(path).line(("families", name, "consequences", index))
                    raise ContentError(path, line, str(UnknownName("consequence", other, [*families, *symptoms])))
    return Vocabulary(families=dict(sorted(families.items())), symptoms=symptoms)


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
