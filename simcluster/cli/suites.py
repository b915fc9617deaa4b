"""Suites of tasks by name, and sets of generated incidents (`fresh:SEED:N`), which are made when they are asked for."""

from __future__ import annotations

from pathlib import Path

import click

from simcluster import tasks
from simcluster.cli.output import console
from simcluster.engine.content import Library
from simcluster.eval.generator import Fresh, written


def fresh_of(suite: str) -> Fresh | None:
    """The set that a name means; None if it is that of a suite. Raises UsageError: it is neither."""
    try:
        return Fresh.parse(suite)
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None


def members(suite: str, folder: Path, jobs: int, library: Library) -> list[str]:
    """Ids of the tasks of a suite, or files of generated ones, which are written into a folder.

    Raises:
        UnknownName: there is no such suite.
        UsageError: it is `fresh:`, and wrong.
        NotAnIncident: nothing that was drawn is noticed.
    """
    wanted = fresh_of(suite)
    if wanted is None:
        return tasks.suite(suite, library)
    with console(stderr=True).status(f"making {wanted.size} incidents"):
        return written(wanted, folder, jobs, library)
