"""A small HTTP service in a process of its own: a few workers, a real queue in front of them, spans in OTLP.

`python -m tests.calibration.realservice '{"name": "web", "port": 1, "workers": 2, "mean_s": 0.01, "calls": [2], …}'`.
It works by sleeping (log-normal), calls others one after the other, and writes its spans when it is asked to end.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import secrets
import signal
import sys
import time
from pathlib import Path
from typing import Any

Span = dict[str, Any]


class Service:
    """One service, by its description."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.spans: list[Span] = []
        self.workers = asyncio.Semaphore(given["workers"])
        self.random = random.Random(given["port"])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request: wait for a worker, work, call, answer."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        trace, parent = head.partition("traceparent: ")[2].split("\r\n")[0].split("-")[1:3]
        async with self.workers:
            begin_ns, span = time.time_ns(), secrets.token_hex(8)
            sigma = 0.4
            median = self.given["mean_s"] * math.exp(-sigma * sigma / 2)
            await asyncio.sleep(self.random.lognormvariate(math.log(median), sigma))
            for port in self.given["calls"]:
                await self.call(port, trace, span)
            self.note("serve", 2, trace, span, parent, begin_ns)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        await writer.drain()
        writer.close()

    async def call(self, port: int, trace: str, parent: str) -> None:
        """Ask another service, with a span of its own."""
        begin_ns, span = time.time_ns(), secrets.token_hex(8)
        await ask(port, trace, span)
        self.note("call", 3, trace, span, parent, begin_ns)

    def note(self, name: str, kind: int, trace: str, span: str, parent: str, begin_ns: int) -> None:
        """Keep a span."""
        ends = {"startTimeUnixNano": str(begin_ns), "endTimeUnixNano": str(time.time_ns())}
        parent = "" if parent == "0" * 16 else parent
        self.spans.append(
            {"traceId": trace, "spanId": span, "parentSpanId": parent, "name": name, "kind": kind, **ends}
        )

    def export(self) -> Span:
        """All spans, as an exporter would send them."""
        resource = {"attributes": [{"key": "service.name", "value": {"stringValue": self.given["name"]}}]}
        return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": self.spans}]}]}


async def ask(port: int, trace: str, span: str) -> None:
    """A request over loopback, and its answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET / HTTP/1.1\r\nHost: x\r\ntraceparent: 00-{trace}-{span}-01\r\n\r\n".encode())
    answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 200"), answer
    writer.close()


async def main() -> None:
    """Serve until SIGTERM, then write the spans."""
    given = json.loads(sys.argv[1])
    service = Service(given)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    server = await asyncio.start_server(service.serve, "127.0.0.1", given["port"])
    print("ready", flush=True)
    await ended.wait()
    server.close()
    Path(given["out"]).write_text(json.dumps(service.export()) + "\n")


if __name__ == "__main__":
    asyncio.run(main())
