"""The data sheet of a mechanism of failure: what it is, what it changes, what follows, what undoes it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from simcluster.engine import Shared
from simcluster.engine.content import Content
from simcluster.faults.facts import ChangedFact

Layer = Literal["application", "release", "configuration", "service", "node", "kernel", "hardware", "load"]


@dataclass(frozen=True)
class DataSheet(Shared):
    """What is known of a mechanism, for people, tools and grading.

    Attributes:
        layer: where it happens.
        family: the kind of cause, of `simcluster list families`; a fault may be of another one.
        changes: what it changes, as `PART PATH` of facts (of API objects the path alone), `*` for any text.
        at_once: what changes with it in the same instant by the laws of the machine.
        follows: what comes of it, in a sentence.
        undone_by: what ends it, in few words each.
        units: unit of each parameter that has one.
        lost: whether what it changes is lost: to set it back does not bring back what was there.
        source: from where it is known.
    """

    layer: Layer
    family: str
    changes: tuple[str, ...]
    follows: str
    undone_by: tuple[str, ...]
    source: str
    at_once: tuple[str, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    lost: bool = False

    def root(self, facts: Iterable[ChangedFact]) -> list[ChangedFact]:
        """Those of recorded facts that it changes itself."""
        return [fact for fact in facts if fits(self.changes, fact)]

    def unforeseen(self, facts: Iterable[ChangedFact]) -> list[ChangedFact]:
        """Those of recorded facts of which it says nothing."""
        return [fact for fact in facts if not fits((*self.changes, *self.at_once), fact)]

    def to_dict(self, params: type[Content]) -> dict[str, Any]:
        """The wire form, with the parameters of the mechanism."""
        fields = params.model_fields.items()
        return {
            "layer": self.layer,
            "family": self.family,
            "parameters": [
                {
                    "name": one.alias or name,
                    "type": str(getattr(one.annotation, "__name__", one.annotation)),
                    "unit": self.units.get(name, ""),
                    "default": None if one.is_required() else one.get_default(call_default_factory=True),
                }
                for name, one in fields
            ],
            "changes": list(self.changes),
            "follows": self.follows,
            "undone_by": list(self.undone_by),
            "source": self.source,
        }


def fits(patterns: Iterable[str], fact: ChangedFact) -> bool:
    """Whether a fact is one of those that patterns tell of (`DataSheet.changes`)."""
    return any(_pattern(text).fullmatch(fact.where) for text in patterns)


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, text.split("*"))))
