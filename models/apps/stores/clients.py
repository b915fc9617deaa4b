"""The clients of stores as programs: `psql`, `pg_isready`, `mongosh`, `mongo`, `mysql`, `mysqladmin`, `redis-cli`.

A client runs in some container, of a store or of its image only, connects to where its options, its URL or
its variables say, and talks to the process that listens there; the errors of a connection are the client's own. What
the statements mean is the business of the shells (`Psql`, `MongoShell`, `MysqlShell`, `RedisCli`).
Left out: TLS, service files, `.pgpass`, clusters of Redis.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from simcluster.models.apps.reaching import reach
from simcluster.models.machine.container import Container
from simcluster.models.userland.outcome import Outcome

if TYPE_CHECKING:
    from simcluster.models.apps.stores.program import StoreProgram

#: Places that mean the container itself.
LOCAL = ("", "localhost", "127.0.0.1", "::1")


class Place(NamedTuple):
    """Where a client goes and as whom; empty fields are not said."""

    host: str = ""
    port: int = 0
    user: str = ""
    password: str | None = None
    database: str = ""
    options: str = ""  # of a URL, after the question mark


class Connection(NamedTuple):
    """What became of it: the program at the other end, or why there is none (as `Reached.outcome`)."""

    program: StoreProgram | None
    outcome: str
    address: str = ""
    local: bool = False


def url_of(text: str) -> Place | None:
    """The parts of `scheme://user:password@host:port/database?options`; None if it is no URL.

    >>> url_of("mongodb://root:secret@db:27018/admin")
    Place(host='db', port=27018, user='root', password='secret', database='admin', options='')
    """
    scheme, mark, rest = text.partition("://")
    if not mark or not scheme.replace("+", "").isalnum():
        return None
    rest, _, options = rest.partition("?")
    place, _, database = rest.partition("/")
    login, at, where = place.rpartition("@")
    user, colon, password = login.partition(":") if at else ("", "", "")
    host, _, port = where.partition(",")[0].partition(":")
    return Place(host, int(port) if port.isdigit() else 0, user, password if colon else None, database, options)


def connect(container: Container, own: StoreProgram | None, kind: str, host: str, port: int) -> Connection:
    """Connect a client of a kind of store (`mongod`, `postgres`, `mysqld`, `redis`)."""
    if host in LOCAL:
        listens = own is not None and own.server is not None and own.listens_on(port)
        return Connection(own if listens else None, "ok" if listens else "refused", "127.0.0.1", local=True)
    reached = reach(container.machine.network, container, host, port)
    program = _store_of(reached.container)
    if reached.outcome != "ok":
        return Connection(None, reached.outcome, reached.address)
    if program is None or program.behaviour.data_store != kind or program.server is None:
        return Connection(None, "refused", reached.address)
    return Connection(program, "ok", reached.address)


def _store_of(container: Container | None) -> StoreProgram | None:
    found = getattr(container, "program", None)
    while found is not None and not hasattr(found, "contents"):
        found = getattr(found, "inner", None)
    return found


def unwrapped(container: Container, argv: tuple[str, ...]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The variables of a client and its command line: `env A=b psql` sets one of them more."""
    variables = dict(container.spec.environment)
    words = list(argv)
    if words and words[0].rpartition("/")[2] == "env":
        words.pop(0)
        while words and "=" in words[0] and not words[0].startswith("-"):
            name, _, value = words.pop(0).partition("=")
            variables[name] = value
    return variables, tuple(words)


def options_from(words: tuple[str, ...], valued: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Options that say where to go, by the field they set, and all other words.

    Args:
        valued: option -> field; a short one may carry its value (`-Uapp`), a long one after `=`.
    """
    found: dict[str, str] = {}
    rest: list[str] = []
    queue = list(words)
    while queue:
        word = queue.pop(0)
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        short = word[:2]
        if name in valued and equals:
            found[valued[name]] = value
        elif name in valued:
            found[valued[name]] = queue.pop(0) if queue else ""
        elif short in valued and len(word) > 2 and not word.startswith("--"):
            found[valued[short]] = word[2:]
        else:
            rest.append(word)
    return found, rest


def failed(text: str, code: int = 1) -> Outcome:
    """A client that could not connect."""
    return Outcome("", f"{text}\n", code)
