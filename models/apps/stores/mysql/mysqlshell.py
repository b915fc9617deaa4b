r"""A session with a MySQL server: SELECT, changes of rows and tables, settings, users, grants; SHOW is `mysqllooks`.

Tables that people make hold rows (`relations`). Beside them are understood USE, SELECT of values, of counts and of
system tables, SET, CREATE, ALTER and DROP of users and databases, GRANT, REVOKE, KILL, BEGIN, COMMIT, ROLLBACK.
Anything else is answered by a syntax error. Sources: messages of MySQL 8.0.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from typing import TYPE_CHECKING

from simcluster.engine import SECOND
from simcluster.models.apps.stores.accounts import Account
from simcluster.models.apps.stores.contents import Database
from simcluster.models.apps.stores.demand import DataSet
from simcluster.models.apps.stores.mysql import informationschema, mysqllooks
from simcluster.models.apps.stores.mysql.informationschema import SYSTEM
from simcluster.models.apps.stores.mysql.mysqlerrors import MysqlError, denied, misspelt, unsupported
from simcluster.models.apps.stores.mysql.mysqlprinting import Answer, Form, Value, printed
from simcluster.models.apps.stores.mysql.mysqlscripts import statements
from simcluster.models.apps.stores.mysql.mysqlsessions import Thread, threads
from simcluster.models.apps.stores.mysql.mysqltables import stamp, tables_of
from simcluster.models.apps.stores.mysql.mysqlvariables import (
    default_of,
    kind_of,
    normal,
    refused_value,
    release,
    status,
    variables,
)
from simcluster.models.apps.stores.sql.relations import Relations
from simcluster.models.apps.stores.sql.sqlfunctions import constant
from simcluster.models.apps.stores.sql.sqlrefusals import MYSQL
from simcluster.models.apps.stores.sql.tables import Refused, Table, Unsupported, snapshot
from simcluster.models.userland.outcome import Outcome

if TYPE_CHECKING:
    from simcluster.models.apps.stores.mysql.mysqlserver import MysqlServer

#: Statements about rows, and the table they are about.
_TARGET = re.compile(
    r"(insert(?: into)?|update|delete from|truncate(?: table)?|create table(?: if not exists)?"
    r"|drop table(?: if exists)?|create (?:unique )?index \w+ on|select .*?\bfrom) ([\w.`-]+)"
)
_COUNT = re.compile(
    r"select (count\((?:\*|\d+|`?\w+`?)\))(?: (?:as )?`?(\w+)`?)? from [\w.`-]+(?: (?:as )?\w+)?$", re.I
)
#: First words of statements that exist and do nothing here.
_QUIET = ("flush", "reset", "lock tables", "unlock tables", "analyze table", "optimize table", "set names")


class MysqlShell:
    """One session.

    Attributes:
        program, contents: the server and what it keeps; user: who asks; database: in which; own: session variables.
    """

    def __init__(self, program: MysqlServer, user: str, database: str, origin: str = "localhost") -> None:
        self.program = program
        self.user = user
        self.database = database
        self.own: dict[str, str] = {}
        assert program.contents is not None
        self.contents = program.contents
        self._origin = origin
        self._asked = ""
        self._seconds = 0.0
        self._before: dict[str, dict[str, Table]] = {}  # tables of databases as they were when a transaction began

    def threads(self) -> list[Thread]:
        """All sessions of the server; this one is the last."""
        return threads(self.program, self.user, self._origin, self.database, self._asked)

    def admin(self, command: str) -> str | None:
        """`mysqladmin ping | status | processlist | variables | ...`; None: it has no such command."""
        program, known = self.program, status(self.program)
        match command.lower():
            case "ping":
                return "mysqld is alive\n"
            case "status":
                asked, up = int(known["Questions"]), max(1, program.uptime_s())
                return (
                    f"Uptime: {program.uptime_s()}  Threads: {known['Threads_connected']}  Questions: {asked}  Slow "
                    f"queries: {known['Slow_queries']}  Opens: 148  Flush tables: 3  Open tables: 67  Queries per "
                    f"second avg: {asked / up:.3f}\n"
                )
            case "processlist" | "proc":
                return printed(self._answer("show processlist"), Form(table=True))
            case "variables" | "var":
                return printed(self._answer("show variables"), Form(table=True))
            case "extended-status":
                return printed(self._answer("show global status"), Form(table=True))
            case "version" | "ver":
                return self._version(known)
            case "flush-hosts" | "flush-logs" | "flush-privileges" | "flush-tables" | "refresh" | "reload":
                return ""
        return None

    def _version(self, known: dict[str, str]) -> str:
        server = variables(self.program)
        days, rest = divmod(int(known["Uptime"]), 86_400)
        parts = [(days, "day"), (rest // 3600, "hour"), (rest // 60 % 60, "min"), (rest % 60, "sec")]
        lasting = " ".join(f"{n} {unit}{'s' if n > 1 and unit in ('day', 'hour') else ''}"
                           for n, unit in parts if n or unit == "sec")  # fmt: skip
        return (
            f"Server version\t\t{server['version']}\nProtocol version\t10\nConnection\t\tLocalhost via UNIX socket\n"
            f"UNIX socket\t\t{server['socket']}\nUptime:\t\t\t{lasting}\n\n"
            f"Threads: {known['Threads_connected']}  Questions: {known['Questions']}  Slow queries: "
            f"{known['Slow_queries']}\n"
        )

    def run(self, script: str, form: Form | None = None, *, force: bool = False) -> Outcome:
        """Statements, one after the other, until one fails (or all of them: `--force`)."""
        shown, said, form = "", "", form or Form()
        for sent in statements(script):
            try:
                answer = self._answer(sent.text)
            except MysqlError as error:
                said += error.line(sent.line)
                if not force:
                    return Outcome(shown, said, 1, int(self._seconds * SECOND))
                continue
            shown += printed(answer, Form(form.table, form.vertical or sent.vertical, form.bare,
                                          form.raw or sent.vertical))  # fmt: skip
        return Outcome(shown, said, 0, int(self._seconds * SECOND))

    def _answer(self, text: str) -> Answer:
        """What a statement gives. Raises MysqlError."""
        self._asked = text
        text, low = text.strip(), text.strip().lower()
        if low[7:].isdigit() and low.startswith("select "):  # what probes ask
            return Answer((text[7:].strip(),), [(int(low[7:]),)])
        done = self._rowwise(text, low)
        if done is not None:
            return done
        for pattern, look in mysqllooks.STATEMENTS:
            found = re.match(pattern, text, re.IGNORECASE)
            if found is not None:
                return look(mysqllooks.Looks(self), found)
        for change, made in _CHANGES:
            found = re.match(change, text, re.IGNORECASE)
            if found is not None:
                made(self, found)
                return Answer()
        if low.startswith(("begin", "start transaction")):
            self._before = {name: snapshot(each.relations) for name, each in self.contents.databases.items()}
            return Answer()
        if low.startswith(("commit", "rollback")):
            for name, tables in self._before.items() if low.startswith("rollback") else ():
                self.contents.databases[name].relations = tables
            self._before = {}
            return Answer()
        if low.startswith(_QUIET):
            return Answer()
        if low.startswith("set "):
            return self._set(text)
        if low.startswith("select"):
            return self._evaluated({}, self.database, text)
        shown = low.startswith("show ")
        raise misspelt(text, 5 if shown else 0)

    # --- tables ---------------------------------------------------------------------------

    def _rowwise(self, text: str, low: str) -> Answer | None:
        """A statement about rows; None if it is none."""
        found = _TARGET.match(low)
        if found is None:
            return None
        name = text[found.start(2) : found.end(2)].replace("`", "")
        space, _, table = name.rpartition(".")
        space = space or self.database
        if space.lower() in SYSTEM:
            return self._of_system(space, table, text, low)
        if not space:
            raise MysqlError(1046, "3D000", "No database selected")
        database = self.contents.databases.get(space)
        if database is None:
            raise MysqlError(1049, "42000", f"Unknown database '{space}'")
        if not low.startswith("select"):
            self._may_write()
        if table in database.described.tables and table not in database.relations:
            return self._of_described(database, table, text, low)
        views = informationschema.tables(self.program, self.user, text, space, self.threads())
        return self._evaluated({**views, **database.relations} if views else database.relations, space, text)

    def _may_write(self) -> None:
        account = self.contents.accounts.find(self.user)
        option = self.program.read_only_for(superuser=account is not None and account.superuser)
        if option:
            text = f"The MySQL server is running with the {option} option so it cannot execute this statement"
            raise MysqlError(1290, "HY000", text)

    def _of_described(self, database: Database, table: str, text: str, low: str) -> Answer:
        """A statement about a table of the application, whose rows are no values."""
        if low.startswith("insert"):
            database.size += database.described.document * max(1, len(database.described.tables))
            return Answer()
        counted = _COUNT.match(text)
        if counted is not None:
            rows = database.documents // max(1, len(database.described.tables))
            return Answer((counted[2] or counted[1],), [(rows,)])
        if low.startswith("create table if not exists"):
            return Answer()
        if low.startswith("create table"):
            raise MysqlError(1050, "42S01", f"Table '{table}' already exists")
        if low.startswith("select"):  # what it names is looked at first
            self._evaluated(tables_of(database), database.name, text)
        raise unsupported(f"{low.split(maxsplit=1)[0].upper()} of single rows of {table}")

    def _of_system(self, space: str, table: str, text: str, low: str) -> Answer:
        """A SELECT from a table of the server's own."""
        if not low.startswith("select"):
            raise MysqlError(1044, "42000", f"Access denied for user '{self.user}'@'%' to database '{space}'")
        views = informationschema.tables(self.program, self.user, text, space, self.threads())
        if not any(each.lower() == table.lower() for each in views):
            unknown = space.lower() == "information_schema"
            name = table.upper() if unknown else table
            raise (
                MysqlError(1109, "42S02", f"Unknown table '{name}' in information_schema")
                if unknown
                else MysqlError(1146, "42S02", f"Table '{space}.{name}' doesn't exist")
            )
        done = self._evaluated(views, space, text)
        if space.lower() != "information_schema" or release(self.program) < (8, 0):
            return done
        names = {column.name.lower(): column.name for each in views.values() for column in each.columns}
        return done._replace(heads=[names.get(head.lower(), head) for head in done.heads])

    def _functions(self) -> dict[str, Callable[..., object]]:
        program = self.program
        here = self.database or None
        who = f"{self.user}@{self._origin}"
        fixed: dict[str, object] = {
            "currentversion": program.version, "version": program.version, "currentuser": f"{self.user}@%",
            "user": who, "session_user": who, "sessionuser": who, "system_user": who, "currentdatabase": here,
            "database": here, "schema": here, "currentschema": here, "connection_id": self.threads()[-1].number,
            "last_insert_id": 0, "row_count": -1, "found_rows": 0,
        }  # fmt: skip
        return {
            **{name: partial(constant, value) for name, value in fixed.items()},
            "@@": self._variable, "sleep": self._sleep, "div": _quotient, "round": _rounded,
        }  # fmt: skip

    def _variable(self, scope: str, name: str) -> Value:
        """`@@global.name`, `@@session.name`, `@@name`."""
        key = name.lower()
        known = variables(self.program)
        if key not in known:
            raise MysqlError(1193, "HY000", f"Unknown system variable '{name}'")
        if scope.lower() in ("session", "local") and kind_of(key) != "session":
            raise MysqlError(1238, "HY000", f"Variable '{name}' is a GLOBAL variable")
        value = known[key] if scope.lower() == "global" else {**known, **self.own}[key]
        switch = {"ON": 1, "OFF": 0}.get(value)
        if switch is not None and key not in ("gtid_mode", "event_scheduler", "query_cache_type"):
            return switch
        return int(value) if value.isdigit() else value

    def _sleep(self, seconds: Value) -> int:
        self._seconds += float(seconds)
        return 0

    def _evaluated(self, tables: dict[str, Table], space: str, text: str) -> Answer:
        now = stamp(self.program.container.sim.now)
        try:
            done = Relations(tables, "mysql", now, self._functions()).execute(text)
        except SyntaxError as error:
            raise misspelt(text, error.offset or 0) from None
        except Unsupported as error:
            raise unsupported(str(error)) from None
        except Refused as error:
            number, state, form = MYSQL[error.why]
            why = form.format(*error.values, *[""] * 4, space=space, clause=error.clause)
            raise MysqlError(number, state, why) from None
        return Answer(done.heads, done.rows)

    # --- changes --------------------------------------------------------------------------

    def use(self, found: re.Match[str]) -> None:
        """USE."""
        if found[1] not in (*self.contents.databases, *SYSTEM):
            raise MysqlError(1049, "42000", f"Unknown database '{found[1]}'")
        self.database = found[1]

    def _set(self, text: str) -> Answer:
        """SET of system variables, one or more; others are the session's own business."""
        for part in re.split(r",(?=(?:[^']*'[^']*')*[^']*$)", text[4:]):
            found = re.match(r"\s*(?:(global|session|local|persist)\s+|@@(?:(global|session|local|persist)\.)?)?(\w+)"
                             r"\s*:?=\s*(.+?)\s*$", part, re.IGNORECASE)  # fmt: skip
            if found is not None:
                self._assign((found[1] or found[2] or "session").lower(), found[3], found[4].strip("'\""))
            elif not re.match(r"\s*(@\w|names|character|session transaction|transaction|password|role)", part, re.I):
                raise misspelt(text, 4)
        return Answer()

    def _assign(self, scope: str, name: str, value: str) -> None:
        key, program = name.lower(), self.program
        kind = kind_of(key) if key in variables(program) else ""
        if not kind:
            raise MysqlError(1193, "HY000", f"Unknown system variable '{name}'")
        if kind == "fixed":
            raise MysqlError(1238, "HY000", f"Variable '{key}' is a read only variable")
        whole = scope in ("global", "persist")
        if not whole and kind == "global":
            raise MysqlError(1229, "HY000", f"Variable '{key}' is a GLOBAL variable and should be set with SET GLOBAL")
        account = self.contents.accounts.find(self.user)
        if whole and not (account is not None and account.superuser):
            raise denied("SUPER" if release(program) < (8, 0) else "SUPER or SYSTEM_VARIABLES_ADMIN")
        if value.lower() == "default":
            value = default_of(key)
        elif refused_value(key, value):
            if normal(key, "1") == "ON":
                raise MysqlError(1231, "42000", f"Variable '{key}' can't be set to the value of '{value}'")
            raise MysqlError(1232, "42000", f"Incorrect argument type to variable '{key}'")
        if not whole:
            self.own[key] = normal(key, value)
            return
        program.settings[key] = normal(key, value)
        program.named.setdefault(key, value)
        if key == "super_read_only" and normal(key, value) == "ON":
            program.settings["read_only"] = "ON"
        if key == "read_only" and normal(key, value) == "OFF":
            program.settings["super_read_only"] = "OFF"
        program.republish()

    def alter_user(self, found: re.Match[str]) -> None:
        """CREATE USER, ALTER USER ... IDENTIFIED BY."""
        known = self.contents.accounts.find(found[2])
        if found[1].lower() == "create" and known is not None:
            if " if not exists " in f" {found[0].lower()} ":
                return
            raise MysqlError(1396, "HY000", f"Operation CREATE USER failed for '{found[2]}'@'%'")
        if found[1].lower() == "alter" and known is None:
            raise MysqlError(1396, "HY000", f"Operation ALTER USER failed for '{found[2]}'@'%'")
        account = known or Account(found[2], "")
        account.password = found[3]
        self.contents.accounts.add(account)
        self.program.republish()

    def drop_user(self, found: re.Match[str]) -> None:
        """DROP USER."""
        if not self.contents.accounts.remove(found[1]) and " if exists " not in found[0].lower():
            raise MysqlError(1396, "HY000", f"Operation DROP USER failed for '{found[1]}'@'%'")
        self.program.republish()

    def create_database(self, found: re.Match[str]) -> None:
        """CREATE DATABASE."""
        if found[1] in self.contents.databases:
            if " if not exists " in found[0].lower():
                return
            raise MysqlError(1007, "HY000", f"Can't create database '{found[1]}'; database exists")
        described = self.program.behaviour.data.get(found[1]) or DataSet(size=8 << 20)
        self.contents.database(found[1], described)
        self.program.republish()

    def grant(self, found: re.Match[str]) -> None:
        """GRANT and REVOKE of everything."""
        account = self.contents.accounts.find(found[2])
        if account is None:
            raise MysqlError(1410, "42000", "You are not allowed to create a user with GRANT")
        account.settings["grants"] = "all" if found[1].lower() == "grant" else "none"
        self.program.republish()

    def drop_database(self, found: re.Match[str]) -> None:
        """DROP DATABASE."""
        if self.contents.databases.pop(found[1], None) is None and " if exists " not in found[0].lower():
            raise MysqlError(1008, "HY000", f"Can't drop database '{found[1]}'; database doesn't exist")
        self.program.republish()

    def kill(self, found: re.Match[str]) -> None:
        """KILL: of a session that is not there."""
        if int(found[1]) not in [each.number for each in self.threads()]:
            raise MysqlError(1094, "HY000", f"Unknown thread id: {found[1]}")


def _quotient(one: Value, other: Value) -> Value:
    """`/` gives a decimal number, and NULL of a division by zero."""
    if not other:
        return None
    if isinstance(one, float) or isinstance(other, float):
        return float(one) / float(other)
    return (Decimal(one) / Decimal(other)).quantize(Decimal("0.0001"), ROUND_HALF_UP)


def _rounded(value: Value, digits: Value = 0) -> Value:
    if isinstance(value, int):
        return value
    return Decimal(str(value)).quantize(Decimal(1).scaleb(-max(0, int(digits))), ROUND_HALF_UP)


_NAME = r"[`']?([\w-]+)[`']?(?:@[`']?[^`']*[`']?)?"
_CHANGES: tuple[tuple[str, Callable[[MysqlShell, re.Match[str]], None]], ...] = (
    (r"use `?([\w-]+)`?$", MysqlShell.use),
    (
        r"(create|alter) user (?:if (?:not )?exists )?" + _NAME + r" identified (?:with \w+ )?by '([^']*)'",
        MysqlShell.alter_user,
    ),
    (r"drop user (?:if exists )?" + _NAME, MysqlShell.drop_user),
    (r"create (?:database|schema) (?:if not exists )?`?([\w-]+)`?", MysqlShell.create_database),
    (r"drop (?:database|schema) (?:if exists )?`?([\w-]+)`?$", MysqlShell.drop_database),
    (r"(grant|revoke) .+ on .+ (?:to|from) " + _NAME, MysqlShell.grant),
    (r"kill (?:connection |query )?(\d+)$", MysqlShell.kill),
)
