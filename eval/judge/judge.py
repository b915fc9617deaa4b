"""The deterministic judge: nine questions about a diagnosis, each answered with a reason.

Three dimensions of three questions; seven of nine pass. Dimensions, weights and questions
follow the checklist of SREGym (facts, section 5a), whose arithmetic makes seven of nine the
effective threshold. The judge reads words (`reading`, `vocabulary.yaml`); it does not
understand sentences, and it says on what it decided.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from simcluster.eval.judge.reading import Reading, mentions, read
from simcluster.eval.judge.vocabulary import claimed, vocabulary
from simcluster.tasks.model import Truth

#: Yes answers that pass (of nine).
PASSING = 7
#: Dimension -> weight in the composite score.
WEIGHTS = {"localization": 0.33, "characterization": 0.33, "scope": 0.34}
#: Components blamed besides the right one from which on an answer no longer tells origin from victims.
BLAMED_BESIDES_MAX = 2

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


class QuestionAnswer(NamedTuple):
    """One question, its answer and what it was decided on."""

    dimension: str
    question: str
    yes: bool
    why: str


@dataclass(frozen=True)
class DiagnosisVerdict:
    """The grade of one diagnosis."""

    answers: tuple[QuestionAnswer, ...]

    @property
    def yes(self) -> int:
        """Questions answered with yes, of nine."""
        return sum(answer.yes for answer in self.answers)

    @property
    def passed(self) -> bool:
        """Whether enough were."""
        return self.yes >= PASSING

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
            "score": self.score,
            "yes": self.yes,
            "dimensions": {name: self.dimension(name) for name in WEIGHTS},
            "answers": [answer._asdict() for answer in self.answers],
        }

    def explain(self) -> str:
        """One line a question."""
        return "\n".join(f"{'yes' if a.yes else 'no ':3} {a.dimension}: {a.question}: {a.why}" for a in self.answers)


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
    """Grade an answer.

    Args:
        answer: free text, a mapping with `component`, `mechanism`, `details`, `scope`, or None.
        truth: of the resolved task.
        inventory: `Kind/name` of the components there are (`Baseline.inventory`).
    """
    inventory = list(dict.fromkeys([*inventory, truth.component]))
    reading = read(answer or "", inventory)
    if reading.empty:
        decided = [(False, "nothing was answered")] * len(QUESTIONS)
    else:
        decided = [*_localization(reading, truth), *_characterization(reading, truth), *_scope(reading, truth)]
    return DiagnosisVerdict(
        tuple(QuestionAnswer(*question, *result) for question, result in zip(QUESTIONS, decided, strict=True))
    )


_Decided = list[tuple[bool, str]]


def _localization(reading: Reading, truth: Truth) -> _Decided:
    name = truth.ref.name
    besides = _besides(reading, truth)
    blamed = ", ".join(reading.blamed) or "no component"
    first = bool(reading.blamed) and reading.blamed[0] in (name, *truth.scope)
    separated = first and len(besides) <= BLAMED_BESIDES_MAX
    return [
        (name in reading.blamed, f"blames {blamed}"),
        (separated, f"blames {blamed}" + ("" if first else f"; {name} is not the first")),
        (
            bool(reading.blamed) and not besides,
            f"blames besides: {', '.join(besides)}" if besides else f"blames {blamed}",
        ),
    ]


def _characterization(reading: Reading, truth: Truth) -> _Decided:
    family = family_of(truth)
    allowed = (family, *vocabulary().families[family].consequences)
    others = [name for name in reading.families if name not in allowed]
    heard = ", ".join(reading.families) or "no known mechanism"
    missing = [f"{key}={value}" for key, value in truth.details.items() if not _has_detail(reading.text, value)]
    enough = 2 * len(missing) < len(truth.details) or not truth.details
    return [
        (family in reading.families and len(others) <= 1, f"claims {heard}"),
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
    allowed = (family, *vocabulary().families[family].consequences)
    unfit = [name for name in (*reading.families, *reading.aside) if name not in allowed]
    return [
        (bool(reading.blamed) and not besides, f"blames {len(reading.blamed)} of {len(truth.scope)} components"),
        (not missing, f"does not mention {', '.join(missing)}" if missing else "mentions all"),
        (not unfit, f"speaks of {', '.join(unfit)}" if unfit else "nothing contradicts the mechanism"),
    ]


def _besides(reading: Reading, truth: Truth) -> list[str]:
    """Blamed components that are not wrong."""
    return [name for name in reading.blamed if name != truth.ref.name and name not in truth.scope]


def _has_detail(text: str, value: str) -> bool:
    """Whether a changed value stands in the text: whole, or its distinguishing last part."""
    return any(re.search(rf"(?<![\w.]){re.escape(form)}(?![\w])", text) for form in _forms(value.lower()))


def _forms(value: str) -> list[str]:
    """A value as people quote it: an image without its registry, a tag or a port alone.

    >>> _forms("repo/app/cart:v2"), _forms("12m")
    (['repo/app/cart:v2', 'cart:v2', 'v2'], ['12m'])
    """
    last = value.rpartition("/")[2]
    return list(dict.fromkeys([value, last, last.rpartition(":")[2]]))


__all__ = ["DiagnosisVerdict", "QuestionAnswer", "family_of", "judge", "mentions"]
