"""Suites by name, and those made when they are asked for: `fresh:SEED:N`, `cloudopsbench[:N]`, `srezero[:25]`."""

from __future__ import annotations

from pathlib import Path

import click

from simcluster import tasks
from simcluster.cli.output import console
from simcluster.engine.content import Library
from simcluster.eval.generator import Collection, Fresh, Incidents, collected, written


def made_of(suite: str) -> Fresh | Collection | Incidents | None:
    """The set that a name means; None if it is that of a suite. Raises UsageError: it is neither."""
    try:
        return Fresh.parse(suite) or Collection.parse(suite) or Incidents.parse(suite)
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None


def members(suite: str, folder: Path, jobs: int, library: Library) -> list[str]:
    """Ids of the tasks of a suite, or files of generated ones, which are written into a folder.

    Raises:
        UnknownName: there is no such suite.
        UsageError: it is `fresh:`, `cloudopsbench:` or `srezero:`, and wrong.
        NotAnIncident: nothing that was drawn is noticed.
    """
    wanted = made_of(suite)
    if wanted is None:
        return tasks.suite(suite, library)
    if isinstance(wanted, Incidents):
        return wanted.written(folder, library)
    with console(stderr=True).status(f"making {wanted.size} incidents"):
        if isinstance(wanted, Collection):
            return collected(wanted, folder, library)
        return written(wanted, folder, jobs, library)
