"""`simcluster record`: what a cluster does, written down; any cluster."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simcluster.cli.exits import DONE, FAILED

if TYPE_CHECKING:
    from simcluster.calibration.record.recorder import Recorder

_INSTALL = "recording needs further packages: pip install 'simcluster[calibration]'"


@click.command("record", short_help="Record what a cluster does, or verify a recording.")
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path), envvar="KUBECONFIG", help="Of the cluster [$KUBECONFIG]."
)
@click.option("--context", default="", help="Another context than the current one.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="The recording's folder; one that is there is gone on with."
)
@click.option("--prometheus", default="", metavar="URL", help="Record series too.")
@click.option("--loki", default="", metavar="URL", help="Record logs too.")
@click.option("--jaeger", default="", metavar="URL", help="Record traces too.")
@click.option("--for", "seconds", default=0.0, type=click.FloatRange(0), help="Seconds [default: until Ctrl-C].")
@click.option("--namespace", "-n", "namespaces", multiple=True, help="Of namespaced objects (repeatable) [all].")
@click.option("--resource", "resources", multiple=True, help="Only these kinds, as plural.group (repeatable).")
@click.option("--metrics", default=None, help="A regular expression of names of series.")
@click.option("--logs", default=None, help="A LogQL selector.")
@click.option("--pod-logs", multiple=True, metavar="NAMESPACE", help="Logs of its pods from the API server.")
@click.option("--redact", "patterns", multiple=True, metavar="REGEX", help="Replace what matches (repeatable).")
@click.option("--script", type=click.Path(path_type=Path, exists=True), help="Operations to carry out meanwhile.")
@click.option(
    "--lag", "lag_s", default=None, type=click.FloatRange(0), help="Seconds until telemetry has arrived [20]."
)
@click.option("--verify", "verified", type=click.Path(path_type=Path, exists=True), help="Say what is wrong with one.")
def command(verified: Path | None, **given: Any) -> int:
    """Record objects, watches, logs, series and traces of the cluster of a kubeconfig into a folder.

    Data of Secrets, tokens and what matches --redact is replaced before anything is written. A recording that was
    interrupted is gone on with by the same command. The format: docs/RECORDINGS.md.
    """
    try:
        from simcluster.calibration.record.verify import summary

        if verified is not None:
            return DONE if summary(verified, click.echo) else FAILED
        from simcluster.calibration.record.operations import read_script
        from simcluster.calibration.record.recorder import Recorder, Wanted
    except ModuleNotFoundError as missing:
        raise click.ClickException(f"{_INSTALL} ({missing.name} is missing)") from None
    for name in ("kubeconfig", "out"):
        if given[name] is None:
            raise click.UsageError(f"name --{name}")
    script = given.pop("script")
    wanted = {key: value for key, value in given.items() if value not in (None, ())}
    try:
        if script is not None:
            wanted |= {"script": tuple(read_script(script)), "script_folder": script.parent}
        recorder = Recorder(Wanted(**wanted))
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None
    asyncio.run(_record(recorder))
    counts = ", ".join(f"{count} {name}" for name, count in sorted(_grouped(recorder.store.counts).items()))
    click.echo(f"written to {recorder.wanted.out}: {counts or 'nothing'}; {recorder.redaction.replaced} texts redacted")
    return DONE


async def _record(recorder: Recorder) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, recorder.end)
    await recorder.run(_progress)


def _progress(recorder: Recorder) -> None:
    counts = _grouped(recorder.store.counts)
    click.echo("  ".join(f"{name} {count}" for name, count in sorted(counts.items())), err=True)


def _grouped(counts: dict[str, int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for stream, count in counts.items():
        name = stream.partition("/")[0]
        found[name] = found.get(name, 0) + count
    return found
