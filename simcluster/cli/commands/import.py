"""`simcluster import`: an application of one's own, from plain manifests and traces."""

from __future__ import annotations

import re
from pathlib import Path

import click

from simcluster.cli.exits import DONE
from simcluster.cli.output import print_json


@click.command("import", short_help="Make an application of plain manifests.")
@click.argument("source", metavar="MANIFESTS", type=click.Path(path_type=Path, exists=True))
@click.option("--traces", type=click.Path(path_type=Path, exists=True), help="Jaeger's answer, or OTLP in JSON.")
@click.option("--name", default="", help="Of the application [that of the file or folder].")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="A folder of content, made if missing.")
@click.option("--json", "as_json", is_flag=True, help="Print an object.")
def command(source: Path, traces: Path | None, name: str, out: Path, as_json: bool) -> int:
    """Make an application of MANIFESTS, a file or a folder of YAML: its services, ports, probes and stores, and whom
    each of them calls. With --traces operations, their times and calls are those that were seen.

    What is inferred and what is guessed is printed, and stands in the file. Then: simcluster check NAME --content OUT.
    """
    try:
        from simcluster.calibration.application import make
    except ModuleNotFoundError as missing:
        hint = f"--traces needs further packages: pip install 'simcluster[calibration]' ({missing.name} is missing)"
        raise click.ClickException(hint) from None

    chosen = name or re.sub(r"[^a-z0-9]+", "-", source.resolve().stem.lower()).strip("-")
    try:
        made = make(source, out, chosen, traces)
    except (ValueError, FileExistsError) as problem:
        raise click.UsageError(str(problem)) from None
    if as_json:
        found = {"name": made.name, "folder": str(made.folder), "remarks": made.remarks, "edges": made.edges}
        print_json(found)
        return DONE
    for remark in made.remarks:
        click.echo(remark)
    click.echo(f"{made.folder}: {len(made.edges)} calls; prove it with: simcluster check {made.name} --content {out}")
    return DONE
