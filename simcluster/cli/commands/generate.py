"""`simcluster generate`: a synthetic application of any size, for tests of scale."""

from __future__ import annotations

from pathlib import Path

import click

from simcluster.cli.exits import DONE
from simcluster.cli.output import print_json


@click.command("generate", short_help="Make a synthetic application of any size.")
@click.option("--services", type=int, default=100, show_default=True, help="How many, besides the gateway.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--name", default="", help="Of the application [synthetic-SERVICES].")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="A folder of content, made if missing.")
@click.option("--json", "as_json", is_flag=True, help="Print an object.")
def command(services: int, seed: int, name: str, out: Path, as_json: bool) -> int:
    """Make an application whose call graph has the shape of published ones: depth, fan-out, shared stores.

    The same seed makes the same files. Then: simcluster check NAME --content OUT.
    """
    from simcluster.apps.synthetic import make

    try:
        made = make(out, services, seed, name)
    except (ValueError, FileExistsError) as problem:
        raise click.UsageError(str(problem)) from None
    if as_json:
        print_json({**made._asdict(), "folder": str(made.folder)})
        return DONE
    size = f"{made.services} services, {made.calls} calls, {made.depth} levels, for {made.workers} workers"
    click.echo(f"{made.folder}: {size}; prove it with: simcluster check {made.name} --content {out}")
    return DONE
