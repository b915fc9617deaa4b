"""The tables of a data set as their application made them: columns, keys, references.

An application's file gives the columns of its tables as SQL does (`DataSet.columns`); of a table that it gives none of
only the key is known. Rows of these tables are bytes, not values.
"""

from __future__ import annotations

from functools import cache

from simcluster.models.apps.stores.demand import DataSet
from simcluster.models.apps.stores.sql.relations import Relations
from simcluster.models.apps.stores.sql.tables import Column, Table


def described_tables(data: DataSet, dialect: str) -> dict[str, Table]:
    """The tables of a data set by their names without the schema, to be looked at only.

    >>> given = DataSet(tables=("a.item", "tag"), key="id", columns={"a.item": "n int primary key, x text"})
    >>> made = described_tables(given, "postgres")
    >>> [(name, each.schema, [c.name for c in each.columns]) for name, each in made.items()]
    [('item', 'a', ['n', 'x']), ('tag', 'public', ['id'])]
    """
    return _made(data.tables, tuple(data.columns.items()), data.key, dialect)


@cache
def _made(names: tuple[str, ...], columns: tuple[tuple[str, str], ...], key: str, dialect: str) -> dict[str, Table]:
    tables: dict[str, Table] = {}
    mark, given = "`" if dialect == "mysql" else '"', dict(columns)
    made = Relations(tables, dialect, "")
    for name in sorted(names, key=list(given).index) if set(names) <= set(given) else names:
        schema, _, short = name.rpartition(".")
        if name in given:
            made.execute(f"create table {mark}{short}{mark} ({given[name]})")
        else:
            kind = "VARCHAR(255)" if dialect == "mysql" else "TEXT"
            tables[short] = Table([Column(key, kind, required=True, counted=False)], (key,))
        tables[short].schema = schema or "public"
    return tables
