"""`simcluster export`: an incident in the layout of a data set, or the runs of an evaluation as training data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from simcluster.cli import completing
from simcluster.cli.age import age_option
from simcluster.cli.exits import DONE
from simcluster.cli.incident import open_episode
from simcluster.cli.output import console
from simcluster.cli.profile import profile_option
from simcluster.engine.content import Library


@click.command("export", short_help="Write an incident as a case of a data set, or runs as training data.")
@click.argument("task", metavar="TASK|RUNDIR", shell_complete=completing.tasks)
@click.option(
    "--format",
    "form",
    required=True,
    type=click.Choice(["cloudopsbench", "chat", "steps", "preferences"]),
    help="Of TASK a case of Cloud-OpsBench; of RUNDIR conversations, steps with rewards, or pairs.",
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The case's folder, or a file (JSONL).")
@click.option("--passed", is_flag=True, help="Of RUNDIR only the runs that passed.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="From which everything random follows."
)
@click.option("--noise", default=None, help="A noise profile.")
@click.option("--wait", "waited_s", default=0.0, type=click.FloatRange(0), help="Simulated seconds after the page.")
@age_option
@profile_option
@click.option("--content", "folders", multiple=True, help="A folder of further content (repeatable).")
def command(task: str, form: str, out: Path, waited_s: float, *, passed: bool, **where: Any) -> int:
    """Start TASK (an id, or a task file) and write what ten tools print of it at the instant of its page.

    The files are those of Cloud-OpsBench: `tool_cache.json`, `metadata.json` (the page, and what is wrong) and
    `alert.json`, and the logs. Or write the runs of RUNDIR (`simcluster eval --out`), one JSON object a line.
    """
    if form != "cloudopsbench":
        count = _runs(Path(task), form, out, where["folders"], passed=passed)
        click.echo(f"written to {out}: {count} lines")
        return DONE
    from simcluster.calibration.cloudopsbench.snapshot import Snapshot

    episode = open_episode(task, remarks=console(stderr=True), **where)
    episode.world.run_for(round(waited_s * 1e9))
    result = {"fault_object": episode.task.truth.component, "root_cause": episode.task.id}
    snapshot = Snapshot(episode.world, episode.task.namespace)
    snapshot.write(out, {"query": episode.alert, "result": result})
    click.echo(f"written to {out}: {len(snapshot.apps)} applications")
    return DONE


def _runs(folder: Path, form: str, out: Path, folders: tuple[str, ...], *, passed: bool) -> int:
    """How many lines were written."""
    from simcluster.eval.datasets import chats, preferences, steps

    library = Library(tuple(Path(each) for each in folders))
    found = {"chat": lambda: chats(folder), "steps": lambda: steps(folder)}.get(
        form, lambda: preferences(folder, library)
    )()
    count = 0
    with out.open("w", encoding="utf-8") as file:
        for line in found:
            if line["passed"] or not passed:
                file.write(json.dumps(line, sort_keys=True) + "\n")
                count += 1
    return count
