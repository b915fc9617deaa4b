"""What runs have in common: the application, the layer and the kind of cause of their tasks."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from simcluster import tasks
from simcluster.engine.content import UnknownName
from simcluster.eval.judge.judge import family_of
from simcluster.faults.families import cause_families


def groups_of(record: Mapping[str, Any]) -> tuple[str, ...]:
    """`app …`, `layer …`, `family …` of a run's task; none of a task that is not in the catalogue."""
    return _groups(str(record["task"]))


@functools.cache
def _groups(task_id: str) -> tuple[str, ...]:
    try:
        task = tasks.load(task_id)
    except UnknownName:
        return ()
    family = family_of(task.truth)
    layers = next((one.layers for one in cause_families() if one.id == family), ())
    return (f"app {task.app}", *(f"layer {layer}" for layer in layers), f"family {family}")
