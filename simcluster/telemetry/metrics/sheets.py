"""What an exporter shows, form by form: one that remembers its groups hands over a sheet of numbers for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import FlatDict
from simcluster.telemetry.metrics.block import Layout, Sheet
from simcluster.telemetry.metrics.columns import Columns, Group, Labels, Row


class Sheets(Mapping[Group, Row]):
    """Samples of a scrape as sheets; group by group for those who ask so.

    Attributes:
        sheets: by form.
    """

    __slots__ = ("sheets",)

    def __init__(self, sheets: Mapping[Columns, Sheet]) -> None:
        self.sheets = sheets

    def __getitem__(self, group: Group) -> Row:
        sheet, width = self.sheets[group.columns], 8 * len(group.columns)
        begin = sheet.layout.places[group.labels] * width
        return sheet.rows[begin : begin + width]

    def __iter__(self) -> Iterator[Group]:
        for form, sheet in self.sheets.items():
            yield from [Group(form, own) for own in sheet.layout.labels]

    def __len__(self) -> int:
        return sum(len(sheet.layout.labels) for sheet in self.sheets.values())  # integers

    @property
    def count(self) -> int:
        """How many samples there are."""
        return sum([len(sheet.rows) for sheet in self.sheets.values()]) >> 3  # integers


class Layouts(FlatDict[Columns, Layout]):
    """Layouts that an exporter had last: while it shows the same groups of a form, its sheets have the same layout."""

    __slots__ = ()

    def copy(self) -> Layouts:
        """Another one with the same content."""
        return Layouts(self)

    def of(self, form: Columns, names: Sequence[Labels]) -> Layout:
        """The layout of groups with these labels."""
        known, wanted = self.get(form), tuple(names)
        if known is None or known.labels != wanted:
            known = self[form] = Layout(wanted)
        return known

    def sheet(self, form: Columns, rows: Mapping[Labels, Row]) -> Sheet:
        """The sheet of groups by their labels."""
        return Sheet(self.of(form, tuple(rows)), b"".join(rows.values()))

    def table(self, form: Columns, names: Sequence[Labels], numbers: NDArray[np.float64]) -> Sheet:
        """The sheet of groups whose numbers are the rows of a table."""
        return Sheet(self.of(form, names), numbers.tobytes())
