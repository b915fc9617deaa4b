"""`simcluster gate`: whether an evaluation is good enough, for continuous integration."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from simcluster.cli.exits import CheckFailed
from simcluster.cli.output import console, print_json
from simcluster.engine.content import UnknownName
from simcluster.eval.report.exports import conditions
from simcluster.eval.runner.plan import Record
from simcluster.eval.runner.records import read_results
from simcluster.eval.statistics import Condition, Limits, judged


@click.command("gate", short_help="Fail unless an evaluation is good enough.")
@click.argument("results", type=click.Path(path_type=Path))
@click.option(
    "--baseline", type=click.Path(path_type=Path), help="An evaluation that must not be better, pair by pair."
)
@click.option("--agent", default="", help="Whose runs; needed if several agents ran.")
@click.option("--min-success", type=click.FloatRange(0.0, 1.0), help="Least share of runs that pass, 0 to 1.")
@click.option("--max-user-minutes", type=click.FloatRange(0.0), help="Most user-minutes lost in a run, on average.")
@click.option("--max-false-claims", type=click.IntRange(0), help="Most runs that claim success and fail.")
@click.option("--junit", "junit_file", type=click.Path(path_type=Path), help="Write the conditions as JUnit XML.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def command(
    results: Path,
    baseline: Path | None,
    agent: str,
    junit_file: Path | None,
    as_json: bool,
    **limits: float | int | None,
) -> None:
    """Judge RESULTS, the run directory of `simcluster eval --out`.

    The exit status is 0 if every condition is met, 1 if one is not, 2 for a usage error. A run that could not be
    made fails the gate. Against a baseline a difference counts if it is more than chance: McNemar's exact test for
    successes, a bootstrap interval over tasks for user-minutes.
    """
    records = _of_agent(results, agent)
    asked = Limits(**limits)  # type: ignore[arg-type]  # the options' own names and types
    if baseline is None and not any(value is not None for value in asked):
        raise click.UsageError(
            "nothing is asked: say --min-success, --max-user-minutes, --max-false-claims or --baseline"
        )
    before = _of_agent(baseline, agent) if baseline is not None else []
    try:
        found = judged(records, asked, before)
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None
    if junit_file is not None:
        junit_file.write_text(conditions(found, records[0]["agent"]))
    passed = all(one.passed for one in found)
    if as_json:
        print_json({"passed": passed, "agent": records[0]["agent"], "conditions": [one._asdict() for one in found]})
    else:
        _print(found)
    if not passed:
        raise CheckFailed(f"the gate is closed: {', '.join(one.name for one in found if not one.passed)}")


def _print(found: Sequence[Condition]) -> None:
    for one in found:
        mark = "[green]ok[/]  " if one.passed else "[red]FAIL[/]"
        console().print(f"{mark} {one.name}: ", end="")
        console().print(one.says, markup=False, highlight=False)


def _of_agent(folder: Path, agent: str) -> list[Record]:
    records = read_results(folder)
    known = sorted({record["agent"] for record in records})
    if agent and agent not in known:
        raise UnknownName(f"agent of {folder}", agent, known)
    if not agent and len(known) > 1:
        raise click.UsageError(f"{folder} has the agents {', '.join(known)}: choose one with --agent")
    mine = [record for record in records if not agent or record["agent"] == agent]
    return list({(record["task"], record["seed"], record["noise"]): record for record in mine}.values())
