"""Judges a claim by intervening: the incident is replayed without what it names, and the broken world set right there.

*But for*: without the steps that changed the named facts nobody suffers once the rest of the incident (pods that were
replaced) is over. *In place*: on a fork of the broken world only
the named facts take their reference value, of the time before or of the task's `sustained_by`, and users recover within
a bound. Data that are lost do not come back so: such facts are judged by the first alone. Both are properties of the
task, seed and noise, not of what an agent did, so each is computed once and kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simcluster.engine import Snapshot
from simcluster.engine.content import Library
from simcluster.eval.episode.episode import Episode
from simcluster.eval.episode.start import start
from simcluster.eval.interventions.named import named
from simcluster.eval.interventions.worlds import Past, recovers, set_right, without
from simcluster.eval.judge.claims import Claim
from simcluster.faults.facts import IMAGE, ChangedFact
from simcluster.faults.survey import value_of
from simcluster.tasks.model import Task
from simcluster.world import World


@dataclass(frozen=True)
class ClaimVerdict:
    """What a claim is worth.

    Attributes:
        localization: something was changed at the component that it names.
        family: the kind of cause is that of what was changed there.
        values: it names no value that is not there.
        but_for: without what it names nobody suffers; None: it names nothing that was changed.
        in_place: with only that set right users recover; None: it names nothing, or what is lost.
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
        """Whether it names a cause."""
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
class Cause:
    """A changed fact that may be named, and which step of the incident changed it (-1: a standing weakness)."""

    fact: ChangedFact
    family: str
    step: int
    lost: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from others of its incident."""
        return self.step, self.fact.place, self.fact.path

    @property
    def stands(self) -> bool:
        """Whether it can be set right in place: data that are lost cannot, nor what has been published."""
        return not self.lost and self.fact.place.kind != IMAGE


_Found = tuple[bool, str]


class Court:
    """Judges claims about one incident: a task under a seed and noise.

    Args:
        episode: at the instant of the page, with nothing done yet.
    """

    def __init__(self, episode: Episode) -> None:
        world = episode.world
        self.past = Past(episode.task, episode.seed, episode.noise_name, world.sim.now, episode.library)
        self.broken: Snapshot[World] = Snapshot(world)
        self.causes = causes_of(episode)
        self._found: dict[tuple[str, tuple[object, ...]], _Found] = {}

    def judge(self, *claims: Claim) -> ClaimVerdict:
        """What claims are worth together, with the evidence: of an incident of two causes both are named."""
        world, namespace = self.broken.restore(), self.past.task.namespace
        everything = [cause.fact for cause in self.causes]
        evidence: list[str] = []
        meant: list[Cause] = []
        component, family, values = bool(claims), bool(claims), True
        for claim in claims:
            found = named(claim, everything, world, namespace)
            here = self._whole([cause for cause in self.causes if cause.fact in found.facts])
            component &= found.component
            family &= bool(here) and all(cause.family == claim.family for cause in here)
            evidence += [found.why] if found.why else [f"names {cause.fact.place} {cause.fact.path}" for cause in here]
            if here and not family:
                evidence.append(f"{claim.family or 'nothing'} is not what is wrong there")
            if not _tells_no_other(claim, here):
                values = False
                evidence.append(f"none of {', '.join(claim.values)} stands there")
            meant += [cause for cause in here if cause not in meant]
        facts = tuple(cause.fact for cause in meant)
        if not (component and family and values):
            return ClaimVerdict(component, family, values, None, None, facts, tuple(evidence))
        but_for, why = self.but_for(meant)
        evidence.append(f"but for it: {why}")
        in_place: bool | None = None
        if any(cause.stands for cause in meant):
            in_place, why = self.in_place(meant)
            evidence.append(f"set right in place: {why}")
        return ClaimVerdict(component, True, True, but_for, in_place, facts, tuple(evidence))

    def _whole(self, causes: list[Cause]) -> list[Cause]:
        """Causes with the others of the same step at the same part of a machine: a clock that drifts is wrong, too."""
        parts = {(cause.step, cause.fact.place) for cause in causes if cause.fact.place.part}
        return [one for one in self.causes if one in causes or (one.step, one.fact.place) in parts]

    def but_for(self, causes: list[Cause]) -> _Found:
        """Whether nobody suffers in an incident without the causes, and what users met there."""
        key = ("but for", tuple(cause.key for cause in causes))
        if key not in self._found:
            self._found[key] = self._without(causes)
        return self._found[key]

    def in_place(self, causes: list[Cause]) -> _Found:
        """Whether users recover from the broken world once only the causes are set right, and what they met."""
        key = ("in place", tuple(cause.key for cause in causes))
        if key not in self._found:
            self._found[key] = self._set_right([cause.fact for cause in causes if cause.stands])
        return self._found[key]

    def _set_right(self, facts: list[ChangedFact]) -> _Found:
        world = self.broken.restore()
        standing = [fact for fact in facts if value_of(world, fact.place, fact.path) != fact.before]
        if not standing:
            return False, "it is so already: what was changed there is over"
        problem = set_right(world, standing)
        return (False, problem) if problem else recovers(world, self.past.task.namespace)

    def _without(self, causes: list[Cause]) -> _Found:
        past, namespace = self.past, self.past.task.namespace
        weak = [cause.fact for cause in causes if cause.step < 0]
        world = without(past, {cause.step for cause in causes}, weak)
        return recovers(world, namespace)


def causes_of(episode: Episode) -> list[Cause]:
    """What may be named as a cause of an episode's incident: what its faults changed themselves, and weaknesses."""
    incident, task = episode.incident, episode.task
    found = [
        Cause(fact, mechanism.family, index, mechanism.sheet.lost)
        for index, mechanism in incident.mechanisms.items()
        if not task.incident[index].harmless
        for fact in mechanism.sheet.root(incident.record.get(index, ()))
    ]
    return found + [Cause(one.fact(episode.world, task.namespace), one.family, -1) for one in task.sustained_by]


def _tells_no_other(claim: Claim, causes: list[Cause]) -> bool:
    """Whether the values of a claim, if it has some, are told of what was changed: before, after or on the way."""
    facts = [cause.fact for cause in causes]
    known = " ".join(f"{fact.place} {fact.path} {fact.before} {fact.after}" for fact in facts).lower()
    return not claim.values or not facts or any(value.lower() in known for value in claim.values)


#: Courts of the last incidents: what they found is the same for everybody who claims.
_COURTS: dict[tuple[object, ...], Court] = {}
_KEEP = 4


def court_of(task: Task, seed: int, noise: str | None, library: Library | None = None) -> Court:
    """The court of a task under a seed and noise. Raises what `start` does."""
    key = (task.model_dump_json(), seed, noise, library)
    if key not in _COURTS:
        _COURTS[key] = Court(start(task, seed, noise, library))
        if len(_COURTS) > _KEEP:
            del _COURTS[next(iter(_COURTS))]
    return _COURTS[key]


def judge_claim(
    claim: Claim, task: Task, seed: int = 0, noise: str | None = None, library: Library | None = None
) -> ClaimVerdict:
    """Judge a claim about the incident of a task under a seed and noise, by intervening.

    Raises:
        UnknownName, ContentError, NotAnIncident, ImpossibleTarget: the task has no such incident.
    """
    return court_of(task, seed, noise, library).judge(claim)


def proved(episode: Episode) -> list[tuple[str, bool, str]]:
    """(name, whether, why) for each thing that a task says of its causes, by intervening in its episode."""
    court, task = Court(episode), episode.task
    lasting = [step for step, mechanism in episode.incident.mechanisms.items() if mechanism.lasting]
    changed = [cause for cause in court.causes if cause.step in lasting]
    found = []
    if changed:
        found.append(("without what was changed nobody suffers", *court.but_for(changed)))
        if any(cause.stands for cause in changed) and not task.sustained_by:
            found.append(("what was changed is set right and users recover", *court.in_place(changed)))
    for cause in court.causes:
        if cause.step < 0:
            found.append((f"{cause.fact.path} sustains it", *court.in_place([cause])))
    harmless = {step for step in range(len(task.incident)) if task.incident[step].harmless}
    if harmless:
        others = {step for step, one in enumerate(task.incident) if one.fault and step not in harmless}
        why = recovers(without(court.past, others), task.namespace)
        found.append(("what is harmless hurts nobody", *why))
    return found
