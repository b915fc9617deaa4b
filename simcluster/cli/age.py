"""The option `--age`; what checks it is imported when it is given."""

from __future__ import annotations

import click


def _checked(_: click.Context, __: click.Parameter, age: str | None) -> str | None:
    from simcluster.apps.history import world_age

    try:
        if age is not None:
            world_age(age)
    except ValueError as problem:
        raise click.BadParameter(str(problem)) from None
    return age


#: For how long the cluster has lived.
age_option = click.option(
    "--age", default=None, callback=_checked, help="A cluster that has lived, such as 74d [default: the task's]."
)
