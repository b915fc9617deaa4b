"""Shells put together: any of them, and one whose commands wait on a private clock.

A container's own script waits on simulated timers (`models.machine.shell.container`), a login on the clock of whoever
typed (`clocked`); a command that somebody executes inside a container waits on a clock of its own.
"""

from __future__ import annotations

from simcluster.models.userland.builtins import BUILTINS
from simcluster.models.userland.lexer import Code
from simcluster.models.userland.outcome import FOREVER_NS, KILLED, Outcome
from simcluster.models.userland.place import Place
from simcluster.models.userland.process import Process
from simcluster.models.userland.processes import FORKS_MAX
from simcluster.models.userland.runner import ShellRunner
from simcluster.models.userland.steps import STEPS

#: Substitutions of substitutions for which there are processes: a function that calls itself so never ends.
DEPTH_MAX = 25
#: Instructions that one command line may run in all before it counts as endless.
WORK_MAX = 40_000


class Shell(ShellRunner):
    """A shell with all its instructions and commands."""

    steps = STEPS
    builtins = BUILTINS

    def capture(self, parent: Process, code: Code) -> tuple[str, int, int]:
        """Output, exit status and duration of a command substitution."""
        if self.depth >= DEPTH_MAX or self.forks > FORKS_MAX:
            text = "fork: retry: Resource temporarily unavailable"
            self.complain(parent, text if self.place.face.bash else "can't fork: Resource temporarily unavailable")
            if self.forks > FORKS_MAX:
                self.end(parent, 254 if self.place.face.bash else 2)
            return "", 2, 0
        if len(code) == 1 and code[0][0] == "cmd" and not code[0][2] and [each[1] for each in code[0][3]] == ["<"]:
            code = (("cmd", (), ((("lit", "cat", True),),), *code[0][3:]),)  # $(< FILE)
        inner = self.inner()
        child = self.inherit(inner, parent, code)
        result = inner.finish()
        self.forks = inner.forks + 1
        for text in inner.errors:
            self.write(parent.fds.get(2, ("null", "")), text)
        parent.ended.update(child.ended)
        return result.stdout, result.code, result.delay_ns

    def inner(self) -> ImmediateRunner:
        """The shell of a command substitution."""
        return ImmediateRunner(self.place, self.now)

    def inherit(self, inner: ImmediateRunner, parent: Process, code: Code) -> Process:
        """The first process of a command substitution."""
        inner.depth, inner.forks, inner.cutting = self.depth + 1, self.forks, self.cutting
        inner.last_pid = self.last_pid + 1
        inner.channels = self.channels
        child = parent.subshell(inner.last_pid, 0)
        child.runner, child.code, child.frames, child.parent = inner, code, [], 0
        child.fds = {**parent.fds, 1: ("out", "stdout"), 2: ("out", "stderr")}
        inner.processes[child.pid] = child
        inner.ready.append(child.pid)
        return child


class ImmediateRunner(Shell):
    """A shell whose waiting happens on a clock of its own: the world does not move meanwhile."""

    #: Beyond this a command counts as hanging and is cut off.
    LIMIT_NS = 600_000_000_000

    def __init__(self, place: Place, start_ns: int, limit_ns: int = LIMIT_NS) -> None:
        super().__init__(place)
        self.start_ns = start_ns
        self.limit_ns = limit_ns
        self.elapsed_ns = 0
        self.output: list[str] = []
        self.errors: list[str] = []
        self.code: int | None = None
        self.worked = 0
        self._timers: list[tuple[int, int, int, int]] = []
        self._order = 0

    @property
    def now(self) -> int:
        """The private clock."""
        return self.start_ns + self.elapsed_ns

    def wake_after(self, pid: int, outcome: Outcome) -> None:
        """Remember when to go on."""
        self._order += 1
        busy = outcome.cores and outcome.code < 0
        self.worked += self.steps_max if busy else 0
        # A loop that has done so much without an end goes on until somebody ends it.
        delay_ns = FOREVER_NS if busy and self.worked > WORK_MAX else outcome.delay_ns
        self._timers.append((self.elapsed_ns + delay_ns, self._order, pid, -1))

    def alarm_after(self, pid: int, delay_ns: int, code: int) -> None:
        """Remember when `timeout` ends a process."""
        self._order += 1
        self._timers.append((self.elapsed_ns + delay_ns, self._order, pid, code))

    def emit(self, stream: str, text: str) -> None:
        """Collect the output."""
        (self.output if stream == "stdout" else self.errors).append(text)

    def main_ended(self, code: int) -> None:
        """Remember the exit status."""
        self.code = code

    def finish(self) -> Outcome:
        """Run to the end, or to the limit."""
        self.run_ready()
        while self.code is None and self._timers:
            self._timers.sort()
            at_ns, _, pid, code = self._timers.pop(0)
            process = self.processes.get(pid)
            if process is None or process.finished or (code < 0 and process.pending is None):
                continue
            if at_ns > self.limit_ns:
                self.elapsed_ns = self.limit_ns
                break
            if not self._pass(at_ns):
                break
            if code < 0:
                self.wake(pid)
            else:
                self.expire(pid, code)
        ended = self.code
        self.place.reap(max(0, len(self.processes) - 1))
        return Outcome("".join(self.output), "".join(self.errors), KILLED if ended is None else ended, self.elapsed_ns)

    def _pass(self, at_ns: int) -> bool:
        """Let time pass up to an instant of this clock; False if somebody ends the command meanwhile."""
        self.elapsed_ns = max(self.elapsed_ns, at_ns)
        return True
