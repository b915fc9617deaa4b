"""CLIENT: connections to a Redis, by the addresses of those who hold them.

Fields and their order: catClientInfoString of Redis 7 and 8 and of Valkey. Left out: buffers, traffic of a connection,
tracking.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simcluster.engine import SECOND
from simcluster.engine.streams import mix
from simcluster.models.apps.server import ServerProgram

if TYPE_CHECKING:
    from simcluster.models.apps.stores.redis.redis import RedisProgram

#: net.ipv4.ip_local_port_range.
_PORTS, _PORT_COUNT = 32768, 28232
#: The first descriptor that a client gets.
_DESCRIPTOR = 8
#: StackExchange.Redis names its connections after the machine, and tells its name (CLIENT SETINFO).
_NAMED = {"stackexchange-redis": ("{host}(SE.Redis-v2.8.41.57104)", "SE.Redis", "2.8.41.57104")}


class Seat(NamedTuple):
    """Since when a caller is connected, as which container, and the id of its first connection."""

    container: str
    since_ns: int
    first: int


class Line(NamedTuple):
    """One connection."""

    number: int
    address: str
    local: str
    name: str
    age: int
    command: str
    library: tuple[str, str] = ("", "")


def listed(program: RedisProgram, database: int, command: str) -> list[str]:
    """A line of each connection, the asker's the last."""
    lines = _callers(program)
    port = 50_000 + program.next_client % 10_000
    own = f"127.0.0.1:{next(iter(program._ports))}"
    lines.append(Line(program.next_client, f"127.0.0.1:{port}", own, "", 0, command))
    return [_text(program, line, descriptor, database if line is lines[-1] else 0)
            for descriptor, line in enumerate(lines, start=_DESCRIPTOR)]  # fmt: skip


def _callers(program: RedisProgram) -> list[Line]:
    """Connections of callers; what their pools have grown by is dealt to them in turn."""
    callers = list(program.connections)
    counts = [program.connections[who] for who in callers]
    for extra in range(program.open_connections() - sum(counts)):  # integers
        counts[extra % len(counts)] += 1
    port = next(iter(program._ports))
    commands = [name.lower() for name, count in program.served_by_command().items() if count] or ["ping"]
    now, lines = program.container.sim.now, list[Line]()
    for who, count in zip(callers, counts, strict=True):
        holder, seat = program.holder(who), program.seats[who]
        known = holder.program
        client = known.behaviour.client if isinstance(known, ServerProgram) else ""
        name, library, version = _NAMED.get(client, ("", "", ""))
        for each in range(count):
            number = seat.first + each
            source = _PORTS + mix(seat.since_ns, number) % _PORT_COUNT
            lines.append(
                Line(
                    number, f"{holder.sandbox.address}:{source}", f"{program.container.sandbox.address}:{port}",
                    name.format(host=holder.spec.pod_name), (now - seat.since_ns) // SECOND,
                    commands[number % len(commands)], (library, version),
                )
            )  # fmt: skip
    return sorted(lines)


def _text(program: RedisProgram, line: Line, descriptor: int, database: int) -> str:
    version = tuple(int(part) for part in program.version.split(".")[:2])
    multi = "multi=-1 watch=0" if version >= (7, 4) or program.is_valkey else "multi=-1"
    mine = line.age == 0 and line.command.startswith("client")
    buffers = "qbuf=26 qbuf-free=20448 argv-mem=10" if mine else "qbuf=0 qbuf-free=0 argv-mem=0"
    used = 22426 if mine else 1928
    text = (
        f"id={line.number} addr={line.address} laddr={line.local} fd={descriptor} name={line.name} age={line.age} "
        f"idle=0 flags=N db={database} sub=0 psub=0 ssub=0 {multi} {buffers} multi-mem=0 rbs=1024 rbp=0 obl=0 oll=0 "
        f"omem=0 tot-mem={used} events=r cmd={line.command} user=default redir=-1 resp=2"
    )
    if version >= (7, 2):
        text += f" lib-name={line.library[0]} lib-ver={line.library[1]}"
    if version >= (8, 0) and not program.is_valkey:
        text += " io-thread=0"
    return text


def client(program: RedisProgram, database: int, sub: str, words: list[str]) -> str | None:
    """CLIENT LIST, INFO, ID, GETNAME and what only says OK; None: no such subcommand."""
    match sub:
        case "LIST":
            chosen = listed(program, database, "client|list")
            kind = words[1].lower() if len(words) > 1 and words[0].upper() == "TYPE" else "normal"
            if kind not in ("normal", "master", "replica", "slave", "pubsub"):
                return f"ERR Unknown client type '{words[1]}'"
            if len(words) > 1 and words[0].upper() == "ID":
                chosen = [line for line in chosen if line.partition(" ")[0].removeprefix("id=") in words[1:]]
            return "".join(f"{line}\n" for line in chosen if kind == "normal")
        case "INFO":
            return listed(program, database, "client|info")[-1]
        case "ID":
            return str(program.next_client)
        case "GETNAME":
            return ""
        case "SETNAME" | "SETINFO" | "NO-EVICT" | "NO-TOUCH" | "REPLY" | "UNPAUSE":
            wrong = f"ERR wrong number of arguments for 'client|{sub.lower()}' command"
            return "OK" if words or sub == "UNPAUSE" else wrong
        case _:
            return None
