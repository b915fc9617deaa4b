"""`mongosh` and `mongo`: where they connect to, as whom, and what they say when they cannot.

Sources: messages of the Node.js driver 6 (mongosh 2) and of the shell of 4.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.models.apps.stores import clients
from simcluster.models.apps.stores.clients import Connection, Place
from simcluster.models.apps.stores.mongo.mongoshell import MongoShell
from simcluster.models.machine.container import Container
from simcluster.models.userland.outcome import Outcome

if TYPE_CHECKING:
    from simcluster.models.apps.stores.mongo.mongod import MongodProgram

_OPTIONS = {
    **{"--host": "host", "-h": "host", "--port": "port", "-u": "user", "--username": "user", "-p": "password"},
    **{"--password": "password", "--authenticationDatabase": "source"},
}
_PORT = 27017


def run(
    container: Container, own: MongodProgram | None, argv: tuple[str, ...], stdin: str, *, legacy: bool
) -> Outcome | None:
    """The command line; None if it is another program's. `legacy`: the image has `mongo` besides, or only that."""
    _, words = clients.unwrapped(container, argv)
    name = words[0].rpartition("/")[2] if words else ""
    if name not in ("mongo", "mongosh") or (name == "mongo" and not legacy):
        return None
    if "--version" in words:
        return Outcome("2.3.2\n" if name == "mongosh" else "MongoDB shell version v4.4.6\n")
    place, source, rest = _place(words[1:])
    port = place.port or (next(iter(own._ports)) if own is not None and place.host in clients.LOCAL else _PORT)
    there = clients.connect(container, own, "mongod", place.host, port)
    if there.program is None:
        return _unreached(place, port, there, name == "mongo")
    server: MongodProgram = there.program  # type: ignore[assignment]
    login = ["-u", place.user, "-p", place.password or ""] if place.user else []
    if place.user and source:
        login += ["--authenticationDatabase", source]
    database = [place.database] if place.database else []
    return MongoShell(server, legacy=name == "mongo").run((*rest, *login, *database), stdin)


def _place(words: tuple[str, ...]) -> tuple[Place, str, list[str]]:
    found, rest = clients.options_from(words, _OPTIONS)
    kept: list[str] = []
    bare: list[str] = []
    queue = list(rest)
    while queue:
        word = queue.pop(0)
        if word in ("--eval", "-f", "--file") and queue:
            kept += [word, queue.pop(0)]
        elif word.startswith("-"):
            kept.append(word)
        else:
            bare.append(word)
    text = bare[0] if bare else ""
    kept += [word for word in bare[1:] if word.endswith(".js")]
    url = clients.url_of(text)
    database, options = text, ""
    if url is not None:
        found = {
            **{k: v for k, v in (("host", url.host), ("user", url.user), ("port", str(url.port or ""))) if v},
            **({"password": url.password} if url.password is not None else {}),
            **found,
        }
        database, options = url.database, url.options
    elif "/" in text or ":" in text or text.count(".") > 1:
        where, _, database = text.partition("/")
        host, _, port = where.partition(":")
        found = {"host": host, **({"port": port} if port else {}), **found}
    host, _, port = found.get("host", "").rpartition("/")[2].partition(":")  # a set's name may stand before it
    port = found.get("port", port)
    chosen = [part.partition("=")[2] for part in options.split("&") if part.startswith("authSource=")]
    source = found.get("source") or (chosen[0] if chosen else database)
    place = Place(host, int(port) if port.isdigit() else 0, found.get("user", ""), found.get("password"), database)
    return place, source, kept


def _unreached(place: Place, port: int, there: Connection, legacy: bool) -> Outcome:
    host = place.host or "127.0.0.1"
    if legacy:
        why = {
            "unknown host": f"HostNotFound: Could not find address for {host}:{port}: SocketException: Host not found "
            "(authoritative)",
            "timeout": f"NetworkTimeout: Error connecting to {host}:{port} ({there.address}:{port}) :: caused by :: "
            "Socket operation timed out",
        }.get(
            there.outcome,
            f"SocketException: Error connecting to {host}:{port} ({there.address or host}:{port}) :: caused by :: "
            "Connection refused",
        )
        text = f"Error: couldn't connect to server {host}:{port}, connection attempt failed: {why} :\n"
        trace = "connect@src/mongo/shell/mongo.js:374:17\n@(connect):2:6\nexception: connect failed\n"
        return Outcome(f"{text}{trace}exiting with code 1\n", "", 1)
    if there.outcome == "unknown host":
        return clients.failed(f"MongoNetworkError: getaddrinfo ENOTFOUND {host}")
    if there.outcome == "timeout":
        return clients.failed("MongoServerSelectionError: Server selection timed out after 30000 ms")
    return clients.failed(f"MongoNetworkError: connect ECONNREFUSED {there.address or host}:{port}")
