"""The catalog of a PostgreSQL database: its schemas, tables, indexes and sequences, whoever has made them.

Source: PostgreSQL 17, System Catalogs. Left out: views, functions, privileges, tablespaces of one's own.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from simcluster.models.apps.stores.contents import Database
from simcluster.models.apps.stores.sql.schemas import described_tables
from simcluster.models.apps.stores.sql.tables import Column, Table

#: Schemas that every database has beside `public`.
SYSTEM = ("information_schema", "pg_catalog", "pg_toast")
_TYPES = {
    "INT": "integer", "SERIAL": "integer", "BIGSERIAL": "bigint", "SMALLSERIAL": "smallint", "DECIMAL": "numeric",
    "TIMESTAMPTZ": "timestamp with time zone", "TIMESTAMP": "timestamp without time zone", "CHAR": "character",
    "VARCHAR": "character varying", "FLOAT": "double precision", "BOOL": "boolean", "TIME": "time without time zone",
}  # fmt: skip
_RESERVED = ("all", "and", "as", "check", "column", "default", "desc", "end", "from", "group", "in", "limit", "not",
             "offset", "on", "or", "order", "select", "table", "to", "union", "user", "using", "when",
             "where")  # fmt: skip


class Relation(NamedTuple):
    """A table with its place; `number` is what its oid follows from."""

    schema: str
    name: str
    table: Table
    number: int


class Index(NamedTuple):
    """An index: of a primary key, of columns that are unique, or plain (`kind` `p`, `u`, `i`)."""

    schema: str
    name: str
    table: str
    columns: tuple[str, ...]
    kind: str


def schemas_of(database: Database) -> list[str]:
    """The schemas of people and applications."""
    named = [name.rpartition(".")[0] for name in database.described.tables]
    return sorted({"public", *(each for each in named if each), *database.schemas})


def relations_of(database: Database) -> list[Relation]:
    """All tables, by schema and name."""
    every = {**described_tables(database.described, "postgres"), **database.relations}
    found = [Relation(table.schema, name, table, number) for number, (name, table) in enumerate(every.items())]
    return sorted(found, key=_place)


def _place(relation: Relation) -> tuple[str, str]:
    return relation.schema, relation.name


def indexes_of(relation: Relation) -> list[Index]:
    """Indexes of a table, the primary key's first."""
    schema, name, table, _ = relation
    found = [Index(schema, f"{name}_pkey", name, table.key, "p")] if table.key else []
    found += [Index(schema, each.name, name, each.columns, "u") for each in table.uniques]
    return found + [Index(schema, index, name, columns, "i") for index, columns in table.indexes.items()]


def sequences_of(relation: Relation) -> list[str]:
    """Names of the sequences of columns that count up."""
    return [f"{relation.name}_{each.name}_seq" for each in relation.table.columns if each.counted]


def type_of(column: Column) -> str:
    """A column's type as the catalog spells it.

    >>> type_of(Column("a", "VARCHAR(8)", required=False, counted=False))
    'character varying(8)'
    """
    name, mark, size = column.kind.upper().partition("(")
    return _TYPES.get(name.strip(), name.strip().lower()) + (mark + size.replace(" ", ""))


def quoted(name: str) -> str:
    """An identifier, in quotes where SQL needs them.

    >>> quoted("order"), quoted("orders")
    ('"order"', 'orders')
    """
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) and name not in _RESERVED else f'"{name}"'


def qualified(schema: str, name: str, visible: tuple[str, ...]) -> str:
    """A name as expressions show it: with its schema where that is not searched."""
    return quoted(name) if schema in visible else f"{quoted(schema)}.{quoted(name)}"


def definition(index: Index) -> str:
    """`pg_get_indexdef`."""
    unique = "" if index.kind == "i" else "UNIQUE "
    where = f"{quoted(index.schema)}.{quoted(index.table)}"
    columns = ", ".join(quoted(each) for each in index.columns)
    return f"CREATE {unique}INDEX {quoted(index.name)} ON {where} USING btree ({columns})"
