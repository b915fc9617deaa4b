"""The session as an agent's process holds it: every call is a message to the episode, which lives elsewhere."""

from __future__ import annotations

import os
import threading
from typing import Any

from simcluster.eval.isolation.wire import Wire
from simcluster.surface.protocols import BudgetExceeded, Outcome

#: What a session may raise, by the name on the wire.
EXCEPTIONS: dict[str, type[Exception]] = {"BudgetExceeded": BudgetExceeded, "ValueError": ValueError}


class RemoteShell:
    """A node's shell."""

    def __init__(self, session: RemoteSession, name: str) -> None:
        self._session = session
        self._name = name

    def sh(self, command: str) -> Outcome:
        """Run one command line on the node."""
        return Outcome(*self._session._call("node", self._name, command))


class RemoteSession:
    """Implements `surface.protocols.Session`. Threads may share it; a forked child may not use it.

    Args:
        wire: to the episode.
        alert: the page, as text.
    """

    def __init__(self, wire: Wire, alert: str) -> None:
        self._wire = wire
        self._alert = alert
        self._owner = os.getpid()
        self._lock = threading.Lock()

    @property
    def alert(self) -> str:
        """The page, as text."""
        return self._alert

    def kubectl(self, command: str, stdin: str = "") -> Outcome:
        """Run `kubectl COMMAND`."""
        return Outcome(*self._call("kubectl", command, stdin))

    def sh(self, command: str, stdin: str = "") -> Outcome:
        """Run a command line at the operator's desk."""
        return Outcome(*self._call("sh", command, stdin))

    def node(self, name: str) -> RemoteShell:
        """A root shell on a node."""
        return RemoteShell(self, name)

    def wait(self, duration: str) -> None:
        """Let simulated time pass."""
        self._call("wait", duration)

    def think(self, duration: str) -> None:
        """Let simulated time pass that no command is charged with."""
        self._call("think", duration)

    def diagnose(self, answer: str | dict[str, object]) -> None:
        """Submit the diagnosis."""
        if not isinstance(answer, (str, dict)):
            raise ValueError(f"a diagnosis is a text or a dictionary, not {type(answer).__name__}")
        try:
            self._call("diagnose", answer)
        except (TypeError, RecursionError) as problem:
            raise ValueError(f"a diagnosis has to be JSON: {problem}") from None

    def _call(self, name: str, *arguments: Any) -> Any:
        if name != "diagnose" and not all(isinstance(argument, str) for argument in arguments):
            raise TypeError(f"{name} takes texts, not {', '.join(type(each).__name__ for each in arguments)}")
        if os.getpid() != self._owner:
            raise RuntimeError("the session belongs to the process that was handed it, not to a forked child")
        with self._lock:
            self._wire.send({"call": name, "arguments": arguments})
            answer = self._wire.receive()
        if "raise" in answer:
            raise EXCEPTIONS[answer["raise"]](answer["text"])
        return answer["value"]
