"""`simcluster run`: one agent, one task, one explained grade."""

from __future__ import annotations

import math
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.console import Console
from rich.markup import escape

from simcluster.cli import completing
from simcluster.cli.age import age_option
from simcluster.cli.exits import DONE, FAILED
from simcluster.cli.incident import open_episode
from simcluster.cli.judging import judge_of, judge_options
from simcluster.cli.modelling import model_options
from simcluster.cli.output import console, print_json
from simcluster.cli.processtitle import hide_arguments
from simcluster.cli.profile import profile_option
from simcluster.engine import format_rfc3339
from simcluster.eval.chat.agent import spent
from simcluster.eval.chat.options import ModelOptions, is_model
from simcluster.eval.episode import Episode
from simcluster.eval.isolation.agenthost import AgentHost
from simcluster.eval.isolation.ending import ENDPOINT, Ending
from simcluster.eval.report.picture import incident_svg
from simcluster.eval.runner.execute import (
    ENDPOINT_REPEATS,
    TALK,
    handed,
    process_of,
    record_of,
    repeated,
    work,
    write_files,
)
from simcluster.eval.runner.plan import Plan, Run
from simcluster.eval.serving.command import is_command
from simcluster.surface.protocols import Outcome
from simcluster.world.profile import Profile

SHOWN_LINES = 12


@click.command("run", short_help="Run one agent on one task and explain the grade.")
@click.argument("task", required=False, shell_complete=completing.tasks)
@click.option(
    "--from", "case", default=None, type=click.Path(path_type=Path), help="Live through a recorded case instead."
)
@click.option(
    "--agent",
    default="runbook",
    show_default=True,
    shell_complete=completing.agents,
    help="An agent, module:Class, 'cmd: COMMAND' or llm:MODEL.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="From which everything random follows."
)
@click.option("--noise", default=None, help="A noise profile.")
@age_option
@profile_option
@click.option("--watch", is_flag=True, help="Show every command and its answer as it happens.")
@click.option("--out", default=None, type=click.Path(path_type=Path), help="Write the replay log and trajectory here.")
@click.option("--picture", default=None, type=click.Path(path_type=Path), help="Draw the incident as an SVG file.")
@click.option("--counterfactuals", is_flag=True, help="Tell what each write cost users, and what was avoidable.")
@judge_options
@model_options
@click.option("--content", "folders", multiple=True, help="A folder of further content (repeatable).")
@click.option("--json", "as_json", is_flag=True, help="Print the run record as one JSON object.")
def command(**given: Any) -> int:
    """Run an agent on TASK (an id, or the path of a task file). What the agent prints goes to standard error.

    With --from a case of Cloud-OpsBench is lived through up to its snapshot and written to --out; no agent works.
    """
    options = Options(**given)
    if options.case is not None:
        return _recorded(options)
    if options.task is None:
        raise click.UsageError("Missing argument 'TASK' (or --from, with a recorded case)")
    run = Run(options.task, options.agent, options.seed)
    plan = Plan((run.task,), (run.agent,), (run.seed,), options.noise, options.folders, model=options.models)
    plan.check()
    judge = judge_of(options.judge, options.judge_url, options.judge_price)
    plan = replace(plan, wall_limit_s=math.inf)
    if is_command(options.agent):
        hide_arguments("simcluster run")
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
    remarks = console(stderr=True)
    began_s = time.perf_counter()
    host = AgentHost()
    host.start()
    try:
        episode, ending, talked = _worked(run, plan, options, host, remarks)
    finally:
        host.close()
    if ending.outcome == ENDPOINT:
        remarks.print(escape(ending.error), style="red")
        remarks.print("the run was not made, and counts for nobody: the endpoint gave no answer")
        return FAILED
    if options.counterfactuals:
        episode.counterfactuals()
    report = episode.finish()
    record = record_of(run, options.noise, ending, time.perf_counter() - began_s, report.to_dict())
    if judge is not None:
        record = judge.judged(record, episode.submission, episode.task)
    if talked is not None:
        record["model"] = talked
    record["process"] = process_of(record, episode.guide(), list(episode.transcript.turns))
    if options.out is not None:
        write_files(options.out, run, episode, ending.outcome)
    if options.picture is not None:
        title = f"{run.agent} on {episode.task.id}, seed {run.seed}"
        options.picture.write_text(incident_svg(episode.recorder.header(), list(episode.recorder.records), title))
    if options.as_json:
        print_json(record)
        return DONE
    if ending.error:
        remarks.print(escape(ending.error), style="magenta")
    click.echo(report.explain())
    if "judge" in record:
        click.echo(_opinion(record))
    click.echo(
        f"agent {run.agent}: {ending.outcome}, {record['commands']} commands, "
        f"{record['simulated_s']:.0f} simulated seconds"
    )
    return DONE


class Options(NamedTuple):
    """What stands on the command line."""

    task: str | None
    case: Path | None
    agent: str
    seed: int
    noise: str | None
    age: str | None
    profile: Profile | None
    watch: bool
    out: Path | None
    picture: Path | None
    counterfactuals: bool
    judge: str
    judge_url: str
    judge_price: tuple[float, float]
    models: ModelOptions
    folders: tuple[str, ...]
    as_json: bool


def _worked(
    run: Run, plan: Plan, options: Options, host: AgentHost, remarks: Console
) -> tuple[Episode, Ending, dict[str, Any] | None]:
    """The episode, how the work on it ended, and of a model what it was asked and cost."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.out or Path(scratch)
        for _ in range(1 + ENDPOINT_REPEATS):
            where = options.noise, options.folders, remarks, options.age, options.profile
            episode = open_episode(run.task, run.seed, *where)
            if options.watch:
                remarks.print(f"[bold red]{escape(episode.alert)}[/]")
            watch = Watch(episode, remarks) if options.watch else None
            ending = work(run.agent, episode, plan, host, _show, watch, handed(run, plan, folder))
            if not repeated(ending):
                break
        talked = spent(folder / f"{run.name}{TALK}", plan.model.prices) if is_model(run.agent) else None
    return episode, ending, talked


def _recorded(options: Options) -> int:
    """A recorded case of Cloud-OpsBench: its manifests and its fault, at its age, written as a case."""
    from simcluster.calibration.cloudopsbench.case import read_case
    from simcluster.calibration.cloudopsbench.scene import live_through

    if options.case is None or options.out is None or options.task is not None:
        raise click.UsageError("--from CASE takes no TASK and needs --out")
    scene = live_through(read_case(options.case), options.out, options.seed, options.profile)
    for refused in scene.refused:
        click.echo(f"refused: {refused}", err=True)
    click.echo(f"written to {options.out}: {scene.case.fault.get('root_cause', 'no fault')}")
    return DONE


def _opinion(record: dict[str, Any]) -> str:
    """What the second judge says."""
    said = record["judge"]
    if "error" in said:
        return f"{said['model']} said nothing: {said['error']}"
    decides = ", which decides" if "decided_by" in record["diagnosis"] else ""
    verdict = "passed" if said["passed"] else "failed"
    spent = f"{said['requests']} requests, ${said['usd']:.4f}"
    return f"{said['model']}: diagnosis {verdict}, {said['yes']} of 9{decides} ({spent})"


def _show(data: bytes) -> None:
    """What an agent prints is no result."""
    sys.stderr.buffer.write(data)
    sys.stderr.buffer.flush()


class Watch:
    """Prints every command with its instant, and the head of its answer."""

    def __init__(self, episode: Episode, remarks: Console) -> None:
        self._episode = episode
        self._remarks = remarks

    def __call__(self, tool: str, text: str, result: Outcome) -> None:
        """Show one command."""
        instant = format_rfc3339(self._episode.world.sim.now)[11:19]
        self._remarks.print(f"[dim]{instant}[/] [bold cyan]{tool}[/] {escape(text)}")
        lines = str(result).splitlines()
        style = "red" if result.exit_code else "default"
        for line in lines[:SHOWN_LINES]:
            self._remarks.print(escape(line), style=style, no_wrap=True, overflow="ellipsis")
        if len(lines) > SHOWN_LINES:
            self._remarks.print(f"[dim]… {len(lines) - SHOWN_LINES} more lines[/]")
