"""`simcluster explain`: a recorded run lived again, its grade and what each of its writes cost users."""

from __future__ import annotations

from pathlib import Path

import click

from simcluster.cli.exits import CheckFailed
from simcluster.cli.output import print_json
from simcluster.engine.content import Library
from simcluster.eval.episode import Episode, replay
from simcluster.session import log

_LOGS = "*.log.jsonl"


@click.command("explain", short_help="Explain a recorded run: its grade, and what each write cost users.")
@click.argument("run", type=click.Path(path_type=Path, exists=True))
@click.option("--content", "folders", multiple=True, help="A folder of further content (repeatable).")
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
def command(run: Path, folders: tuple[str, ...], as_json: bool) -> None:
    """Live a RUN again (its replay log, or a folder that holds one), branch it off at each write, and say what it was
    worth."""
    path = _log_of(run)
    try:
        log.read(path)
    except ValueError as problem:
        raise click.UsageError(f"{problem} (a run's replay log is {_LOGS})") from None
    found = replay(path, Library(tuple(Path(folder) for folder in folders)))
    if not isinstance(found.live, Episode):
        raise click.ClickException(f"{run} is the log of a sandbox: there is no incident in it")
    if not found.same:
        raise CheckFailed(f"{run} does not repeat here: {found.differences[0]}")
    found.live.counterfactuals()
    report = found.live.finish()
    if as_json:
        print_json(report.to_dict())
    else:
        click.echo(report.explain())


def _log_of(run: Path) -> Path:
    """The replay log that is meant. Raises click.ClickException: there is none, or several."""
    if run.is_file():
        return run
    logs = sorted([*run.glob(_LOGS), *run.glob(f"runs/{_LOGS}")])
    if len(logs) != 1:
        shown = ", ".join(log.name for log in logs[:5]) or "none"
        raise click.ClickException(f"{run} holds {len(logs)} replay logs ({shown}): name one")
    return logs[0]
