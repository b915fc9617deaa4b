"""What an agent is handed: the session and nothing behind it."""

from __future__ import annotations

from collections.abc import Callable

from simcluster.surface.protocols import CommandResult, Session, Shell

#: Called after every command: tool, its text, its result.
Watcher = Callable[[str, str, CommandResult], None]


class HandedShell:
    """A node's shell."""

    def __init__(self, shell: Shell, name: str, watcher: Watcher | None) -> None:
        self._shell = shell
        self._name = name
        self._watcher = watcher

    def sh(self, command: str) -> CommandResult:
        """Run one command line on the node."""
        result = self._shell.sh(command)
        if self._watcher is not None:
            self._watcher(f"ssh {self._name}", command, result)
        return result


class HandedSession:
    """The session of an episode, without the episode: no task, no world, no grade.

    Args:
        session: the episode.
        watcher: is told of every command, for live views.
    """

    def __init__(self, session: Session, watcher: Watcher | None = None) -> None:
        self._session = session
        self._watcher = watcher

    @property
    def alert(self) -> str:
        """The page, as text."""
        return self._session.alert

    def kubectl(self, command: str, stdin: str = "") -> CommandResult:
        """Run `kubectl COMMAND`."""
        result = self._session.kubectl(command, stdin)
        self._tell("kubectl", command, result)
        return result

    def node(self, name: str) -> HandedShell:
        """A root shell on a node."""
        return HandedShell(self._session.node(name), name, self._watcher)

    def wait(self, duration: str) -> None:
        """Let simulated time pass."""
        self._session.wait(duration)
        self._tell("wait", duration, CommandResult(""))

    def diagnose(self, answer: str | dict[str, object]) -> None:
        """Submit the diagnosis."""
        self._session.diagnose(answer)
        self._tell("diagnose", str(answer), CommandResult(""))

    def _tell(self, tool: str, text: str, result: CommandResult) -> None:
        if self._watcher is not None:
            self._watcher(tool, text, result)
