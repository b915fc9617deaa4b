"""Rows of custom resources from a CustomResourceDefinition's `additionalPrinterColumns`.

Source: apiextensions-apiserver pkg/registry/customresource/tableconvertor. The JSON paths
are the simple ones that definitions use: fields, indexes, `[*]` and `[?(@.a=="b")]`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from simcluster.api.printing.cells import Column, Obj, since

_STEP = re.compile(
    r"""\.?([A-Za-z0-9_-]+(?:\\\.[A-Za-z0-9_./-]+)*)"""
    r"""|\['([^']*)'\]"""
    r"""|\[(\*|-?\d+)\]"""
    r"""|\[\?\(@\.([A-Za-z0-9_.]+)\s*==\s*["']([^"']*)["']\)\]"""
)


def find(obj: Any, path: str) -> list[Any]:
    """Values at a JSON path.

    >>> find({"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
    ...      '.status.conditions[?(@.type=="Ready")].status')
    ['True']
    """
    values, position = [obj], 0
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None or step.end() == position:
            return []
        position = step.end()
        values = [found for value in values for found in _advance(value, step)]
    return values


def _advance(value: Any, step: re.Match[str]) -> list[Any]:
    name = step[1].replace("\\.", ".") if step[1] is not None else step[2]
    if name is not None:
        return [value[name]] if isinstance(value, Mapping) and name in value else []
    if not isinstance(value, list):
        return []
    if step[3] is not None:
        if step[3] == "*":
            return list(value)
        index = int(step[3])
        return [value[index]] if -len(value) <= index < len(value) else []
    return [item for item in value if [str(v) for v in find(item, step[4])] == [step[5]]]


def custom_columns(definitions: Sequence[Obj]) -> tuple[Column, ...]:
    """Column definitions after `Name`."""
    return tuple(Column(d["name"], d["type"], d.get("format", ""), d.get("priority", 0)) for d in definitions)


def custom_cells(obj: Obj, definitions: Sequence[Obj], now_ns: int) -> list[Any]:
    """Cells after the name; null where the object has no such value."""
    return [_cell(find(obj, d["jsonPath"]), d["type"], now_ns) for d in definitions]


def _cell(found: list[Any], kind: str, now_ns: int) -> Any:
    if not found:
        return None
    value = found[0]
    if kind == "date":
        try:
            return since(value, now_ns) if isinstance(value, str) else "<unknown>"
        except ValueError:
            return "<invalid>"
    if kind == "integer":
        return value if isinstance(value, int) else None
    if kind == "number":
        return value if isinstance(value, (int, float)) else None
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    return str(value).lower() if isinstance(value, bool) else str(value)
