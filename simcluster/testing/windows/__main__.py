"""`python -m simcluster.testing.windows CASE...`: recorded windows of metrics beside simulated ones."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median

import click

from simcluster.calibration.cloudopsbench.case import CaseError
from simcluster.testing.windows.measure import COLUMNS, compared

#: Median errors that a healthy window may have.
ALLOWED = {"rps": 0.10, "p50": 0.30, "cpu": 0.25}


@click.command()
@click.argument("cases", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--seed", default=0, show_default=True)
@click.option("--verbose", is_flag=True, help="Every service.")
def main(cases: tuple[Path, ...], seed: int, verbose: bool) -> None:
    """Compare; the exit status is 1 if a median error is above what is allowed."""
    pooled: dict[str, list[float]] = {metric: [] for metric in COLUMNS}
    flags: list[tuple[bool, bool]] = []
    for folder in cases:
        try:
            one = compared(folder, seed)
        except CaseError as problem:
            raise click.ClickException(str(problem)) from None
        errors = "  ".join(f"{metric} {one.error(metric):.1%}" for metric in COLUMNS)
        right = list(one.right())
        click.echo(f"{one.name:20} {one.cause} at {one.target}: median errors while well: {errors}")
        click.echo(f"{'':20} under the fault: {_said(right)}")
        for metric in COLUMNS if verbose else ():
            shown = ", ".join(f"{name} {value:+.0%}" for name, value in one.healthy[metric].items())
            factors = ", ".join(f"{name} x{a:.2g}/x{b:.2g}" for name, (a, b) in one.faulty.get(metric, {}).items())
            click.echo(f"    {metric}: {shown}\n      recorded/simulated: {factors}")
        flags += right
        for metric in COLUMNS:
            pooled[metric] += [abs(error) for error in one.healthy[metric].values()]
    medians = {metric: median(values) for metric, values in pooled.items()}
    shown = ", ".join(f"{metric} {value:.1%} (allowed {ALLOWED[metric]:.0%})" for metric, value in medians.items())
    click.echo(f"all: {shown}; {_said(flags)}")
    sys.exit(0 if all(medians[metric] <= ALLOWED[metric] for metric in medians) else 1)


def _said(flags: list[tuple[bool, bool]]) -> str:
    return f"direction {sum(one[0] for one in flags)}, order {sum(one[1] for one in flags)} of {len(flags)}"


if __name__ == "__main__":
    main()
