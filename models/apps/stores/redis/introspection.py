"""What a Redis says of its keys and of itself: OBJECT, MEMORY, LATENCY.

Encodings follow from what a key holds, by the limits of Redis 7 and 8 (`hash-max-listpack-*` and its kin, object.c).
Spikes of latency are the commands of the slow log. Left out: events of the latency monitor but
`command`, MALLOC-STATS, LATENCY HISTOGRAM, frequencies that grow with use.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from simcluster.engine import SECOND
from simcluster.models.apps.stores.redis.redisdata import Value
from simcluster.models.apps.stores.redis.redisdatabase import RedisDatabase
from simcluster.models.apps.stores.settings import number_of

if TYPE_CHECKING:
    from simcluster.models.apps.stores.redis.redis import RedisProgram

#: Strings that lie in their object (OBJ_ENCODING_EMBSTR_SIZE_LIMIT), and `list-max-listpack-size -2`.
_EMBEDDED, _PACKED_LIST = 44, 8192
#: Most elements, and bytes of each, of `*-max-listpack-entries` and `-value`.
_PACKED = {"hash": (128, 64), "zset": (128, 64), "set": (128, 64)}
_INTEGERS = 512
_BIG = {"hash": "hashtable", "zset": "skiplist", "set": "hashtable"}
#: OBJ_SHARED_INTEGERS are referred to without being counted (OBJ_SHARED_REFCOUNT).
_SHARED, _SHARED_COUNT = 10_000, 2_147_483_647
#: LFU_INIT_VAL.
_FREQUENCY = 5
_NUMBER = re.compile(r"0|-?[1-9]\d{0,17}")
_NO_LFU = (
    "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching "
    "between policies at runtime LRU and LFU data will take some time to adjust."
)
_LFU = (
    "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between policies "
    "at runtime LRU and LFU data will take some time to adjust."
)
_DISABLED = (
    "I'm sorry, Dave, I can't do that. Latency monitoring is disabled in this {name} instance. You may use \"CONFIG "
    'SET latency-monitor-threshold <milliseconds>." in order to enable it.{hint}'
)
_HINT = (
    " If we weren't in a deep space mission I'd suggest to take a look at https://redis.io/topics/latency-monitor.\n"
)
_VALKEY_HINT = "\n"
_NO_SPIKE = (
    "Dave, no latency spike was observed during the lifetime of this {name} instance, not in the slightest bit. I "
    "honestly think you ought to sit down calmly, take a stress pill, and think things over.\n"
)


def encoding(value: Value) -> str:
    """How a value is kept.

    >>> encoding(Value("string", "12")), encoding(Value("hash", {"a": "b"}))
    ('int', 'listpack')
    """
    data = value.data
    if value.kind == "string":
        if _NUMBER.fullmatch(data):
            return "int"
        return "embstr" if len(data.encode()) <= _EMBEDDED else "raw"
    if value.kind == "list":
        return "listpack" if sum(len(one.encode()) + 2 for one in data) <= _PACKED_LIST else "quicklist"  # integers
    if value.kind == "set" and len(data) <= _INTEGERS and all(_NUMBER.fullmatch(one) for one in data):
        return "intset"
    most, longest = _PACKED[value.kind]
    parts = [*data, *(each for each in data.values() if isinstance(each, str))]
    fits = len(data) <= most and all(len(one.encode()) <= longest for one in parts)
    return "listpack" if fits else _BIG[value.kind]


def elements(value: Value) -> int:
    """Bytes of a string, elements of all else."""
    return len(value.data.encode()) if value.kind == "string" else len(value.data)


def object_of(program: RedisProgram, database: RedisDatabase, sub: str, words: list[str]) -> str:
    """OBJECT ENCODING, IDLETIME, FREQ, REFCOUNT of a key."""
    if sub not in ("ENCODING", "IDLETIME", "FREQ", "REFCOUNT") or len(words) != 1:
        return "" if sub == "HELP" else _wrong("OBJECT", sub)
    value, by_use = database.value(words[0]), program.config["maxmemory-policy"].endswith("-lfu")
    if value is None:
        return ""
    match sub:
        case "ENCODING":
            return encoding(value)
        case "IDLETIME":
            seconds = (program.container.sim.now - database.touched_ns(words[0])) // SECOND
            return _LFU if by_use else str(max(0, seconds))
        case "FREQ":
            return str(_FREQUENCY) if by_use else _NO_LFU
        case _:
            shared = encoding(value) == "int" and 0 <= int(value.data) < _SHARED
            return str(_SHARED_COUNT if shared else 1)


def memory(program: RedisProgram, database: RedisDatabase, sub: str, words: list[str]) -> str:
    """MEMORY USAGE, DOCTOR, STATS, PURGE."""
    match sub:
        case "USAGE" if words:
            used = database.usage(words[0])
            return "" if used is None else str(used)
        case "DOCTOR" if int(program.keyspace.bytes) < 5 << 20:
            return (
                "Hi Sam, this instance is empty or is using very little memory, my issue detector can't be used in "
                "these conditions. Please, leave for your mission on Earth and fill it with some data. The new Sam and "
                "I will be back to our programming as soon as I finished rebooting.\n"
            )
        case "DOCTOR":
            return (
                "Hi Sam, I can't find any memory issue in your instance. I can only account for what occurs on this "
                "base.\n"
            )
        case "PURGE":
            return "OK"
        case "STATS":
            return _memory_stats(program, database)
        case _:
            return _wrong("MEMORY", sub)


def _memory_stats(program: RedisProgram, database: RedisDatabase) -> str:
    held, base = int(program.keyspace.bytes) + database.data.bytes, 1 << 20
    keys = len(database)
    pairs: dict[str, Any] = {
        "peak.allocated": held + base, "total.allocated": held + base, "startup.allocated": base,
        "replication.backlog": 0, "clients.slaves": 0, "clients.normal": 1928 * (program.open_connections() + 1),
        "aof.buffer": 0, "keys.count": keys, "keys.bytes-per-key": held // keys if keys else 0,
        "dataset.bytes": held, "dataset.percentage": 100 if held else 0, "peak.percentage": 100,
        "fragmentation": f"{max(1.0, program.container.memory_bytes / (held + base)):.16g}",
    }  # fmt: skip
    return "".join(f"{name}\n{value}\n" for name, value in pairs.items())


def latency(program: RedisProgram, sub: str, words: list[str]) -> str:
    """LATENCY LATEST, HISTORY, DOCTOR, RESET, GRAPH: commands that took as long as the monitor's threshold."""
    threshold = number_of(program.config["latency-monitor-threshold"], 0)
    spikes = [
        (one.epoch_s, one.took_us // 1000)
        for one in program.slow
        if threshold and one.number >= program.monitored_from and one.took_us >= 1000 * threshold
    ]
    event = words[0].lower() if words else ""
    match sub:
        case "LATEST":
            if not spikes:
                return ""
            return f"command\n{spikes[-1][0]}\n{spikes[-1][1]}\n{max(took for _, took in spikes)}"
        case "HISTORY" if words:
            return "".join(f"{when}\n{took}\n" for when, took in spikes) if event == "command" else ""
        case "GRAPH" if words:
            return f"ERR No samples available for event '{words[0]}'"
        case "RESET":
            program.monitored_from = program.slow_number
            return str(int(bool(spikes) and event in ("", "command")))
        case "DOCTOR":
            name = "Valkey" if program.is_valkey else "Redis"
            if not threshold:
                return _DISABLED.format(name=name, hint=_VALKEY_HINT if program.is_valkey else _HINT)
            return _observed(spikes) if spikes else _NO_SPIKE.format(name=name)
        case "HISTORY" | "GRAPH":
            return f"ERR wrong number of arguments for 'latency|{sub.lower()}' command"
        case _:
            return _wrong("LATENCY", sub)


def _observed(spikes: list[tuple[int, int]]) -> str:
    """What LATENCY DOCTOR says of spikes (createLatencyReport)."""
    took = [each for _, each in spikes]
    mean = sum(took) / len(took)  # integers
    off = math.fsum(abs(each - mean) for each in took) / len(took)
    between = (spikes[-1][0] - spikes[0][0]) / (len(spikes) - 1) if len(spikes) > 1 else 0.0
    return (
        "Dave, I have observed latency spikes in this instance. You don't mind talking about it, do you Dave?\n\n"
        f"1. command: {len(spikes)} latency spikes (average {mean:.0f}ms, mean deviation {off:.0f}ms, period "
        f"{between:.2f} sec). Worst all time event {max(took)}ms.\n\n"
        "I have a few advices for you:\n\n- Check your Slow Log to understand what are the commands you are running "
        "which are too slow to execute. Please check https://redis.io/commands/slowlog for more information.\n"
    )


def _wrong(name: str, sub: str) -> str:
    return f"ERR unknown subcommand or wrong number of arguments for '{sub.lower()}'. Try {name} HELP."
