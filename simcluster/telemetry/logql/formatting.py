"""Go templates of `line_format` and `label_format`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simcluster.telemetry.logql.entry import Entry
from simcluster.telemetry.logql.golayout import Instant
from simcluster.telemetry.logql.templatefunctions import BUILT_IN, FUNCTIONS
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
        function = FUNCTIONS.get(name) or (COMMON.get(name) if name in BUILT_IN else None)
        if function is None:
            raise TemplateError(f'function "{name}" not defined')
        return function(*args)


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
