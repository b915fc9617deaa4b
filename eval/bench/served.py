"""What a request over sockets costs, beside an echo: the same listener, TLS and sizes before an application that knows
nothing.

Source of what is promised: half of what a real API server of version 1.36 took on two cores, over TLS on loopback with
a client like this one (one pod 0.78 ms, a Table of 500 pods 9.1, their JSON 16.6, a watch 2.5).
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import http.client
import json
import multiprocessing
import queue
import shlex
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from simcluster.eval.bench.bench import Measurement
from simcluster.surface.http.certificates import Authority, server_context
from simcluster.surface.http.server import LOOPBACK, Served, listening

PODS = 500
NODES = 6
REPEATS = 200
#: By what is measured, milliseconds at most.
PROMISED_MS = {"GET a pod": 0.39, f"Table of {PODS} pods": 4.5, f"JSON of {PODS} pods": 8.3}
#: As many times an echo at most.
PROMISED_ECHOES = 2.0
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
_PODS = "/api/v1/namespaces/default/pods"
_MAP = "/api/v1/namespaces/default/configmaps/bench"
_PATCH = "application/merge-patch+json"


class Client:
    """One connection that stays open.

    Args:
        desk: where time passes, with its credentials; empty of who needs none.
    """

    def __init__(self, address: str, token: str, desk: str = "") -> None:
        place = urlsplit(address)
        context = ssl._create_unverified_context()
        self._connection = http.client.HTTPSConnection(str(place.hostname), place.port, context=context)
        self._headers = {"Authorization": f"Bearer {token}"}
        self._desk = urlsplit(desk)

    def ask(self, method: str, target: str, body: Any = None, **headers: str) -> bytes:
        """The body of the answer. Raises RuntimeError: it is none of success."""
        text = None if body is None else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self._connection.request(method, target, text, {**self._headers, **named})
        answer = self._connection.getresponse()
        found = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {target}: {answer.status} {found[:200]!r}")
        return found

    def is_ready(self) -> bool:
        """Whether the cluster is there."""
        try:
            return self.ask("GET", "/readyz") == b"ok"
        except (RuntimeError, OSError):
            self._connection.close()
            return False

    def lines(self, target: str) -> Iterator[bytes]:
        """Lines of an answer that does not end."""
        self._connection.request("GET", target, None, self._headers)
        yield from self._connection.getresponse()

    def wait(self, duration: str) -> None:
        """Let simulated time pass."""
        desk = http.client.HTTPConnection(str(self._desk.hostname), self._desk.port)
        desk.request("POST", "/wait", duration, self._headers)
        answer = desk.getresponse()
        if answer.status != 200:
            raise RuntimeError(f"wait: {answer.read()!r}")
        desk.close()


def measure_served(tell: Callable[[str], None]) -> list[Measurement]:
    """Medians of requests, each in turn with an echo whose answer is as long, and of a watch.

    Args:
        tell: is told what is measured now.
    """
    tell(f"serving a cluster of {PODS} pods")
    with tempfile.TemporaryDirectory() as folder, _cluster(Path(folder)) as (client, other), _echo() as echo:
        pod = _filled(client)
        asked: dict[str, Callable[[], bytes]] = {
            "GET a pod": lambda: client.ask("GET", f"{_PODS}/{pod}"),
            f"Table of {PODS} pods": lambda: client.ask("GET", f"{_PODS}?limit={PODS}", Accept=_TABLE),
            f"JSON of {PODS} pods": lambda: client.ask("GET", _PODS),
            "merge patch": lambda: _patch(client),
        }
        found: list[Measurement] = []
        for name, ask in asked.items():
            tell(name)
            found += _beside(name, ask, echo)
        tell("watch")
        return [*found, _watched(client, other)]


def _beside(name: str, ask: Callable[[], bytes], echo: Client) -> list[Measurement]:
    size = len(ask())
    ours, theirs = [], []
    for _ in range(REPEATS if size < 100_000 else REPEATS // 5):
        ours.append(_ms(ask))
        theirs.append(_ms(lambda: echo.ask("GET", f"/{size}")))
    median, floor = statistics.median(ours), statistics.median(theirs)
    bound = PROMISED_MS.get(name)
    holds = (bound is None or median <= bound) and median <= PROMISED_ECHOES * floor
    said = f"<= {bound} ms, 2 echoes" if bound is not None else "<= 2 echoes"
    return [
        Measurement(name, "ms", round(median, 3), tuple(ours), said, holds),
        Measurement(f"  echo of {size} bytes", "ms", round(floor, 3), tuple(theirs)),
    ]


def _ms(work: Callable[[], Any]) -> float:
    began_s = time.perf_counter()
    work()
    return round(1000 * (time.perf_counter() - began_s), 4)


def _patch(client: Client) -> bytes:
    return client.ask("PATCH", _MAP, {"data": {"at": str(time.perf_counter_ns())}}, Content_Type=_PATCH)


def _watched(client: Client, other: Client) -> Measurement:
    """From the moment at which a patch is sent to the moment at which its event has come."""
    heard: queue.SimpleQueue[float] = queue.SimpleQueue()

    def listen() -> None:
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            for _ in other.lines("/api/v1/namespaces/default/configmaps?watch=true&fieldSelector=metadata.name=bench"):
                heard.put(time.perf_counter())

    threading.Thread(target=listen, daemon=True).start()
    heard.get()
    times = []
    for _ in range(REPEATS):
        began_s = time.perf_counter()
        _patch(client)
        times.append(round(1000 * (heard.get() - began_s), 4))
    median = statistics.median(times)
    return Measurement("watch: patch to event", "ms", round(median, 3), tuple(times), "<= 1.25 ms", median <= 1.25)


@contextlib.contextmanager
def _cluster(folder: Path) -> Iterator[tuple[Client, Client]]:
    """`simcluster serve` in a process of its own; two connections to it."""
    words = ["serve", "--empty", "--nodes", str(NODES), "--clock", "manual", "--out", str(folder)]
    command = [sys.executable, "-m", "simcluster", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        named: dict[str, str] = {}
        for line in process.stdout:
            name, _, value = line.removeprefix("export ").strip().partition("=")
            named[name] = shlex.split(value)[0]
            if name == "SIMCLUSTER_TOKEN":  # the last one
                break
        api, token = named["SIMCLUSTER_API"], named["SIMCLUSTER_TOKEN"]
        ready = Client(api, token)
        while not ready.is_ready():
            time.sleep(0.02)
        yield Client(api, token, named["SIMCLUSTER_DESK"]), Client(api, token)
    finally:
        process.terminate()
        process.communicate()


def _filled(client: Client) -> str:
    """Deploy the pods and wait until they run; the name of one of them."""
    labels = {"app": "bench"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
    spec = {"replicas": PODS, "selector": {"matchLabels": labels}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "bench"}, "spec": spec}
    client.ask("POST", "/apis/apps/v1/namespaces/default/deployments", body, Content_Type="application/json")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "bench"}}
    client.ask("POST", "/api/v1/namespaces/default/configmaps", body, Content_Type="application/json")
    client.wait("180s")
    pods = json.loads(client.ask("GET", _PODS))["items"]
    phases = {pod["status"]["phase"] for pod in pods}
    if len(pods) != PODS or phases != {"Running"}:
        raise RuntimeError(f"{len(pods)} pods are {phases}, not {PODS} Running")
    return str(pods[PODS // 2]["metadata"]["name"])


@contextlib.contextmanager
def _echo() -> Iterator[Client]:
    """The same listener before an application that sends as many bytes as the path says."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve_echo, args=(theirs,), daemon=True)
    process.start()
    try:
        yield Client(f"https://{LOOPBACK}:{ours.recv()}", "")
    finally:
        process.terminate()
        process.join()


def _serve_echo(port: Connection) -> None:
    authority = Authority(datetime.datetime.now(datetime.UTC))
    with tempfile.TemporaryDirectory() as folder:
        context = server_context(authority.server(LOOPBACK), authority.certificate, Path(folder))
    place = listening(0)

    async def serve() -> None:
        async with Served(_Echo(), place, context).running():
            port.send(place.getsockname()[1])
            await asyncio.Event().wait()

    asyncio.run(serve())


class _Echo:
    """An ASGI application that knows nothing."""

    def __init__(self) -> None:
        self._bodies: dict[int, bytes] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        size = int(scope["path"].strip("/"))
        body = self._bodies.setdefault(size, b"x" * size)
        while (await receive()).get("more_body"):
            pass
        head = [(b"content-type", b"application/json"), (b"content-length", str(size).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": body})
