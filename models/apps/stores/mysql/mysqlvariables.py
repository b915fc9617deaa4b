"""System variables and status variables of a MySQL server, worked out from what the server is.

Defaults are those of MySQL 8.0 with what 5.7 and 8.4 have otherwise. Source: Reference Manual, "Server System
Variables", "Server Status Variables". Left out: variables of plugins, of replication and of the performance schema.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.models.apps.stores.settings import is_on, size_of

if TYPE_CHECKING:
    from simcluster.models.apps.stores.mysql.mysqlserver import MysqlServer

#: Those a session may have a value of its own of.
_SESSION = {
    "autocommit": "ON", "big_tables": "OFF", "character_set_client": "utf8mb4", "character_set_connection": "utf8mb4",
    "character_set_database": "utf8mb4", "character_set_results": "utf8mb4", "character_set_server": "utf8mb4",
    "collation_connection": "utf8mb4_0900_ai_ci", "collation_database": "utf8mb4_0900_ai_ci",
    "collation_server": "utf8mb4_0900_ai_ci", "default_storage_engine": "InnoDB", "foreign_key_checks": "ON",
    "group_concat_max_len": "1024", "innodb_lock_wait_timeout": "50", "interactive_timeout": "28800",
    "join_buffer_size": "262144", "lock_wait_timeout": "31536000", "long_query_time": "10.000000",
    "max_allowed_packet": "67108864", "max_execution_time": "0", "max_heap_table_size": "16777216",
    "net_read_timeout": "30", "net_write_timeout": "60", "read_buffer_size": "131072", "sort_buffer_size": "262144",
    "sql_log_bin": "ON", "sql_safe_updates": "OFF", "time_zone": "SYSTEM", "tmp_table_size": "16777216",
    "sql_mode": "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,"
    "NO_ENGINE_SUBSTITUTION", "transaction_isolation": "REPEATABLE-READ", "transaction_read_only": "OFF",
    "unique_checks": "ON", "wait_timeout": "28800",
}  # fmt: skip
#: Those of the server alone that SET GLOBAL may change.
_GLOBAL = {
    "back_log": "151", "binlog_expire_logs_seconds": "2592000", "connect_timeout": "10", "event_scheduler": "ON",
    "general_log": "OFF", "innodb_buffer_pool_size": "134217728", "innodb_deadlock_detect": "ON",
    "innodb_flush_log_at_trx_commit": "1", "innodb_io_capacity": "200", "innodb_io_capacity_max": "2000",
    "innodb_max_dirty_pages_pct": "90.000000", "innodb_redo_log_capacity": "104857600",
    "innodb_thread_concurrency": "0", "log_error_verbosity": "2", "log_output": "FILE", "max_binlog_size": "1073741824",
    "max_connect_errors": "100", "max_connections": "151", "max_user_connections": "0", "offline_mode": "OFF",
    "read_only": "OFF", "server_id": "1", "slow_query_log": "OFF", "super_read_only": "OFF", "sync_binlog": "1",
    "table_definition_cache": "2000", "table_open_cache": "4000", "thread_cache_size": "9",
}  # fmt: skip
_FIXED = {
    "basedir": "/usr/", "bind_address": "*", "character_set_system": "utf8mb3", "datadir": "/var/lib/mysql",
    "gtid_mode": "OFF", "have_ssl": "YES", "innodb_data_file_path": "ibdata1:12M:autoextend",
    "innodb_buffer_pool_instances": "1", "innodb_file_per_table": "ON", "innodb_flush_method": "fsync",
    "innodb_log_buffer_size": "16777216", "innodb_page_size": "16384", "innodb_read_only": "OFF",
    "innodb_version": "", "log_bin": "ON", "log_error": "stderr", "lower_case_table_names": "0",
    "open_files_limit": "1048576", "performance_schema": "ON", "pid_file": "/var/run/mysqld/mysqld.pid",
    "port": "3306", "protocol_version": "10", "skip_name_resolve": "OFF", "skip_networking": "OFF",
    "socket": "/var/run/mysqld/mysqld.sock", "system_time_zone": "UTC", "version_compile_machine": "x86_64",
    "version_compile_os": "Linux",
}  # fmt: skip
#: What 5.7 has otherwise; None: it has no such variable.
_OLD: dict[str, str | None] = {
    "innodb_redo_log_capacity": None, "binlog_expire_logs_seconds": None, "event_scheduler": "OFF", "log_bin": "OFF",
    "log_error_verbosity": "3", "max_allowed_packet": "4194304", "collation_connection": "utf8mb4_general_ci",
    "collation_database": "utf8mb4_general_ci", "collation_server": "utf8mb4_general_ci",
    "character_set_system": "utf8", "table_open_cache": "2000", "table_definition_cache": "1400", "back_log": "80",
    "innodb_max_dirty_pages_pct": "75.000000", "innodb_log_file_size": "50331648", "query_cache_size": "1048576",
    "query_cache_type": "OFF", "tx_isolation": "REPEATABLE-READ", "innodb_flush_method": "",
    "sql_mode": "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,"
    "NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION",
}  # fmt: skip


def release(program: MysqlServer) -> tuple[int, int]:
    """Major and minor version: (5, 7), (8, 0), (8, 4)."""
    parts = [int(part) for part in program.version.split(".")[:2] if part.isdigit()]
    return (parts[0], parts[1] if len(parts) > 1 else 0) if parts else (8, 0)


def kind_of(name: str) -> str:
    """`session`, `global`, `fixed`, or "" if there is no such variable."""
    for kind, names in (("session", _SESSION), ("global", _GLOBAL), ("fixed", _FIXED)):
        if name in names:
            return kind
    return "session" if name == "tx_isolation" else "fixed" if name in _OLD or name.startswith("version") else ""


def variables(program: MysqlServer) -> dict[str, str]:
    """Global values by name."""
    found: dict[str, str] = {**_SESSION, **_GLOBAL, **_FIXED}
    settings, spec = program.settings, program.container.spec
    if release(program) < (8, 0):
        for name, value in _OLD.items():
            found.pop(name, None) if value is None else found.update({name: value})
    elif release(program) >= (8, 4):
        found.update({"innodb_flush_method": "O_DIRECT", "innodb_io_capacity": "10000"})
    for name, value in settings.items():
        if name in found or name in program.named:
            found[name] = normal(name, value)
    percona = "percona" in spec.image
    found.update({
        "hostname": spec.pod_name, "version": program.version, "innodb_version": program.version,
        "version_comment": "Percona Server (GPL)" if percona else "MySQL Community Server - GPL",
        "slow_query_log_file": f"{found['datadir'].rstrip('/')}/{spec.pod_name}-slow.log",
    })  # fmt: skip
    if not found["datadir"].endswith("/"):
        found["datadir"] += "/"
    return found


def default_of(name: str) -> str:
    """The value that a variable has if nobody sets it."""
    return _SESSION.get(name) or _GLOBAL.get(name) or _FIXED.get(name) or ""


def normal(name: str, value: str) -> str:
    """A value as the server shows it: ON or OFF of a switch, bytes of a size.

    >>> normal("read_only", "1"), normal("innodb_buffer_pool_size", "1G"), normal("server_id", "100")
    ('ON', '1073741824', '100')
    """
    usual = default_of(name)
    if usual in ("ON", "OFF") and value.lower() in ("0", "1", "on", "off", "true", "false", "yes", "no"):
        return "ON" if is_on(value) else "OFF"
    if usual.isdigit() and not value.isdigit():
        size = size_of(value)
        return value if size is None else str(size)
    return value


def refused_value(name: str, value: str) -> bool:
    """Whether a variable cannot have a value, by its kind."""
    usual = _SESSION.get(name) or _GLOBAL.get(name) or ""
    if usual in ("ON", "OFF"):
        return value.lower() not in ("0", "1", "on", "off", "true", "false")
    return usual.replace(".", "").isdigit() and not value.replace(".", "", 1).isdigit()


def status(program: MysqlServer) -> dict[str, str]:
    """Status variables by name; all of them count from the server's start."""
    counts = program.served_by_command()
    asked = sum(counts.values())  # integers
    held = program.open_connections()
    running = int(program.server.in_flight) if program.server is not None else 0
    refused = sum(1 for why in program._complained if "Too many connections" in why)  # integers
    numbers: dict[str, int] = {
        "Aborted_clients": 0, "Aborted_connects": len(program._complained), "Connections": 8 + held,
        "Connection_errors_max_connections": refused, "Max_used_connections": 1 + held, "Queries": asked,
        "Questions": asked, "Slow_queries": program.slow_queries, "Threads_cached": 0, "Threads_connected": 1 + held,
        "Threads_created": 1 + held, "Threads_running": 1 + running, "Uptime": program.uptime_s(),
        "Uptime_since_flush_status": program.uptime_s(),
        **{f"Com_{name}": counts.get(name.upper(), 0) for name in ("delete", "insert", "select", "update")},
    }  # fmt: skip
    storage = program.storage
    if storage is not None:
        cache, totals, page = storage.cache, storage.totals, storage.cache.page
        pages = cache.capacity // page
        numbers |= {
            "Innodb_buffer_pool_bytes_data": int(cache.held), "Innodb_buffer_pool_bytes_dirty": int(cache.changed),
            "Innodb_buffer_pool_pages_data": int(cache.held) // page,
            "Innodb_buffer_pool_pages_dirty": int(cache.changed) // page,
            "Innodb_buffer_pool_pages_free": max(0, pages - int(cache.held) // page),
            "Innodb_buffer_pool_pages_total": pages, "Innodb_buffer_pool_reads": int(cache.misses),
            "Innodb_buffer_pool_read_requests": int(cache.hits + cache.misses),
            "Innodb_data_reads": int(totals["reads"]), "Innodb_data_writes": int(totals["writes"]),
            "Innodb_os_log_fsyncs": int(totals["fsyncs"]), "Innodb_os_log_written": int(totals["log_bytes"]),
            "Innodb_page_size": page, "Innodb_row_lock_current_waits": 0, "Innodb_row_lock_waits": 0,
        }  # fmt: skip
    return {name: str(number) for name, number in numbers.items()}
