"""How a text words what it tells, with what is so put in place of names and amounts: what was learned to be said of the
right cause, and of others."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from simcluster.eval.judge.clauses import FINE, Known
from simcluster.eval.judge.learned import STOP, fine_in, stem
from simcluster.eval.judge.particulars import Particulars
from simcluster.eval.judge.reading import Reading
from simcluster.eval.judge.sentence import Clause, Sentence
from simcluster.eval.judge.specifics import marked
from simcluster.eval.judge.tokens import Token, normal, sentences, tokens
from simcluster.eval.judge.values import amount_at, same

#: Sentences in which nothing is named that are looked at, clauses of the others, and characters of a sentence.
_REST_MAX, _CLAUSES_MAX, _SENTENCE_MAX = 40, 160, 600
#: In front of what is said to be in order, or not so.
DENIED = "~"
#: In front of words that are among those of which the faults are made, and of those that may be and are not.
KNOWN, ABSENT = "+", "-"


def wording(reading: Reading, known: Known) -> list[list[str]]:
    """What counts of the words of a text, each once, by sort: stems, pairs, both with the family, stems with the fault,
    and whether they are of the words of the record of what was changed."""
    names = marked(reading.raw)
    alone: dict[str, None] = {}
    pairs: dict[str, None] = {}
    given: dict[str, None] = {}
    parts = known.params.parts
    for words, denied in _clauses(reading, known, names):
        before = DENIED if denied else ""
        alone |= dict.fromkeys(before + word for word in words)
        pairs |= {f"{before}{one} {other}": None for one, other in itertools.pairwise(words)}
        given |= {f"{before}{KNOWN if word in parts else ABSENT}{word}": None for word in words if word.isalpha()}
    family, fault = known.family, "".join(known.truth.faults[:1])
    return [
        [*alone],
        [*pairs],
        [f"{family}|{word}" for word in alone],
        [f"{family}|{pair}" for pair in pairs],
        [f"{fault}||{word}" for word in alone] if fault else [],
        [*given],
    ]


def _clauses(reading: Reading, known: Known, names: frozenset[str]) -> Iterator[tuple[list[str], bool]]:
    """Words of each clause, and whether it says that all is in order, or denies it."""
    left = _CLAUSES_MAX
    for sentence in reading.parsed:
        for clause in sentence.clauses:
            if left:
                left -= 1
                yield list(_words(sentence, clause, known, names)), _is_denied(sentence, clause)
    read = {one.text for one in reading.parsed}
    rest = [one for one in sentences(normal(reading.raw)) if one not in read]
    for one in rest[:_REST_MAX]:
        found = tokens(one[:_SENTENCE_MAX])
        fine = fine_in(tuple(token.text for token in found)) >= FINE
        yield list(_plain(one, found, known.params, names)), fine


def _is_denied(sentence: Sentence, clause: Clause) -> bool:
    if clause.role in ("denied", "void") or fine_in(sentence.words_of(clause)) >= FINE:
        return True
    return sentence.denies_within(clause) or sentence.acquits_within(clause)


def _words(sentence: Sentence, clause: Clause, known: Known, names: frozenset[str]) -> Iterator[str]:
    """Those of a clause, components by what they are in the incident."""
    named = {mention.start: mention for mention in sentence.mentions}
    at = clause.start
    while at < clause.end:
        mention = named.get(at)
        if mention is None:
            yield from _plain(sentence.text, sentence.found[at : at + 1], known.params, names)
        else:
            yield _part_of(mention.name, known)
        at = at + 1 if mention is None else max(mention.end, at + 1)


def _part_of(name: str, known: Known) -> str:
    """What a component is in the incident: the origin, one that the faults were told of, a victim."""
    if name in known.own:
        return "$own"
    is_known = name.lower() in known.params.pieces
    if name in known.victims:
        return "$both" if is_known else "$victim"
    return "$told" if is_known else "$other"


def _plain(text: str, given: Sequence[Token], params: Particulars, names: frozenset[str]) -> Iterator[str]:
    for token in given:
        word = token.text
        if word[0].isdigit():
            yield "#told" if _is_given(text, token, params) else "#other"
        elif word in names:
            yield "$mark" if word in params.pieces or word in params.keys else "$nomark"
            yield stem(word)
        elif word not in STOP:
            yield stem(word)


def _is_given(text: str, token: Token, params: Particulars) -> bool:
    """Whether an amount, with the unit behind it, is one that the faults were told."""
    if token.text in params.pieces:
        return True
    found = amount_at(text, token.start)
    return found is not None and any(same(found, other) for other in params.numbers)
