"""One process of a shell: its position in the program, variables, open files, loops."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, Protocol

from simcluster.engine.clock import unix_seconds
from simcluster.models.userland import patterns
from simcluster.models.userland.expand import Expander, ExpansionError
from simcluster.models.userland.lexer import Code, keyed
from simcluster.models.userland.outcome import Exhausted, Outcome
from simcluster.models.userland.paths import normalize
from simcluster.models.userland.place import Place
from simcluster.models.userland.stream import Stream

#: Where a descriptor leads: ("out", "stdout" | "stderr"), ("file", path), ("buffer", number), ("null", ""),
#: ("in", Stream).
Sink = tuple[str, Any]
NOWHERE: Sink = ("null", "")
#: Characters that the variables of one process may hold, and their elements.
MEMORY, ELEMENTS = 16_000_000, 200_000


class Frame:
    """A loop that is being run: where it continues and ends, and a `for`'s remaining words."""

    __slots__ = ("at", "continue_at", "end_at", "guard", "last", "words")

    def __init__(self, continue_at: int, end_at: int, guard: int, words: list[str] | None = None) -> None:
        self.continue_at = continue_at
        self.end_at = end_at
        self.guard = guard
        self.words = words
        self.at = 0
        self.last = 0  # status of the last round

    def copy(self) -> Frame:
        """The same loop in a process of its own."""
        made = Frame(self.continue_at, self.end_at, self.guard, self.words)
        made.at = self.at
        return made


class Return(NamedTuple):
    """Where a function, an `eval`, a sourced file or a trap returns to."""

    code: Code
    counter: int
    parameters: list[str]
    frames: int
    guard: int
    kind: str  # "function", "source", "eval" or "trap"
    status: int | None  # restored after a trap
    saved: dict[str, Any]  # what `local` hides: name -> what each of `Process.tables` held
    redirected: int  # how many redirections of compound commands were open
    name: str = ""  # of the function
    line: int = 0  # of the call


class Shell(Protocol):
    """The shell of a process."""

    place: Place

    def capture(self, parent: Process, code: Code) -> tuple[str, int, int]:
        """Output, exit status and duration of a command substitution."""

    def channel(self, parent: Process, code: Code, direction: str) -> tuple[str, int]:
        """The path of a process substitution, and how long it took."""

    @property
    def now(self) -> int:
        """The instant."""


class Process(Expander):
    """A shell, or a subshell of it.

    Attributes:
        code, counter: the program and the next instruction.
        status: exit status of the last command (`$?`).
        blocked: it does nothing until a command or a child ends.
        pending: the command that is under way, and where its output goes.
        waiting_for: children whose end it awaits; `after` says what follows.
        guard: within so many conditions it is, in which `set -e` does not act.
        until_ns: when `timeout` ends it; below zero: never.
    """

    def __init__(self, runner: Shell, pid: int, code: Code, env: dict[str, str]) -> None:
        self.runner = runner
        self.face = runner.place.face
        self.pid = pid
        self.shell_pid = pid
        self.code = code
        self.counter = 0
        self.line = 1
        self.status = 0
        self.variables = env
        self.arrays: dict[str, dict[Any, str]] = {}
        self.associative: dict[str, bool] = {}
        self.attributes: dict[str, str] = {}  # letters of `declare`: i, l, u, r
        self.references: dict[str, str] = {}  # what the names of `declare -n` stand for
        self.exported: dict[str, bool] = dict.fromkeys(env, True)
        self.parameters: list[str] = []
        self.script_name = "sh"
        self.frames: list[Frame] = []
        self.calls: list[Return] = []
        self.fds: dict[int, Sink] = {1: ("out", "stdout"), 2: ("out", "stderr")}
        self.fd_stack: list[dict[int, Sink]] = []
        self.subject = ""
        self.piped: Stream | None = None
        self.pipe_status: list[int] = []
        self.collected: list[list[int]] = []
        self.functions: dict[str, tuple[Code, int]] = {}
        self.shared: dict[str, bool] = {}  # functions that `export -f` gives to child shells
        self.jobs: dict[int, int] = {}  # number of a job -> its process
        self.written = ""  # as what it was put to the background
        self.traps: dict[str, str] = {}
        self.signals: list[str] = []
        self.options: dict[str, bool] = {}
        self.aliases: dict[str, str] = {}
        self.sinks: list[tuple[str, Code]] = []  # what reads `>(...)` once the command is over
        self.cwd = "/"
        self.umask = 0o022
        self.limits: dict[str, tuple[str, str]] = {}  # what `ulimit` set: soft and hard by letter
        self.children: list[int] = []
        self.ended: dict[int, int] = {}  # background children that have ended: their status
        self.parent = 0
        self.finished = False
        self.blocked = False
        self.guard = 0
        self.until_ns = -1
        self.tally = 0
        self.last_word = ""  # `$_`: of the command before
        self.dialled: dict[str, tuple[str, int]] = {}  # connections of the command that is expanded
        self.waited: list[int] = []  # children of which `wait -n` has told already
        self.doing = ""  # the command that is under way
        self.turns = 0  # reports of the program that is under way
        self.getopts_at = (1, 0)
        self.timed: list[int] = []
        self.waiting_for: list[int] = []
        self.after: tuple[str, int, int] = ("", 0, 0)  # kind of spawn, length of its block, child
        self.pending: tuple[Outcome, dict[int, Sink]] | None = None
        self.expanded: tuple[list[str], list[Any], list[tuple[int, str, Any]]] | None = None
        self.steps = 0  # so many instructions it has run at `stepped_ns`
        self.stepped_ns = -1
        self.spent_ns = 0  # by command substitutions of the command being expanded
        self.captured = False  # whether the command being expanded ran one

    def subshell(self, pid: int, counter: int) -> Process:
        """A copy that goes on at another place."""
        child = Process(self.runner, pid, self.code, dict(self.variables))
        child.shell_pid, child.level = self.shell_pid, self.level + 1
        child.exported = dict(self.exported)
        child.arrays = {name: dict(elements) for name, elements in self.arrays.items()}
        child.associative, child.attributes = dict(self.associative), dict(self.attributes)
        child.references = dict(self.references)
        child.counter, child.line = counter, self.line
        child.status, child.guard, child.until_ns = self.status, self.guard, self.until_ns
        child.parameters = list(self.parameters)
        child.script_name = self.script_name
        child.frames = [frame.copy() for frame in self.frames]
        child.fds = dict(self.fds)
        child.functions, child.shared = dict(self.functions), dict(self.shared)
        child.options, child.aliases = dict(self.options), dict(self.aliases)
        child.cwd, child.umask = self.cwd, self.umask
        child.limits = dict(self.limits)
        child.parent, child.last_word = self.pid, self.last_word
        child.getopts_at = self.getopts_at
        return child

    def tables(self) -> tuple[dict[str, Any], ...]:
        """All that is known of a name: what `local` hides for the time of a call."""
        return (
            self.variables,
            self.arrays,
            self.exported,
            self.associative,
            self.attributes,
            self.references,
        )

    def environment(self) -> dict[str, str]:
        """Exported variables."""
        return {name: self.variables[name] for name in self.exported if name in self.variables}

    @property
    def source(self) -> Stream | None:
        """Its standard input."""
        sink = self.fds.get(0)
        return sink[1] if sink is not None and sink[0] == "in" else None

    def variable(self, name: str) -> str | None:
        """A variable or special parameter."""
        name = self.references.get(name, name)
        if name in self.arrays:
            elements = self.arrays[name]
            return elements.get("0" if name in self.associative else 0)
        if name in self.variables:
            return self.variables[name]
        if name in ("@", "*"):
            return " ".join(self.parameters) if self.parameters else None
        if name.isdigit():
            index = int(name)
            if index == 0:
                return self.script_name
            return self.parameters[index - 1] if index <= len(self.parameters) else None
        if name == "-":
            return "".join(letter for letter in "aefhmnuvx" if self.options.get(letter)) + "hBc" * self.face.bash
        if name == "?":
            return str(self.status)
        if name == "#":
            return str(len(self.parameters))
        if name == "!":
            return str(self.children[-1]) if self.children else None
        return self._dynamic(name)

    def _dynamic(self, name: str) -> str | None:
        if name == "$":
            return str(self.shell_pid)
        if name == "RANDOM":
            return str(self.runner.place.draw() >> 49)
        if name == "PWD":
            return self.cwd
        if name == "LINENO":
            return str(self.line)
        if not self.face.bash:
            return None
        if name == "FUNCNAME":
            return next((entry.name for entry in reversed(self.calls) if entry.kind == "function"), None)
        if name in ("_", "BASH_SUBSHELL"):
            return self.last_word if name == "_" else str(self.level)
        if name == "BASH_COMMAND":
            return self.doing
        if name == "SECONDS":
            return str(max(0, self.runner.now // 1_000_000_000 - self.started_s))
        if name in ("EPOCHSECONDS", "EPOCHREALTIME"):
            whole = unix_seconds(self.runner.now)
            return f"{whole}.{self.runner.now // 1000 % 1_000_000:06d}" if name[5] == "R" else str(whole)
        fixed = {
            "BASH_VERSION": "5.2.21(1)-release",
            "IFS": " \t\n",
            "UID": str(self.runner.place.who.uid),
            "BASH": "/bin/bash",
            "HOSTNAME": self.runner.place.host,
            "EUID": str(self.runner.place.who.uid),
            "HOSTTYPE": "x86_64",
            "OSTYPE": "linux-gnu",
            "BASHPID": str(self.pid),
            "SHLVL": "1",
            "MACHTYPE": "x86_64-pc-linux-gnu",
            "PPID": str(self.shell_pid - 1),
        }
        return fixed.get(name)

    started_s = 0
    level = 0  # of subshells inside of each other

    def assign(self, name: str, value: str) -> None:
        """Set a variable. Raises ExpansionError if it is read only."""
        name = self.references.get(name, name)
        marks = self.attributes.get(name, "")
        if "r" in marks:
            raise ExpansionError(f"{name}: readonly variable" if self.face.bash else f"{name}: is read only")
        if "i" in marks:
            value = str(self.number(value))
        if "u" in marks or "l" in marks:
            value = value.upper() if "u" in marks else value.lower()
        if name in self.arrays:
            self.arrays[name]["0" if name in self.associative else 0] = value
            return
        self.variables[name] = value
        if len(value) > 100_000 and len("".join(self.variables.values())) > MEMORY:
            raise Exhausted
        if self.options.get("a"):
            self.exported[name] = True

    def assign_element(self, name: str, subscript: str, value: str, *, append: bool = False) -> None:
        """Set an element of an array."""
        name = self.references.get(name, name)
        if "r" in self.attributes.get(name, ""):
            raise ExpansionError(f"{name}: readonly variable")
        elements = self.arrays.setdefault(name, {})
        if name in self.variables:
            elements[0] = self.variables.pop(name)
        at = self.key(name, subscript)
        last = next(reversed(elements), -1)  # indexes stand in their order
        if isinstance(at, int) and at < 0:
            at += last + 1
            if at < 0:
                raise ExpansionError(f"{name}[{subscript}]: bad array subscript", deadly=False)
        elements[at] = elements.get(at, "") + value if append else value
        if len(elements) > ELEMENTS:
            raise Exhausted
        if isinstance(at, int) and isinstance(last, int) and at < last:
            self.arrays[name] = dict(sorted(elements.items()))

    def assign_array(self, name: str, words: tuple[Any, ...], *, append: bool = False) -> None:
        """`NAME=(WORDS)`."""
        name = self.references.get(name, name)
        if "r" in self.attributes.get(name, ""):
            raise ExpansionError(f"{name}: readonly variable")
        found: list[tuple[str | None, str]] = []  # all words are expanded before anything changes
        for word in words:
            pair = keyed(word)
            if pair is not None:
                found.append((self.text(pair[0]), self.text(pair[1])))
            else:
                found += [(None, value) for value in self.fields((word,))]
        if name in self.associative and any(key is None for key, _ in found):
            values = [value for _, value in found]
            found = [(values[at], (values[at + 1 :] or [""])[0]) for at in range(0, len(values), 2)]
        first = self.variables.pop(name, None)
        self.arrays[name] = self.arrays.get(name, {} if first is None else {0: first}) if append else {}
        if name in self.associative or any(key is not None for key, _ in found):
            place = next(reversed(self.arrays[name]), -1) if name not in self.associative else -1
            for key, value in found:  # who has no index comes after the one before
                self.assign_element(name, str(place + 1) if key is None else key, value)
                if name not in self.associative:
                    place = place + 1 if key is None else int(self.key(name, key))
            return
        elements = self.arrays[name]
        if len(elements) + len(found) > ELEMENTS:
            raise Exhausted
        begin = next(reversed(elements), -1) + 1
        elements.update({begin + place: value for place, (_, value) in enumerate(found)})

    def elements(self, name: str) -> dict[Any, str] | None:
        """The elements of an array."""
        if name == "PIPESTATUS":
            return dict(enumerate(map(str, self.pipe_status or [self.status])))
        if name == "FUNCNAME":
            return dict(enumerate(entry.name for entry in reversed(self.calls) if entry.kind == "function"))
        if name == "BASH_VERSINFO" and self.face.bash:
            return dict(enumerate(("5", "2", "21", "1", "release", "x86_64-pc-linux-gnu")))
        return self.arrays.get(self.references.get(name, name))

    def number(self, text: str) -> int:
        """Value of an arithmetic expression; to read a long one takes its time. Raises ExpansionError."""
        self.steps += len(text) // 50
        return super().number(text)

    def key(self, name: str, subscript: str) -> Any:
        """The index that a subscript means."""
        return subscript if self.references.get(name, name) in self.associative else self.number(subscript)

    def names_with(self, prefix: str) -> list[str]:
        """Names of variables that begin so."""
        return sorted(name for name in (*self.variables, *self.arrays) if name.startswith(prefix))

    def number_text(self, name: str, subscript: str | None) -> str:
        """Text of a variable for arithmetic, where it is an expression: to read a long one takes its time."""
        if subscript is None:
            value = self.variable(name)
            self.steps += len(value or "") // 10
            if value is None and self.options.get("u"):
                raise ExpansionError(f"{name}: " + ("unbound variable" if self.face.bash else "parameter not set"))
            return value or ""
        return self._value(name, (("lit", subscript, True),)) or ""

    def set_number(self, name: str, subscript: str | None, value: int) -> None:
        """Assign in arithmetic."""
        if subscript is None:
            self.assign(name, str(value))
        else:
            self.assign_element(name, subscript, str(value))

    def capture(self, code: Code) -> str:
        """Output of a command substitution; its duration is charged to the command."""
        text, self.status, spent_ns = self.runner.capture(self, code)
        self.spent_ns += spent_ns
        self.captured = True
        return text.rstrip("\n").replace("\0", "")

    def channel(self, code: Code, direction: str) -> str:
        """A process substitution."""
        path, spent_ns = self.runner.channel(self, code, direction)
        if direction == ">":
            self.sinks.append((path, code))
        self.spent_ns += spent_ns
        return path

    def paths(self, pattern: str) -> list[str]:
        """Paths for a glob."""
        return patterns.paths(pattern, self.cwd, self.runner.place.files, self.options)

    def path(self, name: str) -> str:
        """Absolute path of a name."""
        return normalize(name, self.cwd)


def is_name(text: str) -> bool:
    """Whether the text can name a variable."""
    return re.fullmatch(r"[A-Za-z_]\w*", text, re.ASCII) is not None
