"""A container whose entry point is a shell or a simple command, run literally in simulated time.

`command: [sh, -c, "..."]`, `[sleep, "3600"]`, `[/scripts/run.sh]` and the like: what they print
goes to the container's log, what they wait takes simulated time, their exit status is the
container's, an endless loop keeps a core busy. As process 1 a shell ignores SIGTERM unless it
traps it, so such a container is killed at the end of its grace period.

Programs that are no tools (`nginx`, `python app.py`) are asked of the catalog through
`ProgramHost`; left out: what a server started in the middle of a script leaves behind when it
ends, because its exit ends the container.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from simcluster.engine import SECOND, Timer
from simcluster.models.machine.container import Container
from simcluster.models.machine.imagetools.call import FOREVER_NS, Outcome, ToolCall
from simcluster.models.machine.imagetools.execute import environment_of
from simcluster.models.machine.imagetools.netcat import reply_of, request_of
from simcluster.models.machine.imagetools.registry import TOOLS
from simcluster.models.machine.imagetools.system import fill_duration_ns
from simcluster.models.machine.process import Answer, Call
from simcluster.models.machine.program import Program
from simcluster.models.machine.shell.place import ContainerPlace, face_of
from simcluster.models.userland.bare import located
from simcluster.models.userland.face import ASH
from simcluster.models.userland.grammar import compile_script, complaint
from simcluster.models.userland.immediate import Shell
from simcluster.models.userland.lexer import Code, ShellSyntaxError
from simcluster.models.userland.place import Call as Started
from simcluster.models.userland.process import Process, Sink
from simcluster.models.userland.runner import SHELLS
from simcluster.models.userland.scripts import shell_arguments
from simcluster.telemetry.metrics.columns import Samples

#: Working set of a busybox shell; a magnitude.
SHELL_MEMORY_BYTES = 1_200_000
#: CPU time of starting a small program (fork, exec, dynamic linking); a magnitude.
COMMAND_CPU_NS = 1_000_000
_ENTRY_BUILTINS = ("exit", "exec", "timeout", "nohup", "kill", "pwd")


class ProgramHost(Protocol):
    """Who knows the programs of an image that are no tools: the catalog of applications."""

    def program_named(self, container: Container, argv: tuple[str, ...], environment: dict[str, str]) -> Program | None:
        """A program that is about to start in the container; None if the image has none of this name."""

    def client(self, container: Container, argv: tuple[str, ...], stdin: str) -> Outcome | None:
        """A client of the cluster that the image has, run at once; None if this is none."""


def can_run(container: Container, argv: Sequence[str]) -> bool:
    """Whether an entry point is a shell, a tool or a script file of the container."""
    if not argv:
        return False
    call = ToolCall(container, list(argv), {})
    return call.name in SHELLS or call.name in TOOLS or call.name in _ENTRY_BUILTINS or bool(located(ASH, argv[0])) or (
        "/" in argv[0] and call.files.is_file(call.path(argv[0]))
    )  # fmt: skip


class ShellProgram(Program):
    """The main process of a container that runs a script or a tool.

    Args:
        container: the container; its writable files and log are used.
        argv: entry point and arguments, image defaults already applied.
        host: starts programs that are no tools.
    """

    def __init__(self, container: Container, argv: Sequence[str], host: ProgramHost | None = None) -> None:
        super().__init__(container)
        self.argv = tuple(argv)
        self.host = host
        self.runner = _ContainerRunner(self)
        self.servers: list[Program] = []
        self.main: Program | None = None
        self._partial = {"stdout": "", "stderr": ""}

    def start(self) -> None:
        """Compile the script and run its first commands."""
        self.container.set_memory(SHELL_MEMORY_BYTES)
        call = ToolCall(self.container, list(self.argv), environment_of(self.container))
        name = "sh"
        parameters: list[str] = []
        text: str | None = None
        if call.name in SHELLS:
            found = shell_arguments(Started(self.runner.place, list(self.argv), call.env))
            if isinstance(found, Outcome):
                self.write("stderr", found.stderr)
                self.container.exit(found.code)
                return
            text, name, parameters = found
        elif "/" in self.argv[0] and call.files.is_file(call.path(self.argv[0])):
            text, name, parameters = call.files.read(call.path(self.argv[0])), self.argv[0], list(self.argv[1:])
            first = text.split("\n", 1)[0]
            self.runner.place.face = face_of(self.container, first.split() if first.startswith("#!") else ())
        try:
            code = _literal(self.argv) if text is None else compile_script(text, self.runner.place.face.shell)
        except ShellSyntaxError as problem:
            self.write("stderr", complaint(problem, self.runner.place.face, name, text or ""))
            self.container.exit(2)
            return
        self.runner.launch(code, call.env, parameters, name)
        self.runner.run_ready()

    def terminate(self) -> None:
        """SIGTERM: to the server that took the shell's place, else to the script's trap."""
        if self.main is not None:
            self.main.terminate()
            return
        self.runner.signal(1, "TERM", 143)
        self.runner.run_ready()

    def stop(self) -> None:
        """The container has ended."""
        self.runner.stop()
        for program in self.servers:
            program.stop()

    def listens_on(self, port: int) -> bool:
        """Whether a program or a command started by the script listens."""
        return any(program.listens_on(port) for program in self.servers) or self.runner.listener(port) is not None

    def speaks(self, port: int) -> str:
        """What the program that listens speaks."""
        return next((program.speaks(port) for program in self.servers if program.listens_on(port)), "")

    def answer(self, call: Call) -> Answer:
        """Hand the call to the program that listens."""
        for program in self.servers:
            if program.listens_on(call.port):
                return program.answer(call)
        return self.runner.serve(call)

    def leapt(self, since_ns: int) -> None:
        """Idle time was skipped."""
        for program in self.servers:
            program.leapt(since_ns)

    def exposition(self, call: Call) -> Samples | Answer | None:
        """Metrics of the program that listens."""
        return next((program.exposition(call) for program in self.servers if program.listens_on(call.port)), None)

    def run(self, argv: tuple[str, ...]) -> Outcome | None:
        """Commands of the programs that the script started."""
        for program in self.servers:
            result = program.run(argv)
            if result is not None:
                return result
        return None

    def run_with_input(self, argv: tuple[str, ...], stdin: str) -> Outcome | None:
        """The same, or the cluster's client of the image."""
        found = None if self.host is None else self.host.client(self.container, argv, stdin)
        return found if found is not None else self.run(argv)

    def start_server(self, process: Process, argv: list[str], replace: bool) -> bool:
        """Start a program of the image on behalf of the script."""
        program = None
        if self.host is not None:
            program = self.host.program_named(self.container, tuple(argv), process.environment())
        if program is None:
            return False
        self.servers.append(program)
        if replace and not getattr(program, "daemon", False):
            self.main = program
        process.blocked = True
        program.start()
        if getattr(program, "daemon", False) and self.container.running:  # it has gone to the background
            process.blocked = False
            self.runner.completed(process, 0)
        return True

    def write(self, stream: str, text: str) -> None:
        """Print to the container's log, line by line."""
        lines = (self._partial[stream] + text).split("\n")
        self._partial[stream] = lines.pop()
        for line in lines:
            self.container.write(line, stream)

    def ended(self, code: int) -> None:
        """The script's first process has ended: so does the container."""
        for stream, rest in self._partial.items():
            if rest:
                self.container.write(rest, stream)
        self._partial = {"stdout": "", "stderr": ""}
        self.container.exit(code)


class _ContainerRunner(Shell):
    """A shell whose commands take simulated time."""

    lasts = True
    #: A loop that never waits is slowed to so many instructions a second, which is what it does to a node.
    steps_max = 400

    def __init__(self, program: ShellProgram) -> None:
        super().__init__(ContainerPlace(program.container, program.argv))
        self.place.follows = True  # type: ignore[attr-defined]
        self.container = program.container
        self.program = program
        self.alarms: list[Timer] = []
        self.timers: dict[int, Timer] = {}
        self.burning: dict[int, float] = {}
        self.burn_timer: Timer | None = None

    @property
    def now(self) -> int:
        """The simulated instant."""
        return self.container.sim.now

    def wake_after(self, pid: int, outcome: Outcome) -> None:
        """Set a timer, and account what the command uses meanwhile."""
        if outcome.delay_ns < FOREVER_NS:
            self.timers[pid] = self.container.sim.after(outcome.delay_ns, self._wake, pid)
        if outcome.cores > 0:
            self.burning[pid] = outcome.cores
            if self.burn_timer is None:
                self.burn_timer = self.container.sim.every(SECOND, self._burn)
        if outcome.memory_bytes:
            limit = self.container.spec.memory_limit
            target = outcome.memory_bytes if limit is None else min(outcome.memory_bytes, limit + 1)
            self.container.sim.after(fill_duration_ns(target), self._fill, target)

    def alarm_after(self, pid: int, delay_ns: int, code: int) -> None:
        """`timeout`: a process ends after a while."""
        self.alarms.append(self.container.sim.after(delay_ns, self._expired, pid, code))

    def _expired(self, pid: int, code: int) -> None:
        if self.container.running:
            self.timers.pop(pid, None)
            self.burning.pop(pid, None)
            self.expire(pid, code)

    def block(self, process: Process, outcome: Outcome, fds: dict[int, Sink]) -> None:
        """A command that listens changes what the network finds."""
        super().block(process, outcome, fds)
        if outcome.port:
            self.container.machine.network.version += 1

    def listener(self, port: int) -> Process | None:
        """The process whose command waits for a client on a port."""
        for process in self.processes.values():
            if process.pending is not None and process.pending[0].port == port:
                return process
        return None

    def serve(self, call: Call) -> Answer:
        """A client comes to a command that listens: it gets its reply, and the command ends."""
        process = self.listener(call.port)
        if process is None or process.pending is None:
            return Answer("refused")
        outcome, sinks = process.pending
        said = outcome._replace(stdout=request_of(call), delay_ns=0)
        if outcome.stays:
            self.print(process, sinks, said)
        else:
            process.pending = (said._replace(port=0), sinks)
            timer = self.timers.pop(process.pid, None)
            if timer is not None:
                timer.cancel()
            self.timers[process.pid] = self.container.sim.after(0, self._wake, process.pid)
            self.container.machine.network.version += 1
        return reply_of(outcome)

    def _wake(self, pid: int) -> None:
        self.timers.pop(pid, None)
        self.burning.pop(pid, None)
        if self.container.running:
            self.wake(pid)

    def _burn(self) -> None:
        """One second of busy processes: CPU used, and time stopped by the quota."""
        wanted = 0.0
        for cores in self.burning.values():
            wanted += cores
        if not self.container.running or wanted == 0.0:
            if self.burn_timer is not None:
                self.burn_timer.cancel()
            self.burn_timer = None
            self.container.machine.release(self.container)
            return
        self.container.machine.report_demand(self.container, wanted)
        got = min(wanted, self.container.cpu_cores())
        self.container.use_cpu(int(got * SECOND), int((wanted - got) * SECOND))

    def _fill(self, memory_bytes: int) -> None:
        if self.container.running:
            self.container.set_memory(max(SHELL_MEMORY_BYTES, memory_bytes))

    def spent_cpu(self) -> None:
        """A command was forked and executed."""
        self.container.use_cpu(COMMAND_CPU_NS)

    def emit(self, stream: str, text: str) -> None:
        """Print to the container's log."""
        self.program.write(stream, text)

    def main_ended(self, code: int) -> None:
        """The container ends with its first process."""
        self.program.ended(code)

    def start_program(self, process: Process, argv: list[str], replace: bool) -> bool:
        """Ask the catalog."""
        return self.program.start_server(process, argv, replace)

    def stop(self) -> None:
        """Nothing of this shell happens any more."""
        for timer in (*self.timers.values(), *self.alarms):
            timer.cancel()
        if self.burn_timer is not None:
            self.burn_timer.cancel()
        self.timers, self.burning, self.burn_timer, self.alarms = {}, {}, None, []
        for process in self.processes.values():
            process.finished = True
        self.ready = []


def _literal(argv: Sequence[str]) -> Code:
    """The program that runs one command whose words are taken as they are, in the shell's place."""
    words = tuple((("lit", word, True),) for word in argv)
    return (("cmd", (), words, (), 1),)
