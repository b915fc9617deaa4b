"""A shell with a real kubectl on its PATH, which reaches the recorded cluster over TLS.

Such a client waits by the clock of this machine. The world's clock stands still until the first request of a command
line has come; it then follows the machine's, second by second, until the command line has ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import os
import secrets
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import yaml

from simcluster.api.encoding.wire import Encoder
from simcluster.api.request import ADMIN, Request, Response
from simcluster.session import http
from simcluster.surface.http.application import Application
from simcluster.surface.http.authentication import Credentials
from simcluster.surface.http.certificates import Authority, server_context
from simcluster.surface.http.door import Caller, Turns
from simcluster.surface.http.kubernetes import KubernetesApi
from simcluster.surface.http.server import LOOPBACK, Served, listening
from simcluster.surface.protocols import HttpAnswer, Outcome
from simcluster.testing.golden.cluster import RecordedWorld
from simcluster.testing.golden.server import COMMAND_NS
from simcluster.testing.golden.shell import PATIENCE_S, environment, start

#: Real seconds between two looks at the clock while nothing is asked.
_TICK_S = 0.01
#: Real seconds between two looks at a command that may have ended.
_POLL_S = 0.005


class WallDoor:
    """The door of a world that lives as fast as its client (implements `surface.http.door.Door`)."""

    def __init__(self, world: RecordedWorld) -> None:
        self.world = world
        self._encoder = Encoder()
        self._since: int | None = None  # when the world was last up to date, by the machine's clock

    @property
    def now_ns(self) -> int:
        """The simulated instant."""
        return self.world.sim.now

    def exchange(self, request: Request, caller: Caller) -> HttpAnswer:
        """Let one exchange take effect."""
        if self._since is None:
            self._pass(COMMAND_NS)
        response = self.look(request)
        lasted_ns = response.latency_ns + http.ran_for(request, response)
        if lasted_ns:
            self._pass(lasted_ns)
        return http.answer(request, response, self._encoder)

    def look(self, request: Request) -> Response:
        """Ask the API server."""
        return self.world.api.handle(request)

    def follow(self, caller: Caller, seen: Callable[[], bool]) -> bool:
        """Time passes by itself."""
        return False

    def drives(self, caller: Caller) -> bool:
        """Nobody makes time pass."""
        return False

    def catch_up(self) -> None:
        """Let the world live up to now."""
        if self._since is not None:
            self._pass(time.monotonic_ns() - self._since)

    def stop(self) -> None:
        """The command line has ended: time stands still."""
        self.catch_up()
        self._since = None

    def fork(self) -> WallDoor:
        """Nobody forks it. Raises ValueError."""
        raise ValueError("the recorded cluster goes on as it does")

    def run(self, tool: str, text: str, target: str = "", stdin: str = "") -> Outcome:
        """There is nothing but the API. Raises ValueError."""
        raise ValueError("the recorded cluster has nothing but an API")

    def _pass(self, duration_ns: int) -> None:
        self.world.run_for(duration_ns)
        self._since = time.monotonic_ns()  # what the simulation itself takes does not count


class SocketShell:
    """A shell whose kubectl is a program of this machine (implements `testing.golden.shell.Shell`).

    Args:
        kubectl: the program.
    """

    def __init__(self, world: RecordedWorld, scratch: Path, kubectl: Path) -> None:
        tools, own = scratch / "bin", scratch / ".kube"
        tools.mkdir()
        own.mkdir()
        (tools / "kubectl").symlink_to(kubectl.resolve())
        self._environment = environment(tools, scratch)
        self._door = WallDoor(world)
        self._turns = Turns(self._door)
        token = secrets.token_urlsafe(24)
        api = KubernetesApi(Credentials(ADMIN, token))
        api.turns = self._turns
        authority = Authority(datetime.datetime.now(datetime.UTC))
        (own / "ca.crt").write_bytes(authority.certificate)
        place = listening(0)
        self.server = f"https://{LOOPBACK}:{place.getsockname()[1]}"
        (own / "config").write_text(_kubeconfig(world, self.server, own / "ca.crt", token))
        (own / "config").chmod(0o600)
        context = server_context(authority.server(LOOPBACK), authority.certificate, scratch)
        self._loop = asyncio.new_event_loop()
        self._listening = Served(Application(api), place, context).running()
        self._loop.run_until_complete(self._listening.__aenter__())
        self._ticks = self._loop.create_task(self._tick())

    def run(self, script: str, folder: Path, out: IO[str], err: IO[str]) -> int:
        """Run a command line in a folder; its exit code."""
        return self._loop.run_until_complete(self._run(script, folder, out, err))

    def close(self) -> None:
        """Stop listening."""
        self._ticks.cancel()
        self._loop.run_until_complete(self._listening.__aexit__(None, None, None))
        self._loop.close()

    async def _run(self, script: str, folder: Path, out: IO[str], err: IO[str]) -> int:
        process = start(script, folder, self._environment, out, err)
        deadline = time.monotonic() + PATIENCE_S
        while process.poll() is None:
            await asyncio.sleep(_POLL_S)
            if time.monotonic() > deadline:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        await self._turns.take(self._door.stop)
        return process.wait()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            await self._turns.take(lambda: None)


def _kubeconfig(world: RecordedWorld, server: str, authority: Path, token: str) -> str:
    named = world.kubeconfig
    return str(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [
                    {"name": named.cluster, "cluster": {"server": server, "certificate-authority": str(authority)}}
                ],
                "users": [{"name": named.user, "user": {"token": token}}],
                "contexts": [{"name": named.context, "context": {"cluster": named.cluster, "user": named.user}}],
                "current-context": named.context,
            }
        )
    )
