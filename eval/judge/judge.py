"""The deterministic judge: nine questions about a diagnosis, each answered with a reason.

A free text is reduced to claims first (`reading`); where that cannot be done, the outcome is *unclear*, which does not
pass. Who only suffers from the origin may be listed: victims beside an origin are not blamed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from simcluster.eval.judge.claims import read_claims
from simcluster.eval.judge.clauses import Known, held_against
from simcluster.eval.judge.lastword import last_word
from simcluster.eval.judge.matching import claimed
from simcluster.eval.judge.reading import Reading, Stated, read
from simcluster.eval.judge.substance import says_something
from simcluster.eval.judge.values import contradicts, says_value
from simcluster.eval.judge.verdicts import QUESTIONS, DiagnosisVerdict, QuestionAnswer
from simcluster.eval.judge.vocabulary import vocabulary, words
from simcluster.tasks.model import Truth

#: Kinds of objects that hold settings of programs, and the kind of cause that lies in these.
_HELD = ("ConfigMap", "Secret")
_SETTINGS = "configuration_object"
#: What people call what of an image was changed.
_IMAGE = ("image", "tag")
#: A sentence on a way names at most so many components: its ends, and who tells of it.
_ENDS_MAX = 3


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


def judge(
    answer: str | Mapping[str, Any] | None, truth: Truth, inventory: Sequence[str], victims: Collection[str] = ()
) -> DiagnosisVerdict:
    """Grade an answer of any form; none is an error.

    Args:
        answer: free text, or a structured one (`claims`), or None.
        truth: of the resolved task.
        inventory: `Kind/name` of the components there are (`Baseline.inventory`).
        victims: names of components that suffer from the origin.
    """
    return questioned(reading_of(answer, (*inventory, truth.component)), truth, Beside(frozenset(victims)))


def reading_of(answer: str | Mapping[str, Any] | None, inventory: Sequence[str]) -> Reading:
    """What an answer of any form says: that of its claims, or that of its text; of names alone, no kind of cause."""
    there = tuple(dict.fromkeys(inventory))
    reading = read_claims(answer, there) or read(answer or "", there)
    if reading.parsed and not says_something(reading.parsed):
        reading.stated, reading.follows, reading.spoken = [], [], []
    return reading


class Beside(NamedTuple):
    """What besides the origin may be named without being blamed wrongly.

    Attributes:
        victims: names of components that suffer from it.
        families: other kinds of cause that are at work in the same incident.
        own: names of components that are wrong themselves.
        params: what the faults were given, paths and values; None: nobody knows, and the rules alone judge a text.
    """

    victims: frozenset[str] = frozenset()
    families: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()
    params: tuple[tuple[str, str], ...] | None = None


def questioned(reading: Reading, truth: Truth, beside: Beside) -> DiagnosisVerdict:
    """The nine questions about what was read."""
    asked = Asked(reading, truth, beside)
    if reading.empty:
        decided = [(False, "nothing was answered")] * len(QUESTIONS)
    else:
        decided = [*asked.localization(), *asked.characterization(), *asked.scope()]
    answers = tuple(QuestionAnswer(*question, *result) for question, result in zip(QUESTIONS, decided, strict=True))
    found = DiagnosisVerdict(answers, asked.unclear())
    if beside.params is None or reading.empty or reading.unread or not says_something(reading.parsed):
        return found
    last = last_word(reading, asked.known(), asked.signs(found))
    doubt = {"right": "", "unclear": last.why, "wrong": found.unclear}[last.says]
    return replace(found, unclear=doubt, last=last.says, why=last.why)


_Decided = list[tuple[bool, str]]


class Asked:
    """A reading held against a truth."""

    def __init__(self, reading: Reading, truth: Truth, beside: Beside) -> None:
        self.reading = reading
        self.truth = truth
        self.family = family_of(truth)
        self.own = {truth.ref.name, *truth.scope, *beside.own}
        self.own |= {name for one in reading.stated if one.between and self.own & {*one.owners} for name in one.owners}
        self.victims = beside.victims
        self.beside = beside
        self.stated = [self._attributed(one) for one in reading.stated if not self._is_disowned(one)]
        self.families = list(dict.fromkeys(one.family for one in self.stated))
        self.blamed = list(dict.fromkeys([*(n for one in self.stated for n in one.owners), *reading.accused]))
        self._allowed = {self.family, *vocabulary().families[self.family].consequences, *beside.families}
        self._allowed |= {_SETTINGS} if truth.ref.kind in _HELD else set()
        self._allowed |= {name for name in self.families if name not in self._allowed and self._follows(name)}
        self.others = [name for name in self.families if name not in self._allowed]
        strange = [name for name in self.blamed if name not in self.own]
        self.besides = [name for name in strange if not (name in beside.victims and self._only_suffers(name))]

    def _attributed(self, one: Stated) -> Stated:
        """A kind of cause, given to the origin where the text gives it to whom it hits and names the origin with it.

        "From the pods of web every packet to auth-service comes late": a way has two ends, and who stands nearest to
        the words is not always who has it. Where somebody else is blamed who is no victim, nothing is given away.
        """
        if {*one.owners} & {*self.reading.exonerated}:
            one = one._replace(owners=tuple(name for name in one.owners if name not in self.reading.exonerated))
        owners = {*one.owners}
        if one.family != self.family or owners & self.own:
            return one
        way = one.family in words("ways") and len(one.near) <= _ENDS_MAX
        if not way and (owners - self.victims or one.held):
            return one
        named = {*one.near} if way or not self._is_object() else {*self.reading.affirmed}
        meant = tuple(name for name in dict.fromkeys((*one.near, *self.reading.affirmed)) if name in self.own & named)
        return one._replace(owners=meant) if meant else one

    def _is_disowned(self, one: Stated) -> bool:
        """Whether another kind of cause is said to be none elsewhere: "the network is healthy; the delay is wanted"."""
        family = vocabulary().families[one.family]
        if one.family == self.family:
            return False
        return one.family in self.reading.disowned or bool({one.family, *family.hints} & {*self.reading.cleared})

    def _is_object(self) -> bool:
        """Whether the origin is an object that is named for nothing else: a ConfigMap, a policy."""
        return self.truth.ref.kind in words("specific")

    def _follows(self, family: str) -> bool:
        """Whether another kind of cause is only told of as what came of it, or beside it.

        So it is if the right one is claimed for sure, of the origin, in a sentence before it, and the other is given to
        nobody else than the origin and its victims and is not called the cause, or only of a chain that begins with a
        value that was changed.
        """
        core = [one for one in self.stated if one.family == self.family and self.own & {*one.owners} and not one.maybe]
        if not core:
            return False
        first = min(one.sentence for one in core)
        mine = [one for one in self.stated if one.family == family]
        by = any(says_value(self.reading.text, key, value) for key, value in self.truth.details.items())
        return all(
            (one.sentence > first or one.role == "aside")
            and (one.role != "cause" or (by and {*one.owners} <= self.own))
            and {*one.owners} <= self.own | self.victims
            for one in mine
        )

    def _only_suffers(self, victim: str) -> bool:
        """Whether a victim is listed as one: beside the origin, with what follows, or without a kind of cause."""
        claimed = [one for one in self.stated if victim in one.owners]
        return all(
            one.owners[0] in self.own or (one.family != self.family and one.family in self._allowed) for one in claimed
        )

    def known(self) -> Known:
        """What is so, for the last word."""
        return held_against(
            self.truth, self.family, self.own, self.victims, self.beside.params or (), self.beside.families
        )

    def signs(self, found: DiagnosisVerdict) -> dict[str, int]:
        """What the rules found, as signs."""
        reading, own = self.reading, self.own
        return {
            **{f"question {number}": int(one.yes) for number, one in enumerate(found.answers, 1)},
            "rules pass": int(found.passed),
            "questions": found.yes,
            "unclear by rule": int(bool(found.unclear)),
            "only maybe": int(reading.maybe),
            "unknown cause": int(reading.unknown),
            "families claimed": min(len(reading.families), 6),
            "other families": min(len(self.others), 5),
            "blamed besides": min(len(self.besides), 5),
            "family denied": int(self.family in reading.denied),
            "family disowned": int(self.family in reading.disowned),
            "family follows": int(self.family in reading.follows),
            "family spoken of": int(self.family in reading.spoken),
            "family claimed": int(self.family in self.families),
            "blamed": min(len(self.blamed), 6),
            "own exonerated": int(bool(own & {*reading.exonerated})),
            "own affirmed": int(bool(own & {*reading.affirmed})),
            "otherwise": int(bool(self._otherwise())),
            "what follows": min(len(reading.follows), 5),
            "denied": min(len(reading.denied), 5),
        }

    def localization(self) -> _Decided:
        """Whether the origin is named, first, and alone."""
        own, besides = self.own, self.besides
        blamed = ", ".join(self.blamed) or "no component"
        first = bool(self.blamed) and self.blamed[0] in own
        given = [one.owners for one in self.stated if one.family == self.family]
        apart = first and all(own & set(owners) or not owners for owners in given)
        return [
            (bool(own & set(self.blamed)), f"blames {blamed}"),
            (apart, f"blames {blamed}" + ("" if first else f"; {self.truth.ref.name} is not the first")),
            (
                bool(self.blamed) and not besides,
                f"blames besides: {', '.join(besides)}" if besides else f"blames {blamed}",
            ),
        ]

    def characterization(self) -> _Decided:
        """Whether the kind of cause is named, with its values, and no other."""
        reading, details = self.reading, self.truth.details
        heard = ", ".join(self.families) or "no known mechanism"
        missing = [f"{key}={value}" for key, value in details.items() if not says_value(reading.text, key, value)]
        enough = 2 * len(missing) < len(details) or not details
        elsewhere = contradicts(reading.text, details)
        elsewhere = elsewhere or self._otherwise()
        named = self.family in self.families or self._by_its_settings() or self._by_its_kind() or self._by_its_field()
        unsaid = [name for name in sorted(self.beside.families) if not self._is_spoken_of(name)]
        named = named and not elsewhere and not unsaid
        return [
            (
                named,
                f"claims {heard}"
                + (f", but of {elsewhere}" if elsewhere else "")
                + (f", and not {', '.join(unsaid)}" if unsaid else ""),
            ),
            (enough, f"lacks {', '.join(missing)}" if missing else "has every changed value"),
            (
                bool(self.families) and not self.others,
                f"claims besides: {', '.join(self.others)}" if self.others else f"claims {heard}",
            ),
        ]

    def _by_its_settings(self) -> bool:
        """Whether settings that are the origin are said to be changed, and the kind of cause to follow from them."""
        own = [one for one in self.stated if one.family == _SETTINGS and self.own & {*one.owners}]
        return self.truth.ref.kind in _HELD and bool(own) and self.family in self.reading.follows

    def _by_its_kind(self) -> bool:
        """Whether an object that only the right kind of cause can have is named by its kind, and what follows is its.

        "The TidbCluster basic asks for a toleration that does not exist."
        """
        kinds = vocabulary().families[self.family].kinds
        only = kinds == (self.truth.ref.kind,) and self._is_object() and kinds[0].lower() in self.reading.text
        only = only and self.family not in self.reading.disowned
        return only and any(
            one.family in self._allowed - {_SETTINGS} and self.own & {*one.owners} and self.own & {*one.near}
            for one in self.stated
        )

    def _is_spoken_of(self, family: str) -> bool:
        """Whether one of several causes is claimed, if only by what comes of it or by another on the same way."""
        heard = {self.family, *self.families, *self.reading.follows, *self.reading.spoken}
        families = vocabulary().families
        if family in heard or (family in words("ways") and heard & words("ways")):
            return True
        return any(family in families[one].consequences or one in families[family].consequences for one in heard)

    def _by_its_field(self) -> bool:
        """Whether the field that was changed and what stands in it are told of the origin: "the ad asks hostPort 9100".

        Only fields whose names are no words of everyday language, and only beside what may come of it.
        """
        fields = [(key, value) for key, value in self.truth.details.items() if key != key.lower() or "/" in key]
        text, own = self.reading.text, self.own & {*self.blamed}
        named = bool(fields) and all(says_value(text, "", each) for pair in fields for each in pair)
        fits = all(one.family in self._allowed for one in self.stated)
        cleared = any(key.lower() in self.reading.cleared for key, _ in fields)
        return named and bool(own) and fits and not cleared and not self.reading.maybe

    def _otherwise(self) -> str:
        """A way of the right kind of cause that is told of and is not how it came about; empty if there is none.

        A setting that nobody names is another one: its object holds many.
        """
        details = self.truth.details
        setting = details.get("setting", "")
        if setting and self.family == _SETTINGS and not says_value(self.reading.text, "setting", setting):
            return f"another setting than {setting}"
        for key, value in details.items():
            field = key != key.lower() or key in _IMAGE
            if field and not says_value(self.reading.text, key, value) and key.lower() in self.reading.cleared:
                return f"another place than {key}, which is said to be in order"
        for respect, ways in vocabulary().families[self.family].ways.items():
            named = [name for name in ways if f"{self.family} {respect} {name}" in self.reading.ways]
            right = [name for name, way in ways.items() if {*way.faults} & {*self.truth.faults}]
            if named and right and not {*named} & {*right}:
                return f"another {respect} ({named[0]})"
        return ""

    def scope(self) -> _Decided:
        """Whether all that is wrong is covered, nobody else blamed, and what follows may follow."""
        reading, scope = self.reading, self.truth.scope
        missing = [name for name in scope if name not in reading.mentioned]
        unfit = [
            name
            for name in (*self.families, *reading.follows)
            if name not in self._allowed and not _may_follow(name, self.family)
        ]
        return [
            (bool(self.blamed) and not self.besides, f"blames {len(self.blamed)} of {len(scope)} components"),
            (not missing, f"does not mention {', '.join(missing)}" if missing else "mentions all"),
            (not unfit, f"speaks of {', '.join(unfit)}" if unfit else "nothing contradicts the mechanism"),
        ]

    def unclear(self) -> str:
        """Why it cannot be told by rule whether an answer is right, if it may be."""
        reading, own = self.reading, self.own
        if reading.empty or self.besides or self.others:
            return ""
        if reading.unread:
            return "it is longer than what is read"
        if reading.maybe:
            return "it only says what might be the cause"
        if reading.unknown:
            return "it calls something the cause that is no known kind of cause"
        if self.family in reading.denied:
            return ""
        if not self.families and own & set(reading.mentioned):
            return f"it names {self.truth.ref.name} and no known kind of cause"
        if self.family in self.families and not own & set(self.blamed):
            return "it names a kind of cause and not what it belongs to"
        return ""


def _may_follow(name: str, family: str) -> bool:
    """Whether a kind of cause may follow from another by way of a third."""
    families = vocabulary().families
    return any(name in families[step].consequences for step in families[family].consequences if step in families)
