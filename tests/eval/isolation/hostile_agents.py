"""Agents that do what agents must not do. Each says in `ends` how its run is to be recorded: outcome, words."""

from __future__ import annotations

import atexit
import builtins
import ctypes
import gc
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from simcluster.surface.protocols import BudgetExceeded, Session

#: The folder in which the tests were begun, and where agents leave process ids.
HOME, PIDS = Path(os.environ["HOSTILE_HOME"]), Path(os.environ["HOSTILE_PIDS"])
ORIGINALS = (json.dumps, json.loads, pickle.loads, builtins.len, os.fork)


class Agent:
    """Looks whether it begins as the first agent of all did, gives one command, and misbehaves."""

    name = "hostile"
    ends: tuple[str, str] = ("done", "")
    commands = 2
    prints = ""

    def run(self, session: Session) -> None:
        assert Path.cwd() == HOME, Path.cwd()
        umask = os.umask(0o22)
        assert umask == 0o22, oct(umask)
        assert "HOSTILE_HOME" in os.environ
        assert (json.dumps, json.loads, pickle.loads, builtins.len, os.fork) == ORIGINALS
        assert threading.active_count() == 1
        assert os.getpid() == os.getsid(0)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        assert sys.stdout is sys.__stdout__
        assert session.kubectl("get nodes").exit_code == 0
        self.misbehave(session)
        assert session.kubectl("version").exit_code == 0

    def misbehave(self, session: Session) -> None:
        pass


class Good(Agent):
    pass


class Fork(Agent):
    """Its child gives commands and returns from the run before it does."""

    def misbehave(self, session: Session) -> None:
        child = os.fork()
        if child == 0:
            try:
                session.kubectl("delete ns kiosk")
            finally:
                return  # noqa: B012
        os.waitpid(child, 0)


class Daemon(Agent):
    """Leaves a process that has a session of its own and no parent."""

    def misbehave(self, session: Session) -> None:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                (PIDS / "daemon").write_text(str(os.getpid()))
                while True:
                    signal.pause()
            os._exit(0)
        while not (PIDS / "daemon").exists():
            time.sleep(0.01)


class Children(Agent):
    """Leaves many."""

    def misbehave(self, session: Session) -> None:
        started = [subprocess.Popen(["sleep", "600"], start_new_session=True) for _ in range(20)]
        (PIDS / "children").write_text("\n".join(str(child.pid) for child in started))


class Chdir(Agent):
    def misbehave(self, session: Session) -> None:
        os.chdir("/")


class Print(Agent):
    prints = "} this is no JSON\n"

    def misbehave(self, session: Session) -> None:
        print("} this is no JSON")


class PrintMuch(Agent):
    prints = "x" * 2**20 + "\n[the rest was dropped]\n"

    def misbehave(self, session: Session) -> None:
        sys.stdout.write("x" * 3 * 2**20)


class PrintToDescriptors(Agent):
    prints = "onetwo"

    def misbehave(self, session: Session) -> None:
        os.write(1, b"one")
        os.write(2, b"two")


class Exit(Agent):
    ends, commands = ("exited", "status 3"), 1

    def misbehave(self, session: Session) -> None:
        sys.exit(3)


class HardExit(Agent):
    ends, commands = ("exited", "status 7"), 1

    def misbehave(self, session: Session) -> None:
        os._exit(7)


class Interrupt(Agent):
    ends, commands = ("agent_error", "KeyboardInterrupt"), 1

    def misbehave(self, session: Session) -> None:
        raise KeyboardInterrupt


class InterruptItself(Agent):
    ends, commands = ("agent_error", "KeyboardInterrupt"), 1

    def misbehave(self, session: Session) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)


class KillItself(Agent):
    ends, commands = ("killed", "signal 9"), 1

    def misbehave(self, session: Session) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class Terminate(Agent):
    ends, commands = ("killed", "signal 15"), 1

    def misbehave(self, session: Session) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(1)


class KillGroup(Agent):
    ends, commands = ("killed", "signal 9"), 1

    def misbehave(self, session: Session) -> None:
        os.killpg(0, signal.SIGKILL)


class KillParent(Agent):
    """Before that it leaves a process which the parent was to bury."""

    def misbehave(self, session: Session) -> None:
        (PIDS / "orphan").write_text(str(subprocess.Popen(["sleep", "600"], start_new_session=True).pid))
        os.kill(os.getppid(), signal.SIGTERM)
        os.kill(os.getppid(), signal.SIGKILL)


class KillWorker(Agent):
    ends = ("killed", "status -9")
    commands = 0

    def misbehave(self, session: Session) -> None:
        fields = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()
        os.kill(int(fields[1]), signal.SIGKILL)
        time.sleep(60)


class CloseDescriptors(Agent):
    ends, commands = ("agent_error", "closed the connection"), 1

    def misbehave(self, session: Session) -> None:
        os.closerange(0, 1000)


class CloseAndStay(Agent):
    ends, commands = ("agent_error", "closed the connection"), 1

    def misbehave(self, session: Session) -> None:
        os.closerange(0, 1000)
        while True:
            time.sleep(1)


class Threads(Agent):
    def misbehave(self, session: Session) -> None:
        for _ in range(20):
            threading.Thread(target=time.sleep, args=(600,)).start()


class Allocate(Agent):
    ends, commands = ("agent_error", "MemoryError"), 1

    def misbehave(self, session: Session) -> None:
        kept = []
        while True:
            kept.append(bytearray(2**26))


class Recurse(Agent):
    ends, commands = ("agent_error", "RecursionError"), 1

    def misbehave(self, session: Session) -> None:
        self.misbehave(session)


class Crash(Agent):
    ends, commands = ("killed", "signal 11"), 1

    def misbehave(self, session: Session) -> None:
        ctypes.string_at(0)


class PatchOurs(Agent):
    """Patches what grades, and looks for an incident in its memory."""

    commands = 3

    def misbehave(self, session: Session) -> None:
        from simcluster.eval.episode import episode  # noqa: PLC0415
        from simcluster.eval.judge import judge  # noqa: PLC0415

        episode.judge = judge.judge = lambda *_: True  # type: ignore[attr-defined,assignment]
        episode.Episode.finish = lambda *_: None  # type: ignore[method-assign,assignment]
        assert not [found for found in gc.get_objects() if isinstance(found, episode.Episode)]
        session.diagnose({"component": "all of them"})


class PatchJson(Agent):
    ends, commands = ("agent_error", "what is no message"), 1

    def misbehave(self, session: Session) -> None:
        json.dumps = lambda *_, **__: "nothing"  # type: ignore[assignment]
        pickle.loads = lambda *_, **__: None  # type: ignore[assignment]


class PatchBuiltins(Agent):
    ends, commands = ("agent_error", ""), 1

    def misbehave(self, session: Session) -> None:
        builtins.len = lambda _: 0  # type: ignore[assignment]
        os._exit = os.fork = lambda *_: 0  # type: ignore[assignment]


class Garbage(Agent):
    ends, commands = ("agent_error", "what is no message"), 1

    def misbehave(self, session: Session) -> None:
        shout(b"\xff" * 1000)


class Forge(Agent):
    """Sends a record of its own making, passed and all."""

    ends, commands = ("agent_error", "what is no message"), 1

    def misbehave(self, session: Session) -> None:
        record = json.dumps({"task": "t", "agent": "a", "seed": 0, "passed": True, "outcome": "done"}).encode()
        shout(len(record).to_bytes(4, "big") + record)


class ForgeDeep(Agent):
    ends, commands = ("agent_error", "what is no message"), 1

    def misbehave(self, session: Session) -> None:
        shout((200_000).to_bytes(4, "big") + b"[" * 200_000)


class ForgeBudget(Agent):
    ends, commands = ("agent_error", "did not raise"), 1

    def misbehave(self, session: Session) -> None:
        raise BudgetExceeded("all used up")


class Surroundings(Agent):
    def misbehave(self, session: Session) -> None:
        os.umask(0o777)
        os.environ.clear()
        os.nice(19)


class ReplaceStdout(Agent):
    def misbehave(self, session: Session) -> None:
        sys.stdout = sys.stderr = sys.__stdout__ = None  # type: ignore[assignment]


class HugeDiagnosis(Agent):
    commands = 3

    def misbehave(self, session: Session) -> None:
        session.diagnose("x" * 5_000_000)


class OddDiagnoses(Agent):
    """None of these is a diagnosis, and all say so here."""

    def misbehave(self, session: Session) -> None:
        ring: dict[str, Any] = {}
        ring["ring"] = ring
        deep: dict[str, Any] = {}
        for _ in range(100_000):
            deep = {"deep": deep}
        for odd in (ring, deep, {"set": {1}}, ["list"], None):
            try:
                session.diagnose(odd)  # type: ignore[arg-type]
            except ValueError:
                continue
            raise AssertionError("accepted")


class ExitHooks(Agent):
    prints = "goodbye\n"

    def misbehave(self, session: Session) -> None:
        atexit.register(print, "goodbye")


class EndlessExitHook(Agent):
    def misbehave(self, session: Session) -> None:
        atexit.register(time.sleep, 600)


class FailingConstructor(Agent):
    ends, commands = ("agent_error", "my own mistake"), 0

    def __init__(self) -> None:
        raise RuntimeError("my own mistake")


class Spend(Agent):
    ends, commands = ("budget", "used up"), -1

    def misbehave(self, session: Session) -> None:
        while True:
            session.wait("1h")


class Loop(Agent):
    ends, commands = ("timeout", "longer than"), 1

    def misbehave(self, session: Session) -> None:
        while True:
            pass


class IgnoreSignals(Agent):
    ends, commands = ("timeout", "longer than"), 1

    def misbehave(self, session: Session) -> None:
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN)
        while True:
            time.sleep(1)


class StopItself(Agent):
    ends, commands = ("timeout", "longer than"), 1

    def misbehave(self, session: Session) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)


class Deaf(Agent):
    """Asks for more than fits into the connection, and reads nothing of it."""

    ends, commands = ("timeout", "longer than"), -1

    def misbehave(self, session: Session) -> None:
        request = json.dumps({"call": "kubectl", "arguments": ["get pods -A -o yaml", ""]}).encode()
        while True:
            shout(len(request).to_bytes(4, "big") + request)


def shout(data: bytes) -> None:
    """Write past the session to whatever it is connected with."""
    for descriptor in range(3, 64):
        try:
            socket.socket(fileno=os.dup(descriptor)).sendall(data)
        except OSError:
            continue


#: All that end by themselves, and those that have to be ended.
ENDING = [kind for kind in Agent.__subclasses__() if kind.ends[0] != "timeout"]
ENDLESS = [kind for kind in Agent.__subclasses__() if kind.ends[0] == "timeout"]
