"""`mysql` and `mysqladmin`: where they connect to, as whom, how they print, and what they say when they cannot.

Source: client/mysql.cc and client/mysqladmin.cc of MySQL 8.0. Left out: option files, terminals, `mysqladmin shutdown`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from simcluster.models.apps.stores import clients
from simcluster.models.apps.stores.clients import Connection, Place
from simcluster.models.apps.stores.mysql.informationschema import SYSTEM
from simcluster.models.apps.stores.mysql.mysqlprinting import Form
from simcluster.models.apps.stores.mysql.mysqlshell import MysqlShell
from simcluster.models.apps.stores.settings import number_of
from simcluster.models.machine.container import Container
from simcluster.models.userland.outcome import Outcome

if TYPE_CHECKING:
    from simcluster.models.apps.stores.mysql.mysqlserver import MysqlServer

_NAMES = ("mysql", "mariadb", "mysqladmin", "mariadb-admin")
_OPTIONS = {
    **{"-h": "host", "--host": "host", "-P": "port", "--port": "port", "-u": "user", "--user": "user"},
    **{"-D": "database", "--database": "database", "-e": "script", "--execute": "script", "-S": "socket"},
}
_LONG = {
    **{"--table": "t", "--vertical": "E", "--skip-column-names": "N", "--raw": "r", "--force": "f", "--batch": "B"},
    **{"--silent": "s", "--verbose": "v"},
}
_WARNING = "{}: [Warning] Using a password on the command line interface can be insecure.\n"


def run(container: Container, own: MysqlServer | None, argv: tuple[str, ...], stdin: str) -> Outcome | None:
    """The command line; None if it is another program's."""
    variables, words = clients.unwrapped(container, argv)
    name = words[0].rpartition("/")[2] if words else ""
    if name not in _NAMES:
        return None
    if {"--version", "-V"} & set(words[1:]):
        return Outcome(f"{_version(name, own)}\n")
    form, force, words = _form(words)
    place, script, rest = _place(words[1:], variables)
    if "admin" in name:
        place = place._replace(database="")
    warning = _WARNING.format(name) if place.password and any(w.startswith("-p") for w in words) else ""
    there = clients.connect(container, own, "mysqld", place.host, place.port or 3306)
    if there.program is None:
        text = _unreached(place, there)
        if "admin" in name:
            text = f"{name}: connect to server at '{place.host or 'localhost'}' failed\nerror: '{text}'"
        return Outcome("", f"{warning}{text}\n", 1)
    server: MysqlServer = there.program  # type: ignore[assignment]
    user = place.user or "root"
    origin = "localhost" if there.local else container.sandbox.address
    why = _refusal(server, user, place, origin)
    if why:
        if "admin" in name:
            if rest[:1] == ["ping"]:
                return Outcome("mysqld is alive\n", warning)
            why = (
                f"{name}: connect to server at '{place.host or 'localhost'}' failed\nerror: '{why.partition(': ')[2]}'"
            )
        return Outcome("", f"{warning}{why}\n", 1)
    shell = MysqlShell(server, user, place.database, origin)
    if "admin" in name:
        return _administered(shell, name, rest, warning)
    done = shell.run(script if script is not None else stdin, form, force=force)
    return Outcome(done.stdout, warning + done.stderr, done.code, done.delay_ns)


def _administered(shell: MysqlShell, name: str, words: list[str], warning: str) -> Outcome:
    """`mysqladmin`: its commands, one after the other."""
    printed = ""
    for word in words:
        done = shell.admin(word)
        if done is None:
            return Outcome(printed, f"{warning}{name}: Unknown command: '{word}'\n", 1)
        printed += done
    return Outcome(printed, warning)


def _form(words: tuple[str, ...]) -> tuple[Form, bool, tuple[str, ...]]:
    """How results are printed, whether errors end it, and all other words; switches may stand together (`-Nse SQL`)."""
    switches: list[str] = []
    rest = [words[0]]
    queue = list(words[1:])
    while queue:
        word = queue.pop(0)
        if word in _LONG:
            switches.append(_LONG[word])
        elif re.fullmatch(r"-[tENrfBsvAnqbGC]+e?", word):
            switches += word[1:].removesuffix("e")
            rest += ["-e"] if word.endswith("e") else []
            if word.endswith("e") and queue:
                rest.append(queue.pop(0))
        else:
            rest.append(word)
            if word in _OPTIONS and queue:
                rest.append(queue.pop(0))
    table, vertical, bare, raw = (each in switches for each in "tENr")
    return Form(table, vertical, bare, raw), "f" in switches, tuple(rest)


def _version(name: str, own: MysqlServer | None) -> str:
    version = own.version if own is not None else "8.0.39"
    if version.startswith("5."):
        number = "8.42" if "admin" in name else "14.14"
        return f"{name}  Ver {number} Distrib {version}, for Linux (x86_64) using  EditLine wrapper"
    return f"{name}  Ver {version} for Linux on x86_64 (MySQL Community Server - GPL)"


def _place(words: tuple[str, ...], variables: dict[str, str]) -> tuple[Place, str | None, list[str]]:
    password: str | None = variables.get("MYSQL_PWD")
    kept = []
    for word in words:
        if word.startswith("--password="):
            password = word.partition("=")[2]
        elif word.startswith("-p") and not word.startswith("--"):
            password = word[2:]
        else:
            kept.append(word)
    found, rest = clients.options_from(tuple(kept), _OPTIONS)
    bare = [word for word in rest if not word.startswith("-")]
    port = found.get("port", "")
    host = found.get("host", variables.get("MYSQL_HOST", ""))
    database = found.get("database", bare[0] if bare else "")
    place = Place(host, int(port) if port.isdigit() else 0, found.get("user", ""), password, database)
    return place, found.get("script"), bare


def _unreached(place: Place, there: Connection) -> str:
    if there.outcome == "unknown host":
        return f"ERROR 2005 (HY000): Unknown MySQL server host '{place.host}' (-2)"
    if there.local and place.host in ("", "localhost"):
        socket = "/var/run/mysqld/mysqld.sock"
        return f"ERROR 2002 (HY000): Can't connect to local MySQL server through socket '{socket}' (2)"
    number = 110 if there.outcome == "timeout" else 111
    return f"ERROR 2003 (HY000): Can't connect to MySQL server on '{place.host}:{place.port or 3306}' ({number})"


def _refusal(server: MysqlServer, user: str, place: Place, origin: str) -> str:
    assert server.contents is not None
    account = server.contents.accounts.find(user)
    if account is None or account.password != (place.password or "") or not account.enabled:
        used = "YES" if place.password else "NO"
        text = f"Access denied for user '{user}'@'{origin}' (using password: {used})"
        server.say("Note", "MY-010926", "Server", text)
        return f"ERROR 1045 (28000): {text}"
    full = server.open_connections() >= number_of(server.settings["max_connections"], 151)
    if full and not (account.superuser and server.has_spare()):
        return "ERROR 1040 (HY000): Too many connections"
    if place.database and place.database not in (*server.contents.databases, *SYSTEM):
        return f"ERROR 1049 (42000): Unknown database '{place.database}'"
    return ""
