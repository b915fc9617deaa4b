"""Replays a sequence: every command in real bash, with the shims first on its PATH."""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from simcluster.engine import SECOND
from simcluster.testing.golden import shims
from simcluster.testing.golden.cluster import RecordedWorld
from simcluster.testing.golden.compare import Comparison, compare
from simcluster.testing.golden.server import REFUSED, CommandServer, Reply, call_of
from simcluster.testing.golden.transcripts import Output, Step, Transcripts

#: Real seconds that one command may take.
PATIENCE_S = 60.0
#: Real seconds without a call after which nobody else is calling: a held port-forward is let run to its end.
_IDLE_S = 2.0
#: Real seconds that a shim gets to print before the next one may.
_HEAD_START_S = 0.1
#: Simulated seconds between two attempts of an `until`.
_RETRY_S = 1.0
#: The cluster's age at the first command.
_AGE_S = 15
#: Where the recordings hide a path of the recording machine; the nodes' log files lay there too.
_HIDDEN = "<path>"
_LOG_FILE = re.compile(r"/var/log/pods/[^\s:\"]+")

SETUP: dict[str, Callable[[RecordedWorld], None]] = {
    "SETUP-metrics-server": RecordedWorld.install_metrics_server,
}


def _hide(text: str) -> str:
    return _LOG_FILE.sub(_HIDDEN, text)


class Replay:
    """One run of a sequence against one world."""

    def __init__(self, transcripts: Transcripts, world: RecordedWorld, out: Path, scratch: Path) -> None:
        self.transcripts = transcripts
        self.world = world
        self.out = out
        self.server = CommandServer(world)
        self._held: list[tuple[socket.socket, Reply]] = []
        self._scratch = scratch
        self._manifests = scratch / "manifests"
        shutil.copytree(transcripts.manifests, self._manifests)
        tools = scratch / "bin"
        tools.mkdir()
        shims.install(tools)
        self._environment = {
            "PATH": f"{tools}:{os.environ.get('PATH', '/usr/bin:/bin')}",
            "HOME": str(scratch),
            "TZ": "UTC",
            "LC_ALL": "C.UTF-8",
            shims.SOCKET_VARIABLE: str(scratch / "socket"),
        }
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(scratch / "socket"))
        self._listener.listen(16)

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()

    def step(self, step: Step) -> Output | None:
        """Run one step; None for set-up."""
        self.world.run_for(round(step.pause * SECOND))
        if step.setup:
            self._set_up(step)
            return None
        if step.until:
            self._wait(step)
        return self._run(step.command, self.out / step.stem)

    def _set_up(self, step: Step) -> None:
        if step.name == "SETUP-kill-kubelet":
            self.world.kill_kubelet(step.command.rpartition(" ")[2])
        else:
            SETUP[step.name](self.world)

    def _wait(self, step: Step) -> None:
        deadline = self.world.sim.now + round(step.limit * SECOND)
        while self._run(step.until, self._scratch / "until").code and self.world.sim.now < deadline:
            self.world.run_for(round(_RETRY_S * SECOND))

    def _run(self, command: str, base: Path) -> Output:
        hidden = str(self._scratch / "hidden")
        script = command.replace(_HIDDEN, hidden)
        paths = [base.with_name(f"{base.name}.{end}") for end in ("out", "err")]
        with paths[0].open("w") as out, paths[1].open("w") as err:
            code = self._bash(script, out, err)
        texts = [_hide(path.read_text(errors="replace").replace(hidden, _HIDDEN)) for path in paths]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text) if text or path is paths[0] else path.unlink()
        status = base.with_name(f"{base.name}.rc")
        if code:
            status.write_text(f"{code}\n")
        else:
            status.unlink(missing_ok=True)
        return Output(texts[0], texts[1], code)

    def _bash(self, script: str, out: IO[str], err: IO[str]) -> int:
        process = subprocess.Popen(
            ["bash", "-c", script],
            cwd=self._manifests,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
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


def replay(
    transcripts: Transcripts, out: Path, *, seed: int = 0, world: RecordedWorld | None = None, last: int = 0
) -> Iterator[Comparison]:
    """Run the steps in order and compare each; what was printed goes to `out/NNN_name.*`.

    Args:
        transcripts: what was recorded.
        out: folder of the outputs; made if it does not exist.
        seed: of the world.
        world: to replay against; by default a new one, 15 s old.
        last: number of the last step to run; 0 runs all.
    """
    out.mkdir(parents=True, exist_ok=True)
    if world is None:
        world = RecordedWorld(seed)
        world.run_for(_AGE_S * SECOND)
    with tempfile.TemporaryDirectory(prefix="golden-") as scratch:
        run = Replay(transcripts, world, out, Path(scratch))
        try:
            for step in transcripts.steps:
                if last and step.number > last:
                    return
                output = run.step(step)
                if output is not None:
                    verdict, diff = compare(transcripts.expected(step), output, transcripts.normalise)
                    yield Comparison(step.stem, step.command, verdict, diff)
        finally:
            run.close()
