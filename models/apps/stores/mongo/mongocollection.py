"""Methods of a collection in the shells of MongoDB, over the documents that people have put there.

Documents of the application itself are only counted: their fields are nobody's, so they are shown by their `_id` alone
and no filter but the empty one chooses them. Left out: cursors that go on, options, bulk writes, changes of theirs.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from simcluster.engine import Simulation
from simcluster.engine.clock import unix_seconds
from simcluster.engine.streams import mix
from simcluster.models.apps.stores.contents import Contents
from simcluster.models.apps.stores.mongo.documents import (
    Document,
    DocumentError,
    aggregated,
    changed,
    inspected,
    mark,
    matches,
    ordered,
    projected,
    values_at,
)

WRITING = ("insert", "insertOne", "insertMany", "update", "updateOne", "updateMany", "replaceOne", "findOneAndUpdate")
_REMOVING = ("remove", "deleteOne", "deleteMany", "drop", "findOneAndDelete")
METHODS = (
    *WRITING,
    *_REMOVING,
    *("find", "findOne", "count", "countDocuments", "estimatedDocumentCount", "distinct", "aggregate"),
)
#: Documents of a page; documents that one collection may hold of people's making.
PAGE, MOST = 20, 20_000


class IdMaker:
    """Makes the next ObjectId: seconds, five bytes of the process, a counter."""

    def __init__(self, sim: Simulation, contents: Contents) -> None:
        self._sim = sim
        self._key = mix(sim.streams.key("objectid", str(contents.key)), 0)

    def make(self, number: int) -> Document:
        """The one of a number."""
        process, count = self._key % (1 << 40), (self._key + number) % (1 << 24)
        return {"$oid": f"{unix_seconds(self._sim.now):08x}{process:010x}{count:06x}"}

    def of_application(self, number: int) -> Document:
        """That of a document of the application."""
        seconds = unix_seconds(0) - 86_400 * 30 + mix(self._key, number) % 86_400
        return {"$oid": f"{seconds:08x}{mix(self._key, number + 1) % (1 << 64):016x}"}


class WriteResult(dict[str, Any]):
    """What `insert`, `update` and `remove` of the old shell give: a document with a name before it."""

    def __init__(self, name: str, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self.name = name


class Collection:
    """One collection as a script meets it.

    Args:
        held: documents of the database that people have put there, by collection.
        own: how many documents of the application it has.
        legacy: whether the old shell asks, whose answers have other fields.
    """

    def __init__(self, held: dict[str, list[Document]], name: str, own: int, maker: IdMaker, *, legacy: bool) -> None:
        self.held = held
        self.name = name
        self.own = own
        self.maker = maker
        self.legacy = legacy

    @property
    def docs(self) -> list[Document]:
        """Documents that people have put there."""
        return self.held.get(self.name, [])

    def run(self, calls: list[tuple[str, list[Any]]]) -> object:
        """A method and those of its cursor. Raises DocumentError."""
        method, args = calls[0]
        first = args[0] if args else {}
        if method in ("find", "aggregate"):
            return self._cursor(method, args, calls[1:])
        if calls[1:] and calls[1][0] not in ("pretty", "toArray"):
            raise DocumentError(f"db.{self.name}.{method}(...).{calls[1][0]} is not a function")
        if method in ("count", "countDocuments", "estimatedDocumentCount"):
            return len(self._found(first)) + (self.own if not first else 0)
        if method == "findOne":
            found = self._found(first) or self._application(first, 1)
            return copy.deepcopy(projected(found[0], args[1] if len(args) > 1 else {})) if found else None
        if method == "distinct":
            return copy.deepcopy(self._distinct(str(first), args[1] if len(args) > 1 else {}))
        if method in ("insert", "insertOne", "insertMany"):
            return self._insert(method, args)
        if method in _REMOVING:
            return self._remove(method, first, args)
        return self._update(method, args)

    # Looking.

    def _found(self, wanted: Any) -> list[Document]:
        if not isinstance(wanted, Mapping):
            raise DocumentError(f"Expected query to be an object, got {wanted!r}")
        return [doc for doc in self.docs if matches(doc, wanted)]

    def _application(self, wanted: Any, most: int) -> list[Document]:
        """Documents of the application, as far as they can be shown."""
        return [] if wanted else [{"_id": self.maker.of_application(at)} for at in range(min(self.own, most))]

    def _distinct(self, path: str, wanted: Any) -> list[Any]:
        found: dict[str, Any] = {}
        for doc in self._found(wanted):
            for value in values_at(doc, path):
                for one in value if isinstance(value, list) else [value]:
                    found.setdefault(mark(one), one)
        return list(found.values())

    def _cursor(self, method: str, args: list[Any], steps: list[tuple[str, list[Any]]]) -> object:
        first = args[0] if args else {}
        if method == "aggregate":
            docs = aggregated(list(self.docs), first)
            whole = len(docs)
        else:
            docs = self._found(first)
            whole = len(docs) + (0 if first else self.own)
            docs += self._application(first, PAGE + 1)
        fields = args[1] if method == "find" and len(args) > 1 else {}
        skip, limit = 0, 0
        for name, given in steps:
            value = given[0] if given else None
            if name == "sort" and isinstance(value, dict):
                docs = ordered(docs, value)
            elif name in ("limit", "skip") and isinstance(value, int):
                limit, skip = (abs(value), skip) if name == "limit" else (limit, value)
            elif name in ("count", "itcount", "size", "length"):
                left = max(0, whole - skip)
                return min(left, limit) if limit and name != "count" else whole if name == "count" else left
            elif name == "explain":
                plan = {"stage": "COLLSCAN", "filter": first, "direction": "forward"}
                return copy.deepcopy({"queryPlanner": {"namespace": self.name, "winningPlan": plan}, "ok": 1})
            elif name in ("toArray", "pretty", "forEach", "hint", "batchSize", "maxTimeMS"):
                continue
            elif name == "project" and isinstance(value, dict):
                fields = value
            else:
                raise DocumentError(f"db.{self.name}.{method}(...).{name} is not a function")
        docs = docs[skip : skip + limit] if limit else docs[skip:]
        return [copy.deepcopy(projected(doc, fields)) for doc in docs]

    # Changing.

    def _insert(self, method: str, args: list[Any]) -> object:
        given = args[0] if args else None
        many = isinstance(given, list)
        listed: list[Any] = given if isinstance(given, list) else [given]
        if not all(isinstance(doc, dict) for doc in listed) or (many and method == "insertOne"):
            raise DocumentError("document must be an object")
        docs = self.held.setdefault(self.name, [])
        ids, marks = [], dict.fromkeys(mark(known["_id"]) for known in docs)
        for doc in listed:
            made = {"_id": doc["_id"] if "_id" in doc else self.maker.make(len(docs)), **copy.deepcopy(doc)}
            if mark(made["_id"]) in marks:
                raise DocumentError(f"E11000 duplicate key error collection: {self.name} index: _id_ dup key: "
                                    f"{{ _id: {inspected(made['_id'])} }}")  # fmt: skip
            if len(docs) >= MOST:
                raise DocumentError("Resource limit exceeded: too many documents")
            docs.append(made)
            ids.append(made["_id"])
            marks[mark(made["_id"])] = None
        if self.legacy and method == "insert":
            return _bulk(len(ids)) if many else WriteResult("WriteResult", {"nInserted": 1})
        if not many and method != "insert":
            return {"acknowledged": True, "insertedId": ids[0]}
        return {
            "acknowledged": True,
            "insertedIds": ids if self.legacy else {str(at): one for at, one in enumerate(ids)},
        }

    def _remove(self, method: str, first: Any, args: list[Any]) -> object:
        if method == "drop":
            there = self.name in self.held
            self.held.pop(self.name, None)
            return there or not self.legacy
        found = self._found(first)
        single = len(args) > 1 and (args[1] in (1, True) or (isinstance(args[1], dict) and args[1].get("justOne")))
        if method in ("deleteOne", "findOneAndDelete") or (method == "remove" and single):
            found = found[:1]
        if found:
            marks = dict.fromkeys(mark(doc["_id"]) for doc in found)
            self.held[self.name] = [doc for doc in self.docs if mark(doc["_id"]) not in marks]
        if method == "findOneAndDelete":
            return copy.deepcopy(found[0]) if found else None
        if self.legacy and method == "remove":
            return WriteResult("WriteResult", {"nRemoved": len(found)})
        return {"acknowledged": True, "deletedCount": len(found)}

    def _update(self, method: str, args: list[Any]) -> object:
        if len(args) < 2 or not isinstance(args[1], dict):
            raise DocumentError("the update operation document must contain atomic operators")
        wanted, update = args[0], args[1]
        options = args[2] if len(args) > 2 and isinstance(args[2], dict) else {}
        operators = any(name.startswith("$") for name in update)
        if method in ("updateOne", "updateMany", "findOneAndUpdate") and not operators:
            raise DocumentError("Update document requires atomic operators")
        if method == "replaceOne" and operators:
            raise DocumentError("Replacement document must not contain atomic operators")
        found = self._found(wanted)
        if method not in ("updateMany",) and not (method == "update" and options.get("multi")):
            found = found[:1]
        docs, changes, before = self.docs, 0, copy.deepcopy(found[0]) if found else None
        places = {mark(doc["_id"]): at for at, doc in enumerate(docs)} if found else {}
        for doc in found:
            after = changed(doc, update)
            if after != doc:
                changes += 1
                docs[places[mark(doc["_id"])]] = after
        upserted = self._upsert(wanted, update) if not found and options.get("upsert") else None
        if method == "findOneAndUpdate":
            new = options.get("returnDocument") == "after" or options.get("returnNewDocument") or options.get("new")
            shown = next((one for one in docs if before and one["_id"] == before["_id"]), None) if new else before
            return copy.deepcopy(projected(shown, options.get("projection") or {})) if shown is not None else None
        if self.legacy and method == "update":
            counts = {"nMatched": len(found), "nUpserted": int(upserted is not None), "nModified": changes}
            return WriteResult("WriteResult", counts | ({} if upserted is None else {"_id": upserted}))
        counts = {"matchedCount": len(found), "modifiedCount": changes}
        if self.legacy:
            return {"acknowledged": True, **counts, **({} if upserted is None else {"upsertedId": upserted})}
        return {"acknowledged": True, "insertedId": upserted, **counts, "upsertedCount": int(upserted is not None)}

    def _upsert(self, wanted: Mapping[str, Any], update: Mapping[str, Any]) -> Any:
        """What an update makes where it finds nothing."""
        docs = self.held.setdefault(self.name, [])
        equal = {name: value for name, value in wanted.items() if not name.startswith("$") and "." not in name}
        seed = {name: value for name, value in equal.items() if not isinstance(value, dict) or "$oid" in value}
        made = {"_id": seed.pop("_id", None) or self.maker.make(len(docs)), **seed}
        given = {**update, "$set": {**update.get("$setOnInsert", {}), **update.get("$set", {})}} if any(
            name.startswith("$") for name in update
        ) else update  # fmt: skip
        docs.append(changed(made, {name: value for name, value in given.items() if value or name != "$set"}))
        return made["_id"]


def _bulk(inserted: int) -> WriteResult:
    """What `insert` of an array gives in the old shell."""
    counts = {"nInserted": inserted, "nUpserted": 0, "nMatched": 0, "nModified": 0, "nRemoved": 0}
    return WriteResult("BulkWriteResult", {"writeErrors": [], "writeConcernErrors": [], **counts, "upserted": []})
