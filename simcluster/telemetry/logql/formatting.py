"""Go templates of `line_format` and `label_format`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simcluster.engine.clock import format_rfc3339
from simcluster.telemetry.logql.entry import Entry
from simcluster.telemetry.logql.templatefunctions import FUNCTIONS
from simcluster.telemetry.logql.units import EPOCH_NS
from simcluster.telemetry.rules.templates import FUNCTIONS as COMMON
from simcluster.telemetry.rules.templates import Execution
from simcluster.telemetry.rules.templatesyntax import Node, TemplateError, parsed

_FAILURES = (TemplateError, TypeError, ValueError, IndexError, KeyError, OverflowError, ZeroDivisionError,
             RecursionError, AttributeError)  # fmt: skip


class Formatted(Execution):
    """A template that is filled in for one line."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry

    def call(self, name: str, args: list[Any]) -> Any:
        """What a function gives.

        Raises:
            TemplateError: there is none of this name.
        """
        if name == "__line__":
            return self._entry.text
        if name == "__timestamp__":
            return Instant(self._entry.t_ns)
        function = FUNCTIONS.get(name) or COMMON.get(name)
        if function is None:
            raise TemplateError(f'function "{name}" not defined')
        return function(*args)


class Instant(int):
    """Nanoseconds since the Unix epoch that are printed as a date."""

    def __str__(self) -> str:
        return format_rfc3339(int(self) - EPOCH_NS, digits=9).replace("T", " ").replace("Z", " +0000 UTC")


def template(source: str) -> Callable[[Entry], str | None]:
    """What fills a template in from the labels of an entry; None, with an error noted, if it cannot be."""
    nodes: Sequence[Node] = parsed(source)

    def run(entry: Entry) -> str | None:
        labels: Mapping[str, Any] = dict(entry.labels)
        try:
            return Formatted(entry).nodes(nodes, labels, {"$": labels})
        except _FAILURES as error:
            entry.fail("TemplateFormatErr", f"template: {error}")
            return None

    return run
