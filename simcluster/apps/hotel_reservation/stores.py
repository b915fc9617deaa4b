"""Where a program's store is, as whom it comes, and whether the store lets it in."""

from __future__ import annotations

from typing import NamedTuple

from simcluster.models.apps.server import ServerProgram
from simcluster.models.machine.container import Container
from simcluster.models.traffic.cluster.address import parse_address
from simcluster.models.traffic.cluster.operations import CallSpec
from simcluster.models.traffic.cluster.server import Server

MONGO_PORT = 27017


class Credentials(NamedTuple):
    """Where a store is, and as whom a client comes (`user:password@host:port`)."""

    host: str
    port: int
    user: str
    password: str


def credentials_of(address: str, user: str, password: str) -> Credentials:
    """Parse a store's address; what it says of the user counts more than the program's own.

    >>> credentials_of("mongodb://admin:secret@mongodb-geo/geo-db", "admin", "admin")
    Credentials(host='mongodb-geo', port=27017, user='admin', password='secret')
    """
    login, at, place = address.removeprefix("mongodb://").rpartition("@")
    if at:
        user, _, password = login.partition(":")
    host, port = parse_address(place.partition("/")[0])
    return Credentials(host, port or MONGO_PORT, user, password)


def refusal(store: Container, caller: Server, call: CallSpec) -> str:
    """What a store answers to a caller whom it does not serve; empty if it serves him."""
    program = store.program
    server = program.server if isinstance(program, ServerProgram) else None
    return server.gate.refusal(caller, call) if server is not None and server.gate is not None else ""
