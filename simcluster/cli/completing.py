"""What shells complete: ids of tasks, names of agents, kinds and lessons.

`eval "$(_SIMCLUSTER_COMPLETE=bash_source simcluster)"` turns it on in bash, `zsh_source` in zsh, and in fish
`_SIMCLUSTER_COMPLETE=fish_source simcluster | source`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem


def tasks(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Ids of tasks."""
    return _beginning(importlib.import_module("simcluster.tasks.loader").ids(), incomplete)


def agents(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of agents."""
    return _listed("agents", incomplete)


def lessons(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Ids of lessons."""
    return _listed("lessons", incomplete)


def kinds(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What `list` lists."""
    return _beginning(importlib.import_module("simcluster.cli.commands.list").KINDS, incomplete)


def _listed(kind: str, incomplete: str) -> list[CompletionItem]:
    listing = importlib.import_module("simcluster.cli.commands.list")
    rows = listing.rows_of(kind, listing.Library(()))
    return _beginning([row["id"] for row in rows], incomplete)


def _beginning(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
