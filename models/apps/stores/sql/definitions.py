"""CREATE TABLE as sqlglot reads it: which columns are unique, and which refer to other tables."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from simcluster.models.apps.stores.sql.tables import Column, Reference, Row, Table, Unique, Unsupported, Value

_ACTIONS = {"CASCADE": "CASCADE", "SET NULL": "SET NULL", "RESTRICT": "", "NO ACTION": ""}


@cache
def sqlglot() -> Any:
    """Read when the first statement comes: it takes longer than all the rest."""
    return importlib.import_module("sqlglot")


class Promises:
    """Reads constraints of a table that is being made.

    Args:
        name: of the table; dialect: `postgres` or `mysql`.
    """

    def __init__(self, name: str, dialect: str, tables: dict[str, Table]) -> None:
        self._name, self._dialect, self._tables = name, dialect, tables
        self.key: list[str] = []
        self.uniques: list[Unique] = []
        self.references: list[Reference] = []

    def of_column(self, column: str, kind: Any) -> bool:
        """Take a constraint over that stands behind a column; whether it is one of these."""
        exp = sqlglot().exp
        if isinstance(kind, exp.PrimaryKeyColumnConstraint):
            self.key.append(column)
        elif isinstance(kind, exp.UniqueColumnConstraint):
            self._unique("", (column,))
        elif isinstance(kind, exp.Reference):
            if self._dialect != "mysql":  # which reads it there and forgets it
                self._reference("", (column,), kind)
        else:
            return False
        return True

    def of_table(self, node: Any, name: str = "") -> None:
        """Take a constraint over that stands by itself. Raises Unsupported."""
        exp = sqlglot().exp
        if isinstance(node, exp.Constraint):
            for each in node.expressions:
                self.of_table(each, node.name)
        elif isinstance(node, exp.PrimaryKey):
            self.key += [part.name for part in node.expressions]
        elif isinstance(node, exp.UniqueColumnConstraint) and isinstance(node.this, exp.Schema):
            own = node.this.this.name if node.this.this is not None else ""
            self._unique(name or own, tuple(part.name for part in node.this.expressions))
        elif isinstance(node, exp.ForeignKey):
            self._reference(name, tuple(part.name for part in node.expressions), node.args["reference"])
        else:
            raise Unsupported(node.key.removesuffix("columnconstraint").upper())

    def _unique(self, name: str, columns: tuple[str, ...]) -> None:
        usual = columns[0] if self._dialect == "mysql" else f"{self._name}_{'_'.join(columns)}_key"
        self.uniques.append(Unique(name or usual, columns))

    def _reference(self, name: str, columns: tuple[str, ...], node: Any) -> None:
        exp, target = sqlglot().exp, node.this
        named = isinstance(target, exp.Schema)
        table = (target.this if named else target).name
        keys = tuple(part.name for part in target.expressions) if named else ()
        if not keys and table in self._tables:
            keys = self._tables[table].key
        usual = f"{self._name}_{'_'.join(columns)}_fkey"
        if self._dialect == "mysql":
            usual = f"{self._name}_ibfk_{len(self.references) + 1}"
        gone = ""
        for option in node.args.get("options") or ():
            words = str(option).upper()
            if words.startswith("ON DELETE "):
                said = words.removeprefix("ON DELETE ").strip()
                if said not in _ACTIONS:
                    raise Unsupported(words)
                gone = _ACTIONS[said]
        self.references.append(Reference(name or usual, columns, table, keys or self._own_key(table), gone))

    def _own_key(self, table: str) -> tuple[str, ...]:
        """What is referred to where no columns are named and the table is the one that is being made."""
        return tuple(self.key) if table == self._name else ()


def passing(names: list[str], rows: list[list[Value]]) -> Table:
    """What a WITH clause names, as a table of its own."""
    made = Table([Column(name, "TEXT", required=False, counted=False) for name in names], ())
    made.rows = [_row(names, values) for values in rows]
    return made


def _row(names: list[str], values: list[Value]) -> Row:
    return dict(zip(names, values, strict=False))
