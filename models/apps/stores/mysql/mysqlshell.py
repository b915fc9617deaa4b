r"""`mysql`, `mysqladmin` and their statements: looks, settings, users, grants; printed as without a terminal.

Tables that people make hold rows (`relations`). Beside them are understood SHOW DATABASES, TABLES, VARIABLES, STATUS,
PROCESSLIST, GRANTS, ENGINE INNODB STATUS, REPLICA STATUS, USE, SELECT of constants, counts and `mysql.user`, SET
GLOBAL, CREATE, ALTER and DROP of users and databases, GRANT, REVOKE, KILL, BEGIN, COMMIT, ROLLBACK.
Anything else is answered by a syntax error. Sources: messages of MySQL 8.0 (client and server).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from simcluster.engine import format_rfc3339
from simcluster.models.apps.stores import clients
from simcluster.models.apps.stores.accounts import Account
from simcluster.models.apps.stores.clients import Connection, Place
from simcluster.models.apps.stores.contents import Database
from simcluster.models.apps.stores.demand import DataSet
from simcluster.models.apps.stores.settings import number_of
from simcluster.models.apps.stores.sql.relations import Relations
from simcluster.models.apps.stores.sql.sqlfunctions import constant
from simcluster.models.apps.stores.sql.sqlrefusals import MYSQL
from simcluster.models.apps.stores.sql.tables import Refused, Table, Unsupported, snapshot
from simcluster.models.machine.container import Container
from simcluster.models.userland.outcome import Outcome

if TYPE_CHECKING:
    from simcluster.models.apps.stores.mysql.mysqld import MysqldProgram

_NAMES = ("mysql", "mariadb", "mysqladmin", "mariadb-admin")
_OPTIONS = {
    **{"-h": "host", "--host": "host", "-P": "port", "--port": "port", "-u": "user", "--user": "user"},
    **{"-D": "database", "--database": "database", "-e": "script", "--execute": "script", "-S": "socket"},
}
_WARNING = "{}: [Warning] Using a password on the command line interface can be insecure.\n"
_SYSTEM = ("information_schema", "mysql", "performance_schema", "sys")
_LIKE = r"(?: like '([\w%]+)')?$"

_WRONG = "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version "
#: Statements about rows, and the table they are about.
_TARGET = re.compile(
    r"(insert(?: into)?|update|delete from|truncate(?: table)?|create table(?: if not exists)?|desc(?:ribe)?"
    r"|drop table(?: if exists)?|create (?:unique )?index \w+ on|select .*?\bfrom) ([\w.`]+)"
)


class MysqlError(Exception):
    """An error of the server: number, state, text."""

    def __init__(self, number: int, state: str, text: str) -> None:
        super().__init__(text)
        self.line = f"ERROR {number} ({state}) at line 1: {text}\n"


def run(container: Container, own: MysqldProgram | None, argv: tuple[str, ...], stdin: str) -> Outcome | None:
    """The command line; None if it is another program's."""
    variables, words = clients.unwrapped(container, argv)
    name = words[0].rpartition("/")[2] if words else ""
    if name not in _NAMES:
        return None
    place, script, rest = _place(words[1:], variables)
    if "admin" in name:
        place = place._replace(database="")
    warning = _WARNING.format(name) if place.password and any(w.startswith("-p") for w in words) else ""
    there = clients.connect(container, own, "mysqld", place.host, place.port or 3306)
    if there.program is None:
        text = _unreached(place, there)
        if "admin" in name:
            text = f"{name}: connect to server at '{place.host or 'localhost'}' failed\nerror: '{text}'"
        return Outcome("", f"{warning}{text}\n", 1)
    server: MysqldProgram = there.program  # type: ignore[assignment]
    user = place.user or "root"
    origin = "localhost" if there.local else container.sandbox.address
    why = _refusal(server, user, place, origin)
    if why:
        if "admin" in name:
            if rest[:1] == ["ping"]:
                return Outcome("mysqld is alive\n", warning)
            why = (
                f"{name}: connect to server at '{place.host or 'localhost'}' failed\nerror: '{why.partition(': ')[2]}'"
            )
        return Outcome("", f"{warning}{why}\n", 1)
    shell = MysqlShell(server, user, place.database)
    if "admin" in name:
        return Outcome(shell.admin(rest[0] if rest else ""), warning)
    done = shell.run(script if script is not None else stdin)
    return Outcome(done.stdout, warning + done.stderr, done.code)


def _place(words: tuple[str, ...], variables: dict[str, str]) -> tuple[Place, str | None, list[str]]:
    password: str | None = variables.get("MYSQL_PWD")
    kept = []
    for word in words:
        if word.startswith("--password="):
            password = word.partition("=")[2]
        elif word.startswith("-p") and not word.startswith("--"):
            password = word[2:]
        else:
            kept.append(word)
    found, rest = clients.options_from(tuple(kept), _OPTIONS)
    bare = [word for word in rest if not word.startswith("-")]
    port = found.get("port", "")
    host = found.get("host", variables.get("MYSQL_HOST", ""))
    database = found.get("database", bare[0] if bare else "")
    place = Place(host, int(port) if port.isdigit() else 0, found.get("user", ""), password, database)
    return place, found.get("script"), bare


def _unreached(place: Place, there: Connection) -> str:
    if there.outcome == "unknown host":
        return f"ERROR 2005 (HY000): Unknown MySQL server host '{place.host}' (-2)"
    if there.local and place.host in ("", "localhost"):
        socket = "/var/run/mysqld/mysqld.sock"
        return f"ERROR 2002 (HY000): Can't connect to local MySQL server through socket '{socket}' (2)"
    number = 110 if there.outcome == "timeout" else 111
    return f"ERROR 2003 (HY000): Can't connect to MySQL server on '{place.host}:{place.port or 3306}' ({number})"


def _refusal(server: MysqldProgram, user: str, place: Place, origin: str) -> str:
    assert server.contents is not None
    account = server.contents.accounts.find(user)
    if account is None or account.password != (place.password or "") or not account.enabled:
        used = "YES" if place.password else "NO"
        text = f"Access denied for user '{user}'@'{origin}' (using password: {used})"
        server.say("Note", "MY-010926", "Server", text)
        return f"ERROR 1045 (28000): {text}"
    full = server.open_connections() >= number_of(server.settings["max_connections"], 151)
    if full and not (account.superuser and server.has_spare()):
        return "ERROR 1040 (HY000): Too many connections"
    if place.database and place.database not in (*server.contents.databases, *_SYSTEM):
        return f"ERROR 1049 (42000): Unknown database '{place.database}'"
    return ""


class MysqlShell:
    """One session."""

    def __init__(self, program: MysqldProgram, user: str, database: str) -> None:
        self._program = program
        self._user = user
        self._database = database
        assert program.contents is not None
        self._contents = program.contents
        self._before: dict[str, dict[str, Table]] = {}  # tables of databases as they were when a transaction began

    def admin(self, command: str) -> str:
        """`mysqladmin ping | status | processlist | variables`."""
        program = self._program
        if command in ("status", "extended-status"):
            asked = int(math.fsum(program.storage.totals.values())) if program.storage is not None else 0  # a counter
            return (
                f"Uptime: {program.uptime_s()}  Threads: {1 + program.open_connections()}  Questions: {asked}  Slow "
                "queries: 0  Opens: 148  Flush tables: 3  Open tables: 67  Queries per second avg: "
                f"{asked / max(1, program.uptime_s()):.3f}\n"
            )
        if command == "processlist":
            return self._statement("show processlist")
        return "mysqld is alive\n" if command == "ping" else ""

    def run(self, script: str) -> Outcome:
        """Statements, one after the other, until one fails."""
        printed = ""
        for statement in script.split(";"):
            if statement.strip():
                try:
                    printed += self._statement(" ".join(statement.split()))
                except MysqlError as error:
                    return Outcome(printed, error.line, 1)
        return Outcome(printed)

    def _statement(self, text: str) -> str:
        low = text.lower()
        done = self._rowwise(text, low)
        if done is not None:
            return done
        for pattern, answer in _STATEMENTS:
            found = re.match(pattern, text, re.IGNORECASE)
            if found is not None:
                return str(answer(self, found))
        if low.startswith(("begin", "start transaction")):
            self._before = {name: snapshot(each.relations) for name, each in self._contents.databases.items()}
            return ""
        if low.startswith(("commit", "rollback")):
            for name, tables in self._before.items() if low.startswith("rollback") else ():
                self._contents.databases[name].relations = tables
            self._before = {}
            return ""
        if low.startswith(("flush", "set ")):
            return ""
        if low.startswith("select") and " from " not in low:
            return self._evaluated({}, self._database, text)
        near = text.split(maxsplit=1)[0]
        raise MysqlError(1064, "42000", f"{_WRONG}for the right syntax to use near '{near}' at line 1")

    # --- tables that people make ----------------------------------------------------------

    def _rowwise(self, text: str, low: str) -> str | None:
        """A statement about rows; None if it is none of a table of people's own."""
        found = _TARGET.match(low)
        if found is None:
            return None
        name = text[found.start(2) : found.end(2)].replace("`", "")
        space, _, table = name.rpartition(".")
        space = space or self._database
        if space.lower() in _SYSTEM:
            return None
        if not space:
            raise MysqlError(1046, "3D000", "No database selected")
        database = self._contents.databases.get(space)
        if database is None:
            raise MysqlError(1049, "42000", f"Unknown database '{space}'")
        if table in database.described.tables and table not in database.relations:
            if low.startswith("insert"):
                database.size += database.described.document * max(1, len(database.described.tables))
                return ""
            if re.match(r"select count\(\*\) from [\w.`]+$", low):
                return None
            raise _unsupported(f"{low.split(maxsplit=1)[0].upper()} of single rows of {table}")
        if low.startswith("desc"):
            return self._described(database, space, table)
        return self._evaluated(database.relations, space, text)

    def _functions(self) -> dict[str, Callable[..., object]]:
        program = self._program
        here = self._database or None
        fixed: dict[str, object] = {
            "currentversion": program.version, "version": program.version, "currentuser": f"{self._user}@%",
            "user": f"{self._user}@localhost", "currentdatabase": here, "database": here, "schema": here,
            "connection_id": 9 + program.open_connections(),
        }  # fmt: skip
        return {name: partial(constant, value) for name, value in fixed.items()}

    def _evaluated(self, tables: dict[str, Table], space: str, text: str) -> str:
        stamp = format_rfc3339(self._program.container.sim.now).replace("T", " ")[:-1]
        try:
            done = Relations(tables, "mysql", stamp, self._functions()).execute(text)
        except SyntaxError as error:
            raise MysqlError(1064, "42000", f"{_WRONG}for the right syntax to use near '{error}' at line 1") from None
        except Unsupported as error:
            raise _unsupported(str(error)) from None
        except Refused as error:
            number, state, form = MYSQL[error.why]
            raise MysqlError(number, state, form.format(*error.values, *[""] * 4, space=space)) from None
        return rows(done.heads, [[_shown(value) for value in row] for row in done.rows])

    def _described(self, database: Database, space: str, table: str) -> str:
        found = database.relations.get(table)
        if found is None:
            raise MysqlError(1146, "42S02", f"Table '{space}.{table}' doesn't exist")
        lines = []
        for each in found.columns:
            alone = "UNI" if (each.name,) in [one.columns for one in found.uniques] else ""
            key, extra = ("PRI" if each.name in found.key else alone), ("auto_increment" if each.counted else "")
            lines.append(
                (each.name, each.kind.lower(), "NO" if each.required else "YES", key, _shown(each.default), extra)
            )
        return rows(("Field", "Type", "Null", "Key", "Default", "Extra"), lines)

    # --- looks ----------------------------------------------------------------------------

    def databases(self, found: re.Match[str]) -> str:
        """SHOW DATABASES."""
        account = self._contents.accounts.find(self._user)
        names = (*self._contents.databases, *_SYSTEM) if account is not None and account.superuser else ()
        seen = names or (*self._contents.databases, "information_schema", "performance_schema")
        return rows(("Database",), [(name,) for name in sorted(seen)])

    def tables(self, found: re.Match[str]) -> str:
        """SHOW TABLES."""
        database = self._contents.databases.get(found[1] or self._database)
        if database is None:
            raise MysqlError(1046, "3D000", "No database selected")
        name = f"Tables_in_{found[1] or self._database}"
        return rows((name,), [(each,) for each in sorted({*database.described.tables, *database.relations})])

    def variables(self, found: re.Match[str]) -> str:
        """SHOW VARIABLES."""
        return listed(self._program.settings | {"version": self._program.version}, found[1])

    def status(self, found: re.Match[str]) -> str:
        """SHOW STATUS."""
        program, totals = self._program, {}
        if program.storage is not None:
            cache = program.storage.cache
            totals = {
                "Innodb_buffer_pool_reads": int(cache.misses),
                "Innodb_buffer_pool_read_requests": int(cache.hits + cache.misses),
                "Innodb_buffer_pool_bytes_dirty": int(cache.changed),
                "Innodb_os_log_fsyncs": int(program.storage.totals["fsyncs"]),
                "Innodb_os_log_written": int(program.storage.totals["log_bytes"]),
            }
        counted = {
            "Aborted_connects": len(program._complained), "Connections": 8 + program.open_connections(),
            "Max_used_connections": 1 + program.open_connections(), "Slow_queries": program.slow_queries,
            "Threads_connected": 1 + program.open_connections(), "Threads_running": 1 + int(program.server.in_flight)
            if program.server is not None else 1, "Uptime": program.uptime_s(), **totals,
        }  # fmt: skip
        return listed({name: str(value) for name, value in counted.items()}, found[1])

    def processes(self, found: re.Match[str]) -> str:
        """SHOW PROCESSLIST."""
        lines: list[tuple[str, ...]] = []
        for (_, pod, _), count in self._program.connections.items():
            for _ in range(count):
                lines.append((str(8 + len(lines)), "app", pod, self._database or "NULL", "Sleep", "0", "", "NULL"))
        mine = (str(9 + len(lines)), self._user, "localhost", self._database or "NULL", "Query", "0", "init")
        heads = ("Id", "User", "Host", "db", "Command", "Time", "State", "Info")
        return rows(heads, [*lines, (*mine, "show processlist")])

    def grants(self, found: re.Match[str]) -> str:
        """SHOW GRANTS."""
        name = found[1] or self._user
        account = self._contents.accounts.find(name)
        if account is None:
            raise MysqlError(1141, "42000", f"There is no such grant defined for user '{name}' on host '%'")
        given = [f"GRANT USAGE ON *.* TO `{name}`@`%`"]
        if account.superuser:
            given = [f"GRANT ALL PRIVILEGES ON *.* TO `{name}`@`%` WITH GRANT OPTION"]
        elif account.settings.get("grants", "all") == "all":
            given += [f"GRANT ALL PRIVILEGES ON `{each}`.* TO `{name}`@`%`" for each in self._contents.databases]
        return rows((f"Grants for {name}@%",), [(each,) for each in given])

    def engine(self, found: re.Match[str]) -> str:
        """SHOW ENGINE INNODB STATUS, in part."""
        storage = self._program.storage
        assert storage is not None
        position, cache = self._contents.position, storage.cache
        text = (
            "\\n=====================================\\nINNODB MONITOR OUTPUT\\n"
            "=====================================\\n"
            f"FILE I/O\\n{int(storage.totals['reads'])} OS file reads, {int(storage.totals['writes'])} OS file writes, "
            f"{int(storage.totals['fsyncs'])} OS fsyncs\\nLOG\\nLog sequence number          {position}\\n"
            f"Last checkpoint at           {position - self._contents.log_bytes}\\nBUFFER POOL AND MEMORY\\n"
            f"Buffer pool size   {cache.capacity // 16384}\\nModified db pages  {int(cache.changed) // 16384}\\n"
        )
        return rows(("Type", "Name", "Status"), [("InnoDB", "", text)])

    def select(self, found: re.Match[str]) -> str:
        """SELECT of a constant, of the version, of now, of a count."""
        what = found[1].strip()
        known = {"version()": self._program.version, "@@version": self._program.version, "user()": f"{self._user}@%"}
        known |= {"database()": self._database or "NULL", "@@hostname": self._program.container.spec.pod_name}
        known |= {"@@read_only": "1" if self._program.settings["read_only"].lower() in ("1", "on") else "0"}
        if what.lower() in known or what.isdigit():
            return rows((what,), [(known.get(what.lower(), what),)])
        if what.lower().startswith("@@"):
            value = self._program.settings.get(what.lower().rpartition(".")[2].lstrip("@"), "")
            return rows((what,), [(value,)])
        raise MysqlError(1054, "42S22", f"Unknown column '{what}' in 'field list'")

    def count(self, found: re.Match[str]) -> str:
        """SELECT ... FROM a table."""
        space, _, table = found[2].replace("`", "").rpartition(".")
        if (space, table) == ("mysql", "user"):
            heads = [each.strip() for each in found[1].split(",")]
            shown = [_user_row(each, heads) for each in self._contents.accounts.users.values()]
            return rows(heads, shown)
        name = space or self._database
        if not name:
            raise MysqlError(1046, "3D000", "No database selected")
        database = self._contents.databases.get(name)
        if database is None or table not in database.described.tables:
            raise MysqlError(1146, "42S02", f"Table '{name}.{table}' doesn't exist")
        if "count(" not in found[1].lower():
            return ""
        return rows((found[1].strip(),), [(str(database.documents // max(1, len(database.described.tables))),)])

    def nothing(self, found: re.Match[str]) -> str:
        """SHOW REPLICA STATUS of a server that replicates nothing, and so on."""
        return ""

    # --- changes --------------------------------------------------------------------------

    def use(self, found: re.Match[str]) -> str:
        """USE."""
        if found[1] not in (*self._contents.databases, *_SYSTEM):
            raise MysqlError(1049, "42000", f"Unknown database '{found[1]}'")
        self._database = found[1]
        return ""

    def set_global(self, found: re.Match[str]) -> str:
        """SET GLOBAL."""
        if found[1].lower() not in self._program.settings:
            raise MysqlError(1193, "HY000", f"Unknown system variable '{found[1]}'")
        self._program.settings[found[1].lower()] = found[2]
        self._program.republish()
        return ""

    def user(self, found: re.Match[str]) -> str:
        """CREATE USER, ALTER USER ... IDENTIFIED BY."""
        known = self._contents.accounts.find(found[2])
        if found[1].lower() == "create" and known is not None:
            raise MysqlError(1396, "HY000", f"Operation CREATE USER failed for '{found[2]}'@'%'")
        if found[1].lower() == "alter" and known is None:
            raise MysqlError(1396, "HY000", f"Operation ALTER USER failed for '{found[2]}'@'%'")
        account = known or Account(found[2], "")
        account.password = found[3]
        self._contents.accounts.add(account)
        self._program.republish()
        return ""

    def drop_user(self, found: re.Match[str]) -> str:
        """DROP USER."""
        if not self._contents.accounts.remove(found[1]):
            raise MysqlError(1396, "HY000", f"Operation DROP USER failed for '{found[1]}'@'%'")
        self._program.republish()
        return ""

    def create_database(self, found: re.Match[str]) -> str:
        """CREATE DATABASE."""
        if found[1] in self._contents.databases:
            raise MysqlError(1007, "HY000", f"Can't create database '{found[1]}'; database exists")
        described = self._program.behaviour.data.get(found[1]) or DataSet(size=8 << 20)
        self._contents.database(found[1], described)
        self._program.republish()
        return ""

    def grant(self, found: re.Match[str]) -> str:
        """GRANT and REVOKE of everything."""
        account = self._contents.accounts.find(found[2])
        if account is None:
            raise MysqlError(1410, "42000", "You are not allowed to create a user with GRANT")
        account.settings["grants"] = "all" if found[1].lower() == "grant" else "none"
        self._program.republish()
        return ""


def _unsupported(what: str) -> MysqlError:
    return MysqlError(1235, "42000", f"This version of MySQL doesn't yet support '{what}'")


def _shown(value: object) -> str:
    """A value as the client prints it."""
    return "NULL" if value is None else str(int(value)) if isinstance(value, bool) else str(value)


def _user_row(account: Account, heads: Sequence[str]) -> tuple[str, ...]:
    known = {"user": account.name, "host": "%", "account_locked": "N" if account.enabled else "Y"}
    return tuple(known.get(head.lower(), "") for head in heads)


def rows(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A result without a terminal: columns between tabulators; nothing at all if there are no lines."""
    return "".join("\t".join(line) + "\n" for line in (heads, *lines)) if lines else ""


def listed(values: dict[str, str], pattern: str | None) -> str:
    """Names and values that match a LIKE."""
    wanted = re.compile((pattern or "%").lower().replace("%", ".*"))
    found = [(name, values[name]) for name in sorted(values) if wanted.fullmatch(name.lower())]
    return rows(("Variable_name", "Value"), found)


_NAME = r"[`']?([\w-]+)[`']?(?:@[`'][^`']*[`'])?"
_STATEMENTS = (
    (r"show databases$", MysqlShell.databases),
    (r"show (?:full )?tables(?: (?:from|in) `?([\w-]+)`?)?$", MysqlShell.tables),
    (r"show (?:global |session )?variables" + _LIKE, MysqlShell.variables),
    (r"show (?:global |session )?status" + _LIKE, MysqlShell.status),
    (r"show (?:full )?processlist$", MysqlShell.processes),
    (r"show grants(?: for " + _NAME + r")?$", MysqlShell.grants),
    (r"show engine innodb status", MysqlShell.engine),
    (r"show (?:replica|slave|master|binary log)s? ?(?:status|hosts)?|show warnings|kill \d+", MysqlShell.nothing),
    (r"use `?([\w-]+)`?$", MysqlShell.use),
    (r"set global (\w+)\s*=\s*'?([\w.]+)'?", MysqlShell.set_global),
    (r"(create|alter) user (?:if not exists )?" + _NAME + r" identified (?:with \w+ )?by '([^']*)'", MysqlShell.user),
    (r"drop user (?:if exists )?" + _NAME, MysqlShell.drop_user),
    (r"create database (?:if not exists )?`?([\w-]+)`?", MysqlShell.create_database),
    (r"(grant|revoke) .+ on .+ (?:to|from) " + _NAME, MysqlShell.grant),
    (r"select (.+?) from ([\w.`]+)", MysqlShell.count),
    (r"select ([^ ]+)$", MysqlShell.select),
)
