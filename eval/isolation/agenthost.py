"""From the episode's side: an agent in a process of its own works on a session that lives in this one.

Whatever the agent's process does, it can only send requests, which are answered one after the other. How it ended
is told by its own words where they can be true, else by what the kernel says of its process.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from simcluster.agents.expert import ReferenceStep
from simcluster.eval.isolation.host import DISCONNECTED
from simcluster.eval.isolation.wire import Garbled, Wire
from simcluster.surface.protocols import BudgetExceeded, CommandResult, Session

#: How a run ended. `done`: the agent returned. `budget`: the episode's was used up. `agent_error`: an exception left
#: the agent, or it could not be made. `exited`: its process ended by itself. `killed`: by a signal. `timeout`: the
#: wall-clock limit. `error`: a mistake of ours; the only one without a grade.
DONE, BUDGET, AGENT_ERROR, EXITED, KILLED, TIMEOUT, HARNESS_ERROR = (
    "done", "budget", "agent_error", "exited", "killed", "timeout", "error",
)  # fmt: skip

#: Called after every command: tool, its text, its result.
Watcher = Callable[[str, str, CommandResult], None]
#: Called with what an agent prints.
Sink = Callable[[bytes], object]

#: An agent that has returned may finish its exit hooks for so many wall-clock seconds.
EXIT_GRACE_S = 5.0
#: Characters of an agent's error text that are kept.
ERROR_MAX = 20_000
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


class Ending(NamedTuple):
    """How a run ended: one of the outcomes above, and an explanation where it is not `done`."""

    outcome: str
    error: str = ""


class Job(NamedTuple):
    """What an agent's process is handed.

    Attributes:
        agent: a registered name or `module:Class`.
        steps: the task's reference fix, for the expert only.
        wall_s: wall-clock seconds it may work.
        memory_bytes: what each of its processes may allocate; 0 is no limit.
    """

    agent: str
    steps: tuple[ReferenceStep, ...] = ()
    wall_s: float = math.inf
    memory_bytes: int = 0


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
                ending = _Conversation(Wire(ours), session, watcher, read, sink).hold(job.wall_s)
                if ending is None or ending.outcome != TIMEOUT:
                    grace_s = EXIT_GRACE_S
            except Garbled as problem:
                ending = Ending(AGENT_ERROR, f"the agent wrote to its session what is no message: {problem}")
            finally:
                status = self._end(pid, grace_s)
            _drain(read, sink)
        return ending if ending is not None else _by_status(status)

    def _spawn(self, job: Job, alert: str, descriptors: Sequence[int]) -> int:
        """Process id of a new agent; `descriptors` are its session and its output, the second is closed here."""
        if not self.pid:
            self.start()
        try:
            steps = [step._asdict() for step in job.steps]
            wanted = {"agent": job.agent, "steps": steps, "alert": alert, "memory_bytes": job.memory_bytes}
            self._control.send({"spawn": wanted})
            self._control.receive()
            socket.send_fds(self._control.socket, [b"!"], list(descriptors))
            pid: int = self._control.receive()["pid"]
        finally:
            os.close(descriptors[1])
        return pid

    def _end(self, pid: int, grace_s: float) -> int | None:
        """Kill what is left of a run; the wait status if the agent had ended by itself."""
        try:
            self._control.send({"end": grace_s})
            status: int | None = self._control.receive()["status"]
        except (OSError, EOFError):  # it has killed its parent
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            self.close()
            return None
        return status


def _by_status(status: int | None) -> Ending:
    """How a process ended that said nothing."""
    if status is None:
        return Ending(AGENT_ERROR, "the agent closed the connection to its session")
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return Ending(KILLED, f"the agent's process was killed by signal {-code} ({signal.strsignal(-code)})")
    if code == DISCONNECTED:
        return Ending(AGENT_ERROR, "the agent closed the connection to its session")
    return Ending(EXITED, f"the agent's process ended with exit status {code}")


def _drain(descriptor: int, sink: Sink) -> None:
    """Take what is still in the pipe."""
    os.set_blocking(descriptor, False)
    with contextlib.suppress(BlockingIOError):
        while data := os.read(descriptor, _CHUNK):
            sink(data)


class _Conversation:
    """Requests of one agent, one after the other, until it says that it has ended or says nothing more."""

    def __init__(self, wire: Wire, session: Session, watcher: Watcher | None, output: int, sink: Sink) -> None:
        self._wire = wire
        self._session = session
        self._watcher = watcher
        self._output = output
        self._sink = sink
        self._spent = False  # the session has said that its budget is used up

    def hold(self, wall_s: float) -> Ending | None:
        """How it ended; None if the connection was closed without a word. Raises Garbled."""
        deadline_s = time.monotonic() + wall_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._wire.socket, selectors.EVENT_READ)
            selector.register(self._output, selectors.EVENT_READ)
            while (left_s := deadline_s - time.monotonic()) > 0:
                patience_s = None if left_s == math.inf else left_s
                message = self._wire.take()
                if message is not None and "end" in message:
                    return self._ended(message)
                answer = None if message is None else self._answer(message)
                self._wire.socket.settimeout(patience_s)
                try:
                    if answer is not None:
                        self._wire.send(answer)
                    else:
                        self._listen(selector, patience_s)
                except TimeoutError:
                    break
                except (EOFError, OSError):
                    return None
        return Ending(TIMEOUT, f"the agent worked longer than {wall_s:g} s of wall-clock time")

    def _listen(self, selector: selectors.BaseSelector, patience_s: float | None) -> None:
        """Wait for a request or for output."""
        for key, _ in selector.select(patience_s):
            if key.fd != self._output:
                self._wire.feed()
            elif data := os.read(self._output, _CHUNK):
                self._sink(data)
            else:
                selector.unregister(self._output)

    def _ended(self, message: dict[str, Any]) -> Ending:
        outcome, error = str(message["end"]), str(message.get("error", ""))[:ERROR_MAX]
        if outcome == BUDGET and not self._spent:
            return Ending(AGENT_ERROR, f"BudgetExceeded, which the session did not raise: {error}")
        if outcome not in (DONE, BUDGET, AGENT_ERROR, EXITED):
            raise Garbled(f"it says that it ended as {outcome!r}")
        return Ending(outcome, error)

    def _answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """Do what is asked for. Raises Garbled, and what only a mistake of ours can raise."""
        try:
            return {"value": self._call(message.get("call"), message.get("arguments"))}
        except BudgetExceeded as reached:
            self._spent = True
            return {"raise": "BudgetExceeded", "text": str(reached)}
        except ValueError as wrong:
            return {"raise": "ValueError", "text": str(wrong)}

    def _call(self, name: Any, arguments: Any) -> CommandResult | None:
        result = CommandResult("")
        match name, arguments:
            case "kubectl", [str() as text, str() as stdin]:
                tool, result = "kubectl", self._session.kubectl(text, stdin)
            case "node", [str() as node, str() as text]:
                tool, result = f"ssh {node}", self._session.node(node).sh(text)
            case "wait", [str() as text]:
                tool = "wait"
                self._session.wait(text)
            case "diagnose", [str() | dict() as answer]:
                tool, text = "diagnose", str(answer)[:ERROR_MAX]
                self._session.diagnose(answer)
            case _:
                raise Garbled(f"no call of a session: {name!r:.80}")
        if self._watcher is not None:
            self._watcher(tool, text, result)
        return result
