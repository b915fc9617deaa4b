"""`simcluster report`: pages for people and files for other programs, from a recorded evaluation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import click

from simcluster.cli.output import console
from simcluster.engine.content import UnknownName
from simcluster.eval.process import transcript
from simcluster.eval.report.agentstable import agents_table
from simcluster.eval.report.evaluationpage import evaluation_page
from simcluster.eval.report.exports import atif, junit
from simcluster.eval.report.runpage import RunFiles, run_page
from simcluster.eval.runner.plan import Record, Run
from simcluster.eval.runner.records import read_results
from simcluster.eval.trajectory.recorder import read_jsonl


@click.command("report", short_help="Write pages, JUnit, JSONL and ATIF of an evaluation.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--run", "name", default="", help="One run only: TASK.AGENT.SEED, as its files are called.")
@click.option("--html", default=None, type=click.Path(path_type=Path), help="A page that needs nothing else.")
@click.option("--pages", default=None, type=click.Path(path_type=Path), help="A folder for the page of each run.")
@click.option("--junit", "junit_file", default=None, type=click.Path(path_type=Path), help="JUnit XML.")
@click.option("--jsonl", default=None, type=click.Path(path_type=Path), help="One run a line, with all grades.")
@click.option(
    "--markdown", default=None, type=click.Path(path_type=Path), help="A table of the agents, with intervals."
)
@click.option("--atif", "atif_file", default=None, type=click.Path(path_type=Path), help="ATIF trajectories.")
def command(**given: Any) -> None:
    """Report on FOLDER, a run directory. With --run the page is that of one run, else that of the evaluation.

    --atif writes one trajectory of Harbor's interchange format with --run, else one a line.
    """
    options = Options(**given)
    files = (options.html, options.pages, options.junit_file, options.jsonl, options.markdown, options.atif_file)
    if not any(files):
        kinds = "--html, --pages, --junit, --jsonl, --markdown or --atif"
        raise click.UsageError(f"nothing to write: name a file with {kinds}")
    records = _last(read_results(options.folder))
    if options.name:
        if options.name not in records:
            raise UnknownName(f"run of {options.folder}", options.name, list(records))
        records = {options.name: records[options.name]}
    for path in _written(options, records):
        console(stderr=True).print(f"written: {path}")


class Options(NamedTuple):
    """What stands on the command line."""

    folder: Path
    name: str
    html: Path | None
    pages: Path | None
    junit_file: Path | None
    jsonl: Path | None
    markdown: Path | None
    atif_file: Path | None


def _last(records: list[Record]) -> dict[str, Record]:
    """Records by the names of their runs; of a run that was repeated the last one."""
    return {Run(one["task"], one["agent"], one["seed"]).name: one for one in records}


def _written(options: Options, records: dict[str, Record]) -> list[Path]:
    found: list[tuple[Path, bytes]] = []
    if options.html is not None:
        if options.name:
            text = run_page(files_of(options.folder, options.name, records[options.name]))
        else:
            text = evaluation_page(list(records.values()), f"Evaluation {options.folder.name}")
        found.append((options.html, text.encode()))
    if options.pages is not None:
        options.pages.mkdir(parents=True, exist_ok=True)
        for name, record in records.items():
            found.append((options.pages / f"{name}.html", run_page(files_of(options.folder, name, record)).encode()))
    if options.junit_file is not None:
        found.append((options.junit_file, junit(list(records.values())).encode()))
    if options.jsonl is not None:
        lines = [json.dumps(record, sort_keys=True) + "\n" for record in records.values()]
        found.append((options.jsonl, "".join(lines).encode()))
    if options.markdown is not None:
        found.append((options.markdown, agents_table(list(records.values())).encode()))
    if options.atif_file is not None:
        found.append((options.atif_file, _trajectories(options, records)))
    for path, data in found:
        path.write_bytes(data)
    return [path for path, _ in found]


def _trajectories(options: Options, records: dict[str, Record]) -> bytes:
    """Of runs that left a transcript."""
    work = {name: files_of(options.folder, name, record).work for name, record in records.items()}
    found = [atif(records[name], *each) for name, each in work.items() if each[0]]
    if options.name and found:
        return (json.dumps(found[0], indent=1) + "\n").encode()
    return "".join(json.dumps(one) + "\n" for one in found).encode()


def files_of(folder: Path, name: str, record: Record) -> RunFiles:
    """Everything that a run has left. Raises ValueError: a file of it is damaged."""
    files = {kind: folder / "runs" / f"{name}.{kind}.jsonl" for kind in ("trajectory", "transcript")}
    found = RunFiles(record, counterfactuals=record.get("counterfactuals"))
    if files["trajectory"].exists():
        found = found._replace(way=read_jsonl(files["trajectory"]))
    if files["transcript"].exists():
        found = found._replace(work=transcript.read_jsonl(files["transcript"]))
    return found
