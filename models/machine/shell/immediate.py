"""Shells put together: any of them, and one whose commands wait on a private clock.

`shell.container` lets a container's own script wait on simulated timers; a command that somebody
executes inside a container, or a command substitution, waits on a clock of its own.
"""

from __future__ import annotations

from simcluster.models.machine.container import Container
from simcluster.models.machine.imagetools.call import Outcome
from simcluster.models.machine.kernel.errors import MESSAGE
from simcluster.models.machine.shell.builtins import BUILTINS
from simcluster.models.machine.shell.lexer import Code
from simcluster.models.machine.shell.process import Process
from simcluster.models.machine.shell.runner import ShellRunner
from simcluster.models.machine.shell.steps import STEPS

#: Substitutions of substitutions for which there are processes: a function that calls itself so never ends.
DEPTH_MAX = 25


class Shell(ShellRunner):
    """A shell with all its instructions and commands."""

    steps = STEPS
    builtins = BUILTINS
    depth = 0  # of command substitutions inside of one another

    def capture(self, parent: Process, code: Code) -> tuple[str, int, int]:
        """Output, exit status and duration of a command substitution."""
        if self.depth == DEPTH_MAX:
            self.complain(parent, f"can't fork: {MESSAGE['EAGAIN']}")
            return "", 2, 0
        inner = ImmediateRunner(self.container, self.now)
        inner.draws, inner.depth = self.draws, self.depth + 1
        child = parent.subshell(1, 0)
        child.runner = inner
        child.code = code
        child.counter = 0
        child.frames = []
        child.parent = 0
        child.sinks[1] = ("out", "stdout")
        inner.last_pid = 1
        inner.processes[1] = child
        inner.ready.append(1)
        result = inner.finish()
        self.draws = inner.draws
        for text in inner.errors:
            self.write(parent.sinks.get(2, ("null", "")), text)
        return result.stdout, result.code, inner.elapsed_ns


class ImmediateRunner(Shell):
    """A shell whose waiting happens on a clock of its own: the world does not move meanwhile."""

    #: Beyond this a command counts as hanging and is cut off.
    LIMIT_NS = 600_000_000_000

    def __init__(self, container: Container, start_ns: int, limit_ns: int = LIMIT_NS) -> None:
        super().__init__(container)
        self.start_ns = start_ns
        self.limit_ns = limit_ns
        self.elapsed_ns = 0
        self.output: list[str] = []
        self.errors: list[str] = []
        self.code: int | None = None
        self._timers: list[tuple[int, int, int]] = []
        self._order = 0

    @property
    def now(self) -> int:
        """The private clock."""
        return self.start_ns + self.elapsed_ns

    def wake_after(self, pid: int, outcome: Outcome) -> None:
        """Remember when to go on."""
        self._order += 1
        self._timers.append((self.elapsed_ns + outcome.delay_ns, self._order, pid))

    def emit(self, stream: str, text: str) -> None:
        """Collect the output."""
        (self.output if stream == "stdout" else self.errors).append(text)

    def main_ended(self, code: int) -> None:
        """Remember the exit status."""
        self.code = code

    def start_program(self, process: Process, argv: list[str], replace: bool) -> bool:
        """No second server is started inside a container."""
        return False

    def finish(self) -> Outcome:
        """Run to the end, or to the limit."""
        self.run_ready()
        while self.code is None and self._timers:
            self._timers.sort()
            at_ns, _, pid = self._timers.pop(0)
            if at_ns > self.limit_ns:
                self.elapsed_ns = self.limit_ns
                break
            self.elapsed_ns = at_ns
            self.wake(pid)
        code = 137 if self.code is None else self.code
        self._reap(len(self.processes) - 1)
        return Outcome("".join(self.output), "".join(self.errors), code, self.elapsed_ns)
