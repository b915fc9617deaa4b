"""`redis-cli` and `valkey-cli`: where they connect to, and a bounded set of commands, printed as without a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.engine import SECOND
from simcluster.engine.clock import unix_seconds
from simcluster.engine.streams import mix
from simcluster.models.apps.stores import clients
from simcluster.models.apps.stores.redis import clientlist, clientmodes, introspection, scripts
from simcluster.models.apps.stores.redis.clientmodes import human as _human
from simcluster.models.apps.stores.redis.redisdata import COMMANDS
from simcluster.models.apps.stores.redis.redisdatabase import RedisDatabase
from simcluster.models.apps.stores.settings import number_of, size_of
from simcluster.models.machine.container import Container
from simcluster.models.userland.outcome import Outcome

if TYPE_CHECKING:
    from simcluster.models.apps.stores.redis.redis import RedisProgram

_HELP = "redis-cli 8.2.1\n\nUsage: redis-cli [OPTIONS] [cmd [arg [arg ...]]]\n"
_OPTIONS = {"-a": "password", "--pass": "password", "-h": "host", "-p": "port", "-n": "database", "-u": "url"}
_OPTIONS |= {"--user": "user", "-i": "interval", "-r": "repeat", "-t": "timeout", "-d": "delimiter", "-D": "delimiter"}
_OPTIONS |= {"--eval": "eval", **clientmodes.VALUED}
_WARNING = "Warning: Using a password with '-a' or '-u' option on the command line interface may not be safe.\n"
_WRITES = ("FLUSHALL", "FLUSHDB", *(name for name, known in COMMANDS.items() if known.writes))
_FREE = ("AUTH", "HELLO", "QUIT")
_LISTED = ("KEYS", "SCAN", "RANDOMKEY")
_SCRIPTS = ("EVAL", "EVAL_RO", "EVALSHA", "EVALSHA_RO", "SCRIPT")


def run(container: Container, own: RedisProgram | None, argv: tuple[str, ...]) -> Outcome | None:
    """The command line; None if it is another program's."""
    variables, words = clients.unwrapped(container, argv)
    name = words[0].rpartition("/")[2] if words else ""
    if name not in ("redis-cli", "valkey-cli"):
        return None
    index = 1  # options end at the command: what follows is its own
    while index < len(words) and words[index].startswith("-"):
        index += 2 if words[index] in _OPTIONS else 1
    found, flags = clients.options_from(words[1:index], _OPTIONS)
    if "--version" in flags or "-v" in flags:
        return Outcome(f"{name} {own.version if own is not None else '7.4.6'}\n")
    url = clients.url_of(found.get("url", "")) or clients.Place()
    said = found.get("password", url.password or "")
    password = said or variables.get("REDISCLI_AUTH", "")
    host, text = found.get("host", url.host), found.get("port", "")
    port = (
        int(text) if text.isdigit() else url.port or (next(iter(own._ports)) if own is not None and not host else 6379)
    )
    there = clients.connect(container, own, "redis", host, port)
    if there.program is None:
        whys = {"unknown host": "Name or service not known", "timeout": "Connection timed out"}
        why = whys.get(there.outcome, "Connection refused")
        return clients.failed(f"Could not connect to Redis at {host or '127.0.0.1'}:{port}: {why}")
    server: RedisProgram = there.program  # type: ignore[assignment]
    warning = _WARNING if said and "--no-auth-warning" not in flags else ""
    server.next_client += 1
    server.received += 1
    number, chosen = found.get("database", url.database or "0"), 0
    if number.isdigit() and int(number) < number_of(server.config["databases"], 16):
        chosen = int(number)
    elif number.removeprefix("-").isdigit():
        warning += f"SELECT {number} failed: ERR DB index is out of range\n"
    user = found.get("user", url.user)
    mode = next((flag for flag in flags if flag in clientmodes.MODES), "")
    if mode:
        why = server.refuses(user, password, "PING" if "latency" in mode else "SCAN", False)
        if why:
            return Outcome("", f"{warning}{'' if mode == '--scan' else chr(10)}Error: {why}\n", 1)
        done = clientmodes.run(server, chosen, mode, found)
        return done._replace(stderr=warning + done.stderr)
    if any(flag.startswith(("--latency", "--intrinsic")) for flag in flags):
        return Outcome("", f"{warning}Unrecognized option or bad number of args for: '{flags[0]}'\n", 1)
    if index >= len(words):
        return Outcome("" if flags else _HELP, warning)
    done = RedisCli(server, chosen).run(list(words[index:]), user, password)
    return Outcome(done.stdout, warning + done.stderr, done.code)


class RedisCli:
    """One call of the client."""

    def __init__(self, program: RedisProgram, database: int = 0) -> None:
        self._program = program
        self._number = database
        self._database = RedisDatabase(program, database)
        self._data = self._database.data
        self._login = ("", "")

    def run(self, words: list[str], user: str, password: str) -> Outcome:
        """One command, as a user."""
        self._login = (user, password)
        name = words[0].upper()
        why = "" if name in _FREE else self._program.refuses(user, password, name, name in _WRITES)
        if why:
            failed = f"AUTH failed: {why}\n" if why.startswith("WRONGPASS") else ""
            return Outcome(f"{'NOAUTH Authentication required.' if failed else why}\n", failed)
        answer = self._command(name, words)
        return Outcome(answer if answer.endswith("\n") else f"{answer}\n")

    def _slowlog(self, sub: str, rest: list[str]) -> str:
        """SLOWLOG GET [count], LEN, RESET: commands whose execution took longer than slowlog-log-slower-than."""
        slow = self._program.slow
        if sub == "RESET":
            slow.clear()
            return "OK"
        if sub == "LEN":
            return str(len(slow))
        count = int(rest[0]) if rest and rest[0].removeprefix("-").isdigit() else 10
        shown = slow[::-1] if count < 0 else slow[::-1][:count]
        lines = []
        for one in shown:
            lines += [str(one.number), str(one.epoch_s), str(one.took_us), *one.words.split(), "", ""]
        return "\n".join(lines)

    def _command(self, name: str, words: list[str]) -> str:
        program = self._program
        sub = words[1].upper() if len(words) > 1 else ""
        match name:
            case "PING":
                return words[1] if len(words) > 1 else "PONG"
            case "ECHO" if len(words) == 2:
                return words[1]
            case "INFO":
                return self._info(sub)
            case "DBSIZE":
                return str(len(self._database))
            case "CONFIG" if len(words) > 2 or sub in ("REWRITE", "RESETSTAT"):
                return self._config(sub, words[2:])
            case "CLIENT":
                said = clientlist.client(program, self._number, sub, words[2:])
                return self._unknown(words) if said is None else said
            case "OBJECT":
                return introspection.object_of(program, self._database, sub, words[2:])
            case "MEMORY" if sub:
                return introspection.memory(program, self._database, sub, words[2:])
            case "LATENCY" if sub:
                return introspection.latency(program, sub, words[2:])
            case _ if name in _SCRIPTS:
                return scripts.run(program.scripts, name, words[1:], self._called)
            case "SLOWLOG":
                return self._slowlog(sub, words[2:])
            case "ACL":
                return self._acl(sub, words[2:])
            case "BGSAVE":
                program.background_save()
                return "Background saving started"
            case "SAVE":
                return "ERR" if program.save() else "OK"
            case "LASTSAVE":
                return str(unix_seconds(program.saved_ns))
            case "FLUSHALL" | "FLUSHDB":
                for number in program.databases() if name == "FLUSHALL" else (self._number,):
                    RedisDatabase(program, number).flush()
                return "OK"
            case "SELECT" if len(words) == 2:
                if not sub.removeprefix("-").isdigit():
                    return "ERR value is not an integer or out of range"
                there = 0 <= int(sub) < number_of(program.config["databases"], 16)
                return "OK" if there else "ERR DB index is out of range"
            case "ROLE":
                return "master\n0\n"
            case "TIME":
                now = program.container.sim.now
                return f"{unix_seconds(now)}\n{now % SECOND // 1000}"
            case _ if name in COMMANDS or name in _LISTED:
                return self._key(name, words[1:])
            case _:
                return self._unknown(words)

    def _unknown(self, words: list[str]) -> str:
        name = words[0].upper()
        if name in ("CLIENT", "MEMORY", "CONFIG", "LATENCY"):
            return f"ERR unknown subcommand '{words[1] if len(words) > 1 else ''}'. Try {name} HELP."
        rest = "".join(f"'{word}' " for word in words[1:])
        return f"ERR unknown command '{words[0]}', with args beginning with: {rest}"

    def _called(self, words: list[str]) -> str:
        """A command that a script calls."""
        name = words[0].upper()
        return self._program.refuses(*self._login, name, name in _WRITES) or self._command(name, words)

    def _key(self, name: str, words: list[str]) -> str:
        """A command on keys that people have set."""
        data, writes = self._data, name in COMMANDS and COMMANDS[name].writes
        why = self._program.fails_with(0) if writes and name not in ("DEL", "UNLINK", "EXPIRE", "PEXPIRE") else ""
        if writes and not why and data.full(words):
            why = "OOM command not allowed when used memory > 'maxmemory'."
        return why or self._database.command(name, words)

    def _config(self, sub: str, words: list[str]) -> str:
        program = self._program
        if sub == "GET":
            pattern = words[0].lower()
            names = [n for n in program.config if n == pattern or pattern == "*" or _matches(pattern, n)]
            return "".join(f"{name}\n{_plain(name, program.config[name])}\n" for name in names)
        if sub == "SET" and len(words) == 2:
            name = words[0].lower()
            if name not in program.config:
                return f"ERR Unknown option or number of arguments for CONFIG SET - '{words[0]}'"
            program._set(name, words[1])
            program.limits()
            program.republish()
            return "OK"
        if sub == "RESETSTAT":
            return "OK"
        if sub == "REWRITE":
            return "ERR The server is running without a config file" if not program.config_file else "OK"
        return f"ERR unknown subcommand '{sub}'. Try CONFIG HELP."

    def _acl(self, sub: str, words: list[str]) -> str:
        program = self._program
        if sub == "LIST":
            lines = []
            for user in program.accounts.users.values():
                secret = "#" + "0" * 64 if user.password else "nopass"
                rules = " ".join(role for role, _ in user.roles) or "-@all"
                lines.append(f"user {user.name} {'on' if user.enabled else 'off'} {secret} ~* &* {rules}\n")
            return "".join(lines)
        if sub == "USERS":
            return "".join(f"{name}\n" for name in program.accounts.users)
        if sub == "WHOAMI":
            return "default"
        if sub == "SETUSER" and words:
            program.set_user(words)
            program.republish()
            return "OK"
        if sub == "DELUSER" and words:
            removed = len([word for word in words if word != "default" and program.accounts.remove(word)])
            program.republish()
            return str(removed)
        return f"ERR unknown subcommand '{sub}'. Try ACL HELP."

    def _info(self, section: str) -> str:
        program, keys = self._program, self._program.keyspace
        used = int(keys.bytes) + (1 << 20)
        seconds, spaces = program.uptime_s(), list[str]()
        for number in program.databases():
            database = RedisDatabase(program, number)
            held, (ends, mean) = len(database), database.expiring()
            spaces += [f"db{number}:keys={held},expires={ends},avg_ttl={mean}"] if held else []
        persisted = "err" if program.save_error else "ok"
        appended = "err" if program.append_error else "ok"
        parts = {
            "SERVER": ("Server", *_versions(program), "process_id:1",
                       f"tcp_port:{next(iter(program._ports))}", f"uptime_in_seconds:{seconds}"),
            "CLIENTS": ("Clients", f"connected_clients:{program.open_connections() + 1}",
                        f"maxclients:{program.config['maxclients']}", "blocked_clients:0"),
            "MEMORY": ("Memory", f"used_memory:{used}", f"used_memory_human:{_human(used)}",
                       f"used_memory_rss:{program.container.memory_bytes}",
                       f"used_memory_rss_human:{_human(program.container.memory_bytes)}",
                       f"used_memory_peak:{used}", f"used_memory_peak_human:{_human(used)}",
                       f"used_memory_dataset:{int(keys.bytes)}", f"total_system_memory:{program.memory_limit()}",
                       f"maxmemory:{keys.limit}", f"maxmemory_human:{_human(keys.limit)}",
                       f"maxmemory_policy:{program.config['maxmemory-policy']}",
                       f"mem_fragmentation_ratio:{max(1.0, program.container.memory_bytes / used):.2f}",
                       "mem_allocator:jemalloc-5.3.0"),
            "PERSISTENCE": ("Persistence", "loading:0", f"rdb_changes_since_last_save:{int(program.dirty)}",
                            "rdb_bgsave_in_progress:0",
                            f"rdb_last_save_time:{unix_seconds(program.saved_ns)}",
                            f"rdb_last_bgsave_status:{persisted}", "rdb_last_bgsave_time_sec:0",
                            f"aof_enabled:{int(program.config['appendonly'] == 'yes')}",
                            f"aof_last_write_status:{appended}"),
            "STATS": ("Stats", f"total_connections_received:{program.received}",
                      f"total_commands_processed:{int(program.commands)}",
                      f"instantaneous_ops_per_sec:{int(program.rate)}",
                      f"expired_keys:{sum(one.expired for one in program.databases().values())}",  # integers
                      f"keyspace_hits:{int(keys.hits)}",
                      f"keyspace_misses:{int(keys.misses)}", f"evicted_keys:{int(keys.evicted)}",
                      "rejected_connections:0"),
            "REPLICATION": ("Replication", "role:master", "connected_slaves:0", "master_failover_state:no-failover",
                            f"master_replid:{mix(program._key, 9):016x}{mix(program._key, 10):016x}00000000",
                            "master_replid2:0000000000000000000000000000000000000000", "master_repl_offset:0",
                            "second_repl_offset:-1", "repl_backlog_active:0", "repl_backlog_size:1048576"),
            "CPU": ("CPU", f"used_cpu_user:{program.container.cpu_ns / 1e9:.6f}"),
            "COMMANDSTATS": ("Commandstats", *_command_statistics(program)),
            "KEYSPACE": ("Keyspace", *spaces),
        }  # fmt: skip
        chosen = dict(parts) if section in ("", "ALL", "EVERYTHING", "DEFAULT") else {section: parts.get(section, ())}
        if section in ("", "DEFAULT"):
            del chosen["COMMANDSTATS"]
        return "\r\n".join("# " + "\r\n".join(lines) + "\r\n" for lines in chosen.values() if lines)


def _plain(name: str, value: str) -> str:
    """A setting as the server knows it: sizes in bytes."""
    return str(size_of(value) or 0) if name in ("maxmemory", "repl-backlog-size") else value


def _matches(pattern: str, name: str) -> bool:
    head, star, tail = pattern.partition("*")
    return bool(star) and name.startswith(head) and name.endswith(tail)


def _versions(program: RedisProgram) -> tuple[str, ...]:
    """Valkey names the last Redis that it is compatible with, too (REDIS_VERSION in version.h)."""
    if program.is_valkey:
        names = ("redis_version:7.2.4", "server_name:valkey", f"valkey_version:{program.version}")
        return (*names, "server_mode:standalone")
    return (f"redis_version:{program.version}", "redis_mode:standalone")


def _command_statistics(program: RedisProgram) -> list[str]:
    """By command: how often it was called and how long that took, its execution alone."""
    server, found = program.server, dict[str, tuple[int, int]]()
    if server is None:
        return []
    for name, io, count, operation in zip(
        program.behaviour.operations, program.io_models(), program.served, server.spec.operations, strict=True
    ):
        command = (io.command or name.partition("-")[0]).lower()
        calls, took_us = found.get(command, (0, 0))
        if count:
            found[command] = (calls + count, took_us + int(count * server.service_ns(operation)) // 1000)
    return [
        f"cmdstat_{name}:calls={calls},usec={took_us},usec_per_call={took_us / calls:.2f},rejected_calls=0,"
        "failed_calls=0"
        for name, (calls, took_us) in found.items()
    ]
