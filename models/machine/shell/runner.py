"""Runs compiled shell programs, one instruction at a time, for one container.

`ShellRunner` knows how instructions work and not how time passes: see `immediate` and `container`.

Left out: job control, pipelines that stream (a stage starts when the one before has ended),
`select`, `getopts` and aliases.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from simcluster.engine.streams import mix
from simcluster.models.machine.container import Container
from simcluster.models.machine.imagetools.call import FOREVER_NS, Outcome, ToolCall
from simcluster.models.machine.imagetools.registry import TOOLS, image_tool
from simcluster.models.machine.kernel.errors import MESSAGE
from simcluster.models.machine.shell.expand import ExpansionError
from simcluster.models.machine.shell.files import FileError
from simcluster.models.machine.shell.grammar import Instruction, compile_script
from simcluster.models.machine.shell.lexer import Code, ShellSyntaxError
from simcluster.models.machine.shell.process import Process, Return, Sink, shell_arguments
from simcluster.models.machine.shell.tree import FileTree

SHELLS = ("sh", "bash", "ash", "dash")
#: Instructions a process may run at one instant; a loop that never waits is slowed to this many
#: in `BUSY_NS` and keeps one core busy meanwhile, which is what such a loop does to a node.
STEPS_MAX = 400
BUSY_NS = 1_000_000_000
NOT_FOUND, SYNTAX = 127, 2
#: Tools that shells run without starting a process.
_BUILT_IN_TOOLS = ("[", "echo", "false", "printf", "test", "true")


class ShellRunner(ABC):
    """The processes of one shell and what they share.

    Attributes:
        steps: what each instruction but a simple command does; builtins: commands of the shell itself.
    """

    steps: ClassVar[Mapping[str, Callable[[ShellRunner, Process, Instruction], None]]]
    builtins: ClassVar[Mapping[str, Callable[[ShellRunner, Process, list[str], dict[int, Sink], str | None], None]]]

    #: Whether what it sets holds for the container itself: its own script, not a command that somebody executes in it.
    lasts: ClassVar[bool] = False

    def __init__(self, container: Container) -> None:
        self.container = container
        self.processes: dict[int, Process] = {}
        self.ready: list[int] = []
        self.buffers: dict[int, list[str]] = {}
        self.last_pid = 0
        self.draws = 0

    @property
    def files(self) -> FileTree:
        """The container's files."""
        return FileTree(self.container)

    @property
    @abstractmethod
    def now(self) -> int:
        """The instant at which the running process is."""

    @abstractmethod
    def wake_after(self, pid: int, outcome: Outcome) -> None:
        """Call `wake(pid)` when the command has taken its time."""

    @abstractmethod
    def emit(self, stream: str, text: str) -> None:
        """Text that leaves the shell."""

    @abstractmethod
    def main_ended(self, code: int) -> None:
        """The first process has ended."""

    @abstractmethod
    def start_program(self, process: Process, argv: list[str], replace: bool) -> bool:
        """Start a program that is no tool (a server); False if the image has none of this name."""

    def draw(self) -> int:
        """64 random bits for `$RANDOM`."""
        self.draws += 1
        return mix(self.container.sim.streams.key("shell", self.container.container_id), self.draws)

    def launch(self, code: Code, env: dict[str, str], parameters: list[str] | None = None, name: str = "sh") -> None:
        """Make the first process ready to run."""
        self.last_pid += 1
        process = Process(self, self.last_pid, code, env)
        process.parameters = parameters or []
        process.script_name = name
        self.processes[process.pid] = process
        self.ready.append(process.pid)

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
        outcome, sinks = process.pending
        process.pending = None
        process.blocked = False
        if outcome.delay_ns < FOREVER_NS:
            self._print(sinks, outcome)
        if outcome.code >= 0:
            self._completed(process, outcome.code)
        self.ready.append(pid)
        self.run_ready()

    @abstractmethod
    def capture(self, parent: Process, code: Code) -> tuple[str, int, int]:
        """Output, exit status and duration of a command substitution."""

    def write(self, sink: Sink, text: str) -> None:
        """Text to wherever a descriptor points."""
        kind, where = sink
        if not text or kind == "null":
            return
        if kind == "file":
            self.files.write(where, text, append=True)
        elif kind == "buffer":
            self.buffers[where].append(text)
        else:
            self.emit(where, text)

    def complain(self, process: Process, message: str) -> None:
        """The shell itself reports something."""
        self.write(process.sinks.get(2, ("null", "")), f"{process.script_name}: {message}\n")

    def block(self, process: Process, outcome: Outcome, sinks: dict[int, Sink]) -> None:
        """Let a command take its time; endless ones print at once."""
        process.pending = (outcome, sinks)
        process.blocked = True
        if outcome.port:
            self.container.machine.network.version += 1
        if outcome.delay_ns >= FOREVER_NS:
            self._print(sinks, outcome)
        self.wake_after(process.pid, outcome)

    def listener(self, port: int) -> Process | None:
        """The process whose command waits for a client on a port."""
        for process in self.processes.values():
            if process.pending is not None and process.pending[0].port == port:
                return process
        return None

    def call(self, process: Process, code: Code, at: int, parameters: list[str], status: int | None = None) -> None:
        """Run other code in the same process; it returns to the present counter."""
        entry = Return(process.code, process.counter, process.parameters, len(process.frames), status)
        process.calls.append(entry)
        process.code, process.counter, process.parameters = code, at, parameters

    def leave_call(self, process: Process) -> None:
        """Return from a function, an `eval`, a sourced file or a trap."""
        back = process.calls.pop()
        process.code, process.counter, process.parameters = back.code, back.counter, back.parameters
        del process.frames[back.frames :]
        if back.status is not None:
            process.status = back.status

    def spawn(self, process: Process, child: Process, kind: str, length: int) -> None:
        """Register a child; unless it goes to the background, the parent waits for it."""
        kernel = self.container.kernel
        if kernel is not None and kernel.fork(self.container):
            self.emit("stderr", f"{process.script_name}: can't fork: {MESSAGE['EAGAIN']}\n")
            process.piped, process.status = "", 2
            process.counter += length
            return
        self.processes[child.pid] = child
        self.ready.append(child.pid)
        process.piped = ""
        if kind == "bg":
            process.children.append(child.pid)
            process.status = 0
            process.counter += length
            return
        process.after = (kind, length, child.pid)
        process.waiting_for = [child.pid]
        process.blocked = True

    def _reap(self, count: int) -> None:
        """So many children are gone."""
        kernel = self.container.kernel
        if kernel is not None and count > 0:
            kernel.reap(self.container, count)

    def next_pid(self) -> int:
        """A fresh process id."""
        self.last_pid += 1
        return self.last_pid

    def end(self, process: Process, code: int) -> None:
        """A process ends; its EXIT trap runs first."""
        handler = process.traps.pop("EXIT", "")
        if handler:
            process.calls = []
            process.code, process.counter, process.status = compile_script(handler), 0, code
            process.traps[":exit"] = str(code)
            return
        code = int(process.traps.get(":exit", code))
        process.finished = True
        process.status = code
        if process.parent == 0:
            self.main_ended(code)
            return
        parent = self.processes.get(process.parent)
        if parent is not None and process.pid in parent.waiting_for:
            parent.waiting_for.remove(process.pid)
            if not parent.waiting_for:
                self._child_ended(parent, process)
        del self.processes[process.pid]
        self._reap(1)

    def _child_ended(self, parent: Process, child: Process) -> None:
        kind, length, _ = parent.after
        parent.blocked = False
        parent.status = child.status
        if kind == "pipe":
            parent.piped = "".join(self.buffers.pop(child.pid, []))
        parent.counter += length
        if kind == "sub":
            self._check_errexit(parent)
        self.ready.append(parent.pid)

    def _run(self, process: Process) -> None:
        while not (process.blocked or process.finished):
            if process.stepped_ns != self.now:
                process.steps, process.stepped_ns = 0, self.now
            process.steps += 1
            if process.steps > STEPS_MAX:
                process.stepped_ns = -1
                self.block(process, Outcome(code=-1, delay_ns=BUSY_NS, cores=1.0), {})
                return
            if process.signals and not process.calls:
                handler = process.traps.get(process.signals.pop(0), "")
                self.call(process, compile_script(handler), 0, process.parameters, process.status)
                continue
            if process.counter >= len(process.code):
                if process.calls:
                    self.leave_call(process)
                else:
                    self.end(process, process.status)
                continue
            instruction = process.code[process.counter]
            try:
                if instruction[0] == "cmd":
                    self._command(process, instruction)
                else:
                    self.steps[instruction[0]](self, process, instruction)
            except (ExpansionError, FileError) as problem:
                self.complain(process, str(problem))
                self.end(process, SYNTAX)

    def _completed(self, process: Process, code: int) -> None:
        process.status = code
        process.counter += 1
        self._check_errexit(process)

    def _check_errexit(self, process: Process) -> None:
        """`set -e`: a failure that nothing tests ends the shell."""
        if process.status == 0 or not process.options.get("e"):
            return
        following = process.code[process.counter][0] if process.counter < len(process.code) else ""
        if following not in ("jtrue", "jfalse", "not"):
            self.end(process, process.status)

    def _print(self, sinks: dict[int, Sink], outcome: Outcome) -> None:
        self.write(sinks.get(2, ("null", "")), outcome.stderr)
        self.write(sinks.get(1, ("null", "")), outcome.stdout)

    def _command(self, process: Process, instruction: tuple[Any, ...]) -> None:
        if process.expanded is None:
            process.spent_ns = 0
            _, assigns, words, redirections = instruction
            values = [(name, process.text(word)) for name, word in assigns]
            targets = [(fd, operator, process.text(word)) for fd, operator, word in redirections]
            had_status = process.status
            argv = process.fields(words)
            if not argv and process.status == had_status and not process.spent_ns:
                process.status = had_status if _substitutes(assigns) else 0
            process.expanded = (argv, values, targets)
            if process.spent_ns:
                self.block(process, Outcome(code=-1, delay_ns=process.spent_ns), {})
                return
        argv, values, targets = process.expanded
        process.expanded = None
        try:
            sinks, stdin = self.redirected(process, targets)
        except FileError as problem:
            self.complain(process, str(problem))
            self._completed(process, 1)
            return
        if not argv:
            for name, value in values:
                process.assign(name, value)
            process.counter += 1
            return
        if process.options.get("x"):
            self.write(process.sinks.get(2, ("null", "")), "+ " + " ".join(argv) + "\n")
        self.execute(process, argv, dict(values), sinks, stdin)

    def execute(
        self, process: Process, argv: list[str], extra: dict[str, str], sinks: dict[int, Sink], stdin: str | None
    ) -> None:
        """Run one simple command whose words are expanded."""
        function = process.functions.get(argv[0])
        if function is not None:
            process.counter += 1
            self.call(process, function[0], function[1], argv[1:])
            return
        builtin = self.builtins.get(argv[0])
        if builtin is not None:
            process.variables.update(extra)
            builtin(self, process, argv, sinks, stdin)
            return
        read = stdin if stdin is not None else process.piped or process.stdin
        call = ToolCall(self.container, argv, process.environment() | extra, read, process.cwd, self.now)
        if self._script(process, call, sinks):
            return
        outcome = self._tool(call)
        if outcome is None:
            if self.start_program(process, argv, replace=self._is_last(process)):
                return
            outcome = Outcome(stderr=f"{process.script_name}: {argv[0]}: not found\n", code=NOT_FOUND)
        if outcome.delay_ns > 0 or outcome.memory_bytes:
            self.block(process, outcome, sinks)
            return
        self._print(sinks, outcome)
        self._completed(process, outcome.code)

    def complete(self, process: Process, code: int) -> None:
        """A builtin has ended with a status."""
        self._completed(process, code)

    def execute_limited(self, process: Process, words: list[str], sinks: dict[int, Sink], stdin: str | None) -> None:
        """`timeout DURATION COMMAND`: a tool is cut off with 143; a child shell is not limited."""
        limit = TOOLS["sleep"](ToolCall(self.container, ["sleep", *words[:1]], {}))
        read = stdin if stdin is not None else process.piped or process.stdin
        call = ToolCall(self.container, words[1:] or ["true"], process.environment(), read, process.cwd, self.now)
        outcome = self._tool(call) if limit.code == 0 and call.name not in SHELLS else None
        if outcome is None:
            self.execute(process, words[1:] or [":"], {}, sinks, stdin)
            return
        if outcome.delay_ns > limit.delay_ns:
            outcome = outcome._replace(stdout="", stderr="", code=143, delay_ns=limit.delay_ns)
        if outcome.delay_ns:
            self.block(process, outcome, sinks)
            return
        self._print(sinks, outcome)
        self._completed(process, outcome.code)

    def knows(self, process: Process, name: str) -> bool:
        """Whether the shell can run a command of this name."""
        base = name.rpartition("/")[2]
        return name in process.functions or name in self.builtins or base in TOOLS or base in SHELLS

    def signal(self, pid: int, name: str, code: int) -> None:
        """Send a signal to a process of this shell. The first one ignores what it does not trap."""
        process = self.processes[pid]
        if name in process.traps:
            process.signals.append(name)
            if process.blocked and process.after[0] == "wait" and process.waiting_for:
                process.waiting_for = []
                process.blocked = False
                process.status = code
                process.counter += 1
                self.ready.append(pid)
        elif process.parent != 0:
            process.pending = None
            process.blocked = True
            self.end(process, code)

    def _tool(self, call: ToolCall) -> Outcome | None:
        tool = TOOLS.get(call.name)
        if tool is not None:
            if call.name not in _BUILT_IN_TOOLS:
                self.spent_cpu()
            return tool(call)
        return image_tool(call)

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

    def _script(self, process: Process, call: ToolCall, sinks: dict[int, Sink]) -> bool:
        """`sh -c TEXT`, `sh FILE` or the path of a script: a child shell."""
        argv, text = call.argv, None
        if call.name in SHELLS:
            text, name, parameters = shell_arguments(call)
        elif "/" in argv[0] and call.files.is_file(call.path(argv[0])):
            text, name, parameters = call.files.read(call.path(argv[0])), argv[0], argv[1:]
        if text is None:
            return False
        try:
            code = compile_script(text)
        except ShellSyntaxError as problem:
            self.write(sinks.get(2, ("null", "")), f"{name}: {problem}\n")
            self._completed(process, SYNTAX)
            return True
        child = Process(self, self.next_pid(), code, dict(call.env))
        child.parameters, child.script_name, child.parent = parameters, name, process.pid
        child.cwd, child.stdin, child.sinks = process.cwd, call.stdin, dict(sinks)
        self.spawn(process, child, "sub", 1)
        return True

    def redirected(self, process: Process, targets: list[tuple[int, str, str]]) -> tuple[dict[int, Sink], str | None]:
        """Sinks after redirections, and standard input if it was redirected. Raises FileError."""
        sinks, stdin = dict(process.sinks), None
        for fd, operator, target in targets:
            if operator == "<<":
                stdin = target
            elif operator == "<<<":
                stdin = target + "\n"
            elif operator == "<":
                try:
                    stdin = self.files.read(process.path(target))
                except FileError as problem:
                    raise FileError(f"can't open {target}: {str(problem).lower()}") from None
            elif operator in (">&", "<&"):
                sinks[fd] = sinks.get(int(target), ("null", "")) if target.isdigit() else ("null", "")
            else:
                sinks[fd] = self._opened(process, target, operator)
                if operator == "&>":
                    sinks[2] = sinks[fd]
        return sinks, stdin

    def _opened(self, process: Process, target: str, operator: str) -> Sink:
        path = process.path(target)
        if path == "/dev/null":
            return ("null", "")
        # The log of a container is what its first process has open: images link log files there.
        if path in ("/dev/stdout", "/proc/1/fd/1", "/proc/self/fd/1"):
            return ("out", "stdout")
        if path in ("/dev/stderr", "/proc/1/fd/2", "/proc/self/fd/2"):
            return ("out", "stderr")
        try:
            self.files.write(path, "", append=operator == ">>")
        except FileError as problem:
            raise FileError(f"can't create {target}: {problem}") from None
        return ("file", path)


def _substitutes(assigns: tuple[tuple[str, Any], ...]) -> bool:
    return any(part[0] == "sub" for _, word in assigns for part in word)
