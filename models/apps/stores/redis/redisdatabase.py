"""One database of a Redis: the keys that people have set and those that are only counted, as one.

SCAN goes as `dictScan` does: through the buckets of a table of a power of two in the order of their reversed numbers,
so that a cursor holds while keys come. Left out: hash functions; a bucket here has one key or none.
"""

from __future__ import annotations

import re
from fnmatch import translate
from typing import TYPE_CHECKING

from simcluster.engine.streams import mix
from simcluster.models.apps.stores.redis.redisdata import COMMANDS, RedisError, Value

if TYPE_CHECKING:
    from simcluster.models.apps.stores.redis.redis import RedisProgram

_SYNTAX, _CURSOR = "ERR syntax error", "ERR invalid cursor"
_INTEGER = "ERR value is not an integer or out of range"
#: So many buckets a SCAN visits for each key that it was asked for (`maxiterations = count * 10`).
_VISITS = 10
_LEAST_BUCKETS = 4


class RedisDatabase:
    """A database of a server, by its number."""

    def __init__(self, program: RedisProgram, number: int = 0) -> None:
        self.data = program.database(number)
        program.counted.hear(program.io_models(), program.served)
        self._counted = program.counted.look(program.container.sim.now) if not number else None
        self._program = program

    def __len__(self) -> int:
        return len(self.data) + (len(self._counted) if self._counted is not None else 0)

    def expiring(self) -> tuple[int, int]:
        """How many keys have a time to live, and its mean in milliseconds."""
        own, mean = self.data.lasting()
        others, their = self._counted.expiring() if self._counted is not None else (0, 0)
        return own + others, (own * mean + others * their) // (own + others) if own + others else 0

    def value(self, name: str) -> Value | None:
        """What a key holds."""
        found = self.data.live().get(name)
        place = self._counted.find(name) if self._counted is not None and found is None else None
        return self._counted.value(place) if self._counted is not None and place is not None else found

    def usage(self, name: str) -> int | None:
        """Bytes that a key takes."""
        place = self._counted.find(name) if self._counted is not None else None
        if name in self.data.live() or self._counted is None or place is None:
            return self.data.usage(name)
        return self._counted.usage(place)

    def touched_ns(self, name: str) -> int:
        """When a key was used last."""
        now = self._program.container.sim.now
        place = self._counted.find(name) if self._counted is not None and name not in self.data.live() else None
        if self._counted is not None and place is not None:
            return self._counted.touched_ns(place)
        return self.data.touched.get(name, now)

    def names(self) -> list[str]:
        """All keys, in the order of a whole SCAN."""
        cursor, found = 0, list[str]()
        while True:
            cursor, some = self._walk(cursor, 1 << 30)
            found += some
            if not cursor:
                return found

    def flush(self) -> None:
        """FLUSHDB."""
        self.data.clear()
        if self._counted is not None:
            self._counted.flush()

    def command(self, name: str, words: list[str]) -> str:
        """A command on keys, as `redis-cli` prints its answer."""
        match name:
            case "KEYS" | "RANDOMKEY" | "SCAN":
                wrong = len(words) != {"KEYS": 1, "RANDOMKEY": 0}.get(name, max(1, len(words)))
                if wrong:
                    return f"ERR wrong number of arguments for '{name.lower()}' command"
                return self._listed(name, words)
            case _:
                return self._on_keys(name, words)

    def _on_keys(self, name: str, words: list[str]) -> str:
        """Counted keys that a command names are added for as long as it reads; what it writes is somebody's own."""
        counted = self._counted
        added: list[str] = []
        for word in dict.fromkeys(words) if counted is not None else ():
            place = counted.find(word) if counted is not None and word not in self.data.live() else None
            if counted is not None and place is not None:
                self.data.put(word, counted.value(place))
                if COMMANDS[name].writes:
                    counted.drop(place)
                else:
                    added.append(word)
        answer = self.data.command(name, words) or ""
        for word in added:
            self.data.take(word)
            self.data.touched.pop(word, None)
        return answer

    def _listed(self, name: str, words: list[str]) -> str:
        if name == "KEYS":
            pattern = matcher(words[0])
            return "".join(f"{key}\n" for key in self.names() if pattern.fullmatch(key)) or "\n"
        if name == "RANDOMKEY":
            size = len(self)
            return self._at(mix(self._program.container.sim.now, size) % size, list(self.data.live())) if size else ""
        try:
            return self._scan(words)
        except RedisError as error:
            return str(error)

    def _scan(self, words: list[str]) -> str:
        if not words[0].isdigit():
            raise RedisError(_CURSOR)
        options = {"MATCH": "*", "COUNT": "10", "TYPE": ""}
        for option, value in zip(words[1::2], [*words[2::2], None], strict=False):
            if option.upper() not in options or value is None:
                raise RedisError(_SYNTAX)
            options[option.upper()] = value
        if not options["COUNT"].isdigit():
            raise RedisError(_INTEGER)
        if int(options["COUNT"]) < 1:
            raise RedisError(_SYNTAX)
        cursor, some = self._walk(int(words[0]), int(options["COUNT"]))
        pattern, kind = matcher(options["MATCH"]), options["TYPE"].lower()
        found = [key for key in some if pattern.fullmatch(key)]
        if kind:
            values = {key: self.value(key) for key in found}
            found = [key for key, value in values.items() if value is not None and value.kind == kind]
        return f"{cursor}\n" + ("".join(f"{key}\n" for key in found) or "\n")

    def _walk(self, cursor: int, count: int) -> tuple[int, list[str]]:
        """Keys from a cursor on, and the next cursor."""
        size, bits = len(self), _LEAST_BUCKETS.bit_length() - 1
        while 1 << bits < size:
            bits += 1
        at, visits, found, own = _reversed(cursor & ((1 << bits) - 1), bits), 0, list[str](), list(self.data.live())
        while at < 1 << bits and visits < count * _VISITS and len(found) < count:
            bucket = _reversed(at, bits)
            if bucket < size:
                found.append(self._at(bucket, own))
            at, visits = at + 1, visits + 1
        return (_reversed(at, bits) if at < 1 << bits else 0), found

    def _at(self, rank: int, own: list[str]) -> str:
        if rank < len(own) or self._counted is None:
            return own[rank]
        return self._counted.name(self._counted.at(rank - len(own)))


def _reversed(number: int, bits: int) -> int:
    return int(f"{number:0{bits}b}"[::-1], 2)


def matcher(pattern: str) -> re.Pattern[str]:
    """A glob of Redis: `*`, `?`, `[...]` with `^`, and a backslash that takes a character as it is."""
    plain = re.sub(r"\\(.)", _quoted, pattern.replace("[^", "[!"))
    return re.compile(translate(plain), re.DOTALL)


def _quoted(found: re.Match[str]) -> str:
    return f"[{found[1]}]"
