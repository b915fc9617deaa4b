"""What a script finds in the shells of MongoDB: `db`, its collections, cursors, and the shell's own functions.

Left out: sessions, transactions, change streams, `load`, modules of Node.js.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simcluster.models.apps.stores.mongo.documents import inspected, plain
from simcluster.models.apps.stores.mongo.mongocollection import METHODS, PAGE
from simcluster.models.userland.javascript import UNDEFINED, Host, Native, Script, ScriptError, text_of

if TYPE_CHECKING:
    from simcluster.models.apps.stores.mongo.mongoshell import MongoShell

#: Methods of a cursor that make it another one.
_STEPS = ("sort", "limit", "skip", "pretty", "hint", "batchSize", "maxTimeMS", "project", "projection", "collation",
          "allowDiskUse", "comment", "noCursorTimeout", "readConcern")  # fmt: skip
#: Names of a database that are no collections.
_OF_DATABASE = (
    *("getUsers", "getUser", "createUser", "updateUser", "dropUser", "changeUserPassword", "grantRolesToUser"),
    *("revokeRolesFromUser", "getCollectionNames", "stats", "serverStatus", "currentOp", "getName", "version", "hello"),
    *("isMaster", "adminCommand", "runCommand", "auth", "shutdownServer"),
    *("hostInfo", "dropDatabase", "serverBuildInfo", "getMongo", "getProfilingStatus"),
    *("createCollection", "getCollectionInfos", "killOp", "setProfilingLevel"),
)
#: Methods of `rs`.
_OF_SET = (
    "status",
    "conf",
    "config",
    "initiate",
    "add",
    "remove",
    "stepDown",
    "hello",
)
#: Methods of a collection beside those that look at documents.
_OF_COLLECTION = ("stats", "validate", "createIndex", "createIndexes", "getIndexes", "dropIndex", "getName",
                  "totalSize", "storageSize", "dataSize", "renameCollection", "isCapped", "getFullName")  # fmt: skip


class Database(Host):
    """`db`, or another database of the same connection."""

    def __init__(self, shell: MongoShell, script: Script, name: str) -> None:
        self._shell, self._script, self.name = shell, script, name

    def get(self, name: str) -> Any:
        """A method, or else the collection of that name."""
        if name in ("getSiblingDB", "getSisterDB"):
            return Native(name, lambda other: Database(self._shell, self._script, text_of(other)))
        if name == "getCollection":
            return Native(name, lambda other: Documents(self._shell, self._script, self.name, text_of(other)))
        if name in _OF_DATABASE:
            return Native(name, functools.partial(self._call, name))
        return Documents(self._shell, self._script, self.name, name)

    def shown(self) -> Any:
        """Its name."""
        return self.name

    def _call(self, name: str, *args: Any) -> Any:
        return self._shell.in_database(self.name, name, list(args))


class Documents(Host):
    """A collection."""

    def __init__(self, shell: MongoShell, script: Script, database: str, name: str) -> None:
        self._shell, self._script, self._database, self.name = shell, script, database, name

    def get(self, name: str) -> Any:
        """A method; or the collection whose name goes on after a point."""
        if name in ("find", "aggregate"):
            return Native(name, functools.partial(Cursor, self, name))
        if name in METHODS or name in _OF_COLLECTION:
            return Native(name, functools.partial(self._call, name))
        return Documents(self._shell, self._script, self._database, f"{self.name}.{name}")

    def shown(self) -> Any:
        """Database and name."""
        return f"{self._database}.{self.name}"

    def _call(self, name: str, *args: Any) -> Any:
        if name in ("getName", "getFullName"):
            return self.name if name == "getName" else self.shown()
        return self.ask([(name, list(args))])

    def ask(self, calls: list[tuple[str, list[Any]]]) -> Any:
        """What a method and those of its cursor give; who looks through many documents has done many steps."""
        inserts = calls[0][0].startswith("insert")
        asked = 1 if inserts else _size([one for _, args in calls for one in args])
        self._script.spend(5 + self._shell.held(self._database, self.name) * max(1, asked) // 10)
        return self._shell.on_collection(self._database, self.name, calls)

    def apply(self, function: Any, args: list[Any]) -> Any:
        """Call a function of the script."""
        return self._script.call(function, args)


def _size(value: Any) -> int:
    """How many values one holds, itself among them."""
    if isinstance(value, list | dict):
        inner = value.values() if isinstance(value, dict) else value
        return 1 + sum(map(_size, inner))  # integers
    return 1


class Cursor(Host):
    """What `find` and `aggregate` give: it asks when somebody wants a document."""

    def __init__(self, of: Documents, method: str, *args: Any) -> None:
        if method == "aggregate" and args and not isinstance(args[0], list):
            args = ([one for one in args if isinstance(one, dict)],)
        self._of = of
        self._calls: list[tuple[str, list[Any]]] = [(method, [one for one in args if one is not UNDEFINED])]
        self._left: list[Any] | None = None
        self._own: dict[str, Callable[..., Any]] = {
            "toArray": self._rest, "forEach": self._each, "map": self._mapped, "hasNext": self._has_next,
            "next": self._next, "tryNext": self._try_next, "isExhausted": self._is_exhausted,
            "explain": functools.partial(self._ended, "explain"),
            **{name: functools.partial(self._ended, name) for name in ("count", "size", "length", "itcount")},
        }  # fmt: skip

    def get(self, name: str) -> Any:
        """A method."""
        if name in _STEPS:
            return Native(name, functools.partial(self._step, name))
        found = self._own.get(name)
        return UNDEFINED if found is None else Native(name, found)

    def shown(self) -> Any:
        """A page of documents."""
        return self._waiting()[:PAGE]

    def page(self, legacy: bool) -> str:
        """The next page as the shell prints it; nothing if there are no documents."""
        waiting = self._waiting()
        shown, self._left = waiting[:PAGE], waiting[PAGE:]
        if not shown:
            return ""
        text = "\n".join(map(plain, shown)) if legacy else inspected(shown)
        return text + ('\nType "it" for more' if self._left else "")

    def _step(self, name: str, *args: Any) -> Cursor:
        kept = "project" if name == "projection" else name
        if kept in ("sort", "limit", "skip", "pretty", "hint", "batchSize", "maxTimeMS", "project"):
            self._calls.append((kept, list(args)))
        return self

    def _waiting(self) -> list[Any]:
        if self._left is None:
            self._left = list(self._of.ask([*self._calls, ("toArray", [])]))
        return self._left

    def _rest(self) -> list[Any]:
        left, self._left = self._waiting(), []
        return left

    def _next(self) -> Any:
        if not self._waiting():
            raise ScriptError("MongoshInvalidInputError", "[COMMON-10001] Cursor is exhausted")
        return self._waiting().pop(0)

    def _has_next(self) -> bool:
        return bool(self._waiting())

    def _is_exhausted(self) -> bool:
        return not self._waiting()

    def _try_next(self) -> Any:
        return self._next() if self._waiting() else None

    def _ended(self, name: str, *_: Any) -> Any:
        return self._of.ask([*self._calls, (name, [])])

    def _each(self, how: Any) -> Any:
        for one in self._rest():
            self._of.apply(how, [one])
        return UNDEFINED

    def _mapped(self, how: Any) -> Any:
        return [self._of.apply(how, [one]) for one in self._rest()]


class Again(Host):
    """`it`: more of the cursor that was printed last."""

    def __init__(self) -> None:
        self.cursor: Cursor | None = None

    def get(self, name: str) -> Any:
        """It has no properties."""
        return UNDEFINED

    def page(self, legacy: bool) -> str:
        """The next page of the cursor."""
        return "no cursor" if self.cursor is None else self.cursor.page(legacy) or "no cursor"


def names_of(shell: MongoShell, script: Script, printed: list[str]) -> dict[str, Any]:
    """What a script of the shell finds beside the language; what it prints is added to `printed`."""

    def say(*values: Any, written: bool = False) -> Any:
        plain = (text_of(one) if isinstance(one, str) or (not written and not isinstance(one, dict | list | Host))
                 else shell.text_of(one) for one in values)  # fmt: skip
        printed.append(" ".join(plain))
        return UNDEFINED

    printing = Native("print", say)
    number = Native("NumberInt", lambda value=0: int(float(text_of(value) or 0)))
    return {
        "db": Database(shell, script, shell.database),
        "rs": {name: Native(name, functools.partial(shell.replica_set, name)) for name in _OF_SET},
        "print": printing, "printjson": Native("printjson", functools.partial(say, written=True)),
        "console": {"log": printing, "error": printing, "info": printing, "warn": printing},
        "tojson": Native("tojson", shell.text_of),
        "sleep": Native("sleep", shell.sleep), "quit": Native("quit", shell.leave), "exit": Native("exit", shell.leave),
        "ObjectId": Native("ObjectId", lambda text=UNDEFINED: shell.object_id(None if text is UNDEFINED else text)),
        "ISODate": script.top.around.names["Date"] if script.top.around is not None else UNDEFINED,
        "NumberInt": number, "NumberLong": number, "Int32": number, "Long": number, "NumberDecimal": Native(
            "NumberDecimal", lambda value=0: float(text_of(value) or 0)),
        "Double": Native("Double", lambda value=0.0: value),
        "EJSON": {"stringify": Native("stringify", shell.extended)},
    }  # fmt: skip
