"""The process that forks agents, one a run, and buries all that an agent leaves behind.

It has imported what agents need and has never seen a world, so that every agent starts from the same clean state
and holds nothing of an incident in its memory. It lives as long as the one who started it: when the control
connection closes it kills what runs and ends.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import resource
import signal
import socket
import sys
import time
import traceback
from typing import Any, NoReturn

from simcluster.agents import registry
from simcluster.agents.expert import ReferenceStep
from simcluster.eval.chat.agent import agent_of
from simcluster.eval.chat.endpoint import EndpointError
from simcluster.eval.isolation.linux import adopt_orphans, kill_descendants
from simcluster.eval.isolation.program import CannotStart, run_program
from simcluster.eval.isolation.session import RemoteSession
from simcluster.eval.isolation.wire import Wire
from simcluster.surface.protocols import BudgetExceeded

#: Exit status of an agent's process whose connection to the session is gone.
DISCONNECTED = 74  # EX_IOERR of sysexits.h
#: How often it is looked whether an agent has ended by itself, wall-clock seconds.
_LOOK_S = 0.002


def main(descriptor: int) -> None:
    """Serve the control connection until it closes.

    Args:
        descriptor: of a Unix stream socket.
    """
    adopt_orphans()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends when its connection does, and not before its agents
    control = Wire(socket.socket(fileno=descriptor))
    pid = 0
    with contextlib.suppress(EOFError, OSError):
        while True:
            message = control.receive()
            if "spawn" in message:
                pid = _spawn(control, message["spawn"])
                control.send({"pid": pid})
            else:
                pid, ended = 0, pid
                control.send({"status": _bury(ended, message["end"], message["term"])})
    _bury(pid, 0.0, 0.0)


def _spawn(control: Wire, job: dict[str, Any]) -> int:
    """Fork an agent's process. The descriptors of its session and its output follow when they are asked for."""
    control.send({"ready": True})
    _, (session, output), _, _ = socket.recv_fds(control.socket, 1, 2)
    pid = os.fork()
    if pid == 0:
        try:
            control.socket.close()
            _become_agent(job, session, output)
        finally:
            os._exit(DISCONNECTED)
    os.close(session)
    os.close(output)
    return pid


def _bury(pid: int, grace_s: float, term_s: float) -> int | None:
    """End an agent and everything it has started.

    Args:
        grace_s: it may end by itself within so many wall-clock seconds.
        term_s: then it is asked to, by SIGTERM, and may take so many.

    Returns:
        Its wait status; None if it had to be ended.
    """
    if not pid:
        kill_descendants()
        return None
    status = _ended(pid, grace_s)
    if status is None:
        if term_s:
            _signal(pid, signal.SIGTERM)
            _ended(pid, term_s)
        _signal(pid, signal.SIGKILL)
    kill_descendants()
    return status


def _ended(pid: int, within_s: float) -> int | None:
    """The wait status of a child that ends within so many wall-clock seconds."""
    deadline_s = time.monotonic() + within_s
    while time.monotonic() < deadline_s:
        ended, found = os.waitpid(pid, os.WNOHANG)
        if ended:
            return found
        time.sleep(_LOOK_S)
    return None


def _signal(pid: int, number: int) -> None:
    """To an agent and its group; it may have had no time to lead one, and what is another user's is not ours to end."""
    for send in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            send(pid, number)


def _become_agent(job: dict[str, Any], session: int, output: int) -> NoReturn:
    """Everything that happens in an agent's process."""
    owner = os.getpid()
    wire = _settle(job["memory_bytes"], session, output)
    # Names of its own: what an agent patches is not what tells how it ended.
    outcome, trace, send, leave = "done", traceback.format_exc, wire.send, os._exit
    error, status = "", 0
    try:
        if job["command"]:
            run_program(job["command"], job["environment"])
        elif job["model"]:
            agent_of(**job["model"]).run(RemoteSession(wire, job["alert"]))
        else:
            agent = registry.create(job["agent"], [ReferenceStep(**step) for step in job["steps"]])
            agent.run(RemoteSession(wire, job["alert"]))
    except BudgetExceeded as reached:
        outcome, error = "budget", str(reached)
    except EndpointError as problem:
        outcome, error = "endpoint", str(problem)
    except CannotStart as problem:
        outcome, error = "agent_error", str(problem)
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
        outcome, error = "exited", f"the agent left with exit status {status & 0xFF}"
    except BaseException:
        outcome, error = "agent_error", trace(limit=-8)
    if os.getpid() != owner:
        leave(0)  # a child that the agent forked has come back from its run
    send({"end": outcome, "error": error})
    atexit._run_exitfuncs()
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    leave(status & 0xFF)


def _settle(memory_bytes: int, session: int, output: int) -> Wire:
    """A session of its own, output to the run, default signals, limits, no other descriptor."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    atexit._clear()
    for standard in (1, 2):
        os.dup2(output, standard)
    os.closerange(3, session)
    os.closerange(session + 1, os.sysconf("SC_OPEN_MAX"))
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_bytes:
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    return Wire(socket.socket(fileno=session))
