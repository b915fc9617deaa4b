r"""`psql` for looks, settings, users and sessions: a bounded set of statements, answered as psql prints them.

Tables that people make hold rows (`relations`). Beside them are understood SHOW, SET, ALTER SYSTEM/ROLE/USER, CREATE
and DROP of roles, users and databases, GRANT and REVOKE on tables, BEGIN, LOCK TABLE, COMMIT, ROLLBACK, SELECT of
constants, counts, `pg_stat_activity`, `pg_locks`, settings and the functions on processes; \l, \du, \dt, \d, \conninfo.
Anything else is answered by an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from simcluster.engine import SECOND
from simcluster.models.apps.stores.accounts import Account
from simcluster.models.apps.stores.contents import Database
from simcluster.models.apps.stores.demand import DataSet
from simcluster.models.apps.stores.postgres import pgviews
from simcluster.models.apps.stores.postgres.pgcatalog import relations_of, schemas_of
from simcluster.models.apps.stores.postgres.psqlmeta import Meta, MetaError
from simcluster.models.apps.stores.postgres.psqlprinting import Printer
from simcluster.models.apps.stores.postgres.psqlscripts import Sent, pointed, sent
from simcluster.models.apps.stores.sql.relations import Relations, Result
from simcluster.models.apps.stores.sql.schemas import described_tables
from simcluster.models.apps.stores.sql.sqlfunctions import instant
from simcluster.models.apps.stores.sql.sqlrefusals import POSTGRES
from simcluster.models.apps.stores.sql.tables import Refused, Table, Unsupported, snapshot
from simcluster.models.userland.outcome import Outcome

if TYPE_CHECKING:
    from simcluster.models.apps.stores.postgres.postgres import PostgresProgram

_SWITCHES = {"--no-align": "A", "--tuples-only": "t", "--expanded": "x", "--quiet": "q"}
#: Views of the server that nothing here fills.
_VIEWS = ("pg_stat_user_indexes", "pg_stat_statements", "pg_stat_wal_receiver", "pg_stat_progress_vacuum")
_VALUED = ("-c", "-U", "-d", "-h", "-p", "-v", "-f", "--command", "--username", "--dbname", "--host", "--port",
           "-F", "--field-separator", "--set", "--variable")  # fmt: skip
_ROLE = re.compile(r"(?:create|alter) (?:role|user) \"?([\w-]+)\"?(?: with)?\s*(.*)", re.IGNORECASE | re.DOTALL)
_GRANT = re.compile(
    r"(grant|revoke) (.+?) on (?:table )?(?:all tables in schema )?([\w.]+) (?:to|from) \"?([\w-]+)\"?", re.I
)
_LOCK = re.compile(r"lock (?:table )?(?:only )?([\w.]+)(?: in ([\w ]+?) mode)?(?: nowait)?", re.IGNORECASE)


#: What SET may set beside the server's settings (guc_tables.c), of which nothing here depends.
_SESSION = (
    *("search_path", "statement_timeout", "lock_timeout", "timezone", "client_encoding", "datestyle", "work_mem"),
    *("application_name", "standard_conforming_strings", "client_min_messages", "default_transaction_isolation"),
    *("idle_in_transaction_session_timeout", "row_security", "check_function_bodies", "default_table_access_method"),
)


class SqlError(Exception):
    """An ERROR of the server.

    Attributes:
        text: with its details and hints, a line each; at: where in the statement, -1 if it says nothing of that.
    """

    def __init__(self, text: str, at: int = -1) -> None:
        super().__init__(text)
        self.text, self.at = text, at


class Psql:
    """One session of psql.

    Attributes:
        program: the server; user, database: as whom and in which; printer: how it prints; where: it is connected to.
    """

    def __init__(self, program: PostgresProgram, user: str, database: str, where: str = "") -> None:
        self.program = program
        self.user = user
        self.database = database
        port = next(iter(program._ports))
        self.where = where or f'via socket in "/var/run/postgresql" at port "{port}"'
        self.printer = Printer()
        self._locks: list[tuple[str, str]] = []
        self._inside = False
        self._stops = False  # ON_ERROR_STOP
        self._spoiled = False  # a statement of the transaction has failed
        self._sent = Sent("", "", 0, 0)  # the statement that is evaluated
        self._seconds = 0.0
        self._before: dict[str, Table] | None = None  # tables as they were when the transaction began
        self._own: dict[str, str] = {}  # what SET has set

    @property
    def visible(self) -> tuple[str, ...]:
        """The schemas that are searched for names without one."""
        path = self._own.get("search_path", '"$user", public')
        return ("pg_catalog", *(each.strip(" '\"") for each in path.split(",")))

    @property
    def database_now(self) -> Database:
        """The database that it is connected to."""
        assert self.program.contents is not None
        return self.program.contents.databases[self.database]

    def _finish(self, *, keep: bool) -> None:
        """The transaction is over."""
        if not keep and self._before is not None:
            self.database_now.relations = self._before
        self._inside, self._before = False, None

    def run(self, argv: tuple[str, ...], stdin: str) -> Outcome:
        """The command line."""
        commands = self._options(argv)
        contents = self.program.contents
        assert contents is not None
        port = next(iter(self.program._ports))
        where = f'psql: error: connection to server on socket "/var/run/postgresql/.s.PGSQL.{port}" failed: FATAL:  '
        if contents.accounts.find(self.user) is None:
            return Outcome("", f'{where}role "{self.user}" does not exist\n', 2)
        if self.database not in contents.databases:
            return Outcome("", f'{where}database "{self.database}" does not exist\n', 2)
        printed, said, code = "", "", 0
        typed = [stdin[each.at : each.end] + stdin[each.end : each.end + 1].strip() for each in sent(stdin)]
        for command in commands or typed:
            done, wrong, failed = self.answered(command)
            printed, said = printed + done, said + wrong
            code = (1 if commands else 3 if self._stops else 0) if failed else 0 if commands else code
            if failed and self._stops:
                break
        self._finish(keep=not self._inside)  # a session that ends takes back what it has not committed
        return Outcome(printed, said, code, int(self._seconds * SECOND))

    def _options(self, argv: tuple[str, ...]) -> list[str]:
        """Take the options over; the commands (`-c`) among them."""
        commands: list[str] = []
        words, rest = list(argv), []
        while words:
            word = words.pop(0)
            name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
            if name in _VALUED and not equals and words:
                value = words.pop(0)
            if name in ("-c", "--command"):
                commands.append(value)
            elif name in ("-U", "--username"):
                self.user = value
            elif name in ("-d", "--dbname"):
                self.database = value
            elif name in ("-v", "--set", "--variable"):
                self._stops = self._stops or value.lower() in ("on_error_stop=1", "on_error_stop=on")
            elif name in ("-F", "--field-separator"):
                self.printer.separator = value
            elif word.startswith("-F"):
                self.printer.separator = word[2:]
            elif name in _SWITCHES or word == "--csv":
                self.printer.csv = self.printer.csv or word == "--csv"
                self.printer.take(_SWITCHES.get(name, ""))
            elif word.startswith("-") and not word.startswith("--") and name not in _VALUED:
                for switch in word[1:]:
                    self.printer.take(switch)
            elif not word.startswith("-"):
                rest.append(word)
        self.database = self.database or (rest[0] if rest else self.user)
        return commands

    def answered(self, script: str) -> tuple[str, str, bool]:
        """What statements print up to the first error, what psql says of it, and whether it has failed.

        An error spoils the transaction it is in.
        """
        printed: list[str] = []
        try:
            self._evaluate(script, printed)
        except SqlError as error:
            self._spoiled = self._inside
            at = -1 if error.at < 0 else self._sent.at + error.at
            self._log(error, script, at)
            first, newline, more = error.text.partition("\n")
            place = pointed(script, at) if at >= 0 else ""
            return "".join(printed), f"ERROR:  {first}\n{place}{more}{newline}", True
        except MetaError as error:
            return "".join(printed), f"{error.text}\n", error.fatal
        return "".join(printed), "", False

    def _log(self, error: SqlError, script: str, at: int) -> None:
        """The server's log of an error: with the place, and the statement."""
        pid = self.program.next_pid + 1
        first, *more = error.text.split("\n")
        self.program.say("ERROR", first + (f" at character {at + 1}" if at >= 0 else ""), pid)
        for line in more:
            kind, _, text = line.partition(":  ")
            self.program.say(kind, text, pid)
        self.program.say("STATEMENT", script.strip().replace("\n", "\n\t"), pid)

    def evaluate(self, script: str) -> str:
        """Statements, one after the other. Raises SqlError."""
        printed: list[str] = []
        self._evaluate(script, printed)
        return "".join(printed)

    def _evaluate(self, script: str, printed: list[str]) -> None:
        for each in sent(script):
            statement, self._sent = each.text, each
            ending = statement.lower().split()[0] in ("commit", "rollback", "end", "abort")
            if self._spoiled and not ending and not statement.startswith("\\"):
                raise SqlError("current transaction is aborted, commands ignored until end of transaction block")
            done = self._statement("rollback" if self._spoiled and ending else statement)
            tag = self.printer.quiet and re.fullmatch(r"[A-Z ]+( \d+)*\n", done)  # of a command that gives no rows
            printed.append("" if tag else done)
            self._spoiled = self._spoiled and not ending
        if self._locks and self._seconds:  # the session sleeps with what it holds
            locks = tuple(self._locks)
            self.program.open_session(self.user, self.database, script.strip(), self._seconds, locks)

    def _statement(self, text: str) -> str:
        low = text.lower()
        if text.startswith("\\"):
            return Meta(self).run(text)
        first = low.split()[0]
        match first:
            case "show":
                return self._show(low.split(None, 1)[1])
            case "alter" if low.startswith("alter system"):
                return self._alter_system(text)
            case "create" | "alter" if _ROLE.match(text):
                return self._role(text)
            case "create" | "drop" if low.split()[1:2] == ["schema"]:
                return self._schema(text, low)
            case "create" | "drop" | "truncate" if re.match(r"(create|drop) (table|index|unique)|truncate", low):
                return self._relation(text, low)
            case "create" | "drop" | "alter":
                return self._define(text, low)
            case "explain":
                return self._explain(text, low)
            case "grant" | "revoke":
                return self._grant(text)
            case "begin" | "start":
                self._inside = True
                self._before = snapshot(self.database_now.relations)
                return "BEGIN\n"
            case "commit" | "rollback" | "end":
                self._locks.clear()
                self._finish(keep=first != "rollback")
                return "ROLLBACK\n" if first == "rollback" else "COMMIT\n"
            case "lock":
                return self._lock(text)
            case "set":
                return self._set(text)
            case "checkpoint":
                assert self.program.storage is not None
                self.program.storage.checkpoint(self.program.container.sim.now)
                return "CHECKPOINT\n"
            case "select":
                return self._select(text, low)
            case "insert" | "update" | "delete":
                return self._relation(text, low)
            case "vacuum" | "analyze" | "copy" | "do" | "call" | "with" | "values" | "table" | "comment" | "reindex":
                raise SqlError(f"feature not supported: {first.upper()}")
            case _:
                raise SqlError(f'syntax error at or near "{re.split(r"[^A-Za-z0-9_$]", text)[0] or text[:1]}"', 0)

    # --- settings -------------------------------------------------------------------------

    def _show(self, name: str) -> str:
        settings = self.program.settings
        if name == "all":
            return self.printer.table(("name", "setting"), [(n, settings[n]) for n in sorted(settings)])
        known = {"server_version": self.program.version, "data_directory": "/var/lib/postgresql/data"}
        known |= {**settings, **self._own}
        if name not in known:
            raise SqlError(f'unrecognized configuration parameter "{name}"')
        return self.printer.table((name,), [(known[name],)])

    def _alter_system(self, text: str) -> str:
        found = re.match(r"alter system (set|reset) (\w+)(?:\s*(?:=|to)\s*(.+))?$", text, re.IGNORECASE)
        if found is None or found[2].lower() not in self.program.settings:
            raise SqlError(f'unrecognized configuration parameter "{found[2] if found else text}"')
        assert self.program.contents is not None
        if found[1].lower() == "reset":
            self.program.contents.settings.pop(found[2].lower(), None)
        else:
            self.program.contents.settings[found[2].lower()] = (found[3] or "").strip("'\" ")
        return "ALTER SYSTEM\n"

    # --- roles and databases --------------------------------------------------------------

    def _role(self, text: str) -> str:
        found = _ROLE.match(text)
        assert found is not None
        assert self.program.contents is not None
        accounts, name = self.program.contents.accounts, found[1]
        making = text.lower().startswith("create")
        account = accounts.find(name)
        if making and account is not None:
            raise SqlError(f'role "{name}" already exists')
        if account is None:
            if not making:
                raise SqlError(f'role "{name}" does not exist')
            account = Account(name, "")
            account.enabled = "user" in text.lower().split()[1]
            accounts.add(account)
        self._attributes(account, found[2])
        self.program.republish()
        return f"{'CREATE' if making else 'ALTER'} ROLE\n"

    @staticmethod
    def _attributes(account: Account, text: str) -> None:
        password = re.search(r"password\s+'([^']*)'", text, re.IGNORECASE)
        if password:
            account.password = password[1]
        limit = re.search(r"connection limit (-?\d+)", text, re.IGNORECASE)
        if limit:
            account.limit = int(limit[1])
        words = text.lower().split()
        if "nologin" in words or "login" in words:
            account.enabled = "login" in words
        if "superuser" in words or "nosuperuser" in words:
            account.superuser = "superuser" in words
        setting = re.search(r"set (\w+)\s*(?:=|to)\s*'?(\w+)'?", text, re.IGNORECASE)
        if setting:
            account.settings[setting[1].lower()] = setting[2]

    def _define(self, text: str, low: str) -> str:
        words = text.split()
        contents = self.program.contents
        assert contents is not None
        kind = low.split()[1]
        name = words[2].strip('"') if len(words) > 2 else ""
        if low.startswith("create database"):
            if name in contents.databases:
                raise SqlError(f'database "{name}" already exists')
            contents.database(name, self.program.behaviour.data.get(name) or DataSet(size=8 << 20))
            self.program.republish()
            return "CREATE DATABASE\n"
        if kind in ("role", "user") and words[0].lower() == "drop":
            if not contents.accounts.remove(words[-1].strip('"')) and "if exists" not in low:
                raise SqlError(f'role "{name}" does not exist')
            self.program.republish()
            return "DROP ROLE\n"
        if low.startswith("drop database"):
            contents.databases.pop(name, None)
            self.program.republish()
            return "DROP DATABASE\n"
        raise SqlError(f"feature not supported: {words[0].upper()} {kind.upper()}")

    def _schema(self, text: str, low: str) -> str:
        """CREATE SCHEMA, DROP SCHEMA."""
        database, verb = self.database_now, low.split(maxsplit=1)[0]
        found = re.match(r"(?:create|drop) schema (if (?:not )?exists )?\"?([\w-]+)\"?(.*)$", text, re.IGNORECASE)
        if found is None:
            raise SqlError("syntax error at end of input", len(self._sent.raw))
        known = found[2] in schemas_of(database)
        if known == (verb == "create") and not found[1]:
            raise SqlError(f'schema "{found[2]}" ' + ("already exists" if known else "does not exist"))
        if verb == "create":
            database.schemas = tuple(dict.fromkeys((*database.schemas, found[2])))
            return "CREATE SCHEMA\n"
        inside = [each.name for each in relations_of(database) if each.schema == found[2]]
        if inside and "cascade" not in found[3].lower():
            detail = "\n".join(f"table {found[2]}.{each} depends on schema {found[2]}" for each in inside)
            hint = "HINT:  Use DROP ... CASCADE to drop the dependent objects too."
            text = f"cannot drop schema {found[2]} because other objects depend on it"
            raise SqlError(f"{text}\nDETAIL:  {detail}\n{hint}")
        for each in inside:
            database.relations.pop(each, None)
        database.schemas = tuple(each for each in database.schemas if each != found[2])
        return "DROP SCHEMA\n"

    def _set(self, text: str) -> str:
        found = re.match(r"set (?:session |local )?([\w.]+)\s*(?:=| to )\s*(.+)$", text, re.IGNORECASE)
        if found is None:
            return "SET\n"  # roles, transactions, names of time zones
        name = found[1].lower()
        if name not in self.program.settings and name not in _SESSION:
            raise SqlError(f'unrecognized configuration parameter "{found[1]}"')
        self._own[name] = found[2].strip("'\" ")
        return "SET\n"

    # --- tables that people make ----------------------------------------------------------

    def _relation(self, text: str, low: str) -> str:
        """A statement about rows."""
        database = self.database_now
        target = re.match(r"(insert into|update|delete from|truncate(?: table)?|drop table(?: if exists)?) (?:only )?"
                          r"([\w.\"]+)", low)  # fmt: skip
        table = "" if target is None else target[2].strip('"').rpartition(".")[2]
        if target is not None and table not in database.relations and self._is_described(table):
            if target[1] != "insert into":
                verb = {"update": "update", "delete from": "delete from"}.get(target[1], target[1].split()[0])
                raise SqlError(f'cannot {verb} relation "{table}"')
            database.size += database.described.document * max(1, len(database.described.tables))
            return "INSERT 0 1\n"
        done = self._evaluated(text)
        if done.verb == "SELECT":
            return self.printer.table(done.heads, done.rows)
        counted = {"INSERT": f"INSERT 0 {done.count}", "UPDATE": f"UPDATE {done.count}"}
        return counted.get(done.verb, f"DELETE {done.count}" if done.verb == "DELETE" else done.verb) + "\n"

    def _evaluated(self, text: str) -> Result:
        program, views = self.program, pgviews.views_in(text.lower())
        known = self.database_now.relations
        if views:  # what is read beside the tables; nobody writes into it
            known = {**known, **pgviews.tables(program, self.database, views, (self.user, text))}
        functions: dict[str, Callable[..., object]] = {
            **pgviews.functions(program, self.user, self.database),
            "pg_sleep": self._sleep,
            "pg_terminate_backend": program.end_session,
            "pg_cancel_backend": program.end_session,
            "pg_reload_conf": self._reloaded,
        }
        try:
            made = Relations(known, "postgres", instant(program.container.sim.now), functions)
            return made.execute(self._sent.raw)
        except SyntaxError as error:
            raise _misspelt(str(error), error.offset or 0) from None
        except Unsupported as error:
            raise SqlError(f"feature not supported: {error}") from None
        except Refused as error:
            kinds = {"int": "integer", "bigint": "bigint", "decimal": "numeric", "double precision": "double precision"}
            values = [kinds.get(value, value) for value in error.values]
            form = POSTGRES[error.why]
            if error.why == "no column" and "." in values[0]:
                form = form.replace('"{0}"', "{0}")
            raise SqlError(form.format(*values, *[""] * 4), error.at) from None

    def _is_described(self, table: str, named: str = "") -> bool:
        """Whether an application has made a table; `named`: with its schema, which must be searched if it is not."""
        for each in self.database_now.described.tables:
            schema, _, name = each.rpartition(".")
            given = named.replace('"', "").rpartition(".")[0]
            seen = given == (schema or "public") if given else (schema or "public") in self.visible
            if name == table and (seen or not named):
                return True
        return False

    def _explain(self, text: str, low: str) -> str:
        found = re.search(r"\bfrom ([\w.\"]+)", low)
        if found is None:
            plan = "Result  (cost=0.00..0.01 rows=1 width=4)"
        else:
            name = found[1].strip('"').rpartition(".")[2]
            known = self.database_now.relations.get(name)
            count = len(known.rows) if known is not None else self._rows(found[1])
            pages = max(1, count // 60)
            plan = f"Seq Scan on {name}  (cost=0.00..{pages + count / 100:.2f} rows={count} width=36)"
        return self.printer.table(("QUERY PLAN",), [(plan,)])

    def _grant(self, text: str) -> str:
        found = _GRANT.match(text)
        contents = self.program.contents
        assert contents is not None
        if found is None:
            return f"{text.split(maxsplit=1)[0].upper()}\n"
        account = contents.accounts.find(found[4])
        if account is None:
            raise SqlError(f'role "{found[4]}" does not exist')
        listed = (
            "SELECT,INSERT,UPDATE,DELETE" if found[2].lower().startswith("all") else found[2].upper().replace(" ", "")
        )
        key = f"revoked {found[3].rpartition('.')[2]}"
        before = [right for right in account.settings.get(key, "").split(",") if right]
        given = listed.split(",")
        kept = [right for right in before if right not in given]
        account.settings[key] = ",".join(kept + given if found[1].lower() == "revoke" else kept)
        self.program.republish()
        return f"{found[1].upper()}\n"

    def _lock(self, text: str) -> str:
        found = _LOCK.match(text)
        if found is None:
            raise _misspelt(text.rsplit(maxsplit=1)[-1], self._sent.raw.rfind(text.rsplit(maxsplit=1)[-1]))
        if not self._inside:
            raise SqlError("LOCK TABLE can only be used in transaction blocks")
        self._locks.append((found[1], (found[2] or "ACCESS EXCLUSIVE").upper()))
        return "LOCK TABLE\n"

    # --- selects --------------------------------------------------------------------------

    def _select(self, text: str, low: str) -> str:
        named = re.search(r"\bfrom ([\w.\"]+)", low)
        view = "" if named is None else named[1].replace('"', "").rpartition(".")[2]
        if view in ("pg_stat_replication", "pg_replication_slots", "pg_stat_bgwriter", "pg_stat_wal"):
            return self._statistics(view)
        if not self._is_described(view, "" if named is None else named[1]) or pgviews.views_in(low):
            known = named is None or view in pgviews.views_in(low)
            if not known and named is not None and named[1].startswith("pg_") and named[1] in _VIEWS:
                raise SqlError(f"feature not supported: {named[1]}")
            return self._relation(text, low)
        counted = re.match(r"select count\(\*\)(?: (?:as )?(\w+))? from [\w.\"]+$", low)
        if counted:
            return self.printer.table((counted[1] or "count",), [(self._rows(view),)])
        self._columns_of(view)
        raise SqlError(f'cannot select single rows from relation "{view}"')

    def _columns_of(self, view: str) -> None:
        """A SELECT from an application's table must name columns that it has. Raises SqlError."""
        try:
            Relations(dict(described_tables(self.database_now.described, "postgres")), "postgres", "").execute(
                self._sent.raw
            )
        except SyntaxError as error:
            raise _misspelt(str(error), error.offset or 0) from None
        except Refused as error:
            if error.why in ("no column", "no source"):
                raise SqlError(POSTGRES[error.why].format(*error.values), error.at) from None
        except Unsupported:
            return

    def _statistics(self, view: str) -> str:
        storage = self.program.storage
        assert storage is not None
        if view == "pg_stat_bgwriter":
            written = int(storage.totals["writes"])
            heads = ("checkpoints_timed", "checkpoints_req", "buffers_checkpoint", "buffers_clean", "buffers_alloc")
            return self.printer.table(heads, [(int(storage.totals["checkpoints"]), 0, written, 0, written)])
        if view == "pg_stat_wal":
            heads2 = ("wal_bytes", "wal_sync")
            return self.printer.table(heads2, [(int(storage.totals["log_bytes"]), int(storage.totals["fsyncs"]))])
        if view == "pg_stat_replication":
            return self.printer.table(("pid", "usename", "application_name", "client_addr", "state", "sync_state"), [])
        return self.printer.table(("slot_name", "plugin", "slot_type", "active"), [])  # nobody replicates

    def _sleep(self, seconds: float) -> str:
        self._seconds += float(seconds)
        return ""

    def _reloaded(self) -> bool:
        self._reload()
        return True

    def _rows(self, table: str) -> int:
        assert self.program.contents is not None
        database = self.program.contents.databases[self.database]
        name = table.strip('"').rpartition(".")[2]
        if name not in [each.rpartition(".")[2] for each in database.described.tables]:
            raise SqlError(f'relation "{table}" does not exist')
        return database.documents // max(1, len(database.described.tables))

    def _reload(self) -> None:
        program = self.program
        assert program.contents is not None
        program.say("LOG", "received SIGHUP, reloading configuration files")
        for name, value in program.contents.settings.items():
            if program.settings.get(name) == value or name in program.given:
                continue
            if name in program.POSTMASTER:
                program.say("LOG", f'parameter "{name}" cannot be changed without restarting the server')
            else:
                program.settings[name] = value
                program.say("LOG", f'parameter "{name}" changed to "{value}"')
        if program.storage is not None:
            program.storage.rules = program.rules()
        program.republish()


def _misspelt(near: str, at: int) -> SqlError:
    """A syntax error near a word, at the end of the statement, or in what is quoted and does not end."""
    if near.startswith(("'", '"')):
        what = "string" if near.startswith("'") else "identifier"
        return SqlError(f'unterminated quoted {what} at or near "{near}"', at)
    return SqlError(f'syntax error at or near "{near}"' if near else "syntax error at end of input", at)
