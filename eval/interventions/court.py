"""Judges claims by intervening: the incident is replayed without what they name, and the broken world set right there.

*But for*: without the steps that changed the named facts nobody suffers once the rest of the incident (pods that were
replaced) is over. *In place*: on a fork of the broken world only the named facts take their reference value, of the
time before or of the task's `sustained_by`, what could not be made anew meanwhile is made, if that is possible now, and
users recover within a bound. Data that are lost do not come back so: such facts are judged by the first alone.

Worlds are replayed only where the outcome is open. Who names nothing that was changed, another kind of cause than is at
work there, or a value that is not there, names no cause, whatever a replay would show. Who names every fault of an
incident need not be replayed either: but for all of them it is the healthy world. Where users go on suffering without
what is named, nothing is set right in place. What is replayed is a property of the task, seed and noise, not of what an
agent did: it is computed once in a process and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from simcluster.eval.interventions.named import called, named
from simcluster.eval.interventions.worlds import Paged, recovers, set_right, without
from simcluster.eval.judge.claims import Claim
from simcluster.eval.judge.reading import Reading
from simcluster.eval.judge.values import says_value
from simcluster.eval.judge.verdicts import ClaimVerdict
from simcluster.faults.facts import IMAGE, ChangedFact, Place
from simcluster.faults.steps import mechanism_of
from simcluster.faults.survey import value_of
from simcluster.world import World


@dataclass(frozen=True)
class Cause:
    """A changed fact that may be named.

    Attributes:
        step: of the incident that changed it; -1: a standing weakness.
        lost: whether it cannot be brought back.
        lasting: whether the fault stays until somebody undoes it.
    """

    fact: ChangedFact
    family: str
    step: int
    lost: bool = False
    lasting: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from others of its incident."""
        return self.step, self.fact.place, self.fact.path

    @property
    def stands(self) -> bool:
        """Whether it can be set right in place: data that are lost cannot, nor what has been published."""
        return not self.lost and self.fact.place.kind != IMAGE


_Found = tuple[bool, str]


def _place_of(cause: Cause) -> tuple[int, Place]:
    return cause.step, cause.fact.place


class Court:
    """Judges claims about one incident: a task under a seed and noise."""

    def __init__(self, paged: Paged) -> None:
        self.paged = paged
        self.causes = causes_of(paged)
        self._key = (paged.task.model_dump_json(), paged.seed, paged.noise, paged.library)

    def judge(self, *claims: Claim) -> ClaimVerdict:
        """What claims are worth together, with the evidence: of an incident of two causes both are named."""
        evidence: list[str] = []
        meant: list[Cause] = []
        component, family, values = bool(claims), bool(claims), True
        for claim in claims:
            known, here, why = self._named(claim)
            component &= known
            family &= bool(here) and all(cause.family == claim.family for cause in here)
            evidence += [why] if why else [f"names {cause.fact.place} {cause.fact.path}" for cause in here]
            if here and not family:
                evidence.append(f"{claim.family or 'nothing'} is not what is wrong there")
            if not self._tells_no_other(claim, here):
                values = False
                evidence.append(f"none of {', '.join(claim.values)} stands there")
            meant += [cause for cause in here if cause not in meant]
        if component and family and values:
            return self._tried(meant, evidence)
        return ClaimVerdict(component, family, values, None, None, _facts(meant), tuple(evidence))

    def judge_reading(self, reading: Reading) -> ClaimVerdict | None:
        """What a text is worth by what it calls wrong: each kind of cause means what is of that kind at its components.

        Returns:
            None if nothing that was changed is meant.
        """
        world, namespace = self.paged.world.restore(), self.paged.task.namespace
        meant = [
            cause
            for cause in self.causes
            for one in reading.stated
            if one.family == cause.family and called(one.owners, cause.fact.place, world, namespace)
        ]
        meant = self._whole(meant)
        evidence = [f"means {cause.fact.place} {cause.fact.path}" for cause in meant]
        return self._tried(meant, evidence) if meant else None

    def _tried(self, meant: list[Cause], evidence: list[str]) -> ClaimVerdict:
        but_for, why = self._nothing_left(meant) or self.but_for(meant)
        evidence = [*evidence, f"but for it: {why}"]
        in_place: bool | None = None
        if but_for and any(cause.stands for cause in meant):
            in_place, why = self.in_place(meant)
            evidence.append(f"set right in place: {why}")
        return ClaimVerdict(True, True, True, but_for, in_place, _facts(meant), tuple(evidence))

    def _named(self, claim: Claim) -> tuple[bool, list[Cause], str]:
        """Whether something was changed at a claim's component, which causes its places cover, and why none."""
        world, namespace = self.paged.world.restore(), self.paged.task.namespace
        found = named(claim, [cause.fact for cause in self.causes], world, namespace)
        here = [cause for cause in self.causes if cause.fact in found.facts]
        details = self.paged.task.truth.details
        # Without a place the kind of cause says where, if it is said in words, or a key of its data sheet.
        implied = claim.mechanism or any(value.partition("=")[0] in details for value in claim.values)
        if not here and not claim.where and implied:
            here = [one for one in self.causes if one.fact in found.here and one.family == claim.family]
        return bool(found.here), self._whole(here), "" if here else found.why

    def _nothing_left(self, causes: Collection[Cause]) -> _Found | None:
        """What the healthy world tells of an incident of which every fault is named; None if some are left."""
        faults = {index for index, step in enumerate(self.paged.task.incident) if step.fault and not step.harmless}
        if faults <= {cause.step for cause in causes}:
            return True, "no fault is left in the incident: the healthy world serves its users"
        return None

    def _whole(self, causes: list[Cause]) -> list[Cause]:
        """Causes with the others of the same step that are one with them: at the same part of a machine (a clock that
        drifts is wrong, too), or added to, or taken from, the same object (a probe without a port is none).
        """
        parts = {(cause.step, cause.fact.place) for cause in causes if cause.fact.place.part}
        added = {(cause.step, cause.fact.place) for cause in causes if cause.fact.before is None}
        gone = {(cause.step, cause.fact.place) for cause in causes if cause.fact.after is None}
        return [one for one in self.causes if one in causes or _place_of(one) in parts
                or (one.fact.before is None and _place_of(one) in added)
                or (one.fact.after is None and _place_of(one) in gone)]  # fmt: skip

    def but_for(self, causes: list[Cause]) -> _Found:
        """Whether nobody suffers in an incident without the causes, and what users met there."""
        return self._kept("but for", causes, self._without)

    def in_place(self, causes: list[Cause]) -> _Found:
        """Whether users recover from the broken world once only the causes are set right, and what they met."""
        return self._kept("in place", causes, self._set_right)

    def _kept(self, how: str, causes: list[Cause], find: Callable[[list[Cause]], _Found]) -> _Found:
        key = (*self._key, how, tuple(cause.key for cause in causes))
        if key not in _KNOWN:
            _KNOWN[key] = find(causes)
            if len(_KNOWN) > _KNOWN_MAX:
                del _KNOWN[next(iter(_KNOWN))]
        return _KNOWN[key]

    def _set_right(self, causes: list[Cause]) -> _Found:
        world, facts = self.paged.world.restore(), [cause.fact for cause in causes if cause.stands]
        standing = [fact for fact in facts if value_of(world, fact.place, fact.path) != fact.before]
        if not standing:
            return False, "it is so already: what was changed there is over"
        problem = set_right(world, standing) or set_right(world, self._missing(world))
        return (False, problem) if problem else recovers(world, self.paged.task.namespace)

    def _missing(self, world: World) -> list[ChangedFact]:
        """What harmless steps took away and could not make anew: whoever wanted to tries again."""
        steps = enumerate(self.paged.task.incident)
        facts = [one for index, step in steps if step.harmless for one in self.paged.record.get(index, ())]
        gone = [one for one in facts if not one.path and not one.place.part and one.after is None]
        return [one for one in gone if value_of(world, one.place, "") is None]

    def _without(self, causes: list[Cause]) -> _Found:
        weak = [cause.fact for cause in causes if cause.step < 0]
        world = without(self.paged, {cause.step for cause in causes}, weak)
        return recovers(world, self.paged.task.namespace)

    def _tells_no_other(self, claim: Claim, causes: list[Cause]) -> bool:
        """Whether the values of a claim, if it has some, are those of what was changed: before, after or on the way."""
        if not claim.values or not causes:
            return True
        facts = [cause.fact for cause in causes]
        known = " ".join(f"{fact.place} {fact.path} {fact.before} {fact.after}" for fact in facts).lower()
        known += " " + " ".join(self.paged.task.truth.details.values()).lower()
        pairs = [value.rpartition("=") for value in claim.values]
        return any(says_value(known, key, value) or value.lower() in known for key, _, value in pairs)


def causes_of(paged: Paged) -> list[Cause]:
    """What may be named as a cause of an incident: what its faults changed themselves, and weaknesses."""
    task = paged.task
    found = []
    for index, step in enumerate(task.incident):
        if step.fault and not step.harmless:
            mechanism = mechanism_of(step, task.namespace, paged.library)
            facts = mechanism.sheet.root(paged.record.get(index, ()))
            found += [Cause(fact, mechanism.family, index, mechanism.sheet.lost, mechanism.lasting) for fact in facts]
    world = paged.world.restore() if task.sustained_by else None
    weak = [] if world is None else [(one.fact(world, task.namespace), one.family) for one in task.sustained_by]
    return found + [Cause(fact, family, -1) for fact, family in weak]


def _facts(causes: Iterable[Cause]) -> tuple[ChangedFact, ...]:
    return tuple(cause.fact for cause in causes)


#: What was replayed, by task, seed and noise, and by what was named; the last that many.
_KNOWN: dict[tuple[object, ...], _Found] = {}
_KNOWN_MAX = 1024


def proved(court: Court) -> list[tuple[str, bool, str]]:
    """(name, whether, why) for each thing that a task says of its causes, by intervening in its incident."""
    task = court.paged.task
    faults = {index: step for index, step in enumerate(task.incident) if step.fault}
    changed = [cause for cause in court.causes if cause.lasting]
    found = []
    if changed:
        found.append(("without what was changed nobody suffers", *court.but_for(changed)))
        if any(cause.stands for cause in changed) and not task.sustained_by:
            found.append(("what was changed is set right and users recover", *court.in_place(changed)))
    for cause in court.causes:
        if cause.step < 0:
            found.append((f"{cause.fact.path} sustains it", *court.in_place([cause])))
    harmless = {index for index, step in faults.items() if step.harmless and not step.drawn}
    if harmless:
        why = recovers(without(court.paged, faults.keys() - harmless), task.namespace)
        found.append(("what is harmless hurts nobody", *why))
    return found
