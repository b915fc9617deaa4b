"""The form of a group of series that one thing has: a container, a node, an operation.

Names, labels and help texts stand once in a form; what is measured is a row of numbers in its order.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from simcluster.engine import Shared

#: Pairs of label name and value, sorted by name.
Labels = tuple[tuple[str, str], ...]
#: Numbers of a group, as 64-bit floats: immutable, compact, quickly compared.
Row = bytes


class Metric(NamedTuple):
    """One family of a form.

    Attributes:
        kind: counter, gauge, histogram, summary or untyped.
        text: its help.
        series: suffix of the name (`_bucket`), and labels of its own, of every series.
    """

    name: str
    kind: str
    text: str
    series: tuple[tuple[str, Labels], ...]


#: The form of every content that there was: a world that was read from a file has the program's own, and equality is
#: identity, which a dictionary sees at once.
_KNOWN: dict[tuple[Metric, ...], Columns] = {}


def _one_of(families: tuple[Metric, ...]) -> Columns:
    """The form that has these families."""
    return _KNOWN.get(families) or Columns(families)


class Columns(Shared):
    """Which series a group has, in the order of its row; two of the same content are equal.

    Attributes:
        families: as they were declared.
        series: name and labels of every column.
    """

    __slots__ = ("_form", "_hash", "by_name", "families", "label_names", "series")

    def __init__(self, families: Iterable[Metric]) -> None:
        self.families = tuple(families)
        self.series: tuple[tuple[str, Labels], ...] = tuple(
            (one.name + suffix, labels) for one in self.families for suffix, labels in one.series
        )
        by_name: dict[str, list[int]] = {}
        for column, (name, _) in enumerate(self.series):
            by_name.setdefault(name, []).append(column)
        #: Columns of every metric name.
        self.by_name: Mapping[str, Sequence[int]] = by_name
        #: Labels that some column has of its own.
        self.label_names = frozenset(name for _, labels in self.series for name, _ in labels)
        self._hash = zlib.crc32(repr(self.series).encode())
        self._form = struct.Struct(f"={len(self.series)}d")
        _KNOWN.setdefault(self.families, self)

    def __len__(self) -> int:
        return len(self.series)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Columns) and self._hash == other._hash and self.families == other.families
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Callable[[tuple[Metric, ...]], Columns], tuple[tuple[Metric, ...]]]:
        return (_one_of, (self.families,))

    def row(self, values: Sequence[float]) -> Row:
        """Numbers in the order of the columns, as they are kept."""
        assert len(values) == len(self.series), f"{len(values)} numbers for {len(self.series)} columns"
        return self._form.pack(*values)


class Group(NamedTuple):
    """The series of one thing: its form, and the labels that all of them share."""

    columns: Columns
    labels: Labels = ()


#: What one exporter shows at one instant.
Samples = Mapping[Group, Row]


class Exposed(dict[Group, Row], Shared):
    """Samples of an exporter that knows what has changed since it was asked before. Nobody changes them any more.

    Args:
        mark: names this state of this exporter; `after`: the one before it, from which `changed` leads here
            (None: the group is gone).
    """

    __slots__ = ("after", "changed", "mark")

    def __init__(
        self,
        samples: Samples,
        mark: tuple[str, int],
        after: tuple[str, int] | None = None,
        changed: Iterable[tuple[Group, Row | None]] = (),
    ) -> None:
        super().__init__(samples)
        self.mark, self.after, self.changed = mark, after, tuple(changed)

    def __reduce__(self) -> tuple[type[Exposed], tuple[object, ...]]:
        return (Exposed, (dict(self), self.mark, self.after, self.changed))


class Late(dict[Group, Row]):
    """Samples that an exporter could show only after a while.

    Attributes:
        delay_ns: how long it waited for others.
    """

    def __init__(self, samples: Samples, delay_ns: int) -> None:
        super().__init__(samples)
        self.delay_ns = delay_ns


def labels(**values: str) -> Labels:
    """Labels by name, sorted; empty ones are none."""
    return tuple(sorted((name, value) for name, value in values.items() if value))


def gauge(name: str, text: str, *series: Labels) -> Metric:
    """A gauge; without `series` it has one, with no labels of its own."""
    return Metric(name, "gauge", text, tuple(("", one) for one in series or ((),)))


def counter(name: str, text: str, *series: Labels) -> Metric:
    """A counter; without `series` it has one, with no labels of its own."""
    return Metric(name, "counter", text, tuple(("", one) for one in series or ((),)))


def histogram(name: str, text: str, bounds: Sequence[str], *series: Labels) -> Metric:
    """A histogram: for each series its buckets (`bounds` and +Inf), then `_sum`, then `_count`."""
    found: list[tuple[str, Labels]] = []
    for own in series or ((),):
        found += [("_bucket", tuple(sorted((*own, ("le", bound))))) for bound in (*bounds, "+Inf")]
        found += [("_sum", own), ("_count", own)]
    return Metric(name, "histogram", text, tuple(found))
