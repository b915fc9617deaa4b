"""The option `--profile`: a file of a calibrated cluster's figures, or the name of one that comes with the program."""

from __future__ import annotations

from pathlib import Path

import click

PROFILE_HELP = "Figures of a calibrated cluster: a file, or a name such as kind-1.32."
_SHIPPED = Path(__file__).resolve().parents[1] / "calibration" / "profiles"


def profile_path(_: click.Context, __: click.Parameter, given: Path | None) -> Path | None:
    """Where it lies. Raises BadParameter for what is neither a file nor a name."""
    if given is None or given.is_file():
        return given
    shipped = _SHIPPED / f"{given}.yaml"
    if len(given.parts) == 1 and shipped.is_file():
        return shipped
    names = ", ".join(sorted(path.stem for path in _SHIPPED.glob("*.yaml")))
    raise click.BadParameter(f"{given} is no file; by name there are: {names}")
