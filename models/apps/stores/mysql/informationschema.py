"""Tables of `information_schema`, `performance_schema` and `mysql` that any SELECT can be about.

Rows are made anew for each statement from what the server is. Source: Reference Manual, "INFORMATION_SCHEMA Tables".
Left out: what nothing here fills, columns of privileges beside those of `mysql.user` that people look at.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from simcluster.models.apps.stores.mysql.mysqlsessions import Thread
from simcluster.models.apps.stores.mysql.mysqltables import facts, indexes_of, key_of, tables_of, type_of
from simcluster.models.apps.stores.mysql.mysqlvariables import release, status, variables
from simcluster.models.apps.stores.sql.tables import Column, Row, Table

if TYPE_CHECKING:
    from simcluster.models.apps.stores.mysql.mysqlserver import MysqlServer

SYSTEM = ("information_schema", "mysql", "performance_schema", "sys")
_VALUES = "VARIABLE_NAME VARIABLE_VALUE"
#: Columns by name of the table with its schema.
_COLUMNS = {
    "information_schema.schemata": "CATALOG_NAME SCHEMA_NAME DEFAULT_CHARACTER_SET_NAME DEFAULT_COLLATION_NAME "
    "SQL_PATH",
    "information_schema.tables": "TABLE_CATALOG TABLE_SCHEMA TABLE_NAME TABLE_TYPE ENGINE VERSION ROW_FORMAT "
    "TABLE_ROWS AVG_ROW_LENGTH DATA_LENGTH MAX_DATA_LENGTH INDEX_LENGTH DATA_FREE AUTO_INCREMENT CREATE_TIME "
    "UPDATE_TIME CHECK_TIME TABLE_COLLATION CHECKSUM CREATE_OPTIONS TABLE_COMMENT",
    "information_schema.columns": "TABLE_CATALOG TABLE_SCHEMA TABLE_NAME COLUMN_NAME ORDINAL_POSITION COLUMN_DEFAULT "
    "IS_NULLABLE DATA_TYPE COLUMN_TYPE COLUMN_KEY EXTRA",
    "information_schema.statistics": "TABLE_CATALOG TABLE_SCHEMA TABLE_NAME NON_UNIQUE INDEX_SCHEMA INDEX_NAME "
    "SEQ_IN_INDEX COLUMN_NAME INDEX_TYPE",
    "information_schema.processlist": "ID USER HOST DB COMMAND TIME STATE INFO",
    "information_schema.innodb_trx": "trx_id trx_state trx_started trx_requested_lock_id trx_wait_started trx_weight "
    "trx_mysql_thread_id trx_query",
    "information_schema.engines": "ENGINE SUPPORT COMMENT TRANSACTIONS XA SAVEPOINTS",
    "performance_schema.processlist": "ID USER HOST DB COMMAND TIME STATE INFO",
    "performance_schema.data_locks": "ENGINE ENGINE_LOCK_ID ENGINE_TRANSACTION_ID THREAD_ID OBJECT_SCHEMA OBJECT_NAME "
    "INDEX_NAME LOCK_TYPE LOCK_MODE LOCK_STATUS LOCK_DATA",
    "performance_schema.data_lock_waits": "ENGINE REQUESTING_ENGINE_LOCK_ID BLOCKING_ENGINE_LOCK_ID",
    "performance_schema.replication_group_members": "CHANNEL_NAME MEMBER_ID MEMBER_HOST MEMBER_PORT MEMBER_STATE "
    "MEMBER_ROLE MEMBER_VERSION",
    **{f"performance_schema.{scope}_{what}": _VALUES for scope in ("global", "session")
       for what in ("variables", "status")},
    "mysql.user": "Host User Super_priv plugin authentication_string account_locked password_expired",
    "mysql.db": "Host Db User Select_priv Insert_priv Update_priv Delete_priv",
}  # fmt: skip
ENGINES = (
    ("InnoDB", "DEFAULT", "Supports transactions, row-level locking, and foreign keys", "YES", "YES", "YES"),
    ("MRG_MYISAM", "YES", "Collection of identical MyISAM tables", "NO", "NO", "NO"),
    ("MEMORY", "YES", "Hash based, stored in memory, useful for temporary tables", "NO", "NO", "NO"),
    ("BLACKHOLE", "YES", "/dev/null storage engine (anything you write to it disappears)", "NO", "NO", "NO"),
    ("MyISAM", "YES", "MyISAM storage engine", "NO", "NO", "NO"),
    ("CSV", "YES", "CSV storage engine", "NO", "NO", "NO"),
    ("ARCHIVE", "YES", "Archive storage engine", "NO", "NO", "NO"),
    ("PERFORMANCE_SCHEMA", "YES", "Performance Schema", "NO", "NO", "NO"),
    ("FEDERATED", "NO", "Federated MySQL storage engine", None, None, None),
)
_WHOLE = (
    "VERSION", "TABLE_ROWS", "AVG_ROW_LENGTH", "DATA_LENGTH", "MAX_DATA_LENGTH", "INDEX_LENGTH", "DATA_FREE", "ID",
    "AUTO_INCREMENT", "ORDINAL_POSITION", "NON_UNIQUE", "SEQ_IN_INDEX", "TIME", "MEMBER_PORT",
)  # fmt: skip


def schemas(program: MysqlServer, user: str) -> list[str]:
    """The databases that a user sees."""
    assert program.contents is not None
    account = program.contents.accounts.find(user)
    own = program.contents.databases
    more = SYSTEM if account is not None and account.superuser else ("information_schema", "performance_schema")
    given = account is not None and (account.superuser or account.settings.get("grants", "all") == "all")
    return sorted([*(own if given else ()), *more])


def tables(program: MysqlServer, user: str, text: str, space: str, threads: list[Thread]) -> dict[str, Table]:
    """The system tables that a statement names, by the name it gives them; `space`: the database it is in."""
    made: dict[str, Table] = {}
    found = re.findall(r"`?(\w+)`?\.`?(\w+)`?", text)
    found += [(space, name) for name in re.findall(r"(?:from|join)\s+`?(\w+)`?", text, re.IGNORECASE)]
    for schema, name in found:
        full = f"{schema}.{name}".lower()
        if full not in _COLUMNS or (schema.lower() == "mysql" and "." in name):
            continue
        heads = _COLUMNS[full].split()
        table = Table([Column(each, "BIGINT" if each in _WHOLE else "TEXT", required=False, counted=False)
                       for each in heads], ())  # fmt: skip
        empty = dict.fromkeys(heads)
        table.rows = [{**empty, **row} for row in _rows(full, program, user, threads)]
        made[name] = table
    return made


def _rows(full: str, program: MysqlServer, user: str, threads: list[Thread]) -> list[Row]:
    schema, _, name = full.partition(".")
    if schema == "mysql":
        return _accounts(program) if name == "user" else []
    match name:
        case "schemata":
            known = variables(program)
            return [{"CATALOG_NAME": "def", "SCHEMA_NAME": each, "DEFAULT_COLLATION_NAME": known["collation_server"],
                     "DEFAULT_CHARACTER_SET_NAME": known["character_set_server"]}
                    for each in schemas(program, user)]  # fmt: skip
        case "tables" | "columns" | "statistics":
            return [row for space, table in _named(program, user) for row in _of_table(name, program, space, table)]
        case "processlist":
            return [
                {"ID": each.number, "USER": each.user, "HOST": each.host, "DB": each.database,
                 "COMMAND": each.command, "TIME": each.seconds, "STATE": each.state, "INFO": each.info}
                for each in threads
            ]  # fmt: skip
        case "engines":
            return [dict(zip(_COLUMNS[full].split(), each, strict=True)) for each in ENGINES]
        case "global_variables" | "session_variables":
            return [
                {"VARIABLE_NAME": key, "VARIABLE_VALUE": value} for key, value in sorted(variables(program).items())
            ]
        case "global_status" | "session_status":
            return [{"VARIABLE_NAME": key, "VARIABLE_VALUE": value} for key, value in sorted(status(program).items())]
    return []


def _named(program: MysqlServer, user: str) -> list[tuple[str, str]]:
    assert program.contents is not None
    return [
        (space, name) for space in schemas(program, user) if space in program.contents.databases
        for name in tables_of(program.contents.databases[space])
    ]  # fmt: skip


def _of_table(name: str, program: MysqlServer, space: str, table: str) -> list[Row]:
    assert program.contents is not None
    found, old = tables_of(program.contents.databases[space])[table], release(program) < (8, 0)
    place = {"TABLE_CATALOG": "def", "TABLE_SCHEMA": space, "TABLE_NAME": table}
    if name == "tables":
        return [facts(program.contents, space, table, variables(program)["collation_server"])]
    if name == "statistics":
        return [
            {**place, "NON_UNIQUE": int(not unique), "INDEX_SCHEMA": space, "INDEX_NAME": index, "SEQ_IN_INDEX": at,
             "COLUMN_NAME": column, "INDEX_TYPE": "BTREE"}
            for index, columns, unique in indexes_of(found) for at, column in enumerate(columns, 1)
        ]  # fmt: skip
    return [
        {**place, "COLUMN_NAME": each.name, "ORDINAL_POSITION": at, "COLUMN_DEFAULT": each.default,
         "IS_NULLABLE": "NO" if each.required or each.name in found.key else "YES",
         "DATA_TYPE": type_of(each, old=old).partition("(")[0], "COLUMN_TYPE": type_of(each, old=old),
         "COLUMN_KEY": key_of(found, each.name), "EXTRA": "auto_increment" if each.counted else ""}
        for at, each in enumerate(found.columns, 1)
    ]  # fmt: skip


def _accounts(program: MysqlServer) -> list[Row]:
    assert program.contents is not None
    plugin = "caching_sha2_password" if release(program) >= (8, 0) else "mysql_native_password"
    return [
        {"Host": "%", "User": each.name, "Super_priv": "Y" if each.superuser else "N", "plugin": plugin,
         "authentication_string": "", "account_locked": "N" if each.enabled else "Y", "password_expired": "N"}
        for each in program.contents.accounts.users.values()
    ]  # fmt: skip
