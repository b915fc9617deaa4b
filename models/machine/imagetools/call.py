"""How a command of a container's image is called and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from simcluster.models.machine.container import Container
from simcluster.models.machine.shell.files import FileError, normalize
from simcluster.models.machine.shell.tree import FileTree

#: A delay longer than any episode: `sleep infinity`, a server that never answers.
FOREVER_NS = 1 << 62


class Outcome(NamedTuple):
    """What a command did.

    Attributes:
        stdout, stderr: text, with its newlines.
        code: exit status.
        delay_ns: how long it took; what it printed appears at its end.
        cores: CPU cores it kept busy meanwhile, if the container may use so many.
        memory_bytes: working set it reached, 0 if it is small.
        port: where it listens until a client comes (0: nowhere); reply: what the client gets.
        stays: whether it listens on after that.
    """

    stdout: str = ""
    stderr: str = ""
    code: int = 0
    delay_ns: int = 0
    cores: float = 0.0
    memory_bytes: int = 0
    port: int = 0
    reply: str = ""
    stays: bool = False


@dataclass
class ToolCall:
    """One call of a command.

    Attributes:
        container: where it runs.
        argv: name and arguments.
        env: exported variables.
        stdin: what it can read.
        cwd: working directory.
        now_ns: the simulated instant.
    """

    container: Container
    argv: list[str]
    env: dict[str, str]
    stdin: str = ""
    cwd: str = "/"
    now_ns: int = 0
    files: FileTree = field(init=False)

    def __post_init__(self) -> None:
        self.files = FileTree(self.container)

    @property
    def name(self) -> str:
        """The command's name without its folder."""
        return self.argv[0].rpartition("/")[2]

    @property
    def arguments(self) -> list[str]:
        """Arguments that are no options."""
        return [word for word in self.argv[1:] if not word.startswith("-") or word == "-"]

    def has(self, letter: str) -> bool:
        """Whether a one-letter option is given, alone or in a cluster (`-la`)."""
        return any(word.startswith("-") and not word.startswith("--") and letter in word for word in self.argv[1:])

    def path(self, name: str) -> str:
        """Absolute form of a path argument."""
        return normalize(name, self.cwd)

    def inputs(self, names: list[str]) -> tuple[list[str], str]:
        """Texts of the named files (standard input when there is none), and the complaints."""
        if not names:
            return [self.stdin], ""
        texts, errors = [], ""
        for name in names:
            if name == "-":
                texts.append(self.stdin)
                continue
            try:
                texts.append(self.files.read(self.path(name)))
            except FileError as problem:
                said = f"can't open '{name}'" if str(problem) != "Is a directory" else "read error"
                errors += f"{self.name}: {said}: {problem}\n"
        return texts, errors


Tool = Callable[[ToolCall], Outcome]


def usage_error(call: ToolCall, message: str) -> Outcome:
    """How busybox refuses a call."""
    return Outcome(stderr=f"{call.name}: {message}\n", code=1)
