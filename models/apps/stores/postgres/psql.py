r"""`psql` for looks, settings, users and sessions: a bounded set of statements, answered as psql prints them.

Tables that people make hold rows (`relations`). Beside them are understood SHOW, SET, ALTER SYSTEM/ROLE/USER, CREATE
and DROP of roles, users and databases, GRANT and REVOKE on tables, BEGIN, LOCK TABLE, COMMIT, ROLLBACK, SELECT of
constants, counts, `pg_stat_activity`, `pg_locks`, settings and the functions on processes; \l, \du, \dt, \d, \conninfo.
Anything else is answered by an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from simcluster.engine import SECOND
from simcluster.models.apps.stores.accounts import Account
from simcluster.models.apps.stores.contents import Database
from simcluster.models.apps.stores.demand import DataSet
from simcluster.models.apps.stores.postgres import pgviews
from simcluster.models.apps.stores.sql.relations import Relations, Result
from simcluster.models.apps.stores.sql.sqlfunctions import instant
from simcluster.models.apps.stores.sql.sqlrefusals import POSTGRES
from simcluster.models.apps.stores.sql.tables import Refused, Table, Unsupported, snapshot
from simcluster.models.userland.outcome import Outcome

if TYPE_CHECKING:
    from simcluster.models.apps.stores.postgres.postgres import PostgresProgram

_VALUED = ("-c", "-U", "-d", "-h", "-p", "-v", "-f", "--command", "--username", "--dbname", "--host", "--port")
_ROLE = re.compile(r"(?:create|alter) (?:role|user) \"?([\w-]+)\"?(?: with)?\s*(.*)", re.IGNORECASE | re.DOTALL)
_GRANT = re.compile(
    r"(grant|revoke) (.+?) on (?:table )?(?:all tables in schema )?([\w.]+) (?:to|from) \"?([\w-]+)\"?", re.I
)
_LOCK = re.compile(r"lock (?:table )?(?:only )?([\w.]+)(?: in ([\w ]+?) mode)?(?: nowait)?", re.IGNORECASE)


_NUMBER = re.compile(r"-?\d+(\.\d+)?")

#: What SET may set beside the server's settings (guc_tables.c), of which nothing here depends.
_SESSION = (
    *("search_path", "statement_timeout", "lock_timeout", "timezone", "client_encoding", "datestyle", "work_mem"),
    *("application_name", "standard_conforming_strings", "client_min_messages", "default_transaction_isolation"),
    *("idle_in_transaction_session_timeout", "row_security", "check_function_bodies", "default_table_access_method"),
)
_TYPES = {"INT": "integer", "SERIAL": "integer", "BIGSERIAL": "bigint", "DOUBLE PRECISION": "double precision",
          "DECIMAL": "numeric", "TIMESTAMPTZ": "timestamp with time zone"}  # fmt: skip


class SqlError(Exception):
    """An ERROR of the server."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Psql:
    """One session of psql."""

    def __init__(self, program: PostgresProgram, user: str, database: str) -> None:
        self._program = program
        self._user = user
        self._database = database
        self._locks: list[tuple[str, str]] = []
        self._inside = False
        self._plain = False  # -A
        self._bare = False  # -t
        self._expanded = False  # -x and \\x
        self._spoiled = False  # a statement of the transaction has failed
        self._seconds = 0.0
        self._before: dict[str, Table] | None = None  # tables as they were when the transaction began
        self._own: dict[str, str] = {}  # what SET has set

    @property
    def _database_now(self) -> Database:
        assert self._program.contents is not None
        return self._program.contents.databases[self._database]

    def _finish(self, *, keep: bool) -> None:
        """The transaction is over."""
        if not keep and self._before is not None:
            self._database_now.relations = self._before
        self._inside, self._before = False, None

    def run(self, argv: tuple[str, ...], stdin: str) -> Outcome:
        """The command line."""
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
                self._user = value
            elif name in ("-d", "--dbname"):
                self._database = value
            elif word.startswith("-") and not word.startswith("--") and name not in _VALUED:
                self._bare = self._bare or "t" in word
                self._plain = self._plain or "A" in word
                self._expanded = self._expanded or "x" in word
            elif not word.startswith("-"):
                rest.append(word)
        self._database = self._database or (rest[0] if rest else self._user)
        contents = self._program.contents
        assert contents is not None
        port = next(iter(self._program._ports))
        where = f'psql: error: connection to server on socket "/var/run/postgresql/.s.PGSQL.{port}" failed: FATAL:  '
        if contents.accounts.find(self._user) is None:
            return Outcome("", f'{where}role "{self._user}" does not exist\n', 2)
        if self._database not in contents.databases:
            return Outcome("", f'{where}database "{self._database}" does not exist\n', 2)
        printed, said, code = "", "", 0
        for command in commands or statements(stdin):  # what is typed goes on after an error
            done, wrong = self.answered(command)
            printed += done
            if wrong:
                said += f"ERROR:  {wrong}\n"
                code = int(bool(commands))
                if commands:
                    break
        self._finish(keep=not self._inside)  # a session that ends takes back what it has not committed
        return Outcome(printed, said, code, int(self._seconds * SECOND))

    def answered(self, script: str) -> tuple[str, str]:
        """What statements print up to the first error, and its text; an error spoils the transaction it is in."""
        printed: list[str] = []
        try:
            self._evaluate(script, printed)
        except SqlError as error:
            self._spoiled = self._inside
            self._program.say("ERROR", error.text.partition("\n")[0], 95)
            return "".join(printed), error.text
        return "".join(printed), ""

    def evaluate(self, script: str) -> str:
        """Statements, one after the other. Raises SqlError."""
        printed: list[str] = []
        self._evaluate(script, printed)
        return "".join(printed)

    def _evaluate(self, script: str, printed: list[str]) -> None:
        for statement in statements(script):
            ending = statement.lower().split()[0] in ("commit", "rollback", "end", "abort")
            if self._spoiled and not ending and not statement.startswith("\\"):
                raise SqlError("current transaction is aborted, commands ignored until end of transaction block")
            printed.append(self._statement("rollback" if self._spoiled and ending else statement))
            self._spoiled = self._spoiled and not ending
        if self._locks and self._seconds:  # the session sleeps with what it holds
            locks = tuple(self._locks)
            self._program.open_session(self._user, self._database, script.strip(), self._seconds, locks)

    def _statement(self, text: str) -> str:
        low = text.lower()
        if text.startswith("\\"):
            return self._meta(text)
        first = low.split()[0]
        match first:
            case "show":
                return self._show(low.split(None, 1)[1])
            case "alter" if low.startswith("alter system"):
                return self._alter_system(text)
            case "create" | "alter" if _ROLE.match(text):
                return self._role(text)
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
                self._before = snapshot(self._database_now.relations)
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
                assert self._program.storage is not None
                self._program.storage.checkpoint(self._program.container.sim.now)
                return "CHECKPOINT\n"
            case "select":
                return self._select(text, low)
            case "insert" | "update" | "delete":
                return self._relation(text, low)
            case "vacuum" | "analyze" | "copy" | "do" | "call" | "with" | "values" | "table" | "comment" | "reindex":
                raise SqlError(f"feature not supported: {first.upper()}")
            case _:
                raise SqlError(f'syntax error at or near "{text.split(maxsplit=1)[0]}"')

    # --- settings -------------------------------------------------------------------------

    def _show(self, name: str) -> str:
        settings = self._program.settings
        if name == "all":
            return self._table(("name", "setting"), [(n, settings[n]) for n in sorted(settings)])
        known = {"server_version": self._program.version, "data_directory": "/var/lib/postgresql/data"}
        known |= {**settings, **self._own}
        if name not in known:
            raise SqlError(f'unrecognized configuration parameter "{name}"')
        return self._table((name,), [(known[name],)])

    def _alter_system(self, text: str) -> str:
        found = re.match(r"alter system (set|reset) (\w+)(?:\s*(?:=|to)\s*(.+))?$", text, re.IGNORECASE)
        if found is None or found[2].lower() not in self._program.settings:
            raise SqlError(f'unrecognized configuration parameter "{found[2] if found else text}"')
        assert self._program.contents is not None
        if found[1].lower() == "reset":
            self._program.contents.settings.pop(found[2].lower(), None)
        else:
            self._program.contents.settings[found[2].lower()] = (found[3] or "").strip("'\" ")
        return "ALTER SYSTEM\n"

    # --- roles and databases --------------------------------------------------------------

    def _role(self, text: str) -> str:
        found = _ROLE.match(text)
        assert found is not None
        assert self._program.contents is not None
        accounts, name = self._program.contents.accounts, found[1]
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
        self._program.republish()
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
        contents = self._program.contents
        assert contents is not None
        kind = low.split()[1]
        name = words[2].strip('"') if len(words) > 2 else ""
        if low.startswith("create database"):
            if name in contents.databases:
                raise SqlError(f'database "{name}" already exists')
            contents.database(name, self._program.behaviour.data.get(name) or DataSet(size=8 << 20))
            self._program.republish()
            return "CREATE DATABASE\n"
        if kind in ("role", "user") and words[0].lower() == "drop":
            if not contents.accounts.remove(words[-1].strip('"')) and "if exists" not in low:
                raise SqlError(f'role "{name}" does not exist')
            self._program.republish()
            return "DROP ROLE\n"
        if low.startswith("drop database"):
            contents.databases.pop(name, None)
            self._program.republish()
            return "DROP DATABASE\n"
        raise SqlError(f"feature not supported: {words[0].upper()} {kind.upper()}")

    def _set(self, text: str) -> str:
        found = re.match(r"set (?:session |local )?([\w.]+)\s*(?:=| to )\s*(.+)$", text, re.IGNORECASE)
        if found is None:
            return "SET\n"  # roles, transactions, names of time zones
        name = found[1].lower()
        if name not in self._program.settings and name not in _SESSION:
            raise SqlError(f'unrecognized configuration parameter "{found[1]}"')
        self._own[name] = found[2].strip("'\" ")
        return "SET\n"

    # --- tables that people make ----------------------------------------------------------

    def _relation(self, text: str, low: str) -> str:
        """A statement about rows."""
        database = self._database_now
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
            return self._table(done.heads, [[_shown(value) for value in row] for row in done.rows])
        counted = {"INSERT": f"INSERT 0 {done.count}", "UPDATE": f"UPDATE {done.count}"}
        return counted.get(done.verb, f"DELETE {done.count}" if done.verb == "DELETE" else done.verb) + "\n"

    def _evaluated(self, text: str) -> Result:
        program, views = self._program, pgviews.views_in(text.lower())
        known = self._database_now.relations
        if views:  # what is read beside the tables; nobody writes into it
            known = {**known, **pgviews.tables(program, self._database, views, (self._user, text))}
        functions: dict[str, Callable[..., object]] = {
            **pgviews.functions(program, self._user, self._database),
            "pg_sleep": self._sleep,
            "pg_terminate_backend": program.end_session,
            "pg_cancel_backend": program.end_session,
            "pg_reload_conf": self._reloaded,
        }
        try:
            return Relations(known, "postgres", instant(program.container.sim.now), functions).execute(text)
        except SyntaxError as error:
            raise SqlError(f'syntax error at or near "{error}"') from None
        except Unsupported as error:
            raise SqlError(f"feature not supported: {error}") from None
        except Refused as error:
            kinds = {"int": "integer", "bigint": "bigint", "decimal": "numeric", "double precision": "double precision"}
            values = [kinds.get(value, value) for value in error.values]
            raise SqlError(POSTGRES[error.why].format(*values, *[""] * 4)) from None

    def _is_described(self, table: str) -> bool:
        return table in [each.rpartition(".")[2] for each in self._database_now.described.tables]

    def _explain(self, text: str, low: str) -> str:
        found = re.search(r"\bfrom ([\w.\"]+)", low)
        if found is None:
            plan = "Result  (cost=0.00..0.01 rows=1 width=4)"
        else:
            name = found[1].strip('"').rpartition(".")[2]
            known = self._database_now.relations.get(name)
            count = len(known.rows) if known is not None else self._rows(found[1])
            pages = max(1, count // 60)
            plan = f"Seq Scan on {name}  (cost=0.00..{pages + count / 100:.2f} rows={count} width=36)"
        return self._table(("QUERY PLAN",), [(plan,)])

    def _grant(self, text: str) -> str:
        found = _GRANT.match(text)
        contents = self._program.contents
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
        self._program.republish()
        return f"{found[1].upper()}\n"

    def _lock(self, text: str) -> str:
        found = _LOCK.match(text)
        if found is None:
            raise SqlError(f'syntax error at or near "{text.rsplit(maxsplit=1)[-1]}"')
        if not self._inside:
            raise SqlError("LOCK TABLE can only be used in transaction blocks")
        self._locks.append((found[1], (found[2] or "ACCESS EXCLUSIVE").upper()))
        return "LOCK TABLE\n"

    # --- selects --------------------------------------------------------------------------

    def _select(self, text: str, low: str) -> str:
        named = re.search(r"\bfrom ([\w.\"]+)", low)
        view = "" if named is None else named[1].strip('"').rpartition(".")[2]
        if view in ("pg_stat_replication", "pg_replication_slots", "pg_stat_bgwriter", "pg_stat_wal"):
            return self._statistics(view)
        if not self._is_described(view) or pgviews.views_in(low):
            known = named is None or view in pgviews.views_in(low)
            if not known and named is not None and named[1].startswith(("pg_", "information_schema")):
                raise SqlError(f"feature not supported: {named[1]}")
            return self._relation(text, low)
        counted = re.match(r"select count\(\*\)(?: as \w+)? from [\w.\"]+$", low)
        if counted:
            return self._table(("count",), [(str(self._rows(view)),)])
        raise SqlError(f'cannot select single rows from relation "{view}"')

    def _statistics(self, view: str) -> str:
        storage = self._program.storage
        assert storage is not None
        if view == "pg_stat_bgwriter":
            written = str(int(storage.totals["writes"]))
            heads = ("checkpoints_timed", "checkpoints_req", "buffers_checkpoint", "buffers_clean", "buffers_alloc")
            return self._table(heads, [(str(int(storage.totals["checkpoints"])), "0", written, "0", written)])
        if view == "pg_stat_wal":
            heads2 = ("wal_bytes", "wal_sync")
            return self._table(heads2, [(str(int(storage.totals["log_bytes"])), str(int(storage.totals["fsyncs"])))])
        if view == "pg_stat_replication":
            return self._table(("pid", "usename", "application_name", "client_addr", "state", "sync_state"), [])
        return self._table(("slot_name", "plugin", "slot_type", "active"), [])  # nobody replicates

    def _sleep(self, seconds: float) -> str:
        self._seconds += float(seconds)
        return ""

    def _reloaded(self) -> bool:
        self._reload()
        return True

    def _rows(self, table: str) -> int:
        assert self._program.contents is not None
        database = self._program.contents.databases[self._database]
        name = table.strip('"').rpartition(".")[2]
        if name not in [each.rpartition(".")[2] for each in database.described.tables]:
            raise SqlError(f'relation "{table}" does not exist')
        return database.documents // max(1, len(database.described.tables))

    def _reload(self) -> None:
        program = self._program
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

    # --- meta commands and printing -------------------------------------------------------

    def _meta(self, text: str) -> str:
        contents, name = self._program.contents, text.split(maxsplit=1)[0]
        assert contents is not None
        if name in ("\\l", "\\l+"):
            more = ("UTF8", "libc", "en_US.utf8", "en_US.utf8", "", "", "")
            rows: list[tuple[str, ...]] = [
                (each, self._program.root, *more) for each in sorted((*contents.databases, "template0", "template1"))
            ]
            heads = ("Name", "Owner", "Encoding", "Locale Provider", "Collate", "Ctype", "Locale", "ICU Rules",
                     "Access privileges")  # fmt: skip
            return self._table(heads, rows, "List of databases")
        if name in ("\\du", "\\du+"):
            rows2 = []
            for user in contents.accounts.users.values():
                marks = ["Superuser, Create role, Create DB, Replication, Bypass RLS"] if user.superuser else []
                marks += [] if user.enabled else ["Cannot login"]
                marks += [f"{user.limit} connections"] if user.limit >= 0 else []
                rows2.append((user.name, ", ".join(marks)))
            return self._table(("Role name", "Attributes"), rows2, "List of roles")
        if name in ("\\dt", "\\dt+", "\\d"):
            database = contents.databases[self._database]
            if len(text.split()) > 1 and name == "\\d":
                return self._described_table(text.split()[1])
            names = [*(table.rpartition(".")[2] for table in database.described.tables), *database.relations]
            if not names:
                return "Did not find any relations.\n"
            rows = [("public", table, "table", self._program.root) for table in sorted(names)]
            return self._table(("Schema", "Name", "Type", "Owner"), rows, "List of relations")
        if name == "\\conninfo":
            return f'You are connected to database "{self._database}" as user "{self._user}" via socket.\n'
        if name in ("\\c", "\\connect") and len(text.split()) > 1:
            self._database = text.split()[1]
            return f'You are now connected to database "{self._database}" as user "{self._user}".\n'
        if name == "\\x":
            self._expanded = text.split()[1:] == ["on"] or (text.split()[1:] != ["off"] and not self._expanded)
            return f"Expanded display is {'on' if self._expanded else 'off'}.\n"
        return "" if name in ("\\q", "\\timing") else f"invalid command {name}\nTry \\? for help.\n"

    def _described_table(self, name: str) -> str:
        found = self._database_now.relations.get(name.rpartition(".")[2])
        if found is None:
            missing = f'Did not find any relation named "{name}".\n'
            return f'Columns of "{name}" are not known.\n' if self._is_described(name) else missing
        rows = []
        for column in found.columns:
            kind = _TYPES.get(column.kind.upper(), column.kind.lower().replace("varchar", "character varying"))
            start = f"nextval('{name}_{column.name}_seq'::regclass)" if column.counted else ""
            default = start or ("" if column.default is None else str(column.default))
            rows.append((column.name, kind, "", "not null" if column.required or column.counted else "", default))
        indexes = [f'    "{name}_pkey" PRIMARY KEY, btree ({", ".join(found.key)})\n'] if found.key else []
        indexes += [f'    "{one.name}" UNIQUE CONSTRAINT, btree ({", ".join(one.columns)})\n' for one in found.uniques]
        indexes += [f'    "{index}" btree ({", ".join(columns)})\n' for index, columns in found.indexes.items()]
        heads = ("Column", "Type", "Collation", "Nullable", "Default")
        printed = self._table(heads, rows, f'Table "public.{name}"')
        printed = re.sub(r"\(\d+ rows?\)\n\n$", "", printed)
        deletes = {"CASCADE": " ON DELETE CASCADE", "SET NULL": " ON DELETE SET NULL"}
        foreign = [
            f'    "{one.name}" FOREIGN KEY ({", ".join(one.columns)}) REFERENCES {one.table}({", ".join(one.keys)})'
            f"{deletes.get(one.gone, '')}\n"
            for one in found.references
        ]
        printed += f"Indexes:\n{''.join(indexes)}" if indexes else ""
        return printed + (f"Foreign-key constraints:\n{''.join(foreign)}" if foreign else "") + "\n"

    def _table(self, heads: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> str:
        """A table as psql aligns it."""
        if self._expanded and not title:
            return expanded(heads, rows)
        if self._plain:
            head = "" if self._bare else "|".join(heads) + "\n"
            count = "" if self._bare else f"({len(rows)} row{'' if len(rows) == 1 else 's'})\n"
            return head + "".join("|".join(row) + "\n" for row in rows) + count
        widths = [max([len(head), *(len(row[i]) for row in rows)]) for i, head in enumerate(heads)]
        right = [bool(rows) and all(_NUMBER.fullmatch(row[i]) for row in rows) for i in range(len(heads))]
        ends = [*widths[:-1], 0]  # what stands left in the last column ends with its text
        lines = [
            " " + " | ".join(c.rjust(w) if r else c.ljust(end)
                             for c, w, end, r in zip(row, widths, ends, right, strict=True))
            for row in rows
        ]  # fmt: skip
        if self._bare:
            return "".join(f"{line}\n" for line in lines) + "\n"
        head = " " + " | ".join(_centered(h, w) for h, w in zip(heads, widths, strict=True))
        rule = "-" + "-+-".join("-" * w for w in widths) + "-"
        top = [title.center(len(rule)).rstrip()] if title else []
        count = f"({len(rows)} row{'' if len(rows) == 1 else 's'})"
        return "\n".join([*top, f"{head} ", rule, *lines, count, "", ""])


def _centered(text: str, width: int) -> str:
    """A head over its column: the odd blank stands behind it."""
    return (" " * ((width - len(text)) // 2) + text).ljust(width)


def expanded(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""A table as psql expands it: a line for each value.

    >>> expanded(("a", "bc"), [("1", "x")])
    '-[ RECORD 1 ]\na  | 1\nbc | x\n\n'
    """
    wide = max(map(len, heads), default=0)
    most = max((len(cell) for row in rows for cell in row), default=0)
    out = []
    for number, row in enumerate(rows, 1):
        rule = "-" * (wide + 1) + "+" + "-" * (most + 1)
        title = f"-[ RECORD {number} ]"
        out.append(title + rule[len(title) :] if len(rule) > len(title) else title)
        out += [f"{head.ljust(wide)} | {cell}".rstrip() if not cell else f"{head.ljust(wide)} | {cell}"
                for head, cell in zip(heads, row, strict=True)]  # fmt: skip
    return "\n".join([*(out or ["(0 rows)"]), "", ""])


#: Characters that tell psql's own commands from SQL.
_COMMAND = 3
_PARTS = re.compile(r"--[^\n]*|'(?:[^']|'')*'|\"[^\"]*\"|\$(\w*)\$.*?\$\1\$|;|\n(?=\\)|.", re.DOTALL)


def statements(script: str) -> list[str]:
    r"""The statements of a script, without comments; what is quoted stays as it is.

    >>> statements("select ';' ; -- x\nselect 2")
    ["select ';'", 'select 2']
    """
    found: list[list[str]] = [[]]
    begun = ""  # the first characters of the statement that are no space: a command of psql's own, or not
    for part in _PARTS.finditer(script):
        text = part[0]
        begun = begun if found[-1] else ""
        meta = begun.startswith("\\")
        if text == ";" or (text == "\n" and (meta or script[part.end() : part.end() + 1] == "\\")):
            found.append([])
        elif not text.startswith("--"):
            found[-1].append(" " if text.isspace() else text)
            begun += text.strip() if len(begun) < _COMMAND else ""
        if begun == "\\q":
            found.append([])
    joined = ("".join(parts).strip() for parts in found)
    return [re.sub(r"^\\(\w+)\s+", r"\\\1 ", text) for text in joined if text]


def _shown(value: object) -> str:
    """A value as psql prints it."""
    return "" if value is None else ("t" if value else "f") if isinstance(value, bool) else str(value)
