"""Tables of a MySQL database as its dictionary knows them: SHOW CREATE TABLE, SHOW COLUMNS, SHOW INDEX, TABLE STATUS.

Source: Reference Manual, "SHOW Statements"; sql_show.cc. Left out: partitions, comments, collations of columns.
"""

from __future__ import annotations

import re

from simcluster.engine import format_rfc3339
from simcluster.models.apps.stores.contents import Contents, Database
from simcluster.models.apps.stores.mysql.mysqlprinting import Value
from simcluster.models.apps.stores.sql.schemas import described_tables
from simcluster.models.apps.stores.sql.tables import Column, Table

#: Since 8.0.19 whole numbers have no width for their display.
_WIDTHS = {"tinyint": 4, "smallint": 6, "mediumint": 9, "int": 11, "bigint": 20}
_PAGE = 16 << 10


def tables_of(database: Database) -> dict[str, Table]:
    """All tables of a database by name: the application's, and those that people have made."""
    return dict(sorted({**described_tables(database.described, "mysql"), **database.relations}.items()))


def type_of(column: Column, *, old: bool) -> str:
    """A column's type as the dictionary writes it."""
    kind = column.kind.lower().replace("serial", "bigint unsigned").replace("integer", "int")
    kind = {"bool": "tinyint(1)", "boolean": "tinyint(1)", "varchar": "varchar(255)"}.get(kind, kind)
    return f"{kind}({_WIDTHS[kind]})" if old and kind in _WIDTHS else kind


def key_of(table: Table, name: str) -> str:
    """PRI, UNI, MUL or nothing."""
    if name in table.key:
        return "PRI"
    if (name,) in [each.columns for each in table.uniques]:
        return "UNI"
    firsts = [columns[0] for _, columns, _ in indexes_of(table)]
    return "MUL" if name in firsts else ""


def indexes_of(table: Table) -> list[tuple[str, tuple[str, ...], bool]]:
    """Indexes as (name, columns, unique); a reference has one too."""
    found = [("PRIMARY", table.key, True)] if table.key else []
    found += [(each.name, each.columns, True) for each in table.uniques]
    found += [(name, columns, False) for name, columns in table.indexes.items()]
    known = [columns for _, columns, _ in found]
    named = re.compile(r".*_ibfk_\d+")
    for each in table.references:
        if not any(columns[: len(each.columns)] == each.columns for columns in known):
            found.append((each.columns[0] if named.fullmatch(each.name) else each.name, each.columns, False))
    return found


def created(name: str, table: Table, charset: str, collation: str, *, old: bool) -> str:
    """The statement that would make the table."""
    lines = []
    for column in table.columns:
        kind = type_of(column, old=old)
        blob = "text" in kind or "blob" in kind or kind == "json"
        required = column.required or column.name in table.key
        text = f"`{column.name}` {kind}" + (" NOT NULL" if required else " NULL" if kind == "timestamp" else "")
        if column.counted:
            text += " AUTO_INCREMENT"
        elif column.default is not None:
            text += f" DEFAULT '{_plain(column.default)}'"
        elif not required and not blob:
            text += " DEFAULT NULL"
        lines.append(text)
    for index, columns, unique in indexes_of(table):
        parts = ",".join(f"`{each}`" for each in columns)
        kind = "PRIMARY KEY" if index == "PRIMARY" else f"{'UNIQUE ' if unique else ''}KEY `{index}`"
        lines.append(f"{kind} ({parts})")
    for each in table.references:
        own, keys = (", ".join(f"`{one}`" for one in names) for names in (each.columns, each.keys))
        gone = f" ON DELETE {each.gone}" if each.gone else ""
        lines.append(f"CONSTRAINT `{each.name}` FOREIGN KEY ({own}) REFERENCES `{each.table}` ({keys}){gone}")
    counted = f" AUTO_INCREMENT={table.counted + 1}" if table.counted else ""
    collate = "" if old else f" COLLATE={collation}"
    body = ",\n  ".join(lines)
    return f"CREATE TABLE `{name}` (\n  {body}\n) ENGINE=InnoDB{counted} DEFAULT CHARSET={charset}{collate}"


def _plain(value: Value) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def count_of(database: Database, name: str) -> int:
    """Rows of a table."""
    if name in database.relations:
        return len(database.relations[name].rows)
    return database.documents // max(1, len(database.described.tables))


def facts(contents: Contents, space: str, name: str, collation: str) -> dict[str, Value]:
    """What TABLE STATUS and information_schema.TABLES tell of a table, by the columns of the latter."""
    database = contents.databases[space]
    own = name in database.relations
    count = count_of(database, name)
    share = database.size // max(1, len(database.described.tables))
    size = max(_PAGE, (count * 64 if own else share) // _PAGE * _PAGE)
    table = tables_of(database)[name]
    counted = table.counted + 1 if any(each.counted for each in table.columns) else None
    return {
        "TABLE_CATALOG": "def", "TABLE_SCHEMA": space, "TABLE_NAME": name, "TABLE_TYPE": "BASE TABLE",
        "ENGINE": "InnoDB", "VERSION": 10, "ROW_FORMAT": "Dynamic", "TABLE_ROWS": count,
        "AVG_ROW_LENGTH": size // count if count else 0, "DATA_LENGTH": size, "MAX_DATA_LENGTH": 0,
        "INDEX_LENGTH": _PAGE * max(0, len(indexes_of(table)) - 1), "DATA_FREE": 0, "AUTO_INCREMENT": counted,
        "CREATE_TIME": None, "UPDATE_TIME": None, "CHECK_TIME": None, "TABLE_COLLATION": collation, "CHECKSUM": None,
        "CREATE_OPTIONS": "", "TABLE_COMMENT": "",
    }  # fmt: skip


def stamp(now_ns: int) -> str:
    """An instant as MySQL prints it."""
    return format_rfc3339(now_ns).replace("T", " ")[:-1]
