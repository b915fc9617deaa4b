"""What `redis-cli` does instead of a command: --scan, --bigkeys, --memkeys, --latency, --latency-history, --stat.

Texts: redis-cli.c of Redis 7 and 8, printed as without a terminal. Left out: --latency-dist, --hotkeys but its refusal,
--intrinsic-latency, --pipe, --rdb.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from simcluster.engine import MILLISECOND, SECOND
from simcluster.engine.arithmetic import log
from simcluster.engine.streams import mix, uniform_at
from simcluster.models.apps.stores.redis.introspection import elements
from simcluster.models.apps.stores.redis.redisdatabase import RedisDatabase, matcher
from simcluster.models.userland.outcome import FOREVER_NS, Outcome

if TYPE_CHECKING:
    from simcluster.models.apps.stores.redis.redis import RedisProgram

#: Options of these modes that take a value, and those that are flags.
VALUED = {"--pattern": "pattern", "--count": "count", "--type": "type", "--quoted-pattern": "pattern"}
MODES = ("--scan", "--bigkeys", "--memkeys", "--hotkeys", "--latency", "--latency-history", "--stat")
_TYPES = ("list", "hash", "stream", "string", "set", "zset")
_UNITS = {"string": "bytes", "list": "items", "hash": "fields", "set": "members", "zset": "members",
          "stream": "entries"}  # fmt: skip
#: A sample every 10 ms and a line every 15 s (LATENCY_SAMPLE_RATE, LATENCY_HISTORY_DEFAULT_INTERVAL).
_SAMPLE_NS, _HISTORY_NS = 10 * MILLISECOND, 15 * SECOND
#: A round trip between a client and a server on one machine, in milliseconds; a magnitude.
_TRIP_MS = 0.18
_SCANNING = (
    "\n# Scanning the entire keyspace to find {what} keys as well as\n# average sizes per key type.  You can use "
    "-i 0.1 to sleep 0.1 sec\n# per 100 SCAN commands (not usually needed).\n\n"
)


def run(program: RedisProgram, number: int, mode: str, options: Mapping[str, str]) -> Outcome:
    """A mode, on a database."""
    database = RedisDatabase(program, number)
    match mode:
        case "--scan":
            return _scan(database, options)
        case "--bigkeys" | "--memkeys":
            return Outcome(_largest(database, by_memory=mode == "--memkeys"))
        case "--latency":
            return _latency(program, options)
        case "--latency-history":
            return _history(program, options)
        case "--hotkeys":
            return _hot(program)
        case _:
            return Outcome(_statistics(program, database), delay_ns=FOREVER_NS)


def _scan(database: RedisDatabase, options: Mapping[str, str]) -> Outcome:
    pattern, kind = matcher(options.get("pattern", "*")), options.get("type", "").lower()
    found = [name for name in database.names() if pattern.fullmatch(name)]
    if kind:
        values = {name: database.value(name) for name in found}
        found = [name for name, value in values.items() if value is not None and value.kind == kind]
    return Outcome("".join(f"{name}\n" for name in found))


def _largest(database: RedisDatabase, *, by_memory: bool) -> str:
    """--bigkeys and --memkeys: the largest of each type so far, as they are met, and a summary."""
    text = _SCANNING.format(what="biggest")
    names = database.names()
    counts = dict.fromkeys(_TYPES, 0)
    totals = dict.fromkeys(_TYPES, 0)
    largest: dict[str, tuple[str, int]] = {}
    for number, name in enumerate(names):
        value = database.value(name)
        if value is None:
            continue
        size = (database.usage(name) or 0) if by_memory else elements(value)
        counts[value.kind] += 1
        totals[value.kind] += size
        if size > largest.get(value.kind, ("", 0))[1]:
            largest[value.kind] = (name, size)
            unit = "bytes" if by_memory else _UNITS[value.kind]
            share = 100.0 * (number // 10 * 10) / len(names)  # keys of SCANs that are done
            text += f"[{share:05.2f}%] Biggest {value.kind:<6} found so far '{_quoted(name)}' with {size} {unit}\n"
    length = sum(len(name.encode()) for name in names)  # integers
    text += f"\n-------- summary -------\n\nSampled {len(names)} keys in the keyspace!\n"
    text += f"Total key length in bytes is {length} (avg len {length / len(names) if names else 0.0:.2f})\n\n"
    for kind in _TYPES:
        if kind in largest:
            name, size = largest[kind]
            unit = "bytes" if by_memory else _UNITS[kind]
            text += f"Biggest {kind:>6} found '{_quoted(name)}' has {size} {unit}\n"
    text += "\n"
    for kind in _TYPES:
        count, total = counts[kind], totals[kind]
        share = 100.0 * count / len(names) if names else 0.0
        mean = total / count if count else 0.0
        unit = "bytes" if by_memory else _UNITS[kind]
        text += f"{count} {kind}s with {total} {unit} ({share:05.2f}% of keys, avg size {mean:.2f})\n"
    return text


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _hot(program: RedisProgram) -> Outcome:
    head = _SCANNING.format(what="hot")
    if program.config["maxmemory-policy"].endswith("-lfu"):
        return Outcome(f"{head}\n-------- summary -------\n\nSampled {program.keyspace.keys()} keys in the keyspace!\n")
    return Outcome(
        head,
        "Error: ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when "
        "switching between policies at runtime LRU and LFU data will take some time to adjust.\n",
        1,
    )


def _pings(program: RedisProgram, count: int, salt: int) -> list[int]:
    """Pings as the client's clock of milliseconds tells them: a round trip and the wait before the one thread."""
    wait_ms = program.server.wait.mean_ns / 1e6 if program.server is not None else 0.0
    key = mix(program.container.sim.now, salt)
    found = []
    for at in range(count):
        took_ms = -log(uniform_at(key, 2 * at)) * (_TRIP_MS + wait_ms)
        found.append(int(took_ms + uniform_at(key, 2 * at + 1)))
    return found


def _latency(program: RedisProgram, options: Mapping[str, str]) -> Outcome:
    """Without a terminal it prints once, after a second or what -i says, and ends."""
    span_ns = int(_interval_s(options, 1.0) * SECOND)
    took = _pings(program, max(1, span_ns // (_SAMPLE_NS + 400_000)), 0)
    return Outcome(f"{_numbers(took)}\n", delay_ns=span_ns)


def _history(program: RedisProgram, options: Mapping[str, str]) -> Outcome:
    """It goes on; without a terminal every sample is a line, and every interval ends with its length."""
    span_ns = int(_interval_s(options, _HISTORY_NS / SECOND) * SECOND)
    took = _pings(program, max(1, min(span_ns, 60 * SECOND) // (_SAMPLE_NS + 400_000)), 1)
    lines = [_numbers(took[: at + 1]) for at in range(len(took))]
    return Outcome("\n".join(lines) + f" -- {span_ns / SECOND:.2f} seconds range\n", delay_ns=FOREVER_NS)


def _interval_s(options: Mapping[str, str], default: float) -> float:
    try:
        found = float(options.get("interval", ""))
    except ValueError:
        return default
    return found if 0.01 <= found < 86_400.0 else default


def _numbers(took: list[int]) -> str:
    total = sum(took)  # integers
    return f"{min(took)} {max(took)} {total / len(took):.2f} {len(took)}"


def _statistics(program: RedisProgram, database: RedisDatabase) -> str:
    """`--stat`: its head and the first row; nobody waits for the second."""
    keys, used = len(database), int(program.keyspace.bytes) + (1 << 20)
    load = f"{int(program.commands)} (+0)"
    clients = program.open_connections() + 1
    head = "------- data ------ --------------------- load -------------------- - child -\n"
    head += "keys       mem      clients blocked requests            connections          \n"
    return f"{head}{keys:<11}{human(used):<9}{clients:<8}{0:<8}{load:<20}{clients:<12}\n"


def human(amount: int) -> str:
    """Bytes as the server says them for people.

    >>> human(64 << 20)
    '64.00M'
    """
    for shift, unit in ((30, "G"), (20, "M"), (10, "K")):
        if amount >= 1 << shift:
            return f"{amount / (1 << shift):.2f}{unit}"
    return f"{amount}B"
