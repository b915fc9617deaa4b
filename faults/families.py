"""The published list of kinds of causes: what a diagnosis may say is wrong.

A kind of cause belongs to a folder of faults, whose `words.yaml` says in a few words what it means, and to the
mechanisms whose data sheets name it. Others, of which no fault is made yet, are known to the judge alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from simcluster.engine.content import Library, read_document
from simcluster.faults import registry


class CauseFamily(NamedTuple):
    """One kind of cause.

    Attributes:
        id: its name in claims; means: it in a few words.
        layers: where it happens; faults: ids of those that are of it.
    """

    id: str
    means: str
    layers: tuple[str, ...]
    faults: tuple[str, ...]


@cache
def meanings() -> Mapping[str, str]:
    """Family -> what it means, of the kinds of causes that folders of faults tell of."""
    found: dict[str, str] = {}
    for folder in registry.families():
        path = registry.folder_of(folder) / "words.yaml"
        words: Any = read_document(path).data if path.is_file() else {}
        found |= {name: one["means"] for name, one in (words.get("families") or {}).items()}
    return dict(sorted(found.items()))


def cause_families(library: Library | None = None) -> list[CauseFamily]:
    """The kinds of causes of all faults, sorted by id."""
    found: dict[str, tuple[list[str], list[str]]] = {name: ([], []) for name in meanings()}
    for fault in registry.ids(library):
        spec = registry.load(fault, library)
        sheet = registry.mechanisms()[spec.mechanism].sheet
        layers, faults = found.setdefault(spec.cause, ([], []))
        faults.append(fault)
        layers.append(sheet.layer)
    return [
        CauseFamily(name, meanings().get(name, ""), tuple(dict.fromkeys(layers)), tuple(faults))
        for name, (layers, faults) in sorted(found.items())
    ]
