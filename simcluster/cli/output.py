"""Where text goes: results to standard output, progress and remarks to standard error."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.console import Console


def console(*, stderr: bool = False) -> Console:
    """A rich console; without a terminal it prints plain text, wide enough for tables."""
    found = Console(stderr=stderr, highlight=False)
    if not found.is_terminal:
        found = Console(stderr=stderr, highlight=False, width=max(found.width, 160))
    return found


def print_json(value: Any) -> None:
    """One JSON value on standard output."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))
