"""What lasts at a terminal from line to line: the working directory, variables, functions, background jobs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simcluster.models.userland.process import Process

#: Variables that the shell sets anew by itself.
_OWN = ("_", "RANDOM", "SECONDS", "LINENO", "PIPESTATUS", "REPLY", "BASHPID")


@dataclass
class Forward:
    """`kubectl port-forward` or `kubectl proxy` (without a pod) that listens on a local port of the desk.

    Attributes:
        port: local port; remote: that of the pod.
        line: number of the command line that started it; pid: of its process there.
        job: its PID from then on, once that line has ended.
    """

    port: int
    namespace: str
    pod: str
    remote: int
    line: int
    pid: int
    job: int = 0


@dataclass
class Terminal:
    """One terminal. Everything in it is plain, so that it goes along with a copy of the desk."""

    home: str
    cwd: str = ""
    variables: dict[str, str] = field(default_factory=dict)
    exported: dict[str, bool] = field(default_factory=dict)
    arrays: dict[str, dict[Any, str]] = field(default_factory=dict)
    associative: dict[str, bool] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    functions: dict[str, Any] = field(default_factory=dict)
    references: dict[str, str] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    status: int = 0
    lines: int = 0
    forwards: list[Forward] = field(default_factory=list)
    shell: Process | None = None  # of the line that is under way

    def begin(self, process: Process) -> None:
        """A line begins: its shell goes on where the one before ended."""
        self.lines += 1
        self.shell = process
        process.cwd = self.cwd or self.home
        process.variables.update(self.variables)
        process.exported.update(self.exported)
        process.arrays = {name: dict(values) for name, values in self.arrays.items()}
        process.associative = dict(self.associative)
        process.attributes = dict(self.attributes)
        process.functions = dict(self.functions)
        process.references, process.aliases = dict(self.references), dict(self.aliases)
        process.status = self.status

    def end(self, process: Process) -> None:
        """The line is over."""
        self.cwd, self.status = process.cwd, process.status
        self.variables = {name: text for name, text in process.variables.items() if name not in _OWN}
        self.exported = dict(process.exported)
        self.arrays, self.associative = process.arrays, process.associative
        self.attributes, self.functions = process.attributes, process.functions
        self.references, self.aliases = process.references, process.aliases
        kept = []
        for forward in self.forwards:
            if forward.line == self.lines:
                if forward.pid == process.pid or not self._lives(forward):
                    continue
                forward.job = 4000 + forward.port % 1000 + forward.line
            kept.append(forward)
        self.forwards, self.shell = kept, None

    def _lives(self, forward: Forward) -> bool:
        """Whether the process of a job still waits."""
        if self.shell is None or forward.line != self.lines:
            return True
        owner = getattr(self.shell.runner, "processes", {}).get(forward.pid)
        return owner is not None and not owner.finished

    def forward_to(self, port: int) -> Forward | None:
        """The job that listens on a local port."""
        return next((one for one in self.forwards if one.port == port and self._lives(one)), None)

    def stop(self, jobs: list[Forward]) -> None:
        """These jobs are killed."""
        self.forwards = [one for one in self.forwards if one not in jobs]
