"""MySQL and MariaDB: InnoDB's buffer pool, redo log and double write in their own words.

Pages of 16 KiB go through `innodb_buffer_pool_size`; a commit waits for the redo log (unless
`innodb_flush_log_at_trx_commit` says otherwise). InnoDB ends the process at what it cannot read, write or trust.
Sources: fil0fil.cc, buf0buf.cc, os0file.cc, docker-library/mysql. Left out: the binary log, replication, table locks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from simcluster.engine import MINUTE, SECOND, format_rfc3339
from simcluster.engine.streams import mix
from simcluster.models.apps.stores.accounts import Account
from simcluster.models.apps.stores.contents import Contents, Database
from simcluster.models.apps.stores.demand import DataSet
from simcluster.models.apps.stores.folder import DataFolder
from simcluster.models.apps.stores.mongo.mongolog import ERRNO
from simcluster.models.apps.stores.mysql import mysqlclient
from simcluster.models.apps.stores.mysql.mysqlserver import MysqlServer
from simcluster.models.apps.stores.pagecache import PageCache
from simcluster.models.apps.stores.program import FAILING
from simcluster.models.apps.stores.settings import (
    assignments,
    file_text,
    is_on,
    number_of,
    options_of,
    seconds_of,
    size_of,
)
from simcluster.models.apps.stores.sql.statements import statement
from simcluster.models.apps.stores.storage import Rules, Storage, Trouble
from simcluster.models.traffic.cluster.operations import CallSpec
from simcluster.models.traffic.cluster.server import Server
from simcluster.models.userland.outcome import Outcome

PAGE = 16 << 10
SYSTEM = "ibdata1"
LOG = "#innodb_redo/#ib_redo{number}"
LOG_BYTES = 32 << 20
REPLAY_BYTES_PER_S = 50 << 20
EXIT_ABORT = 134
DEFAULTS = {
    "max_connections": "151",
    "innodb_buffer_pool_size": "134217728",
    "innodb_flush_log_at_trx_commit": "1",
    "innodb_redo_log_capacity": "104857600",
    "read_only": "OFF",
    "super_read_only": "OFF",
    "port": "3306",
    "datadir": "/var/lib/mysql",
    "slow_query_log": "OFF",
    "long_query_time": "10.000000",
}


class InnoDb(Storage):
    """Files as InnoDB names them."""

    def file_of(self, database: Database) -> str:
        """One file for the tables of a database."""
        return f"{database.name}/{database.described.tables[0].rpartition('.')[2]}.ibd"

    def log_file(self) -> str:
        """The redo log's present file."""
        return LOG.format(number=self.contents.position // LOG_BYTES)

    def log_step(self) -> int:
        """Files of a thirty-second of the capacity."""
        return LOG_BYTES


class MysqldProgram(MysqlServer):
    """The main process of a mysql or mariadb image."""

    tells_in_log = False

    def configure(self) -> bool:
        """Arguments, variables, my.cnf of a mounted conf.d."""
        spec = self.container.spec
        tag = re.match(r"\d+(\.\d+)*", spec.image.rpartition(":")[2])
        self.version = {"8": "8.4.2", "8.0": "8.0.39", "8.4": "8.4.2"}.get(tag[0], tag[0]) if tag else "8.4.2"
        words = tuple(w for w in (*spec.command, *spec.args) if w not in ("mysqld", "mariadbd"))
        self.settings = dict(DEFAULTS)
        for mount in self.container.mounts:
            for name, _ in mount.files:
                path = f"{mount.path.rstrip('/')}/{name}"
                if path.startswith("/etc/mysql/") and path.endswith(".cnf"):
                    found = assignments(file_text(self.container, path) or "")
                    self.settings |= {key.replace("-", "_"): value for key, value in found.items()}
        self.settings |= {k.replace("-", "_"): v for k, v in options_of(words).items() if k}
        self.named = {key: value for key, value in self.settings.items() if key not in DEFAULTS}
        self.logins = {}
        self._ports = {number_of(self.settings["port"], 3306): None}
        self.folder = DataFolder(self.container, self.settings["datadir"], "mysqld")
        return True

    def say(self, level: str, number: str, part: str, text: str) -> None:
        """A line of the error log."""
        when = format_rfc3339(self.container.sim.now, digits=6)
        self.container.write(f"{when} 0 [{level}] [{number}] [{part}] {text}", "stderr")

    def slow_from(self) -> int:
        """`long_query_time` seconds; what is slow is counted whether it is logged or not."""
        seconds = seconds_of(self.settings["long_query_time"])
        return 10 * SECOND if seconds is None else int(seconds * SECOND)

    def slow_text(self, index: int) -> str:
        """An entry of the slow log."""
        io = self.io_models()[index]
        database = io.data or (self.storage.default if self.storage is not None else "")
        sent = statement(io, self.behaviour.data.get(database) or DataSet(), "?")
        user, looked = database or "app", max(1, int(io.reads))
        return (
            f"# Time: {{time_us}}\n# User@Host: {user}[{user}] @  []  Id: {8 + index:5}\n"
            f"# Query_time: {{latency_micro}}  Lock_time: 0.000002 Rows_sent: {0 if io.writes else looked}  "
            f"Rows_examined: {looked}\nSET timestamp={{epoch}};\n{sent};"
        )

    def tell_slow(self, tick_ns: int, counts: Sequence[int]) -> None:
        """The slow log is a file of the data directory (`log_output` FILE)."""
        super().tell_slow(tick_ns, counts)
        lines = self.newly_slow()
        self.slow_queries += sum(line.startswith("# Time") for line in lines)  # integers
        if lines and is_on(self.settings["slow_query_log"]) and self.folder is not None:
            self.folder.append_text(f"{self.container.spec.pod_name}-slow.log", "".join(f"{line}\n" for line in lines))

    def _rules(self) -> Rules:
        durable = self.settings["innodb_flush_log_at_trx_commit"] == "1"
        capacity = number_of(self.settings["innodb_redo_log_capacity"], 100 << 20)
        return Rules(PAGE, 96, 0 if durable else SECOND, durable, MINUTE, capacity // 2, 30 * SECOND, 64)

    def _flush_method(self) -> str:
        """`innodb_flush_method`; since 8.4 InnoDB goes past the kernel's page cache unless told otherwise."""
        major, _, minor = self.version.partition(".")
        new = (int(major), int(minor.partition(".")[0] or 0)) >= (8, 4) if major.isdigit() else True
        return self.settings.get("innodb_flush_method", "O_DIRECT" if new else "fsync")

    def open_data(self) -> int:
        """Make the data directory, or open and recover it."""
        assert self.folder is not None
        contents = self.folder.contents(SYSTEM)
        delay = 0
        if self.folder.denied:
            where = f"{self.folder.path}/is_writable"
            self.container.write(
                f"mysqld: Can't create/write to file '{where}' (OS errno 13 - Permission denied)", "stderr"
            )
            self.say(
                "ERROR", "MY-010187", "Server", f"Could not open file '{where}' for error logging: Permission denied"
            )
            self.say("ERROR", "MY-010119", "Server", "Aborting")
            self.container.exit(1)
            return FAILING
        if contents is None:
            contents = self._initialise()
            if contents is None:
                return 0
            delay = 4 * SECOND
        else:
            self.folder.keep(contents)
        self.contents = contents
        pool = size_of(self.settings["innodb_buffer_pool_size"]) or 128 << 20
        cache = PageCache(pool, PAGE, direct=self._flush_method().startswith("O_DIRECT"))
        self.storage = InnoDb(self.folder, contents, cache, self._rules(), self.io_models())
        self.storage.described = dict(self.behaviour.data)
        self.say("System", "MY-010116", "Server", f"/usr/sbin/mysqld (mysqld {self.version}) starting as process 1")
        self.say("System", "MY-013576", "InnoDB", "InnoDB initialization has started.")
        if not contents.clean:
            self.say("Note", "MY-012552", "InnoDB", "Database was not shutdown normally!")
            self.say("Note", "MY-012553", "InnoDB", "Starting crash recovery.")
        parts = [(name, 0, PAGE) for name in (SYSTEM, *map(self.storage.file_of, contents.databases.values()))]
        if not contents.clean:
            parts += self.storage.recovered()
        for name, offset, size in parts:
            outcome = self.folder.read(name, offset, size)
            delay += outcome.delay_ns
            if outcome.error and outcome.error != "ENOENT":
                spot = max(0, outcome.offset)
                self._timer = self.container.sim.after(delay, self._cannot_read, name, spot, outcome.error)
                return FAILING
        if not contents.clean:
            delay += contents.log_bytes * SECOND // REPLAY_BYTES_PER_S
            contents.log_bytes = 0
        contents.clean = False
        return delay

    def _initialise(self) -> Contents | None:
        assert self.folder is not None
        env = self.environment
        root = env.get("MYSQL_ROOT_PASSWORD") or env.get("MARIADB_ROOT_PASSWORD", "")
        free = env.get("MYSQL_ALLOW_EMPTY_PASSWORD") or env.get("MARIADB_ALLOW_EMPTY_ROOT_PASSWORD")
        if not root and not free and not env.get("MYSQL_RANDOM_ROOT_PASSWORD"):
            self.container.write(
                "[ERROR] [Entrypoint]: Database is uninitialized and password option is not specified\n"
                "    You need to specify one of the following as an environment variable:\n"
                "    - MYSQL_ROOT_PASSWORD\n    - MYSQL_ALLOW_EMPTY_PASSWORD\n    - MYSQL_RANDOM_ROOT_PASSWORD",
                "stderr",
            )
            self.container.exit(1)
            return None
        error = self.folder.allocate(SYSTEM, 12 << 20) or self.folder.allocate(LOG.format(number=0), LOG_BYTES)
        if error:
            self._cannot_write(SYSTEM, error)
            return None
        contents = Contents("mysqld", self.version)
        account = Account("root", root)
        account.superuser = True
        contents.accounts.add(account)
        database = env.get("MYSQL_DATABASE") or env.get("MARIADB_DATABASE", "")
        user = env.get("MYSQL_USER") or env.get("MARIADB_USER", "")
        if database:
            contents.database(database, self.behaviour.data.get(database) or DataSet(size=8 << 20))
        if user:
            contents.accounts.add(Account(user, env.get("MYSQL_PASSWORD") or env.get("MARIADB_PASSWORD", "")))
        self.folder.keep(contents)
        return contents

    def opened(self) -> None:
        """It accepts connections."""
        self.say("System", "MY-013577", "InnoDB", "InnoDB initialization has ended.")
        port = next(iter(self._ports))
        self.say(
            "System", "MY-010931", "Server",
            f"/usr/sbin/mysqld: ready for connections. Version: '{self.version}'  "
            f"socket: '/var/run/mysqld/mysqld.sock'  port: {port}  MySQL Community Server - GPL.",
        )  # fmt: skip

    def _leave(self) -> None:
        text = f"Received SHUTDOWN from user <via user signal>. Shutting down mysqld (Version: {self.version})."
        self.say("System", "MY-013172", "Server", text)
        if self.storage is not None and self.contents is not None:
            self.storage.checkpoint(self.container.sim.now)
            self.contents.clean = True
        self.say("System", "MY-010910", "Server", f"/usr/sbin/mysqld: Shutdown complete (mysqld {self.version})")
        super()._leave()

    # --- the disk -------------------------------------------------------------------------

    def trouble(self, trouble: Trouble) -> None:
        """InnoDB gives up at all but a full disk."""
        assert self.storage is not None
        assert self.contents is not None
        name = self.storage.log_file()
        if trouble.database:
            name = self.storage.file_of(self.contents.databases[trouble.database])
        if trouble.kind == "corrupt":
            page = trouble.offset // PAGE
            where = f"[page id: space={2 + mix(page, 1) % 9}, page number={page}]"
            text = f"Database page corruption on disk or a failed file read of page {where}. You may have to recover "
            self.say("ERROR", "MY-011906", "InnoDB", f"{text}from a backup.")
            self.say(
                "ERROR", "MY-013183", "InnoDB", "Assertion failure: buf0buf.cc:5889:ib::fatal triggered thread 140"
            )
            self._abort()
        elif trouble.kind == "read":
            self._cannot_read(name, trouble.offset, trouble.error)
        elif trouble.error == "ENOSPC" and trouble.kind == "grow":
            table = name.removesuffix(".ibd").rpartition("/")[2]
            text = f"The table '{table}' is full"
            self.say("ERROR", "MY-012820", "InnoDB", f"Cannot extend file ./{name}: {ERRNO[trouble.error][1]}")
            self.say("ERROR", "MY-013132", "Server", f"{text}!")
            for index, io in enumerate(self.io_models()):
                if io.grow:
                    self.refused[index] = f"Error 1114 (HY000): {text}"
        else:
            self._cannot_write(name, trouble.error)

    def _cannot_read(self, name: str, offset: int, error: str) -> None:
        number, text = ERRNO[error]
        self.say("ERROR", "MY-012592", "InnoDB", f"Operating system error number {number} in a file operation.")
        self.say("ERROR", "MY-012596", "InnoDB", f"Error number {number} means '{text}'")
        self.say(
            "ERROR",
            "MY-012646",
            "InnoDB",
            f"File ./{name}: 'read' returned OS error {100 + number}. Cannot continue operation",
        )
        self.say("ERROR", "MY-012981", "InnoDB", f"Cannot continue operation. Offset {offset}")
        self._abort()

    def _cannot_write(self, name: str, error: str) -> None:
        number, text = ERRNO[error]
        self.say("ERROR", "MY-012592", "InnoDB", f"Operating system error number {number} in a file operation.")
        self.say("ERROR", "MY-012596", "InnoDB", f"Error number {number} means '{text}'")
        self.say("ERROR", "MY-012888", "InnoDB", f"fsync(): ./{name}: error {number}")
        self._abort()

    def _abort(self) -> None:
        when = format_rfc3339(self.container.sim.now)
        self.container.write(f"{when} UTC - mysqld got signal 6 ;", "stderr")
        self.container.exit(EXIT_ABORT)

    # --- users ----------------------------------------------------------------------------

    def admit(self, user: str, password: str, database: str, call: CallSpec, caller: Server) -> str:
        """Connections, login, read-only."""
        assert self.contents is not None
        if not self.seated(caller, number_of(self.settings["max_connections"], 151)):
            return "Error 1040 (08004): Too many connections"
        address = caller.container.sandbox.address
        account = self.contents.accounts.find(user) if user else None
        if user and (account is None or account.password != password or not account.enabled):
            used = "YES" if password else "NO"
            return f"Error 1045 (28000): Access denied for user '{user}'@'{address}' (using password: {used})"
        if database and database not in self.contents.databases:
            return f"Error 1049 (42000): Unknown database '{database}'"
        self.logins[caller.identity] = (user, database)
        option = self.read_only_for(superuser=account is not None and account.superuser)
        if option and self.io_of(call).writes:
            return (
                f"Error 1290 (HY000): The MySQL server is running with the {option} option so it cannot execute this "
                "statement"
            )
        return ""

    def print_refusal(self, user: str, database: str, why: str, caller: Server) -> None:
        """The log's line (at log_error_verbosity 3)."""
        if "Access denied" in why:
            self.say("Note", "MY-010926", "Server", why.partition("): ")[2])

    def setting_changed(self, name: str) -> None:
        """Callers meet it at the next tick."""
        self.republish()

    def run(self, argv: tuple[str, ...]) -> Outcome | None:
        """`mysql`, `mysqladmin`."""
        return self.run_with_input(argv, "")

    def run_with_input(self, argv: tuple[str, ...], stdin: str) -> Outcome | None:
        """The same with statements on standard input."""
        return mysqlclient.run(self.container, self, argv, stdin)
