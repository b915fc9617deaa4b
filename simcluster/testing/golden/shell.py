"""A shell whose kubectl, timeout, sleep and curl are the simulator's own: every call is answered in simulated time."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Protocol

from simcluster.testing.golden import shims
from simcluster.testing.golden.cluster import RecordedWorld
from simcluster.testing.golden.server import REFUSED, CommandServer, Reply, call_of

#: Real seconds that one command may take.
PATIENCE_S = 60.0
#: Real seconds without a call after which nobody else is calling: a held port-forward is let run to its end.
_IDLE_S = 2.0
#: Real seconds that a shim gets to print before the next one may.
_HEAD_START_S = 0.1


class Shell(Protocol):
    """Runs the commands of a sequence against one world."""

    def run(self, script: str, folder: Path, out: IO[str], err: IO[str]) -> int:
        """Run a command line in a folder; its exit code."""

    def close(self) -> None:
        """Stop listening."""


def environment(tools: Path, home: Path) -> dict[str, str]:
    """What the recorded commands saw; programs in `tools` come first."""
    return {
        "PATH": f"{tools}:{os.environ.get('PATH', '/usr/bin:/bin')}",
        "HOME": str(home),
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
    }


def start(script: str, folder: Path, names: Mapping[str, str], out: IO[str], err: IO[str]) -> subprocess.Popen[bytes]:
    """A bash of its own session, so that all of it can be ended."""
    return subprocess.Popen(
        ["bash", "-c", script],
        cwd=folder,
        env=names,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        start_new_session=True,
    )


class WarmShell:
    """A shell in whose PATH the shims come first (implements `Shell`)."""

    def __init__(self, world: RecordedWorld, scratch: Path) -> None:
        self.world = world
        self.server = CommandServer(world)
        self._held: list[tuple[socket.socket, Reply]] = []
        tools = scratch / "bin"
        tools.mkdir()
        shims.install(tools)
        self._environment = environment(tools, scratch) | {shims.SOCKET_VARIABLE: str(scratch / "socket")}
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(scratch / "socket"))
        self._listener.listen(16)

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()

    def run(self, script: str, folder: Path, out: IO[str], err: IO[str]) -> int:
        """Run a command line in a folder; its exit code."""
        process = start(script, folder, self._environment, out, err)
        end = os.pidfd_open(process.pid)
        deadline = time.monotonic() + PATIENCE_S
        try:
            while process.poll() is None:
                if time.monotonic() > deadline:
                    os.killpg(process.pid, signal.SIGKILL)
                ready, _, _ = select.select([self._listener.fileno(), end], [], [], _IDLE_S)
                if self._listener.fileno() in ready:
                    self._answer()
                elif not ready:
                    self._release()
        finally:
            os.close(end)
        return process.wait()

    def _answer(self) -> None:
        connection, _ = self._listener.accept()
        with contextlib.suppress(ConnectionError):
            call = call_of(shims.receive(connection))
            reply = self.server.serve(call)
            if (
                call.program == "curl" and reply.code == REFUSED and self._comes_another()
            ):  # one that was started before, on a busy machine
                self._answer()
                reply = self.server.serve(call)
            self._print_held()
            if reply.deadline_ns > self.world.sim.now:
                connection.sendall(shims.encode(reply.printed()))
                self._held.append((connection, reply))
                self.server.forwards.append(reply)
                return
            connection.sendall(shims.encode(reply.ending()))
        connection.close()

    def _comes_another(self) -> bool:
        return bool(select.select([self._listener.fileno()], [], [], _IDLE_S)[0])

    def _print_held(self) -> None:
        """What commands in the background have to say goes out before the present answer."""
        for connection, held in self._held:
            printed = held.printed()
            if printed:
                connection.sendall(shims.encode(printed))
                time.sleep(_HEAD_START_S)

    def _release(self) -> None:
        """Nobody else calls: let the commands in the background come to their end."""
        held, self._held = self._held, []
        self.server.forwards.clear()
        for connection, reply in held:
            self.world.run_for(max(0, reply.deadline_ns - self.world.sim.now))
            with contextlib.suppress(ConnectionError):
                connection.sendall(shims.encode(reply.ending()))
            connection.close()
