"""Requests that are valid, malformed and hostile, as many as a server takes: `python -m tests.surface.http.hostile`.

Every answer is compared with the status that the real server gives. Loopback only.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import ssl
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from simcluster.eval.episode.replay import replay
from tests.surface.http.served import ServedCluster

MAPS = "/api/v1/namespaces/default/configmaps"
JSON_TYPE = "application/json"
PATCH_TYPE = "application/merge-patch+json"


class Kind(NamedTuple):
    """One kind of request on a connection that stays open: what is sent, and the status that answers."""

    code: int
    method: str
    target: str
    body: bytes = b""
    content_type: str = JSON_TYPE
    token: str = "good"


#: Asked over connections that stay open.
ASKED = {
    "version": Kind(200, "GET", "/version"),
    "object": Kind(200, "GET", f"{MAPS}/x"),
    "list": Kind(200, "GET", f"{MAPS}?limit=500"),
    "patch": Kind(200, "PATCH", f"{MAPS}/x", b'{"data":{"n":"%d"}}', PATCH_TYPE),
    "exists": Kind(409, "POST", MAPS, b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}'),
    "nothing": Kind(404, "GET", f"{MAPS}/none"),
    "nowhere": Kind(404, "GET", "/apis/none/v1/x"),
    "stranger": Kind(401, "GET", MAPS, token="bad"),
    "anonymous": Kind(403, "GET", MAPS, token=""),
    "no JSON": Kind(400, "POST", MAPS, b'{"a":'),
    "no object": Kind(400, "POST", MAPS, b"[1]"),
    "media": Kind(415, "POST", MAPS, b"a", "text/plain"),
    "method": Kind(405, "PUT", MAPS, b"{}"),
    "odd method": Kind(405, "PROPFIND", MAPS),
    "query": Kind(400, "GET", f"{MAPS}?limit=x"),
    "protobuf": Kind(400, "POST", MAPS, b"k8s\x00\xff\xff", "application/vnd.kubernetes.protobuf"),
}
#: One of so many requests is one of those that need a connection of their own, and of these one of so many is large.
ALONE, LARGE = 40, 10


class Load:
    """Clients that ask one after the other, each on a connection of its own.

    Attributes:
        answered: how often which kind was answered as the real server answers it.
        wrong: the others, told apart by kind and status.
    """

    def __init__(self, served: ServedCluster, clients: int, seconds: float, seed: int = 0) -> None:
        self.served = served
        self.answered: Counter[str] = Counter()
        self.wrong: Counter[str] = Counter()
        self.seconds = seconds
        place = urlsplit(served.url)
        self._place = str(place.hostname), int(place.port or 0)
        self._clients = clients
        self._seed = seed
        self._tokens = {"good": f"Authorization: Bearer {served.token}\r\n", "bad": "Authorization: Bearer no\r\n"}
        self._numbers = 0

    async def run(self) -> None:
        """All of it."""
        self._until = time.monotonic() + self.seconds
        stuck = [await self._open() for _ in range(20)]  # who watches and never reads, who says half and no more
        for number, (_, writer) in enumerate(stuck):
            head = self._head("GET", f"{MAPS}?watch=true", "good", 0, JSON_TYPE)
            writer.write(head if number % 2 else head[: len(head) // 2])
        await asyncio.gather(*(self._client(random.Random(f"{self._seed}/{n}")) for n in range(self._clients)))
        for _, writer in stuck:
            await _hang_up(writer)

    async def _open(self, *, secure: bool = True) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        context = self.served.context if secure else None
        name = "localhost" if secure else None
        return await asyncio.open_connection(*self._place, ssl=context, server_hostname=name, limit=2**20)

    def _head(self, method: str, target: str, token: str, size: int, content_type: str) -> bytes:
        length = f"Content-Length: {size}\r\nContent-Type: {content_type}\r\n" if size else ""
        return f"{method} {target} HTTP/1.1\r\nHost: x\r\n{self._tokens.get(token, '')}{length}\r\n".encode()

    async def _client(self, chance: random.Random) -> None:
        reader, writer = await self._open()
        names = list(ASKED)
        while time.monotonic() < self._until:
            if chance.randrange(ALONE) == 0:
                await self._alone(chance)
                continue
            name = chance.choice(names)
            kind = ASKED[name]
            body = kind.body
            if b"%d" in body:
                self._numbers += 1
                body = body % self._numbers
            writer.write(self._head(kind.method, kind.target, kind.token, len(body), kind.content_type) + body)
            code = await _answer(reader)
            self._count(name, code, kind.code)
        await _hang_up(writer)

    def _count(self, name: str, code: int, expected: int) -> None:
        if code == expected:
            self.answered[name] += 1
        else:
            self.wrong[f"{name}: {code}"] += 1

    async def _alone(self, chance: random.Random) -> None:
        ways: tuple[tuple[str, Callable[[], Awaitable[int]], int], ...] = (
            ("plain HTTP", self._plain, 400),
            ("garbage instead of TLS", self._garbage, 0),
            ("garbage in TLS", lambda: self._once(b"\x00\xff garbage\r\n\r\n"), 400),
            ("gone in a watch", self._vanish, 0),
            ("gone in a body", self._half, 0),
        )
        large = (
            ("headers of a megabyte", lambda: self._once(b"GET / HTTP/1.1\r\nX: " + b"a" * 1_100_000), 431),
            ("body of 4 MiB", lambda: self._body(4 * 2**20), 413),
        )
        name, way, expected = chance.choice(large if chance.randrange(LARGE) == 0 else ways)
        try:
            code = await way()
        except (ConnectionError, ssl.SSLError, asyncio.IncompleteReadError):
            code = 0  # hung up on before it could read why: as good
            expected = 0
        self._count(name, code, expected)

    async def _once(self, data: bytes, *, secure: bool = True) -> int:
        reader, writer = await self._open(secure=secure)
        try:
            writer.write(data)
            return int((await reader.readline()).split(b" ")[1])
        finally:
            await _hang_up(writer)

    async def _plain(self) -> int:
        return await self._once(b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n", secure=False)

    async def _garbage(self) -> int:
        reader, writer = await self._open(secure=False)
        writer.write(b"\x16\x03\x01\x02\x00garbage" + b"x" * 600)
        found = await reader.read(100)
        await _hang_up(writer)
        return 0 if not found or found[0] == 0x15 else 1  # an alert of TLS, or nothing

    async def _vanish(self) -> int:
        reader, writer = await self._open()
        writer.write(self._head("GET", f"{MAPS}?watch=true", "good", 0, JSON_TYPE))
        await reader.readline()
        await _hang_up(writer)
        return 0

    async def _half(self) -> int:
        _, writer = await self._open()
        writer.write(self._head("POST", MAPS, "good", 1000, JSON_TYPE) + b"{")
        await _hang_up(writer)
        return 0

    async def _body(self, size: int) -> int:
        return await self._once(self._head("POST", MAPS, "good", size, JSON_TYPE) + b" " * size)


async def _hang_up(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        await writer.wait_closed()


async def _answer(reader: asyncio.StreamReader) -> int:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.lower().split(b"\r\n")
    size = next((int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:")), 0)
    await reader.readexactly(size)
    return int(first.split(b" ")[1])


class Process(NamedTuple):
    """What a process holds."""

    files: int
    mebibytes: float
    cpu_s: float

    @classmethod
    def of(cls, pid: int) -> Process:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        cpu_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return cls(len(list(Path(f"/proc/{pid}/fd").iterdir())), round(pages * 4096 / 2**20, 1), cpu_s)

    @classmethod
    def at_rest(cls, served: ServedCluster, files: int) -> Process:
        """What is left when the server has noticed who has gone: asked until it holds no more files than before."""
        until = time.monotonic() + 300.0
        while (found := cls.of(served.process.pid)).files > files and time.monotonic() < until:
            assert served.ask("GET", "/readyz").body == b"ok"
        return found


def prepared(served: ServedCluster) -> None:
    """Make what is asked for."""
    body = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}).encode()
    assert served.ask("POST", MAPS, body, content_type=JSON_TYPE).code == 201


def main() -> None:
    """Load a served sandbox, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=32)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        served = ServedCluster(Path(folder) / "out", "--empty", "--nodes", "1", "--clock", "manual")
        served.wait()
        prepared(served)
        before = Process.of(served.process.pid)
        load = Load(served, given.clients, given.seconds)
        asyncio.run(load.run())
        total = sum(load.answered.values())
        print(f"{total} answered as the real server does, {total / given.seconds:.0f} a second; wrong: {load.wrong}")
        print(dict(load.answered))
        print(f"before {before}, after {Process.at_rest(served, before.files)}")
        lines = served.end()
        patched = sum('"PATCH"' in line.get("text", "") for line in lines)
        print(f"{patched} patches in the log, {load.answered['patch']} answered")
        print(f"the log repeats: {replay(served.out / 'replay.jsonl').same}")


if __name__ == "__main__":
    main()
