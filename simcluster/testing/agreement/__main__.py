"""`python -m simcluster.testing.agreement`: the tables of docs/TRAFFIC.md."""

from __future__ import annotations

import functools
import json
import sys

import click

from simcluster.testing.agreement.families import FAMILIES
from simcluster.testing.agreement.measure import FEW, MANY
from simcluster.testing.agreement.report import is_agreement, measured


@click.command()
@click.option("--family", default="", help="Families whose name has this word.")
@click.option("--seeds", default=FEW, show_default=True, type=click.IntRange(1), help="Runs of a cell on each engine.")
@click.option(
    "--many", default=MANY, show_default=True, help="Runs where a share of collapse lies between .05 and .95."
)
@click.option("--json", "as_json", is_flag=True, help="Every cell, as JSON.")
def main(family: str, seeds: int, many: int, as_json: bool) -> None:
    """Compare the engines family by family; the exit status is 1 where they differ by more than sampling."""
    names = [name for name in FAMILIES if family in name]
    if not names:
        raise click.UsageError(f"no family has {family!r} in its name; there are {', '.join(FAMILIES)}")
    found = []
    for name in names:
        found.append(measured(name, seeds, many, functools.partial(click.echo, err=True)))
        if not as_json:
            click.echo(found[-1].described())
    good = is_agreement(found)
    if as_json:
        click.echo(json.dumps({"agree": good, "families": [one.to_dict() for one in found]}, indent=2))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
