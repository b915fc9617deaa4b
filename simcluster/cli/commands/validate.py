"""`simcluster validate`: the traffic models against theory and published experiments."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Table

from simcluster.cli.exits import CheckFailed
from simcluster.cli.output import console, print_json

if TYPE_CHECKING:
    from simcluster.eval.validation import Finding


@click.command("validate", short_help="Check the traffic models against theory and published experiments.")
@click.option("--rows", default="", help="Rows to run, as Q1,R5; by default all.")
@click.option("--engine", "engines", multiple=True, type=click.Choice(["aggregate", "exact"]), help="By default all.")
@click.option("--quick", is_flag=True, help="Smaller samples, wider confidence intervals.")
@click.option("--jobs", default=None, type=click.IntRange(1), help="Processes; by default one for each core.")
@click.option("--figures", default=None, type=click.Path(path_type=Path), help="Draw the figures into this folder.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    rows: str, engines: tuple[str, ...], quick: bool, jobs: int | None, figures: Path | None, as_json: bool
) -> None:
    """Measure every row; exit with 1 if one is outside its tolerance."""
    from simcluster.eval.validation import ROWS, validate
    from simcluster.eval.validation.context import has_aggregate

    remarks = console(stderr=True)
    if "aggregate" in engines and not has_aggregate():
        raise CheckFailed("the aggregate engine is not installed here; run with --engine exact")
    used = engines or (("exact", "aggregate") if has_aggregate() else ("exact",))
    if "aggregate" not in used and not engines:
        remarks.print("the aggregate engine is not installed here: its rows are not run", style="yellow")
    names = [name.strip() for name in rows.split(",") if name.strip()]
    findings = []
    with remarks.status("measuring") as status:
        for name, found in validate(names, used, quick=quick, jobs=jobs or os.cpu_count() or 1):
            findings += found
            status.update(f"measured {name}")
    if figures is not None:
        from simcluster.eval.validation.picture import draw_all

        for path in draw_all(figures, used[0], quick):
            remarks.print(f"drew {path}")
    failed = [one for one in findings if not one.holds]
    if as_json:
        shown = {one.row for one in findings}
        listed = {
            name: {"title": row.title, "source": row.source, "tolerance": row.tolerance}
            for name, row in ROWS.items()
            if name in shown
        }
        print_json({"holds": not failed, "rows": listed, "findings": [one.to_dict() for one in findings]})
    else:
        _show(findings)
    if failed:
        raise CheckFailed(f"{len(failed)} of {len(findings)} figures are outside their tolerance")


def _show(findings: list[Finding]) -> None:
    from simcluster.eval.validation import ROWS

    out = console()
    for name, row in ROWS.items():
        mine = [one for one in findings if one.row == name]
        if not mine:
            continue
        title = f"{name}: {row.title}\nsource: {row.source}\ntolerance: {row.tolerance}"
        table = Table("figure", "engine", "expected", "measured", "99 % ±", "tolerance", "verdict", title=title,
                      title_justify="left", title_style="")  # fmt: skip
        for one in mine:
            sign = {"both": "", "above": "<= ", "below": ">= "}[one.bound]
            half = f"{one.half:.3g}" if one.half else ""
            verdict = "holds" if one.holds else "[red]FAILS[/]"
            table.add_row(one.quantity, one.engine, f"{sign}{one.expected:.5g}", f"{one.measured:.5g}", half,
                          f"{one.tolerance:.3g}", verdict)  # fmt: skip
        out.print(table)
    held = sum(one.holds for one in findings)
    out.print(f"{held} of {len(findings)} figures hold")
