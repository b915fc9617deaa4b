"""How a command of a container's image is called and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from simcluster.models.machine.container import Container
from simcluster.models.machine.shell.files import FileError, normalize
from simcluster.models.machine.shell.tree import FileTree
from simcluster.models.userland.outcome import FOREVER_NS, Outcome

__all__ = ["FOREVER_NS", "Outcome", "Tool", "ToolCall", "usage_error"]


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
    files: Any = field(init=False)  # a `shell.tree.FileTree`, or the `userland.paths.Files` of whoever calls

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


#: None: it leaves this form to the common tool of the same name.
Tool = Callable[[ToolCall], Outcome | None]


def usage_error(call: ToolCall, message: str) -> Outcome:
    """How busybox refuses a call."""
    return Outcome(stderr=f"{call.name}: {message}\n", code=1)
