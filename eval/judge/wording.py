"""How a text words what it tells, with what is so put in place of names and amounts: what was learned to be said of the
right cause, and of others."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

from simcluster.eval.judge.clauses import Known
from simcluster.eval.judge.learned import STOP, fine_in, stem
from simcluster.eval.judge.particulars import Particulars
from simcluster.eval.judge.reading import Reading
from simcluster.eval.judge.sentence import Clause, Sentence
from simcluster.eval.judge.specifics import marked
from simcluster.eval.judge.tokens import normal, sentences, tokens

#: Sentences in which nothing is named that are looked at, and clauses of the others.
_REST_MAX, _CLAUSES_MAX = 40, 160
#: A clause says from such a share on, in thousandths, that all is in order.
_FINE = 700
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*[a-z]{0,6}")
_LETTERS_MIN = 4


def wording(reading: Reading, known: Known) -> list[str]:
    """What counts of the words of a text, each once: stems and pairs, by themselves, with the family and the fault."""
    names = marked(reading.raw)
    found: dict[str, None] = {}
    for words, fine in _clauses(reading, known, names):
        found |= dict.fromkeys(f"~{word}" if fine else word for word in words)
        found |= {f"{one} {other}": None for one, other in itertools.pairwise(words)}
    faults = known.truth.faults[:1]
    crossed = [f"{known.family}|{word}" for word in found]
    crossed += [f"{fault}||{word}" for fault in faults for word in found if " " not in word]
    return [*found, *crossed]


def _clauses(reading: Reading, known: Known, names: frozenset[str]) -> Iterator[tuple[list[str], bool]]:
    """Words of each clause, and whether it says that all is in order."""
    left = _CLAUSES_MAX
    for sentence in reading.parsed:
        for clause in sentence.clauses:
            if left:
                left -= 1
                fine = fine_in(sentence.words_of(clause)) >= _FINE
                yield list(_words(sentence, clause, known, names)), fine or clause.role in ("denied", "void")
    read = {one.text for one in reading.parsed}
    rest = [one for one in sentences(normal(reading.raw)) if one not in read]
    for one in rest[:_REST_MAX]:
        yield list(_plain((token.text for token in tokens(one[:600])), known.params, names)), False


def _words(sentence: Sentence, clause: Clause, known: Known, names: frozenset[str]) -> Iterator[str]:
    """Those of a clause, components by what they are in the incident."""
    named = {mention.start: mention for mention in sentence.mentions}
    at = clause.start
    while at < clause.end:
        mention = named.get(at)
        if mention is None:
            yield from _plain((sentence.found[at].text,), known.params, names)
        else:
            name = mention.name
            yield (
                "$own"
                if name in known.own
                else "$victim"
                if name in known.victims
                else "$told"
                if name.lower() in known.params.pieces
                else "$other"
            )
        at = at + 1 if mention is None else max(mention.end, at + 1)


def _plain(given: Iterable[str], params: Particulars, names: frozenset[str]) -> Iterator[str]:
    for text in given:
        if _DIGITS.fullmatch(text):
            yield "#told" if text in params.pieces else "#other"
        elif text in names:
            yield "$mark" if text in params.pieces or text in params.keys else "$nomark"
            yield stem(text)
        elif text not in STOP:
            yield stem(text)
            if len(text) > _LETTERS_MIN and (text in params.pieces or text in params.keys):
                yield "$said"
