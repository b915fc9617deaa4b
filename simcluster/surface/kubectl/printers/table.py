"""Server-side Tables as `kubectl get` prints them.

Source: k8s.io/cli-runtime/pkg/printers/tableprinter.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from simcluster.api.objects import Json
from simcluster.engine import format_age, parse_rfc3339
from simcluster.surface.kubectl.printers.tabwriter import ColumnWriter
from simcluster.surface.kubectl.printers.yaml import number_text

_SPECIAL = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


class TableOptions(NamedTuple):
    """What the flags of `get` ask of a table.

    Attributes:
        kind: prefix of names, as `deployment.apps`; empty for none.
    """

    wide: bool = False
    no_headers: bool = False
    with_namespace: bool = False
    show_labels: bool = False
    label_columns: tuple[str, ...] = ()
    kind: str = ""


class TablePrinter:
    """Prints the tables of one resource, aligned with each other."""

    def __init__(self, options: TableOptions) -> None:
        self.options = options
        self.writer = ColumnWriter()
        self._headed = options.no_headers
        self._columns: list[Json] = []

    def add(self, table: Json, event: str = "") -> bool:
        """Queue a table's rows (after the headings, once); `event` is a watch event's type.

        Returns whether there was anything to print.
        """
        self._columns = table.get("columnDefinitions") or self._columns
        rows = table.get("rows") or ()
        options = self.options
        shown = [i for i, column in enumerate(self._columns) if options.wide or not column.get("priority")]
        if rows and not self._headed:
            self._headed = True
            self.writer.row(self._headings(shown, bool(event)))
        for row in rows:
            self.writer.row(self._row(row, shown, event))
        return bool(rows)

    def flush(self) -> str:
        """What was queued, as text."""
        return self.writer.flush()

    def _headings(self, shown: Sequence[int], event: bool) -> list[str]:
        options = self.options
        headings = [str(self._columns[i]["name"]).upper() for i in shown]
        if options.with_namespace:
            headings.insert(0, "NAMESPACE")
        if event:
            headings.insert(0, "EVENT")
        headings.extend(label.rpartition("/")[2].upper() for label in options.label_columns)
        if options.show_labels:
            headings.append("LABELS")
        return headings

    def _row(self, row: Json, shown: Sequence[int], event: str) -> list[str]:
        options = self.options
        metadata = (row.get("object") or {}).get("metadata") or {}
        values = row["cells"]
        cells = [_cell(values[i]) if i < len(values) else "" for i in shown]
        if options.kind and cells:
            names = [n for n, i in enumerate(shown) if self._columns[i].get("format") == "name"]
            cells[names[0] if names else 0] = f"{options.kind}/{cells[names[0] if names else 0]}"
        if options.with_namespace:
            cells.insert(0, metadata.get("namespace", ""))
        if event:
            cells.insert(0, event)
        labels = metadata.get("labels") or {}
        cells.extend(labels.get(label, "") for label in options.label_columns)
        if options.show_labels:
            cells.append(format_labels(labels))
        return cells


def _cell(value: Any) -> str:
    if isinstance(value, str):
        text, newline, _ = value.partition("\n")
        for character, shown in _SPECIAL.items():
            text = text.replace(character, shown)
        return text + "..." if newline else text
    if value is None:
        return ""  # a custom resource without the field of a printer column
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_text(value)


def format_labels(labels: dict[str, str]) -> str:
    """`a=1,b=2` sorted, or `<none>`."""
    return ",".join(sorted(f"{key}={value}" for key, value in labels.items())) or "<none>"


def fallback_table(objects: Sequence[Json], now_ns: int) -> Json:
    """The table kubectl makes itself when the server sends plain objects: NAME and AGE."""
    rows = []
    for obj in objects:
        created = obj["metadata"].get("creationTimestamp")
        age = format_age(now_ns - parse_rfc3339(created)) if created else "<unknown>"
        rows.append({"cells": [obj["metadata"]["name"], age], "object": obj})
    columns = [{"name": "Name", "format": "name", "priority": 0}, {"name": "Age", "priority": 0}]
    return {"columnDefinitions": columns, "rows": rows}
