"""SHOW and DESCRIBE: what a MySQL server tells of itself, of its databases and of their tables.

Source: Reference Manual, "SHOW Statements"; messages of MySQL 8.0. Left out: replication (a server replicates
nothing), routines, triggers and events (there are none), SHOW PROFILE.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from simcluster.models.apps.stores.contents import Database
from simcluster.models.apps.stores.mysql import informationschema
from simcluster.models.apps.stores.mysql.innodbstatus import monitor
from simcluster.models.apps.stores.mysql.mysqlerrors import MysqlError, misspelt
from simcluster.models.apps.stores.mysql.mysqlprinting import Answer, Value, listed, matches
from simcluster.models.apps.stores.mysql.mysqltables import created, facts, indexes_of, key_of, tables_of, type_of
from simcluster.models.apps.stores.mysql.mysqlvariables import release, status, variables
from simcluster.models.apps.stores.sql.relations import Relations
from simcluster.models.apps.stores.sql.tables import Column, Refused, Table, Unsupported

if TYPE_CHECKING:
    from simcluster.models.apps.stores.mysql.mysqlshell import MysqlShell

_SYSTEM = informationschema.SYSTEM
_FIRST_LOG = 157  # bytes of a binary log's header events


class Looks:
    """What a session may look at.

    Args:
        shell: the session.
    """

    def __init__(self, shell: MysqlShell) -> None:
        self._shell = shell
        self._program = shell.program
        self._old = release(self._program) < (8, 0)

    def _database(self, name: str) -> Database:
        if not name:
            raise MysqlError(1046, "3D000", "No database selected")
        found = self._shell.contents.databases.get(name)
        if found is None:
            raise MysqlError(1049, "42000", f"Unknown database '{name}'")
        return found

    def _table(self, found: re.Match[str]) -> tuple[str, str, Table]:
        """Space, name and table that a statement names as `t`, `db.t` or `t from db`."""
        name = (found["table"] or "").replace("`", "")
        given, _, short = name.rpartition(".")
        space = (found.groupdict().get("space") or given or self._shell.database).strip("`")
        table = tables_of(self._database(space)).get(short)
        if table is None:
            raise MysqlError(1146, "42S02", f"Table '{space}.{short}' doesn't exist")
        return space, short, table

    # --- databases and tables -------------------------------------------------------------

    def databases(self, found: re.Match[str]) -> Answer:
        """SHOW DATABASES."""
        like = pattern(found["like"])
        names = [each for each in informationschema.schemas(self._program, self._shell.user) if matches(like, each)]
        return Answer((f"Database ({like})" if like else "Database",), [(each,) for each in names])

    def tables(self, found: re.Match[str]) -> Answer:
        """SHOW TABLES."""
        space, like = found["space"] or self._shell.database, pattern(found["like"])
        if space.lower() in _SYSTEM and space not in self._shell.contents.databases:
            names = [each.partition(".")[2] for each in informationschema._COLUMNS if each.startswith(f"{space}.")]
            names = [each.upper() if space == "information_schema" else each for each in sorted(names)]
        else:
            names = list(tables_of(self._database(space)))
        head = f"Tables_in_{space}" + (f" ({like})" if like else "")
        chosen = [each for each in names if matches(like, each)]
        if found["full"]:
            return Answer((head, "Table_type"), [(each, "BASE TABLE") for each in chosen])
        return Answer((head,), [(each,) for each in chosen])

    def table_status(self, found: re.Match[str]) -> Answer:
        """SHOW TABLE STATUS."""
        space, like = found["space"] or self._shell.database, pattern(found["like"])
        collation = variables(self._program)["collation_server"]
        names = [each for each in tables_of(self._database(space)) if matches(like, each)]
        wanted = {
            "Name": "TABLE_NAME", "Engine": "ENGINE", "Version": "VERSION", "Row_format": "ROW_FORMAT",
            "Rows": "TABLE_ROWS", "Avg_row_length": "AVG_ROW_LENGTH", "Data_length": "DATA_LENGTH",
            "Max_data_length": "MAX_DATA_LENGTH", "Index_length": "INDEX_LENGTH", "Data_free": "DATA_FREE",
            "Auto_increment": "AUTO_INCREMENT", "Create_time": "CREATE_TIME", "Update_time": "UPDATE_TIME",
            "Check_time": "CHECK_TIME", "Collation": "TABLE_COLLATION", "Checksum": "CHECKSUM",
            "Create_options": "CREATE_OPTIONS", "Comment": "TABLE_COMMENT",
        }  # fmt: skip
        rows = [facts(self._shell.contents, space, each, collation) for each in names]
        return Answer(tuple(wanted), [[row[key] for key in wanted.values()] for row in rows])

    def create_table(self, found: re.Match[str]) -> Answer:
        """SHOW CREATE TABLE."""
        _, name, table = self._table(found)
        known = variables(self._program)
        text = created(name, table, known["character_set_server"], known["collation_server"], old=self._old)
        return Answer(("Table", "Create Table"), [(name, text)])

    def create_database(self, found: re.Match[str]) -> Answer:
        """SHOW CREATE DATABASE."""
        name, known = found["space"], variables(self._program)
        self._database(name)
        charset, collation = known["character_set_server"], known["collation_server"]
        more = "" if self._old else f" COLLATE {collation}"
        text = f"CREATE DATABASE `{name}` /*!40100 DEFAULT CHARACTER SET {charset}{more} */"
        return Answer(("Database", "Create Database"), [(name, text if self._old else f"{text} /*!80016 DEFAULT "
                                                         "ENCRYPTION='N' */")])  # fmt: skip

    def columns(self, found: re.Match[str]) -> Answer:
        """SHOW COLUMNS, DESCRIBE."""
        _, _, table = self._table(found)
        groups = found.groupdict()
        like, full = pattern(groups.get("like")), bool(groups.get("full"))
        rows: list[list[Value]] = []
        for each in table.columns:
            if matches(like, each.name):
                needed = each.required or each.name in table.key
                kind, extra = type_of(each, old=self._old), "auto_increment" if each.counted else ""
                text = "char" in kind or "text" in kind
                collation = variables(self._program)["collation_server"] if text else None
                shown = int(each.default) if isinstance(each.default, bool) else each.default
                row = [each.name, kind, "NO" if needed else "YES", key_of(table, each.name), shown, extra]
                rights = "select,insert,update,references"
                rows.append([*row[:2], collation, *row[2:], rights, ""] if full else row)
        heads = ["Field", "Type", "Null", "Key", "Default", "Extra"]
        return Answer([*heads[:2], "Collation", *heads[2:], "Privileges", "Comment"] if full else heads, rows)

    def indexes(self, found: re.Match[str]) -> Answer:
        """SHOW INDEX."""
        space, name, table = self._table(found)
        count = facts(self._shell.contents, space, name, "")["TABLE_ROWS"]
        heads = ["Table", "Non_unique", "Key_name", "Seq_in_index", "Column_name", "Collation", "Cardinality",
                 "Sub_part", "Packed", "Null", "Index_type", "Comment", "Index_comment"]  # fmt: skip
        rows: list[list[Value]] = []
        for index, columns, unique in indexes_of(table):
            for at, column in enumerate(columns, 1):
                known = table.column(column)
                null = "" if known is None or known.required or column in table.key else "YES"
                row = [name, int(not unique), index, at, column, "A", count, None, None, null, "BTREE", "", ""]
                rows.append(row if self._old else [*row, "YES", None])
        return Answer(heads if self._old else [*heads, "Visible", "Expression"], rows)

    # --- the server -----------------------------------------------------------------------

    def variables(self, found: re.Match[str]) -> Answer:
        """SHOW VARIABLES."""
        known = variables(self._program)
        if (found["scope"] or "").strip().lower() != "global":
            known |= self._shell.own
        return self._values(known, found)

    def status(self, found: re.Match[str]) -> Answer:
        """SHOW STATUS."""
        return self._values(status(self._program), found)

    def _values(self, values: dict[str, str], found: re.Match[str]) -> Answer:
        """Names and values that a LIKE or a WHERE leaves."""
        heads, like = ("Variable_name", "Value"), pattern(found["like"])
        table = Table([Column(each, "TEXT", required=False, counted=False) for each in heads], ())
        table.rows = [dict(zip(heads, each, strict=True)) for each in sorted(values.items()) if matches(like, each[0])]
        if not found["where"]:
            return listed(heads, table.rows)
        text = f"select Variable_name, Value from listed where {found['where']}"
        try:
            done = Relations({"listed": table}, "mysql", "").execute(text)
        except (SyntaxError, Unsupported):
            raise misspelt(found["where"]) from None
        except Refused as error:
            raise MysqlError(1054, "42S22", f"Unknown column '{error.values[0]}' in 'where clause'") from None
        return Answer(heads, done.rows)

    def processes(self, found: re.Match[str]) -> Answer:
        """SHOW PROCESSLIST: of the statements no more than a hundred characters unless it is FULL."""
        heads = ("Id", "User", "Host", "db", "Command", "Time", "State", "Info")
        account = self._shell.contents.accounts.find(self._shell.user)
        rows = [
            (*each[:7], each.info if each.info is None or found["full"] else each.info[:100])
            for each in self._shell.threads()
            if (account is not None and account.superuser) or each.user == self._shell.user
        ]
        return Answer(heads, rows)

    def grants(self, found: re.Match[str]) -> Answer:
        """SHOW GRANTS."""
        name = found["user"] or self._shell.user
        name = self._shell.user if name.lower().startswith("current_user") else name
        account = self._shell.contents.accounts.find(name)
        if account is None:
            raise MysqlError(1141, "42000", f"There is no such grant defined for user '{name}' on host '%'")
        mark = "'" if self._old else "`"
        who = f"{mark}{name}{mark}@{mark}%{mark}"
        given = [f"GRANT USAGE ON *.* TO {who}"]
        if account.superuser:
            given = [f"GRANT ALL PRIVILEGES ON *.* TO {who} WITH GRANT OPTION"]
        elif account.settings.get("grants", "all") == "all":
            given += [f"GRANT ALL PRIVILEGES ON `{each}`.* TO {who}" for each in self._shell.contents.databases]
        return Answer((f"Grants for {name}@%",), [(each,) for each in given])

    def create_user(self, found: re.Match[str]) -> Answer:
        """SHOW CREATE USER."""
        account = self._shell.contents.accounts.find(found["user"])
        if account is None:
            raise MysqlError(1396, "HY000", f"Operation SHOW CREATE USER failed for '{found['user']}'@'%'")
        plugin = "mysql_native_password" if self._old else "caching_sha2_password"
        lock = "UNLOCK" if account.enabled else "LOCK"
        mark = "'" if self._old else "`"
        text = (
            f"CREATE USER {mark}{account.name}{mark}@{mark}%{mark} IDENTIFIED WITH '{plugin}' "
            f"REQUIRE NONE PASSWORD EXPIRE DEFAULT ACCOUNT {lock}"
        )
        return Answer((f"CREATE USER for {account.name}@%",), [(text,)])

    def engine(self, found: re.Match[str]) -> Answer:
        """SHOW ENGINE INNODB STATUS."""
        return Answer(("Type", "Name", "Status"), [("InnoDB", "", monitor(self._program))])

    def engines(self, found: re.Match[str]) -> Answer:
        """SHOW ENGINES."""
        heads = ("Engine", "Support", "Comment", "Transactions", "XA", "Savepoints")
        return Answer(heads, informationschema.ENGINES)

    # --- replication ----------------------------------------------------------------------

    def replica(self, found: re.Match[str]) -> Answer:
        """SHOW REPLICA STATUS and SLAVE STATUS, each in the versions that know it: it replicates from nobody."""
        word, version = found[1].lower(), release(self._program)
        if (word.startswith("replica") and version < (8, 0)) or (word.startswith("slave") and version >= (8, 4)):
            raise misspelt(found[0][found.start(1) :])
        return Answer()

    def source(self, found: re.Match[str]) -> Answer:
        """SHOW MASTER STATUS and BINARY LOG STATUS: where the binary log is written."""
        word, version = found[1].lower(), release(self._program)
        if (word.startswith("binary log s") and version < (8, 4)) or (word == "master status" and version >= (8, 4)):
            raise misspelt(found[0][found.start(1) :])
        if variables(self._program)["log_bin"] != "ON":
            return Answer()
        name, position = self._log()
        heads = ("File", "Position", "Binlog_Do_DB", "Binlog_Ignore_DB", "Executed_Gtid_Set")
        return Answer(heads, [(name, position, "", "", "")])

    def binary_logs(self, found: re.Match[str]) -> Answer:
        """SHOW BINARY LOGS."""
        if variables(self._program)["log_bin"] != "ON":
            raise MysqlError(1381, "HY000", "You are not using binary logging")
        name, position = self._log()
        number, size = int(name.rpartition(".")[2]), int(variables(self._program)["max_binlog_size"])
        rows = [(f"binlog.{at:06d}", position if at == number else size, "No") for at in range(1, number + 1)]
        return Answer(("Log_name", "File_size", "Encrypted"), rows)

    def _log(self) -> tuple[str, int]:
        """File and position: it grows as the redo log does."""
        size = int(variables(self._program)["max_binlog_size"])
        written = max(0, self._shell.contents.position - 22_000_000)
        return f"binlog.{1 + written // size:06d}", _FIRST_LOG + written % size

    def nothing(self, found: re.Match[str]) -> Answer:
        """What there is none of: warnings, triggers, events, routines, replicas."""
        return Answer()


def pattern(text: str | None) -> str | None:
    """A LIKE's pattern without its quotes.

    >>> pattern("'a''b%'"), pattern(None)
    ("a'b%", None)
    """
    return None if text is None else text[1:-1].replace("''", "'")


_NAME = r"[`'\"]?(?P<user>[\w.()-]+)[`'\"]?(?:\s?@\s?[`'\"]?[^`'\"]*[`'\"]?)?"
_LIKE = r"(?: like (?P<like>'(?:[^']|'')*'|\"[^\"]*\"))?"
_WHERE = r"(?: where (?P<where>.+))?$"
_IN = r"(?: (?:from|in) `?(?P<space>[\w-]+)`?)?"
_TABLE = r"(?P<table>`?[\w-]+`?(?:\.`?[\w-]+`?)?)"
_SCOPE = r"(?P<scope>global |session |local )?"
STATEMENTS = (
    (r"show (?:databases|schemas)" + _LIKE + "$", Looks.databases),
    (r"show (?:extended )?(?P<full>full )?tables" + _IN + _LIKE + "$", Looks.tables),
    (r"show table status" + _IN + _LIKE + "$", Looks.table_status),
    (r"show create table " + _TABLE + "$", Looks.create_table),
    (r"show create (?:database|schema) (?:if not exists )?`?(?P<space>[\w-]+)`?$", Looks.create_database),
    (r"show create user " + _NAME + "$", Looks.create_user),
    (r"show (?P<full>full )?(?:columns|fields) (?:from|in) " + _TABLE + _IN + _LIKE + "$", Looks.columns),
    (r"(?:desc|describe|explain) " + _TABLE + "$", Looks.columns),
    (r"show (?:index|indexes|keys) (?:from|in) " + _TABLE + _IN + "$", Looks.indexes),
    (r"show " + _SCOPE + "variables" + _LIKE + _WHERE, Looks.variables),
    (r"show " + _SCOPE + "status" + _LIKE + _WHERE, Looks.status),
    (r"show (?P<full>full )?processlist$", Looks.processes),
    (r"show grants(?: for " + _NAME + r")?$", Looks.grants),
    (r"show engine innodb status$", Looks.engine),
    (r"show (?:storage )?engines$", Looks.engines),
    (r"show (replica status|slave status)(?: for channel '\w*')?$", Looks.replica),
    (r"show (replicas|slave hosts)$", Looks.replica),
    (r"show (master status|binary log status)$", Looks.source),
    (r"show (?:binary|master) logs$", Looks.binary_logs),
    (r"show (?:warnings|errors)(?: limit \d+)?$|show (?:triggers|events|open tables)\b|"
     r"show (?:procedure|function) status\b", Looks.nothing),
)  # fmt: skip
