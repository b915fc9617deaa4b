"""Bad input over sockets: the status codes of the real server, nothing lost, nothing leaked, others unaffected."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from simcluster.eval.episode.replay import replay
from simcluster.session import sandbox
from tests.surface.http.hostile import ASKED, MAPS, Load, Process, prepared
from tests.surface.http.served import ServedCluster

#: A log, buffers and remembered bytes of a minute's requests may take so much.
GROWTH_MIB = 400.0


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedCluster]:
    made = ServedCluster(tmp_path / "out", "--empty", "--nodes", "1", "--clock", "manual")
    made.wait()
    yield made
    made.process.kill()
    made.process.communicate()


def raw(served: ServedCluster, data: bytes, *, secure: bool = True) -> bytes:
    """What is answered to bytes until the server closes the connection."""
    place = urlsplit(served.url)
    connection = socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=300)
    if secure:
        connection = served.context.wrap_socket(connection, server_hostname="localhost")
    found = b""
    with connection:
        try:
            connection.sendall(data)
            while more := connection.recv(65536):
                found += more
        except (ConnectionError, ssl.SSLError):
            pass  # it need not read what it refuses
    return found


def test_bytes_that_are_no_request_are_refused_as_by_go(served: ServedCluster) -> None:
    plain = raw(served, b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n", secure=False)
    assert plain == b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
    assert raw(served, b"\x00\xff garbage", secure=False) == b""
    assert raw(served, b"\x16\x03\x01\x02\x00" + b"x" * 600, secure=False)[:1] in (b"", b"\x15")
    assert raw(served, b"\x00\xff garbage\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert raw(served, b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    many = b"".join(b"X%d: aaaaaaaaaaaaaaaaaa\r\n" % number for number in range(60_000))
    assert raw(served, b"GET / HTTP/1.1\r\nHost: x\r\n" + many).startswith(b"HTTP/1.1 431 ")
    assert raw(served, b"GET /" + b"a" * 1_200_000).startswith(b"HTTP/1.1 431 ")
    assert served.ask("PROPFIND", MAPS).code == 405
    assert served.ask("GET", "/readyz").body == b"ok"


def load(served: ServedCluster, seconds: float, clients: int) -> None:
    """Everything at once for a while; then look for what it has left."""
    prepared(served)
    before = Process.of(served.process.pid)
    made = Load(served, clients, seconds)
    asyncio.run(made.run())
    assert not made.wrong
    assert set(made.answered) >= set(ASKED)
    after = Process.at_rest(served, before.files)
    assert after.files <= before.files
    assert after.mebibytes - before.mebibytes < GROWTH_MIB
    patched = [line for line in served.end() if '"PATCH"' in line.get("text", "")]
    assert len(patched) == made.answered["patch"]
    again = replay(served.out / "replay.jsonl")
    assert again.same
    # Nothing but what was answered with success has changed the world: the same writes alone lead to the same one.
    alone = sandbox(1)
    alone.inbox.policy = again.live.inbox.policy
    for line in again.live.commands:
        call = json.loads(line.text)
        if call["method"] in ("POST", "PATCH") and line.exit_code == 0:
            alone.submit(line.tool, line.text)
    assert alone.world_digest == again.live.world_digest


@pytest.mark.parametrize(("seconds", "clients"), [(3.0, 8), pytest.param(60.0, 32, marks=pytest.mark.slow(sample=0))])
def test_a_mixture_of_requests_loses_and_leaks_nothing(served: ServedCluster, seconds: float, clients: int) -> None:
    load(served, seconds, clients)


def test_who_reads_nothing_holds_a_bounded_amount_and_nobody_up(served: ServedCluster) -> None:
    """Clients that ask for large answers, one after the other, and take none."""
    place = urlsplit(served.url)
    before = Process.of(served.process.pid)
    silent = []
    for _ in range(100):
        connection = socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=300)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection = served.context.wrap_socket(connection, server_hostname="localhost")
        ask = f"GET /openapi/v3/api/v1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {served.token}\r\n\r\n".encode()
        connection.sendall(ask * 8)
        silent.append(connection)
        assert served.ask("GET", "/readyz").body == b"ok"
    assert Process.of(served.process.pid).mebibytes - before.mebibytes < GROWTH_MIB
    for connection in silent:
        connection.close()
    assert Process.at_rest(served, before.files).files <= before.files
