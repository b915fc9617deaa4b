"""`psql` and `pg_isready`: where they connect to, as whom, and what they say when they cannot.

A socket and 127.0.0.1 are trusted, as the image's `pg_hba.conf` says; other hosts want a password
(scram-sha-256). Source: libpq's messages (fe-connect.c), PostgreSQL 16.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.models.apps.stores import clients
from simcluster.models.apps.stores.clients import Connection, Place
from simcluster.models.apps.stores.postgres.psql import Psql
from simcluster.models.machine.container import Container
from simcluster.models.userland.outcome import Outcome

if TYPE_CHECKING:
    from simcluster.models.apps.stores.postgres.postgres import PostgresProgram

_OPTIONS = {
    **{"-h": "host", "--host": "host", "-p": "port", "--port": "port", "-U": "user", "--username": "user"},
    **{"-d": "database", "--dbname": "database"},
}
_CONNINFO = ("host", "hostaddr", "port", "user", "password", "dbname")


def run(container: Container, own: PostgresProgram | None, argv: tuple[str, ...], stdin: str) -> Outcome | None:
    """The command line; None if it is another program's."""
    variables, words = clients.unwrapped(container, argv)
    name = words[0].rpartition("/")[2] if words else ""
    if name not in ("psql", "pg_isready"):
        return None
    if "--version" in words or "-V" in words:
        version = own.version if own is not None else "16.10"
        return Outcome(f"{name} (PostgreSQL) {version} (Debian {version}-1.pgdg12+1)\n")
    place, rest = _place(words[1:], variables)
    port = place.port or (next(iter(own._ports)) if own is not None and place.host in clients.LOCAL else 5432)
    there = clients.connect(container, own, "postgres", place.host, port)
    if name == "pg_isready":
        return _is_ready(place, port, there, own)
    where = _where(place, port, there)
    if there.program is None:
        return clients.failed(f"psql: error: {_unreached(place, there, where, own)}", 2)
    server: PostgresProgram = there.program  # type: ignore[assignment]
    root = server.root
    user = place.user or (root if there.local else "root")
    database = place.database or user
    why = _refusal(server, there, user, place.password, database)
    if why:
        return clients.failed(f"psql: error: {where} failed: {why}", 2)
    if "-l" in rest or "--list" in rest:
        rest = [*(word for word in rest if word not in ("-l", "--list")), "-c", "\\l"]
    at = ""
    if place.host:
        shown = f' (address "{there.address}")' if place.host != there.address else ""
        at = f'on host "{place.host}"{shown} at port "{port}"'
    shell = Psql(server, user, database, at)
    return shell.run((*rest, "-U", user, "-d", database), stdin)


def _place(words: tuple[str, ...], variables: dict[str, str]) -> tuple[Place, list[str]]:
    found, rest = clients.options_from(words, _OPTIONS)
    kept: list[str] = []
    queue = list(rest)
    bare: list[str] = []
    while queue:  # what is neither an option nor the value of one is the database and the user
        word = queue.pop(0)
        if word in ("-c", "--command", "-f", "--file", "-v", "--set", "-F", "-P", "-o", "-R", "-T") and queue:
            kept += [word, queue.pop(0)]
        elif word.startswith("-") and not word.startswith("--") and word.endswith("c") and queue:
            kept += [word[:-1], "-c", queue.pop(0)]  # -tAc COMMAND
        elif word.startswith("-"):
            kept.append(word)
        else:
            bare.append(word)
    if bare and "database" not in found:
        found["database"] = bare.pop(0)
    if bare:
        found.setdefault("user", bare[0])
    text = found.get("database", "")
    url, password = clients.url_of(text), variables.get("PGPASSWORD")
    if url is not None:
        found = {**_said(url), **{k: v for k, v in found.items() if k != "database"}}
        password = url.password if url.password is not None else password
    elif "=" in text:
        pairs = dict(part.split("=", 1) for part in text.split() if "=" in part)
        found.pop("database")
        found |= {k.replace("dbname", "database"): v.strip("'") for k, v in pairs.items() if k in _CONNINFO}
        password = found.pop("password", password)
    port = found.get("port") or variables.get("PGPORT", "")
    return Place(
        found.get("host", variables.get("PGHOST", "")),
        int(port) if port.isdigit() else 0,
        found.get("user", variables.get("PGUSER", "")),
        password,
        found.get("database", variables.get("PGDATABASE", "")),
    ), kept


def _said(url: Place) -> dict[str, str]:
    fields = {"host": url.host, "user": url.user, "database": url.database, "port": str(url.port or "")}
    return {name: value for name, value in fields.items() if value}


def _where(place: Place, port: int, there: Connection) -> str:
    if not place.host:
        return f'connection to server on socket "/var/run/postgresql/.s.PGSQL.{port}"'
    shown = f" ({there.address})" if place.host != there.address else ""
    return f'connection to server at "{place.host}"{shown}, port {port}'


def _unreached(place: Place, there: Connection, where: str, own: PostgresProgram | None) -> str:
    if there.outcome == "unknown host":
        return f'could not translate host name "{place.host}" to address: Name or service not known'
    if not place.host:
        if own is not None and own.storage is not None:
            return f"{where} failed: FATAL:  the database system is starting up"
        hint = "\n\tIs the server running locally and accepting connections on that socket?"
        return f"{where} failed: No such file or directory{hint}"
    why = "Connection timed out" if there.outcome == "timeout" else "Connection refused"
    return f"{where} failed: {why}\n\tIs the server running on that host and accepting TCP/IP connections?"


def _refusal(server: PostgresProgram, there: Connection, user: str, password: str | None, database: str) -> str:
    contents = server.contents
    assert contents is not None
    account = contents.accounts.find(user)
    if there.local:
        if account is None:
            return f'FATAL:  role "{user}" does not exist'
        if not account.enabled:
            return f'FATAL:  role "{user}" is not permitted to log in'
    elif not password and server.environment.get("POSTGRES_HOST_AUTH_METHOD") != "trust":
        return "fe_sendauth: no password supplied"
    else:
        why = server.login(user, password or "")
        if why:
            server.say("FATAL", why, 71)
            return f"FATAL:  {why}"
    if server.open_connections() >= server.most_connections() and not (account and account.superuser):
        return "FATAL:  sorry, too many clients already"
    return "" if database in contents.databases else f'FATAL:  database "{database}" does not exist'


def _is_ready(place: Place, port: int, there: Connection, own: PostgresProgram | None) -> Outcome:
    shown = f"{place.host or '/var/run/postgresql'}:{port}"
    if there.program is not None:
        return Outcome(f"{shown} - accepting connections\n")
    if not place.host and own is not None and own.storage is not None:
        return Outcome(f"{shown} - rejecting connections\n", "", 1)
    return Outcome(f"{shown} - no response\n", "", 2)
