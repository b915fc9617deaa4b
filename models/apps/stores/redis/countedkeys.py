"""Keys that a Redis only counts: their names, values, and times, which follow from how many there are.

A data set holds so many bytes, and so many keys; the n-th of them is always the same key as long as the data last. What
it holds follows from the commands that write it: HSET makes hashes, ZADD sorted sets. Whoever writes a key by hand, or
deletes it, takes it out of the count.
Sources: `demo.proto` and `CartStore` of microservices-demo and opentelemetry-demo (a cart is a protobuf message in a
hash under its user's id, by .NET's `RedisCache` with `absexp` and `sldexp`, or with EXPIRE of an hour); the social
network of DeathStarBench (`<user>:followers`). Left out: keys whose time ends while nobody asks for them.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.engine import SECOND
from simcluster.engine.clock import unix_us
from simcluster.engine.streams import mix
from simcluster.models.apps.stores.caches.keyspace import OVERHEAD_BYTES, Keyspace
from simcluster.models.apps.stores.demand import IoModel
from simcluster.models.apps.stores.redis.redisdata import Value

#: `KeyExpireAsync(userId, TimeSpan.FromMinutes(60))`.
LIFETIME_NS = 3600 * SECOND
#: Keys without a time to live are written again within a day.
_HOURS = 24
_KINDS = {"HSET": "hash", "HMSET": "hash", "HGET": "hash", "HMGET": "hash", "HGETALL": "hash", "SADD": "set"}
_KINDS |= {"ZADD": "zset", "ZRANGE": "zset", "ZREVRANGE": "zset", "LPUSH": "list", "RPUSH": "list", "LRANGE": "list"}
#: Products of both demos (products.json).
_PRODUCTS = ("OLJCESPC7Z", "66VCHSJNUP", "1YMWWN1N4O", "L9ECAV7KIM", "2ZYFJ3GM2N", "0PUK6V6EV0", "LS4PSXUNUM",
             "9SIQT8TOJO", "6E92ZMYYFZ")  # fmt: skip
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
#: An odd number: by it the first 32 bits of a name are told from, and lead back to, a key's number.
_ODD, _WORD = 0x9E3779B1, 1 << 32
_BACK = pow(_ODD, -1, _WORD)


class Place(NamedTuple):
    """A key: the data set, and its number there."""

    data: str
    number: int


class CountedKeys:
    """The keys of one server that are only counted.

    Attributes:
        key: what names are drawn from; another one after FLUSHALL.
        gone: by data set, numbers that were deleted or written by hand.
        asked: by data set, commands that were asked of it: of all that are known of a data set, these made its keys.
    """

    def __init__(self, keyspace: Keyspace, started_ns: int) -> None:
        self._keyspace = keyspace
        self.asked: dict[str, dict[str, bool]] = {}  # and whether a command writes
        self._started_ns = started_ns
        self.key = 0
        self.gone: dict[str, list[int]] = {}
        self._now_ns = started_ns

    def __len__(self) -> int:
        return self._keyspace.keys()

    def look(self, now_ns: int) -> CountedKeys:
        """As it is at an instant."""
        self._now_ns = now_ns
        return self

    def hear(self, models: list[IoModel], served: list[int]) -> None:
        """Requests came, so many of each operation."""
        for io, count in zip(models, served, strict=True):
            if count and io.command:
                self.asked.setdefault(io.data, {})[io.command] = io.writes > 0.0

    def flush(self) -> None:
        """All are gone; others will come."""
        self.key = mix(self.key, 1)
        self.gone.clear()
        self._keyspace.used.clear()

    def at(self, rank: int) -> Place:
        """The key of a rank, from 0 to `len` less one."""
        for data in self._keyspace.used:
            count = self._count(data)
            if rank < count:
                number = rank
                for gone in self.gone.get(data, ()):  # ascending
                    if gone > number:
                        break
                    number += 1
                return Place(data, number)
            rank -= count
        raise IndexError(rank)

    def find(self, name: str) -> Place | None:
        """The key of a name, if there is one."""
        for data in self._keyspace.used:
            number = self._number(data, name)
            gone = self.gone.get(data, [])
            if number is None or number in gone:
                continue
            before = sum(1 for each in gone if each < number)  # integers
            place = Place(data, number)
            if number - before < self._count(data) and self.name(place) == name:
                return place
        return None

    def drop(self, place: Place) -> None:
        """A key is deleted, or somebody's own from now on."""
        self.gone[place.data] = sorted([*self.gone.get(place.data, ()), place.number])
        used = self._keyspace.used
        used[place.data] = max(0.0, used[place.data] - self._each(place.data))

    def name(self, place: Place) -> str:
        """How a key is called."""
        table = self._table(place.data)
        if table == "cart":
            first, second = mix(self.key, place.number + 1), mix(self.key, -place.number - 1)
            head = (place.number * _ODD + self.key) % _WORD
            rest = f"{first:016x}{second:016x}"
            return f"{head:08x}-{rest[:4]}-4{rest[5:8]}-{'89ab'[first & 3]}{rest[9:12]}-{rest[12:24]}"
        return f"{self._prefix(place.data)}{place.number}{':followers' if table == 'followers' else ''}"

    def value(self, place: Place) -> Value:
        """What a key holds."""
        described, kind = self._keyspace.described(place.data), self.kind(place.data)
        ends = self.touched_ns(place) + LIFETIME_NS if self.expires(place.data) else -1
        draw = mix(self.key ^ 0x5DEECE66D, place.number)
        if kind in ("zset", "set", "list"):
            members = [str(10**17 + mix(draw, part) % 10**17) for part in range(max(1, described.document // 32))]
            if kind == "list":
                return Value(kind, members, ends)
            written = unix_us(self.touched_ns(place)) // 1000
            return Value(kind, {name: float(written - 61_007 * at) for at, name in enumerate(members)}, ends)
        text = self._cart(place, draw) if self._table(place.data) == "cart" else _text(draw, described.document)
        if kind == "string":
            return Value(kind, text, ends)
        fields = {"absexp": "-1", "sldexp": "-1", "data": text}
        return Value(kind, fields if self._asks(place.data, "HMGET") else {self._table(place.data): text}, ends)

    def kind(self, data: str) -> str:
        """The type of all keys of a data set: as they are written."""
        commands = {name: writes for name, writes in self.asked.get(data, {}).items() if name in _KINDS}
        written = [name for name, writes in commands.items() if writes] or list(commands)
        return _KINDS[min(written)] if written else "string"

    def expires(self, data: str) -> bool:
        """Whether they have a time to live."""
        return self._asks(data, "EXPIRE") or self._asks(data, "SETEX")

    def expiring(self) -> tuple[int, int]:
        """How many have a time to live, and its mean in milliseconds, by a sample of them."""
        sets = [data for data in self._keyspace.used if self.expires(data) and self._count(data)]
        count = sum(self._count(data) for data in sets)  # integers
        now_ns = self._now_ns
        left = [
            self.touched_ns(place) + LIFETIME_NS - now_ns
            for place in (Place(data, number) for data in sets for number in range(min(20, self._count(data))))
        ]
        return count, sum(left) // len(left) // 1_000_000 if left else 0  # integers

    def touched_ns(self, place: Place) -> int:
        """When a key was written last."""
        draw = mix(self.key ^ 0x2545F491, place.number)
        period = LIFETIME_NS if self.expires(place.data) else LIFETIME_NS * (1 + draw % _HOURS)
        return max(self._started_ns, self._now_ns - (self._now_ns + draw) % period)

    def usage(self, place: Place) -> int:
        """Bytes of memory."""
        return self._each(place.data)

    # --- parts ------------------------------------------------------------------------------

    def _each(self, data: str) -> int:
        return self._keyspace.described(data).document + OVERHEAD_BYTES

    def _count(self, data: str) -> int:
        return int(self._keyspace.used.get(data, 0.0)) // self._each(data)

    def _table(self, data: str) -> str:
        return self._keyspace.described(data).tables[0]

    def _asks(self, data: str, command: str) -> bool:
        return command in self.asked.get(data, ())

    def _prefix(self, data: str) -> str:
        """What stands before a number: nothing where keys are numbers of users, and nobody else's are."""
        table = self._table(data)
        others = [each for each in self._keyspace.used if each != data and self._table(each) == table]
        if table in ("timeline", "followers") and not others:
            return ""
        return f"{data}:" if others and data else f"{table}:"

    def _number(self, data: str, name: str) -> int | None:
        if self._table(data) == "cart":
            head = name[:8]
            known = len(name) == 36 and all(letter in "0123456789abcdef" for letter in head)
            return (int(head, 16) - self.key) * _BACK % _WORD if known else None
        digits = name.removeprefix(self._prefix(data)).partition(":")[0]
        return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 12 else None

    def _cart(self, place: Place, draw: int) -> str:
        """A protobuf message Cart: the user, and items of a product and a quantity."""
        items = ""
        for part in range(1 + draw % 3):
            product = _PRODUCTS[mix(draw, part) % len(_PRODUCTS)]
            items += f"\x12\x0e\n\n{product}\x10{chr(1 + mix(draw, part + 8) % 5)}"
        return f"\n${self.name(place)}{items}"


def _text(draw: int, size: int) -> str:
    """Text of a size that says nothing."""
    return "".join(_LETTERS[mix(draw, at) % len(_LETTERS)] for at in range(min(size, 4096)))
