"""`simcluster run`: one agent, one task, one explained grade."""

from __future__ import annotations

import time
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

from simcluster.cli.incident import open_episode
from simcluster.cli.output import console, print_json
from simcluster.engine import format_rfc3339
from simcluster.eval.episode import Episode
from simcluster.eval.report.picture import incident_svg
from simcluster.eval.runner.execute import agent_for, perform, record_of
from simcluster.eval.runner.plan import Plan, Run
from simcluster.eval.trajectory.recorder import write_jsonl
from simcluster.surface.protocols import CommandResult

SHOWN_LINES = 12


@click.command("run", short_help="Run one agent on one task and explain the grade.")
@click.argument("task")
@click.option("--agent", default="runbook", show_default=True, help="An agent, or module:Class.")
@click.option("--seed", default=0, show_default=True, help="From which everything random follows.")
@click.option("--noise", default=None, help="A noise profile.")
@click.option("--watch", is_flag=True, help="Show every command and its answer as it happens.")
@click.option("--out", default=None, type=click.Path(path_type=Path), help="Write the replay log and trajectory here.")
@click.option("--picture", default=None, type=click.Path(path_type=Path), help="Draw the incident as an SVG file.")
@click.option("--content", "folders", multiple=True, help="A folder of further content (repeatable).")
@click.option("--json", "as_json", is_flag=True, help="Print the run record as one JSON object.")
def command(
    task: str,
    agent: str,
    seed: int,
    noise: str | None,
    watch: bool,
    out: Path | None,
    picture: Path | None,
    folders: tuple[str, ...],
    as_json: bool,
) -> None:
    """Run an agent on TASK (an id, or the path of a task file)."""
    plan = Plan((task,), (agent,), (seed,), noise, folders)
    plan.check()
    remarks = console(stderr=True)
    began_s = time.perf_counter()
    episode = open_episode(task, seed, noise, folders, remarks)
    if watch:
        remarks.print(f"[bold red]{escape(episode.alert)}[/]")
    watcher = Watch(episode, remarks) if watch else None
    outcome, error = perform(episode, agent_for(agent, episode), watcher)
    report = episode.finish()
    record = record_of(Run(task, agent, seed), noise, outcome, error, time.perf_counter() - began_s, report.to_dict())
    if out is not None:
        _write(out, episode, Run(task, agent, seed), outcome)
    if picture is not None:
        title = f"{agent} on {episode.task.id}, seed {seed}"
        picture.write_text(incident_svg(episode.recorder.header(), list(episode.recorder.records), title))
    if as_json:
        print_json(record)
        return
    if error:
        remarks.print(escape(error), style="magenta")
    click.echo(report.explain())
    click.echo(
        f"agent {agent}: {outcome}, {record['commands']} commands, {record['simulated_s']:.0f} simulated seconds"
    )


class Watch:
    """Prints every command with its instant, and the head of its answer."""

    def __init__(self, episode: Episode, remarks: Console) -> None:
        self._episode = episode
        self._remarks = remarks

    def __call__(self, tool: str, text: str, result: CommandResult) -> None:
        """Show one command."""
        instant = format_rfc3339(self._episode.world.sim.now)[11:19]
        self._remarks.print(f"[dim]{instant}[/] [bold cyan]{tool}[/] {escape(text)}")
        lines = str(result).splitlines()
        style = "red" if result.exit_code else "default"
        for line in lines[:SHOWN_LINES]:
            self._remarks.print(escape(line), style=style, no_wrap=True, overflow="ellipsis")
        if len(lines) > SHOWN_LINES:
            self._remarks.print(f"[dim]… {len(lines) - SHOWN_LINES} more lines[/]")


def _write(folder: Path, episode: Episode, run: Run, outcome: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    episode.write_log(folder / f"{run.name}.log.jsonl", outcome, agent=run.agent)
    write_jsonl(folder / f"{run.name}.trajectory.jsonl", episode.recorder.header(), episode.recorder.records)
