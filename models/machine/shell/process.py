"""One process of a shell: its position in the program, variables, open files, loops."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, Protocol

from simcluster.models.machine.imagetools.call import Outcome, ToolCall
from simcluster.models.machine.shell.expand import Expander
from simcluster.models.machine.shell.files import FileError, normalize
from simcluster.models.machine.shell.lexer import Code
from simcluster.models.machine.shell.tree import FileTree

#: Where output goes: ("out", "stdout" | "stderr"), ("file", path), ("buffer", number), ("null", "").
Sink = tuple[str, Any]


class Frame:
    """A loop that is being run: where it continues and ends, and a `for`'s remaining words."""

    __slots__ = ("continue_at", "end_at", "words")

    def __init__(self, continue_at: int, end_at: int, words: list[str] | None = None) -> None:
        self.continue_at = continue_at
        self.end_at = end_at
        self.words = words

    def copy(self) -> Frame:
        """The same loop in a process of its own."""
        return Frame(self.continue_at, self.end_at, None if self.words is None else list(self.words))


class Return(NamedTuple):
    """Where a function, an `eval`, a sourced file or a trap returns to."""

    code: Code
    counter: int
    parameters: list[str]
    frames: int
    status: int | None  # restored after a trap


class Shell(Protocol):
    """The shell of a process."""

    @property
    def files(self) -> FileTree:
        """The container's files."""

    def draw(self) -> int:
        """64 random bits for `$RANDOM`."""

    def capture(self, parent: Process, code: Code) -> tuple[str, int, int]:
        """Output, exit status and duration of a command substitution."""


class Process(Expander):
    """A shell, or a subshell of it.

    Attributes:
        code, counter: the program and the next instruction.
        status: exit status of the last command (`$?`).
        blocked: it does nothing until a command or a child ends.
        pending: the command that is under way, and where its output goes.
        waiting_for: children whose end it awaits; `after` says what follows.
    """

    def __init__(self, runner: Shell, pid: int, code: Code, env: dict[str, str]) -> None:
        self.runner = runner
        self.pid = pid
        self.code = code
        self.counter = 0
        self.status = 0
        self.variables = env
        self.exported: dict[str, bool] = dict.fromkeys(env, True)
        self.parameters: list[str] = []
        self.script_name = "sh"
        self.frames: list[Frame] = []
        self.calls: list[Return] = []
        self.sinks: dict[int, Sink] = {1: ("out", "stdout"), 2: ("out", "stderr")}
        self.sink_stack: list[tuple[dict[int, Sink], str | None]] = []
        self.stdin = ""
        self.subject = ""
        self.piped = ""
        self.functions: dict[str, tuple[Code, int]] = {}
        self.traps: dict[str, str] = {}
        self.signals: list[str] = []
        self.options: dict[str, bool] = {}
        self.cwd = "/"
        self.children: list[int] = []
        self.parent = 0
        self.finished = False
        self.blocked = False
        self.waiting_for: list[int] = []
        self.after: tuple[str, int, int] = ("", 0, 0)  # kind of spawn, length of its block, buffer
        self.pending: tuple[Outcome, dict[int, Sink]] | None = None
        self.expanded: tuple[list[str], list[tuple[str, str]], list[tuple[int, str, str]]] | None = None
        self.steps = 0  # so many instructions it has run at `stepped_ns`
        self.stepped_ns = -1
        self.spent_ns = 0  # by command substitutions of the command being expanded

    def subshell(self, pid: int, counter: int) -> Process:
        """A copy that goes on at another place."""
        child = Process(self.runner, pid, self.code, dict(self.variables))
        child.exported = dict(self.exported)
        child.counter = counter
        child.status = self.status
        child.parameters = list(self.parameters)
        child.frames = [frame.copy() for frame in self.frames]
        child.sinks = dict(self.sinks)
        child.stdin = self.piped or self.stdin
        child.functions = dict(self.functions)
        child.options = dict(self.options)
        child.cwd = self.cwd
        child.parent = self.pid
        return child

    def environment(self) -> dict[str, str]:
        """Exported variables."""
        return {name: self.variables[name] for name in self.exported if name in self.variables}

    def variable(self, name: str) -> str | None:
        """A variable or special parameter."""
        if name in ("@", "*"):
            return " ".join(self.parameters)
        if name.isdigit():
            index = int(name)
            if index == 0:
                return self.script_name
            return self.parameters[index - 1] if index <= len(self.parameters) else None
        special = {"?": str(self.status), "#": str(len(self.parameters)), "$": "1", "-": ""}
        if name in special:
            return special[name]
        if name == "!":
            return str(self.children[-1]) if self.children else None
        if name == "RANDOM":
            return str(self.runner.draw() >> 49)
        if name == "PWD":
            return self.cwd
        return self.variables.get(name)

    def assign(self, name: str, value: str) -> None:
        """Set a variable."""
        self.variables[name] = value

    def capture(self, code: Code) -> str:
        """Output of a command substitution, run at once; its duration is charged to the command."""
        text, self.status, spent_ns = self.runner.capture(self, code)
        self.spent_ns += spent_ns
        return text.rstrip("\n")

    def paths(self, pattern: str) -> list[str]:
        """Paths for a glob."""
        return self.runner.files.glob(pattern, self.cwd)

    def path(self, name: str) -> str:
        """Absolute path of a name."""
        return normalize(name, self.cwd)

    def read_line(self) -> str | None:
        """Take one line off standard input; None at its end."""
        if not self.stdin:
            return None
        line, _, self.stdin = self.stdin.partition("\n")
        return line


def is_name(text: str) -> bool:
    """Whether the text can name a variable."""
    return re.fullmatch(r"[A-Za-z_]\w*", text, re.ASCII) is not None


def shell_arguments(call: ToolCall) -> tuple[str | None, str, list[str]]:
    """Script text, `$0` and parameters of `sh [-eux] -c TEXT [NAME ARG...]` or `sh FILE ARG...`."""
    words, prelude = list(call.argv[1:]), ""
    while words and words[0].startswith("-") and len(words[0]) > 1:
        flags = words.pop(0).lstrip("-")
        prelude += "".join(f"set -{letter}; " for letter in flags if letter in "eux" and not flags.startswith("no"))
        if "c" in flags and not flags.startswith("no"):
            text = words.pop(0) if words else ""
            return prelude + text, (words[0] if words else call.name), words[1:]
    if not words:
        return prelude + call.stdin, call.name, []
    try:
        return prelude + call.files.read(call.path(words[0])), words[0], words[1:]
    except FileError:
        return f"echo \"{call.name}: can't open '{words[0]}': No such file or directory\" >&2; exit 2", call.name, []
