"""`simcluster eval`: agents on tasks, a scoreboard, results on disk."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from simcluster.cli import completing
from simcluster.cli.age import age_option
from simcluster.cli.exits import DONE, FAILED, INTERNAL
from simcluster.cli.judging import judge_of, judge_options
from simcluster.cli.modelling import model_options
from simcluster.cli.output import console, print_json
from simcluster.cli.processtitle import hide_arguments
from simcluster.cli.profile import profile_option
from simcluster.cli.suites import made_of, members
from simcluster.eval.chat.options import ModelOptions
from simcluster.eval.isolation.ending import HARNESS_ERROR
from simcluster.eval.report import evaluation_object, scoreboard
from simcluster.eval.runner import Plan, RunDirectory, RunDirectoryError, evaluate
from simcluster.eval.runner.plan import Record
from simcluster.eval.runner.runner import Listener
from simcluster.eval.serving.command import is_command
from simcluster.tasks.beyond import chosen
from simcluster.world.profile import Profile

DEFAULT_AGENTS = ("expert", "runbook", "restarter", "noop")


@click.command("eval", short_help="Run agents on tasks and show a scoreboard.")
@click.argument("task_ids", metavar="[TASK]...", nargs=-1, shell_complete=completing.tasks)
@click.option(
    "--suite",
    "suites",
    multiple=True,
    help="A suite of tasks (repeatable), fresh:SEED:N, cloudopsbench[:N], srezero[:25].",
)
@click.option(
    "--agent",
    "agents",
    multiple=True,
    shell_complete=completing.agents,
    help="An agent, module:Class, 'cmd: COMMAND' or llm:MODEL (repeatable). Default: all four.",
)
@click.option("--seeds", default=1, show_default=True, type=click.IntRange(1), help="Seeds 0 to N-1.")
@click.option("--noise", default=None, help="A noise profile; `none`: also where a task has some.")
@age_option
@profile_option
@click.option(
    "--impossible",
    default=0.0,
    type=click.FloatRange(0.0, 1.0),
    help="For such a share of the tasks their impossible twins, too: whose cause nobody can reach, or may not.",
)
@click.option("--jobs", default=None, type=click.IntRange(1), help="Worker processes [default: all cores].")
@click.option("--backend", default="local", type=click.Choice(["local", "ray"]), help="Where runs are made.")
@click.option("--out", default=None, type=click.Path(path_type=Path), help="Run directory [default: runs/eval-N].")
@click.option("--resume", is_flag=True, help="Go on with the evaluation in --out.")
@click.option("--wall-limit", default=600.0, show_default=True, help="Wall-clock seconds an agent may work on a run.")
@click.option(
    "--agent-memory", "memory_mib", default=4096, show_default=True, help="MiB an agent may use; 0: no limit."
)
@click.option("--counterfactuals", is_flag=True, help="Record what each write cost users, and what was avoidable.")
@judge_options
@model_options
@click.option("--content", "folders", multiple=True, help="A folder of further content (repeatable).")
@click.option("--json", "as_json", is_flag=True, help="Print one object: runs and summary.")
def command(**given: Any) -> int:
    """Run agents on tasks. Results are written as they come; a killed evaluation goes on with --resume."""
    options = Options(**given)
    if options.resume and options.out is None:
        raise click.UsageError("--resume needs --out: the run directory to go on with")
    folder = options.out
    if any(list(map(made_of, options.suites))):  # they stand in the run directory
        folder = folder or next_folder(Path("runs"))
    wanted = _chosen_tasks(options, folder or Path())
    plan = Plan(
        (*wanted, *chosen(wanted, 0, options.impossible)),
        tuple(dict.fromkeys(options.agents)) or DEFAULT_AGENTS,
        tuple(range(options.seeds)),
        options.noise,
        options.folders,
        options.wall_limit,
        options.memory_mib,
        judge_of(options.judge, options.judge_url, options.judge_price),
        options.counterfactuals,
        options.age,
        options.profile,
        options.models,
    )
    plan.check()
    if any(is_command(agent) for agent in plan.agents):
        hide_arguments("simcluster eval")
    remarks = console(stderr=True)
    folder = folder or next_folder(Path("runs"))
    with _ended_by_signals(), RunDirectory(folder, plan, resume=options.resume) as directory:
        records = _evaluate(plan, directory, options, remarks)
        unwritten = directory.write()
    if options.as_json:
        print_json(evaluation_object(records))
    else:
        console().print(scoreboard(records))
    remarks.print(f"results: {directory.path}")
    if unwritten:
        remarks.print(f"not all results could be written: {unwritten}", style="red")
        return FAILED
    if directory.unmade:
        reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(directory.reasons.items()))
        what = f"{directory.unmade} runs were not made, for the endpoint gave no answer ({reasons})"
        remarks.print(f"{what}: see unmade.jsonl; --resume makes them", style="red")
        return FAILED
    return INTERNAL if any(record["outcome"] == HARNESS_ERROR for record in records) else DONE


class Options(NamedTuple):
    """What stands on the command line."""

    task_ids: tuple[str, ...]
    suites: tuple[str, ...]
    agents: tuple[str, ...]
    seeds: int
    noise: str | None
    age: str | None
    profile: Profile | None
    impossible: float
    jobs: int | None
    backend: str
    out: Path | None
    resume: bool
    wall_limit: float
    memory_mib: int
    counterfactuals: bool
    judge: str
    judge_url: str
    judge_price: tuple[float, float]
    models: ModelOptions
    folders: tuple[str, ...]
    as_json: bool


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """To be asked to end, or to lose the terminal, is an interruption, unless `nohup` says otherwise."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    changed = [number for number, handler in before.items() if handler is signal.SIG_DFL]
    for number in changed:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


def _chosen_tasks(options: Options, folder: Path) -> tuple[str, ...]:
    """Ids, and files of generated incidents, which stand in the run directory."""
    library = Plan((), (), content=options.folders).library
    wanted = list(options.task_ids)
    for suite in options.suites or (() if options.task_ids else ("lite",)):
        wanted += members(suite, folder / "tasks", options.jobs or os.cpu_count() or 1, library)
    return tuple(dict.fromkeys(wanted))


def next_folder(parent: Path) -> Path:
    """Make `parent/eval-N` with the first free N. Raises RunDirectoryError."""
    number = 1
    while True:
        try:
            (parent / f"eval-{number}").mkdir(parents=True)
        except FileExistsError:
            number += 1
        except OSError as problem:
            raise RunDirectoryError(f"{parent} cannot hold evaluations: {problem}") from None
        else:
            return parent / f"eval-{number}"


class _Bar:
    """Tells a progress bar of every result."""

    def __init__(self, progress: Progress, bar: TaskID) -> None:
        self._progress = progress
        self._bar = bar
        self._dollars = 0.0

    def __call__(self, record: Record) -> None:
        verdict = "passed" if record["passed"] else record["outcome"] if record["outcome"] != "done" else "failed"
        what = f"{Path(record['task']).stem} {record['agent']} seed {record['seed']}: {verdict}"
        self._dollars += record.get("model", {}).get("dollars", 0.0)
        what += f" (${self._dollars:.2f})" if self._dollars else ""
        self._progress.update(self._bar, advance=1, description=what)


def _evaluate(plan: Plan, directory: RunDirectory, options: Options, remarks: Console) -> list[Record]:
    where = _backend(options.backend)
    finished = directory.finished()
    done = sum(run in finished for run in plan.runs())
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    )  # fmt: skip
    with Progress(*columns, console=remarks, transient=True) as progress:
        bar = progress.add_task("starting workers", total=len(plan.runs()), completed=done)
        return where(plan, directory, options.jobs or 0, _Bar(progress, bar))


def _backend(name: str) -> Callable[[Plan, RunDirectory, int, Listener], list[Record]]:
    """Who distributes the runs. Raises click.UsageError: it is not installed."""
    if name == "ray":
        try:
            from simcluster.eval.runner.rays import evaluate_on_ray
        except ModuleNotFoundError as missing:
            raise click.UsageError(f"--backend ray: {missing}; pip install 'simcluster[ray]'") from None
        return evaluate_on_ray
    return lambda plan, directory, jobs, listener: evaluate(plan, directory, jobs or os.cpu_count() or 1, listener)
