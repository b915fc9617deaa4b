"""`python -m simcluster.testing.healthy`: figures of a healthy Online Boutique beside recorded ones."""

from __future__ import annotations

import json
import sys

import click

from simcluster.testing.healthy.measure import HIGH, LOW, measured

#: Share of figures that have to be as recorded.
WANTED = 0.8


@click.command()
@click.option("--minutes", default=5, show_default=True, type=click.IntRange(1), help="Simulated minutes measured.")
@click.option("--seed", default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Every figure, as JSON.")
def main(minutes: int, seed: int, as_json: bool) -> None:
    """Compare; the exit status is 1 if fewer than four of five figures are as recorded."""
    found = measured(minutes, seed)
    good = sum(figure.is_as_recorded for figure in found)  # integers
    if as_json:
        click.echo(json.dumps([{**one._asdict(), "as_recorded": one.is_as_recorded} for one in found], indent=2))
    else:
        click.echo(f"{'service':24}{'metric':9}{'here':>10}{'p50':>10}{'p95':>10}")
        for one in found:
            mark = "" if one.is_as_recorded else "  *"
            click.echo(f"{one.service:24}{one.metric:9}{one.value:>10g}{one.median:>10g}{one.high:>10g}{mark}")
        click.echo(f"{good} of {len(found)} between {LOW:g} p50 and {HIGH:g} p95 ({100 * good / len(found):.0f} %)")
    sys.exit(0 if good >= WANTED * len(found) else 1)


if __name__ == "__main__":
    main()
