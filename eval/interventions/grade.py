"""The grade of a diagnosis: the nine questions, and interventions on what it claims.

A structured submission is judged by intervention, and by whether it blames somebody healthy besides. A text is reduced
to claims by the reader: where the questions find no cause in it, or cannot tell, nothing is replayed; what it names has
to be a cause then. Who only suffers may be listed. Where an incident has several causes, or weaknesses any of which
sustains it, each is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from simcluster.engine.content import Library
from simcluster.eval.interventions.court import Cause, Court
from simcluster.eval.interventions.victims import victims
from simcluster.eval.interventions.worlds import Paged
from simcluster.eval.judge.claims import claims_of
from simcluster.eval.judge.judge import Beside, family_of, questioned, reading_of
from simcluster.eval.judge.particulars import leaves
from simcluster.eval.judge.verdicts import DiagnosisVerdict
from simcluster.tasks.model import Task, Truth
from simcluster.tasks.truth import causes, weaknesses


def diagnosed(answer: str | dict[str, Any] | None, paged: Paged, inventory: Sequence[str]) -> DiagnosisVerdict:
    """Grade a diagnosis of any form; none is an error.

    Args:
        answer: a text, claims, or None.
        paged: the incident.
        inventory: `Kind/name` of the components there are.
    """
    court, truths = Court(paged), list(truths_of(paged.task))
    reading = reading_of(answer, (*inventory, *(truth.component for truth in truths)))
    found = [questioned(reading, truth, _beside(court, truth)) for truth in truths]
    best = max(found, key=_worth)
    claims = claims_of(answer)
    if claims:
        return replace(best, claims=court.judge(*claims), structured=True)
    return replace(best, claims=court.judge_reading(reading)) if best.passed else best


def truths_of(task: Task) -> Iterator[Truth]:
    """What may be said of a task: its truth, and each further weakness that keeps its incident going."""
    yield task.truth
    yield from (one for one in weaknesses(task) if one != task.truth)


def _worth(verdict: DiagnosisVerdict) -> tuple[bool, int]:
    return verdict.passed, verdict.yes


def _beside(court: Court, truth: Truth) -> Beside:
    """What besides the origin may be named: what else is wrong, and who suffers."""
    standing = [cause for cause in court.causes if cause.lasting]
    own = {truth.ref.name, *truth.scope, *map(_name_of, standing)}
    paged = court.paged
    suffer = victims(paged.world.restore(), paged.task.namespace, own, family_of(truth))
    return Beside(
        suffer, frozenset(cause.family for cause in standing), frozenset(own), params_of(paged.task, paged.library)
    )


def params_of(task: Task, library: Library | None = None) -> tuple[tuple[str, str], ...]:
    """What the faults of a task are told, and what keeps its incident going: paths and values."""
    faults = [
        pair for one in causes(task.incident, task.namespace, library) for pair in leaves(one.params.model_dump())
    ]
    return (*faults, *((one.path, one.standing) for one in task.sustained_by))


def _name_of(cause: Cause) -> str:
    """A component as texts name it; of an image who runs it."""
    return cause.fact.place.name.rpartition("/")[2].partition(":")[0]
