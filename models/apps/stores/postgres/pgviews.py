"""PostgreSQL's system views and functions of sessions as tables and values that any statement can be about.

Rows are made anew for each statement from what the server is. Source: PostgreSQL 17, system_views.sql. Left out: views
that nothing here fills, columns that only replication has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from simcluster.models.apps.stores.postgres.pgcatalog import (
    SYSTEM,
    Relation,
    definition,
    indexes_of,
    relations_of,
    schemas_of,
    type_of,
)
from simcluster.models.apps.stores.sql.clientports import port_of
from simcluster.models.apps.stores.sql.sqlfunctions import constant, instant
from simcluster.models.apps.stores.sql.tables import Column, Refused, Table

if TYPE_CHECKING:
    from simcluster.models.apps.stores.postgres.postgres import PostgresProgram, Session

Value = Any
_WHOLE = ("pid", "backend_xid", "oid", "numbackends", "datconnlimit", "rolconnlimit", "n_live_tup", "n_dead_tup",
          "seq_scan", "xact_commit", "xact_rollback", "blks_read", "blks_hit", "deadlocks", "reltuples",
          "relpages", "datid", "usesysid", "client_port", "relation_oid", "idx_scan", "database", "nspowner",
          "ordinal_position")  # fmt: skip
#: Name of a view -> its columns.
_COLUMNS = {
    "pg_stat_activity": "datid datname pid leader_pid usesysid usename application_name client_addr client_hostname "
    "client_port backend_start xact_start query_start state_change wait_event_type wait_event state backend_xid "
    "backend_xmin query_id query backend_type",
    "pg_locks": "locktype database relation page tuple virtualxid transactionid classid objid objsubid "
    "virtualtransaction pid mode granted fastpath waitstart",
    "pg_database": "oid datname datdba encoding datistemplate datallowconn datconnlimit",
    "pg_roles": "rolname rolsuper rolinherit rolcreaterole rolcreatedb rolcanlogin rolreplication rolconnlimit oid",
    "pg_user": "usename usesysid usecreatedb usesuper userepl usebypassrls passwd valuntil useconfig",
    "pg_tables": "schemaname tablename tableowner tablespace hasindexes hasrules hastriggers rowsecurity",
    "pg_namespace": "oid nspname nspowner nspacl",
    "pg_indexes": "schemaname tablename indexname tablespace indexdef",
    "information_schema.schemata": "catalog_name schema_name schema_owner",
    "information_schema.tables": "table_catalog table_schema table_name table_type",
    "information_schema.columns": "table_catalog table_schema table_name column_name ordinal_position column_default "
    "is_nullable data_type",
    "pg_settings": "name setting unit category short_desc context vartype source boot_val reset_val pending_restart",
    "pg_class": "oid relname relnamespace relkind relpages reltuples",
    "pg_stat_user_tables": "relid schemaname relname seq_scan idx_scan n_live_tup n_dead_tup last_vacuum last_analyze",
    "pg_stat_database": "datid datname numbackends xact_commit xact_rollback blks_read blks_hit deadlocks",
}


def views_in(text: str) -> list[str]:
    """The views that a statement names."""
    return [name for name in _COLUMNS if re.search(rf"\b{re.escape(name)}\b", text)]


def tables(program: PostgresProgram, database: str, names: Iterable[str], asked: tuple[str, str]) -> dict[str, Table]:
    """The named views with their rows.

    Args:
        asked: who asks, and the statement.
    """
    made = {}
    for name in names:
        table = Table([Column(each, "BIGINT" if each in _WHOLE else "TEXT", required=False, counted=False)
                       for each in _COLUMNS[name].split()], ())  # fmt: skip
        empty = dict.fromkeys(_COLUMNS[name].split())
        table.rows = [{**empty, **row} for row in _rows(name, program, database, asked)]
        schema, _, short = name.rpartition(".")
        table.schema = schema or "pg_catalog"
        made[short] = table
    return made


def _rows(name: str, program: PostgresProgram, database: str, asked: tuple[str, str]) -> list[dict[str, Value]]:
    match name:
        case "pg_stat_activity":
            return _activity(program, database, *asked)
        case "pg_locks":
            return _locks(program)
        case "pg_database":
            return _databases(program)
        case "pg_roles":
            return _roles(program)
        case "pg_user":
            return _users(program)
        case "pg_stat_user_tables":
            return _statistics(program, database)
        case "pg_stat_database":
            return _database_statistics(program)
        case "pg_settings":
            return _settings(program)
        case "pg_class":
            return _classes(program, database)
        case "pg_namespace":
            return _namespaces(program, database)
        case "pg_indexes":
            return [{"schemaname": each.schema, "tablename": each.table, "indexname": each.name,
                     "indexdef": definition(each)}
                    for one in _relations(program, database) for each in indexes_of(one)]  # fmt: skip
        case "pg_tables":
            return [{"schemaname": each.schema, "tablename": each.name, "tableowner": program.root, "hasrules": False,
                     "hasindexes": bool(indexes_of(each)), "hastriggers": bool(each.table.references),
                     "rowsecurity": False} for each in _relations(program, database)]  # fmt: skip
    return _information(name.partition(".")[2], program, database)


def _relations(program: PostgresProgram, database: str) -> list[Relation]:
    assert program.contents is not None
    return relations_of(program.contents.databases[database])


def _namespaces(program: PostgresProgram, database: str) -> list[dict[str, Value]]:
    assert program.contents is not None
    fixed = {"pg_toast": 99, "pg_catalog": 11, "public": 2200, "information_schema": 13_000}
    own = schemas_of(program.contents.databases[database])
    return [{"oid": fixed.get(each, 16_390 + at), "nspname": each, "nspowner": 6171 if each == "public" else 10}
            for at, each in enumerate((*SYSTEM, *own))]  # fmt: skip


def _classes(program: PostgresProgram, database: str) -> list[dict[str, Value]]:
    spaces = {each["nspname"]: each["oid"] for each in _namespaces(program, database)}
    found = []
    for each in _relations(program, database):
        row = {"relnamespace": spaces[each.schema], "relpages": 0, "reltuples": -1}
        found.append({**row, "oid": 16_384 + 10 * each.number, "relname": each.name, "relkind": "r"})
        found += [{**row, "oid": 16_385 + 10 * each.number + at, "relname": index.name, "relkind": "i"}
                  for at, index in enumerate(indexes_of(each))]  # fmt: skip
    return found


def _information(name: str, program: PostgresProgram, database: str) -> list[dict[str, Value]]:
    """Views of information_schema."""
    if name == "schemata":
        return [{"catalog_name": database, "schema_name": each["nspname"],
                 "schema_owner": "pg_database_owner" if each["nspname"] == "public" else program.root}
                for each in _namespaces(program, database)]  # fmt: skip
    tables = [
        {"table_catalog": database, "table_schema": each.schema, "table_name": each.name, "table_type": "BASE TABLE"}
        for each in _relations(program, database)
    ]
    if name == "tables":
        return tables
    return [
        {**row, "column_name": column.name, "ordinal_position": at, "column_default": column.default,
         "is_nullable": "NO" if column.required or column.name in each.table.key else "YES",
         "data_type": type_of(column).partition("(")[0]}
        for row, each in zip(tables, _relations(program, database), strict=True)
        for at, column in enumerate(each.table.columns, 1)
    ]  # fmt: skip


def _settings(program: PostgresProgram) -> list[dict[str, Value]]:
    return [
        {"name": name, "setting": value, "source": "configuration file", "vartype": "string", "boot_val": value,
         "context": "postmaster" if name in program.POSTMASTER else "sighup", "reset_val": value,
         "pending_restart": False}
        for name, value in sorted(program.settings.items())
    ]  # fmt: skip


def _activity(program: PostgresProgram, database: str, user: str, query: str) -> list[dict[str, Value]]:
    rows: list[dict[str, Value]] = []
    began = instant(program.container.started_ns)
    number = _numbers(program)
    roles = {each["rolname"]: each["oid"] for each in _roles(program)}
    now = instant(program.container.sim.now)
    for identity, count in program.connections.items():
        holder = program.holder_of(identity)
        called, base = program.logins.get(identity, ("", ""))
        base, called = base or database, called or program.root
        opened = instant(program.connected_ns(identity))
        for at in range(count):
            rows.append({
                "datid": number.get(base), "datname": base, "pid": 100 + len(rows), "usename": called,
                "usesysid": roles.get(called), "application_name": "",
                "client_addr": None if holder is None else holder.sandbox.address,
                "client_port": port_of("/".join(identity), at), "backend_start": opened, "state": "idle",
                "wait_event_type": "Client", "wait_event": "ClientRead", "state_change": now, "query_start": now,
                "query": "", "backend_type": "client backend"})  # fmt: skip
    for session in program.sessions.values():
        rows.append(_session(session, number))
    rows.append({
        "datid": number.get(database), "datname": database, "pid": program.next_pid + 1, "usename": user,
        "usesysid": roles.get(user), "application_name": "psql", "client_port": -1, "backend_start": now,
        "xact_start": now, "query_start": now, "state_change": now, "state": "active", "query": query,
        "backend_type": "client backend",
    })  # fmt: skip
    kinds = ("checkpointer", "background writer", "walwriter", "autovacuum launcher", "logical replication launcher")
    events = ("CheckpointerMain", "BgwriterMain", "WalWriterMain", "AutovacuumMain", "LogicalLauncherMain")
    for at, (kind, event) in enumerate(zip(kinds, events, strict=True)):
        rows.append({"pid": 27 + at, "backend_start": began, "wait_event_type": "Activity", "wait_event": event,
                     "query": "", "backend_type": kind})  # fmt: skip
    return rows


def _session(session: Session, number: dict[str, int]) -> dict[str, Value]:
    began = instant(session.begun_ns)
    waits = re.search(r"pg_sleep", session.query) is not None
    return {
        "datid": number.get(session.database), "datname": session.database, "pid": session.pid,
        "usename": session.user, "usesysid": 10, "application_name": "psql", "client_port": -1, "backend_start": began,
        "xact_start": began, "query_start": began, "state_change": began, "state": session.state,
        "wait_event_type": "Timeout" if waits else None, "wait_event": "PgSleep" if waits else None,
        "query": session.query, "backend_type": "client backend",
    }  # fmt: skip


def _locks(program: PostgresProgram) -> list[dict[str, Value]]:
    number = _numbers(program)
    return [
        {"locktype": "relation", "database": number.get(session.database), "relation": table, "pid": session.pid,
         "mode": mode.title().replace(" ", "") + "Lock", "granted": True, "fastpath": False,
         "virtualtransaction": f"{session.pid % 100}/2"}
        for session in program.sessions.values() for table, mode in session.locks
    ]  # fmt: skip


def _numbers(program: PostgresProgram) -> dict[str, int]:
    assert program.contents is not None
    return {name: 16_384 + each.number for name, each in program.contents.databases.items()}


def _databases(program: PostgresProgram) -> list[dict[str, Value]]:
    number = {**_numbers(program), "template0": 4, "template1": 1}
    return [{"oid": number[name], "datname": name, "datdba": 10, "encoding": 6, "datconnlimit": -1,
             "datistemplate": name.startswith("template"), "datallowconn": name != "template0"}
            for name in sorted(number)]  # fmt: skip


def _roles(program: PostgresProgram) -> list[dict[str, Value]]:
    assert program.contents is not None
    return [{"rolname": user.name, "rolsuper": user.superuser, "rolinherit": True, "rolcreaterole": user.superuser,
             "rolcreatedb": user.superuser, "rolcanlogin": user.enabled, "rolreplication": user.superuser,
             "rolconnlimit": user.limit, "oid": 10 if at == 0 else 16_400 + at}
            for at, user in enumerate(program.contents.accounts.users.values())]  # fmt: skip


def _users(program: PostgresProgram) -> list[dict[str, Value]]:
    return [{"usename": role["rolname"], "usesysid": role["oid"], "usecreatedb": role["rolcreatedb"],
             "usesuper": role["rolsuper"], "userepl": role["rolreplication"], "usebypassrls": role["rolsuper"],
             "passwd": "********"} for role in _roles(program) if role["rolcanlogin"]]  # fmt: skip


def _statistics(program: PostgresProgram, database: str) -> list[dict[str, Value]]:
    assert program.contents is not None
    found = program.contents.databases[database]
    many = found.documents // max(1, len(found.described.tables))
    return [{"relid": 16_384 + 10 * each.number, "schemaname": each.schema, "relname": each.name, "seq_scan": 0,
             "idx_scan": 0, "n_live_tup": len(each.table.rows) if each.name in found.relations else many,
             "n_dead_tup": 0} for each in relations_of(found)]  # fmt: skip


def _database_statistics(program: PostgresProgram) -> list[dict[str, Value]]:
    assert program.contents is not None
    assert program.storage is not None
    cache, number = program.storage.cache, _numbers(program)
    return [{"datid": number[name], "datname": name, "numbackends": program.open_connections(), "deadlocks": 0,
             "blks_read": int(cache.misses), "blks_hit": int(cache.hits)}
            for name in sorted(program.contents.databases)]  # fmt: skip


def _size_of(sizes: dict[str, int], name: Value) -> int:
    if str(name) not in sizes:
        raise Refused("no database", str(name))
    return sizes[str(name)]


def _setting(settings: dict[str, str], name: Value, *missing: Value) -> str:
    return settings.get(str(name), "")


def functions(program: PostgresProgram, user: str, database: str) -> dict[str, Callable[..., Value]]:
    """Functions about the server and the session."""
    contents, started = program.contents, instant(program.container.started_ns)
    assert contents is not None
    sizes = {name: each.size for name, each in contents.databases.items()}
    tables_size = sizes[database] // max(1, len(contents.databases[database].described.tables))
    version = (
        f"PostgreSQL {program.version} (Debian {program.version}-1.pgdg120+1) on x86_64-pc-linux-gnu, "
        "compiled by gcc (Debian 12.2.0-14) 12.2.0, 64-bit"
    )
    fixed: dict[str, Value] = {
        "currentversion": version, "pg_postmaster_start_time": started, "pg_conf_load_time": started,
        "current_database": database, "currentdatabase": database, "currentuser": user, "sessionuser": user,
        "pg_backend_pid": program.next_pid + 1, "pg_is_in_recovery": False, "current_schema": "public",
        "inet_server_port": int(program.settings.get("port", "5432")), "pg_blocking_pids": "{}",
        "pg_total_relation_size": tables_size, "pg_relation_size": tables_size,
    }  # fmt: skip
    return {
        **{name: partial(constant, value) for name, value in fixed.items()},
        "pg_database_size": partial(_size_of, sizes),
        "current_setting": partial(_setting, program.settings),
    }
