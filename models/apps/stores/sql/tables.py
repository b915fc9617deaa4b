"""Tables that people make by hand: columns, rows, and what is promised of them: keys, unique columns, rows elsewhere.

A value NULL breaks no promise but NOT NULL. Left out: checks, deferred constraints, what ON UPDATE says.
Source: PostgreSQL and MySQL manuals, "Constraints" and "FOREIGN KEY Constraints"; names as their servers give them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from simcluster.models.apps.stores.sql.sqloperators import text_of

Value = Any  # None, bool, int, float or str
Row = dict[str, Value]


class Refused(Exception):
    """The server refuses a statement: a reason such as `no table`, and its values.

    Attributes:
        at: where in the statement, counted from 0, -1 if that is not known; clause: in which part of it.
    """

    def __init__(self, why: str, *values: str, at: int = -1, clause: str = "field list") -> None:
        super().__init__(why)
        self.why = why
        self.values = values
        self.at = at
        self.clause = clause


class Unsupported(Exception):
    """The statement is right, but not evaluated here; the message names what."""


class Column:
    """A column: its type as written, whether it may be NULL, its default, whether it counts up by itself."""

    def __init__(self, name: str, kind: str, *, required: bool, counted: bool, default: Value = None) -> None:
        self.name, self.kind, self.required, self.counted, self.default = name, kind, required, counted, default


class Unique(NamedTuple):
    """Columns whose values together no two rows share, and what that is called."""

    name: str
    columns: tuple[str, ...]


class Reference(NamedTuple):
    """Columns whose values are those of `keys` of a row of another table; `gone`: what ON DELETE says, or nothing."""

    name: str
    columns: tuple[str, ...]
    table: str
    keys: tuple[str, ...]
    gone: str = ""


class Table:
    """Columns and rows.

    Attributes:
        schema: in which a PostgreSQL table lies.
    """

    schema = "public"

    def __init__(self, columns: list[Column], key: tuple[str, ...]) -> None:
        self.columns = columns
        self.key = key
        self.rows: list[Row] = []
        self.indexes: dict[str, tuple[str, ...]] = {}
        self.uniques: list[Unique] = []
        self.references: list[Reference] = []
        self.counted = 0

    def column(self, name: str) -> Column | None:
        """The column of a name."""
        return next((each for each in self.columns if each.name == name), None)

    def known(self, columns: Iterable[str]) -> None:
        """There must be these columns. Raises Refused."""
        missing = next((name for name in columns if self.column(name) is None), None)
        if missing is not None:
            raise Refused("no column", missing)


def snapshot(tables: dict[str, Table]) -> dict[str, Table]:
    """A copy to come back to."""
    return copy.deepcopy(tables)


def name_of(tables: dict[str, Table], table: Table) -> str:
    """What a table is called."""
    return next(name for name, each in tables.items() if each is table)


def vet_row(tables: dict[str, Table], table: Table, row: Row, others: Sequence[Row], key_name: str) -> None:
    """A new or changed row must keep what is promised beside the others.

    Args:
        key_name: what the primary key is called.

    Raises:
        Refused: duplicate (name, columns, values), or orphan (table, name, columns, values, other table, its keys).
    """
    promised = [Unique(key_name, table.key)] if table.key else []
    for each in (*promised, *table.uniques):
        values = [row[name] for name in each.columns]
        if None not in values and any(_values(other, each.columns) == values for other in others):
            raise Refused("duplicate", each.name, ", ".join(each.columns), _shown(values), name_of(tables, table))
    for ref in table.references:
        values = _values(row, ref.columns)
        there = [*tables[ref.table].rows, *([row] if tables[ref.table] is table else [])]
        if None not in values and not any(_values(other, ref.keys) == values for other in there):
            own = name_of(tables, table)
            raise Refused(
                "orphan", own, ref.name, ", ".join(ref.columns), _shown(values), ref.table, ", ".join(ref.keys)
            )


def take_away(tables: dict[str, Table], name: str, gone: Sequence[Row]) -> None:
    """Rows of a table have been taken out of it: what refers to them goes with them, forgets them, or keeps them.

    Raises:
        Refused: needed (table, constraint, whose it is, keys, values, its columns).
    """
    lost = [(name, gone)]
    while lost:
        name, gone = lost.pop()
        for child, table in tables.items():
            for ref in (one for one in table.references if one.table == name):
                kept, hit = _parted(table.rows, ref, gone)
                if hit and ref.gone == "CASCADE":
                    table.rows = kept
                    lost.append((child, hit))
                elif hit and ref.gone == "SET NULL":
                    for row in hit:
                        row.update(dict.fromkeys(ref.columns))
                elif hit:
                    values = _shown(_values(hit[0], ref.columns))
                    raise Refused("needed", name, ref.name, child, ", ".join(ref.keys), values, ", ".join(ref.columns))


def _parted(rows: Sequence[Row], ref: Reference, gone: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Rows that refer to none of those that are gone, and those that do."""
    keys = [_values(row, ref.keys) for row in gone]
    kept, hit = list[Row](), list[Row]()
    for row in rows:
        own = _values(row, ref.columns)
        (hit if None not in own and own in keys else kept).append(row)
    return kept, hit


def vet_moved(tables: dict[str, Table], name: str, before: Row, after: Row) -> None:
    """A row of a table is changed: nothing may refer to values that it no longer has. Raises Refused."""
    for child, table in tables.items():
        for ref in (one for one in table.references if one.table == name):
            values = _values(before, ref.keys)
            if values != _values(after, ref.keys) and any(_values(row, ref.columns) == values for row in table.rows):
                own = ", ".join(ref.columns)
                raise Refused("needed", name, ref.name, child, ", ".join(ref.keys), _shown(values), own)


def vet_reference(tables: dict[str, Table], table: Table, own: str, ref: Reference) -> None:
    """A reference must lead to columns that tell rows apart. Raises Refused."""
    table.known(ref.columns)
    other = table if ref.table == own else tables.get(ref.table)
    if other is None:
        raise Refused("no table to refer to", ref.table)
    other.known(ref.keys)
    if ref.keys != other.key and ref.keys not in [each.columns for each in other.uniques]:
        raise Refused("no key to refer to", ref.table, ref.name)


def referring(tables: dict[str, Table], name: str) -> tuple[str, str] | None:
    """Another table that refers to one, and by which constraint."""
    return next(((own, ref.name) for own, table in tables.items() for ref in table.references
                 if ref.table == name and own != name), None)  # fmt: skip


def _values(row: Row, columns: Sequence[str]) -> list[Value]:
    return [row[name] for name in columns]


def _shown(values: Sequence[Value]) -> str:
    return ", ".join(text_of(value) for value in values)
