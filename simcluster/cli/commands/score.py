"""`simcluster score`: a recorded evaluation, scored again from its records alone."""

from __future__ import annotations

from pathlib import Path

import click

from simcluster.cli.output import console, print_json
from simcluster.eval.process import transcript
from simcluster.eval.report import evaluation_object, scoreboard
from simcluster.eval.runner.execute import process_of
from simcluster.eval.runner.plan import Record, Run
from simcluster.eval.runner.records import read_results
from simcluster.eval.trajectory.recorder import read_jsonl
from simcluster.eval.trajectory.verifiers import verify


@click.command("score", short_help="Score a recorded run directory again.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one object: runs and summary.")
def command(folder: Path, as_json: bool) -> None:
    """Read the recorded trajectories and transcripts of FOLDER, and verify and measure them anew; the other grades are
    kept."""
    records = [rescored(folder, record) for record in read_results(folder)]
    if as_json:
        print_json(evaluation_object(records))
    else:
        console().print(scoreboard(records))


def rescored(folder: Path, record: Record) -> Record:
    """A run record with the verdict on its recorded trajectory, and with the process measures of its transcript."""
    run = Run(record["task"], record["agent"], record["seed"])
    path = folder / "runs" / f"{run.name}.trajectory.jsonl"
    if path.exists():  # a run that was killed left none
        record = {**record, "trajectory": verify(*read_jsonl(path)).to_dict()}
    path = path.with_name(f"{run.name}.transcript.jsonl")
    if path.exists():
        record = {**record, "process": process_of(record, *transcript.read_jsonl(path))}
    return record
