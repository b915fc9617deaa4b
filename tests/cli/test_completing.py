"""What a shell completes, asked as bash asks; tables at 80 columns."""

from __future__ import annotations

import io

import pytest
from click.shell_completion import BashComplete
from rich.console import Console

from simcluster.cli.commands.list import rows_of
from simcluster.cli.group import group
from simcluster.cli.output import table_of
from simcluster.tasks.loader import Library


@pytest.mark.parametrize(
    ("words", "incomplete", "found"),
    [
        (["run"], "wrong_service_selector_online", "wrong_service_selector_online_boutique"),
        (["shell"], "wrong_service_selector_online", "wrong_service_selector_online_boutique"),
        (["run", "--agent"], "run", "runbook"),
        (["list"], "le", "lessons"),
        ([], "tra", "traffic"),
    ],
)
def test_completion(words: list[str], incomplete: str, found: str) -> None:
    shell = BashComplete(group, {}, "simcluster", "_SIMCLUSTER_COMPLETE")
    assert found in [item.value for item in shell.get_completions(words, incomplete)]


@pytest.mark.parametrize("kind", ["tasks", "lessons", "noises"])
def test_tables_never_cut_ids_at_80_columns(kind: str) -> None:
    out = io.StringIO()
    rows = rows_of(kind, Library(()))
    Console(file=out, width=80, force_terminal=True, highlight=False).print(table_of(rows))
    shown = "".join(line.split("│")[1].strip() if "│" in line else "" for line in out.getvalue().splitlines())
    assert all(row["id"] in shown for row in rows)
