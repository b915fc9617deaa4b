"""`python -m simcluster.testing.golden [DIR] [--out OUT] [--json] [--kubectl PROGRAM]`."""

from __future__ import annotations

import json
import tempfile
from functools import partial
from pathlib import Path

import click

from simcluster.testing.golden.compare import Comparison, Verdict, totals
from simcluster.testing.golden.replay import MakeShell, replay
from simcluster.testing.golden.shell import WarmShell
from simcluster.testing.golden.sockets import SocketShell
from simcluster.testing.golden.transcripts import Transcripts
from simcluster.testing.recordings import recordings


@click.command()
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder for what was printed.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--diffs", is_flag=True, help="Print the differences too.")
@click.option("--seed", default=0, help="Seed of the simulated cluster.")
@click.option("--last", default=0, help="Number of the last command to run.")
@click.option("--kubectl", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A real one, over TLS.")
def main(
    folder: Path | None, out: Path | None, as_json: bool, diffs: bool, seed: int, last: int, kubectl: Path | None
) -> None:
    """Replay the transcripts in FOLDER (those of the tests) against a simulated cluster and report what differs."""
    folder = folder or recordings() / "kubectl"
    if out is None:
        out = Path(tempfile.mkdtemp(prefix="golden-out-"))
    found = list(replay(Transcripts(folder), out, seed=seed, last=last, make_shell=_shells(kubectl)))
    if as_json:
        click.echo(json.dumps(_report(found), indent=1))
        return
    for comparison in found:
        if comparison.verdict not in (Verdict.EQUAL, Verdict.NORMALISED, Verdict.MISSING):
            click.echo(f"{comparison.name}: {comparison.verdict.value} ({comparison.reason})\n  $ {comparison.command}")
            if diffs:
                click.echo("".join(f"    {line}\n" for line in comparison.diff.splitlines()))
    click.echo("\n".join(f"{count:5d}  {Verdict[name.upper()].value}" for name, count in totals(found).items()))
    click.echo("\n".join(f"{count:5d}  {text}" for text, count in _reasons(found).items()))
    recorded = [c for c in found if c.verdict is not Verdict.MISSING]
    same = sum(c.verdict.reproduced for c in recorded)
    click.echo(f"{same} of {len(recorded)} recorded outputs reproduced; outputs are in {out}")


def _shells(kubectl: Path | None) -> MakeShell:
    """What runs the commands: the simulator's own kubectl, or a program of this machine."""
    return WarmShell if kubectl is None else partial(SocketShell, kubectl=kubectl)


def _reasons(found: list[Comparison]) -> dict[str, int]:
    """How many outputs are not reproduced for each reason."""
    counts: dict[str, int] = {}
    for comparison in found:
        if comparison.verdict is Verdict.DIFFERENT:
            counts[comparison.reason] = counts.get(comparison.reason, 0) + 1
    return dict(sorted(counts.items(), key=lambda entry: -entry[1]))


def _report(found: list[Comparison]) -> dict[str, object]:
    commands = [
        {
            "name": c.name,
            "command": c.command,
            "verdict": c.verdict.name.lower(),
            "reason": c.reason,
            "diff": c.diff,
        }
        for c in found
    ]
    return {"totals": totals(found), "commands": commands}


if __name__ == "__main__":
    main()
