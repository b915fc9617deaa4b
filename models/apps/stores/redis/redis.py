"""A cache in the manner of Redis (or Valkey): keys in memory, a limit, snapshots and an append-only file.

Snapshots follow `save` (3600 1 300 100 60 10000); one that fails stops writes until one succeeds. With
`appendonly yes` writes go to a file whose fsync is everybody's (`always`), once a second, or nobody's.
Source: redis.conf, rdb.c, aof.c, acl.c of Redis 7 and 8. Left out: replication, cluster mode, scripts, TTLs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from simcluster.engine import MICROSECOND, SECOND
from simcluster.models.apps.startup import redis_time
from simcluster.models.apps.stores.accounts import Account, Accounts
from simcluster.models.apps.stores.caches.keyspace import Keyspace
from simcluster.models.apps.stores.contents import Contents
from simcluster.models.apps.stores.folder import IDEAL, DataFolder
from simcluster.models.apps.stores.mongo.mongolog import ERRNO
from simcluster.models.apps.stores.program import FAILING, POOL, StoreProgram
from simcluster.models.apps.stores.redis import rediscli
from simcluster.models.apps.stores.redis.clientlist import Seat
from simcluster.models.apps.stores.redis.countedkeys import CountedKeys
from simcluster.models.apps.stores.redis.redisdata import RedisData
from simcluster.models.apps.stores.settings import directives, file_text, is_on, number_of, size_of
from simcluster.models.apps.stores.storage import Cost
from simcluster.models.machine.container import Container
from simcluster.models.machine.storage import IoDemand, IoShare
from simcluster.models.traffic.cluster.distribution import Latency
from simcluster.models.traffic.cluster.operations import CallSpec
from simcluster.models.traffic.cluster.server import Server
from simcluster.models.userland.outcome import Outcome

DUMP = "dump.rdb"
#: Weight of the newest tick in what INFO calls operations per second.
_RECENT = 0.2
#: Under which name its contents keep which commands made its keys.
ASKED = "asked"
APPEND = "appendonlydir/appendonly.aof.1.incr.aof"
#: After a snapshot that failed the next is tried so much later (CONFIG_BGSAVE_RETRY_DELAY).
RETRY_NS = 5 * SECOND
#: An fsync under way for longer makes the main thread wait for it (2 s, aof.c).
LATE_FSYNC_NS = 2 * SECOND
#: Bytes a second that serialising a snapshot takes.
SAVE_BYTES_PER_S = 150 << 20
DEFAULTS = {
    "maxmemory": "0",
    "maxmemory-policy": "noeviction",
    "save": "3600 1 300 100 60 10000",
    "appendonly": "no",
    "appendfsync": "everysec",
    "stop-writes-on-bgsave-error": "yes",
    "maxclients": "10000",
    "requirepass": "",
    "dir": "/data",
    "dbfilename": DUMP,
    "timeout": "0",
    "tcp-keepalive": "300",
    "databases": "16",
    "slowlog-log-slower-than": "10000",
    "slowlog-max-len": "128",
    "latency-monitor-threshold": "0",
    "port": "6379",
    "protected-mode": "no",
    "bind": "* -::*",
    "loglevel": "notice",
}
MISCONF = (
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that "
    "may modify the data set are disabled, because this instance is configured to report errors during writes if RDB "
    "snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB "
    "error."
)
OOM = "OOM command not allowed when used memory > 'maxmemory'."
NOAUTH = "NOAUTH Authentication required."
WRONGPASS = "WRONGPASS invalid username-password pair or user is disabled."


class SlowCommand(NamedTuple):
    """An entry of SLOWLOG: id, Unix time, microseconds, words."""

    number: int
    epoch_s: int
    took_us: int
    words: str


class RedisProgram(StoreProgram):
    """The main process of a redis or valkey image.

    Attributes:
        config: settings by name; `keyspace` what is in memory.
        version: as it reports itself.
        saved_ns, dirty: the last snapshot and the writes since; `save_error` of the last attempt.
        counted: the keys in memory that nobody has set by hand.
        human: what people have set in database 0, and `others` in those of higher numbers.
        slow: commands of SLOWLOG, oldest first; slow_number: the next one's id.
        monitored_from: the first of them that the latency monitor has seen.
        seats: since when callers are connected; next_client: the id of the next connection; received: how
            many there have been.
        commands, rate: served since the start, and a second.
        scripts: what was loaded for EVALSHA, by its digest.
    """

    version = "8.2.1"
    config_file = ""
    config: dict[str, str]
    keyspace: Keyspace
    counted: CountedKeys
    save_error = ""
    append_error = ""
    saved_ns = 0
    _loading_ns = 0
    dirty = 0.0
    commands = 0.0
    rate = 0.0
    human: RedisData
    others: dict[int, RedisData]
    tells_in_log = False
    slow: list[SlowCommand]
    slow_number = 0
    monitored_from = 0
    seats: dict[tuple[str, str, str], Seat]
    next_client = 3
    received = 0
    scripts: dict[str, str]

    def configure(self) -> bool:
        """redis.conf and arguments."""
        self.slow, self.seats, self.scripts = [], {}, {}
        spec = self.container.spec
        self.version = _version_of(spec.image)
        self.config = dict(DEFAULTS)
        self.accounts = Accounts()
        self.human = RedisData(self.container.sim)
        self.others = {}
        default = Account("default", "")
        default.grant("+@all", "")
        self.accounts.add(default)
        words = [
            w for w in (*spec.command, *spec.args) if w.rpartition("/")[2] not in ("redis-server", "valkey-server")
        ]
        if words and not words[0].startswith("-"):
            self.config_file = words.pop(0)
            text = file_text(self.container, self.config_file)
            if text is None:
                self.container.write(
                    f"1:C {redis_time(self.container.sim.now)} # Fatal error, can't open config file "
                    f"'{self.config_file}': No such file or directory"
                )
                self.container.exit(1)
                return False
            self._set_all(directives(text))
        self._set_all(_arguments(words))
        self._bitnami()
        self._ports = {number_of(self.config["port"], 6379): None}
        self.keyspace = Keyspace(self.behaviour.data)
        self.counted = CountedKeys(self.keyspace, self.container.sim.now)
        self.limits()
        self.folder = DataFolder(self.container, self.config["dir"], "redis-server")
        return True

    def _bitnami(self) -> None:
        for name in ("REDIS_PASSWORD", "VALKEY_PASSWORD"):
            if self.environment.get(name) and not self.config["requirepass"]:
                self._set("requirepass", self.environment[name])

    def _set_all(self, pairs: list[tuple[str, str]]) -> None:
        saves = [value for name, value in pairs if name == "save" and value]
        for name, value in pairs:
            self._set(name, value)
        if len(saves) > 1:
            self.config["save"] = " ".join(saves)

    def _set(self, name: str, value: str) -> None:
        if name == "user":
            self.set_user(value.split())
        else:
            self.config[name] = value
            self.setting_changed(name)

    def setting_changed(self, name: str) -> None:
        """The password that all settings know is that of the user `default`."""
        if name == "latency-monitor-threshold":
            self.monitored_from = self.slow_number
        if name == "requirepass":
            self.accounts.users["default"].password = self.config.get(name, "")

    def set_user(self, words: list[str]) -> None:
        """ACL SETUSER name rules..."""
        account = self.accounts.find(words[0])
        if account is None:
            account = Account(words[0], "")
            account.enabled = False
            self.accounts.add(account)
        for rule in words[1:]:
            if rule in ("on", "off"):
                account.enabled = rule == "on"
            elif rule.startswith(">"):
                account.password = rule[1:]
            elif rule in ("nopass", "resetpass"):
                account.password = ""
            elif rule in ("allcommands", "nocommands"):
                account.roles = [("+@all" if rule == "allcommands" else "-@all", "")]
            elif rule[:1] in "+-":
                opposite = ("-" if rule[0] == "+" else "+") + rule[1:]
                account.roles = [role for role in account.roles if role[0] not in (rule, opposite)]
                account.roles.append((rule, ""))
            elif rule == "reset":
                account.roles, account.password, account.enabled = [], "", False

    def databases(self) -> dict[int, RedisData]:
        """What people have set, by the number of the database, in order."""
        return {0: self.human, **{number: self.others[number] for number in sorted(self.others)}}

    def database(self, number: int) -> RedisData:
        """What people have set in a database of a number."""
        return self.human if not number else self.others.setdefault(number, RedisData(self.container.sim))

    def limits(self) -> None:
        """Take the memory settings over."""
        self.keyspace.limit = size_of(self.config["maxmemory"]) or 0
        self.keyspace.evicts = self.config["maxmemory-policy"] not in ("noeviction",)

    def log(self, text: str, mark: str = "*") -> None:
        """A line of the main process."""
        self.container.write(f"1:M {redis_time(self.container.sim.now)} {mark} {text}")

    # --- start and end --------------------------------------------------------------------

    def open_data(self) -> int:
        """Load the snapshot."""
        assert self.folder is not None
        self.saved_ns = self.container.sim.now
        if self._locked():
            self.log(
                f"Fatal error: can't open the RDB file {self.config['dbfilename']} for reading: Permission denied", "#"
            )
            self.log("Fatal error loading the DB, check server logs. Exiting.", "#")
            self.container.exit(1)
            return FAILING
        contents = self.folder.contents(self.config["dbfilename"])
        if contents is None:
            self.contents = Contents("redis", self.version, self._key)
            self.counted.key = self._key
            return 0
        self.contents, self.counted.key = contents, contents.key
        for line in contents.settings.get(ASKED, "").splitlines():
            name, command, writes = line.rsplit(" ", 2)
            self.counted.asked.setdefault(name, {})[command] = writes == "1"
        outcome = self.folder.read(self.config["dbfilename"], 0, max(1, contents.snapshot_bytes))
        self.log(f"Loading RDB produced by version {contents.version}")
        if outcome.corrupt or outcome.error:
            self._timer = self.container.sim.after(outcome.delay_ns, self._unreadable, outcome.error)
            return FAILING
        for name, database in contents.databases.items():
            self.keyspace.used[name] = float(database.size)
        self._loading_ns = outcome.delay_ns + contents.snapshot_bytes * SECOND // SAVE_BYTES_PER_S
        return self._loading_ns

    def _locked(self) -> bool:
        """Whether nobody but root may read the snapshot: the image's entry point gives root up (gosu redis), and makes
        the files redis' own, but leaves their modes.
        """
        assert self.folder is not None
        as_root = bool(self.container.spec.command) and not self.container.uid
        return not as_root and not self.folder.mode(self.config["dbfilename"]) & 0o444

    def opened(self) -> None:
        """The snapshot is in memory."""
        if self._loading_ns:
            self.log(f"Done loading RDB, keys loaded: {self.keyspace.keys()}, keys expired: 0.")
            self.log(f"DB loaded from disk: {self._loading_ns / SECOND:.3f} seconds")

    def _unreadable(self, error: str) -> None:
        if error:
            self.log("Short read or OOM loading DB. Unrecoverable error, aborting now.", "#")
            text = "Internal error in RDB reading offset 0, function at rdb.c:3244 -> Unexpected EOF reading RDB file"
            self.log(text, "#")
        else:
            self.log("Wrong RDB checksum expected: (8c0a4f7f1e7d3b21) but got (51f3a90c77d20e66). Aborting now.", "#")
        self.log("Fatal error loading the DB, check server logs. Exiting.", "#")
        self.container.exit(1)

    def _leave(self) -> None:
        if self.config["save"]:
            self.log("Saving the final RDB snapshot before exiting.")
            why = self.save()
            if why:
                self.log("Error trying to save the DB, can't exit.", "#")
                self.draining = False
                return
            self.log("DB saved on disk")
        self.log("Redis is now ready to exit, bye bye...", "#")
        super()._leave()

    # --- a tick ---------------------------------------------------------------------------

    def slow_from(self) -> int:
        """`slowlog-log-slower-than` microseconds; negative: off."""
        text = self.config["slowlog-log-slower-than"]
        return int(text) * MICROSECOND if text.removeprefix("-").isdigit() and int(text) >= 0 else -1

    def slow_law(self, server: Server, index: int) -> Latency:
        """The slow log measures a command's execution: neither its wait nor that of the append-only file."""
        operation = self._at_rest[index]
        return Latency(server.service_ns(operation), server.service_variance(operation))

    def slow_text(self, index: int) -> str:
        """One entry as `tell_slow` takes it apart."""
        command = self.io_models()[index].command or list(self.behaviour.operations)[index].partition("-")[0]
        return f"{{epoch}} {{latency_us}} {command.upper()} {{session}}"

    def tell_slow(self, tick_ns: int, counts: Sequence[int]) -> None:
        """The slow log is a list in memory: the newest `slowlog-max-len` entries."""
        super().tell_slow(tick_ns, counts)
        for line in self.newly_slow():
            when, took, command = line.split(" ", 2)
            self.slow.append(SlowCommand(self.slow_number, int(when), int(took), command))
            self.slow_number += 1
        del self.slow[: max(0, len(self.slow) - number_of(self.config["slowlog-max-len"], 128))]

    def work(self, tick_ns: int, counts: Sequence[int]) -> None:
        """Keys come and go; snapshots and the append-only file are written."""
        self.tell_slow(tick_ns, counts)
        models = self.io_models()
        written, changes = 0.0, 0.0
        self.rate += _RECENT * (sum(counts) * SECOND / tick_ns - self.rate)  # integers
        for index, count in enumerate(counts):
            if count:
                io = models[index]
                self.commands += count
                self.keyspace.apply(io, count)
                if io.writes and not self.keyspace.full:
                    changes += count * io.writes
                    written += count * io.writes * (self.keyspace.described(io.data).document + 40)
        self.dirty += changes
        share = self._append(tick_ns, written, changes) if is_on(self.config["appendonly"]) else IDEAL
        if not self.container.running:
            return
        self._snapshot_if_due()
        self._tell_costs(share)
        self._grow()

    def _tell_costs(self, share: IoShare) -> None:
        """Writes are refused without memory or without a disk; they wait for the append-only file."""
        why = OOM if self.keyspace.full else self._persist_error()
        wait = 0.0
        if is_on(self.config["appendonly"]):
            if self.config["appendfsync"] == "always":
                wait = 1.5 * share.fsync.mean_ns
            elif share.fsync.mean_ns > LATE_FSYNC_NS:
                wait = float(share.fsync.mean_ns - LATE_FSYNC_NS) / 2.0
        self._answers[""] = why
        for index, io in enumerate(self.io_models()):
            failing = 1.0 if why and io.writes else 0.0
            cost = wait if io.writes or self.config["appendfsync"] != "always" else 0.0
            self._costs[index] = Cost(cost, cost * cost * (0.1 + share.fsync.cv2), failing)
        self.tell()

    def _persist_error(self) -> str:
        if self.append_error:
            return f"MISCONF Errors writing to the AOF file: {self.append_error}"
        if self.save_error and is_on(self.config["stop-writes-on-bgsave-error"]) and self.config["save"]:
            return MISCONF
        return ""

    def _append(self, tick_ns: int, written: float, changes: float) -> IoShare:
        """The append-only file's share of a tick."""
        assert self.folder is not None
        assert self.contents is not None
        if written <= 0.0:
            return IDEAL
        policy = self.config["appendfsync"]
        fsyncs = {"always": min(changes, 50.0), "everysec": tick_ns / SECOND}.get(policy, 0.0)
        demand = IoDemand(
            file=APPEND, writes=max(1.0, fsyncs), write_bytes=written, fsyncs=fsyncs, tick_ns=tick_ns, depth=1
        )
        share = self.folder.load("journal", demand)
        self.contents.append_bytes += int(written)
        if share.write_error:
            text = ERRNO[share.write_error][1]
            if policy == "always":
                error = "Can't recover from AOF write error when the AOF fsync policy is 'always'. Exiting..."
                self.log(f"Error writing to the AOF file: {text}", "#")
                self.log(error, "#")
                self.container.exit(1)
                return share
            if self.append_error != text:
                self.log(f"Error writing to the AOF file: {text}", "#")
            self.append_error = text
        elif self.append_error:
            self.append_error = ""
            self.log("AOF write error looks solved. The server can write again.", "#")
        if policy == "everysec" and share.fsync.mean_ns > LATE_FSYNC_NS:
            now = self.container.sim.now
            if now - self._complained.get("fsync", -(1 << 60)) >= 2 * SECOND:
                self._complained["fsync"] = now
                self.log(
                    "Asynchronous AOF fsync is taking too long (disk is busy?). Writing the AOF buffer without waiting "
                    "for fsync to complete, this may slow down Redis."
                )
        return share

    def _snapshot_if_due(self) -> None:
        now = self.container.sim.now
        words = self.config["save"].split()
        since = now - self.saved_ns
        if self.save_error and now - self._complained.get("save", 0) < RETRY_NS:
            return
        for seconds, changes in zip(words[::2], words[1::2], strict=False):
            if self.dirty >= number_of(changes, 1 << 60) and since >= number_of(seconds, 1 << 60) * SECOND:
                self.log(f"{changes} changes in {seconds} seconds. Saving...")
                self.background_save()
                return

    def background_save(self) -> None:
        """Fork, write, say how it went."""
        child = 20 + (self.container.sim.now // SECOND) % 20000
        self.log(f"Background saving started by pid {child}")
        why = self.save(child)
        if why:
            self.log("Background saving error", "#")
        else:
            self.log("Background saving terminated with success")

    def save(self, pid: int = 1) -> str:
        """Write a snapshot; why that failed, or ""."""
        assert self.folder is not None
        assert self.contents is not None
        size = int(self.keyspace.bytes) + 100
        now = self.container.sim.now
        outcome = self.folder.write(self.config["dbfilename"], 0, size)
        self._complained["save"] = now
        stamp = f"{pid}:{'C' if pid != 1 else 'M'} {redis_time(now)} #"
        if outcome.error:
            self.save_error = ERRNO[outcome.error][1]
            where = f"(in server root dir {self.config['dir']})"
            text = f"Write error saving DB on disk(rdbSaveRio): {self.save_error}"
            if outcome.error in ("EROFS", "EACCES"):
                text = f"Failed opening the temp RDB file temp-{pid}.rdb {where} for saving: {self.save_error}"
            self.container.write(f"{stamp} {text}")
            return self.save_error
        self.save_error, self.dirty, self.saved_ns = "", 0.0, now
        if pid != 1:
            self.container.write(f"{stamp[:-1]}* DB saved on disk")
        contents = self.contents
        contents.version, contents.snapshot_bytes, contents.clean = self.version, size, True
        contents.key = self.counted.key
        self.counted.hear(self.io_models(), self.served)
        contents.settings[ASKED] = "".join(
            f"{name} {command} {int(writes)}\n"
            for name, commands in self.counted.asked.items()
            for command, writes in commands.items()
        )
        for name, used in self.keyspace.used.items():
            contents.database(name, self.keyspace.described(name)).size = int(used)
        self.folder.keep(contents)
        return ""

    def _grow(self) -> None:
        """The memory of the process follows its keys."""
        set_by_hand = sum(one.bytes for one in self.databases().values())  # integers
        step, held = 256 << 10, int((self.keyspace.bytes + set_by_hand) * 1.05)
        memory = self.behaviour.memory + held // step * step
        if self.server is not None and memory != self.server.spec.memory_base:
            self.rebase(memory)

    # --- users ----------------------------------------------------------------------------

    def admit(self, user: str, password: str, database: str, call: CallSpec, caller: Server) -> str:
        """Clients, password, rights."""
        if not self.seated(caller, number_of(self.config["maxclients"], 10000)):
            return "ERR max number of clients reached"
        io = self.io_of(call)
        return self.refuses(user, password, io.command or call.operation, bool(io.writes))

    def seated(self, caller: Server, most: int) -> bool:
        """Connections get their ids, and their age begins."""
        found = super().seated(caller, most)
        who = caller.identity
        if found and (who not in self.seats or self.seats[who].container != self.holder(who).container_id):
            self.seats[who] = Seat(self.holder(who).container_id, self.container.sim.now, self.next_client)
            self.received += POOL
            self.next_client += 10 * POOL  # as many as its pool may grow to
        return found

    def holder(self, who: tuple[str, str, str]) -> Container:
        """In which container a caller runs."""
        return self._holders[who]

    @property
    def is_valkey(self) -> bool:
        """Whether it calls itself Valkey."""
        return "valkey" in self.container.spec.image.partition("@")[0]

    def refuses(self, user: str, password: str, command: str, writes: bool) -> str:
        """Why a command is not run, or ""."""
        default = self.accounts.users["default"]
        if not user and not password and default.password:
            return NOAUTH
        account = self.accounts.find(user or "default")
        if account is None or not account.enabled or (account.password or password) != password:
            return WRONGPASS
        allowed = False
        for rule, _ in account.roles:
            category = rule[1:].lower()
            if category in ("@all", command.lower()) or category == ("@write" if writes else "@read"):
                allowed = rule[0] == "+"
        name = user or "default"
        return "" if allowed else f"NOPERM User {name} has no permissions to run the '{command.lower()}' command"

    def run(self, argv: tuple[str, ...]) -> Outcome | None:
        """`redis-cli`, `redis-server --version`, and the same of Valkey."""
        name = argv[0].rpartition("/")[2] if argv else ""
        if name in ("redis-server", "valkey-server") and ("--version" in argv or "-v" in argv):
            kind = "Valkey" if self.is_valkey else "Redis"
            return Outcome(f"{kind} server v={self.version} sha=00000000:1 malloc=jemalloc-5.3.0 bits=64\n")
        return rediscli.run(self.container, self, argv)


def _version_of(image: str) -> str:
    """The version that a tag stands for."""
    repository, _, tag = image.partition("@")[0].rpartition(":")
    number = tag.partition("-")[0] if "/" not in tag else ""
    valkey = "valkey" in (repository or tag)
    newest = "9.0.1" if valkey else "8.2.1"
    full = {"6": "6.2.19", "6.2": "6.2.19", "7": "7.4.6", "7.0": "7.0.15", "7.2": "7.2.11", "7.4": "7.4.6"}
    full |= {"8": "8.1.4" if valkey else "8.2.1", "8.0": "8.0.6", "8.1": "8.1.4", "8.2": "8.2.1", "9": newest}
    return full.get(number, number if number[:1].isdigit() and number.count(".") == 2 else newest)


def _arguments(words: list[str]) -> list[tuple[str, str]]:
    """`--name value value` as directives."""
    found: list[tuple[str, str]] = []
    for word in words:
        if word.startswith("--"):
            found.append((word[2:].lower(), ""))
        elif found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {word}".strip().strip("\"'"))
    return found
