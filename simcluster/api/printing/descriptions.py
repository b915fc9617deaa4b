"""What column definitions say about their columns: texts of kube-apiserver 1.32.

The texts lie in `columns-1.32.json`: by kind and column, those that many kinds share under
an empty name. Most are the descriptions of the fields that the cells show.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path

from simcluster.api.printing.cells import Column, Obj

_TEXTS = Path(__file__).with_name("columns-1.32.json")
Texts = dict[str, dict[str, str]]


@functools.cache
def _load() -> Texts:
    found: Texts = json.loads(_TEXTS.read_text(encoding="utf-8"))
    return found


@functools.lru_cache(maxsize=256)
def definitions(group: str, kind: str, columns: tuple[Column, ...]) -> tuple[dict[str, object], ...]:
    """The column definitions of a built-in kind. Do not change them."""
    texts = _load()
    own = texts.get(f"{kind}.{group}" if group else kind, {})
    # Aggregated servers describe the name alone, and in their own words.
    shared = {"Name": "Name of the resource"} if group == "metrics.k8s.io" else texts[""]
    return tuple(_definition(column, own.get(column.name, shared.get(column.name, ""))) for column in columns)


def custom_definitions(columns: Sequence[Column], custom: Sequence[Obj]) -> list[dict[str, object]]:
    """The column definitions of a custom resource: the name, then its own."""
    found = [_definition(columns[0], _load()[""]["Name"])]
    for column, entry in zip(columns[1:], custom, strict=True):
        path = entry["jsonPath"]
        text = entry.get("description") or f"Custom resource definition column (in JSONPath format): {path}"
        found.append(_definition(column, text))
    return found


def _definition(column: Column, description: str) -> dict[str, object]:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": description,
        "priority": column.priority,
    }
