"""What a list or a watch selects: a namespace, labels and fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from simcluster.api.objects import Json, labels_of
from simcluster.api.selectors.fields import FieldTerm, field_value
from simcluster.api.selectors.labels import Requirements


class Selection(NamedTuple):
    """What a list or watch asks for: a namespace (or all), labels, fields."""

    namespace: str = ""
    labels: Requirements = ()
    fields: tuple[FieldTerm, ...] = ()

    def matches(self, obj: Mapping[str, Any]) -> bool:
        """Whether the object is selected."""
        if self.namespace and obj["metadata"].get("namespace") != self.namespace:
            return False
        if self.labels:
            labels = labels_of(obj)
            for requirement in self.labels:
                if not requirement.matches(labels):
                    return False
        return all((field_value(obj, path) == value) is equal for path, equal, value in self.fields)

    @property
    def is_filtered(self) -> bool:
        """Whether labels or fields narrow the selection."""
        return bool(self.labels or self.fields)

    def name(self) -> str:
        """The one name the field selector asks for, or an empty text."""
        for term in self.fields:
            if term.path == "metadata.name" and term.equal:
                return term.value
        return ""


EVERYTHING = Selection()


def select(objects: Sequence[Json], selection: Selection) -> list[Json]:
    """The selected objects, in the order given."""
    return [obj for obj in objects if selection.matches(obj)]
