"""Runs compiled shell programs, one instruction at a time.

`ShellRunner` knows how instructions work and not how time passes: see `immediate`, `clocked`, and a container's own
script in `models.machine.shell.container`. A stage of a pipeline starts when the one before has ended; one that goes
on for ever ends as soon as the next one, as far as its words tell (`head`, `grep -q`, `sed 5q`), reads no more.

Left out: job control beyond `&`, `wait` and `jobs`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from simcluster.models.userland.expand import ExpansionError, shell_quoted
from simcluster.models.userland.face import Face
from simcluster.models.userland.grammar import Instruction, compile_script, complaint
from simcluster.models.userland.lexer import Code, ShellSyntaxError
from simcluster.models.userland.outcome import (
    BROKEN_PIPE,
    FOREVER_NS,
    INTERRUPTED,
    KILLED,
    NOT_EXECUTABLE,
    NOT_FOUND,
    ROOM,
    SHOWN,
    Exhausted,
    Outcome,
)
from simcluster.models.userland.paths import FileError
from simcluster.models.userland.place import Call, Place
from simcluster.models.userland.process import NOWHERE, Process, Return, Sink
from simcluster.models.userland.scripts import shebang, shell_arguments
from simcluster.models.userland.stream import Stream
from simcluster.models.userland.table import BUILT_IN, STREAMING, TOOLS

SHELLS = ("sh", "bash", "ash", "dash")
#: Processes that a shell may have at a time, functions that may call each other, and forks of one command line.
PROCESSES_MAX, CALLS_MAX, FORKS_MAX = 500, 1000, 4000
SYNTAX = 2
#: Reports that a program with an interval but no count gives before somebody presses Ctrl-C.
TURNS_MAX = 60
#: A busy loop is looked at again after this long; it keeps one core busy meanwhile.
BUSY_NS = 1_000_000_000


class ShellRunner(ABC):
    """The processes of one shell and what they share.

    Attributes:
        steps: what each instruction but a simple command does; builtins: commands of the shell itself.
    """

    steps: ClassVar[Mapping[str, Callable[[ShellRunner, Process, Instruction], None]]]
    builtins: ClassVar[Mapping[str, Callable[[ShellRunner, Process, list[str], dict[int, Sink]], None]]]

    #: Whether what it sets holds for the container itself: its own script, not a command that somebody executes in it.
    lasts: ClassVar[bool] = False
    #: Instructions a process may run at one instant; one that never waits is slowed to this many in `BUSY_NS`.
    steps_max: ClassVar[int] = 20_000
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
            if process.turns < TURNS_MAX and not self.cutting:
                call = Call(self.place, list(outcome.then), process.environment(), cwd=process.cwd, now_ns=self.now,
                            source=Stream(outcome.then_stdin), until_ns=process.until_ns, shell=(process.script_name, process.line))  # fmt: skip
                self._program(process, call, fds)
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
        elif kind == "file":
            self.place.files.write(where, text, append=True)
        elif kind == "buffer":
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
            name = process.doing
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
        entry = Return(process.code, process.counter, process.parameters, len(process.frames), process.guard, kind,
                       status, {}, len(process.fd_stack))  # fmt: skip
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
        for name, (value, elements, exported) in back.saved.items():
            for table, held in ((process.variables, value), (process.arrays, elements), (process.exported, exported)):
                table.pop(name, None)
                if held is not None:
                    table[name] = held  # type: ignore[assignment]
        if back.status is not None:
            process.status = back.status

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
                if not parent.waiting_for:
                    self._child_ended(parent, process)
        self.processes.pop(process.pid, None)
        self.place.reap(1)

    def _trapped(self, process: Process, handler: str, code: int) -> bool:
        """Run the EXIT trap; False if it is no script."""
        try:
            compiled = compile_script(handler, self.place.face.bash)
        except ShellSyntaxError:
            return False
        process.calls, process.frames = [], []
        process.code, process.counter, process.status = compiled, 0, code
        process.traps[":exit"] = str(code)
        process.blocked, process.pending, process.guard = False, None, 1
        if process.pid not in self.ready:
            self.ready.append(process.pid)
        return True

    def abandon_waited(self, process: Process) -> None:
        """What a process that ends still waits for ends as well."""
        for pid in process.waiting_for if process.after[0] != "wait" else ():
            child = self.processes.get(pid)
            if child is not None:
                self.abandon(child)
                child.finished = True
                del self.processes[pid]
        process.waiting_for = []

    def _child_ended(self, parent: Process, child: Process) -> None:
        kind, length, _ = parent.after
        parent.blocked = False
        if kind == "pipe":
            parent.pipe_status.append(child.status)
            parent.piped = Stream("".join(self.buffers.pop(child.pid, [])))
            self.sizes.pop(child.pid, None)
            self.needs.pop(child.pid, None)
        else:
            parent.status = child.status
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
            self.call(process, compile_script(handler, self.place.face.bash), 0, process.parameters, kind="trap")
        except ShellSyntaxError as problem:
            self.complain(process, f"syntax error: {problem}")

    def _step(self, process: Process, instruction: Instruction) -> None:
        try:
            if self.needs and self._unread(process):
                process.traps = {}
                self.end(process, BROKEN_PIPE)
            elif instruction[0] == "cmd":
                self._command(process, instruction)
            else:
                self.steps[instruction[0]](self, process, instruction)
        except ExpansionError as problem:
            self.complain(process, str(problem))
            process.expanded = None
            if problem.deadly or not self.place.face.bash or not process.calls:
                self.end(process, self._failing(problem))
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

    def _failing(self, problem: ExpansionError) -> int:
        """The status with which a shell ends whose expansion failed."""
        if not self.place.face.bash:
            return SYNTAX
        return 1 if not problem.deadly or any(word in str(problem) for word in ("bad sub", "readonly")) else NOT_FOUND

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
            return sum(text.count("\n") for text in held) >= count and bool(held or (count == 0 and process.steps > 50))
        return unit == "characters" and self.sizes.get(where, 0) >= count

    def completed(self, process: Process, code: int) -> None:
        """A simple command is over."""
        process.status = code
        process.counter += 1
        self.check_errexit(process)

    def check_errexit(self, process: Process) -> None:
        """`set -e`: a failure that nothing tests ends the shell."""
        if process.status and not process.guard and not process.finished:
            if "ERR" in process.traps and not any(entry.kind == "trap" for entry in process.calls):
                process.signals.append("ERR")
            if process.options.get("e"):
                self.end(process, process.status)

    def _command(self, process: Process, instruction: Instruction) -> None:
        if process.expanded is None:
            process.spent_ns, process.captured = 0, False
            _, assigns, words, redirections, process.line = instruction
            had_status = process.status
            argv = process.fields(words)
            values = [(name, subscript, append, value if value and value[0][0] == "array" else process.text(value))
                      for name, subscript, append, value in assigns]  # fmt: skip
            targets = [(fd, operator, process.text(word)) for fd, operator, word in redirections]
            if not argv and not process.captured:
                process.status = 0 if assigns or redirections else had_status
            process.expanded = (argv, values, targets)
            if process.spent_ns:
                self.block(process, Outcome(code=-1, delay_ns=process.spent_ns), {})
                return
        argv, values, targets = process.expanded
        process.expanded = None
        try:
            fds = self.redirected(process, targets)
        except FileError as problem:
            self.complain(process, str(problem))
            if argv and self.place.face.shell == "dash" and argv[0] in self.builtins:
                self.end(process, SYNTAX)
            else:
                self.completed(process, 1)
            return
        if not argv:
            for each in values:
                self.assign(process, each)
            self._trace(process, values, argv)
            self.completed(process, process.status)
            return
        self._trace(process, values, argv)
        extra = {name: str(value) for name, _, _, value in values}
        self.execute(process, argv, extra, fds)

    def _trace(self, process: Process, values: list[Any], argv: list[str]) -> None:
        if process.options.get("x"):
            shown = [f"{name}={value if isinstance(value, str) else '()'}" for name, _, _, value in values]
            shown += [_traced(word) if self.place.face.bash else word for word in argv]
            self.write(process.fds.get(2, NOWHERE), "+ " + " ".join(shown) + "\n")

    def assign(self, process: Process, assigned: tuple[str, Any, bool, Any]) -> None:
        """One assignment of a command that has no words."""
        name, subscript, append, value = assigned
        if not isinstance(value, str):
            process.assign_array(name, value[0][1], append=append)
        elif subscript is not None:
            process.assign_element(name, process.text(subscript), value, append=append)
        elif append and "i" in process.attributes.get(name, ""):
            process.assign(name, str(process.number(f"{process.variable(name) or 0}+({value})")))
        else:
            process.assign(name, (process.variable(name) or "") + value if append else value)

    def execute(
        self, process: Process, argv: list[str], extra: dict[str, str], fds: dict[int, Sink], *, functions: bool = True
    ) -> None:
        """Run one simple command whose words are expanded."""
        function = process.functions.get(argv[0]) if functions else None
        process.doing = argv[0]
        if function is not None:
            process.counter += 1
            process.variables.update(extra)
            process.fd_stack.append(process.fds)
            process.fds = fds
            entry_redirected = len(process.fd_stack) - 1
            self.call(process, function[0], function[1], argv[1:], kind="function")
            if process.calls and not process.finished:
                process.calls[-1] = process.calls[-1]._replace(redirected=entry_redirected)
            return
        builtin = self.builtins.get(argv[0])
        if builtin is not None and (self.place.face.bash or argv[0] not in _BASH_ONLY):
            if extra:
                before = {name: process.variables.get(name) for name in extra}
                process.variables.update(extra)
                builtin(self, process, argv, fds)
                for name, value in before.items() if argv[0] not in ("export", "exec", ".", "eval", "source") else ():
                    if value is None:
                        process.variables.pop(name, None)
                    else:
                        process.variables[name] = value
                return
            builtin(self, process, argv, fds)
            return
        source = fds.get(0)
        call = Call(self.place, argv, process.environment() | extra, cwd=process.cwd, now_ns=self.now,
                    source=source[1] if source is not None and source[0] == "in" else None,
                    until_ns=process.until_ns, piped=fds.get(1, NOWHERE)[0] == "buffer",
                    shell=(process.script_name, process.line), depth=self.depth)  # fmt: skip
        if self.channels:
            call.place = _WithChannels(self.place, self.channels)
        self._program(process, call, fds)

    def _program(self, process: Process, call: Call, fds: dict[int, Sink]) -> None:
        """Run a program: a script, a tool, or whatever the place has."""
        if self.cutting and not (call.source is not None and call.name in STREAMING):
            self.completed(process, INTERRUPTED)
            return
        if self._script(process, call, fds):
            return
        outcome = self.tool(call)
        if outcome is None:
            if self.start_program(process, call.argv, replace=self._is_last(process)):
                return
            text, code = self._unknown(call)
            outcome = Outcome(stderr=self.place.face.said(process.script_name, process.line, text), code=code)
        spent_ns = self.place.files.spent_ns()
        if spent_ns and outcome.delay_ns < FOREVER_NS:
            outcome = outcome._replace(delay_ns=outcome.delay_ns + spent_ns)
        if outcome.then and outcome.delay_ns:  # it has said this before it waits
            self.print(process, fds, outcome)
            outcome = outcome._replace(stdout="", stderr="")
        if outcome.endless:
            self._endless(process, outcome, fds)
        elif outcome.delay_ns > 0 or outcome.memory_bytes:
            self.block(process, outcome, fds)
        else:
            self.finish_command(process, outcome, fds)

    def _endless(self, process: Process, outcome: Outcome, fds: dict[int, Sink]) -> None:
        """A command that prints for ever: into a pipe until nobody reads, on a terminal until Ctrl-C."""
        kind, where = fds.get(1, NOWHERE)
        need = self.needs.get(where) if kind == "buffer" else None
        if need is not None:
            self.print(process, fds, outcome)
            self.end(process, BROKEN_PIPE) if process.parent else self.completed(process, BROKEN_PIPE)
            return
        shown = outcome.stdout[:SHOWN] if kind == "out" else ""
        self.block(process, outcome._replace(stdout=shown, delay_ns=FOREVER_NS, cores=1.0, endless=False), fds)

    def _unknown(self, call: Call) -> tuple[str, int]:
        """What the shell says of a command that there is not."""
        name, face = call.argv[0], self.place.face
        if "/" not in name:
            return face.not_found(name), NOT_FOUND
        found = call.look(name)
        if found is None:
            return (f"{name}: No such file or directory" if face.bash else face.not_found(name)), NOT_FOUND
        if found.is_folder and face.bash:
            return f"{name}: Is a directory", NOT_EXECUTABLE
        return f"{name}: Permission denied", NOT_EXECUTABLE

    def knows(self, process: Process, name: str) -> str:
        """Where the shell finds a command of this name: `function`, `builtin`, its path, or empty."""
        if name in process.functions:
            return "function"
        if name in self.builtins and (self.place.face.bash or name not in _BASH_ONLY):
            return "builtin"
        if name in BUILT_IN:
            return "builtin"
        if "/" in name:
            found = self.place.files.look(process.path(name))
            return name if found is not None and not found.is_folder else ""
        return self.place.located(name)

    def signal(self, pid: int, name: str, code: int) -> None:
        """Send a signal to a process of this shell. The first one ignores what it does not trap."""
        process = self.processes[pid]
        if name in process.traps and name != "KILL":
            if process.traps[name] == "":
                return
            process.signals.append(name)
            if process.blocked and process.after[0] == "wait" and process.waiting_for:
                process.waiting_for = []
                process.blocked = False
                process.status = code
                process.counter += 1
                self.ready.append(pid)
        elif process.parent != 0:
            process.pending, process.traps = None, {}
            self.abandon(process)
            process.blocked = True
            self.end(process, code)

    def tool(self, call: Call) -> Outcome | None:
        """Run a program of the place or of the table."""
        outcome = call.place.own(call)
        if outcome is None:
            tool = TOOLS.get(call.name)
            there = tool is not None and (call.argv[0] in BUILT_IN or call.place.located(call.name))
            if tool is not None and there:
                if call.name not in BUILT_IN:
                    self.spent_cpu()
                return tool(call)
            outcome = call.place.program(call)
        if outcome is not None:
            self.spent_cpu()
        return outcome

    def spent_cpu(self) -> None:
        """A command was forked and executed."""

    def _is_last(self, process: Process) -> bool:
        """Whether the shell has nothing left to do, so that it executes the command in its own place."""
        return (
            process.parent == 0
            and not process.calls
            and not process.frames
            and not process.traps
            and process.counter + 1 == len(process.code)
        )

    def _script(self, process: Process, call: Call, fds: dict[int, Sink]) -> bool:
        """`sh -c TEXT`, `sh FILE` or the path of a script: a child shell."""
        argv, text = call.argv, None
        if call.name in SHELLS and self.place.located(call.name):
            found = shell_arguments(call)
            if isinstance(found, Outcome):
                self.finish_command(process, found, fds)
                return True
            text, name, parameters = found
            bash = call.name == "bash" or (call.name in ("sh", "ash") and self.place.face.shell == "ash")
        elif "/" in argv[0]:
            text = shebang(call)
            name, parameters, bash = argv[0], argv[1:], self.place.face.bash
        if text is None:
            return False
        child = Process(self, self.next_pid(), (), dict(call.env))
        child.shell_pid = child.pid
        child.parameters, child.script_name, child.parent = parameters, name, process.pid
        child.cwd, child.fds, child.until_ns = process.cwd, dict(fds), process.until_ns
        try:
            child.code = compile_script(text, self.place.face.bash)
        except ShellSyntaxError as problem:
            self.write(fds.get(2, NOWHERE), complaint(problem, self.place.face, name, text))
            self.completed(process, SYNTAX)
            return True
        self.spawn(process, child, "sub", 1)
        return True

    def redirected(self, process: Process, targets: list[tuple[int, str, Any]]) -> dict[int, Sink]:
        """Descriptors after redirections. Raises FileError."""
        fds = dict(process.fds)
        for fd, operator, target in targets:
            if operator == "<<":
                fds[fd] = ("in", Stream(target, seekable=True))
            elif operator == "<<<":
                fds[fd] = ("in", Stream(target + "\n", seekable=True))
            elif operator in ("<", "<>"):
                fds[fd] = self._read_from(process, target)
            elif operator in (">&", "<&"):
                if target == "-":
                    fds.pop(fd, None)
                elif target.isdigit() and int(target) in fds:
                    fds[fd] = fds[int(target)]
                elif target.isdigit():
                    raise FileError(f"{target}: Bad file descriptor")
                else:
                    fds[1] = fds[2] = self._opened(process, target, ">")
            else:
                fds[fd] = self._opened(process, target, operator)
                if operator in ("&>", "&>>"):
                    fds[2] = fds[fd]
        return fds

    def _read_from(self, process: Process, target: str) -> Sink:
        if target in ("/dev/stdin", "/proc/self/fd/0"):
            return process.fds.get(0, ("in", Stream("")))
        if target in self.channels:
            return ("in", Stream(self.channels[target]))
        face = self.place.face
        if target == "":
            raise FileError(": No such file or directory" if face.bash else "can't open : no such file")
        call = Call(self.place, ["<"], {}, cwd=process.cwd)
        try:
            return ("in", Stream(call.read(target), seekable=True))
        except FileError as problem:
            raise FileError(_unopened(face, target, problem, "open")) from None

    def _opened(self, process: Process, target: str, operator: str) -> Sink:
        path = process.path(target)
        if target in ("/dev/null", "/dev/full"):
            return NOWHERE
        if path in ("/dev/stdout", "/proc/self/fd/1", "/dev/stderr", "/proc/self/fd/2"):
            return process.fds.get(1 if path[-1] in "t1" else 2, NOWHERE) if path not in ("/dev/stderr",) else (
                process.fds.get(2, NOWHERE))  # fmt: skip
        if path in ("/proc/1/fd/1", "/proc/1/fd/2"):
            # The log of a container is what its first process has open: images link log files there.
            return ("out", "stdout" if path.endswith("1") else "stderr")
        if path in ("/dev/tty",):
            raise FileError(f"{target}: No such device or address")
        try:
            path = Call(self.place, [">"], {}, cwd=process.cwd).resolved(target)
            found = self.place.files.look(path)
            if operator == ">" and process.options.get("C") and found is not None and found.kind == "file":
                raise FileError("cannot overwrite existing file")
            self.place.files.write(path, "", append=operator in (">>", "&>>"))
        except FileError as problem:
            raise FileError(_unopened(self.place.face, target, problem, "create")) from None
        return ("file", path)


#: Commands of bash that the others have not.
_BASH_ONLY = ("declare", "typeset", "mapfile", "readarray", "shopt", "enable", "builtin", "caller", "disown", "pushd",
              "popd", "dirs", "compgen", "complete", "suspend", "bind")  # fmt: skip


def _unopened(face: Face, target: str, problem: FileError, doing: str) -> str:
    missing = str(problem) == "No such file or directory"
    if face.bash:
        return f"{target}: {problem}"
    if face.shell == "dash":
        said = "Directory nonexistent" if missing and doing == "create" else "No such file" if missing else str(problem)
        return f"cannot {doing} {target}: {said}"
    said = "nonexistent directory" if missing and doing == "create" else "no such file" if missing else str(problem)
    return f"can't {doing} {target}: {said}"


def _traced(word: str) -> str:
    plain = word and all(char.isalnum() or char in "_-./:=@%+,^" for char in word)
    return word if plain else shell_quoted(word)


class _WithChannels:
    """A place in which the output of process substitutions can be read, as `/dev/fd/63`."""

    def __init__(self, place: Place, channels: dict[str, str]) -> None:
        self._place, self._channels = place, channels

    def __getattr__(self, name: str) -> Any:
        return getattr(self._place, name)

    @property
    def files(self) -> Any:
        """Files of the place, and the channels."""
        return _ChannelFiles(self._place.files, self._channels)


class _ChannelFiles:
    def __init__(self, files: Any, channels: dict[str, str]) -> None:
        self._files, self._channels = files, channels

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def read(self, path: str) -> Any:
        return self._channels[path] if path in self._channels else self._files.read(path)
