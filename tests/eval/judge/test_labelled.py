"""How far the judge agrees with careful readers.

`pytest -s tests/eval/judge/test_labelled.py -k families` prints it family by family.
"""

from __future__ import annotations

import functools
import itertools

import pytest

from simcluster.eval.judge.judge import family_of, questioned, reading_of
from tests.eval.judge.labelled_set import UNSEEN, Agreement, Case, agreement, cases, first_contact

#: At most so many of the wrong may be accepted, and of the right refused.
WRONG_MAX, RIGHT_MAX = 0.03, 0.08
#: Of the right of the half that is held back more are, since one word for all sets weighs near misses.
HELD_RIGHT_MAX = 0.09
#: Files of texts by the order in which the reader met them.
NUMBERS: tuple[str, ...] = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
)
NUMBERS += ("eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth")
NUMBERS += ("seventeenth", "eighteenth", "nineteenth", "twentieth", "twentyfirst", "twentysecond", "twentythird")
NUMBERS += ("twentyfourth", "twentyfifth", "twentysixth", "twentyseventh", "twentyeighth", "twentyninth", "thirtieth")
NUMBERS += ("thirtyfirst", "thirtysecond", "thirtythird", "thirtyfourth", "thirtyfifth", "thirtysixth", "thirtyseventh")
NUMBERS += ("thirtyeighth", "thirtyninth")
CONTACTS = tuple(f"{number}_contact" for number in NUMBERS)
#: So many of the later and of the last files, and with the set the first ones of all, are read without `--whole`.
FILES, FIRST = 4, 3


def measured(half: str) -> tuple[Agreement, int, int]:
    over = [case for case in cases() if case.half == half]
    right = sum(case.label == "right" for case in over)  # integers
    return agreement(over, passes), right, len(over) - right


def passes(case: Case) -> bool:
    return _judged(Key(case))


class Key:
    """A case of the set, each of which there is once: what it holds need not be hashed."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def __hash__(self) -> int:
        return id(self.case)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and other.case is self.case


@functools.cache
def _judged(key: Key) -> bool:
    case = key.case
    return questioned(reading_of(case.text, (*case.inventory, case.truth.component)), case.truth, case.beside).passed


def test_the_set_is_large_and_wide_and_split_by_incident() -> None:
    assert len(cases()) >= 500
    assert len({family_of(case.truth) for case in cases()}) >= 20
    halves = {half: {case.incident for case in cases() if case.half == half} for half in ("tuned", "held")}
    assert halves["tuned"].isdisjoint(halves["held"])
    assert min(map(len, halves.values())) >= 10
    assert {case.half for case in cases()} == set(halves)


@pytest.mark.parametrize("half", ["tuned", "held"])
def test_the_judge_agrees_with_the_labels(half: str) -> None:
    found, right, wrong = measured(half)
    names = [*(f"accepted {c.name}" for c in found.accepted), *(f"refused {c.name}" for c in found.refused)]
    shown = "\n".join(names) if half == "tuned" else "who looks at these, tunes on them"
    assert found.kappa >= 0.9, shown
    assert len(found.accepted) <= WRONG_MAX * wrong, shown
    assert len(found.refused) <= (RIGHT_MAX if half == "tuned" else HELD_RIGHT_MAX) * right, shown


def test_families_are_read_alike(request: pytest.FixtureRequest) -> None:
    """Printed; of no family are more than a quarter of the texts read otherwise than a careful reader does."""
    families: dict[str, list[Case]] = {}
    contacts = CONTACTS if request.config.getoption("--whole") else CONTACTS[:FIRST]
    for case in (*cases(), *itertools.chain.from_iterable(map(first_contact, contacts))):
        families.setdefault(family_of(case.truth), []).append(case)
    assert len(families) >= 20
    for family, over in sorted(families.items()):
        found, right = agreement(over, passes), sum(case.label == "right" for case in over)  # integers
        accepted, refused = f"{len(found.accepted)}/{len(over) - right}", f"{len(found.refused)}/{right}"
        print(f"{family:22} {len(over):4} texts, kappa {found.kappa:5.2f}, accepted {accepted}, refused {refused}")
        assert len(found.accepted) + len(found.refused) <= len(over) / 4, family


def test_words_that_the_reader_had_not_met() -> None:
    """At first contact kappa .857, 0 of 20 wrong ones accepted, 4 of 40 right ones refused; now 1.0, 0, 0."""
    over = first_contact()
    found = agreement(over, passes)
    assert (len(over), len({family_of(case.truth) for case in over}) >= 18) == (60, True)
    assert not found.accepted
    assert len(found.refused) <= 1, [case.name for case in found.refused]


def test_words_of_incidents_that_the_set_had_not() -> None:
    """At first contact 0 of 58 wrong ones accepted, 40 of 87 right ones refused; now 0, 3."""
    over = first_contact("second_contact")
    found = agreement(over, passes)
    right = sum(case.label == "right" for case in over)  # integers
    assert (right, len(over), len({family_of(case.truth) for case in over}) >= 25) == (87, 145, True)
    assert not found.accepted
    assert len(found.refused) <= 0.04 * right, [case.name for case in found.refused]


def test_texts_of_pagers_and_postmortems_and_in_other_tongues() -> None:
    """At first contact kappa .566, 1 of 28 wrong ones accepted, 12 of 31 right ones refused; now .966, 1, 0.

    The one that passes names the right component and a cause of the right family which is another one: a broken
    interface where nothing is forwarded.
    """
    over = first_contact("third_contact")
    found = agreement(over, passes)
    assert (len(over), len({family_of(case.truth) for case in over}) >= 12) == (59, True)
    assert len(found.accepted) <= 2, [case.text for case in found.accepted]
    assert len(found.refused) <= 1, [case.text for case in found.refused]


#: Of a file of texts: how many there are right and wrong, and at most how many wrong ones pass and right ones do not.
#: At first contact, in this order: kappa .764, 3 and 18; .870, 1 and 11; .807, 4 and 9; .770, 8 and 11; .723, 3 and 17;
#: .847, 4 and 14; .788, 2 and 12 (four of which were mistakes of the labels, mended since). Of the last five, each
#: met after the mends for the one before, victims beside: .725, 3 and 19; .833, 3 and 6; .800, 1 and 7; .738, 7 and 14;
#: .556, 8 and 16 (one of which was a mistake of the set). Now the last word is learned from them, too.
LATER = {
    "fourth_contact": (89, 89, 0, 1),
    "fifth_contact": (90, 94, 0, 1),
    "sixth_contact": (66, 69, 0, 2),
    "seventh_contact": (74, 94, 1, 1),
    "eighth_contact": (70, 76, 0, 0),
    "ninth_contact": (118, 118, 0, 2),
    "tenth_contact": (66, 66, 0, 3),
    "eleventh_contact": (80, 80, 0, 2),
    "twelfth_contact": (54, 54, 0, 0),
    "thirteenth_contact": (40, 40, 0, 0),
    "fourteenth_contact": (80, 80, 0, 2),
    "fifteenth_contact": (54, 54, 0, 0),
}

#: Families of a file that has fewer than the others.
FAMILIES_MIN = {
    "tenth_contact": 23,
    "eleventh_contact": 20,
    "twelfth_contact": 12,
    "thirteenth_contact": 10,
    "fifteenth_contact": 24,
}


def read_no_worse(name: str, counted: tuple[int, int, int, int]) -> Agreement:
    """A file holds so many right and wrong texts, of which at most so many pass, and do not."""
    over, (right, wrong, accepted_max, refused_max) = first_contact(name), counted
    found = agreement(over, passes)
    assert (sum(case.label == "right" for case in over), len(over)) == (right, right + wrong)  # integers
    assert len(found.accepted) <= accepted_max, [case.text for case in found.accepted]
    assert len(found.refused) <= refused_max, [case.text for case in found.refused]
    return found


@pytest.mark.slow(sample=FILES)
@pytest.mark.parametrize("name", LATER)
def test_texts_in_many_hands(name: str) -> None:
    """Terse notes, models' prose and tables, tickets, chains, near misses, seven languages; split by task."""
    found = read_no_worse(name, LATER[name])
    assert len({family_of(case.truth) for case in first_contact(name)}) >= FAMILIES_MIN.get(name, 25)
    assert found.kappa >= (0.9 if LATER[name][0] > 40 else 0.8)


#: Of files of texts that were met last how many are right and wrong, and at most how many of these are read otherwise.
#: At first contact, by the rules alone: kappa .500, 17 and 23; .616, 30 and 13; .545, 30 and 21; .583, 19 and 21; by a
#: last word that was learned from those four: .788, 15 and 7; .827, 17 and 1; .779, 12 and 11; .706, 22 and 18; .757,
#: 18 and 15; .638, 31 and 19; .750, 12 and 8; by one learned from all of these: .833, 9 and 14; .787, 13 and 16;
#: .787, 12 and 17; .877, 8 and 9; .669, 31 and 14; .669, 15 and 30; .604, 24 and 41; .756, 12 and 28; .780, 19 and 14;
#: .780, 12 and 24; .634, 21 and 39. Now all are learned from.
LAST = {
    "sixteenth_contact": (80, 80, 1, 3),
    "seventeenth_contact": (112, 112, 0, 1),
    "eighteenth_contact": (112, 112, 1, 5),
    "nineteenth_contact": (96, 96, 0, 0),
    "twentieth_contact": (104, 104, 0, 1),
    "twentyfirst_contact": (104, 104, 0, 0),
    "twentysecond_contact": (104, 104, 0, 3),
    "twentythird_contact": (136, 136, 0, 0),
    "twentyfourth_contact": (136, 136, 0, 2),
    "twentyfifth_contact": (138, 138, 0, 3),
    "twentysixth_contact": (80, 80, 0, 0),
    "twentyseventh_contact": (138, 138, 0, 5),
    "twentyeighth_contact": (136, 136, 0, 1),
    "twentyninth_contact": (136, 136, 0, 1),
    "thirtieth_contact": (138, 138, 0, 0),
    "thirtyfirst_contact": (136, 136, 0, 5),
    "thirtysecond_contact": (136, 136, 0, 2),
    "thirtythird_contact": (164, 164, 0, 10),
    "thirtyfourth_contact": (164, 164, 0, 3),
    "thirtyfifth_contact": (150, 150, 1, 1),
    "thirtysixth_contact": (164, 164, 0, 0),
    "thirtyseventh_contact": (164, 164, 0, 7),
}


@pytest.mark.slow(sample=FILES)
@pytest.mark.parametrize("name", LAST)
def test_texts_that_were_met_last(name: str) -> None:
    """Near misses by one value, and mechanisms told in pictures ("gives birth to children and buries none")."""
    read_no_worse(name, LAST[name])


#: Of each of `UNSEEN`: texts right and wrong, wrong ones that pass and right ones that do not. One in 27 of either; all
#: wrong ones are near misses.
MET_ONCE = {
    "thirtyeighth_contact": (82, 82, 2, 3),
    "thirtyninth_contact": (82, 82, 4, 3),
}


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("name", UNSEEN)
def test_hands_that_nothing_was_learned_from(name: str) -> None:
    """What a diagnosis by somebody else may expect."""
    read_no_worse(name, MET_ONCE[name])


def test_agreement_by_chance_is_none() -> None:
    over = cases()[:200]
    assert abs(agreement(over, lambda case: len(case.text) % 2 == 0).kappa) < 0.2
    assert agreement(over, lambda case: case.label == "right").kappa == 1.0
