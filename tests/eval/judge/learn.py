"""Learns `eval/judge/weights.txt`: `python -m tests.eval.judge.learn [--without SET]... [--out FILE]`.

From phrases (`phrases/*.txt`: a class in brackets, then a phrase a line; `$w` is a workload, `$n` a node), from the
words of the families, which say the same with less weight, and from those clauses of labelled texts that the phrases
alone already take for the family of which they tell; never from the half that is held back. A linear model over the
features of `learned`, by maximum likelihood with a penalty; its weights are rounded to eighths of a doubling, those
that round to nought are left out.
"""

from __future__ import annotations

import argparse
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import yaml
from scipy import sparse
from scipy.optimize import minimize

from simcluster.eval.judge import learned
from simcluster.eval.judge.entities import roster
from simcluster.eval.judge.judge import family_of
from simcluster.eval.judge.learned import Weights, features, parsed
from simcluster.eval.judge.reading import as_text
from simcluster.eval.judge.sentence import Sentence
from simcluster.eval.judge.tokens import normal, sentences, tokens
from simcluster.eval.judge.vocabulary import vocabulary
from tests.eval.judge.labelled_set import Case, cases, first_contact

_HEAD = re.compile(r"\[([a-z_ ]+)\]")
#: The penalty of a weight of one is half of one over this.
_SPREAD = 3.0
_STEPS, _FIRST_STEPS = 45, 15
#: What a phrase made of the words of a family counts, and of how many of each pattern.
_WORDS, _PER_PATTERN = 0.3, 8
#: A clause of a right text is learned from if phrases alone give its family such a share.
_SURE = 150
#: `log(2) / 8`: the unit of the weights.
_UNIT = float(np.log(2.0)) / 8


#: Of what may be said to be in order such a share is drawn, and what the bare thing counts as wrong.
_DRAWN, _ALONE = 0.15, 5.0


class Example(NamedTuple):
    """Words, the class that they belong to, and how much they count."""

    label: str
    words: Sequence[str]
    counts: float = 1.0


def phrases() -> Iterator[Example]:
    """Those of `phrases/*.txt`."""
    for path in sorted(Path(__file__).with_name("phrases").glob("*.txt")):
        label = ""
        for line in filter(str.strip, path.read_text(encoding="utf-8").splitlines()):
            head = _HEAD.fullmatch(line.strip())
            if head:
                label = head[1]
            else:
                text = line.replace("$w", "appx").replace("$n", "nodex").replace("$o", "")
                yield Example(label, [token.text for token in tokens(normal(text))])


def polar(given_words: Sequence[Example]) -> Iterator[Example]:
    """Whether something is said to be wrong, or to be in order: of the same things, so that these say neither."""
    of, says = yaml.safe_load((Path(__file__).with_name("phrases") / "order.yaml").read_text(encoding="utf-8")).values()
    drawn = Random(1)
    for one, other in itertools.product(of, says):
        if drawn.random() < _DRAWN:
            text = f"{one} {other}".replace("$w", "appx").replace("$n", "nodex")
            yield Example("fine", [token.text for token in tokens(normal(text))])
    for one in given_words:
        if one.label == "fine":
            yield one
        elif one.label not in ("advice", "vague"):
            yield one._replace(label="wrong")
    for one in of:
        text = one.replace("$w", "appx").replace("$n", "nodex")
        yield Example("wrong", [token.text for token in tokens(normal(text))], _ALONE)


def of_words() -> Iterator[Example]:
    """Phrases made of the words of families."""
    for name, family in vocabulary().families.items():
        found = {}
        for pattern in (plain for one in family.patterns for plain in one.plain()):
            rest = pattern.any or ("",)
            step = max(1, len(rest) // _PER_PATTERN)
            found |= {" ".join([*pattern.all, one]): None for one in rest[::step][:_PER_PATTERN]}
        for phrase in dict.fromkeys([*found, *family.topics, *family.hints]):
            yield Example(name, [token.text for token in tokens(normal(phrase.replace("*", "")))], _WORDS)


def of_texts(given: Sequence[Case], known: Weights) -> Iterator[Example]:
    """Clauses of texts that phrases already take for the family that they tell of.

    Of right texts that is their incident's; of wrong ones what they name in words of the family.
    """
    for case in given:
        family, there = family_of(case.truth), roster(tuple(dict.fromkeys((*case.inventory, case.truth.component))))
        for sentence in sentences(normal(as_text(case.text))):
            one = Sentence(sentence, there)
            for clause in one.clauses:
                if clause.role not in ("cause", "said", "aside"):
                    continue
                named = {
                    e.family for e in one.evidence if clause.start <= e.anchor < clause.end and e.role == clause.role
                }
                words = one.words_of(clause)
                shares = known.shares(words)
                meant = {family} if case.label == "right" else named
                own = {name: share for name, share in shares.items() if name.split()[0] in meant}
                if sum(own.values()) >= _SURE:  # integers
                    yield Example(max(own, key=lambda name: own[name]), words)


def fitted(examples: Sequence[Example], steps: int = _STEPS) -> list[str]:
    """The lines of the weights learned from examples."""
    kept = [features(one.words) for one in examples]
    seen = Counter(name for each in kept for name in each)
    names = sorted(name for name in seen if seen[name] > 1 or " " not in name)
    classes = sorted({one.label for one in examples})
    at, number = {name: i for i, name in enumerate(names)}, {name: i for i, name in enumerate(classes)}
    pairs = [(row, at[name]) for row, each in enumerate(kept) for name in each if name in at]
    rows, columns = zip(*pairs, strict=True)
    shape = (len(examples), len(names))
    given: Any = sparse.csr_matrix((np.ones(len(pairs)), (rows, columns)), shape=shape)
    turned = given.T.tocsr()
    right = np.array([number[one.label] for one in examples])
    counts = np.array([one.counts for one in examples])
    every = np.arange(len(examples))

    def loss(flat: Any) -> tuple[float, Any]:
        weights = flat.reshape(len(names), len(classes))
        sums = given @ weights
        sums -= sums.max(1, keepdims=True)
        shares = np.exp(sums)
        total = shares.sum(1, keepdims=True)
        missed = np.log(total[:, 0]) - sums[every, right]
        shares /= total
        shares[every, right] -= 1
        slope = turned @ (shares * counts[:, None])
        return float(counts @ missed + flat @ flat / (2 * _SPREAD)), (slope + weights / _SPREAD).ravel()

    start = np.zeros(len(names) * len(classes))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": steps, "maxcor": 5})
    whole = np.rint(found.x.reshape(len(names), len(classes)) / _UNIT).astype(int)
    lines = ["\t".join(classes)]
    for name, row in zip(names, whole, strict=True):
        given_words = " ".join(f"{i}:{row[i]}" for i in np.flatnonzero(row))
        lines += [f"{name}\t{given_words}"] if given_words else []
    return lines


def learn(without: Sequence[str] = ()) -> list[str]:
    """The lines of the weights learned from everything but some sets of texts."""
    given_words = [*phrases(), *of_words()]
    known = parsed(fitted(given_words, _FIRST_STEPS))
    texts = [case for case in cases() if "labelled" not in without and case.half == "tuned"]
    files = sorted(path.stem for path in Path(__file__).parent.glob("*_contact.yaml"))
    texts += [case for name in files if name not in without for case in first_contact(name)]
    heard = [*of_texts(texts, known)]
    return [*fitted([*given_words, *heard]), "", *fitted([*polar([*given_words, *heard])])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without", action="append", default=[], help="a set of texts that is not learned from")
    parser.add_argument("--out", type=Path, default=Path(learned.__file__).with_name("weights.txt"))
    given = parser.parse_args()
    lines = learn(given.without)
    given.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines) - 1} features of {len(lines[0].split(chr(9)))} classes to {given.out}")


if __name__ == "__main__":
    main()
