"""Options of models as agents."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

from simcluster.eval.chat.options import STRATEGIES, ModelOptions

_Command = TypeVar("_Command", bound=Callable[..., Any])


def model_options(command: _Command) -> _Command:
    """`--base-url` and the policies of `llm:MODEL`; they arrive as `models`."""

    @wraps(command)
    def gathered(**given: Any) -> Any:
        names = {"base_url": "url", "model_price": "prices", "context": "context", "think_rate": "think_rate"}
        names |= {
            "strategy": "strategy",
            "runbooks": "runbooks",
            "tool_calls": "tools",
            "replies": "replies",
            "past": "past",
        }
        return command(models=ModelOptions(**{own: given.pop(name) for name, own in names.items()}), **given)

    wrapped: Any = gathered
    for option in (
        click.option("--replies", default="", help="A run directory whose models' replies answer instead."),
        click.option("--tool-calls/--plain", default=True, help="Ask models for tool calls, or for plain text."),
        click.option("--past", default="", help="A run directory; courses that passed are shown to models."),
        click.option("--runbooks", default="", help="A folder of texts; the nearest to the page are shown to models."),
        click.option("--strategy", default="bare", type=click.Choice(STRATEGIES), help="How models are instructed."),
        click.option(
            "--think-rate", default=0.0, type=click.FloatRange(0.0),
            help="Tokens that a model writes in a simulated second [default: thinking takes none].",
        ),
        click.option(
            "--context", default=32_000, show_default=True, type=click.IntRange(1000),
            help="Tokens of a request to a model; what is old is left out.",
        ),
        click.option(
            "--model-price", nargs=2, type=float, default=(0.0, 0.0), metavar="PROMPT COMPLETION",
            help="US dollars for a million tokens of each.",
        ),
        click.option("--base-url", default="", help="Where llm:MODEL answers [default: $OPENAI_BASE_URL]."),
    ):  # fmt: skip
        wrapped = option(wrapped)
    found: _Command = wrapped
    return found
