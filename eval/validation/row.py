"""A row of the validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from simcluster.eval.validation.context import Context

#: Both engines of traffic.
BOTH = ("exact", "aggregate")


@dataclass(frozen=True)
class Row:
    """One row.

    Attributes:
        title: what is set up.
        source: where the expected figures come from.
        tolerance: how far off a figure may be, and why that far.
        measure: runs it.
        engines: on which engines it applies.
    """

    title: str
    source: str
    tolerance: str
    measure: Callable[[Context], None]
    engines: tuple[str, ...] = BOTH
