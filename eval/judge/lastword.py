"""The last word on a text: whether it tells of the right cause, weighed from all signs of it.

`lastword.txt` is made by `tests/eval/judge/learn_lastword.py` from labelled texts: what each wording says, what each
sign says by itself, and small trees over several. All arithmetic is of integers, in thousandths of a logit.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from simcluster.eval.judge.clauses import Known
from simcluster.eval.judge.reading import Reading
from simcluster.eval.judge.signs import signs
from simcluster.eval.judge.verdicts import Outcome
from simcluster.eval.judge.wording import wording

#: What is one, and the most spreads by which a sign counts.
UNIT, _SPREADS_MAX = 1000, 3
#: Signs that are told.
_SHOWN_MAX = 4
#: The sign that sums up the wording.
WORDS = "wording"
#: That which says whether the rules pass it.
PASSED = "rules pass"
#: What no weighing outvotes: signs that have to be there, or not, each with so much; and what is said then.
_TWO = ("other families", "blamed besides", "foreign accused")
_NOTHING = ("right most", "keys said", "told words")
#: Below such a share nothing speaks of the right kind of cause.
_HEARD_LEAST = 100


class LastWord(NamedTuple):
    """What all signs say together.

    Attributes:
        score: above nought it is rather right, in thousandths of a logit.
        says: `right` or `wrong` if that is sure enough, else `unclear`.
        why: the signs that say most.
    """

    score: int
    says: Outcome
    why: str


class Sign(NamedTuple):
    """How a sign counts by itself: all in thousandths."""

    name: str
    mean: int
    spread: int
    weight: int

    def says(self, value: int) -> int:
        """What a value says, in thousandths of a logit."""
        most = _SPREADS_MAX * UNIT
        return self.weight * max(-most, min(most, (value * UNIT - self.mean) * UNIT // self.spread)) // UNIT


#: A leaf, or a sign by its number, a cut, and what holds below it and from it on.
Tree = int | tuple[int, int, "Tree", "Tree"]


class Model(NamedTuple):
    """What was learned.

    Attributes:
        accept: the score from which on a text that the rules pass is right.
        overturn: that from which on one is that they do not pass; of new texts they pass too many.
        refuse: so much below either a text is wrong; what lies between is unclear.
        base: the score of a text without signs.
        words: what each wording says; `words_base` without any.
        signs: each by itself.
        trees: over several.
    """

    accept: int
    overturn: int
    refuse: int
    base: int
    words_base: int
    words: Mapping[str, int]
    signs: Sequence[Sign]
    trees: Sequence[Tree]

    def of_words(self, given: Iterable[Iterable[str]]) -> int:
        """What wordings of all sorts say together, in hundredths of a logit."""
        said = self.words_base
        for sort in given:
            known = [self.words[one] for one in sort if one in self.words]
            said += sum(known) * UNIT // max(1, math.isqrt(len(known) * UNIT * UNIT))  # integers
        return said // 10

    def says(self, given: Mapping[str, int]) -> tuple[int, list[tuple[int, str]]]:
        """The score of signs, and what each says by itself, the most against it first."""
        alone = sorted((one.says(given.get(one.name, 0)), one.name) for one in self.signs)
        values = [given.get(one.name, 0) for one in self.signs]
        return self.base + sum(said for said, _ in alone) + sum(
            _leaf(tree, values) for tree in self.trees
        ), alone  # integers


def _leaf(tree: Tree, values: Sequence[int]) -> int:
    while not isinstance(tree, int):
        number, cut, below, above = tree
        tree = below if values[number] < cut else above
    return tree


def parsed(text: str) -> Model:
    """A model from four parts that empty lines divide: scores, signs, trees, wordings below what they begin with."""
    scores, alone, trees, words = (part.split("\n") for part in text.rstrip("\n").split("\n\n", 3))
    accept, overturn, refuse, base, words_base = (int(line.split("\t")[1]) for line in scores)
    rows = [line.split("\t") for line in alone]
    found = [Sign(name, int(mean), int(spread), int(weight)) for name, mean, spread, weight in rows]
    return Model(
        accept,
        overturn,
        refuse,
        base,
        words_base,
        dict(_worded(words)),
        found,
        [_tree(iter(line.split(" "))) for line in trees],
    )


def _worded(lines: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Wordings with what they say; a line without a tab is what those below it begin with."""
    begun = ""
    for line in lines:
        name, tab, weight = line.partition("\t")
        if tab:
            yield begun + name, int(weight)
        else:
            begun = name


def _tree(steps: Iterable[str]) -> Tree:
    """`=12` is a leaf; `3:40` a cut, behind it both branches."""
    steps = iter(steps)
    step = next(steps)
    if step.startswith("="):
        return int(step[1:])
    number, cut = step.split(":")
    below = _tree(steps)
    return int(number), int(cut), below, _tree(steps)


@functools.cache
def model() -> Model:
    """That of `lastword.txt`."""
    return parsed(Path(__file__).with_name("lastword.txt").read_text(encoding="utf-8"))


def evidence(reading: Reading, known: Known, rules: Mapping[str, int]) -> tuple[dict[str, int], list[list[str]]]:
    """All signs of a text but its wording, and that."""
    return {**rules, **signs(reading, known)}, wording(reading, known)


def last_word(reading: Reading, known: Known, rules: Mapping[str, int]) -> LastWord:
    """Weigh all signs of a text.

    Args:
        reading: of a free text.
        known: what is so.
        rules: what the rules found, as signs.
    """
    learned = model()
    found, worded = evidence(reading, known, rules)
    score, alone = learned.says({**found, WORDS: learned.of_words(worded)})
    wanted = learned.accept if rules[PASSED] else learned.overturn
    says: Outcome = "right" if score >= wanted else "wrong" if score < wanted - learned.refuse else "unclear"
    doubt = _doubt(found)
    if says == "right" and doubt:
        return LastWord(score, "unclear", doubt)
    params = alone[:_SHOWN_MAX] if says != "right" else alone[: -_SHOWN_MAX - 1 : -1]
    named = ", ".join(
        f"{name} ({found.get(name, learned.of_words(worded) if name == WORDS else 0)})" for _, name in params
    )
    return LastWord(score, says, f"weighed {score / UNIT:+.1f}; {'for' if says == 'right' else 'against'} it: {named}")


def _doubt(found: Mapping[str, int]) -> str:
    """Why a text cannot be right however it is weighed; empty if it can be.

    >>> _doubt({"other families": 1, "blamed besides": 2, "foreign accused": 1, "right most": 900})
    'it gives a second cause, of another kind, to a component of its own'
    """
    if all(found.get(name, 0) > 0 for name in _TWO):
        return "it gives a second cause, of another kind, to a component of its own"
    most, *named = (found.get(name, 0) for name in _NOTHING)
    return "" if most >= _HEARD_LEAST or any(named) else "it names components and nothing that was changed"
