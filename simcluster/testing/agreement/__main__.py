"""`python -m simcluster.testing.agreement`: the tables of docs/TRAFFIC.md."""

from __future__ import annotations

import click

from simcluster.testing.agreement.families import COLLAPSE, latency_graphs
from simcluster.testing.agreement.measure import collapse_of, latency_of


@click.command()
@click.option("--seeds", default=3, show_default=True, type=click.IntRange(1))
@click.option("--only", default="", help="Families whose name has this word.")
def main(seeds: int, only: str) -> None:
    """Compare the engines family by family."""
    wrong = cells = 0
    for name in COLLAPSE:
        if only in name:
            found = collapse_of(name, seeds)
            differ = [f"load {c.load:g}, {c.length_s:g} s: {c.exact:.2f}/{c.aggregate:.2f}" for c in found if c.differs]
            wrong, cells = wrong + len(differ), cells + len(found)
            click.echo(f"{name}: {len(differ)} of {len(found)} cells differ  {'; '.join(differ)}")
    click.echo(f"collapse: {wrong} of {cells} cells differ")
    for name, graph in latency_graphs().items():
        if only in name:
            one = latency_of(graph, seeds)
            click.echo(f"{name}: p50 {one.p50:+.1%}  p90 {one.p90:+.1%}  p99 {one.p99:+.1%}")


if __name__ == "__main__":
    main()
