"""Where text goes: results to standard output, progress and remarks to standard error."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Table


def console(*, stderr: bool = False) -> Console:
    """A rich console; without a terminal it prints plain text, wide enough for tables."""
    found = Console(stderr=stderr, highlight=False)
    if not found.is_terminal:
        found = Console(stderr=stderr, highlight=False, width=max(found.width, 160))
    return found


def table_of(rows: Sequence[Mapping[str, Any]]) -> Table:
    """A table of rows whose first column, the id, is never cut, however narrow the terminal; other cells wrap."""
    heads = list(rows[0]) if rows else ["id"]
    table = Table()
    for place, head in enumerate(heads):
        longest = max((len(str(row[head])) for row in rows), default=1) if place == 0 else 1
        table.add_column(head, min_width=longest, no_wrap=place == 0, overflow="fold")
    for row in rows:
        table.add_row(*(", ".join(cell) if isinstance(cell, (list, tuple)) else str(cell) for cell in row.values()))
    return table


def print_json(value: Any) -> None:
    """One JSON value on standard output."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))
