"""`simcluster score`: a recorded evaluation, scored again from its records alone."""

from __future__ import annotations

from pathlib import Path

import click

from simcluster.cli.output import console, print_json
from simcluster.eval.report import evaluation_object, scoreboard
from simcluster.eval.runner.plan import Record, Run
from simcluster.eval.runner.records import read_results
from simcluster.eval.trajectory.recorder import read_jsonl
from simcluster.eval.trajectory.verifiers import verify


@click.command("score", short_help="Score a recorded run directory again.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one object: runs and summary.")
def command(folder: Path, as_json: bool) -> None:
    """Read the recorded trajectories of FOLDER and verify them anew; the other grades are kept."""
    records = [rescored(folder, record) for record in read_results(folder)]
    if as_json:
        print_json(evaluation_object(records))
    else:
        console().print(scoreboard(records))


def rescored(folder: Path, record: Record) -> Record:
    """A run record with the verdict on its recorded trajectory."""
    run = Run(record["task"], record["agent"], record["seed"])
    path = folder / "runs" / f"{run.name}.trajectory.jsonl"
    if not path.exists():  # a run that was killed left none
        return record
    header, ticks = read_jsonl(path)
    return {**record, "trajectory": verify(header, ticks).to_dict()}
