"""`simcluster serve`: a cluster on loopback, for any client."""

from __future__ import annotations

import json
import shlex
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from simcluster.cli import completing
from simcluster.cli.age import age_option
from simcluster.cli.exits import CheckFailed
from simcluster.cli.output import console
from simcluster.cli.profile import profile_option

if TYPE_CHECKING:
    from rich.console import Console

    from simcluster.eval.serving.service import Service
    from simcluster.session.live import Live
    from simcluster.world.profile import Profile

_INSTALL = "serving needs further packages: pip install 'simcluster[serve]'"


@click.command("serve", short_help="Serve a cluster on loopback to kubectl and any other client.")
@click.argument("what", metavar="TASK|FILE", required=False, shell_complete=completing.tasks)
@click.option("--openenv", is_flag=True, help="TASK as an environment of OpenEnv instead: /reset, /step, /ws.")
@click.option("--empty", is_flag=True, help="A healthy empty cluster instead of a task.")
@click.option(
    "--nodes", default=3, show_default=True, type=click.IntRange(0), help="Workers of a cluster without task."
)
@click.option("--clock", "policy", default="", help="stepped, realtime:X or manual [default: the task's].")
@click.option(
    "--port", default=0, type=click.IntRange(0, 65534), help="Of the API [default: a free one]; the desk's is the next."
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="From which everything random follows."
)
@click.option("--noise", default=None, help="A noise profile.")
@age_option
@profile_option
@click.option("--telemetry", is_flag=True, help="Prometheus and exporters in a cluster without task.")
@click.option("--blind", is_flag=True, help="Name the task nowhere before the end.")
@click.option(
    "--out", default=None, type=click.Path(path_type=Path), help="Kubeconfig, replay log, report [default: serve-PORT]."
)
@click.option("--content", "folders", multiple=True, help="A folder of further content (repeatable).")
def command(**given: Any) -> None:
    """Serve TASK (an id or a task file), a FILE of manifests in a fresh cluster, or an empty cluster.

    The kubeconfig it writes is that of an agent; the port opens at once and is ready when the page has come. Ctrl-C
    ends it, grades the task and writes the replay log.
    """
    options = Options(**given)
    what, policy, port = options.what, options.policy, options.port
    if bool(what) == options.empty:
        raise click.UsageError("name a TASK or a FILE, or say --empty")
    if options.openenv:
        _environment(options)
        return
    try:
        from simcluster.eval.serving.service import Service, Wanted
    except ModuleNotFoundError as missing:
        raise click.ClickException(f"{_INSTALL} ({missing.name} is missing)") from None
    import asyncio
    import tempfile

    from simcluster.session.clock import Clock

    if policy:
        try:
            Clock(policy=policy)
        except ValueError as problem:
            raise click.BadParameter(str(problem).splitlines()[2].strip(), param_hint="--clock") from None
    start = _starter(options)
    if options.blind:
        from simcluster.cli.processtitle import hide_arguments

        hide_arguments("simcluster serve")
    folder = options.out or (Path(f"serve-{port}") if port else Path(tempfile.mkdtemp(prefix="simcluster-")))
    remarks = console(stderr=True)
    try:
        service = Service(Wanted(start, folder, policy, port))
    except OSError as problem:
        raise click.ClickException(f"cannot serve on port {port}: {problem.strerror}") from None
    for name, value in service.endpoints.environment().items():
        click.echo(f"export {name}={shlex.quote(value)}")
    asyncio.run(_serve(service, remarks, blind=options.blind))
    if service.problem is not None:
        raise CheckFailed("the task cannot be started" if options.blind else str(service.problem))
    written = ", ".join(_write(service, folder))
    remarks.print(f"written to {folder}: {written}", markup=False, highlight=False)


def _environment(options: Options) -> None:
    """Serve routes of OpenEnv until Ctrl-C."""
    if options.what is None:
        raise click.UsageError("--openenv serves a TASK")
    try:
        import uvicorn

        from simcluster.eval.training.openenv import Server
    except ModuleNotFoundError as missing:
        further = "pip install 'simcluster[gym,serve]'"
        raise click.ClickException(f"{further} ({missing.name} is missing)") from None
    application = Server(options.what, options.noise).application()
    port = options.port or 8000
    click.echo(f"http://127.0.0.1:{port}")
    uvicorn.run(application, host="127.0.0.1", port=port, ws="wsproto", log_level="warning")


async def _serve(service: Service, remarks: Console, *, blind: bool) -> None:
    """Until a signal comes."""
    import asyncio
    import gc

    from simcluster.cli.livestatus import follow

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, service.end)

    def ready(service: Service) -> None:
        gc.freeze()  # what is there now stays: a request need not wait until all of it has been walked again
        if service.task_id and not blind:
            remarks.print(service.task_id, markup=False, highlight=False)
        if service.incident is not None and service.incident.alert:
            remarks.print(service.incident.alert, style="bold red", markup=False, highlight=False)
        remarks.print("ready; Ctrl-C ends it", style="dim")
        following.append(asyncio.ensure_future(follow(service, remarks)))

    following: list[asyncio.Future[None]] = []
    await service.run(ready)
    for one in following:
        one.cancel()


def _write(service: Service, folder: Path) -> list[str]:
    """Grade what is a task, and write its report and the replay log; names of the files."""
    from simcluster.eval.episode import Episode

    live, names = service.live, ["replay.jsonl"]
    assert live is not None
    if isinstance(live, Episode):
        text = json.dumps(live.finish().to_dict(), indent=2, sort_keys=True)
        (folder / "report.json").write_text(f"{text}\n")
        names.append("report.json")
    live.write_log(folder / "replay.jsonl")
    return names


class Options(NamedTuple):
    """What stands on the command line."""

    what: str | None
    openenv: bool
    empty: bool
    nodes: int
    policy: str
    port: int
    seed: int
    noise: str | None
    age: str | None
    profile: Profile | None
    telemetry: bool
    blind: bool
    out: Path | None
    folders: tuple[str, ...]


def _starter(options: Options) -> Callable[[], Live]:
    """What makes the session: nothing heavy is imported before the port is open."""
    what, seed = options.what, options.seed

    def begin() -> Live:
        from simcluster.engine.content import Library

        if what is None or _is_manifest(what):
            from simcluster.session import sandbox

            telemetry, age, profile = options.telemetry, options.age, options.profile
            box = sandbox(options.nodes, seed=seed, telemetry=telemetry, age=age, profile=profile)
            if what is not None:
                applied = box.kubectl("apply -f -", stdin=Path(what).read_text(encoding="utf-8"))
                if applied.exit_code:
                    raise CheckFailed(f"{what}: {applied.stderr.strip()}")
            return box
        from simcluster.eval.episode import start

        library = Library(tuple(Path(folder) for folder in options.folders))
        return start(what, seed, options.noise, library, options.age, options.profile)

    return begin


def _is_manifest(what: str) -> bool:
    """Whether a file holds objects of a cluster, and no task. Raises ClickException."""
    import yaml

    path = Path(what)
    if path.suffix not in (".yaml", ".yml", ".json"):
        return False
    try:
        first = next(iter(yaml.safe_load_all(path.read_text(encoding="utf-8"))), None)
    except (OSError, yaml.YAMLError) as problem:
        raise click.ClickException(f"{path}: {problem}") from None
    return isinstance(first, dict) and "apiVersion" in first and "kind" in first
