"""Options of the second judge, the same for every command that grades."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from simcluster.eval.llm import SecondJudge

_Command = TypeVar("_Command", bound=Callable[..., Any])


def judge_options(command: _Command) -> _Command:
    """`--judge`, `--judge-url` and `--judge-price`."""
    for option in (
        click.option(
            "--judge-price", nargs=2, type=float, default=(0.0, 0.0), metavar="PROMPT COMPLETION",
            help="US dollars for a million tokens of each.",
        ),
        click.option("--judge-url", default="", help="Where it answers, up to /chat/completions."),
        click.option(
            "--judge", default="", metavar="llm:MODEL",
            help="Ask a model about each diagnosis, too; it decides those that are unclear.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def judge_of(name: str, url: str, prices: tuple[float, float]) -> SecondJudge | None:
    """The judge that the options name; None if they name none. Raises click.BadParameter."""
    if not name:
        return None
    try:
        return SecondJudge.named(name, url, prices)
    except ValueError as problem:
        raise click.BadParameter(str(problem), param_hint="--judge") from None
