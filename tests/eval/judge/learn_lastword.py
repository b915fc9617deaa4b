"""Learns `eval/judge/lastword.txt`: `python -m tests.eval.judge.learn_lastword [--without SET]... [--out FILE]`.

From labelled texts (`*_contact.yaml`, the tuned half of `labelled`, the reference diagnoses of tasks), never from the
half that is held back, nor from sets by hands that the reader is to be measured by (`UNSEEN`). Texts for which the
rules were mended count less, for there the rules look better than they are; left out they are not, for the others are
by three hands only. First what each wording says, by itself, for each text learned from the others only; then, of all
signs, that of the wording among them, a linear model and small trees, both by maximum likelihood with a penalty, the
trees one by one on what is left.

`--measure` leaves out the sets that the rules were not mended for, three at a time, learns from the rest and tells how
the last word agrees with their labels.
"""

from __future__ import annotations

import argparse
import itertools
import pickle
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import minimize

from simcluster import tasks
from simcluster.eval.judge import lastword
from simcluster.eval.judge.judge import Asked, questioned, reading_of
from simcluster.eval.judge.lastword import PASSED, UNIT, WORDS, Model, Tree, evidence, parsed
from simcluster.eval.judge.wording import ABSENT, DENIED, KNOWN
from simcluster.eval.statistics import cohen_kappa
from tests.eval.judge.composed import composed
from tests.eval.judge.labelled_set import UNSEEN, Case, cases, first_contact, met, resolved

#: Sets for which the rules were not mended, and how much a text of the others counts.
_NUMBERS = """seventeenth eighteenth nineteenth twentieth twentyfirst twentysecond twentythird twentyfourth twentyfifth
    twentysixth twentyseventh twentyeighth twentyninth thirtieth thirtyfirst thirtysecond thirtythird thirtyfourth
    thirtyfifth thirtysixth thirtyseventh"""
FRESH = tuple(f"{number}_contact" for number in _NUMBERS.split())
MENDED = 0.3
#: Texts made of others, and how much one counts: they are many, and by nobody's hand.
COMPOSED, MADE = "composed", 0.06
#: How much the wording of a reference diagnosis counts: it is right by definition.
REFERENCE = 1.0
#: How much a text of the labelled half counts, and its wording: no other set is as terse.
LABELLED, TERSE = 8.0, 6.0
#: A wording counts if it stands in so many texts; penalties of weights; rounds of optimisation.
_SEEN, _WORDS_PENALTY, _PENALTY, _STEPS = 6, 0.1, 20.0, 60
#: In so many parts sets are divided, each of which is scored by wordings learned from the others.
_FOLDS = 6
#: Trees: how many, how deep, how fast, of how many of the signs each chooses, penalty, the least that a leaf holds.
_TREES, _DEPTH, _RATE, _CHOSEN, _LEAF_PENALTY, _LEAF_LEAST = 500, 5, 0.05, 0.3, 5.0, 8.0
_CUTS = 16
#: `--measure` divides the fresh sets into so many parts and leaves out one after the other.
_PARTS = 7
#: Scores from which on what the rules pass is right, and what they do not; so much below either it is wrong.
ACCEPT, OVERTURN, DOUBT = 1200, 0, 2000
#: Signs of who wrote a text, not of what it says.
_STYLE = frozenset(["words", "sentences", "clauses", "digits", "foreign letters"])


class Row(NamedTuple):
    """A text: of which set, whether it is right, its signs and its wording."""

    name: str
    right: bool
    signs: dict[str, int]
    words: list[list[str]]


def reference() -> list[Case]:
    """The reference diagnoses of tasks in words, with the victims of contact texts of the same task."""
    suffer = {case.incident: case.beside.victims for name in contacts() for case in first_contact(name)}
    found = []
    for task_id in tasks.ids():
        if tasks.load(task_id).faultless:
            continue
        blank = met(task_id, {"victims": suffer.get(task_id, ())})
        given = resolved(task_id).reference_diagnoses
        for label, texts in (("right", given.right), ("wrong", given.plausible_but_wrong)):
            found += [blank._replace(label=label, text=text) for text in texts if isinstance(text, str)]
    return found


def contacts() -> list[str]:
    """Names of the files of texts that may be learned from."""
    found = (path.stem for path in Path(__file__).parent.glob("*_contact.yaml"))
    return sorted(name for name in found if name not in UNSEEN)


def gathered(cache: Path | None) -> list[Row]:
    """All texts with their signs; kept in a file if one is given."""
    if cache is not None and cache.is_file():
        found: list[Row] = [Row(*row) for row in pickle.loads(cache.read_bytes())]
        return found
    sets = {name: list(first_contact(name)) for name in contacts()}
    sets |= {"labelled": [case for case in cases() if case.half == "tuned"], "reference": reference()}
    apps = {task_id: tasks.load(task_id).app for task_id in tasks.ids()}
    sets |= {
        f"{COMPOSED} {name}": composed([case for case in sets[name] if case.incident in apps], apps) for name in FRESH
    }
    found = [row for name, over in sets.items() for case in over for row in _row(name, case)]
    if cache is not None:
        cache.write_bytes(pickle.dumps([tuple(row) for row in found]))
    return found


def _row(name: str, case: Case) -> list[Row]:
    reading = reading_of(case.text, (*case.inventory, case.truth.component))
    if reading.empty or not reading.parsed or reading.unread:
        return []
    beside = case.beside
    rules = Asked(reading, case.truth, beside)
    by_rule = questioned(reading, case.truth, beside._replace(params=None))
    signs, words = evidence(reading, rules.known(), rules.signs(by_rule))
    return [Row(name, case.label == "right", signs, words)]


class Texts(NamedTuple):
    """Texts as matrices."""

    words: Any
    names: list[str]
    signs: Any
    kinds: list[str]
    right: Any
    counts: Any
    sets: Any
    worded: Any


def texts_of(rows: Sequence[Row]) -> Texts:
    """What rows hold, as matrices."""
    sorts = [_matrix([row.words[sort] for row in rows]) for sort in range(len(rows[0].words))]
    kinds = sorted({kind for row in rows for kind in row.signs} - _STYLE)
    return Texts(
        sparse.hstack([matrix for matrix, _ in sorts]).tocsr(),
        [name for _, names in sorts for name in names],
        np.array([[row.signs.get(kind, 0) for kind in kinds] for row in rows], dtype=np.int64),
        kinds,
        np.array([row.right for row in rows], dtype=float),
        np.array([_counts(row.name) for row in rows]),
        np.array([row.name for row in rows]),
        np.array([_counts_worded(row.name) for row in rows]),
    )


def _matrix(words: Sequence[Sequence[str]]) -> tuple[Any, list[str]]:
    """Which of the wordings of one sort stand in each text, all of a text together of length one, and their names."""
    seen = Counter(word for one in words for word in one)
    names = sorted(word for word in seen if seen[word] >= _SEEN and _says(word, seen))
    at = {name: number for number, name in enumerate(names)}
    of = [[at[word] for word in one if word in at] for one in words]
    lengths = [1 / np.sqrt(len(one)) for one in of for _ in one]
    where = ([i for i, one in enumerate(of) for _ in one], [number for one in of for number in one])
    return sparse.csr_matrix((lengths, where), shape=(len(words), len(names))), names


def _says(word: str, seen: Collection[str]) -> bool:
    """Whether one is more than a word that no fault is made of, which says nothing."""
    bare = word.removeprefix(DENIED)
    there = f"{KNOWN}{bare[1:]}"
    return bare[:1] not in (KNOWN, ABSENT) or there in seen or f"{DENIED}{there}" in seen


def _counts_worded(name: str) -> float:
    return {"reference": REFERENCE, "labelled": TERSE}.get(name, _counts(name))


def _counts(name: str) -> float:
    if name.startswith(COMPOSED):
        return MADE
    return 1.0 if name in FRESH else LABELLED if name == "labelled" else MENDED


def _linear(given: Any, right: Any, counts: Any, penalty: float) -> Any:
    """Weights, the last without a sign, of the likeliest linear model."""
    turned = given.T.tocsr() if sparse.issparse(given) else given.T

    def loss(weights: Any) -> tuple[float, Any]:
        sums = given @ weights[:-1] + weights[-1]
        missed = np.logaddexp(0, sums) - right * sums
        slope = counts * (1 / (1 + np.exp(-sums)) - right)
        total = counts @ missed + penalty * (weights[:-1] @ weights[:-1]) / 2
        return float(total), np.append(turned @ slope + penalty * weights[:-1], slope.sum())

    start = np.zeros(given.shape[1] + 1)
    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS}).x


def _worded(texts: Texts, own: Any) -> tuple[Any, Any]:
    """What wordings say, and the scores of all texts by them: of those learned from, as learned from the others."""

    def fit(over: Any) -> Any:
        return _linear(texts.words[over], texts.right[over], texts.worded[over], _WORDS_PENALTY)

    weights = fit(own)
    scores = texts.words @ weights[:-1] + weights[-1]
    names = sorted({name.removeprefix(f"{COMPOSED} ") for name in texts.sets[own]})
    for fold in (names[i::_FOLDS] for i in range(_FOLDS)):
        fold += [f"{COMPOSED} {name}" for name in fold]
        inside = own & np.isin(texts.sets, fold)
        other = fit(own & ~inside)
        scores[inside] = texts.words[inside] @ other[:-1] + other[-1]
    return weights, np.rint(scores * 100).astype(np.int64)


def _trees(signs: Any, right: Any, counts: Any) -> list[Tree]:
    """Trees grown one by one on what those before leave, their leaves in thousandths."""
    drawn = np.random.default_rng(1)
    cuts = [_cuts(signs[:, kind]) for kind in range(signs.shape[1])]
    bins = np.stack([np.searchsorted(cut, signs[:, kind], side="right") for kind, cut in enumerate(cuts)], 1)
    sums, found = np.zeros(len(right)), []
    for _ in range(_TREES):
        likely = 1 / (1 + np.exp(-sums))
        grower = _Grower(bins, cuts, counts * (likely - right), counts * likely * (1 - likely), counts)
        chosen = np.sort(drawn.choice(len(cuts), int(len(cuts) * _CHOSEN), replace=False))
        tree, says = grower.grown(chosen)
        sums += says / UNIT
        found.append(tree)
    return found


def _cuts(values: Any) -> Any:
    there = np.unique(values)
    if len(there) <= _CUTS:
        return there[1:]
    cuts = np.unique(np.quantile(values, np.linspace(0, 1, _CUTS + 1)[1:-1], method="lower"))
    return cuts[cuts > there[0]]


class _Grower:
    """Grows a tree by the second order of the likelihood."""

    def __init__(self, bins: Any, cuts: Sequence[Any], slope: Any, bend: Any, counts: Any) -> None:
        self._bins, self._cuts = bins, cuts
        self._sums = (slope, bend, counts)

    def grown(self, chosen: Any) -> tuple[Tree, Any]:
        """A tree over the chosen signs, and what it says of each text."""
        says = np.zeros(len(self._bins))
        return self._grow(np.arange(len(self._bins)), _DEPTH, chosen, says), says

    def _grow(self, rows: Any, depth: int, chosen: Any, says: Any) -> Tree:
        slope, bend, count = (float(one[rows].sum()) for one in self._sums)
        leaf = round(-_RATE * UNIT * slope / (bend + _LEAF_PENALTY))
        says[rows] = leaf
        if depth == 0 or count < 2 * _LEAF_LEAST:
            return leaf
        many, width = len(chosen), _CUTS + 1
        flat = (self._bins[np.ix_(rows, chosen)] + np.arange(many) * width).ravel()
        below = [np.bincount(flat, np.repeat(one[rows], many), many * width).reshape(many, width).cumsum(1)[:, :-1]
                 for one in self._sums]  # fmt: skip
        gain = below[0] ** 2 / (below[1] + _LEAF_PENALTY) + (slope - below[0]) ** 2 / (bend - below[1] + _LEAF_PENALTY)
        gain -= slope**2 / (bend + _LEAF_PENALTY)
        gain[(below[2] < _LEAF_LEAST) | (count - below[2] < _LEAF_LEAST)] = -1
        best, cut = divmod(int(gain.argmax()), width - 1)
        if gain.flat[gain.argmax()] <= 0:
            return leaf
        sign = int(chosen[best])
        left = self._bins[rows, sign] <= cut
        return (sign, int(self._cuts[sign][cut]), self._grow(rows[left], depth - 1, chosen, says),
                self._grow(rows[~left], depth - 1, chosen, says))  # fmt: skip


def learned(texts: Texts, own: Any, scores: tuple[int, int, int] = (0, 0, 0)) -> list[str]:
    """The lines of the model learned from some of the texts."""
    words, worded = _worded(texts, own)
    kinds = [*texts.kinds, WORDS]
    signs = np.column_stack([texts.signs, worded])
    means, spreads = signs[own].mean(0), signs[own].std(0) + 1e-3
    means, spreads = (np.rint(UNIT * one).astype(np.int64) for one in (means, spreads))
    spreads = np.maximum(spreads, 1)
    scaled = np.clip((UNIT * signs[own] - means) / spreads, -3, 3)
    alone = _linear(scaled, texts.right[own], texts.counts[own], _PENALTY)
    trees = _trees(signs[own], texts.right[own], texts.counts[own])
    whole = np.rint(UNIT * words).astype(np.int64)
    lines = [
        f"accept\t{scores[0]}",
        f"overturn\t{scores[1]}",
        f"refuse\t{scores[2]}",
        f"base\t{round(UNIT * alone[-1])}",
        f"words\t{whole[-1]}",
        "",
    ]
    lines += [f"{kind}\t{means[i]}\t{spreads[i]}\t{round(UNIT * alone[i])}" for i, kind in enumerate(kinds)]
    lines += ["", *(" ".join(_steps(tree)) for tree in trees), ""]
    return lines + list(_below((name, weight) for name, weight in zip(texts.names, whole[:-1], strict=True) if weight))


def _below(weights: Iterable[tuple[str, int]]) -> Iterator[str]:
    """Lines of wordings, below what they begin with: a family or a fault."""
    begun = ""
    for name, weight in weights:
        begins = name[: name.rfind("|") + 1]
        if begins != begun:
            yield (begun := begins)
        yield f"{name.removeprefix(begun)}\t{weight}"


def _steps(tree: Tree) -> list[str]:
    if isinstance(tree, int):
        return [f"={tree}"]
    return [f"{tree[0]}:{tree[1]}", *_steps(tree[2]), *_steps(tree[3])]


def scored(model: Model, rows: Sequence[Row]) -> list[int]:
    """What a model says of texts."""
    return [model.says({**row.signs, WORDS: model.of_words(row.words)})[0] for row in rows]


class Met(NamedTuple):
    """A text of a set that was left out: whether it is right, what the rules say, and the score."""

    name: str
    right: bool
    passed: bool
    score: int


def measured(rows: Sequence[Row], texts: Texts) -> list[Met]:
    """Each text of a fresh set by what was learned without its set, and without those of its part."""
    found = []
    for part in (FRESH[i::_PARTS] for i in range(_PARTS)):
        out = [*part, *(f"{COMPOSED} {name}" for name in part)]
        model = parsed("\n".join(learned(texts, ~np.isin(texts.sets, out))) + "\n")
        over = [row for row in rows if row.name in part]
        both = zip(over, scored(model, over), strict=True)
        found += [Met(row.name, row.right, bool(row.signs[PASSED]), score) for row, score in both]
    return found


def summary(found: Sequence[Met], accept: int, overturn: int) -> str:
    """How two thresholds agree with the labels."""
    both = [(one.right, one.score >= (accept if one.passed else overturn)) for one in found]
    accepted = sum(passes and not right for right, passes in both)  # integers
    refused = sum(right and not passes for right, passes in both)  # integers
    rights = sum(one.right for one in found)  # integers
    errors = f"wrong accepted {accepted}/{len(found) - rights}, right refused {refused}/{rights}"
    return f"from {accept} or {overturn}: kappa {cohen_kappa(both):.3f}, {errors}"


def _shown(found: Sequence[Met], accept: int, overturn: int) -> None:
    for passes, refuses in itertools.product(range(0, 6001, 1000), range(-1000, 2001, 1000)):
        print(summary(found, passes, refuses))
    for name in FRESH:
        print(name, summary([one for one in found if one.name == name], accept, overturn))
    print("all", summary(found, accept, overturn))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without", action="append", default=[], help="a set of texts that is not learned from")
    parser.add_argument("--cache", type=Path, help="where the signs of all texts are kept")
    parser.add_argument("--measure", action="store_true", help="leave out each fresh set, and print how that agrees")
    parser.add_argument(
        "--accept", type=int, default=ACCEPT, help="the score from which on what the rules pass is right"
    )
    parser.add_argument("--overturn", type=int, default=OVERTURN, help="that from which on what they do not pass is")
    parser.add_argument("--out", type=Path, default=Path(lastword.__file__).with_name("lastword.txt"))
    given = parser.parse_args()
    out = {*given.without, *(f"{COMPOSED} {name}" for name in given.without)}
    rows = [row for row in gathered(given.cache) if row.name not in out]
    texts = texts_of(rows)
    if given.measure:
        _shown(measured(rows, texts), given.accept, given.overturn)
    lines = learned(texts, np.full(len(rows), True), (given.accept, given.overturn, DOUBT))
    given.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} lines from {len(rows)} texts to {given.out}")


if __name__ == "__main__":
    main()
