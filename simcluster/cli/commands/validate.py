"""`simcluster validate`: the traffic models against theory and published experiments."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Table

from simcluster.cli.exits import CheckFailed
from simcluster.cli.output import console, print_json
from simcluster.engine.content import UnknownName

if TYPE_CHECKING:
    from simcluster.eval.validation import Finding, Measured


@click.command("validate", short_help="Check the traffic models against theory and published experiments.")
@click.option("--rows", default="", help="Rows to run, as Q1,R5; by default all.")
@click.option("--engine", "engines", multiple=True, type=click.Choice(["aggregate", "exact"]), help="By default both.")
@click.option("--quick", is_flag=True, help="Smaller samples, wider confidence intervals.")
@click.option("--jobs", default=None, type=click.IntRange(1), help="Processes; by default one for each core.")
@click.option("--figures", default=None, type=click.Path(path_type=Path), help="Draw the figures into this folder.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the tables of docs/TRAFFIC.md.")
def command(
    rows: str,
    engines: tuple[str, ...],
    quick: bool,
    jobs: int | None,
    figures: Path | None,
    as_json: bool,
    as_markdown: bool,
) -> None:
    """Measure every row; exit with 1 if one is outside its tolerance."""
    from simcluster.eval.validation.context import has_aggregate

    if as_json and as_markdown:
        raise click.UsageError("say either --json or --markdown")
    names = _names(rows)
    if "aggregate" in engines and not has_aggregate():
        raise CheckFailed("the aggregate engine is not installed here; run with --engine exact")
    used = engines or (("exact", "aggregate") if has_aggregate() else ("exact",))
    if "aggregate" not in used and not engines:
        click.echo("the aggregate engine is not installed here: its rows are not run", err=True)
    measured = _measure(names, used, quick, jobs or os.cpu_count() or 1)
    if figures is not None:
        from simcluster.eval.validation.picture import draw_all

        for path in draw_all(figures, used[0], quick):
            click.echo(f"drew {path}", err=True)
    if as_json:
        _print_json(measured)
    elif as_markdown:
        from simcluster.eval.validation.report import markdown

        click.echo(markdown(measured), nl=False)
    else:
        _show(measured)
    findings = [one for row in measured for one in row.findings]
    unmet = [one for one in findings if one.verdict == "not met"]
    if unmet:
        rows = ", ".join(dict.fromkeys(f"{one.row} ({one.engine})" for one in unmet))
        click.echo(f"{len(unmet)} figures are not met, as the tables say why: {rows}", err=True)
    failed = [one for one in findings if one.verdict == "fails"]
    if failed:
        where = ", ".join(dict.fromkeys(f"{one.row} ({one.engine})" for one in failed))
        raise CheckFailed(f"{len(failed)} of {len(findings)} figures are outside their tolerance: {where}")


def _names(rows: str) -> list[str]:
    """The rows asked for; refuses unknown ones, and nothing, before anything runs."""
    from simcluster.eval.validation import ROWS

    names = [name.strip().upper() for name in rows.replace(" ", ",").split(",") if name.strip()]
    for name in names:
        if name not in ROWS:
            raise UnknownName("row", name, tuple(ROWS))
    if rows and not names:
        raise click.BadParameter(f"no row named; there are {', '.join(ROWS)}", param_hint="--rows")
    return names


def _measure(names: list[str], engines: tuple[str, ...], quick: bool, jobs: int) -> list[Measured]:
    """All rows, in the order of the table; a line on standard error for each as it is done."""
    from simcluster.eval.validation import ROWS, validate

    begin = time.perf_counter()
    total = sum(engine in row.engines for name, row in ROWS.items() for engine in engines if not names or name in names)
    if not total:
        raise CheckFailed(f"{', '.join(names)} cannot be run by {', '.join(engines)}")
    done = []
    for one in validate(names, engines, quick=quick, jobs=min(jobs, total)):
        done.append(one)
        held = sum(figure.holds for figure in one.findings)
        unmet = sum(figure.verdict == "not met" for figure in one.findings)
        verdict = f"{held} of {len(one.findings)} figures hold" + (f", {unmet} not met" if unmet else "")
        click.echo(f"[{len(done)}/{total}] {one.row} {one.engine}: {verdict}, {one.seconds:.1f} s", err=True)
    click.echo(f"measured in {time.perf_counter() - begin:.0f} s", err=True)
    order = list(ROWS)
    return sorted(done, key=lambda one: (order.index(one.row), engines.index(one.engine)))


def _print_json(measured: list[Measured]) -> None:
    from simcluster.eval.validation import ROWS

    shown = {one.row for one in measured}
    listed = {
        name: {
            "title": row.title,
            "source": row.source,
            "tolerance": row.tolerance,
            "engines": list(row.engines),
            "seconds": {one.engine: round(one.seconds, 2) for one in measured if one.row == name},
        }
        for name, row in ROWS.items()
        if name in shown
    }
    findings = [one.to_dict() for row in measured for one in row.findings]
    print_json({"holds": all(one.holds for one in measured), "rows": listed, "findings": findings})


def _show(measured: list[Measured]) -> None:
    from simcluster.eval.validation import ROWS

    out = console()
    findings = [one for row in measured for one in row.findings]
    for name, row in ROWS.items():
        mine = [one for one in findings if one.row == name]
        if not mine:
            continue
        title = f"{name}: {row.title}\nsource: {row.source}\ntolerance: {row.tolerance}"
        table = Table("figure", "engine", "expected", "measured", "99 % ±", "tolerance", "verdict", title=title,
                      title_justify="left", title_style="")  # fmt: skip
        for one in mine:
            table.add_row(*_cells(one))
        out.print(table)
    held = sum(one.holds for one in findings)
    for one in findings:
        if one.verdict == "not met":
            out.print(f"not met: {one.row} ({one.engine}), {one.quantity}: {one.unmet}")
    out.print(f"{held} of {len(findings)} figures hold")


def _cells(one: Finding) -> list[str]:
    from simcluster.eval.validation.report import SIGNS

    half = f"{one.half:.3g}" if one.half else ""
    verdict = {"holds": "holds", "fails": "[red]FAILS[/]", "not met": "[yellow]not met[/]"}[one.verdict]
    expected = f"{SIGNS[one.bound]}{one.expected:.5g}"
    return [one.quantity, one.engine, expected, f"{one.measured:.5g}", half, f"{one.tolerance:.3g}", verdict]
