"""How the shop's programs find their stores: connection strings of lib/pq, libpq and Npgsql; what a store answers."""

from __future__ import annotations

import re

from simcluster.models.apps.reaching import Reached, reach
from simcluster.models.apps.server import ServerProgram
from simcluster.models.apps.stores.program import StoreProgram
from simcluster.models.traffic.cluster.address import parse_address
from simcluster.models.traffic.cluster.operations import CallSpec
from simcluster.models.traffic.cluster.server import Server

PORT = 5432
_PAIR = re.compile(r"(\w[\w ]*?)\s*=\s*([^\s;]+)")
_KEYS = {"user": "user", "username": "user", "password": "password", "dbname": "database", "database": "database"}


def address_of(text: str) -> str:
    """A connection string as a URL with a port.

    >>> address_of("host=postgresql user=otelu password=otelp dbname=otel")
    'postgres://otelu:otelp@postgresql:5432/otel'
    >>> address_of("postgres://otelu:otelp@postgresql/otel?sslmode=disable")
    'postgres://otelu:otelp@postgresql:5432/otel'
    """
    if "://" in text:
        login, at, place = text.partition("://")[2].rpartition("@")
        host, _, database = place.partition("?")[0].partition("/")
        host = host if ":" in host else f"{host}:{PORT}"
        return f"postgres://{login}{at}{host}/{database}"
    pairs = {key.strip().lower(): value for key, value in _PAIR.findall(text)}
    known = {name: pairs[key] for key, name in _KEYS.items() if key in pairs}
    host = pairs.get("host", pairs.get("server", ""))
    if not host:
        return ""
    login = f"{known.get('user', '')}:{known.get('password', '')}"
    return f"postgres://{login}@{host}:{pairs.get('port', PORT)}/{known.get('database', '')}"


def met(program: ServerProgram, env: str, operation: str) -> tuple[Reached, str]:
    """Connect to the store whose address a variable holds: what became of it, and the store's refusal ("" if none)."""
    host, port = parse_address(program.environment.get(env, ""))
    found = reach(program.traffic.network, program.container, host, port)
    store = found.container.program if found.container is not None else None
    if found.outcome != "ok" or not isinstance(store, StoreProgram) or store.server is None:
        return (found if found.outcome != "ok" else found._replace(outcome="refused")), ""
    caller = program.server or Server(program.container, program.behaviour.service(), program.environment, program)
    return found, store.refusal(caller, CallSpec(env, operation))
