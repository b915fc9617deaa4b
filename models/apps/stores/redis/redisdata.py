"""Keys that people set in Redis: strings, lists, hashes, sets, sorted sets, and times to live.

Each command answers as `redis-cli` prints it without a terminal. Left out: streams, bitmaps, geometry, scripts, blocks,
transactions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from simcluster.engine import MILLISECOND, SECOND, Simulation

WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"
_NO_INTEGER = "ERR value is not an integer or out of range"
_NO_FLOAT = "ERR value is not a valid float"
_SYNTAX = "ERR syntax error"
_INTEGER = re.compile(r"-?\d{1,18}")
#: Bytes that all keys together may take, whatever the server's memory is.
MOST = 64_000_000


class Value(NamedTuple):
    """A key's value: its type as TYPE says it, what it is, and when it ends (simulated ns; below zero: never)."""

    kind: str
    data: Any
    ends_ns: int = -1


class RedisError(Exception):
    """The answer is an error; the text is the server's."""


class RedisData:
    """The keys of one server that people have set.

    Attributes:
        expired: how many have ended by their time.
        touched: when a command named a key last, simulated ns.
    """

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.expired = 0
        self.touched: dict[str, int] = {}
        self._values: dict[str, Value] = {}

    def live(self) -> dict[str, Value]:
        """Keys that have not ended."""
        now = self.sim.now
        gone = [key for key, value in self._values.items() if 0 <= value.ends_ns <= now]
        for key in gone:
            del self._values[key]
        self.expired += len(gone)
        return self._values

    def __len__(self) -> int:
        return len(self.live())

    def lasting(self) -> tuple[int, int]:
        """How many keys have a time to live, and its mean in milliseconds."""
        left = [value.ends_ns - self.sim.now for value in self.live().values() if value.ends_ns >= 0]
        return len(left), (sum(left) // len(left) // MILLISECOND if left else 0)  # integers

    def clear(self) -> None:
        """FLUSHALL."""
        self._values.clear()
        self.touched.clear()

    def put(self, key: str, value: Value) -> None:
        """Keep a value as it is."""
        self._values[key] = value

    def take(self, key: str) -> None:
        """Forget a key."""
        self._values.pop(key, None)

    @property
    def bytes(self) -> int:
        """What all keys together take."""
        return sum(_size(key, value) for key, value in self.live().items())  # integers

    def usage(self, key: str) -> int | None:
        """MEMORY USAGE: about how many bytes a key takes."""
        return _size(key, self._values[key]) if key in self.live() else None

    # Access.

    def _get(self, key: str, kind: str) -> Any:
        """The data of a key of a type, an empty one if there is none. Raises RedisError."""
        found = self.live().get(key)
        if found is None:
            return _EMPTY[kind]()
        if found.kind != kind:
            raise RedisError(WRONG_TYPE)
        return found.data

    def _put(self, key: str, kind: str, data: Any) -> None:
        """Keep what was changed; an empty collection is no key."""
        before = self.live().get(key)
        if not data and kind != "string":
            self._values.pop(key, None)
            return
        self._values[key] = Value(kind, data, -1 if before is None else before.ends_ns)

    def full(self, words: list[str]) -> bool:
        """Whether what a command would add is more than there is room for."""
        return self.bytes + sum(map(len, words)) > MOST  # integers

    def command(self, name: str, args: list[str]) -> str | None:
        """Run a command; None if it is none of these. An answer of several lines ends with a line's end."""
        known = COMMANDS.get(name)
        if known is None:
            return None
        if len(args) < known.least or (known.most >= 0 and len(args) > known.most):
            return f"ERR wrong number of arguments for '{name.lower()}' command"
        try:
            answer = known.do(self, args)
        except RedisError as error:
            return str(error)
        self.touched |= {key: self.sim.now for key in args if key in self._values}
        return answer


def _size(key: str, value: Value) -> int:
    """A dictionary entry and an object."""
    parts = [] if isinstance(value.data, str) else _parts(value.data)
    return 56 + len(key) + sum(len(str(one)) + 24 for one in parts) + (0 if parts else len(value.data))  # integers


def _parts(data: Any) -> list[Any]:
    return [*data, *data.values()] if isinstance(data, dict) else list(data)


_EMPTY: dict[str, Callable[[], Any]] = {"string": str, "list": list, "hash": dict, "set": dict, "zset": dict}


def _integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise RedisError(_NO_INTEGER)
    return int(text)


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise RedisError(_NO_FLOAT) from None
    if value != value:
        raise RedisError(_NO_FLOAT)
    return value


def _shown(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e17 else f"{value:.17g}"


def _lines(words: list[str]) -> str:
    return "".join(f"{word}\n" for word in words) or "\n"


def _ordered(zset: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(zset.items(), key=_by_score)


def _by_score(entry: tuple[str, float]) -> tuple[float, str]:
    return (entry[1], entry[0])


def _slice(length: int, first: str, last: str) -> slice:
    start, stop = _integer(first), _integer(last)
    start = max(0, start + length) if start < 0 else start
    stop = stop + length if stop < 0 else stop
    return slice(start, stop + 1)


# Strings.


def _set(data: RedisData, args: list[str]) -> str:
    key, text, rest = args[0], args[1], [word.upper() for word in args[2:]]
    ends, before = -1, data.live().get(key)
    answer = "OK"
    while rest:
        word = rest.pop(0)
        if word in ("EX", "PX", "EXAT", "PXAT") and rest:
            amount = _integer(rest.pop(0))
            if amount <= 0:
                raise RedisError("ERR invalid expire time in 'set' command")
            ends = data.sim.now + amount * (SECOND if word[0] == "E" else MILLISECOND)
        elif word == "KEEPTTL":
            ends = -1 if before is None else before.ends_ns
        elif word in ("NX", "XX"):
            if (before is None) == (word == "XX"):
                return ""
        elif word == "GET":
            answer = "" if before is None else str(before.data)
        else:
            raise RedisError(_SYNTAX)
    data._values[key] = Value("string", text, ends)
    return answer


def _get(data: RedisData, args: list[str]) -> str:
    return str(data._get(args[0], "string"))


def _mset(data: RedisData, args: list[str]) -> str:
    if len(args) % 2:
        raise RedisError("ERR wrong number of arguments for 'mset' command")
    for key, text in zip(args[::2], args[1::2], strict=True):
        data._values[key] = Value("string", text)
    return "OK"


def _mget(data: RedisData, args: list[str]) -> str:
    held = data.live()
    return _lines([held[key].data if key in held and held[key].kind == "string" else "" for key in args])


def _append(data: RedisData, args: list[str]) -> str:
    text = data._get(args[0], "string") + args[1]
    data._put(args[0], "string", text)
    return str(len(text.encode()))


def _strlen(data: RedisData, args: list[str]) -> str:
    return str(len(data._get(args[0], "string").encode()))


def _add(data: RedisData, key: str, amount: int) -> str:
    total = _integer(data._get(key, "string") or "0") + amount
    if abs(total) >= 1 << 63:
        raise RedisError("ERR increment or decrement would overflow")
    data._put(key, "string", str(total))
    return str(total)


def _incr(data: RedisData, args: list[str]) -> str:
    return _add(data, args[0], 1)


def _decr(data: RedisData, args: list[str]) -> str:
    return _add(data, args[0], -1)


def _incrby(data: RedisData, args: list[str]) -> str:
    return _add(data, args[0], _integer(args[1]))


def _decrby(data: RedisData, args: list[str]) -> str:
    return _add(data, args[0], -_integer(args[1]))


# Keys.


def _del(data: RedisData, args: list[str]) -> str:
    held = data.live()
    return str(sum(1 for key in args if held.pop(key, None) is not None))  # integers


def _exists(data: RedisData, args: list[str]) -> str:
    held = data.live()
    return str(sum(1 for key in args if key in held))  # integers


def _type(data: RedisData, args: list[str]) -> str:
    found = data.live().get(args[0])
    return "none" if found is None else found.kind


def _rename(data: RedisData, args: list[str]) -> str:
    held = data.live()
    if args[0] not in held:
        raise RedisError("ERR no such key")
    held[args[1]] = held.pop(args[0])
    return "OK"


def _expire(data: RedisData, args: list[str]) -> str:
    return _ends(data, args[0], _integer(args[1]) * SECOND)


def _pexpire(data: RedisData, args: list[str]) -> str:
    return _ends(data, args[0], _integer(args[1]) * MILLISECOND)


def _ends(data: RedisData, key: str, after_ns: int) -> str:
    held = data.live()
    if key not in held:
        return "0"
    if after_ns <= 0:
        del held[key]
    else:
        held[key] = held[key]._replace(ends_ns=data.sim.now + after_ns)
    return "1"


def _persist(data: RedisData, args: list[str]) -> str:
    held = data.live()
    if args[0] not in held or held[args[0]].ends_ns < 0:
        return "0"
    held[args[0]] = held[args[0]]._replace(ends_ns=-1)
    return "1"


def _left(data: RedisData, key: str, unit_ns: int) -> str:
    found = data.live().get(key)
    if found is None:
        return "-2"
    return "-1" if found.ends_ns < 0 else str((found.ends_ns - data.sim.now + unit_ns // 2) // unit_ns)


def _ttl(data: RedisData, args: list[str]) -> str:
    return _left(data, args[0], SECOND)


def _pttl(data: RedisData, args: list[str]) -> str:
    return _left(data, args[0], MILLISECOND)


# Lists.


def _lpush(data: RedisData, args: list[str]) -> str:
    items = [*reversed(args[1:]), *data._get(args[0], "list")]
    data._put(args[0], "list", items)
    return str(len(items))


def _rpush(data: RedisData, args: list[str]) -> str:
    items = [*data._get(args[0], "list"), *args[1:]]
    data._put(args[0], "list", items)
    return str(len(items))


def _pop(data: RedisData, args: list[str], at: int) -> str:
    items = list(data._get(args[0], "list"))
    count = _integer(args[1]) if len(args) > 1 else 1
    found = [items.pop(at) for _ in range(min(max(0, count), len(items)))]
    if found:
        data._put(args[0], "list", items)
    return (_lines(found) if len(args) > 1 else found[0]) if found else ""


def _lpop(data: RedisData, args: list[str]) -> str:
    return _pop(data, args, 0)


def _rpop(data: RedisData, args: list[str]) -> str:
    return _pop(data, args, -1)


def _lrange(data: RedisData, args: list[str]) -> str:
    items = data._get(args[0], "list")
    return _lines(items[_slice(len(items), args[1], args[2])])


def _llen(data: RedisData, args: list[str]) -> str:
    return str(len(data._get(args[0], "list")))


def _lindex(data: RedisData, args: list[str]) -> str:
    items, at = data._get(args[0], "list"), _integer(args[1])
    return items[at] if -len(items) <= at < len(items) else ""


def _lrem(data: RedisData, args: list[str]) -> str:
    items, count = list(data._get(args[0], "list")), _integer(args[1])
    places = [at for at, item in enumerate(items) if item == args[2]]
    places = places[:count] if count > 0 else places[count:] if count < 0 else places
    data._put(args[0], "list", [item for at, item in enumerate(items) if at not in places])
    return str(len(places))


def _ltrim(data: RedisData, args: list[str]) -> str:
    items = data._get(args[0], "list")
    data._put(args[0], "list", items[_slice(len(items), args[1], args[2])])
    return "OK"


# Hashes.


def _hset(data: RedisData, args: list[str]) -> str:
    if len(args) % 2 == 0:
        raise RedisError("ERR wrong number of arguments for 'hset' command")
    fields = dict(data._get(args[0], "hash"))
    before = len(fields)
    fields.update(zip(args[1::2], args[2::2], strict=True))
    data._put(args[0], "hash", fields)
    return str(len(fields) - before)


def _hmset(data: RedisData, args: list[str]) -> str:
    _hset(data, args)
    return "OK"


def _hget(data: RedisData, args: list[str]) -> str:
    return str(data._get(args[0], "hash").get(args[1], ""))


def _hmget(data: RedisData, args: list[str]) -> str:
    fields = data._get(args[0], "hash")
    return _lines([fields.get(name, "") for name in args[1:]])


def _hgetall(data: RedisData, args: list[str]) -> str:
    return _lines([part for entry in data._get(args[0], "hash").items() for part in entry])


def _hkeys(data: RedisData, args: list[str]) -> str:
    return _lines(list(data._get(args[0], "hash")))


def _hvals(data: RedisData, args: list[str]) -> str:
    return _lines(list(data._get(args[0], "hash").values()))


def _hlen(data: RedisData, args: list[str]) -> str:
    return str(len(data._get(args[0], "hash")))


def _hexists(data: RedisData, args: list[str]) -> str:
    return str(int(args[1] in data._get(args[0], "hash")))


def _hdel(data: RedisData, args: list[str]) -> str:
    fields = dict(data._get(args[0], "hash"))
    gone = [name for name in dict.fromkeys(args[1:]) if fields.pop(name, None) is not None]
    data._put(args[0], "hash", fields)
    return str(len(gone))


def _hincrby(data: RedisData, args: list[str]) -> str:
    fields = dict(data._get(args[0], "hash"))
    before = fields.get(args[1], "0")
    if not _INTEGER.fullmatch(before):
        raise RedisError("ERR hash value is not an integer")
    fields[args[1]] = str(int(before) + _integer(args[2]))
    data._put(args[0], "hash", fields)
    return str(fields[args[1]])


# Sets and sorted sets.


def _sadd(data: RedisData, args: list[str]) -> str:
    members = dict(data._get(args[0], "set"))
    before = len(members)
    members.update(dict.fromkeys(args[1:]))
    data._put(args[0], "set", members)
    return str(len(members) - before)


def _srem(data: RedisData, args: list[str]) -> str:
    members = dict(data._get(args[0], "set"))
    before = len(members)
    for name in args[1:]:
        members.pop(name, None)
    data._put(args[0], "set", members)
    return str(before - len(members))


def _smembers(data: RedisData, args: list[str]) -> str:
    return _lines(list(data._get(args[0], "set")))


def _scard(data: RedisData, args: list[str]) -> str:
    return str(len(data._get(args[0], "set")))


def _sismember(data: RedisData, args: list[str]) -> str:
    return str(int(args[1] in data._get(args[0], "set")))


def _combined(data: RedisData, args: list[str], how: str) -> str:
    first, *others = [data._get(key, "set") for key in args]
    if how == "union":
        return _lines(list(dict.fromkeys(name for one in (first, *others) for name in one)))
    return _lines([name for name in first if all((name in one) == (how == "inter") for one in others)])


def _sinter(data: RedisData, args: list[str]) -> str:
    return _combined(data, args, "inter")


def _sunion(data: RedisData, args: list[str]) -> str:
    return _combined(data, args, "union")


def _sdiff(data: RedisData, args: list[str]) -> str:
    return _combined(data, args, "diff")


def _zadd(data: RedisData, args: list[str]) -> str:
    rest = args[1:]
    if rest[0].upper() in ("NX", "XX", "GT", "LT", "CH"):  # options are left out
        raise RedisError(_SYNTAX)
    if not rest or len(rest) % 2:
        raise RedisError(_SYNTAX)
    members = dict(data._get(args[0], "zset"))
    before = len(members)
    members.update({name: _number(score) for score, name in zip(rest[::2], rest[1::2], strict=True)})
    data._put(args[0], "zset", members)
    return str(len(members) - before)


def _zrange(data: RedisData, args: list[str], *, down: bool = False) -> str:
    words = [word.upper() for word in args[3:]]
    if any(word not in ("WITHSCORES", "REV") for word in words):
        raise RedisError(_SYNTAX)
    members = _ordered(data._get(args[0], "zset"))
    if down or "REV" in words:
        members.reverse()
    chosen = members[_slice(len(members), args[1], args[2])]
    if "WITHSCORES" in words:
        return _lines([part for name, score in chosen for part in (name, _shown(score))])
    return _lines([name for name, _ in chosen])


def _zrevrange(data: RedisData, args: list[str]) -> str:
    return _zrange(data, args, down=True)


def _zscore(data: RedisData, args: list[str]) -> str:
    score = data._get(args[0], "zset").get(args[1])
    return "" if score is None else _shown(score)


def _zcard(data: RedisData, args: list[str]) -> str:
    return str(len(data._get(args[0], "zset")))


def _zrank(data: RedisData, args: list[str]) -> str:
    names = [name for name, _ in _ordered(data._get(args[0], "zset"))]
    return str(names.index(args[1])) if args[1] in names else ""


def _zincrby(data: RedisData, args: list[str]) -> str:
    members = dict(data._get(args[0], "zset"))
    members[args[2]] = members.get(args[2], 0.0) + _number(args[1])
    data._put(args[0], "zset", members)
    return _shown(members[args[2]])


def _zrem(data: RedisData, args: list[str]) -> str:
    members = dict(data._get(args[0], "zset"))
    gone = [name for name in dict.fromkeys(args[1:]) if members.pop(name, None) is not None]
    data._put(args[0], "zset", members)
    return str(len(gone))


class Known(NamedTuple):
    """A command: what it does, how many arguments it takes (most below zero: any number), whether it writes."""

    do: Callable[[RedisData, list[str]], str]
    least: int = 1
    most: int = 1
    writes: bool = False


COMMANDS: dict[str, Known] = {
    "SET": Known(_set, 2, -1, True), "GET": Known(_get), "MSET": Known(_mset, 2, -1, True), "MGET": Known(_mget, 1, -1),
    "APPEND": Known(_append, 2, 2, True), "STRLEN": Known(_strlen), "INCR": Known(_incr, writes=True),
    "DECR": Known(_decr, writes=True), "INCRBY": Known(_incrby, 2, 2, True), "DECRBY": Known(_decrby, 2, 2, True),
    "DEL": Known(_del, 1, -1, True), "UNLINK": Known(_del, 1, -1, True), "EXISTS": Known(_exists, 1, -1),
    "TYPE": Known(_type), "RENAME": Known(_rename, 2, 2, True),
    "EXPIRE": Known(_expire, 2, 2, True), "PEXPIRE": Known(_pexpire, 2, 2, True), "TTL": Known(_ttl),
    "PTTL": Known(_pttl), "PERSIST": Known(_persist, writes=True),
    "LPUSH": Known(_lpush, 2, -1, True), "RPUSH": Known(_rpush, 2, -1, True), "LPOP": Known(_lpop, 1, 2, True),
    "RPOP": Known(_rpop, 1, 2, True), "LRANGE": Known(_lrange, 3, 3), "LLEN": Known(_llen),
    "LINDEX": Known(_lindex, 2, 2), "LREM": Known(_lrem, 3, 3, True), "LTRIM": Known(_ltrim, 3, 3, True),
    "HSET": Known(_hset, 3, -1, True), "HMSET": Known(_hmset, 3, -1, True), "HGET": Known(_hget, 2, 2),
    "HMGET": Known(_hmget, 2, -1), "HGETALL": Known(_hgetall), "HKEYS": Known(_hkeys), "HVALS": Known(_hvals),
    "HLEN": Known(_hlen), "HEXISTS": Known(_hexists, 2, 2), "HDEL": Known(_hdel, 2, -1, True),
    "HINCRBY": Known(_hincrby, 3, 3, True), "SADD": Known(_sadd, 2, -1, True), "SREM": Known(_srem, 2, -1, True),
    "SMEMBERS": Known(_smembers), "SCARD": Known(_scard), "SISMEMBER": Known(_sismember, 2, 2),
    "SINTER": Known(_sinter, 1, -1), "SUNION": Known(_sunion, 1, -1), "SDIFF": Known(_sdiff, 1, -1),
    "ZADD": Known(_zadd, 3, -1, True), "ZRANGE": Known(_zrange, 3, -1), "ZREVRANGE": Known(_zrevrange, 3, 4),
    "ZSCORE": Known(_zscore, 2, 2), "ZCARD": Known(_zcard), "ZRANK": Known(_zrank, 2, 2),
    "ZINCRBY": Known(_zincrby, 3, 3, True), "ZREM": Known(_zrem, 2, -1, True),
}  # fmt: skip
