"""`simcluster bench`: our own speed, here and now."""

from __future__ import annotations

from typing import Any

import click
from rich.table import Table

from simcluster.cli.exits import CheckFailed
from simcluster.cli.output import console, print_json
from simcluster.eval.bench import Measurement, measure, measure_scale, measure_soak, measure_telemetry, measure_traffic


@click.command("bench", short_help="Measure how fast the simulation runs here.")
@click.option(
    "--repeats", default=3, show_default=True, type=click.IntRange(1), help="Repeats of the long measurement."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--gate", is_flag=True, help="Exit with 1 if a promised figure is missed.")
@click.option("--scale", default="", metavar="N,N,...", help="Measure clusters of so many nodes instead.")
@click.option("--traffic", is_flag=True, help="Measure what requests cost in large applications instead (minutes).")
@click.option("--serve", "served", is_flag=True, help="Measure requests over sockets instead.")
@click.option("--telemetry", is_flag=True, help="Measure what metrics, logs and traces cost instead (minutes).")
@click.option("--grading", is_flag=True, help="Measure what grades cost beside their episodes instead (minutes).")
@click.option("--environments", is_flag=True, help="Measure steps of Gymnasium's environments instead.")
@click.option(
    "--episodes",
    default=0,
    metavar="N",
    type=click.IntRange(0),
    help="Measure episodes by the expert instead, of N tasks drawn by the seed.",
)
@click.option(
    "--soak", default=0, metavar="HOURS", type=click.IntRange(0), help="Let a world live so long instead (7 to 24)."
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def command(repeats: int, seed: int, gate: bool, as_json: bool, **instead: Any) -> None:
    """Measure simulated seconds per second, forks, boot and kubectl; medians of repeats."""
    sizes, soak = _sizes(instead["scale"]), instead["soak"]
    if sum([bool(each) for each in instead.values()]) > 1:  # integers
        raise click.UsageError(
            "--scale, --traffic, --serve, --telemetry, --grading, --environments, --episodes, --soak: one at a time"
        )
    if 0 < soak < 7:
        raise click.BadParameter("at least 7 hours: the sixth is the one compared with", param_hint="--soak")
    remarks = console(stderr=True)
    with remarks.status("booting a cluster") as status:
        tell = status.update if remarks.is_terminal else remarks.print  # minutes without a word look like a hang
        if instead["traffic"]:
            found = measure_traffic(tell)
        elif instead["telemetry"]:
            found = measure_telemetry(tell)
        elif instead["grading"]:
            from simcluster.eval.bench.grading import measure_grading

            found = measure_grading(tell)
        elif instead["environments"]:
            from simcluster.eval.bench.environments import measure_environments

            found = measure_environments(tell)
        elif instead["episodes"]:
            from simcluster.eval.bench.episodes import measure_episodes

            found = measure_episodes(tell, instead["episodes"], seed)
        elif instead["served"]:
            from simcluster.eval.bench.served import measure_served

            found = measure_served(tell)
        elif soak:
            found = measure_soak(soak, seed, tell)
        else:
            found = measure_scale(sizes, seed, tell) if sizes else measure(repeats, seed, tell)
    if as_json:
        print_json([one.to_dict() for one in found])
    else:
        console().print(_table(found))
    missed = [one.name for one in found if not one.holds]
    if gate and missed:
        raise CheckFailed(f"missed here: {', '.join(missed)}")


def _sizes(text: str) -> list[int]:
    try:
        sizes = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        sizes = [0]
    if any(size < 1 for size in sizes):
        raise click.BadParameter("numbers of nodes, such as 100,300,1000", param_hint="--scale")
    return sizes


def _table(found: list[Measurement]) -> Table:
    table = Table("what", "median", "unit", "spread", "promised")
    for one in found:
        spread = f"{min(one.repeats):.1f} to {max(one.repeats):.1f}" if len(one.repeats) > 1 else ""
        mark = "" if not one.bound else f"{one.bound} {'kept' if one.holds else 'missed'}"
        table.add_row(one.name, f"{one.value:.1f}" if one.value >= 10 else f"{one.value:.3f}", one.unit, spread, mark)
    return table
