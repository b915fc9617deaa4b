"""`simcluster eval`: agents on tasks, a scoreboard, results on disk."""

from __future__ import annotations

import os
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from simcluster import tasks
from simcluster.cli.output import console, print_json
from simcluster.eval.report import evaluation_object, scoreboard
from simcluster.eval.runner import Plan, RunDirectory, evaluate
from simcluster.eval.runner.plan import Record

DEFAULT_AGENTS = ("expert", "runbook", "restarter", "noop")


@click.command("eval", short_help="Run agents on tasks and show a scoreboard.")
@click.argument("task_ids", metavar="[TASK]...", nargs=-1)
@click.option("--suite", "suites", multiple=True, help="A suite of tasks (repeatable); `all` has every task.")
@click.option("--agent", "agents", multiple=True, help="An agent, or module:Class (repeatable). Default: all four.")
@click.option("--seeds", default=1, show_default=True, type=click.IntRange(1), help="Seeds 0 to N-1.")
@click.option("--noise", default=None, help="A noise profile.")
@click.option(
    "--jobs", default=os.cpu_count() or 1, type=click.IntRange(1), help="Worker processes [default: all cores]."
)
@click.option("--out", default=None, type=click.Path(path_type=Path), help="Run directory [default: runs/eval-N].")
@click.option("--resume", is_flag=True, help="Go on with the evaluation in --out.")
@click.option("--wall-limit", default=600.0, show_default=True, help="Wall-clock seconds a run may take.")
@click.option("--content", "folders", multiple=True, help="A folder of further content (repeatable).")
@click.option("--json", "as_json", is_flag=True, help="Print one object: runs and summary.")
def command(
    task_ids: tuple[str, ...],
    suites: tuple[str, ...],
    agents: tuple[str, ...],
    seeds: int,
    noise: str | None,
    jobs: int,
    out: Path | None,
    resume: bool,
    wall_limit: float,
    folders: tuple[str, ...],
    as_json: bool,
) -> None:
    """Run agents on tasks. Results are written as they come; a killed evaluation goes on with --resume."""
    if resume and out is None:
        raise click.UsageError("--resume needs --out: the run directory to go on with")
    plan = Plan(
        _chosen_tasks(task_ids, suites, folders),
        tuple(dict.fromkeys(agents)) or DEFAULT_AGENTS,
        tuple(range(seeds)),
        noise,
        folders,
        wall_limit,
    )
    plan.check()
    directory = RunDirectory(out or next_folder(Path("runs")), plan, resume=resume)
    remarks = console(stderr=True)
    records = _evaluate(plan, directory, jobs, remarks)
    if as_json:
        print_json(evaluation_object(records))
    else:
        console().print(scoreboard(records))
    remarks.print(f"results: {directory.path}")


def _chosen_tasks(task_ids: tuple[str, ...], suites: tuple[str, ...], folders: tuple[str, ...]) -> tuple[str, ...]:
    library = Plan((), (), content=folders).library
    wanted = list(task_ids)
    for suite in suites or (() if task_ids else ("lite",)):
        wanted += tasks.suite(suite, library)
    return tuple(dict.fromkeys(wanted))


def next_folder(parent: Path) -> Path:
    """`parent/eval-N` with the first free N."""
    number = 1
    while (parent / f"eval-{number}").exists():
        number += 1
    return parent / f"eval-{number}"


class _Bar:
    """Tells a progress bar of every result."""

    def __init__(self, progress: Progress, bar: TaskID) -> None:
        self._progress = progress
        self._bar = bar

    def __call__(self, record: Record) -> None:
        verdict = "passed" if record["passed"] else record["outcome"] if record["outcome"] != "done" else "failed"
        what = f"{Path(record['task']).stem} {record['agent']} seed {record['seed']}: {verdict}"
        self._progress.update(self._bar, advance=1, description=what)


def _evaluate(plan: Plan, directory: RunDirectory, jobs: int, remarks: Console) -> list[Record]:
    finished = directory.finished()
    done = sum(run in finished for run in plan.runs())
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=remarks, transient=True) as progress:
        bar = progress.add_task("starting workers", total=len(plan.runs()), completed=done)
        return evaluate(plan, directory, jobs, _Bar(progress, bar))
