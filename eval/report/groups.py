"""What runs have in common: the application, the layer and the kind of cause of their tasks."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from simcluster import tasks
from simcluster.engine.content import ContentError, UnknownName
from simcluster.eval.judge.judge import family_of
from simcluster.faults.families import cause_families
from simcluster.tasks.model import Task


def groups_of(record: Mapping[str, Any]) -> tuple[str, ...]:
    """`app …`, `layer …`, `family …`, `mode …` of a run's task, and `noise …`.

    A task that is not in the catalogue has none of the former.
    """
    return (*_groups(str(record["task"])), f"noise {record.get('noise') or 'none'}")


@functools.cache
def _groups(task_id: str) -> tuple[str, ...]:
    try:
        task = tasks.load(task_id)
    except (ContentError, UnknownName):  # not in the catalogue, or its file is gone
        return ()
    family = family_of(task.truth)
    layers = next((one.layers for one in cause_families() if one.id == family), ())
    return (f"app {task.app}", *(f"layer {layer}" for layer in layers), f"family {family}", f"mode {mode_of(task)}")


def mode_of(task: Task) -> str:
    """How the incident comes about: the first that fits.

    `metastable`: it goes on although its trigger is over. `latent`: the cause is older than the application.
    `concurrent`: several causes. `single`: one.
    """
    faults = [step for step in task.incident if step.fault and not step.harmless]
    if task.sustained_by:
        return "metastable"
    if any(step.latent for step in faults):
        return "latent"
    return "concurrent" if len(faults) > 1 else "single"
