"""What exporters show of a data store: redis_exporter, mongodb_exporter, memcached_exporter, mysqld_exporter.

Each asks a store as any client does and shows what `INFO`, `serverStatus`, `stats` and `SHOW GLOBAL STATUS` say. Names,
labels and types: oliver006/redis_exporter 1.67, percona/mongodb_exporter 0.43, prometheus/memcached_exporter 0.15,
prometheus/mysqld_exporter 0.16. Left out: what the stores here do not count (replication, indexes, slabs).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from simcluster.models.apps.stores.caches.memcached import MemcachedProgram
from simcluster.models.apps.stores.mongo.mongod import MongodProgram
from simcluster.models.apps.stores.mysql.mysqld import MysqldProgram
from simcluster.models.apps.stores.program import StoreProgram
from simcluster.models.apps.stores.redis.redis import RedisProgram
from simcluster.telemetry.exposition import instant
from simcluster.telemetry.metrics.columns import Columns, Group, Labels, Metric, Row, Samples, counter, gauge, labels


def _untyped(name: str, text: str, *series: Labels) -> Metric:
    return Metric(name, "untyped", text, tuple(("", one) for one in series or ((),)))


class Login(NamedTuple):
    """As whom an exporter comes; both empty: as nobody."""

    user: str = ""
    password: str = ""


class Kind(NamedTuple):
    """One exporter.

    Attributes:
        store: the `data_store` it asks; port: of the store, if a target names none.
        path: under which a target is asked for.
        up: the gauge that says whether the store answers.
        read: everything it shows of a store that does; None if the store refuses it.
        patience_s: after which it gives a store up that does not answer.
    """

    store: str
    port: int
    path: str
    up: Columns
    read: Callable[[StoreProgram, Login], dict[Group, Row] | None]
    patience_s: float


def down(kind: Kind) -> Samples:
    """What is shown of a store that does not answer."""
    return {Group(kind.up): kind.up.row((0,))}


# --- Redis ------------------------------------------------------------------------------------

_REDIS_UP = Columns((gauge("redis_up", "Information about the Redis instance"),))
_REDIS = Columns(
    (
        gauge("redis_uptime_in_seconds", "uptime_in_seconds metric"),
        gauge("redis_start_time_seconds", "Start time of the Redis instance since unix epoch in seconds."),
        gauge("redis_connected_clients", "connected_clients metric"),
        gauge("redis_blocked_clients", "blocked_clients metric"),
        gauge("redis_max_clients", "max_clients metric"),
        gauge("redis_connected_slaves", "connected_slaves metric"),
        gauge("redis_memory_used_bytes", "memory_used_bytes metric"),
        gauge("redis_memory_used_rss_bytes", "memory_used_rss_bytes metric"),
        gauge("redis_memory_used_dataset_bytes", "memory_used_dataset_bytes metric"),
        gauge("redis_memory_max_bytes", "memory_max_bytes metric"),
        gauge("redis_loading_dump_file", "loading_dump_file metric"),
        gauge("redis_rdb_changes_since_last_save", "rdb_changes_since_last_save metric"),
        gauge("redis_rdb_last_save_timestamp_seconds", "rdb_last_save_timestamp_seconds metric"),
        gauge("redis_rdb_last_bgsave_status", "rdb_last_bgsave_status metric"),
        gauge("redis_aof_enabled", "aof_enabled metric"),
        gauge("redis_aof_last_write_status", "aof_last_write_status metric"),
        counter("redis_commands_processed_total", "commands_processed_total metric"),
        counter("redis_keyspace_hits_total", "keyspace_hits_total metric"),
        counter("redis_keyspace_misses_total", "keyspace_misses_total metric"),
        counter("redis_evicted_keys_total", "evicted_keys_total metric"),
        counter("redis_rejected_connections_total", "rejected_connections_total metric"),
        counter("redis_cpu_user_seconds_total", "cpu_user_seconds_total metric"),
        gauge("redis_db_keys", "Total number of keys by DB", labels(db="db0")),
        gauge("redis_db_keys_expiring", "Total number of expiring keys by DB", labels(db="db0")),
    )
)
_REDIS_INFO = Columns((gauge("redis_instance_info", "Information about the Redis instance"),))


def _redis(program: StoreProgram, login: Login) -> dict[Group, Row] | None:
    assert isinstance(program, RedisProgram)
    if program.refuses(login.user, login.password, "INFO", False):
        return None
    keys, run = program.keyspace, program.container
    numbers = (
        program.uptime_s(), instant(run.started_ns), program.open_connections(), 0, int(program.config["maxclients"]),
        0, int(keys.bytes) + (1 << 20), run.memory_bytes, int(keys.bytes), keys.limit, 0, int(program.dirty),
        int(instant(program.saved_ns)), not program.save_error, program.config["appendonly"] == "yes",
        not program.append_error, int(program.commands), int(keys.hits), int(keys.misses), int(keys.evicted), 0,
        run.cpu_ns / 1e9, keys.keys(), 0,
    )  # fmt: skip
    info = labels(
        maxmemory_policy=program.config["maxmemory-policy"], redis_mode="standalone", redis_version=program.version,
        role="master", tcp_port=str(next(iter(program._ports))),
    )  # fmt: skip
    return {Group(_REDIS): _REDIS.row(numbers), Group(_REDIS_INFO, info): _REDIS_INFO.row((1,))}


# --- MongoDB ----------------------------------------------------------------------------------

_MONGO_UP = Columns((gauge("mongodb_up", "Whether MongoDB is up.", labels(cluster_role="mongod")),))
_OPERATIONS = ("command", "delete", "getmore", "insert", "query", "update")
_MONGO = Columns(
    (
        _untyped("mongodb_ss_uptime", "serverStatus.uptime"),
        _untyped("mongodb_ss_mem_resident", "serverStatus.mem.resident"),
        _untyped("mongodb_ss_connections", "serverStatus.connections.",
                 *(labels(conn_type=kind) for kind in ("active", "available", "current"))),
        _untyped("mongodb_ss_opcounters", "serverStatus.opcounters.",
                 *(labels(legacy_op_type=kind) for kind in _OPERATIONS)),
        *(
            _untyped(f"mongodb_ss_wt_cache_{name}", f"serverStatus.wiredTiger.cache.{name}")
            for name in (
                "maximum_bytes_configured", "bytes_currently_in_the_cache", "tracked_dirty_bytes_in_the_cache",
                "pages_read_into_cache", "pages_requested_from_the_cache",
            )
        ),
        _untyped("mongodb_ss_wt_log_log_bytes_written", "serverStatus.wiredTiger.log.log_bytes_written"),
        _untyped("mongodb_ss_wt_log_log_sync_operations", "serverStatus.wiredTiger.log.log_sync_operations"),
        _untyped("mongodb_ss_wt_txn_transaction_checkpoints", "serverStatus.wiredTiger.transaction."
                 "transaction_checkpoints"),
    )
)  # fmt: skip
_MONGO_INFO = Columns((gauge("mongodb_version_info", "The server version"),))
_LEGACY = {"find": "query", "insert": "insert", "update": "update", "delete": "delete", "getMore": "getmore"}


def _mongo(program: StoreProgram, login: Login) -> dict[Group, Row] | None:
    assert isinstance(program, MongodProgram)
    if program.tls == "requireTLS" or (login.user and program.login(login.user, login.password)):
        return None
    storage = program.storage
    if storage is None or program.refuses(login.user, "admin", "serverStatus", ""):
        return {}  # it answers `ping`, and nothing else to who has no right to it
    counts = dict.fromkeys(_OPERATIONS, 0)
    for command, count in program.served_by_command().items():
        counts[_LEGACY.get(command, "command")] += count
    opened, cache, totals = program.open_connections(), storage.cache, storage.totals
    numbers = (
        program.uptime_s(), program.container.memory_bytes >> 20, opened, program.most_connections - opened, opened,
        *counts.values(), program.cache_bytes(), int(cache.held), int(cache.changed), int(cache.misses),
        int(cache.hits + cache.misses), int(totals["log_bytes"]), int(totals["fsyncs"]), int(totals["checkpoints"]),
    )  # fmt: skip
    info = labels(edition="Community", mongodb=program.version, vendor="MongoDB")
    return {Group(_MONGO): _MONGO.row(numbers), Group(_MONGO_INFO, info): _MONGO_INFO.row((1,))}


# --- memcached --------------------------------------------------------------------------------

_MEMCACHED_UP = Columns((gauge("memcached_up", "Could the memcached server be reached."),))
_MEMCACHED = Columns(
    (
        counter("memcached_uptime_seconds", "Number of seconds since the server started."),
        gauge("memcached_current_connections", "Current number of open connections."),
        gauge("memcached_max_connections", "Maximum number of clients allowed."),
        gauge("memcached_current_bytes", "Current number of bytes used to store items."),
        gauge("memcached_limit_bytes", "Number of bytes this server is allowed to use for storage."),
        gauge("memcached_current_items", "Current number of items stored by this instance."),
        counter("memcached_items_total", "Total number of items stored during the life of this instance."),
        counter("memcached_items_evicted_total", "Total number of valid items removed from cache to free memory for "
                "new items."),
        counter("memcached_commands_total", "Total number of all requests broken down by command (get, set, etc.) and "
                "status.", labels(command="get", status="hit"), labels(command="get", status="miss"),
                labels(command="set", status="hit")),
    )
)  # fmt: skip
_MEMCACHED_INFO = Columns((gauge("memcached_version", "The version of this memcached server."),))


def _memcached(program: StoreProgram, login: Login) -> dict[Group, Row] | None:
    assert isinstance(program, MemcachedProgram)
    keys = program.keyspace
    numbers = (
        program.uptime_s(), program.open_connections(), program.most_connections, int(keys.bytes), keys.limit,
        keys.keys(), int(keys.written), int(keys.evicted), int(keys.hits), int(keys.misses), int(keys.written),
    )  # fmt: skip
    info = Group(_MEMCACHED_INFO, labels(version=program.version))
    return {Group(_MEMCACHED): _MEMCACHED.row(numbers), info: _MEMCACHED_INFO.row((1,))}


# --- MySQL ------------------------------------------------------------------------------------

_MYSQL_UP = Columns((gauge("mysql_up", "Whether the MySQL server is up."),))
_STATUS = "Generic metric from SHOW GLOBAL STATUS."
_COMMANDS = ("delete", "insert", "select", "update")
_MYSQL = Columns(
    (
        *(
            _untyped(f"mysql_global_status_{name}", _STATUS)
            for name in (
                "uptime", "threads_connected", "threads_running", "queries", "questions", "slow_queries",
                "innodb_buffer_pool_reads", "innodb_buffer_pool_read_requests", "innodb_os_log_fsyncs",
                "innodb_os_log_written",
            )
        ),
        counter("mysql_global_status_commands_total", "Total number of executed MySQL commands.",
                *(labels(command=name) for name in _COMMANDS)),
        gauge("mysql_global_variables_max_connections", "Generic gauge metric from SHOW GLOBAL VARIABLES."),
        gauge("mysql_global_variables_innodb_buffer_pool_size", "Generic gauge metric from SHOW GLOBAL VARIABLES."),
    )
)  # fmt: skip
_MYSQL_INFO = Columns((gauge("mysql_version_info", "MySQL version and distribution."),))


def _mysql(program: StoreProgram, login: Login) -> dict[Group, Row] | None:
    assert isinstance(program, MysqldProgram)
    storage, contents = program.storage, program.contents
    account = contents.accounts.find(login.user) if contents is not None and login.user else None
    if storage is None or account is None or account.password != login.password or not account.enabled:
        return None
    counts = program.served_by_command()
    done = sum(counts.values())  # integers
    running = 1 + (int(program.server.in_flight) if program.server is not None else 0)
    numbers = (
        program.uptime_s(), 1 + program.open_connections(), running, done, done, program.slow_queries,
        int(storage.cache.misses),
        int(storage.cache.hits + storage.cache.misses), int(storage.totals["fsyncs"]),
        int(storage.totals["log_bytes"]), *(counts.get(name.upper(), 0) for name in _COMMANDS),
        int(program.settings["max_connections"]), storage.cache.capacity,
    )  # fmt: skip
    info = Group(_MYSQL_INFO, labels(innodb_version=program.version, version=program.version))
    return {Group(_MYSQL): _MYSQL.row(numbers), info: _MYSQL_INFO.row((1,))}


#: By the name of the program.
KINDS: Mapping[str, Kind] = {
    "redis_exporter": Kind("redis", 6379, "/scrape", _REDIS_UP, _redis, 15.0),
    "mongodb_exporter": Kind("mongod", 27017, "/scrape", _MONGO_UP, _mongo, 5.0),
    "memcached_exporter": Kind("memcached", 11211, "/scrape", _MEMCACHED_UP, _memcached, 1.0),
    "mysqld_exporter": Kind("mysqld", 3306, "/probe", _MYSQL_UP, _mysql, 1.0),
}


def login_of(variables: Mapping[str, str], args: Sequence[str]) -> Login:
    """User and password as an exporter's container has them: each has its own variables; mysqld's come as a flag.

    >>> login_of({"MONGODB_URI": "mongodb://root:secret@db:27017"}, ())
    Login(user='root', password='secret')
    """
    url = re.match(r"mongodb://([^:@/]+):([^@/]*)@", variables.get("MONGODB_URI", ""))
    if url is not None:
        return Login(url[1], url[2])
    if "REDIS_PASSWORD" in variables:
        return Login(variables.get("REDIS_USER", ""), variables["REDIS_PASSWORD"])
    users = [word.partition("=")[2] for word in args if word.startswith("--mysqld.username=")]
    return Login(users[-1] if users else "", variables.get("MYSQLD_EXPORTER_PASSWORD", ""))
