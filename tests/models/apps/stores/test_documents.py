"""Keys in Redis and documents in MongoDB that people put there: what comes back is what was put."""

from __future__ import annotations

import pytest

from simcluster.engine import SECOND, Simulation
from simcluster.models.apps.stores.mongo.documents import (
    DocumentError,
    aggregated,
    changed,
    inspected,
    matches,
    ordered,
    plain,
    tojson,
)
from simcluster.models.apps.stores.redis.redisdata import WRONG_TYPE, RedisData

DOCS = [
    {"_id": 1, "a": 1, "t": ["x", "y"], "in": {"n": 5}},
    {"_id": 2, "a": 2, "t": ["y"], "in": {"n": 7}},
    {"_id": 3, "b": None},
]


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        ({}, [1, 2, 3]), ({"a": 1}, [1]), ({"a": {"$gt": 1}}, [2]), ({"a": {"$exists": False}}, [3]),
        ({"t": "y"}, [1, 2]), ({"t": {"$size": 1}}, [2]), ({"in.n": {"$in": [7]}}, [2]), ({"b": None}, [1, 2, 3]),
        ({"$or": [{"a": 1}, {"_id": 3}]}, [1, 3]), ({"t": {"$regex": "^X", "$options": "i"}}, [1]),
        ({"a": {"$not": {"$lt": 2}}}, [2, 3]), ({"a": {"$ne": 1}}, [2, 3]), ({"a": "1"}, []),
    ],
)  # fmt: skip
def test_filters(wanted: dict[str, object], ids: list[int]) -> None:
    assert [doc["_id"] for doc in DOCS if matches(doc, wanted)] == ids


def test_changes_and_their_refusals() -> None:
    after = changed(DOCS[0], {"$set": {"in.m": 1}, "$inc": {"a": 2}, "$push": {"t": "z"}, "$unset": {"b": ""}})
    assert after == {"_id": 1, "a": 3, "t": ["x", "y", "z"], "in": {"n": 5, "m": 1}}
    assert DOCS[0]["a"] == 1
    for update, said in (({"$foo": {"a": 1}}, "Unknown modifier"), ({"$inc": {"t": 1}}, "non-numeric")):
        with pytest.raises(DocumentError, match=said):
            changed(DOCS[0], update)


def test_pipelines() -> None:
    stages = [
        {"$unwind": "$t"},
        {"$group": {"_id": "$t", "n": {"$sum": 1}, "m": {"$max": "$a"}}},
        {"$sort": {"_id": 1}},
    ]
    assert aggregated(list(DOCS), stages) == [{"_id": "x", "n": 1, "m": 1}, {"_id": "y", "n": 2, "m": 2}]
    assert [doc["_id"] for doc in ordered(DOCS, {"a": -1})] == [2, 1, 3]
    with pytest.raises(DocumentError, match="Unrecognized pipeline stage name: '\\$lookup'"):
        aggregated(list(DOCS), [{"$lookup": {}}])


def test_how_mongosh_prints() -> None:
    assert inspected({"a": "it's", "b-c": [1, 2.5, None]}) == "{ a: \"it's\", 'b-c': [ 1, 2.5, null ] }"


def test_how_the_old_shell_prints() -> None:
    doc = {"_id": {"$oid": "a" * 24}, "a": [1, {"b": None}], "c": {}}
    assert plain(doc) == f'{{ "_id" : ObjectId("{"a" * 24}"), "a" : [ 1, {{ "b" : null }} ], "c" : {{  }} }}'
    assert tojson({"ok": 1}) == '{ "ok" : 1 }'
    assert tojson(doc) == (
        f'{{\n\t"_id" : ObjectId("{"a" * 24}"),\n\t"a" : [\n\t\t1,\n\t\t{{\n\t\t\t"b" : null\n\t\t}}\n\t],'
        '\n\t"c" : {\n\t\t\n\t}\n}'
    )


def test_redis_types_times_and_refusals() -> None:
    sim = Simulation()
    data = RedisData(sim)

    def said(line: str) -> str | None:
        name, *args = line.split()
        return data.command(name.upper(), args)

    assert [said("rpush q a b c"), said("lrange q 0 -1"), said("lpop q")] == ["3", "a\nb\nc\n", "a"]
    assert [said("hset h f 1 g 2"), said("hgetall h"), said("hincrby h f 4")] == ["2", "f\n1\ng\n2\n", "5"]
    assert [said("zadd z 2 b 1 a"), said("zrange z 0 -1 withscores")] == ["2", "a\n1\nb\n2\n"]
    assert said("get q") == WRONG_TYPE
    assert said("lpush q") == "ERR wrong number of arguments for 'lpush' command"
    assert said("set k v ex 10") == "OK"
    sim.run_for(9 * SECOND)
    assert said("ttl k") == "1"
    assert data.lasting()[0] == 1
    sim.run_for(2 * SECOND)
    assert [said("ttl k"), said("exists k"), data.expired] == ["-2", "0", 1]
    assert said("incr h") == WRONG_TYPE
    assert [said("lrem q 0 b"), said("lrem q 0 c"), said("type q")] == ["1", "1", "none"]
    assert data.command("EVAL", ["x"]) is None
