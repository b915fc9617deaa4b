"""`simcluster doctor`: what is missing for which feature."""

from __future__ import annotations

import click

from simcluster.cli.exits import DONE, FAILED
from simcluster.cli.features import FEATURES, found, versions
from simcluster.cli.output import console, print_json


@click.command("doctor", short_help="Say what is missing for which feature.")
@click.option("--json", "as_json", is_flag=True, help="Print one object.")
def command(as_json: bool) -> int:
    """Try what each feature needs. Extras that are missing are no failure: the exit status is 1 if the core does not
    work here.
    """
    findings = [(feature, found(feature)) for feature in FEATURES]
    if as_json:
        print_json({"versions": versions(), "features": [one._asdict() for _, one in findings]})
    else:
        console().print(" ".join(f"{name} {value}" for name, value in versions().items()), highlight=False)
        for _, one in findings:
            mark = "[green]ok[/]     " if one.works else "[yellow]missing[/]"
            said = f": {one.lacks}" if one.lacks else ""
            console().print(f"{mark} {one.feature}", end="")
            console().print(f"{said}{f'  ({one.mend})' if one.mend else ''}", markup=False, highlight=False)
    core = [one.works for feature, one in findings if not (feature.extra or feature.programs)]
    return DONE if all(core) else FAILED
