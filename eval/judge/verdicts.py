"""What a diagnosis is worth: the nine questions, and what interventions say of its claims.

Dimensions, weights and questions follow the checklist of SREGym (facts, section 5a), whose arithmetic makes seven of
nine the effective threshold. Localization and characterization each have a core without which nothing passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from simcluster.faults.facts import ChangedFact

#: Yes answers that pass (of nine).
PASSING = 7
#: Dimension -> weight in the composite score.
WEIGHTS = {"localization": 0.33, "characterization": 0.33, "scope": 0.34}
#: Questions, counted from nought, that have to be answered with yes.
CORE = (0, 1, 2, 3, 5)
#: Those that ask whether somebody healthy is blamed.
BLAMELESS = (2, 6)

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
class ClaimVerdict:
    """What claims are worth by intervention.

    Attributes:
        localization: something was changed at each component that they name.
        family: the kinds of cause are those of what was changed there.
        values: they name no value that is not there.
        but_for: without what they name nobody suffers; None: nothing that was changed is named, or it was not tried.
        in_place: with only that set right users recover; None: it is lost, or it was not tried.
        facts: the changed facts that they name.
        evidence: on what that was decided, a line each.
    """

    localization: bool
    family: bool
    values: bool
    but_for: bool | None
    in_place: bool | None
    facts: tuple[ChangedFact, ...]
    evidence: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether they name a cause."""
        right = self.localization and self.family and self.values
        return right and self.but_for is True and self.in_place is not False

    def to_dict(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "passed": self.passed,
            "localization": self.localization,
            "family": self.family,
            "values": self.values,
            "but_for": self.but_for,
            "in_place": self.in_place,
            "facts": [fact.to_dict() for fact in self.facts],
            "evidence": list(self.evidence),
        }

    def explain(self) -> str:
        """The evidence, and what comes of it."""
        return "\n".join([*self.evidence, "it names a cause" if self.passed else "it names no cause"])


@dataclass(frozen=True)
class DiagnosisVerdict:
    """The grade of one diagnosis.

    Attributes:
        answers: the nine, in the order of `QUESTIONS`.
        unclear: why nobody can tell by rule whether it is right; empty if it can be told.
        claims: what interventions say of what it claims; None: nothing was claimed that can be intervened on.
        last: what all signs of a text say together, if they were weighed; it decides then.
        why: the signs that say most.
        structured: whether it was submitted as claims: those decide then, if it blames nobody besides.
    """

    answers: tuple[QuestionAnswer, ...]
    unclear: str = ""
    claims: ClaimVerdict | None = None
    structured: bool = False
    last: Outcome | None = None
    why: str = ""

    @property
    def yes(self) -> int:
        """Questions answered with yes, of nine."""
        return sum(answer.yes for answer in self.answers)

    @property
    def passed(self) -> bool:
        """Whether a cause is named: by interventions, and, of a text, by enough answers, the core among them."""
        if self.structured and self.claims is not None:
            return self.claims.passed and all(self.answers[i].yes for i in BLAMELESS)
        if self.claims is not None and not self.claims.passed:
            return False
        if self.last is not None:
            return self.last == "right"
        return self.yes >= PASSING and all(self.answers[i].yes for i in CORE) and not self.unclear

    @property
    def outcome(self) -> Outcome:
        """`right`, `wrong` or `unclear`; only the first passes."""
        if self.unclear and not self.structured:
            return "unclear"
        return "right" if self.passed else "wrong"

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
            "last_word": self.why,
            "claims": None if self.claims is None else self.claims.to_dict(),
            "score": self.score,
            "yes": self.yes,
            "dimensions": {name: self.dimension(name) for name in WEIGHTS},
            "answers": [answer._asdict() for answer in self.answers],
        }

    def explain(self) -> str:
        """One line a question, one for what is unclear, and what interventions say."""
        lines = [f"{'yes' if a.yes else 'no ':3} {a.dimension}: {a.question}: {a.why}" for a in self.answers]
        lines += [f"unclear: {self.unclear}"] if self.outcome == "unclear" else []
        lines += (
            [f"all in all {self.last}: {self.why}"]
            if self.last not in (None, "unclear") and not self.structured
            else []
        )
        return "\n".join([*lines, *([self.claims.explain()] if self.claims is not None else [])])
