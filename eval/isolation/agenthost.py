"""From the episode's side: an agent in a process of its own works on a session that lives in this one."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from simcluster.agents.expert import ReferenceStep
from simcluster.eval.isolation.conversation import Conversation, Sink, Watcher
from simcluster.eval.isolation.ending import AGENT_ERROR, ENDPOINT, TIMEOUT, Ending, by_status
from simcluster.eval.isolation.wire import Garbled, Wire
from simcluster.surface.protocols import Session

#: An agent that has returned may finish its exit hooks for so many wall-clock seconds.
EXIT_GRACE_S = 5.0
#: A command that has to end is asked to for so many, so that it can end what runs elsewhere (a container, for one).
TERM_S = 5.0
_CHUNK = 1 << 16
_BOOT = "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "
_HOST = _BOOT + "from simcluster.eval.isolation.host import main; main(int(sys.argv.pop(1)))"
#: Exit status 77: the module, one of its parents or the class does not exist; the message is the last line printed.
_PROBE = (
    _BOOT
    + """
from importlib import import_module
module, _, name = sys.argv[1].partition(":")
try:
    found = hasattr(import_module(module), name)
    message = f"module {module!r} has no {name!r}"
except ModuleNotFoundError as missing:
    found, message = not f"{module}.".startswith(f"{missing.name}."), str(missing)
if not found:
    print(message, file=sys.stderr)
    sys.exit(77)
"""
)


class Job(NamedTuple):
    """What an agent's process is handed.

    Attributes:
        agent: a registered name or `module:Class`.
        steps: the task's reference fix, for the expert only.
        wall_s: wall-clock seconds it may work.
        memory_bytes: what each of its processes may allocate; 0 is no limit.
        command: the words of a command that is the agent; it is handed no session.
        environment: variables of the command.
        model: what `eval.chat.agent.agent_of` takes, of an agent that is a model; its endpoint alone may fail a run.
        over: asked now and then; if it gives an ending, the work has ended so, whatever the agent does.
    """

    agent: str
    steps: tuple[ReferenceStep, ...] = ()
    wall_s: float = math.inf
    memory_bytes: int = 0
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    model: Mapping[str, Any] = {}
    over: Callable[[], Ending | None] | None = None


def missing(location: str) -> str:
    """What `module:Class` lacks, as text; empty if it is there, or fails in a way that only a run can tell.

    The module is imported in a process that ends, so that what it does when imported is done to nobody.
    """
    command = [sys.executable, "-P", "-c", _PROBE, json.dumps(sys.path), location]
    try:
        probe = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, start_new_session=True, check=False
        )
    except subprocess.TimeoutExpired:
        return ""
    return probe.stderr.decode(errors="replace").strip().splitlines()[-1] if probe.returncode == 77 else ""


class AgentHost:
    """The process that forks agents; started when it is first needed, and anew when an agent has killed it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._control: Wire

    @property
    def pid(self) -> int:
        """Its process id; 0 while there is none."""
        return 0 if self._process is None or self._process.poll() is not None else self._process.pid

    def start(self) -> None:
        """Start the process, which then imports what agents need while others go on."""
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-P", "-c", _HOST, json.dumps(sys.path), str(theirs.fileno())]
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        self._control = Wire(ours)

    def close(self) -> None:
        """End the process and what it has forked."""
        if self._process is not None:
            self._control.socket.close()
            self._process.wait()
            self._process = None

    def run(self, job: Job, session: Session, sink: Sink, watcher: Watcher | None = None) -> Ending:
        """Let an agent work on a session until it ends or has used up its wall-clock time.

        Args:
            sink: is given what the agent prints.
            watcher: is told of every command.

        Returns:
            How it ended. When this returns, no process of the agent's is left.

        Raises:
            Exception: what the session raises and no session should: a mistake of ours.
        """
        ours, theirs = socket.socketpair()
        read, write = os.pipe()
        with ours, contextlib.ExitStack() as stack:
            stack.callback(os.close, read)
            with theirs:
                pid = self._spawn(job, session.alert, (theirs.fileno(), write))
            grace_s = 0.0
            try:
                ending = Conversation(Wire(ours), session, watcher, read, sink).hold(job.wall_s, job.over)
                if ending is None or ending.by_itself:
                    grace_s = EXIT_GRACE_S
            except Garbled as problem:
                ending = Ending(AGENT_ERROR, f"the agent wrote to its session what is no message: {problem}")
            finally:
                status = self._end(pid, grace_s, TERM_S if job.command else 0.0)
            _drain(read, sink)
        if ending is not None and ending.outcome == ENDPOINT and not job.model:
            return Ending(AGENT_ERROR, f"it has no endpoint that could fail: {ending.error}")
        if ending is not None and ending.outcome == TIMEOUT and job.model:  # all of its time went by at the endpoint
            return Ending(ENDPOINT, f"timeout: the endpoint took longer than {job.wall_s:g} s for the run")
        return ending if ending is not None else by_status(status)

    def _spawn(self, job: Job, alert: str, descriptors: Sequence[int]) -> int:
        """Process id of a new agent; `descriptors` are its session and its output, the second is closed here."""
        if not self.pid:
            self.start()
        try:
            steps = [step._asdict() for step in job.steps]
            wanted = {"agent": job.agent, "steps": steps, "alert": alert, "memory_bytes": job.memory_bytes}
            wanted |= {"command": job.command, "environment": dict(job.environment), "model": dict(job.model)}
            self._control.send({"spawn": wanted})
            self._control.receive()
            socket.send_fds(self._control.socket, [b"!"], list(descriptors))
            pid: int = self._control.receive()["pid"]
        finally:
            os.close(descriptors[1])
        return pid

    def _end(self, pid: int, grace_s: float, term_s: float) -> int | None:
        """Kill what is left of a run; the wait status if the agent had ended by itself."""
        try:
            self._control.send({"end": grace_s, "term": term_s})
            status: int | None = self._control.receive()["status"]
        except (OSError, EOFError):  # it has killed its parent
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
            self.close()
            return None
        return status


def _drain(descriptor: int, sink: Sink) -> None:
    """Take what is still in the pipe."""
    os.set_blocking(descriptor, False)
    with contextlib.suppress(BlockingIOError):
        while data := os.read(descriptor, _CHUNK):
            sink(data)
