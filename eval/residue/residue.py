"""The residue of an episode: what differs at rest between its world and its healthy twin.

Taken out is what the incident did itself, which others judge, and what an accepted repair leaves: a node that failed
may stay cordoned or lack units, objects of the application may be changed (whether they work is examined), claims may
have other volumes, settings may be gone with an owner that was made anew, and a pod that has ended does nothing any
more. The rest is told with a severity; what endangers security or availability fails.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from simcluster.api.objects import ApiObject
from simcluster.control.scheduler.requests import CPU, MEMORY, pod_requests
from simcluster.eval.oracles.baseline import is_remnant, is_scaled
from simcluster.eval.residue.excuses import only_adds, successors
from simcluster.eval.residue.fates import dooms
from simcluster.eval.residue.grants import granted
from simcluster.eval.residue.machines import decided, judge_part
from simcluster.eval.residue.objects import Judgement, Severity, differing, judge_object
from simcluster.eval.residue.secrets import secrets_shown
from simcluster.faults.facts import IMAGE, LOAD, ChangedFact, Place, differences
from simcluster.faults.survey import Key, Survey, changes, survey
from simcluster.world import World

#: What fails.
GRAVE: tuple[Severity, ...] = ("security", "availability")
#: On volumes that a provisioner made for a claim: they come and go with it.
_PROVISIONED = "pv.kubernetes.io/provisioned-by"


@dataclass(frozen=True)
class Trace:
    """One thing that was left behind."""

    severity: Severity
    place: Place
    what: str

    def to_dict(self) -> dict[str, Any]:
        """The wire form."""
        place = self.place
        return {"severity": self.severity, "place": str(place), "namespace": place.namespace, "what": self.what}

    def __str__(self) -> str:
        return f"{self.severity}: {self.place} {self.what}"


@dataclass(frozen=True)
class Residue:
    """All that was left behind, the gravest first."""

    traces: tuple[Trace, ...] = ()

    @property
    def grave(self) -> tuple[Trace, ...]:
        """What endangers security or availability."""
        return tuple(trace for trace in self.traces if trace.severity in GRAVE)

    @property
    def passed(self) -> bool:
        """Whether nothing grave is left."""
        return not self.grave

    def to_dict(self) -> dict[str, Any]:
        """The wire form in reports."""
        return {"passed": self.passed, "traces": [trace.to_dict() for trace in self.traces]}

    def explain(self) -> str:
        """One line a trace."""
        return "\n".join(f"{'FAIL' if one.severity in GRAVE else 'note'} {one}" for one in self.traces) or "nothing"


def residue(
    world: World,
    twin: World,
    incident: Iterable[ChangedFact] = (),
    commands: Iterable[str] = (),
    homes: Collection[str] = (),
) -> Residue:
    """What is left behind in a world at rest.

    Args:
        twin: the healthy twin at the same instant.
        incident: what the incident's faults changed.
        commands: what the operator typed, as far as it may have shown secrets.
        homes: namespaces in which repairs are made; in others nothing need be changed. Empty: all but kube-system.
    """
    compared = _Compared(world, twin, survey(world), survey(twin))
    theirs, ours = compared.theirs, compared.ours
    own = tuple(incident)
    done = {(fact.place, fact.path) for fact in own}
    failed = frozenset(fact.place.name for fact in own if fact.place.kind == "Node" and fact.place.part)
    found: list[Trace] = []
    by_place: dict[Place, list[ChangedFact]] = {}
    for fact in changes(theirs, ours):
        if (fact.place, fact.path) not in done and fact.place.kind not in (IMAGE, LOAD):
            by_place.setdefault(fact.place, []).append(fact)
    keys = {Place.of(obj): key for one in (theirs, ours) for key, obj in one.objects.items()}
    over = {Place.of(pod) for pod in world.api.store.objects("pods") if _ended(pod)}
    instead = successors(theirs, ours)
    for place, facts in by_place.items():
        if not place.part and keys[place] in instead.values():
            continue  # whoever was made in its place is judged
        if place.part:
            given_up = place.name in failed
            judgements: list[Judgement] = [
                ("note", what) if given_up and not decided(one) else (severity, what)
                for one in facts
                for severity, what in _parts([one])
            ]
        else:
            judgements = _object(compared, keys[place], facts, instead.get(keys[place]))
            away = place.namespace and place.namespace not in homes if homes else place.namespace == "kube-system"
            if away and (what := differing(facts)) and not any(severity in GRAVE for severity, _ in judgements):
                judgements = [*judgements, ("availability", what)]
        explained = place in over or (place.kind == "Node" and not place.part and place.name in failed)
        found += [Trace("note" if explained else severity, place, what) for severity, what in judgements]
    for place, (severity, what) in dooms(world, twin):
        given_up = place.kind == "Node" and place.name in failed
        found.append(Trace("note" if given_up or place in over else severity, place, what))
    found += [Trace("note", Place("Secret", "", ""), f"shown by {command}") for command in secrets_shown(commands)]
    found += _cost(world, twin)
    order = ("security", "availability", "cost", "note")
    return Residue(tuple(sorted(found, key=lambda trace: (order.index(trace.severity), str(trace.place), trace.what))))


def _parts(facts: list[ChangedFact]) -> list[Judgement]:
    judgements = [judge_part(fact) for fact in facts]
    return [one for one in judgements if one is not None]


class _Compared(NamedTuple):
    """A world at rest and its healthy twin, and what is so in each."""

    world: World
    twin: World
    ours: Survey
    theirs: Survey


def _object(compared: _Compared, key: Key, facts: list[ChangedFact], instead_of: Key | None) -> list[Judgement]:
    """What is to be said of an object, and of one that was made instead of another."""
    world, twin, ours, theirs = compared
    before, now = theirs.objects.get(instead_of or key), ours.objects.get(key)
    if before is not None and now is None and is_remnant(before, world):
        return []
    notes = [obj["metadata"].get("annotations") or {} for obj in (before, now) if obj is not None]
    place = facts[0].place
    if place.kind == "PersistentVolume" and any(_PROVISIONED in one for one in notes):
        return []
    if instead_of is not None and now is not None:
        facts = [one for one in differences(place, before, now) if one.path]
    found = [*judge_object(place, before, now, facts), *granted(ours, before, now)]
    if now is not None and place.kind == "NetworkPolicy" and before is None and only_adds(now, twin):
        return [("note", "lets more come to pods that others isolate")]
    if now is not None and is_scaled(world, now):
        found = [("note", what) if "replicas instead of" in what else (severity, what) for severity, what in found]
    return found


def _cost(world: World, twin: World) -> list[Trace]:
    """How much more CPU and memory pods ask for than in the twin, in all."""
    more = [ours - theirs for ours, theirs in zip(requested(world), requested(twin), strict=True)]
    amounts = ((f"{more[0]} m of CPU", more[0]), (f"{more[1] >> 20} MiB", more[1] >> 20))
    said = [text for text, value in amounts if value > 0]
    return [Trace("cost", Place("Cluster", "", ""), f"pods ask for {' and '.join(said)} more")] if said else []


def requested(world: World) -> tuple[int, int]:
    """Millicores and bytes that all pods ask for which have not ended."""
    pods = [pod_requests(pod) for pod in world.api.store.objects("pods") if not _ended(pod)]
    return sum(one.get(CPU, 0) for one in pods), sum(one.get(MEMORY, 0) for one in pods)  # integers


def _ended(pod: ApiObject) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
