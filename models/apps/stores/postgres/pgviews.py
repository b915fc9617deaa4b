"""PostgreSQL's system views and functions of sessions as tables and values that any statement can be about.

Rows are made anew for each statement from what the server is. Source: PostgreSQL 17, system_views.sql. Left out: views
that nothing here fills, columns that only replication has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from simcluster.models.apps.stores.sql.sqlfunctions import constant, instant
from simcluster.models.apps.stores.sql.tables import Column, Refused, Table

if TYPE_CHECKING:
    from simcluster.models.apps.stores.postgres.postgres import PostgresProgram, Session

Value = Any
_WHOLE = ("pid", "backend_xid", "oid", "numbackends", "datconnlimit", "rolconnlimit", "n_live_tup", "n_dead_tup",
          "seq_scan", "xact_commit", "xact_rollback", "blks_read", "blks_hit", "deadlocks", "reltuples",
          "relpages", "datid", "usesysid", "client_port", "relation_oid", "idx_scan", "database")  # fmt: skip
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
    "pg_settings": "name setting unit category short_desc context vartype source boot_val reset_val pending_restart",
    "pg_class": "oid relname relnamespace relkind relpages reltuples",
    "pg_stat_user_tables": "relid schemaname relname seq_scan idx_scan n_live_tup n_dead_tup last_vacuum last_analyze",
    "pg_stat_database": "datid datname numbackends xact_commit xact_rollback blks_read blks_hit deadlocks",
}


def views_in(text: str) -> list[str]:
    """The views that a statement names."""
    return [name for name in _COLUMNS if re.search(rf"\b{name}\b", text)]


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
        made[name] = table
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
    names = _tables_of(program, database)
    if name == "pg_class":
        return [{"oid": 16_384 + at, "relname": each, "relnamespace": 2200, "relkind": "r"}
                for at, each in enumerate(names)]  # fmt: skip
    fixed = {"schemaname": "public", "tableowner": program.root, "hasindexes": True, "hasrules": False,
             "hastriggers": False, "rowsecurity": False}  # fmt: skip
    return [{**fixed, "tablename": each} for each in names]


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
    for (_, pod, _), count in program.connections.items():
        for at in range(count):
            rows.append({
                "datid": number.get(database), "datname": database, "pid": 100 + len(rows), "usename": program.root,
                "usesysid": 10, "application_name": "", "client_addr": None, "client_hostname": pod,
                "client_port": 40_000 + at, "backend_start": began, "state": "idle", "wait_event_type": "Client",
                "wait_event": "ClientRead", "state_change": began, "query_start": began, "query": "",
                "backend_type": "client backend"})  # fmt: skip
    for session in program.sessions.values():
        rows.append(_session(session, number))
    now = instant(program.container.sim.now)
    rows.append({
        "datid": number.get(database), "datname": database, "pid": program.next_pid + 1, "usename": user,
        "usesysid": 10, "application_name": "psql", "client_port": -1, "backend_start": now, "xact_start": now,
        "query_start": now, "state_change": now, "state": "active", "query": query, "backend_type": "client backend",
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


def _tables_of(program: PostgresProgram, database: str) -> list[str]:
    assert program.contents is not None
    found = program.contents.databases[database]
    return sorted([*(name.rpartition(".")[2] for name in found.described.tables), *found.relations])


def _statistics(program: PostgresProgram, database: str) -> list[dict[str, Value]]:
    assert program.contents is not None
    found = program.contents.databases[database]
    each = found.documents // max(1, len(found.described.tables))
    rows = [(name.rpartition(".")[2], each) for name in found.described.tables]
    rows += [(name, len(table.rows)) for name, table in found.relations.items()]
    return [{"relid": 16_384 + at, "schemaname": "public", "relname": name, "seq_scan": 0, "idx_scan": 0,
             "n_live_tup": count, "n_dead_tup": 0} for at, (name, count) in enumerate(rows)]  # fmt: skip


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
