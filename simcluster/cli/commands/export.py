"""`simcluster export`: an incident at the instant of its page, in the layout of a data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from simcluster.cli import completing
from simcluster.cli.age import age_option
from simcluster.cli.exits import DONE
from simcluster.cli.incident import open_episode
from simcluster.cli.output import console
from simcluster.cli.profile import profile_option


@click.command("export", short_help="Write an incident as a case of a data set.")
@click.argument("task", shell_complete=completing.tasks)
@click.option("--format", "form", type=click.Choice(["cloudopsbench"]), required=True, help="Of which data set.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The case's folder.")
@click.option("--seed", default=0, show_default=True, help="From which everything random follows.")
@click.option("--noise", default=None, help="A noise profile.")
@click.option("--wait", "waited_s", default=0.0, type=click.FloatRange(0), help="Simulated seconds after the page.")
@age_option
@profile_option
@click.option("--content", "folders", multiple=True, help="A folder of further content (repeatable).")
def command(task: str, form: str, out: Path, waited_s: float, **where: Any) -> int:
    """Start TASK (an id, or a task file) and write what ten tools print of it at the instant of its page.

    The files are those of Cloud-OpsBench: `tool_cache.json`, `metadata.json` (the page, and what is wrong) and
    `alert.json`.
    """
    from simcluster.calibration.cloudopsbench.snapshot import Snapshot

    episode = open_episode(task, remarks=console(stderr=True), **where)
    episode.world.run_for(round(waited_s * 1e9))
    result = {"fault_object": episode.task.truth.component, "root_cause": episode.task.id}
    snapshot = Snapshot(episode.world, episode.task.namespace)
    snapshot.write(out, {"query": episode.alert, "result": result})
    click.echo(f"written to {out}: {len(snapshot.apps)} applications")
    return DONE
