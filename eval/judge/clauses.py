"""The clauses of a text, each with what it speaks of, and the incident against which they are held."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from simcluster.eval.judge.learned import fine_in, spoken_in
from simcluster.eval.judge.particulars import Particulars, particulars
from simcluster.eval.judge.reading import Reading
from simcluster.eval.judge.sentence import Clause, Sentence
from simcluster.eval.judge.tokens import QUOTE
from simcluster.eval.judge.vocabulary import vocabulary
from simcluster.eval.judge.weighing import families_of
from simcluster.tasks.model import Truth

#: Clauses that are looked at.
_CLAUSES_MAX = 160
CLAIMING = ("cause", "said", "aside")
#: A clause that speaks of a kind of cause with such a share is about it.
ABOUT = 250
#: From such a share on it says that all is in order.
FINE = 700
MANY = 9
ACQUIT = re.compile(
    r"\b(?:plays? no|nothing to do|not (?:involved|the cause|related|affected|wrong|touched|changed)|unrelated|"
    r"innocent|ruled out|exonerat\w+|verified|checked|fine|healthy|correct|untouched|unchanged|as it should|"
    r"as always|default|normal|intact|ok|okay|works|good)\b"
)
NOT = re.compile(
    r"\b(?:no|not|never|without|nothing|none|isn't|wasn't|aren't|weren't|doesn't|don't|didn't|hasn't|nor|neither|off|"
    r"nicht|kein\w*|pas|sin)\b"
)
ONLY = re.compile(r"\b(?:only|just|alone|itself|all|every|whole|any|each|both|nothing|none|nobody|no)\b")


class Heard(NamedTuple):
    """A clause: the words of it, what it speaks of, and how likely it says that all is in order."""

    sentence: Sentence
    clause: Clause
    text: str
    families: Mapping[str, int]
    classes: Mapping[str, int]
    fine: int
    names: tuple[str, ...]

    @property
    def claims(self) -> bool:
        """Whether it is said, and not that all is in order."""
        return self.clause.role in CLAIMING and self.fine < FINE


class Known(NamedTuple):
    """What a text is held against."""

    truth: Truth
    family: str
    own: Collection[str]
    victims: Collection[str]
    params: Particulars
    allowed: Collection[str]
    also: Collection[str] = ()


def heard(reading: Reading) -> list[Heard]:
    """The clauses of a text, each weighed."""
    found: list[Heard] = []
    for sentence in reading.parsed:
        for clause in sentence.clauses:
            if len(found) == _CLAUSES_MAX:
                return found
            words = sentence.words_of(clause)
            shares = spoken_in(words)
            begun, ended = sentence.found[clause.start].start, sentence.found[clause.end - 1].end
            names = tuple(m.name for m in sentence.mentions if clause.start <= m.start < clause.end and not m.address)
            fine = fine_in(words)
            text = sentence.text[begun:ended].replace(QUOTE, " ")
            found.append(Heard(sentence, clause, text, families_of(shares), shares, fine, names))
    return found


def percent(part: int, whole: int) -> int:
    """A share in percent, rounded down; of nothing, nought."""
    return 100 * part // whole if whole else 0


def held_against(
    truth: Truth,
    family: str,
    own: Collection[str],
    victims: Collection[str],
    params: Sequence[tuple[str, str]],
    also: Collection[str] = (),
) -> Known:
    """What is so, ready to hold texts against it; `also` are other kinds of cause at work in the same incident."""
    given = particulars([*params, *truth.details.items()], truth.faults)
    allowed = {family, *vocabulary().families[family].consequences, *also}
    return Known(truth, family, own, victims, given, allowed, sorted({*also} - {family}))
