"""The processes of a shell: how they begin, wait, are interrupted and end, and where what they print goes.

`runner` executes their commands.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from simcluster.models.userland.expand import ExpansionError
from simcluster.models.userland.grammar import Instruction, compile_script
from simcluster.models.userland.lexer import Code, ShellSyntaxError
from simcluster.models.userland.outcome import (
    BROKEN_PIPE,
    FOREVER_NS,
    INTERRUPTED,
    KILLED,
    NOT_FOUND,
    ROOM,
    Exhausted,
    Outcome,
)
from simcluster.models.userland.paths import FileError
from simcluster.models.userland.place import Call, Place
from simcluster.models.userland.process import NOWHERE, Process, Return, Sink
from simcluster.models.userland.stream import Stream
from simcluster.models.userland.table import BUILT_IN

SHELLS = ("sh", "bash", "ash", "dash")
#: Processes that a shell may have at a time, functions that may call each other, and forks of one command line.
PROCESSES_MAX, CALLS_MAX, FORKS_MAX = 500, 1000, 2500
SYNTAX = 2
#: Reports that a program with an interval but no count gives before somebody presses Ctrl-C.
TURNS_MAX = 60
#: A busy loop is looked at again after this long; it keeps one core busy meanwhile.
BUSY_NS = 1_000_000_000


class Processes(ABC):
    """The processes of one shell and what they share.

    Attributes:
        steps: what each instruction but a simple command does; builtins: commands of the shell itself.
    """

    steps: ClassVar[Mapping[str, Callable[[Any, Process, Instruction], None]]]
    builtins: ClassVar[Mapping[str, Callable[[Any, Process, list[str], dict[int, Sink]], None]]]

    #: Whether what it sets holds for the container itself: its own script, not a command that somebody executes in it.
    lasts: ClassVar[bool] = False
    #: Instructions a process may run at one instant; one that never waits is slowed to this many in `BUSY_NS`.
    steps_max: ClassVar[int] = 10_000
    depth = 0  # of command substitutions inside of one another

    def __init__(self, place: Place) -> None:
        self.place = place
        self.processes: dict[int, Process] = {}
        self.ready: list[int] = []
        self.buffers: dict[int, list[str]] = {}
        self.sizes: dict[int, int] = {}
        self.needs: dict[int, tuple[str, int] | None] = {}
        self.channels: dict[str, str] = {}
        self.last_pid = 0
        self.forks = 0
        self.printed = 0
        self.cutting = False

    @property
    @abstractmethod
    def now(self) -> int:
        """The instant at which the running process is."""

    @abstractmethod
    def wake_after(self, pid: int, outcome: Outcome) -> None:
        """Call `wake(pid)` when the command has taken its time."""

    @abstractmethod
    def alarm_after(self, pid: int, delay_ns: int, code: int) -> None:
        """Call `expire(pid, code)` after a while."""

    @abstractmethod
    def emit(self, stream: str, text: str) -> None:
        """Text that leaves the shell."""

    @abstractmethod
    def main_ended(self, code: int) -> None:
        """The first process has ended."""

    @abstractmethod
    def capture(self, parent: Process, code: Code) -> tuple[str, int, int]:
        """Output, exit status and duration of a command substitution."""

    def channel(self, parent: Process, code: Code, direction: str) -> tuple[str, int]:
        """The path of a process substitution, and how long it took."""
        text, _, spent_ns = self.capture(parent, code) if direction == "<" else ("", 0, 0)
        path = f"/dev/fd/{63 - len(self.channels)}"
        self.channels[path] = text
        return path, spent_ns

    def start_program(self, process: Process, argv: list[str], replace: bool) -> bool:
        """Start a program that is no tool (a server); False if the place has none of this name."""
        return False

    def launch(self, code: Code, env: dict[str, str], parameters: list[str] | None = None, name: str = "sh") -> Process:
        """Make the first process ready to run."""
        self.last_pid += 1
        process = Process(self, self.last_pid, code, env)
        process.parameters = parameters or []
        process.script_name = name
        self.processes[process.pid] = process
        self.ready.append(process.pid)
        return process

    def run_ready(self) -> None:
        """Run every process that can run."""
        while self.ready:
            process = self.processes.get(self.ready.pop(0))
            if process is not None:
                self._run(process)

    def wake(self, pid: int) -> None:
        """The command a process waited for has ended."""
        process = self.processes.get(pid)
        if process is None or process.finished or process.pending is None:
            return
        outcome, fds = process.pending
        process.pending = None
        process.blocked = False
        if outcome.delay_ns < FOREVER_NS:
            self.finish_command(process, outcome._replace(delay_ns=0), fds)
        elif outcome.code >= 0:
            self.completed(process, outcome.code)
        self.ready.append(pid)
        self.run_ready()

    def finish_command(self, process: Process, outcome: Outcome, fds: dict[int, Sink]) -> None:
        """A command has taken its time: what it printed appears, and what it starts begins."""
        if not self.print(process, fds, outcome):
            outcome = outcome._replace(code=max(outcome.code, 1), then=())
        if process.finished:
            return
        if outcome.then:
            process.turns += 1
            if (process.turns < TURNS_MAX or self.lasts) and not self.cutting:
                call = Call(
                    self.place,
                    list(outcome.then),
                    process.environment(),
                    cwd=process.cwd,
                    now_ns=self.now,
                    source=Stream(outcome.then_stdin),
                    until_ns=process.until_ns,
                    shell=(process.script_name, process.line),
                )
                self.run_program(process, call, fds)
                return
        process.turns = 0
        if outcome.runs:
            child = process.subshell(self.next_pid(), 0)
            child.code, child.fds, child.frames, child.guard = outcome.runs, dict(fds), [], 0
            child.options = {}
            self.spawn(process, child, "sub", 1)
        elif outcome.code >= 0:
            self.completed(process, outcome.code)

    def expire(self, pid: int, code: int) -> None:
        """`timeout`: the process and all that it has started end now."""
        process = self.processes.get(pid)
        if process is not None and not process.finished:
            process.traps = {}
            self.abandon(process)
            self.end(process, code)
            self.run_ready()

    def abandon(self, process: Process) -> None:
        """End all that a process has started, without any word."""
        if process.pending is not None and process.pending[0].parting:
            self.write(process.pending[1].get(2, NOWHERE), process.pending[0].parting)
        process.pending, process.waiting_for = None, []
        for child in [each for each in self.processes.values() if each.parent == process.pid]:
            self.abandon(child)
            child.finished = True
            del self.processes[child.pid]
            self.place.reap(1)

    def interrupt(self) -> None:
        """Ctrl-C: what waits ends; filters print what they have of their input."""
        self.cutting = True
        for process in list(self.processes.values()):
            if process.pending is not None and not process.finished:
                fds = process.pending[1]
                self.write(fds.get(2, NOWHERE), process.pending[0].parting)
                process.pending, process.blocked, process.traps = None, False, {}
                in_pipe = fds.get(1, NOWHERE)[0] == "buffer"
                process.status = INTERRUPTED
                if in_pipe:
                    self.end(process, INTERRUPTED)
        self.run_ready()

    def write(self, sink: Sink, text: str) -> None:
        """Text to wherever a descriptor leads."""
        if not text:
            return
        kind, where = sink
        if kind == "out":
            self.printed += len(text)
            self.emit(where, text)
            if self.printed > 2 * ROOM:
                raise Exhausted
        elif kind == "channel":
            self.channels[where] = self.channels.get(where, "") + text
        elif kind == "file":
            self.place.files.write(where, text, append=True)
        elif kind == "buffer" and where in self.buffers:
            self.buffers[where].append(text)
            self.sizes[where] = self.sizes.get(where, 0) + len(text)
            if self.sizes[where] > 2 * ROOM:
                raise Exhausted

    def print(self, process: Process, fds: dict[int, Sink], outcome: Outcome) -> bool:
        """What a command printed; whether all of it could be written."""
        try:
            self.write(fds.get(2, NOWHERE), outcome.stderr)
            self.write(fds.get(1, NOWHERE), outcome.stdout)
        except FileError as problem:
            name = process.doing.partition(" ")[0]
            said = self.place.face.said(process.script_name, process.line, f"write error: {problem}", name)
            self.write(fds.get(2, NOWHERE), said if name in BUILT_IN else f"{name}: write error: {problem}\n")
            return False
        return True

    def complain(self, process: Process, message: str, builtin: str = "") -> None:
        """The shell itself reports something."""
        said = self.place.face.said(process.script_name, process.line, message, builtin)
        self.write(process.fds.get(2, NOWHERE), said)

    def block(self, process: Process, outcome: Outcome, fds: dict[int, Sink]) -> None:
        """Let a command take its time; endless ones print at once."""
        process.pending = (outcome, fds)
        process.blocked = True
        if outcome.delay_ns >= FOREVER_NS:
            self.print(process, fds, outcome)
            if process.finished:
                return
        self.wake_after(process.pid, outcome)

    def call(self, process: Process, code: Code, at: int, parameters: list[str], *, kind: str) -> None:
        """Run other code in the same process; it returns to the present counter."""
        if len(process.calls) >= CALLS_MAX:
            self._overflow(process)
            return
        status = process.status if kind == "trap" else None
        entry = Return(
            process.code,
            process.counter,
            process.parameters,
            len(process.frames),
            process.guard,
            kind,
            status,
            {},
            len(process.fd_stack),
        )
        process.calls.append(entry)
        process.code, process.counter, process.parameters = code, at, parameters

    def _overflow(self, process: Process) -> None:
        """Functions have called each other until the stack was full."""
        if self.place.face.shell == "dash":
            self.complain(process, f"Maximum function recursion depth ({CALLS_MAX}) reached")
            self.end(process, SYNTAX)
            return
        self.write(process.fds.get(2, NOWHERE), "Segmentation fault\n")
        self.end(process, 139)

    def leave_call(self, process: Process) -> None:
        """Return from a function, an `eval`, a sourced file or a trap."""
        back = process.calls.pop()
        process.code, process.counter, process.guard = back.code, back.counter, back.guard
        if back.kind != "eval":
            process.parameters = back.parameters
        del process.frames[back.frames :]
        while len(process.fd_stack) > back.redirected:
            process.fds = process.fd_stack.pop()
        for name, all_held in back.saved.items():
            for table, held in zip(process.tables(), all_held, strict=True):
                table.pop(name, None)
                if held is not None:
                    table[name] = held
        if back.status is not None:
            process.status = back.status
        if process.traps.get(":return") == str(len(process.calls) + 1) and back.kind in ("function", "source"):
            del process.traps[":return"]
            process.signals.append("RETURN")

    def spawn(self, process: Process, child: Process, kind: str, length: int) -> None:
        """Register a child; unless it goes to the background, the parent waits for it."""
        self.forks += 1
        refused = self.place.fork()
        if not refused and (len(self.processes) > PROCESSES_MAX or self.forks > FORKS_MAX):
            refused = "Resource temporarily unavailable"
        if refused:
            said = f"fork: retry: {refused}" if self.place.face.bash else f"can't fork: {refused}"
            self.complain(process, said)
            process.piped, process.status = None, 254 if self.place.face.bash else SYNTAX
            if self.forks > 2 * FORKS_MAX or self.place.face.bash:
                self.end(process, process.status)
                return
            process.counter += length
            return
        self.processes[child.pid] = child
        self.ready.append(child.pid)
        process.piped = None
        if kind == "bg":
            process.children.append(child.pid)
            process.jobs = {number: pid for number, pid in process.jobs.items() if pid in self.processes}
            process.jobs[max(process.jobs, default=0) + 1] = child.pid
            process.status = 0
            process.counter += length
            return
        process.after = (kind, length, child.pid)
        process.waiting_for = [child.pid]
        process.blocked = True

    def next_pid(self) -> int:
        """A fresh process id."""
        self.last_pid += 1
        return self.last_pid

    def end(self, process: Process, code: int) -> None:
        """A process ends; its EXIT trap runs first."""
        if process.finished:
            return
        handler = process.traps.pop("EXIT", "")
        if handler and self._trapped(process, handler, code):
            return
        code = int(process.traps.get(":exit", code)) & 255
        if self._lingers(process, code):
            return
        process.finished = True
        process.status = code
        self.abandon_waited(process)
        if process.parent == 0:
            self.main_ended(code)
            return
        parent = self.processes.get(process.parent)
        if parent is not None:
            if process.pid in parent.children:
                parent.ended[process.pid] = code
            if process.pid in parent.waiting_for:
                parent.waiting_for.remove(process.pid)
                if parent.after[0] == "any":
                    parent.waiting_for = []
                if not parent.waiting_for:
                    self._child_ended(parent, process)
        self.processes.pop(process.pid, None)
        self.place.reap(1)

    def _trapped(self, process: Process, handler: str, code: int) -> bool:
        """Run the EXIT trap; False if it is no script."""
        try:
            compiled = compile_script(handler, self.place.face.shell)
        except ShellSyntaxError:
            return False
        process.calls, process.frames = [], []
        process.code, process.counter, process.status = compiled, 0, code
        process.traps[":exit"] = str(code)
        process.blocked, process.pending, process.guard = False, None, 1
        if process.pid not in self.ready:
            self.ready.append(process.pid)
        return True

    def _lingers(self, process: Process, code: int) -> bool:
        """A pipe is open as long as anybody writes into it, also those whom its process has left behind."""
        if process.fds.get(1) != ("buffer", process.pid) or process.after[0] == "linger" or code == BROKEN_PIPE:
            return False
        left = [one for one in self.processes.values()
                if one is not process and not one.finished and ("buffer", process.pid) in one.fds.values()]  # fmt: skip
        if not left:
            return False
        for one in left:
            one.parent = process.pid
        process.children = [*process.children, *(one.pid for one in left)]
        process.waiting_for, process.after = [one.pid for one in left], ("linger", 0, code)
        process.blocked = True
        return True

    def abandon_waited(self, process: Process) -> None:
        """What a process that ends still waits for ends as well."""
        for pid in process.waiting_for if process.after[0] not in ("wait", "any", "linger") else ():
            child = self.processes.get(pid)
            if child is not None:
                self.abandon(child)
                child.finished = True
                del self.processes[pid]
        process.waiting_for = []

    def _child_ended(self, parent: Process, child: Process) -> None:
        kind, length, code = parent.after
        parent.blocked = False
        if kind == "linger":
            self.end(parent, code)
            return
        if kind == "pipe":
            parent.pipe_status.append(child.status)
            parent.piped = Stream("".join(self.buffers.pop(child.pid, [])))
            self.sizes.pop(child.pid, None)
            self.needs.pop(child.pid, None)
        else:
            parent.status = 0 if (kind, length) == ("wait", 1) else child.status  # of a wait for all
        parent.counter += length
        if kind == "sub":
            following = parent.code[parent.counter][0] if parent.counter < len(parent.code) else ""
            if following != "piped":
                self.check_errexit(parent)
        self.ready.append(parent.pid)

    def _run(self, process: Process) -> None:
        while not (process.blocked or process.finished):
            if process.stepped_ns != self.now:
                process.steps, process.stepped_ns = 0, self.now
            process.steps += 1
            if process.steps > self.steps_max:
                process.stepped_ns = -1
                self.block(process, Outcome(code=-1, delay_ns=BUSY_NS, cores=1.0), {})
                return
            if self.cutting and not process.traps.get(":exit"):
                process.traps = {}
            if process.signals and not any(entry.kind == "trap" for entry in process.calls):
                self._take_signal(process)
                continue
            if process.options.get("n"):
                self.end(process, process.status)
                continue
            if process.counter >= len(process.code):
                if process.calls:
                    self.leave_call(process)
                else:
                    self.end(process, process.status)
                continue
            self._step(process, process.code[process.counter])

    def _take_signal(self, process: Process) -> None:
        handler = process.traps.get(process.signals.pop(0), "")
        try:
            self.call(process, compile_script(handler, self.place.face.shell), 0, process.parameters, kind="trap")
        except ShellSyntaxError as problem:
            self.complain(process, f"syntax error: {problem}")

    def _step(self, process: Process, instruction: Instruction) -> None:
        try:
            if self.needs and self._unread(process):
                process.traps = {}
                self.end(process, BROKEN_PIPE)
            elif instruction[0] == "cmd":
                self.command(process, instruction)
            else:
                self.steps[instruction[0]](self, process, instruction)
        except ExpansionError as problem:
            self.complain(process, str(problem))
            process.expanded = None
            if problem.deadly or not self.place.face.bash or not process.calls:
                self.end(process, self._failing(process, problem))
            else:
                self.completed(process, 1)
        except FileError as problem:
            self.complain(process, str(problem))
            self.end(process, SYNTAX)
        except (Exhausted, MemoryError):
            process.traps = {}
            self.abandon(process)
            self.printed = min(self.printed, ROOM)
            self.write(process.fds.get(2, NOWHERE) if process.parent else ("out", "stderr"), "Killed\n")
            self.end(process, KILLED)

    def _failing(self, process: Process, problem: ExpansionError) -> int:
        """The status with which a shell ends whose expansion failed."""
        if not self.place.face.bash:
            return SYNTAX
        plain = not problem.deadly or any(word in str(problem) for word in ("bad sub", "readonly"))
        within = process.parent and process.pid != process.shell_pid  # a subshell, or what `set -e` ends, says 1
        return 1 if plain or within or process.options.get("e") else NOT_FOUND

    def _unread(self, process: Process) -> bool:
        """Whether the process writes into a pipe out of which nobody reads any more."""
        kind, where = process.fds.get(1, NOWHERE)
        if kind != "buffer":
            return False
        need = self.needs.get(where)
        if need is None:
            return False
        unit, count = need
        if unit == "lines":
            if self.sizes.get(where, 0) < count:
                return False
            held = self.buffers[where]
            if len(held) > 64:
                held[:] = ["".join(held)]
            return "".join(held).count("\n") >= count and bool(held or (count == 0 and process.steps > 50))
        return unit == "characters" and self.sizes.get(where, 0) >= count

    def completed(self, process: Process, code: int) -> None:
        """A simple command is over."""
        process.status = code
        process.counter += 1
        if process.sinks:
            self._drain(process)
        self.check_errexit(process)

    def _drain(self, process: Process) -> None:
        """What `>(...)` reads has been written: its commands run beside what follows."""
        sinks, process.sinks = process.sinks, []
        status = process.status
        for path, code in sinks:
            child = process.subshell(self.next_pid(), 0)
            child.code, child.frames, child.guard = (*code, ("end",)), [], 0
            child.fds[0] = ("in", Stream(self.channels.pop(path, "")))
            self.spawn(process, child, "bg", 0)
        process.status = status

    def check_errexit(self, process: Process) -> None:
        """`set -e`: a failure that nothing tests ends the shell."""
        if process.status and not process.guard and not process.finished:
            trapped = "ERR" in process.traps and not any(entry.kind == "trap" for entry in process.calls)
            if process.options.get("e"):
                if not (trapped and self._ends_after(process, process.traps["ERR"])):
                    self.end(process, process.status)
            elif trapped:
                process.signals.append("ERR")

    def _ends_after(self, process: Process, handler: str) -> bool:
        """`set -e` with an ERR trap: the trap runs, and then the shell ends; False if it is no script."""
        try:
            code = compile_script(handler, self.place.face.shell)
        except ShellSyntaxError:
            return False
        ending = (*code, ("status", process.status), ("end",))
        self.call(process, ending, 0, process.parameters, kind="trap")
        return True

    @abstractmethod
    def command(self, process: Process, instruction: Instruction) -> None:
        """A simple command."""

    @abstractmethod
    def run_program(self, process: Process, call: Call, fds: dict[int, Sink]) -> None:
        """Run a program: a script, a tool, or whatever the place has."""
