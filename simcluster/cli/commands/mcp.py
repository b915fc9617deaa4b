"""`simcluster mcp`: an incident as an MCP server over standard input and output."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simcluster.cli import completing
from simcluster.cli.age import age_option
from simcluster.cli.profile import profile_option

if TYPE_CHECKING:
    from simcluster.session.live import Live
    from simcluster.world.profile import Profile


@click.command("mcp", short_help="Be an MCP server for an incident, over standard input and output.")
@click.argument("what", metavar="TASK", required=False, shell_complete=completing.tasks)
@click.option("--empty", is_flag=True, help="A healthy empty cluster with Prometheus instead.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="From which everything random follows."
)
@click.option("--noise", default=None, help="A noise profile.")
@age_option
@profile_option
@click.option("--out", default=None, type=click.Path(path_type=Path), help="A folder for replay log and report.")
@click.option("--content", "folders", multiple=True, help="A folder of further content (repeatable).")
def command(**given: Any) -> None:
    """Serve the tools of TASK (an id or a task file) to the MCP client that starts this command.

    In the client's configuration: {"command": "simcluster", "args": ["mcp", "TASK"]}. When the client hangs up, the
    task is graded; with --out its report is written. Nothing but the protocol is printed to standard output.
    """
    what, out = given["what"], given["out"]
    if bool(what) == given["empty"]:
        raise click.UsageError("name a TASK, or say --empty")
    try:
        from simcluster.surface.mcp.servers import server_of
    except ModuleNotFoundError as missing:
        text = f"MCP needs further packages: pip install 'simcluster[mcp]' ({missing.name} is missing)"
        raise click.ClickException(text) from None
    import asyncio

    from simcluster.eval.serving.incident import ServedIncident
    from simcluster.session.door import SessionDoor
    from simcluster.surface.http.door import Turns
    from simcluster.surface.mcp.toolbox import Toolbox

    live = _session(**given)
    incident = ServedIncident(live)
    server = server_of(Toolbox(Turns(SessionDoor(live)), incident))
    asyncio.run(server.run_stdio_async())
    _finish(live, out)


def _session(
    what: str | None,
    seed: int,
    noise: str | None,
    age: str | None,
    profile: Profile | None,
    folders: tuple[str, ...],
    **rest: Any,
) -> Live:
    from simcluster.engine.content import Library

    if what is None:
        from simcluster.session import sandbox

        return sandbox(seed=seed, telemetry=True, age=age, profile=profile)
    from simcluster.eval.episode import start

    return start(what, seed, noise, Library(tuple(Path(folder) for folder in folders)), age, profile)


def _finish(live: Live, out: Path | None) -> None:
    """Write the replay log, then grade what is a task.

    Clients kill a server that has not ended two seconds after they hung up; grading takes longer, so that a process of
    its own does it.
    """
    from simcluster.eval.episode import Episode

    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        live.write_log(out / "replay.jsonl")
    if not isinstance(live, Episode) or os.fork():
        return
    os.setsid()
    report = live.finish()
    if out is not None:
        text = json.dumps(report.to_dict(), indent=2, sort_keys=True)
        partial = out / ".report.json"
        partial.write_text(f"{text}\n")
        partial.rename(out / "report.json")
    with contextlib.suppress(OSError):  # nobody may be left to read it
        print(report.explain(), file=sys.stderr, flush=True)
    os._exit(0)
