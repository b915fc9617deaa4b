"""A relational store in the manner of PostgreSQL.

Pages of 8 KiB go through `shared_buffers`; a commit waits for the fsync of its WAL (group commit);
checkpoints are spread over 90 % of `checkpoint_timeout`. What cannot be read fails the statement; a WAL or a
checkpoint that cannot be fsynced is a PANIC: all sessions end and the server recovers from its WAL.
Sources: PostgreSQL's messages (elog), xlog.c, bufmgr.c, md.c, docker-library/postgres' entry point.
Left out: vacuum, replication, deadlocks of callers' transactions, extensions, SQL beyond `psql.py`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from simcluster.engine import SECOND, format_rfc3339
from simcluster.engine.streams import mix
from simcluster.models.apps.stores.accounts import Account
from simcluster.models.apps.stores.contents import Contents, Database
from simcluster.models.apps.stores.demand import DataSet
from simcluster.models.apps.stores.folder import DataFolder
from simcluster.models.apps.stores.mongo.mongolog import ERRNO
from simcluster.models.apps.stores.pagecache import PageCache
from simcluster.models.apps.stores.postgres import psqlclient
from simcluster.models.apps.stores.postgres.psql import Psql, SqlError
from simcluster.models.apps.stores.program import FAILING, StoreProgram
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

PAGE = 8 << 10
SEGMENT = 16 << 20
CONTROL = "global/pg_control"
#: Replay of WAL runs at about so many bytes a second once its pages are read.
REPLAY_BYTES_PER_S = 80 << 20
#: The checkpointer naps for a tenth of a second after each page at most (CheckpointWriteDelay).
NAP_NS = SECOND // 10
#: A lock that nobody lets go keeps callers longer than they have patience.
HELD_NS = 120 * SECOND
#: Errors of blocks printed in one tick.
SPOKEN = 3
DEFAULTS = {
    "max_connections": "100",
    "superuser_reserved_connections": "3",
    "shared_buffers": "128MB",
    "synchronous_commit": "on",
    "fsync": "on",
    "checkpoint_timeout": "5min",
    "checkpoint_completion_target": "0.9",
    "max_wal_size": "1GB",
    "min_wal_size": "80MB",
    "log_checkpoints": "on",
    "data_checksums": "off",
    "default_transaction_read_only": "off",
    "lock_timeout": "0",
    "statement_timeout": "0",
    "deadlock_timeout": "1s",
    "work_mem": "4MB",
    "effective_cache_size": "4GB",
    "wal_level": "replica",
    "restart_after_crash": "on",
    "password_encryption": "scram-sha-256",
    "listen_addresses": "*",
    "port": "5432",
    "log_min_duration_statement": "-1",
}
_UNINITIALISED = """Error: Database is uninitialized and superuser password is not specified.
       You must specify POSTGRES_PASSWORD to a non-empty value for the
       superuser. For example, "-e POSTGRES_PASSWORD=password" on "docker run".

       You may also use "POSTGRES_HOST_AUTH_METHOD=trust" to allow all
       connections without a password. This is *not* recommended.

       See PostgreSQL documentation about "trust":
       https://www.postgresql.org/docs/current/auth-trust.html"""


class Session(NamedTuple):
    """Somebody's connection beside the applications'.

    Attributes:
        locks: (table, mode) that it holds until its end.
        until_ns: when it ends by itself; -1 never.
    """

    pid: int
    user: str
    database: str
    query: str
    state: str
    begun_ns: int
    until_ns: int
    locks: tuple[tuple[str, str], ...] = ()


class HeapStorage(Storage):
    """Files as PostgreSQL names them."""

    def file_of(self, database: Database) -> str:
        """One file for the relations of a database."""
        return f"base/{16377 + database.number}/{16378 + database.number}"

    def log_file(self) -> str:
        """The segment of the present position."""
        number = 1 + self.contents.position // SEGMENT
        return f"pg_wal/{1:08X}{number // 256:08X}{number % 256:08X}"

    def log_step(self) -> int:
        """Segments of 16 MB."""
        return SEGMENT

    def _begin(self, now_ns: int, timed: bool) -> None:
        """Few pages are written in less time than a checkpoint may take."""
        super()._begin(now_ns, timed)
        lasts = min(self.rules.spread_ns, max(1, int(self._written / self.rules.page)) * NAP_NS)
        self._rate = {name: left * SECOND / max(1, lasts) for name, left in self._left.items()}


class PostgresProgram(StoreProgram):
    """The postmaster and its children as one process."""

    tells_on_stderr = True
    #: Settings that need a restart.
    POSTMASTER = ("max_connections", "shared_buffers", "port", "wal_level", "superuser_reserved_connections")
    settings: dict[str, str]
    sessions: dict[int, Session]
    #: As whom callers have connected, and to which database.
    logins: dict[tuple[str, str, str], tuple[str, str]]
    version = "17.6"
    checkpointing = False
    _redone = ""
    next_pid = 60

    def configure(self) -> bool:
        """Arguments, variables and postgresql.conf."""
        spec = self.container.spec
        self.version = _version_of(spec.image)
        self.sessions, self.logins = {}, {}
        options = options_of(tuple(w for w in (*spec.command, *spec.args) if w != "postgres"))
        path = options.pop("config_file", options.pop("config-file", ""))
        text = file_text(self.container, path) if path else None
        if path and text is None:
            self.say("FATAL", f'could not open configuration file "{path}": No such file or directory')
            self.container.exit(1)
            return False
        self.given = {name: value for name, value in options.items() if name}
        self.settings = DEFAULTS | (assignments(text) if text else {}) | self.given
        if "p" in options:
            self.settings["port"] = options["p"]
        if "--data-checksums" in self.environment.get("POSTGRES_INITDB_ARGS", "") or self.version.startswith("18"):
            self.settings["data_checksums"] = "on"
        self._ports = {number_of(self.settings["port"], 5432): None}
        self.root = self.environment.get("POSTGRES_USER", "") or "postgres"
        folder = self.environment.get("PGDATA", "/var/lib/postgresql/data")
        self.folder = DataFolder(self.container, folder, "postgres")
        return True

    def say(self, level: str, text: str, pid: int = 1) -> None:
        """A line of the log."""
        when = format_rfc3339(self.container.sim.now, digits=3).replace("T", " ").replace("Z", " UTC")
        self.container.write(f"{when} [{pid}] {level}:  {text}", "stderr")

    def rules(self) -> Rules:
        """The storage rules that the settings ask for."""
        timeout = seconds_of(self.settings["checkpoint_timeout"]) or 300.0
        target = float(self.settings["checkpoint_completion_target"])
        durable = self.settings["synchronous_commit"] != "off" and is_on(self.settings["fsync"])
        wal = size_of(self.settings["max_wal_size"], 1 << 20) or 1 << 30
        # A checkpoint begins early enough that the one before and this one fit into max_wal_size.
        most = int(wal / (1.0 + target))
        flush = 0 if durable or not is_on(self.settings["fsync"]) else SECOND // 5
        return Rules(PAGE, 64, flush, durable, int(timeout * SECOND), most, int(timeout * target * SECOND), 64)

    def slow_from(self) -> int:
        """`log_min_duration_statement`: milliseconds without a unit, -1 is off."""
        seconds = seconds_of(self.settings["log_min_duration_statement"], 0.001)
        return -1 if seconds is None or seconds < 0.0 else int(seconds * SECOND)

    def slow_text(self, index: int) -> str:
        """Statements of drivers come prepared (protocol 3): they are executed."""
        io = self.io_models()[index]
        database = io.data or (self.storage.default if self.storage is not None else "")
        sent = statement(io, self.behaviour.data.get(database) or DataSet(), "$1")
        return f"{{time_pg}} [{70 + index}] LOG:  duration: {{latency_pg}} ms  execute <unnamed>: {sent}"

    # --- start and end --------------------------------------------------------------------

    def open_data(self) -> int:
        """Make the cluster, or open and recover it."""
        assert self.folder is not None
        contents = self.folder.contents(CONTROL)
        delay = 0
        if self.folder.denied:
            self.say("FATAL", f'data directory "{self.folder.path}" has wrong ownership')
            self.say("HINT", "The server must be started by the user that owns the data directory.")
            self.container.exit(1)
            return FAILING
        if contents is None:
            contents = self._initdb()
            if contents is None:
                return 0
            delay = 2 * SECOND
        else:
            self.container.write(
                "\nPostgreSQL Database directory appears to contain a database; Skipping initialization\n"
            )
            self.settings |= contents.settings | self.given  # postgresql.auto.conf, then the command line
            if contents.version != self.version.split(".")[0]:
                self._incompatible(contents)
                return 0
            self.folder.keep(contents)
        self.contents = contents
        cache = PageCache(size_of(self.settings["shared_buffers"], PAGE) or 128 << 20, PAGE)
        self.storage = HeapStorage(self.folder, contents, cache, self.rules(), self.io_models())
        self.storage.verifies = is_on(contents.settings.get("data_checksums", "off"))
        self.storage.described = dict(self.behaviour.data)
        self.storage.default = self.environment.get("POSTGRES_DB", "") or self.root
        self._greet()
        recovery = self._recover(contents)
        return FAILING if recovery == FAILING else delay + recovery

    def _initdb(self) -> Contents | None:
        """The image's entry point at an empty folder."""
        assert self.folder is not None
        password = self.environment.get("POSTGRES_PASSWORD", "")
        if not password and self.environment.get("POSTGRES_HOST_AUTH_METHOD") != "trust":
            self.container.write(_UNINITIALISED, "stderr")
            self.container.exit(1)
            return None
        error = self.folder.allocate(CONTROL, PAGE) or self.folder.allocate(f"pg_wal/{1:08X}{0:08X}{1:08X}", SEGMENT)
        if error:
            where = self.folder.path
            self.container.write(
                f'initdb: error: could not create directory "{where}/global": {ERRNO[error][1]}', "stderr"
            )
            self.container.exit(1)
            return None
        contents = Contents("postgres", self.version.split(".")[0])
        contents.checkpoint_ns = self.container.sim.now
        root = Account(self.root, password)
        root.superuser = True
        contents.accounts.add(root)
        contents.settings["data_checksums"] = self.settings["data_checksums"]
        for name in dict.fromkeys(("postgres", self.environment.get("POSTGRES_DB", "") or self.root)):
            contents.database(name, self.behaviour.data.get(name) or DataSet(size=8 << 20))
        self.folder.keep(contents)
        self.contents = contents
        self._scripts()
        return contents

    def _scripts(self) -> None:
        shell = Psql(self, self.root, self.environment.get("POSTGRES_DB", "") or self.root)
        for mount in self.container.mounts:
            for name, _ in mount.files:
                path = f"{mount.path.rstrip('/')}/{name}"
                if path.startswith("/docker-entrypoint-initdb.d/") and path.endswith(".sql"):
                    self.container.write(f"/usr/local/bin/docker-entrypoint.sh: running {path}")
                    try:
                        shell.evaluate(file_text(self.container, path) or "")
                    except SqlError as error:
                        self.say("ERROR", error.text, 48)

    def _incompatible(self, contents: Contents) -> None:
        self.say("FATAL", "database files are incompatible with server")
        detail = f"The data directory was initialized by PostgreSQL version {contents.version}, "
        detail += "which is not compatible with "
        self.say("DETAIL", f"{detail}this version {self.version} (Debian {self.version}-1.pgdg12+1).")
        self.container.exit(1)

    def _greet(self) -> None:
        debian = f"(Debian {self.version}-1.pgdg12+1) on x86_64-pc-linux-gnu, "
        debian += "compiled by gcc (Debian 12.2.0-14) 12.2.0, 64-bit"
        self.say("LOG", f"starting PostgreSQL {self.version} {debian}")
        port = next(iter(self._ports))
        self.say("LOG", f'listening on IPv4 address "0.0.0.0", port {port}')
        self.say("LOG", f'listening on IPv6 address "::", port {port}')
        self.say("LOG", f'listening on Unix socket "/var/run/postgresql/.s.PGSQL.{port}"')

    def _recover(self, contents: Contents) -> int:
        """Read the control file; replay the WAL unless the server was shut down."""
        assert self.folder is not None
        assert self.storage is not None
        outcome = self.folder.read(CONTROL, 0, PAGE)
        if outcome.error:
            return self._no_start(f'could not read file "{CONTROL}": {ERRNO[outcome.error][1]}', outcome.delay_ns)
        when = format_rfc3339(contents.checkpoint_ns).replace("T", " ").replace("Z", " UTC")
        if contents.clean:
            self.say("LOG", f"database system was shut down at {when}", 29)
            contents.clean = False
            return outcome.delay_ns
        self.say("LOG", f"database system was interrupted; last known up at {when}", 29)
        self.say("LOG", "database system was not properly shut down; automatic recovery in progress", 29)
        self.say("LOG", f"redo starts at {lsn(contents.position - contents.log_bytes)}", 29)
        delay = outcome.delay_ns
        for name, offset, size in self.storage.recovered():
            got = self.folder.read(name, offset, size)
            delay += got.delay_ns
            if got.error and got.error != "ENOENT":
                block = max(0, got.offset) // PAGE
                return self._no_start(f'could not read block {block} in file "{name}": {ERRNO[got.error][1]}', delay)
        replay = contents.log_bytes * SECOND // REPLAY_BYTES_PER_S
        seconds = (delay + replay) / SECOND
        self._redone = (
            f"redo done at {lsn(contents.position)} system usage: CPU: user: {replay / SECOND:.2f} s, "
            f"system: 0.00 s, elapsed: {seconds:.2f} s"
        )
        contents.log_bytes = 0
        return delay + replay

    def _no_start(self, why: str, delay_ns: int) -> int:
        """The startup process fails, once the drive has given up."""
        self._timer = self.container.sim.after(delay_ns, self._given_up, why)
        return FAILING

    def _given_up(self, why: str) -> None:
        self.say("PANIC", why, 29)
        self.say("LOG", "startup process (PID 29) was terminated by signal 6: Aborted")
        self.say("LOG", "aborting startup due to startup process failure")
        self.say("LOG", "database system is shut down")
        self.container.exit(1)

    def opened(self) -> None:
        """It accepts connections."""
        if self._redone:
            self.say("LOG", self._redone, 29)
        self.say("LOG", "database system is ready to accept connections")

    def _leave(self) -> None:
        self.say("LOG", "received fast shutdown request")
        self.say("LOG", "aborting any active transactions")
        self.say("LOG", "shutting down", 27)
        if self.storage is not None and self.contents is not None:
            self.storage.checkpoint(self.container.sim.now)
            self.contents.clean = True
        self.say("LOG", "database system is shut down")
        super()._leave()

    # --- the disk -------------------------------------------------------------------------

    def work(self, tick_ns: int, counts: list[int]) -> None:  # type: ignore[override]
        """A tick; sessions that are over end, checkpoints are logged."""
        if self.sessions:
            self._end_sessions()
        super().work(tick_ns, counts)
        if self.storage is not None and is_on(self.settings["log_checkpoints"]):
            begun = self.storage.checkpointing
            if begun and not self.checkpointing:
                self.say("LOG", "checkpoint starting: time", 27)
            self.checkpointing = begun

    def finished_checkpoints(self) -> None:
        """`checkpoint complete: ...`."""
        assert self.storage is not None
        assert self.contents is not None
        if not is_on(self.settings["log_checkpoints"]):
            return
        for each in self.storage.finished:
            if not self.checkpointing:
                self.say("LOG", f"checkpoint starting: {'time' if each.timed else 'wal'}", 27)
            self.checkpointing = False
            buffers = int(each.bytes) // PAGE
            share = 100.0 * each.bytes / self.storage.cache.capacity
            write, sync = each.write_ns / SECOND, each.sync_ns / SECOND
            distance = each.log_bytes >> 10
            position = self.contents.position
            self.say(
                "LOG",
                f"checkpoint complete: wrote {buffers} buffers ({share:.1f}%); 0 WAL file(s) added, 0 removed, "
                f"{each.log_bytes // SEGMENT} recycled; write={write:.3f} s, sync={sync:.3f} s, "
                f"total={write + sync:.3f} s; sync files={len(self.contents.databases)}, longest={sync:.3f} s, "
                f"average={sync:.3f} s; distance={distance} kB, estimate={distance} kB; lsn={lsn(position)}, "
                f"redo lsn={lsn(position - self.contents.log_bytes)}",
                27,
            )

    def trouble(self, trouble: Trouble) -> None:
        """A statement fails, or the server does."""
        assert self.storage is not None
        assert self.contents is not None
        if trouble.kind == "log":
            segment = self.storage.log_file()
            what = (
                f'could not fsync file "{segment}"'
                if trouble.error == "EIO"
                else f'could not write to file "{segment}"'
            )
            self._panic(what, trouble.error, "server process", 71)
            return
        name = self.storage.file_of(self.contents.databases[trouble.database])
        block = trouble.offset // PAGE
        if trouble.kind == "write":
            self._panic(f'could not fsync file "{name}"', trouble.error, "checkpointer process", 27)
        elif trouble.kind == "grow":
            text = f'could not extend file "{name}": {ERRNO[trouble.error][1]}'
            self._statement_failed(text, 1, "INSERT INTO " + self.first_table(trouble.database))
            for index, io in enumerate(self.io_models()):
                if io.grow:
                    self.refused[index] = text
        elif trouble.kind == "read":
            self._statement_failed(
                f'could not read block {block} in file "{name}": {ERRNO[trouble.error][1]}', trouble.reads
            )
        elif self.storage.verifies:
            seen, wanted = mix(block, 1) % 65536, mix(block, 2) % 65536
            self.say("WARNING", f"page verification failed, calculated checksum {seen} but expected {wanted}", 71)
            self._statement_failed(f"invalid page in block {block} of relation {name}", trouble.reads)

    def first_table(self, database: str) -> str:
        """A table's name, for the log."""
        described = self.behaviour.data.get(database)
        return described.tables[0] if described is not None else "data"

    def _statement_failed(self, text: str, count: int, statement: str = "") -> None:
        self._answers[""] = text
        database = next(iter(self.contents.databases), "") if self.contents is not None else ""
        for number in range(min(count, SPOKEN)):
            pid = 71 + number
            self.say("ERROR", text, pid)
            if "No space left" in text:
                self.say("HINT", "Check free disk space.", pid)
            self.say("STATEMENT", statement or f"SELECT * FROM {self.first_table(database)} WHERE id = $1", pid)

    def _panic(self, what: str, error: str, process: str, pid: int) -> None:
        """All processes end; the postmaster starts them anew, with a recovery."""
        self.say("PANIC", f"{what}: {ERRNO[error][1]}", pid)
        self.say("LOG", f"{process} (PID {pid}) was terminated by signal 6: Aborted")
        self.say("LOG", "terminating any other active server processes")
        server, self.server = self.server, None
        self.sessions.clear()
        self.connections.clear()
        self._holders.clear()
        self.checkpointing = False
        if server is not None:
            server.accepting = False
            self.traffic.leave(server)
        if not is_on(self.settings["restart_after_crash"]):
            self.say("LOG", "shutting down because restart_after_crash is off")
            self.container.exit(1)
            return
        self.say("LOG", "all server processes terminated; reinitializing")
        assert self.contents is not None
        assert self.storage is not None
        assert self.folder is not None
        before, cache = self.storage, self.storage.cache.emptied()
        self.storage = HeapStorage(self.folder, self.contents, cache, self.rules(), self.io_models())
        self.storage.described, self.storage.verifies = before.described, before.verifies
        self.storage.default = before.default
        delay = self._recover(self.contents)
        if delay != FAILING:
            self._timer = self.container.sim.after(delay + SECOND // 10, self._listen)

    # --- sessions and users ---------------------------------------------------------------

    def open_session(
        self, user: str, database: str, query: str, seconds: float, locks: tuple[tuple[str, str], ...] = ()
    ) -> int:
        """Somebody connects and stays for a while; its process id."""
        now = self.container.sim.now
        self.next_pid += 1
        until = -1 if seconds < 0 else now + int(seconds * SECOND)
        self.sessions[self.next_pid] = Session(self.next_pid, user, database, query, "active", now, until, locks)
        self.republish()
        return self.next_pid

    def end_session(self, pid: int) -> bool:
        """pg_terminate_backend; whether there was one."""
        found = self.sessions.pop(pid, None)
        if found is not None:
            self.say("FATAL", "terminating connection due to administrator command", pid)
            self.republish()
        return found is not None

    def _end_sessions(self) -> None:
        now = self.container.sim.now
        over = [pid for pid, session in self.sessions.items() if 0 <= session.until_ns <= now]
        for pid in over:
            del self.sessions[pid]
        if over:
            self.republish()

    def held_up(self, operation: int) -> int:
        """A lock that conflicts with what the operation needs."""
        if not self.sessions:
            return 0
        io = self.io_models()[operation]
        for session in self.sessions.values():
            for table, mode in session.locks:
                named = io.table or (self.first_table(io.data) if io.data else "")
                concerned = not named or table.rpartition(".")[2] == named.rpartition(".")[2]
                if concerned and (
                    mode == "ACCESS EXCLUSIVE" or (io.writes and mode not in ("ACCESS SHARE", "ROW SHARE"))
                ):
                    return HELD_NS
        return 0

    def most_connections(self) -> int:
        """Connections for others than superusers."""
        reserved = number_of(self.settings["superuser_reserved_connections"], 3)
        return number_of(self.settings["max_connections"], 100) - reserved

    def admit(self, user: str, password: str, database: str, call: CallSpec, caller: Server) -> str:
        """Connections, login, rights."""
        assert self.contents is not None
        if not self.seated(caller, self.most_connections() - len(self.sessions)):
            return "sorry, too many clients already"
        io = self.io_of(call)
        account = self.contents.accounts.find(user) if user else None
        if user:
            why = self.login(user, password, database)
            if why:
                return why
        self.logins[caller.identity] = (user, database)
        table = io.table or (self.first_table(io.data) if io.data else "")
        if account is not None and not account.superuser:
            revoked = account.settings.get(f"revoked {table.rpartition('.')[2]}", "")
            if table and (io.command or "SELECT") in revoked.split(","):
                return f"permission denied for table {table.rpartition('.')[2]}"
        read_only = self.settings["default_transaction_read_only"]
        if account is not None:
            read_only = account.settings.get("default_transaction_read_only", read_only)
        if io.writes and is_on(read_only):
            return f"cannot execute {io.command or 'INSERT'} in a read-only transaction"
        return ""

    def login(self, user: str, password: str, database: str = "") -> str:
        """Whether a user may connect over the network; the error's text if not."""
        assert self.contents is not None
        account = self.contents.accounts.find(user)
        trusted = self.environment.get("POSTGRES_HOST_AUTH_METHOD") == "trust"
        if account is None or (account.password != password and not trusted):
            return f'password authentication failed for user "{user}"'
        if not account.enabled:
            return f'role "{user}" is not permitted to log in'
        if database and database not in self.contents.databases:
            return f'database "{database}" does not exist'
        if account.limit == 0:
            return f'too many connections for role "{user}"'
        return ""

    def print_refusal(self, user: str, database: str, why: str, caller: Server) -> None:
        """The log's line."""
        pid = 80 + len(self._complained)
        statement = "permission denied" in why or "read-only" in why
        self.say("ERROR" if statement else "FATAL", why, pid)
        if "password authentication" in why:
            assert self.contents is not None
            rule = 'line 128: "host all all all scram-sha-256"'
            detail = f'Connection matched file "/var/lib/postgresql/data/pg_hba.conf" {rule}'
            if self.contents.accounts.find(user) is None:
                detail = f'Role "{user}" does not exist.\n\t{detail}'
            self.say("DETAIL", detail, pid)

    def run(self, argv: tuple[str, ...]) -> Outcome | None:
        """`psql`, `pg_isready`, `postgres --version`."""
        return self.run_with_input(argv, "")

    def run_with_input(self, argv: tuple[str, ...], stdin: str) -> Outcome | None:
        """The same with statements on standard input."""
        name = argv[0].rpartition("/")[2] if argv else ""
        if name == "postgres" and "--version" in argv:
            return Outcome(f"postgres (PostgreSQL) {self.version} (Debian {self.version}-1.pgdg12+1)\n")
        return psqlclient.run(self.container, self, argv, stdin)


def lsn(position: int) -> str:
    """A position in the WAL as PostgreSQL prints it: `0/15B0E38`."""
    return f"{position >> 32:X}/{position & 0xFFFFFFFF:X}"


def _version_of(image: str) -> str:
    """The version that a tag stands for."""
    tag = image.partition("@")[0].rpartition(":")[2] if ":" in image.rpartition("/")[2] else ""
    number = re.match(r"\d+(\.\d+)?", tag)
    minor = {"13": "13.22", "14": "14.19", "15": "15.14", "16": "16.10", "17": "17.6", "18": "18.0"}
    return "17.6" if number is None else minor.get(number[0], number[0])
