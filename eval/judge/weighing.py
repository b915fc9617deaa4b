"""Kinds of cause that words name, weighed against those of which the learned weights say that clauses speak.

Where a clause names none, that of which it most likely speaks is taken, if that is likely enough; where it names one of
which it hardly speaks, and surely of another, the other. A clause that says that all is in order denies what it names.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from simcluster.eval.judge.learned import NO_CAUSE, features, fine_in, spoken_in, stem, weights
from simcluster.eval.judge.sentence import Clause, Evidence, Sentence
from simcluster.eval.judge.vocabulary import vocabulary

#: From such a share on, in thousandths, a clause that names no kind of cause speaks of one.
HEARD = 700
#: A kind that is named has at least such a share, unless another is sure.
HARDLY, INSTEAD = 20, 950
#: Of what is claimed something else is the origin if a clause speaks of it with such a share.
SURELY = 800
#: And one that is denied is none if it is said to be in order.
FINE, DENIED = 850, 900

#: Of two kinds that are named one is only spoken of by the way if the text speaks so many times as much of the other.
TIMES, MUCH = 3, 800

#: A clause that begins so denies what it speaks of: "it isn't the webhook".
_NOT, _OPENING = frozenset(["not", "isn't", "wasn't", "aren't", "weren't", "neither", "nor"]), 3
#: What stands for components, of which alone nothing is said.
_NAMES = frozenset(["appx", "nodex"])
_CLAIMING = ("cause", "said", "aside")


def families_of(shares: Mapping[str, int]) -> dict[str, int]:
    """The shares of families, each with those of its ways."""
    found: dict[str, int] = {}
    for name, share in shares.items():
        family = name.split(" ")[0]
        found[family] = found.get(family, 0) + share
    return found


@functools.lru_cache(maxsize=4096)  # each clause is asked several times, and held against many truths
def heard_in(words: tuple[str, ...]) -> Mapping[str, int]:
    """The shares of families in a clause of words."""
    return families_of(spoken_in(words))


def weighed(sentence: Sentence) -> list[Evidence]:
    """What a sentence names, with what its clauses surely speak of in place of what they hardly do."""
    heard = [(clause, heard_in(sentence.words_of(clause))) for clause in sentence.clauses]
    return [_weighed(one, heard, sentence) for one in sentence.evidence]


def spoken(sentence: Sentence, least: int = 0) -> list[Evidence]:
    """What the clauses of a sentence most likely speak of, of each one kind of cause at most, from a share on.

    Nothing if it leaves a choice; what is denied or said to be in order is none.
    """
    found: list[Evidence] = []
    for clause in () if leaves_a_choice(sentence) else sentence.clauses:
        if not any(word in weights().of for word in map(stem, sentence.words_of(clause)) if word not in _NAMES):
            continue
        shares = heard_in(sentence.words_of(clause))
        best = max(shares, key=lambda name: shares[name])
        wanted = max(least or HEARD, DENIED if sentence.denies_within(clause) else 0)
        if clause.role not in _CLAIMING or best in NO_CAUSE or shares[best] < wanted:
            continue
        opening = {token.text for token in sentence.found[clause.start : clause.start + _OPENING]}
        if not sentence.acquits_within(clause) and not is_fine(sentence, clause) and not opening & _NOT:
            found.append(_evidence(sentence, clause, best))
    return found


def is_fine(sentence: Sentence, clause: Clause) -> bool:
    """Whether a clause says that what it speaks of is in order."""
    return fine_in(sentence.words_of(clause)) >= FINE


def in_order(sentence: Sentence) -> tuple[str, ...]:
    """Components that it names in no clause but such as say that all is in order."""
    named: dict[str, bool] = {}
    for clause in sentence.clauses:
        inside = [m.name for m in sentence.mentions if clause.start <= m.start < clause.end and not m.address]
        fine = bool(inside) and clause.role in _CLAIMING and is_fine(sentence, clause)
        named |= {name: fine and named.get(name, True) for name in inside}
    return tuple(name for name, fine in named.items() if fine)


def leaves_a_choice(sentence: Sentence) -> bool:
    """Whether it names several possibilities: "the kubelet or the kernel died"."""
    return sentence.maybe or any(token.text in ("or", "either") for token in sentence.found)


def speaks_of(parsed: Sequence[Sentence]) -> dict[str, int]:
    """Of which families the clauses of a text speak that say something, in shares of clauses."""
    found: dict[str, int] = {}
    for sentence in parsed:
        for clause in sentence.clauses:
            if clause.role in _CLAIMING:
                for name, share in heard_in(sentence.words_of(clause)).items():
                    found[name] = found.get(name, 0) + share
    return found


def said_aside(parsed: Sequence[Sentence], claimed: set[str]) -> set[str]:
    """Of the families that a text claims those of which it hardly speaks beside another; none of which nothing was
    learned, such as a package's own.
    """
    much = speaks_of(parsed)
    most = max((much.get(name, 0) for name in claimed), default=0)
    if most < MUCH or any(map(leaves_a_choice, parsed)):
        return set()
    return {name for name in claimed & weights_families() if much.get(name, 0) * TIMES < most}


def _weighed(one: Evidence, heard: Sequence[tuple[Clause, Mapping[str, int]]], sentence: Sentence) -> Evidence:
    over = [(clause, shares) for clause, shares in heard if clause.start < one.end and one.start < clause.end]
    if (
        one.role not in _CLAIMING
        or not over
        or one.family in vocabulary().others
        or leaves_a_choice(sentence)
        or one.family not in weights_families()
    ):
        return one
    if all(is_fine(sentence, clause) for clause, _ in over):
        return one._replace(role="denied")
    if any(shares.get(one.family, 0) >= HARDLY for _, shares in over):
        return one
    sure = [(clause, name) for clause, shares in over for name, share in shares.items() if share >= INSTEAD]
    sure = [(clause, name) for clause, name in sure if name not in NO_CAUSE]
    if not sure:
        return one
    _, name = sure[0]
    return one._replace(family=name, kinds=vocabulary().families[name].kinds)


def weights_families() -> frozenset[str]:
    """Families of which something was learned."""
    return frozenset(name.split(" ")[0] for name in weights().classes)


def _evidence(sentence: Sentence, clause: Clause, family: str) -> Evidence:
    """A kind of cause of which a clause speaks, at the word that says most of it."""
    known = weights()
    own = {number for number, name in enumerate(known.classes) if name.split(" ")[0] == family}

    def says(at: int) -> int:
        heard = (known.of.get(feature, ()) for feature in features([sentence.found[at].text]))
        return sum(weight for each in heard for number, weight in each if number in own)  # integers

    anchor = max(range(clause.start, clause.end), key=says)
    kinds = vocabulary().families[family].kinds
    return Evidence(family, clause.start, clause.end, anchor, clause.role, kinds)
