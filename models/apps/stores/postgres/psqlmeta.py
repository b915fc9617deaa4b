r"""psql's own commands: \l, \du, \dn, \dt, \di, \ds, \d NAME, \dx, \db, \df, \dv, \conninfo, \c, \x, \timing and so on.

Source: src/bin/psql/describe.c and command.c of PostgreSQL 17. Left out: editing, \copy, \watch, variables, what there
is none of here beside an empty list (views, functions).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from simcluster.models.apps.stores.contents import Database
from simcluster.models.apps.stores.postgres.pgcatalog import (
    Relation,
    indexes_of,
    qualified,
    quoted,
    relations_of,
    schemas_of,
    sequences_of,
    type_of,
)
from simcluster.models.apps.stores.sql.sqlfunctions import pretty

if TYPE_CHECKING:
    from simcluster.models.apps.stores.postgres.psql import Psql

#: Letters of \d and what they list.
_KINDS = {"t": "table", "i": "index", "s": "sequence", "v": "view", "m": "materialized view", "E": "foreign table"}
_PLAIN = ("integer", "bigint", "smallint", "boolean", "real", "double precision", "uuid", "date", "timestamp", "time")


class MetaError(Exception):
    """What psql says on standard error; `fatal`: whether the command has failed by it."""

    def __init__(self, text: str, *, fatal: bool = True) -> None:
        super().__init__(text)
        self.text, self.fatal = text, fatal


def wanted(pattern: str) -> tuple[str | None, str]:
    """Regular expressions of a pattern for schema and name.

    >>> wanted("Shop.or*"), wanted('"Order"')
    (('shop', 'or.*'), (None, 'Order'))
    """
    parts, inside = [""], False
    for sign in pattern:
        if sign == '"':
            inside = not inside
        elif sign == "." and not inside:
            parts.append("")
        elif inside:
            parts[-1] += re.escape(sign)
        else:
            parts[-1] += {"*": ".*", "?": "."}.get(sign) or re.escape(sign.lower())
    return (parts[-2] if len(parts) > 1 else None), parts[-1]


class Meta:
    """Evaluates commands of psql's own for a session."""

    def __init__(self, shell: Psql) -> None:
        self._shell = shell
        self._program = shell.program
        self._printer = shell.printer

    @property
    def _database(self) -> Database:
        return self._shell.database_now

    def run(self, text: str) -> str:
        """What a command prints. Raises MetaError."""
        name, *words = text.split()
        pattern = words[0] if words else ""
        plus, plain = name.endswith("+"), name.rstrip("+")
        plain = plain.replace("S", "") if plain.startswith("\\d") else plain
        match plain:
            case "\\l" | "\\list":
                return self._databases(pattern)
            case "\\du" | "\\dg":
                return self._roles(pattern)
            case "\\dn":
                return self._schemas(pattern, plus=plus)
            case "\\d" if pattern:
                return self._described(pattern, plus=plus)
            case "\\d":
                return self._relations("tsvmE", "", plus=plus)
            case "\\df" | "\\dx" | "\\db" | "\\dT" | "\\dp" | "\\z":
                return self._others(plain)
        if re.fullmatch(r"\\d[tisvmE]+", plain):
            return self._relations(plain[2:], pattern, plus=plus)
        return self._own(plain, text, words)

    def _own(self, name: str, text: str, words: list[str]) -> str:
        """Commands about the session itself."""
        shell, printer = self._shell, self._printer
        match name:
            case "\\conninfo":
                return f'You are connected to database "{shell.database}" as user "{shell.user}" {shell.where}.\n'
            case "\\c" | "\\connect" if words:
                contents = self._program.contents
                assert contents is not None
                if words[0] not in contents.databases:
                    port = next(iter(self._program._ports))
                    where = f'connection to server on socket "/var/run/postgresql/.s.PGSQL.{port}" failed: FATAL:  '
                    raise MetaError(f'{where}database "{words[0]}" does not exist\nPrevious connection kept')
                shell.database = words[0]
                return f'You are now connected to database "{shell.database}" as user "{shell.user}".\n'
            case "\\x":
                printer.expanded = words == ["on"] or (words != ["off"] and not printer.expanded)
                return f"Expanded display is {'on' if printer.expanded else 'off'}.\n"
            case "\\t":
                printer.bare = words == ["on"] or (words != ["off"] and not printer.bare)
                return f"Tuples only is {'on' if printer.bare else 'off'}.\n"
            case "\\a":
                printer.plain = not printer.plain
                return f"Output format is {'unaligned' if printer.plain else 'aligned'}.\n"
            case "\\timing":
                return f"Timing is {'off' if words == ['off'] else 'on'}.\n"
            case "\\echo" | "\\qecho":
                return text.partition(" ")[2].strip("'") + "\n"
            case "\\q" | "\\pset" | "\\set" | "\\unset" | "\\encoding":
                return ""
        raise MetaError(f"invalid command {name}")

    # --- lists ----------------------------------------------------------------------------

    def _databases(self, pattern: str) -> str:
        contents = self._program.contents
        assert contents is not None
        _, name = wanted(pattern or "*")
        more = ("UTF8", "libc", "en_US.utf8", "en_US.utf8", "", "", "")
        rows = [(each, self._program.root, *more) for each in sorted((*contents.databases, "template0", "template1"))
                if re.fullmatch(name, each)]  # fmt: skip
        heads = ("Name", "Owner", "Encoding", "Locale Provider", "Collate", "Ctype", "Locale", "ICU Rules",
                 "Access privileges")  # fmt: skip
        return self._printer.table(heads, rows, "List of databases")

    def _roles(self, pattern: str) -> str:
        contents = self._program.contents
        assert contents is not None
        _, name = wanted(pattern or "*")
        rows = []
        for user in contents.accounts.users.values():
            marks = ["Superuser, Create role, Create DB, Replication, Bypass RLS"] if user.superuser else []
            marks += [] if user.enabled else ["Cannot login"]
            marks += [f"{user.limit} connections"] if user.limit >= 0 else []
            rows += [(user.name, ", ".join(marks))] if re.fullmatch(name, user.name) else []
        return self._printer.table(("Role name", "Attributes"), rows, "List of roles", "" if rows else None)

    def _schemas(self, pattern: str, *, plus: bool) -> str:
        _, wish = wanted(pattern or "*")
        rows = [(each, "pg_database_owner" if each == "public" else self._program.root)
                for each in schemas_of(self._database) if re.fullmatch(wish, each)]  # fmt: skip
        if plus:
            more = ("pg_database_owner=UC/pg_database_owner", "standard public schema")
            wide = [(*row, *(more if row[0] == "public" else ("", ""))) for row in rows]
            heads = ("Name", "Owner", "Access privileges", "Description")
            return self._printer.table(heads, wide, "List of schemas")
        return self._printer.table(("Name", "Owner"), rows, "List of schemas")

    def _others(self, name: str) -> str:
        match name:
            case "\\dx":
                row = ("plpgsql", "1.0", "pg_catalog", "PL/pgSQL procedural language")
                heads = ("Name", "Version", "Schema", "Description")
                return self._printer.table(heads, [row], "List of installed extensions")
            case "\\db":
                rows = [(each, self._program.root, "") for each in ("pg_default", "pg_global")]
                return self._printer.table(("Name", "Owner", "Location"), rows, "List of tablespaces")
            case "\\df":
                heads2 = ("Schema", "Name", "Result data type", "Argument data types", "Type")
                return self._printer.table(heads2, [], "List of functions")
            case "\\dT":
                return self._printer.table(("Schema", "Name", "Description"), [], "List of data types")
        rows2 = [(each.schema, each.name, "table", "", "", "") for each in relations_of(self._database)
                 if each.schema in self._shell.visible]  # fmt: skip
        heads3 = ("Schema", "Name", "Type", "Access privileges", "Column privileges", "Policies")
        return self._printer.table(heads3, rows2, "Access privileges")

    def _relations(self, kinds: str, pattern: str, *, plus: bool) -> str:
        r"""\dt, \di, \ds and \d: those of the schemas that are searched, or that a pattern names."""
        schema, name = wanted(pattern or "*")
        rows: list[tuple[str, ...]] = []
        for each in relations_of(self._database):
            if not (each.schema in self._shell.visible if schema is None else re.fullmatch(schema, each.schema)):
                continue
            found = [(each.name, "t", "")] if "t" in kinds else []
            found += [(index.name, "i", each.name) for index in indexes_of(each) if "i" in kinds]
            found += [(sequence, "s", "") for sequence in sequences_of(each) if "s" in kinds]
            for called, kind, table in found:
                if re.fullmatch(name, called):
                    row: tuple[str, ...] = (each.schema, called, _KINDS[kind], self._program.root)
                    row += (table,) if "i" in kinds else ()
                    size = pretty(self._size(each)) if kind == "t" else "16 kB" if kind == "i" else "8192 bytes"
                    access = "heap" if kind == "t" else "btree" if kind == "i" else ""
                    rows.append((*row, "permanent", access, size, "") if plus else row)
        if not rows:
            what = f' named "{pattern}"' if pattern else "s"
            raise MetaError(f"Did not find any relation{what}.", fatal=False)
        heads = ["Schema", "Name", "Type", "Owner", *(["Table"] if "i" in kinds else [])]
        heads += ["Persistence", "Access method", "Size", "Description"] if plus else []
        return self._printer.table(heads, sorted(rows), "List of relations")

    def _size(self, relation: Relation) -> int:
        database = self._database
        if relation.name in database.relations:
            return max(1, (len(relation.table.rows) * 64 + 8_191) // 8_192) * 8_192
        return database.size // max(1, len(database.described.tables)) // 8_192 * 8_192

    # --- one table ------------------------------------------------------------------------

    def _described(self, pattern: str, *, plus: bool) -> str:
        r"""\d NAME: each table that the pattern names."""
        schema, name = wanted(pattern)
        found = [
            each for each in relations_of(self._database)
            if re.fullmatch(name, each.name)
            and (each.schema in self._shell.visible if schema is None else re.fullmatch(schema, each.schema))
        ]  # fmt: skip
        if not found:
            return self._indexed(pattern, schema, name)
        return "".join(self._one(each, plus=plus) for each in found)

    def _indexed(self, pattern: str, schema: str | None, name: str) -> str:
        for each in relations_of(self._database):
            for index in indexes_of(each):
                seen = each.schema in self._shell.visible if schema is None else re.fullmatch(schema, each.schema)
                if seen and re.fullmatch(name, index.name):
                    known = {column.name: type_of(column) for column in each.table.columns}
                    rows = [(column, known[column], "yes", column) for column in index.columns]
                    kind = {"p": "primary key, btree", "u": "unique, btree"}.get(index.kind, "btree")
                    footer = f'{kind}, for table "{each.schema}.{each.name}"\n'
                    heads = ("Column", "Type", "Key?", "Definition")
                    return self._printer.table(heads, rows, f'Index "{each.schema}.{index.name}"', footer)
        raise MetaError(f'Did not find any relation named "{pattern}".')

    def _one(self, relation: Relation, *, plus: bool) -> str:
        rows: list[tuple[str, ...]] = []
        schema, name, table, _ = relation
        for column in table.columns:
            kind = type_of(column)
            default = "" if column.default is None else str(column.default)
            if isinstance(column.default, bool):
                default = default.lower()
            elif isinstance(column.default, str):
                default = f"'{column.default}'::{kind.partition('(')[0]}"
            if column.counted:
                sequence = qualified(schema, f"{name}_{column.name}_seq", self._shell.visible)
                default = f"nextval('{sequence}'::regclass)"
            needed = column.required or column.counted or column.name in table.key
            row: tuple[str, ...] = (column.name, kind, "", "not null" if needed else "", default)
            storage = "main" if kind.startswith("numeric") else "plain" if kind.startswith(_PLAIN) else "extended"
            rows.append((*row, storage, "", "", "") if plus else row)
        heads = ["Column", "Type", "Collation", "Nullable", "Default"]
        heads += ["Storage", "Compression", "Stats target", "Description"] if plus else []
        footer = self._promises(relation) + ("Access method: heap\n" if plus else "")
        return self._printer.table(heads, rows, f'Table "{schema}.{name}"', footer)

    def _promises(self, relation: Relation) -> str:
        """Indexes, references to others, references of others."""
        kinds = {"p": " PRIMARY KEY,", "u": " UNIQUE CONSTRAINT,"}
        indexes = [f'    "{each.name}"{kinds.get(each.kind, "")} btree ({", ".join(map(quoted, each.columns))})\n'
                   for each in indexes_of(relation)]  # fmt: skip
        every = relations_of(self._database)
        schemas = {each.name: each.schema for each in every}
        deletes = {"CASCADE": " ON DELETE CASCADE", "SET NULL": " ON DELETE SET NULL"}
        foreign, back = [], []
        for other in every:
            for one in other.table.references:
                target = qualified(schemas.get(one.table, "public"), one.table, self._shell.visible)
                text = (
                    f'CONSTRAINT "{one.name}" FOREIGN KEY ({", ".join(map(quoted, one.columns))}) REFERENCES '
                    f"{target}({', '.join(map(quoted, one.keys))}){deletes.get(one.gone, '')}\n"
                )
                if other.name == relation.name:
                    foreign.append("    " + text.removeprefix("CONSTRAINT "))
                if one.table == relation.name:
                    back.append(f'    TABLE "{qualified(other.schema, other.name, self._shell.visible)}" {text}')
        parts = (("Indexes:", indexes), ("Foreign-key constraints:", foreign), ("Referenced by:", back))
        return "".join(f"{title}\n{''.join(lines)}" for title, lines in parts if lines)
