"""The deterministic judge: nine questions about a diagnosis, each answered with a reason.

Three dimensions of three questions; seven of nine pass. Dimensions, weights and questions
follow the checklist of SREGym (facts, section 5a), whose arithmetic makes seven of nine the
effective threshold. Localization and characterization each have a core without which
nothing passes. A free text is reduced to claims first (`reading`); where that cannot be
done, the outcome is *unclear*, which does not pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from simcluster.eval.judge.claims import read_claims
from simcluster.eval.judge.reading import Reading, read
from simcluster.eval.judge.sentence import claimed
from simcluster.eval.judge.values import contradicts, says_value
from simcluster.eval.judge.vocabulary import vocabulary
from simcluster.tasks.model import Truth

#: Yes answers that pass (of nine).
PASSING = 7
#: Dimension -> weight in the composite score.
WEIGHTS = {"localization": 0.33, "characterization": 0.33, "scope": 0.34}
#: Questions, counted from nought, that have to be answered with yes.
CORE = (0, 1, 2, 3, 5)

QUESTIONS = (
    ("localization", "names the component that is wrong"),
    ("localization", "separates the origin from its victims"),
    ("localization", "blames no healthy component"),
    ("characterization", "names the mechanism"),
    ("characterization", "gives the concrete details"),
    ("characterization", "claims no other kind of fault"),
    ("scope", "does not over-blame"),
    ("scope", "covers every component that is wrong"),
    ("scope", "describes effects that fit"),
)

Outcome = Literal["right", "wrong", "unclear"]


class QuestionAnswer(NamedTuple):
    """One question, its answer and what it was decided on."""

    dimension: str
    question: str
    yes: bool
    why: str


@dataclass(frozen=True)
class DiagnosisVerdict:
    """The grade of one diagnosis.

    Attributes:
        answers: the nine, in the order of `QUESTIONS`.
        unclear: why nobody can tell by rule whether it is right; empty if it can be told.
    """

    answers: tuple[QuestionAnswer, ...]
    unclear: str = ""

    @property
    def yes(self) -> int:
        """Questions answered with yes, of nine."""
        return sum(answer.yes for answer in self.answers)

    @property
    def passed(self) -> bool:
        """Whether enough were, the core among them, and nothing is unclear."""
        return self.yes >= PASSING and all(self.answers[i].yes for i in CORE) and not self.unclear

    @property
    def outcome(self) -> Outcome:
        """`right`, `wrong` or `unclear`; only the first passes."""
        return "unclear" if self.unclear else "right" if self.passed else "wrong"

    @property
    def score(self) -> float:
        """The weighted composite, 0 to 1, two digits."""
        return round(sum(WEIGHTS[a.dimension] * a.yes for a in self.answers) / 3.0, 2)

    def dimension(self, name: str) -> int:
        """Yes answers in one dimension, 0 to 3."""
        return sum(a.yes for a in self.answers if a.dimension == name)

    def to_dict(self) -> dict[str, Any]:
        """The wire form in reports."""
        return {
            "passed": self.passed,
            "outcome": self.outcome,
            "unclear": self.unclear,
            "score": self.score,
            "yes": self.yes,
            "dimensions": {name: self.dimension(name) for name in WEIGHTS},
            "answers": [answer._asdict() for answer in self.answers],
        }

    def explain(self) -> str:
        """One line a question, and one for what is unclear."""
        lines = [f"{'yes' if a.yes else 'no ':3} {a.dimension}: {a.question}: {a.why}" for a in self.answers]
        return "\n".join([*lines, *([f"unclear: {self.unclear}"] if self.unclear else [])])


def family_of(truth: Truth) -> str:
    """The mechanism that a truth means.

    Raises:
        ValueError: its text names none of the vocabulary, or several.
    """
    if truth.family:
        return truth.family
    found = claimed(truth.mechanism.lower())
    if len(found) != 1:
        known = ", ".join(sorted(vocabulary().families))
        what = f"several mechanisms ({', '.join(found)})" if found else "no mechanism of the vocabulary"
        raise ValueError(f"truth.mechanism {truth.mechanism!r} names {what}; known: {known}")
    return found[0]


def judge(answer: str | Mapping[str, Any] | None, truth: Truth, inventory: Sequence[str]) -> DiagnosisVerdict:
    """Grade an answer of any form; none is an error.

    Args:
        answer: free text, or a structured one (`claims`), or None.
        truth: of the resolved task.
        inventory: `Kind/name` of the components there are (`Baseline.inventory`).
    """
    there = tuple(dict.fromkeys([*inventory, truth.component]))
    reading = read_claims(answer, there) if isinstance(answer, Mapping) else None
    reading = reading or read(answer or "", there)
    if reading.empty:
        decided = [(False, "nothing was answered")] * len(QUESTIONS)
    else:
        decided = [*_localization(reading, truth), *_characterization(reading, truth), *_scope(reading, truth)]
    answers = tuple(QuestionAnswer(*question, *result) for question, result in zip(QUESTIONS, decided, strict=True))
    return DiagnosisVerdict(answers, _unclear(reading, truth))


_Decided = list[tuple[bool, str]]


def _own(truth: Truth) -> set[str]:
    return {truth.ref.name, *truth.scope}


def _localization(reading: Reading, truth: Truth) -> _Decided:
    own, family = _own(truth), family_of(truth)
    besides = _besides(reading, truth)
    blamed = ", ".join(reading.blamed) or "no component"
    first = bool(reading.blamed) and reading.blamed[0] in own
    given = [one.owners for one in reading.stated if one.family == family]
    apart = first and all(own & set(owners) or not owners for owners in given)
    return [
        (bool(own & set(reading.blamed)), f"blames {blamed}"),
        (apart, f"blames {blamed}" + ("" if first else f"; {truth.ref.name} is not the first")),
        (
            bool(reading.blamed) and not besides,
            f"blames besides: {', '.join(besides)}" if besides else f"blames {blamed}",
        ),
    ]


def _characterization(reading: Reading, truth: Truth) -> _Decided:
    family = family_of(truth)
    others = _others(reading, family)
    heard = ", ".join(reading.families) or "no known mechanism"
    missing = [f"{key}={value}" for key, value in truth.details.items() if not says_value(reading.text, key, value)]
    enough = 2 * len(missing) < len(truth.details) or not truth.details
    elsewhere = contradicts(reading.text, truth.details)
    named = family in reading.families and not elsewhere
    return [
        (named, f"claims {heard}" + (f", but of {elsewhere}" if elsewhere else "")),
        (enough, f"lacks {', '.join(missing)}" if missing else "has every changed value"),
        (
            bool(reading.families) and not others,
            f"claims besides: {', '.join(others)}" if others else f"claims {heard}",
        ),
    ]


def _scope(reading: Reading, truth: Truth) -> _Decided:
    besides = _besides(reading, truth)
    missing = [name for name in truth.scope if name not in reading.mentioned]
    family = family_of(truth)
    allowed = {family, *vocabulary().families[family].consequences}
    unfit = [
        name for name in (*reading.families, *reading.follows) if name not in allowed and not _may_follow(name, family)
    ]
    return [
        (bool(reading.blamed) and not besides, f"blames {len(reading.blamed)} of {len(truth.scope)} components"),
        (not missing, f"does not mention {', '.join(missing)}" if missing else "mentions all"),
        (not unfit, f"speaks of {', '.join(unfit)}" if unfit else "nothing contradicts the mechanism"),
    ]


def _may_follow(name: str, family: str) -> bool:
    """Whether a kind of cause may follow from another by way of a third."""
    families = vocabulary().families
    return any(name in families[step].consequences for step in families[family].consequences if step in families)


def _others(reading: Reading, family: str) -> list[str]:
    """Kinds of cause claimed that are neither the right one nor follow from it."""
    allowed = {family, *vocabulary().families[family].consequences}
    return [name for name in reading.families if name not in allowed]


def _besides(reading: Reading, truth: Truth) -> list[str]:
    """Blamed components that are not wrong."""
    return [name for name in reading.blamed if name not in _own(truth)]


def _unclear(reading: Reading, truth: Truth) -> str:
    """Why it cannot be told by rule whether an answer is right, if it may be."""
    family = family_of(truth)
    if reading.empty or _besides(reading, truth) or _others(reading, family):
        return ""
    if reading.unread:
        return "it is longer than what is read"
    if reading.maybe:
        return "it only says what might be the cause"
    if reading.unknown:
        return "it calls something the cause that is no known kind of cause"
    if family in reading.denied:
        return ""
    if not reading.families and _own(truth) & set(reading.mentioned):
        return f"it names {truth.ref.name} and no known kind of cause"
    if family in reading.families and not _own(truth) & set(reading.blamed):
        return "it names a kind of cause and not what it belongs to"
    return ""
