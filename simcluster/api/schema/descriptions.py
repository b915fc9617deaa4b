"""Descriptions of types and fields, loaded when somebody asks for them.

The texts lie in `descriptions-1.32.json.gz`, written by `compile_descriptions.py`.
"""

from __future__ import annotations

import functools
import gzip
import json
from pathlib import Path
from typing import Any

_TEXTS = Path(__file__).with_name("descriptions-1.32.json.gz")


class TypeDescription:
    """What is said about one type.

    Attributes:
        text: of the type itself, may be empty.
        fields: texts of its fields.
        enums: values of enumerated fields (or of the items of such a list).
        references: short names of the types of fields (or items) that hold one value.
    """

    __slots__ = ("enums", "fields", "references", "text")

    def __init__(self, facts: dict[str, Any]) -> None:
        self.text: str = facts.get("d", "")
        self.fields: dict[str, str] = facts.get("f", {})
        self.enums: dict[str, list[Any]] = facts.get("e", {})
        self.references: dict[str, str] = facts.get("r", {})


_NOTHING = TypeDescription({})


@functools.cache
def _load() -> dict[str, TypeDescription]:
    facts = json.loads(gzip.decompress(_TEXTS.read_bytes()))
    return {name: TypeDescription(facts[name]) for name in facts}


def description_of(name: str) -> TypeDescription:
    """The description of a type by its short name, as in `core.v1.Pod`; empty if it has none."""
    return _load().get(name, _NOTHING)
