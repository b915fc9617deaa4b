"""The option `--profile`: a file of a calibrated cluster's figures, or the name of one that comes with the program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from simcluster.world.profile import Profile

_SHIPPED = Path(__file__).resolve().parents[1] / "calibration" / "profiles"


def _read(_: click.Context, __: click.Parameter, given: Path | None) -> Profile | None:
    """Raises BadParameter for what is neither a file nor a name, and ContentError for a file that is no profile."""
    if given is None:
        return None
    from simcluster.world.profile import read_profile

    shipped = _SHIPPED / f"{given}.yaml"
    if given.is_file():
        return read_profile(given)
    if len(given.parts) == 1 and shipped.is_file():
        return read_profile(shipped)
    names = ", ".join(sorted(path.stem for path in _SHIPPED.glob("*.yaml")))
    raise click.BadParameter(f"{given} is no file; by name there are: {names}")


_HELP = "Figures of a calibrated cluster: a file, or a name such as kind-1.32."
#: What clusters are like, where a recording says otherwise than usual.
profile_option = click.option("--profile", default=None, type=click.Path(path_type=Path), callback=_read, help=_HELP)
#: The same, where nothing can be done without it.
required_profile = click.option("--profile", required=True, type=click.Path(path_type=Path), callback=_read, help=_HELP)
