"""A document store in the manner of mongod with WiredTiger.

Data lie in one file a database (of its collections and indexes) below `/data/db`; changes go to a journal
that is flushed every 100 ms (by whoever asks for `j: true` at once); checkpoints come every 60 s or after
2 GB of journal. Blocks carry checksums. A block that cannot be read or is wrong, a journal that cannot be
written, a full or read-only disk end the process; the next one recovers from the journal.
Sources: MongoDB manual (storage.*, net.maxIncomingConnections, tickets), WiredTiger's messages.
Left out: replica sets, sharding, TTL and background index builds, the text log before 4.4.
"""

from __future__ import annotations

import re

from simcluster.engine import MILLISECOND, MINUTE, SECOND
from simcluster.engine.streams import mix
from simcluster.models.apps.stores.accounts import Account
from simcluster.models.apps.stores.contents import Contents, Database
from simcluster.models.apps.stores.demand import DataSet
from simcluster.models.apps.stores.folder import DataFolder
from simcluster.models.apps.stores.mongo import mongoclient
from simcluster.models.apps.stores.mongo.mongoline import script_of
from simcluster.models.apps.stores.mongo.mongolog import MongoLog, line_of, slow_attributes
from simcluster.models.apps.stores.mongo.mongorights import allows
from simcluster.models.apps.stores.mongo.mongoshell import MongoShell
from simcluster.models.apps.stores.pagecache import PageCache
from simcluster.models.apps.stores.program import FAILING, StoreProgram
from simcluster.models.apps.stores.settings import file_text, number_of, options_of
from simcluster.models.apps.stores.storage import Rules, Storage, Trouble
from simcluster.models.machine.storage import IoOutcome
from simcluster.models.traffic.cluster.operations import CallSpec, ServiceSpec
from simcluster.models.traffic.cluster.server import Server
from simcluster.models.userland.outcome import Outcome

#: Pages of 4 KiB blocks up; a leaf page on disk is 32 KiB at most before compression.
RULES = Rules(
    page=32 << 10,
    record=128,
    journal_ns=100 * MILLISECOND,
    durable=False,
    checkpoint_ns=MINUTE,
    checkpoint_log=2 << 30,
    spread_ns=0,
    depth=128,
)
LOG_FILE = "journal/WiredTigerLog.{number:010d}"
LOG_BYTES = 100 << 20
CATALOG = "WiredTiger.wt"
EXIT_ABRUPT, EXIT_CLEAN, EXIT_UNCAUGHT, EXIT_NEED_UPGRADE = 14, 0, 100, 62
#: Recovery applies so many bytes of journal a second once they are read.
REPLAY_BYTES_PER_S = 60 << 20
SLOW_NS = 100 * MILLISECOND
MOST_CONNECTIONS = 65536
_VERSIONS = ("3.6", "4.0", "4.2", "4.4", "5.0", "6.0", "7.0", "8.0")
_FLAGS = ("auth", "noauth", "bind_ip_all", "fork", "quiet", "directoryperdb", "ipv6", "journal", "nojournal")


class WiredTiger(Storage):
    """Files as WiredTiger names them."""

    def file_of(self, database: Database) -> str:
        """One file for the collections of a database."""
        return f"collection-{database.number}-{mix(self.contents.key, database.number) % 10**19}.wt"

    def log_file(self) -> str:
        """The journal's newest file; positions go on from the first start."""
        return LOG_FILE.format(number=1 + self.contents.position // LOG_BYTES)

    def log_step(self) -> int:
        """Files of 100 MB."""
        return LOG_BYTES


class MongodProgram(StoreProgram):
    """The main process of a mongo image."""

    log: MongoLog
    version = "7.0.14"
    auth = False
    tls = ""
    most_connections = MOST_CONNECTIONS

    def configure(self) -> bool:
        """Arguments, variables and mongod.conf."""
        spec = self.container.spec
        self.log = MongoLog(self.container)
        self.version = _version_of(spec.image)
        words = tuple(word for word in (*spec.command, *spec.args) if word != "mongod")
        self.options = options_of(words, _FLAGS)
        self._read_file(self.options.get("config") or self.options.get("f", ""))
        self.root = self.environment.get("MONGO_INITDB_ROOT_USERNAME", "")
        self.auth = "auth" in self.options or bool(self.root)
        self.tls = self.options.get("tlsMode", self.options.get("sslMode", "disabled"))
        self.most_connections = min(MOST_CONNECTIONS, number_of(self.options.get("maxConns", ""), MOST_CONNECTIONS))
        if "port" in self.options:
            self._ports = {number_of(self.options["port"], 27017): None}
        self.folder = DataFolder(self.container, self.options.get("dbpath", "/data/db"), "mongod")
        self._banner()
        return True

    def _read_file(self, path: str) -> None:
        text = file_text(self.container, path) if path else None
        for name, pattern in (
            *(("dbpath", r"dbPath:\s*(\S+)"), ("wiredTigerCacheSizeGB", r"cacheSizeGB:\s*(\S+)")),
            *(("maxConns", r"maxIncomingConnections:\s*(\d+)"), ("port", r"\bport:\s*(\d+)")),
            ("tlsMode", r"mode:\s*(\w+TLS)"),
        ):
            found = re.search(pattern, text or "")
            if found is not None:
                self.options.setdefault(name, found[1].strip("\"'"))
        if text and re.search(r"authorization:\s*[\"']?enabled", text):
            self.options.setdefault("auth", "true")

    def _banner(self) -> None:
        host = self.container.spec.pod_name
        attr = {"pid": 1, "port": next(iter(self._ports)), "dbPath": self.options.get("dbpath", "/data/db")}
        attr |= {"architecture": "64-bit", "host": host}
        self.log.say("I", "CONTROL", 4615611, "initandlisten", "MongoDB starting", attr)
        attr = {"buildInfo": {"version": self.version, "modules": [], "allocator": "tcmalloc"}}
        self.log.say("I", "CONTROL", 23403, "initandlisten", "Build Info", attr)
        shown = {"security": {"authorization": "enabled"}} if self.auth else {}
        attr = {"options": {"net": {"bindIp": "*"}, **shown}}
        self.log.say("I", "CONTROL", 21951, "initandlisten", "Options set by command line", attr)

    def cache_bytes(self) -> int:
        """`--wiredTigerCacheSizeGB`, or half of the memory above 1 GB, at least 256 MB."""
        said = self.options.get("wiredTigerCacheSizeGB", "")
        try:
            size = int(float(said) * (1 << 30)) if said else 0
        except ValueError:
            size = 0
        return size or max(256 << 20, (self.memory_limit() - (1 << 30)) // 2)

    def service_spec(self) -> ServiceSpec:
        """As described, with the storage engine's tickets as workers."""
        return self.behaviour.service(self._mix)

    # --- start and end --------------------------------------------------------------------

    def open_data(self) -> int:
        """Look for data, check their version, recover from the journal, run the first start's scripts."""
        assert self.folder is not None
        folder = self.folder
        contents = folder.contents(CATALOG)
        if folder.read_only or folder.denied:  # both are EACCES or EROFS to open(2), and one text
            return self._cannot_start(f"Attempted to create a lock file on a read-only directory: {folder.path}")
        delay = 0
        first = contents is None
        if contents is None:
            key = self.container.sim.streams.key("contents", self.container.container_id)
            contents = Contents("mongod", ".".join(self.version.split(".")[:2]), key)
            error = folder.allocate(CATALOG, 64 << 10) or folder.allocate(LOG_FILE.format(number=1), LOG_BYTES)
            if error:
                return self._io_failed("initandlisten", CATALOG, 0, error, write=True)
            folder.keep(contents)
        elif not self._understands(contents):
            return 0
        else:
            folder.keep(contents)
        self.contents = contents
        cache = PageCache(self.cache_bytes(), RULES.page)
        self.storage = WiredTiger(folder, contents, cache, RULES, self.io_models())
        self.storage.described = dict(self.behaviour.data)
        self._open_lines(contents)
        if not first:
            delay = self._open_files(contents)
        if self.container.running:
            contents.clean = False
            if first:
                self._first_start(contents)
        return delay

    def _open_lines(self, contents: Contents) -> None:
        if not contents.clean:
            attr = {"lockFile": f"{self.options.get('dbpath', '/data/db')}/mongod.lock"}
            text = "Detected unclean shutdown - Lock file is not empty"
            self.log.say("W", "STORAGE", 22271, "initandlisten", text, attr)
            self.log.say("W", "STORAGE", 22302, "initandlisten", "Recovering data from the last clean checkpoint.")
        config = (
            f"create,cache_size={self.cache_bytes() >> 20}M,session_max=33000,eviction=(threads_min=4,threads_max=4),"
            "config_base=false,statistics=(fast),log=(enabled=true,remove=true,path=journal,compressor=snappy),"
        )
        self.log.say("I", "STORAGE", 22315, "initandlisten", "Opening WiredTiger", {"config": config})

    def _understands(self, contents: Contents) -> bool:
        """Data of the version before can be used, older and newer ones not. Source: FCV checks at start-up."""
        mine, theirs = (_rank(v) for v in (self.version, contents.version))
        if theirs in (mine, mine - 1):
            contents.version = ".".join(self.version.split(".")[:2])
            return True
        text = (
            "Invalid featureCompatibilityVersion document in admin.system.version: "
            f'{{ _id: "featureCompatibilityVersion", version: "{contents.version}" }}. See '
            "https://docs.mongodb.com/master/release-notes/5.0-compatibility/#feature-compatibility."
        )
        attr = {"error": {"code": 4926900, "codeName": "Location4926900", "errmsg": text}}
        self.log.say("F", "CONTROL", 20573, "initandlisten", "Wrong mongod version", attr)
        self.container.exit(EXIT_NEED_UPGRADE)
        return False

    def _open_files(self, contents: Contents) -> int:
        """Read the catalog, each file's root, and the journal if it was not shut down; the time of it."""
        assert self.folder is not None
        assert self.storage is not None
        delay = 0
        files = [(CATALOG, 0, 4096)]
        files += [(self.storage.file_of(database), 0, 4096) for database in contents.databases.values()]
        if not contents.clean:
            files += self.storage.recovered()
        for name, offset, size in files:
            outcome = self.folder.read(name, offset, size)
            delay += outcome.delay_ns
            if outcome.corrupt or outcome.error:
                self._timer = self.container.sim.after(delay, self._open_failed, name, outcome)
                return FAILING
        if not contents.clean:
            text = "txn-recover: [WT_VERB_RECOVERY_PROGRESS] Recovering log 1 through 2"
            attr = {"message": text}
            self.log.say("I", "STORAGE", 22430, "initandlisten", "WiredTiger message", attr)
            delay += contents.log_bytes * SECOND // REPLAY_BYTES_PER_S
            contents.log_bytes = 0
        return delay

    def _open_failed(self, name: str, outcome: IoOutcome) -> None:
        """What was read at the start is wrong, or could not be read."""
        if outcome.corrupt:
            self.log.checksum("initandlisten", name, max(0, outcome.offset), 4096)
            self._abort()
        else:
            self._io_failed("initandlisten", name, max(0, outcome.offset), outcome.error)

    def _first_start(self, contents: Contents) -> None:
        """The image's entry point: the root user, then scripts of /docker-entrypoint-initdb.d."""
        if self.root:
            root = Account(self.root, self.environment.get("MONGO_INITDB_ROOT_PASSWORD", ""), "admin")
            root.grant("root", "admin")
            contents.accounts.add(root)
        shell = MongoShell(self, trusted=True)
        shell.database = self.environment.get("MONGO_INITDB_DATABASE", "test")
        for mount in self.container.mounts:
            for name, _ in mount.files:
                path = f"{mount.path.rstrip('/')}/{name}"
                if path.startswith("/docker-entrypoint-initdb.d/") and path.endswith((".js", ".sh")):
                    self.container.write(f"/usr/local/bin/docker-entrypoint.sh: running {path}")
                    _, error = shell.evaluate(script_of(path, file_text(self.container, path) or ""))
                    if error is not None:  # the entry point is a script with `set -e`
                        self.container.write(str(error))
                        self.container.exit(1)
                        return

    def opened(self) -> None:
        """It listens."""
        millis = (self.container.sim.now - self.container.started_ns) // MILLISECOND
        attr = {"durationMillis": millis}
        self.log.say("I", "STORAGE", 4795906, "initandlisten", "WiredTiger opened", attr)
        for address in ("/tmp/mongodb-27017.sock", "0.0.0.0"):
            self.log.say("I", "NETWORK", 23015, "listener", "Listening on", {"address": address})
        attr2 = {"port": next(iter(self._ports)), "ssl": "off" if self.tls == "disabled" else "on"}
        self.log.say("I", "NETWORK", 23016, "listener", "Waiting for connections", attr2)

    def _leave(self) -> None:
        attr = {"signal": 15, "error": "Terminated"}
        self.log.say("I", "CONTROL", 23377, "SignalHandler", "Received signal", attr)
        if self.storage is not None and self.contents is not None:
            self.storage.checkpoint(self.container.sim.now)
            self.contents.clean = True
        self.log.say("I", "STORAGE", 4795902, "SignalHandler", "Closing WiredTiger")
        self.log.say("I", "CONTROL", 20565, "SignalHandler", "Now exiting")
        self.log.say("I", "CONTROL", 23138, "SignalHandler", "Shutting down", {"exitCode": 0})
        super()._leave()

    def _cannot_start(self, why: str) -> int:
        attr = {"error": f"IllegalOperation: {why}"}
        self.log.say("E", "CONTROL", 20557, "initandlisten", "DBException in initAndListen, terminating", attr)
        self.container.exit(EXIT_UNCAUGHT)
        return 0

    # --- the disk -------------------------------------------------------------------------

    def trouble(self, trouble: Trouble) -> None:
        """WiredTiger survives none of these: it cannot know what else is wrong."""
        assert self.storage is not None
        assert self.contents is not None
        context = f"conn{12 + trouble.offset // 4096 % 40}"
        if trouble.kind == "log":
            self._log_failed(trouble.error)
            return
        name = self.storage.file_of(self.contents.databases[trouble.database])
        if trouble.kind == "corrupt":
            self.log.checksum(context, name, trouble.offset, 4096)
            self._abort()
        elif trouble.kind == "read":
            self._io_failed(context, name, trouble.offset, trouble.error)
        else:
            self._io_failed("Checkpointer", name, trouble.offset, trouble.error, write=True)

    def _io_failed(self, context: str, name: str, offset: int, error: str, *, write: bool = False) -> int:
        path = f"{self.options.get('dbpath', '/data/db')}/{name}"
        session = f"file:{name}, WT_SESSION.checkpoint" if write else f"file:{name}, WT_CURSOR.search"
        call = "__posix_file_write, 579" if write else "__posix_file_read, 440"
        what = "handle-write: pwrite: failed to write" if write else "handle-read: pread: failed to read"
        self.log.io_error(context, session, f"{call}: {path}", f"{what} 4096 bytes at offset {offset}", error)
        if write:
            self.log.panic(context, f"{session}: __wt_block_checkpoint, 412")
        else:
            self.log.invariant(context, error)
        return self._abort()

    def _log_failed(self, error: str) -> None:
        assert self.storage is not None
        path = f"{self.options.get('dbpath', '/data/db')}/{self.storage.log_file()}"
        what = "handle-sync: fdatasync" if error == "EIO" else "handle-write: pwrite: failed to write 16384 bytes"
        self.log.io_error("JournalFlusher", "WT_SESSION.log_flush", f"__posix_sync, 99: {path}", what, error)
        self.log.panic("JournalFlusher", "WT_SESSION.log_flush: __wt_log_force_sync, 317")
        self._abort()

    def _abort(self) -> int:
        self.container.exit(EXIT_ABRUPT)
        return 0

    def slow_from(self) -> int:
        """`slowms` is 100 unless somebody sets it."""
        return SLOW_NS

    def slow_text(self, index: int) -> str:
        """Commands that took longer than slowms are logged when they have ended."""
        io = self.io_models()[index]
        database = io.data or (self.storage.default if self.storage is not None else "test")
        command = io.command or list(self.behaviour.operations)[index].partition("-")[0]
        table = self.table_of(io.table, database)
        described = self.behaviour.data.get(database) or DataSet()
        attr = slow_attributes(command, f"{database}.{table}", described, io)
        text = line_of("{time_mongo}", "I", "COMMAND", 51803, f"conn{12 + index}", "Slow query", attr)
        for mark in ("latency_us", "latency_ms"):  # numbers, not texts
            text = text.replace(f'"{{{mark}}}"', f"{{{mark}}}")
        return text

    def table_of(self, table: str, database: str) -> str:
        """A collection's name."""
        described = self.behaviour.data.get(database)
        return table or (described.tables[0] if described is not None else "data")

    # --- users ----------------------------------------------------------------------------

    def login(self, user: str, password: str, database: str = "admin") -> str:
        """Authenticate; "" or the server's words. Users are looked for where they log in, then in `admin`."""
        accounts = self.contents.accounts if self.contents is not None else None
        account = None
        if accounts is not None:
            account = accounts.find(user, database or "admin") or accounts.find(user, "admin")
        return "" if account is not None and account.password == password else "Authentication failed."

    def refuses(self, user: str, database: str, command: str, table: str = "") -> str:
        """Why a user may not run a command; "" if he may or nobody is asked."""
        if not self.auth or self.contents is None:
            return ""
        accounts = self.contents.accounts
        if not user:
            return f"command {command} requires authentication"
        account = accounts.find(user, "admin") or accounts.find(user, database)
        if account is not None and allows(account, command, database):
            return ""
        shown = f'{command}: "{table}"' if table else f"{command}: 1"
        return f'not authorized on {database} to execute command {{ {shown}, $db: "{database}" }}'

    def admit(self, user: str, password: str, database: str, call: CallSpec, caller: Server) -> str:
        """Connections, TLS, login, rights."""
        if self.tls == "requireTLS":
            return "EOF"
        if not self.seated(caller, self.most_connections):
            return "EOF"
        if user:
            why = self.login(user, password)
            if why:
                return why
        io = self.io_of(call)
        database = database or io.data or "test"
        if self.storage is not None:
            if not self.storage.contents.databases:
                self.storage.default = database
            self.storage.open(database)
        command = io.command or call.operation.partition("-")[0]
        return self.refuses(user, database, command, self.table_of(io.table, database))

    def print_refusal(self, user: str, database: str, why: str, caller: Server) -> None:
        """The log's line."""
        address = caller.container.sandbox.address
        remote = f"{address}:{32768 + mix(self._key, len(self._complained)) % 28000}"
        context = f"conn{20 + len(self._complained)}"
        if "uthentication failed" in why:
            known = self.contents is not None and self.contents.accounts.find(user, "admin") is not None
            error = "AuthenticationFailed: SCRAM authentication failed, storedKey mismatch"
            if not known:
                error = f'UserNotFound: Could not find user "{user}" for db "admin"'
            attr = {
                "mechanism": "SCRAM-SHA-256",
                "speculative": False,
                "principalName": user,
                "authenticationDatabase": "admin",
                "remote": remote,
                "extraInfo": {},
                "error": error,
            }
            self.log.say("I", "ACCESS", 20249, context, "Authentication failed", attr)
        elif why == "EOF" and self.tls == "requireTLS":
            text = "The server is configured to only allow SSL connections"
            attr2 = {"error": {"code": 141, "codeName": "SSLHandshakeFailed", "errmsg": text}, "remote": remote}
            message = "Error receiving request from client. Ending connection from remote"
            self.log.say("I", "NETWORK", 22988, context, message, attr2)
        elif why == "EOF":
            attr3 = {"remote": remote, "connectionCount": self.open_connections()}
            message = "Connection refused because there are too many open connections"
            self.log.say("I", "NETWORK", 22942, "listener", message, attr3)
        else:
            attr4 = {"error": {"code": 13, "codeName": "Unauthorized", "errmsg": why}}
            self.log.say("I", "ACCESS", 20436, context, "Checking authorization failed", attr4)

    def run(self, argv: tuple[str, ...]) -> Outcome | None:
        """`mongosh`, `mongo`, `mongod --version`."""
        return self.run_with_input(argv, "")

    def run_with_input(self, argv: tuple[str, ...], stdin: str) -> Outcome | None:
        """The same with commands on standard input."""
        name = argv[0].rpartition("/")[2] if argv else ""
        if name == "mongod" and "--version" in argv:
            return Outcome(f"db version v{self.version}\n")
        legacy = _rank(self.version) < _rank("6.0")
        return mongoclient.run(self.container, self, argv, stdin, legacy=legacy)


def _version_of(image: str) -> str:
    """The version that a tag stands for."""
    tag = image.partition("@")[0].rpartition(":")[2] if ":" in image.rpartition("/")[2] else "latest"
    number = re.match(r"\d+(\.\d+)*", tag)
    full = {"4": "4.4.29", "4.4": "4.4.29", "5": "5.0.29", "5.0": "5.0.29", "6": "6.0.18", "6.0": "6.0.18"}
    full |= {"7": "7.0.14", "7.0": "7.0.14", "8": "8.0.3", "8.0": "8.0.3"}
    return "8.0.3" if number is None else full.get(number[0], number[0])


def _rank(version: str) -> int:
    """Position of a major version in the order of upgrades."""
    major = ".".join(version.split(".")[:2])
    return _VERSIONS.index(major) if major in _VERSIONS else len(_VERSIONS) - 1
