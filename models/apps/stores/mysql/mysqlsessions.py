"""Sessions of a MySQL server as its process list shows them: those of applications, and the one that asks.

An application's connections come from its pod's address, each from a port of its own. Left out: what an application's
statement is just now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simcluster.models.apps.stores.mysql.mysqlvariables import release, variables
from simcluster.models.apps.stores.sql.clientports import port_of

if TYPE_CHECKING:
    from simcluster.models.apps.stores.mysql.mysqlserver import MysqlServer

#: Threads of the server have the first numbers.
FIRST = 8
_SCHEDULER = 5


class Thread(NamedTuple):
    """A line of the process list."""

    number: int
    user: str
    host: str
    database: str | None
    command: str
    seconds: int
    state: str | None
    info: str | None


def threads(program: MysqlServer, user: str, origin: str, database: str, asked: str) -> list[Thread]:
    """All sessions, the asking one last.

    Args:
        origin: its host as the server knows it: `localhost`, or an address.
    """
    found: list[Thread] = []
    if release(program) >= (8, 0) and variables(program)["event_scheduler"] == "ON":
        up = program.uptime_s()
        waits = "Waiting on empty queue"
        found.append(Thread(_SCHEDULER, "event_scheduler", "localhost", None, "Daemon", up, waits, None))
    number = FIRST
    for identity, count in program.connections.items():
        name, holder = "/".join(identity), program.holder_of(identity)
        called, base = program.logins.get(identity, ("", ""))
        for at in range(count):
            host = f"{holder.sandbox.address}:{port_of(name, at)}" if holder is not None else "localhost"
            found.append(Thread(number, called or "root", host, base or None, "Sleep", 0, "", None))
            number += 1
    state = "init" if release(program) >= (8, 0) else "starting"
    host = origin if origin == "localhost" else f"{origin}:{port_of(origin, number)}"
    found.append(Thread(number + 1, user, host, database or None, "Query", 0, state, asked))
    return found
