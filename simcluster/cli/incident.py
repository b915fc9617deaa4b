"""From a task on the command line to the instant of its page."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from simcluster.cli.exits import CheckFailed
from simcluster.engine.content import Library
from simcluster.eval.episode import Episode, NotAnIncident, start
from simcluster.faults.target import ImpossibleTarget
from simcluster.world.profile import Profile


def open_episode(
    task: str,
    seed: int,
    noise: str | None,
    folders: tuple[str, ...],
    remarks: Console,
    age: str | None = None,
    profile: Profile | None = None,
    *,
    blind: bool = False,
) -> Episode:
    """Start an episode, with a remark while it takes its time.

    Raises:
        CheckFailed: the task does not work in this world.
    """
    library = Library(tuple(Path(folder) for folder in folders))
    try:
        with remarks.status(f"bringing {'the incident' if blind else Path(task).stem} to its page"):
            return start(task, seed, noise, library, age, profile)
    except (NotAnIncident, ImpossibleTarget) as problem:
        raise CheckFailed(str(problem)) from None
