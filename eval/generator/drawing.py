"""One incident, drawn: an application, one or two faults on components of it, how bad, under which noise, how old.

What nobody notices becomes worse until somebody does, as far as its fault says how (`draws`); what hurts nobody even
then is replaced. Two faults are taken together only if each alone is noticed. Truth derives from what was changed, and
the fix from the record of it, where it can be written as a command.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from simcluster.apps.cases import case_of as app_case
from simcluster.apps.history import YOUNGEST_NS
from simcluster.apps.registry import applications
from simcluster.engine.clock import DAY
from simcluster.engine.content import Library
from simcluster.engine.streams import Stream, Streams
from simcluster.eval.episode.episode import Episode
from simcluster.eval.episode.start import Starts
from simcluster.eval.proof.deeds import filled
from simcluster.eval.proof.mending import marks_by_kind, repairs
from simcluster.eval.proof.pairs import Pair, bare, fit, task_of, worse
from simcluster.eval.worlds.healthy import HEALTHY, NotAnIncident
from simcluster.faults import registry
from simcluster.faults.draws import LEVELS
from simcluster.faults.families import meanings
from simcluster.faults.target import ImpossibleTarget
from simcluster.tasks.calm import calm_of, healed_of
from simcluster.tasks.model import Step, Task
from simcluster.tasks.truth import derived

#: Under which noise an incident happens, by equal chances; none twice as often.
NOISES = ("none", "none", "light", "default", "heavy", "sregym")
#: Days that a cluster has lived, by equal chances.
AGES_D = (1, 3, 9, 21, 47, 90, 150, 240)
#: Of so many incidents one has two causes.
COMPOSED_ONE_IN = 4
#: Of so many members of a set one has no fault: somebody is paged, and nothing is to be repaired.
CALM_ONE_IN = 8
#: The second of two faults comes so long after the first.
APART_NS = 20_000_000_000
#: Of each thing that was changed the first repair of `eval/proof/repairs` that fits is the reference fix.
FIXES = ("merged", "made_again", "taken_away", "enabled_and_started")
#: The world in which magnitudes are tried.
WORLD_SEED = 0


class _Found(NamedTuple):
    """An incident that is noticed: of what, its task, and the episode of it at the page."""

    pairs: tuple[Pair, ...]
    task: Task
    episode: Episode


class Member(NamedTuple):
    """One incident of a set. `key` is the same for two that nobody should have to solve both."""

    key: str
    task: Task


def member(seed: int, index: int, taken: Collection[str] = (), library: Library | None = None) -> Member:
    """The incident of this number under a seed, whose key is none of `taken`.

    Raises:
        NotAnIncident: nothing that is drawn is noticed.
    """
    stream = Streams(seed).stream("fresh", index)
    calm = stream.integer(0, CALM_ONE_IN) == 0
    name = f"fresh-{seed}-{index:03d}"
    for app, pair in _candidates(seed, index, stream, library):
        key = f"{app} {pair.id}"
        if key in taken:
            continue
        level = stream.integer(0, LEVELS)
        age = max(DAY * stream.choice(list(AGES_D)), YOUNGEST_NS)
        noise = stream.choice(list(NOISES))
        if calm:
            quiet = _without_fault(app, pair, stream, library)
            if quiet is not None:
                made = {"id": name, "noise": noise, "age": age, "title": quiet.title}
                return Member(f"{app} calm {index}", quiet.model_copy(update=made))
        found = _bitten(app, pair, level, library)
        if found is None:
            continue
        if stream.integer(0, COMPOSED_ONE_IN) == 0:
            found = _composed(found, app, seed, index, stream, library)
        found = _paged(found.pairs, found.task.model_copy(update={"age": age}), library) or found
        return Member(key, _task_of(found).model_copy(update={"id": name, "noise": noise}))
    raise NotAnIncident(f"incident {index} of seed {seed}: nothing that was drawn is noticed")


def _candidates(seed: int, index: int, stream: Stream, library: Library | None) -> Iterator[tuple[str, Pair]]:
    """Pairs in the order in which they are tried: each member of a set begins with another fault, all else is drawn."""
    faults = [one for one in registry.ids(library) if _lasts(one, library)]
    Streams(seed).stream("fresh", "faults").shuffle(faults)
    own = faults.pop(index % len(faults))
    stream.shuffle(faults)
    for fault in (own, *faults):
        apps = used_applications(library)
        stream.shuffle(apps)
        for app in apps:
            pairs = list(fit(fault, app, WORLD_SEED, library).pairs)
            if pairs:
                yield app, pairs[stream.choice(list(range(len(pairs))))]
                break


def _lasts(fault: str, library: Library | None) -> bool:
    return registry.mechanisms()[registry.load(fault, library).mechanism].lasting


def _without_fault(app: str, pair: Pair, stream: Stream, library: Library | None) -> Task | None:
    """The no-fault twin of the incident of a pair; None: the pair makes no task."""
    try:
        task = task_of(app, pair, library)
    except ValueError:  # nothing of it lasts, or its parameters take no such value
        return None
    made = stream.choice([calm_of, healed_of])(task)
    return made if _paged((pair,), made, library) is not None else None


def used_applications(library: Library | None = None) -> list[str]:
    """Applications that have users, sorted."""
    return sorted(one.behaviour.application for one in applications(library) if app_case(one).users is not None)


def _bitten(app: str, pair: Pair, level: int, library: Library | None) -> _Found | None:
    """A fault at the drawn magnitude, or the first worse one that is noticed; None: none is.

    It is tried in the world in which pairs are found. The worst comes first: where not even that is noticed, none is.
    """
    *milder, worst = worse(pair, level, library) or [pair]
    found = _tried(app, worst, library)
    if found is not None:
        for one in milder:
            noticed = _tried(app, one, library)
            if noticed is not None:
                return noticed
    return found


def _tried(app: str, pair: Pair, library: Library | None) -> _Found | None:
    try:
        task = task_of(app, pair, library)
    except ValueError:  # nothing of it lasts, or its parameters take no such value
        return None
    return _paged((pair,), task, library)


def _paged(pairs: tuple[Pair, ...], task: Task, library: Library | None) -> _Found | None:
    """The episode of a task at its page, without noise; None if it is impossible, or nobody is paged."""
    try:
        return _Found(pairs, task, Starts(1, HEALTHY).start(task, WORLD_SEED, library=library))
    except (ImpossibleTarget, NotAnIncident):
        return None


def _composed(first: _Found, app: str, seed: int, index: int, stream: Stream, library: Library | None) -> _Found:
    """Two incidents as one, if another is found that is noticed alone and goes together with the first."""
    count, task = len(registry.ids(library)), first.task
    for other, pair in _candidates(seed, (index + 1 + stream.integer(0, count)) % count, stream, library):
        if other != app:
            continue
        second = _bitten(app, pair, LEVELS - 1, library)
        if second is None:
            return first
        late = [step.model_copy(update={"at": step.at + APART_NS}) for step in second.task.incident]
        both = task.model_copy(update={"incident": (*task.incident, *late), "stated": None})
        both = both.model_copy(update={"title": f"{task.title}, and {second.task.title}"})
        try:
            both = both.model_copy(update={"stated": derived(both, library)})
        except ValueError:
            return first
        return _paged((*first.pairs, pair), both, library) or first
    return first


def _task_of(found: _Found) -> Task:
    """The task of a noticed incident, with the fix and the diagnosis that follow from what was changed."""
    means = meanings()
    causes = [
        one
        for index, one in found.episode.incident.mechanisms.items()
        if one.lasting and not found.episode.incident.steps[index].harmless
    ]
    claims = [
        {"component": str(one.ref), "mechanism": means.get(one.family, one.family), "details": one.details}
        for one in causes
    ]
    data = found.task.model_dump(by_alias=True, exclude={"stated"})
    data["incident"] = [
        bare(pair, late=number * APART_NS).model_dump(exclude_defaults=True) for number, pair in enumerate(found.pairs)
    ]
    data["reference_fixes"] = [[step.model_dump() for step in fix] for fix in _fixes(found.episode)]
    data["reference_diagnoses"] = {"right": [{"claims": claims}], "plausible_but_wrong": ["nothing is wrong"]}
    made = Task.model_validate(data)
    return made.model_copy(update={"stated": found.task.truth})


def _fixes(episode: Episode) -> list[list[Step]]:
    """What gives everything that was changed the value it had, as commands; nothing if no generic repair does."""
    wrong, steps = (*episode.incident.facts(harmless=False), *episode.incident.lost()), list[Step]()
    for place in dict.fromkeys(fact.place for fact in wrong):
        marks = marks_by_kind(episode.world, episode.task, tuple(fact for fact in wrong if fact.place == place))
        fitting = [repairs()[name] for name in FIXES if repairs()[name].of in marks]
        if not fitting:
            return []
        steps += [filled(step, one) for step in fitting[0].steps for one in marks[fitting[0].of]]
    where = f" -n {episode.task.namespace}"
    named = [one.model_copy(update={"kubectl": one.kubectl + where}) if one.kubectl else one for one in steps]
    return [[*dict.fromkeys(named), Step(wait="90s")]] if named else []
