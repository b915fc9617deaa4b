"""`python -m simcluster.testing.timeline [DIR] [--seeds N] [--json]`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from simcluster.testing.recordings import recordings
from simcluster.testing.timeline.compare import Report, Verdict, compare
from simcluster.testing.timeline.recording import read_recording
from simcluster.testing.timeline.stage import play


@click.command()
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--seeds", default=20, show_default=True, type=click.IntRange(1), help="How many runs to simulate.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--lines", type=click.IntRange(0), help="Print what a watch of the run with this seed sees instead.")
@click.option("--every", is_flag=True, help="Print the instants inside too.")
def main(folder: Path | None, seeds: int, as_json: bool, lines: int | None, every: bool) -> None:
    """Play the operations recorded in FOLDER (that of the tests) over many seeds and compare the instants."""
    recording = read_recording(folder or recordings() / "timeline")
    if lines is not None:
        for line in play(recording, lines):
            click.echo(json.dumps(line))
        return
    report = compare(recording, seeds)
    if as_json:
        click.echo(json.dumps(report.to_dict(), indent=1))
    else:
        _print(report, every)


def _print(report: Report, every: bool) -> None:
    for finding in report.findings:
        if every or finding.verdict is not Verdict.INSIDE:
            span = f"{finding.low:8.2f} to {finding.high:8.2f}" if finding.share else " " * 20
            shown = f"{finding.verdict.name.lower():8} {finding.recorded:8.2f}  {span}  {finding.share:4.0%}"
            click.echo(f"{shown}  {finding.instant}")
    for instant in report.extra:
        click.echo(f"not recorded  {instant}")
    for cause, effect, count in report.disorders:
        click.echo(f"order: {effect}\n   before {cause} in {count} of {report.seeds} runs")
    for verdict in Verdict:
        click.echo(f"{len(report.having(verdict)):5d}  {verdict.value}")
    click.echo(f"{report.ties - len(report.disorders)} of {report.ties} causal pairs in order in {report.seeds} runs")


if __name__ == "__main__":
    main()
