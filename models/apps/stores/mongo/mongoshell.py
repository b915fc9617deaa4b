"""`mongo` and `mongosh` for looks and for users: one session over what a script may do.

Every script is run by `userland.javascript` over what `mongoscript` shows it. `--eval` gives the value of its last
statement; standard input is read as if it was typed: each statement gives its value, and a mistake ends only itself.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simcluster.models.apps.stores.accounts import Account
from simcluster.models.apps.stores.demand import DataSet
from simcluster.models.apps.stores.mongo.documents import DocumentError, inspected, tojson
from simcluster.models.apps.stores.mongo.mongocollection import METHODS, WRITING, Collection, IdMaker, WriteResult
from simcluster.models.apps.stores.mongo.mongoline import CALLED, options_of, prepared
from simcluster.models.apps.stores.mongo.mongorights import COMMAND_OF, is_role
from simcluster.models.apps.stores.mongo.mongoscript import Again, Cursor, Database, names_of
from simcluster.models.userland.javascript import (
    UNDEFINED,
    Exhausted,
    Function,
    Host,
    Native,
    Script,
    ScriptError,
    Unsupported,
)
from simcluster.models.userland.outcome import Outcome

if TYPE_CHECKING:
    from simcluster.models.apps.stores.mongo.mongod import MongodProgram


#: What a database of a few documents takes on the disk: a file for the collection and one for its index.
_SMALL = 40 << 10


class Left(Exhausted):
    """The script has called `quit()`."""


class MongoShell:
    """One session of the shell.

    Args:
        program: the server it is connected to.
        legacy: whether it is `mongo` and not `mongosh`.
        trusted: whether rights are not asked (the entry point's own start).
    """

    def __init__(self, program: MongodProgram, *, legacy: bool = False, trusted: bool = False) -> None:
        self._program = program
        self._legacy = legacy
        self._trusted = trusted
        self.database = "test"
        self.user = ""
        self.slept_ns = 0
        self.code = 0
        self._made = 0

    def run(self, words: tuple[str, ...], stdin: str) -> Outcome:
        """The command line: options, a database, `--eval` or standard input."""
        options, rest = options_of(words)
        if rest:
            self.database = rest[0].rpartition("/")[2] or "test" if "://" in rest[0] else rest[0].rpartition("/")[2]
            login = re.match(r"mongodb://([^:@]+):([^@]+)@", rest[0])
            if login:
                options.setdefault("u", login[1])
                options.setdefault("p", login[2])
        if "u" in options:
            why = self._program.login(
                options["u"], options.get("p", ""), options.get("authenticationDatabase", "admin")
            )
            if why:
                if self._legacy:
                    text = f"Error: {why} :\nconnect@src/mongo/shell/mongo.js:374:17\n@(connect):2:6\n"
                    return Outcome(text + "exception: connect failed\nexiting with code 1\n", "", 1)
                return Outcome("", f"MongoServerError: {why}\n", 1)
            self.user = options["u"]
        text, error = self.evaluate(options.get("eval", stdin), typed="eval" not in options)
        if error is None or "eval" not in options:
            return Outcome(text, "", self.code, self.slept_ns)
        if self._legacy:
            return Outcome(text + self._complaint(error), "", 252)
        return Outcome(text, self._complaint(error), 1)

    def evaluate(self, source: str, *, typed: bool = False) -> tuple[str, ScriptError | None]:
        """What a script prints, and the mistake that has ended it.

        Args:
            source: the script.
            typed: whether each statement's value is printed, and the next is done whatever becomes of one.
        """
        printed: list[str] = []
        script = Script({}, self._program.container.sim.now)
        again = Again()
        script.top.names.update(names_of(self, script, printed))
        script.top.names["it"] = again
        script.top.names[CALLED("use")] = Native("use", functools.partial(self._use, script))
        script.top.names[CALLED("show")] = Native("show", self._show)
        value: Any = UNDEFINED
        said: ScriptError | None = None
        try:
            for statement in script.parsed(prepared(source)):
                value = UNDEFINED
                try:
                    value = script.perform(statement)
                    if isinstance(value, Native) and value.name in ("quit", "exit"):  # the bare word leaves, too
                        break
                    if isinstance(value, Cursor):
                        again.cursor = value
                    if typed or _is_command(statement):
                        printed += self._value_lines(value)
                        value = UNDEFINED
                except Left:
                    break
                except ScriptError as error:
                    if not typed or isinstance(error, Exhausted):
                        raise
                    value = UNDEFINED
                    printed.append(self._complaint(error).rstrip("\n"))
            printed += self._value_lines(value)
        except ScriptError as error:
            said = error
        except RecursionError:  # where a value that lies deep is asked for or printed
            said = ScriptError("RangeError", "Maximum call stack size exceeded")
        if said is not None and typed:
            printed.append(self._complaint(said).rstrip("\n"))
        return "".join(f"{text}\n" for text in printed), said

    def _value_lines(self, value: Any) -> list[str]:
        """What is printed of a statement's value."""
        if value is UNDEFINED or (isinstance(value, Native) and value.name in ("quit", "exit")):
            return []
        if isinstance(value, Cursor | Again):
            page = value.page(self._legacy)
            return [page] if page else []
        return [value if isinstance(value, str) else self.text_of(value)]

    def _complaint(self, error: ScriptError) -> str:
        """A mistake that nobody has caught, as the shell prints it."""
        kind = "MongoshUnimplementedError" if isinstance(error, Unsupported) else error.kind
        if not self._legacy:
            return f"{kind}: {error.text}\n" if kind else f"{error.text}\n"
        if kind == "MongoServerError":
            return f"uncaught exception: Error: {error.text} :\n_getErrorWithCode@src/mongo/shell/utils.js:25:13\n"
        text = error.text.split(" (", 1)[0] if kind == "SyntaxError" else error.text
        return f"uncaught exception: {kind or 'Error'}: {text} :\n@(shell eval):1:1\n"

    def _use(self, script: Script, name: str) -> str:
        self.database = name
        script.top.names["db"] = Database(self, script, name)
        return f"switched to db {name}"

    def text_of(self, value: Any) -> str:
        """A value as the shell prints it."""
        if isinstance(value, Cursor):
            return value.page(self._legacy)
        if isinstance(value, Host):
            value = value.shown()
            if isinstance(value, str):
                return value
        if value is UNDEFINED or isinstance(value, str):
            return "undefined" if value is UNDEFINED else inspected(value)
        if isinstance(value, Function | Native):
            return f"[Function: {value.name}]" if value.name else "[Function (anonymous)]"
        if self._legacy:
            name = value.name if isinstance(value, WriteResult) else ""
            return f"{name}({tojson(cleaned(value))})" if name else tojson(cleaned(value))
        return inspected(cleaned(value))

    def in_database(self, database: str, method: str, args: list[Any]) -> object:
        """A method of a database. Raises ScriptError."""
        before, self.database = self.database, database
        try:
            return self._db(method, [cleaned(one) for one in args])
        finally:
            self.database = before

    def on_collection(self, database: str, name: str, calls: list[tuple[str, list[Any]]]) -> object:
        """Methods of a collection and its cursor. Raises ScriptError."""
        before, self.database = self.database, database
        try:
            if calls[0][0] in METHODS:
                return self._documents(name, [(step, [cleaned(one) for one in args]) for step, args in calls])
            return self._collection(name, calls[0][0])
        finally:
            self.database = before

    def held(self, database: str, name: str) -> int:
        """How many documents of people a collection has."""
        found = self._contents().databases.get(database)
        return 0 if found is None else len(found.collections.get(name, ()))

    def replica_set(self, method: str, *_: Any) -> object:
        """`rs.METHOD()` of a server that is no member of a set. Raises ScriptError."""
        if self._legacy and method == "status":
            return {"ok": 0, "errmsg": "not running with --replSet", "code": 76, "codeName": "NoReplicationEnabled"}
        begins = "This node was not started with replication enabled." if method == "initiate" else ""
        raise ScriptError("MongoServerError", begins or "not running with --replSet")

    def sleep(self, ms: Any = 0) -> object:
        """Let time pass, once the script is over: its statements are of one instant."""
        self.slept_ns += int(float(ms)) * 1_000_000 if isinstance(ms, int | float) and 0 <= ms < 1e9 else 0
        return UNDEFINED

    def leave(self, code: Any = 0) -> object:
        """`quit(code)`. Raises Left."""
        self.code = int(code) if isinstance(code, int) else 0
        raise Left("", "")

    def object_id(self, text: Any) -> object:
        """`ObjectId()`, or the one that is written. Raises ScriptError."""
        if text is None:
            self._made += 1
            return IdMaker(self._program.container.sim, self._contents()).make(1_000_000 + self._made)
        if not re.fullmatch(r"[0-9a-fA-F]{24}", str(text)):
            said = "input must be a 24 character hex string, 12 byte Uint8Array, or an integer"
            raise ScriptError("BSONError", said)
        return {"$oid": str(text).lower()}

    def extended(self, value: Any, *_: Any) -> str:
        """`EJSON.stringify`."""
        return json.dumps(cleaned(value.shown() if isinstance(value, Host) else value), separators=(",", ":"))

    def _show(self, what: str) -> object:
        contents = self._contents()
        if what in ("dbs", "databases"):
            self._require("listDatabases", "admin")
            sizes = {"admin": 100 << 10, "config": 60 << 10, "local": 72 << 10}
            sizes |= {name: database.size for name, database in contents.databases.items()}
            return "\n".join(f"{name:8} {_size(size)}" for name, size in sorted(sizes.items()))
        if what in ("collections", "tables"):
            self._require("listCollections", self.database)
            return "\n".join(self._tables())
        if what == "users":
            return self._get_users()
        raise ScriptError("MongoshInvalidInputError", f"[COMMON-10001] '{what}' is not a valid argument for \"show\".")

    def _documents(self, name: str, calls: list[tuple[str, list[Any]]]) -> object:
        """Methods of a collection that look at its documents or change them."""
        method = calls[0][0]
        self._require(COMMAND_OF.get(method, method), self.database, name)
        program = self._program
        found = self._contents().databases.get(self.database)
        tables = () if found is None else found.described.tables
        own = found.documents // len(tables) if found is not None and name in tables else 0
        if found is None and method in WRITING:
            found = self._contents().database(self.database, DataSet(size=_SMALL, tables=()))
        held = {} if found is None else found.collections
        maker = IdMaker(program.container.sim, self._contents())
        try:
            return Collection(held, name, own, maker, legacy=self._legacy).run(calls)
        except DocumentError as error:
            raise ScriptError("MongoServerError", str(error)) from None
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):  # a value of the wrong kind
            raise ScriptError("MongoServerError", "Failed to parse: wrong type for field") from None

    # --- the database ---------------------------------------------------------------------

    def _db(self, method: str, args: list[Any]) -> object:
        simple = {
            "getUsers": self._get_users,
            "getCollectionNames": self._collection_names,
            "stats": self._stats,
            "serverStatus": self._server_status,
            "currentOp": self._current,
        }
        plain: dict[str, object] = {
            "getName": self.database,
            "version": self._program.version,
            "hello": {"isWritablePrimary": True, "ok": 1},
            "isMaster": {"ismaster": True, "ok": 1},
        }
        if method in plain:
            return plain[method]
        if method in simple:
            return simple[method]()
        if method in ("adminCommand", "runCommand") and args:
            return self._command(args[0], "admin" if method == "adminCommand" else self.database)
        if method == "auth" and args:
            given = args[0] if isinstance(args[0], dict) else {"user": args[0], "pwd": args[1] if len(args) > 1 else ""}
            why = self._program.login(given.get("user", ""), given.get("pwd", ""), self.database)
            if why:
                raise ScriptError("MongoServerError", why)
            self.user = given["user"]
            return 1 if self._legacy else {"ok": 1}
        if method in ("getUser", "createUser", "updateUser", "dropUser", "changeUserPassword") and args:
            return self._user(method, args)
        if method in ("grantRolesToUser", "revokeRolesFromUser") and len(args) > 1:
            return self._roles(method, str(args[0]), args[1])
        if method == "shutdownServer":
            self._require("shutdown", "admin")
            self._program.terminate()
            return UNDEFINED
        raise ScriptError("TypeError", f"db.{method} is not a function")

    def _command(self, command: object, database: str) -> object:
        if isinstance(command, str):
            command = {command: 1}
        name = next(iter(command), "") if isinstance(command, Mapping) else ""
        if name == "ping":
            return {"ok": 1}
        if name == "serverStatus":
            return self._server_status()
        if name == "listDatabases":
            self._require(name, "admin")
            found = [{"name": n, "sizeOnDisk": d.size} for n, d in self._contents().databases.items()]
            return {"databases": found, "ok": 1}
        if name in ("dbStats", "buildInfo", "connectionStatus"):
            return self._stats() if name == "dbStats" else {"version": self._program.version, "ok": 1}
        if name == "getParameter":
            self._require(name, "admin")
            return {"featureCompatibilityVersion": {"version": self._contents().version}, "ok": 1}
        raise ScriptError("MongoServerError", f"no such command: '{name}'")

    def _user(self, method: str, args: list[Any]) -> object:
        accounts, program = self._contents().accounts, self._program
        name = args[0]["user"] if isinstance(args[0], dict) else str(args[0])
        known = accounts.find(name, self.database)
        if method == "getUser":
            self._require("usersInfo", self.database)
            return _document(known) if known is not None else None
        self._require("updateUser" if method == "changeUserPassword" else method, self.database)
        if method == "createUser":
            if known is not None:
                raise ScriptError("MongoServerError", f'User "{name}@{self.database}" already exists')
            account = Account(name, str(args[0].get("pwd", "")), self.database)
            self._set_roles(account, args[0].get("roles", []))
            accounts.add(account)
            program.republish()
            roles = json.dumps([{"role": r, "db": d} for r, d in account.roles], indent="\t")
            return f'Successfully added user: {{\n\t"user" : "{name}",\n\t"roles" : {roles}\n}}' if self._legacy else OK
        if known is None:
            if method == "dropUser" and self._legacy:
                return False
            raise ScriptError("MongoServerError", f"User '{name}@{self.database}' not found")
        if method == "dropUser":
            accounts.remove(name, self.database)
        elif method == "changeUserPassword" and len(args) > 1:
            known.password = str(args[1])
        elif method == "updateUser" and len(args) > 1 and isinstance(args[1], dict):
            known.password = str(args[1].get("pwd", known.password))
            if "roles" in args[1]:
                known.roles = []
                self._set_roles(known, args[1]["roles"])
        program.republish()
        if self._legacy:
            return True if method == "dropUser" else UNDEFINED
        return OK

    def _roles(self, method: str, name: str, roles: list[Any]) -> object:
        self._require(method, self.database)
        account = self._contents().accounts.find(name, self.database)
        if account is None:
            raise ScriptError("MongoServerError", f'Could not find user "{name}" for db "{self.database}"')
        if method == "grantRolesToUser":
            self._set_roles(account, roles)
        else:
            for role, database in _roles_of(roles, self.database):
                account.revoke(role, database)
        self._program.republish()
        return UNDEFINED if self._legacy else OK

    def _set_roles(self, account: Account, roles: list[Any]) -> None:
        for role, database in _roles_of(roles, self.database):
            if not is_role(role):
                raise ScriptError("MongoServerError", f"No role named {role}@{database}")
            account.grant(role, database)

    def _get_users(self) -> object:
        self._require("usersInfo", self.database)
        users = [_document(u) for u in self._contents().accounts.users.values() if u.database == self.database]
        return users if self._legacy else {"users": users, "ok": 1}

    def _server_status(self) -> object:
        self._require("serverStatus", "admin")
        program = self._program
        storage = program.storage
        assert storage is not None
        used = int(storage.cache.held)
        cache = {
            "maximum bytes configured": program.cache_bytes(),
            "bytes currently in the cache": used,
            "tracked dirty bytes in the cache": int(storage.cache.changed),
            "pages read into cache": int(storage.cache.misses),
            "pages requested from the cache": int(storage.cache.hits + storage.cache.misses),
        }
        opened = program.open_connections()
        return {
            "host": program.container.spec.pod_name,
            "version": program.version,
            "process": "mongod",
            "pid": 1,
            "uptime": program.uptime_s(),
            "connections": {"current": opened, "available": program.most_connections - opened, "active": opened},
            "mem": {"bits": 64, "resident": program.container.memory_bytes >> 20},
            "wiredTiger": {
                "cache": cache,
                "log": {"log bytes written": int(storage.totals["log_bytes"]), "log sync operations": int(
                    storage.totals["fsyncs"])},
                "transaction": {"transaction checkpoints": int(storage.totals["checkpoints"])},
            },
            "ok": 1,
        }  # fmt: skip

    def _stats(self) -> object:
        self._require("dbStats", self.database)
        found = self._contents().databases.get(self.database)
        size = documents = 0
        if found is not None:
            made = sum(len(docs) for docs in found.collections.values())  # integers
            size, documents = found.size, made + (found.documents if found.described.tables else 0)
        tables = len(self._tables())
        return {"db": self.database, "collections": tables, "objects": documents, "storageSize": size, "ok": 1}

    def _current(self) -> object:
        self._require("currentOp", "admin")
        return {"inprog": [], "ok": 1}

    def _collection_names(self) -> object:
        self._require("listCollections", self.database)
        return self._tables()

    def _collection(self, name: str, method: str) -> object:
        command = COMMAND_OF.get(method)
        if command is None:
            raise ScriptError("TypeError", f"db.{name}.{method} is not a function")
        self._require(command, self.database, name)
        found = self._contents().databases.get(self.database)
        tables = () if found is None else found.described.tables
        documents = found.documents // len(tables) if found is not None and name in tables else 0
        if command == "validate":
            return self._validate(name)
        documents += len(found.collections.get(name, ())) if found is not None else 0
        return {"ns": f"{self.database}.{name}", "count": documents, "ok": 1}

    def _validate(self, name: str) -> object:
        """Read the whole collection: what a scrub of the file finds."""
        program = self._program
        assert program.storage is not None
        assert program.folder is not None
        ns = f"{self.database}.{name}"
        database = self._contents().databases.get(self.database)
        if database is None or name not in self._tables():
            raise ScriptError("MongoServerError", f"Collection '{ns}' does not exist to validate.")
        file = program.storage.file_of(database)
        outcome = program.folder.read(file, 0, database.size)
        if outcome.corrupt or outcome.error:
            errors = ["The record store has a corrupt block" if outcome.corrupt else outcome.error]
            return {"ns": ns, "valid": False, "errors": errors, "corruptRecords": [outcome.offset], "ok": 1}
        return {"ns": ns, "valid": True, "errors": [], "nrecords": database.documents, "ok": 1}

    def _tables(self) -> list[str]:
        found = self._contents().databases.get(self.database)
        return sorted({*found.described.tables, *found.collections}) if found is not None else []

    def _contents(self) -> Any:
        assert self._program.contents is not None
        return self._program.contents

    def _require(self, command: str, database: str, table: str = "") -> None:
        """Rights; without any user the local shell may make the first one (the localhost exception)."""
        if self._trusted or (command == "createUser" and not self._contents().accounts.users):
            return
        why = self._program.refuses(self.user, database, command, table)
        if why:
            why = why if self._legacy else why[0].upper() + why[1:] if why.startswith("command") else why
            raise ScriptError("MongoServerError", why)


OK: dict[str, Any] = {"ok": 1}


def cleaned(value: Any) -> Any:
    """A value of a script as a document may hold it."""
    if isinstance(value, list):
        return [None if one is UNDEFINED else cleaned(one) for one in value]
    if isinstance(value, dict):
        return {name: cleaned(one) for name, one in value.items() if one is not UNDEFINED}
    if isinstance(value, Host):
        return cleaned(value.shown())
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


def _is_command(statement: Any) -> bool:
    """Whether it is `use X` or `show X`."""
    called = getattr(getattr(statement, "expression", None), "callee", None)
    return getattr(called, "name", "") in (CALLED("use"), CALLED("show"))


def _roles_of(roles: list[Any], database: str) -> list[tuple[str, str]]:
    listed = roles if isinstance(roles, list) else [roles]
    return [(r["role"], r.get("db", database)) if isinstance(r, dict) else (str(r), database) for r in listed]


def _document(account: Account) -> dict[str, Any]:
    roles = [{"role": role, "db": database} for role, database in account.roles]
    return {
        "_id": f"{account.database}.{account.name}",
        "user": account.name,
        "db": account.database,
        "roles": roles,
        "mechanisms": ["SCRAM-SHA-1", "SCRAM-SHA-256"],
    }


def _size(size: int) -> str:
    return f"{size / (1 << 20):.2f} MiB" if size >= 1 << 20 else f"{size / 1024:.2f} KiB"
