"""`simcluster compare`: two evaluations, or two agents of one, run by run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from simcluster.cli.output import console, print_json
from simcluster.engine.content import UnknownName
from simcluster.eval.report.groups import groups_of
from simcluster.eval.runner.plan import Record
from simcluster.eval.runner.records import read_results
from simcluster.eval.statistics import Comparison, compare

GRADES = ("passed", "diagnosis", "mitigation", "trajectory")


@click.command("compare", short_help="Compare two agents on the same tasks and seeds.")
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@click.option("--agent", "agents", multiple=True, help="An agent of FIRST, then one of SECOND; one if only one ran.")
@click.option("--grade", type=click.Choice(GRADES), default="passed", show_default=True, help="What counts as passed.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def command(first: Path, second: Path, agents: tuple[str, ...], grade: str, as_json: bool) -> None:
    """Compare the runs of FIRST with those of SECOND, two run directories or twice the same, pair by pair.

    An evaluation with noise and one without compare as two agents do. Shares have Wilson's intervals, differences
    bootstrap intervals over tasks and the p of McNemar's exact test. What is not significant is no difference.
    """
    one = _chosen(first, agents[:1])
    other = _chosen(second, agents[1:2] or agents[:1])
    try:
        found = compare(one, other, lambda record: _passed(record, grade), groups_of)
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None
    if as_json:
        print_json([each.to_dict() for each in found])
    else:
        console().print(_table(found, *_names(one[0], other[0])))


def _names(one: Record, other: Record) -> tuple[str, str]:
    """What the two sides are called: by agent, and by noise where that differs."""
    sides = [str(each["agent"]) for each in (one, other)]
    if one["noise"] != other["noise"]:
        sides = [f"{name}, noise {each['noise'] or 'none'}" for name, each in zip(sides, (one, other), strict=True)]
    return sides[0], sides[1]


def _passed(record: Mapping[str, Any], grade: str) -> bool:
    return bool(record["passed"] if grade == "passed" else record[grade]["passed"])


def _chosen(folder: Path, agents: tuple[str, ...]) -> list[Record]:
    records = read_results(folder)
    known = sorted({record["agent"] for record in records})
    wanted = agents or tuple(known)
    if len(wanted) != 1:
        raise click.UsageError(
            f"{folder} has the agents {', '.join(known)}: choose with --agent, for FIRST then SECOND"
        )
    if wanted[0] not in known:
        raise UnknownName(f"agent of {folder}", wanted[0], known)
    last = {(record["task"], record["seed"]): record for record in records if record["agent"] == wanted[0]}
    return list(last.values())


def _table(found: list[Comparison], first: str, second: str) -> Table:
    table = Table("", "pairs", f"first: {first}", f"second: {second}", "difference", "verdict")
    for one in found:
        cells = (str(one.pairs), str(one.first), str(one.second), str(one.difference), one.verdict())
        table.add_row(one.group or "all", *cells)
    return table
