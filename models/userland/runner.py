"""Runs compiled shell programs, one instruction at a time.

`ShellRunner` knows how instructions work and not how time passes: see `immediate`, `clocked`, and a container's own
script in `models.machine.shell.container`. A stage of a pipeline starts when the one before has ended; one that goes
on for ever ends as soon as the next one, as far as its words tell (`head`, `grep -q`, `sed 5q`), reads no more.

Left out: job control beyond `&`, `wait` and `jobs`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from simcluster.models.userland.conditions import OPTION_LETTERS
from simcluster.models.userland.expand import shell_quoted
from simcluster.models.userland.face import Face
from simcluster.models.userland.grammar import Instruction, assignment, compile_script, complaint
from simcluster.models.userland.lexer import ShellSyntaxError
from simcluster.models.userland.outcome import (
    BROKEN_PIPE,
    FOREVER_NS,
    INTERRUPTED,
    NOT_EXECUTABLE,
    NOT_FOUND,
    SHOWN,
    Exhausted,
    Outcome,
)
from simcluster.models.userland.paths import PATH_MAX, FileError, Stat
from simcluster.models.userland.place import ENDLESS, PIPE_BYTES, Call, Place, endless
from simcluster.models.userland.process import NOWHERE, Process, Sink
from simcluster.models.userland.processes import SYNTAX, Processes
from simcluster.models.userland.scripts import shebang, shell_arguments
from simcluster.models.userland.stream import Stream
from simcluster.models.userland.table import BUILT_IN, STREAMING, TOOLS

#: Bytes of all words of a program with their pointers, and of one: a quarter of the stack of 8 MiB, and 32 pages
#: (execve(2), "Limits on size of arguments and environment").
ARG_BYTES, WORD_BYTES = 2_097_152, 131_072
#: Commands whose arguments are assignments.
_DECLARING = ("declare", "export", "local", "readonly", "typeset")


def _declares(words: Sequence[Any]) -> bool:
    """Whether a command that is written as it is declares variables."""
    return len(words) > 1 and len(words[0]) == 1 and words[0][0][0] == "lit" and words[0][0][1] in _DECLARING


#: What lies at the path of a process substitution.
PIPE = Stat("pipe", mode=0o600)
SHELLS = ("sh", "bash", "ash", "dash")


class ShellRunner(Processes):
    """Executes the commands of processes."""

    def command(self, process: Process, instruction: Instruction) -> None:
        """Expand a simple command, open its files, and execute it."""
        if process.expanded is None:
            process.spent_ns, process.captured = 0, False
            _, assigns, words, redirections, process.line = instruction
            had_status = process.status
            argv = self._declared(process, words) if _declares(words) else process.fields(words)
            values = [
                (name, subscript, append, value if value and value[0][0] == "array" else process.text(value))
                for name, subscript, append, value in assigns
            ]
            targets = self._targets(process, argv, redirections)
            if not argv and not process.captured:
                process.status = 0 if assigns or redirections else had_status
            process.expanded = (argv, values, targets)
            self._dial(process, targets)
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
            process.last_word = ""
            for each in values:
                self.assign(process, each)
            self._trace(process, values, argv)
            self.completed(process, process.status)
            return
        self._trace(process, values, argv)
        process.last_word = argv[-1]
        extra = {name: str(value) for name, _, _, value in values}
        self.execute(process, argv, extra, fds)

    def _targets(self, process: Process, argv: list[str], redirections: Sequence[Any]) -> list[tuple[int, str, Any]]:
        """Where a command's descriptors lead; of a program that bash starts, the process that becomes it looks."""
        before = None
        if self.place.face.bash and argv and any(operator == "<<" for _, operator, _ in redirections):
            before = dict(process.variables) if self.knows(process, argv[0]) not in ("function", "builtin") else None
        targets = [(fd, operator, process.text(word)) for fd, operator, word in redirections]
        if before is not None:
            process.variables.clear()
            process.variables.update(before)
        return targets

    def _declared(self, process: Process, words: Sequence[Any]) -> list[str]:
        """The words of a command that declares variables: `NAME=value` is one word, as in an assignment."""
        found: list[str] = []
        for word in words:
            assigned = assignment(word, self.place.face.bash)
            if assigned is None or (assigned[3] and assigned[3][0][0] == "array"):
                found += process.fields((word,))
                continue
            head = "".join(part[1] for part in word[:1]).partition("=")[0]
            found.append(f"{head}={process.text(assigned[3])}")
        return found

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
        if not any(entry.kind == "trap" for entry in process.calls):
            process.doing = " ".join(argv)
        if function is not None:
            process.counter += 1
            process.variables.update(extra)
            process.fd_stack.append(process.fds)
            process.fds = fds
            entry_redirected = len(process.fd_stack) - 1
            self.call(process, function[0], function[1], argv[1:], kind="function")
            if process.calls and not process.finished:
                process.calls[-1] = process.calls[-1]._replace(
                    redirected=entry_redirected, name=argv[0], line=process.line
                )
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
        call = Call(
            self.place,
            _settled(process, argv) if argv[0] in ("[", "test") and self.place.face.bash else argv,
            process.environment() | extra,
            cwd=process.cwd,
            now_ns=self.now,
            source=source[1] if source is not None and source[0] == "in" else None,
            until_ns=process.until_ns,
            piped=fds.get(1, NOWHERE)[0] == "buffer",
            shell=(process.script_name, process.line),
            pid=process.pid,
            depth=self.depth,
            umask=process.umask,
            aside=partial(self._aside, process),
        )
        if self.channels:
            call.place = _WithChannels(self.place, self.channels)
        self.run_program(process, call, fds)

    def _aside(self, process: Process, text: str) -> str:
        """What a command line prints that a tool runs and reads (`"date" | getline` of awk)."""
        try:
            code = compile_script(text, self.place.face.shell)
        except ShellSyntaxError as problem:
            self.write(process.fds.get(2, NOWHERE), complaint(problem, self.place.face, "sh", text))
            return ""
        return self.capture(process, code)[0]

    def run_program(self, process: Process, call: Call, fds: dict[int, Sink]) -> None:
        """Run a program: a script, a tool, or whatever the place has."""
        if self.cutting and not (call.source is not None and call.name in STREAMING):
            self.completed(process, INTERRUPTED)
            return
        process.steps += 10  # to begin a program is worth some instructions
        if self._too_long(process, call) or self._script(process, call, fds):
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

    def _too_long(self, process: Process, call: Call) -> bool:
        """Refuse a program whose words do not fit into what the kernel gives them."""
        size = sum(map(len, call.argv)) + 9 * len(call.argv)  # integers
        if call.name in BUILT_IN or (size <= ARG_BYTES and max(map(len, call.argv)) < WORD_BYTES):
            return False
        face = self.place.face
        path = self.place.located(call.argv[0]) or call.argv[0]
        text = f"{path if face.bash else call.argv[0]}: Argument list too long"
        said = self.place.face.said(process.script_name, process.line, text)
        self.finish_command(process, Outcome(stderr=said, code=NOT_EXECUTABLE), process.fds)
        return True

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
        """Run a program of the place or of the table. Raises Exhausted."""
        try:
            return self._tool(call)
        except RecursionError:  # its words lie deeper in each other than a stack is high
            raise Exhausted from None
        except FileError as problem:  # a call that the program did not expect to fail
            call.complain(str(problem))
            return call.done()

    def _tool(self, call: Call) -> Outcome | None:
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
        elif "/" in argv[0]:
            text = shebang(call)
            name, parameters = argv[0], argv[1:]
        if text is None:
            return False
        child = Process(self, self.next_pid(), (), dict(call.env))
        child.shell_pid = child.pid
        child.parameters, child.script_name, child.parent = parameters, name, process.pid
        child.cwd, child.fds, child.until_ns = process.cwd, dict(fds), process.until_ns
        child.umask, child.limits = process.umask, dict(process.limits)
        if process.shared and call.name == "bash":
            child.shared = dict(process.shared)
            child.functions = {name: code for name, code in process.functions.items() if name in process.shared}
        try:
            child.code = compile_script(text, "bash" if call.name == "bash" else self.place.face.shell)
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

    def _dial(self, process: Process, targets: list[tuple[int, str, Any]]) -> None:
        """bash connects to what is written `/dev/tcp/HOST/PORT`, and waits for it."""
        for _, operator, target in targets if self.place.face.bash else ():
            found = _TCP.fullmatch(target) if operator in ("<", "<>", ">", ">>") else None
            dial = getattr(self.place, "dial", None) if found is not None else None
            if found is not None and dial is not None:
                process.dialled[target] = dial(found[1], int(found[2]))
                process.spent_ns += process.dialled[target][1]

    def _connected(self, process: Process, target: str) -> Sink:
        """A connection that stands, as a file; what is said over it is nobody's. Raises FileError."""
        dial = getattr(self.place, "dial", None)
        found = _TCP.fullmatch(target)
        if dial is None or found is None:
            raise FileError(f"{target}: No such file or directory")
        outcome, _ = process.dialled.pop(target, None) or dial(found[1], int(found[2]))
        if outcome == "ok":
            return ("in", Stream(""))
        unknown = outcome == "unknown host"
        why = _UNREACHED.get(outcome, "No route to host")
        said = f"{found[1]}: Name or service not known" if unknown else f"connect: {why}"
        self.write(process.fds.get(2, NOWHERE), f"{process.script_name}: {said}\n")
        raise FileError(f"{target}: {'Invalid argument' if unknown else why}")

    def _read_from(self, process: Process, target: str) -> Sink:
        if target.startswith("/dev/tcp/") and self.place.face.bash:
            return self._connected(process, target)
        if target in ("/dev/stdin", "/proc/self/fd/0"):
            return process.fds.get(0, ("in", Stream("")))
        if target in self.channels:
            return ("in", Stream(self.channels[target]))
        face = self.place.face
        if process.path(target) in ENDLESS:
            return ("in", Stream(endless(self.place, process.path(target), PIPE_BYTES)))
        if target == "":
            raise FileError(": No such file or directory" if face.bash else "can't open : no such file")
        call = Call(self.place, ["<"], {}, cwd=process.cwd)
        try:
            return ("in", Stream(call.read(target), seekable=True))
        except FileError as problem:
            raise FileError(_unopened(face, target, problem, "open")) from None

    def _opened(self, process: Process, target: str, operator: str) -> Sink:
        path = process.path(target)
        if target.startswith("/dev/tcp/") and self.place.face.bash:
            self._connected(process, target)
            return NOWHERE
        if path in self.channels:
            return ("channel", path)
        if target in ("/dev/null", "/dev/full"):
            return NOWHERE
        if path in ("/dev/stdout", "/proc/self/fd/1", "/dev/stderr", "/proc/self/fd/2"):
            return (
                process.fds.get(1 if path[-1] in "t1" else 2, NOWHERE)
                if path not in ("/dev/stderr",)
                else (process.fds.get(2, NOWHERE))
            )
        if path in ("/proc/1/fd/1", "/proc/1/fd/2"):
            # The log of a container is what its first process has open: images link log files there.
            return ("out", "stdout" if path.endswith("1") else "stderr")
        if path in ("/dev/tty",):
            raise FileError(f"{target}: No such device or address")
        try:
            if len(path) > PATH_MAX:
                raise FileError("File name too long")
            path = Call(self.place, [">"], {}, cwd=process.cwd).resolved(target)
            found = self.place.files.look(path)
            mode = 0o666 & ~process.umask
            if operator == ">" and process.options.get("C") and found is not None and found.kind == "file":
                raise FileError("cannot overwrite existing file")
            self.place.files.write(path, "", append=operator in (">>", "&>>"))
            if found is None and mode != 0o644:
                self.place.files.adorn(path, mode=mode)
        except FileError as problem:
            raise FileError(_unopened(self.place.face, target, problem, "create")) from None
        return ("file", path)


#: A connection as bash writes it, and what the kernel says of one that does not stand.
_TCP = re.compile(r"/dev/tcp/([^/\s]{1,253})/(\d{1,5})")
_UNREACHED = {"refused": "Connection refused", "timeout": "Connection timed out"}
#: Commands of bash that the others have not.
_BASH_ONLY = (
    "declare",
    "typeset",
    "mapfile",
    "readarray",
    "shopt",
    "enable",
    "builtin",
    "caller",
    "disown",
    "pushd",
    "popd",
    "dirs",
    "compgen",
    "complete",
    "coproc",
    "help",
    "suspend",
    "bind",
)


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


def _settled(process: Process, argv: list[str]) -> list[str]:
    """Words of `test` in which the shell has said itself what only it knows: `-v NAME`, `-o OPTION`."""
    words = list(argv)
    for at, word in enumerate(words[1:-1], 1):
        if word == "-v" and words[at + 1] != "]":
            name, bracket, subscript = words[at + 1].partition("[")
            held = process.elements(name) if bracket else None
            if bracket:
                known = held is not None and process.key(name, subscript.rstrip("]")) in held
            else:
                known = process.variable(name) is not None
            words[at], words[at + 1] = "-n", "1" * known
        elif word == "-o" and at == 1:
            known = bool(process.options.get(OPTION_LETTERS.get(words[2], words[2])))
            words[1], words[2] = "-n", "1" * known
    return words


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

    def look(self, path: str) -> Any:
        return PIPE if path in self._channels else self._files.look(path)

    def write(self, path: str, text: str, *, append: bool = False) -> None:
        if path in self._channels:
            self._channels[path] += text
        else:
            self._files.write(path, text, append=append)

    def read(self, path: str) -> Any:
        return self._channels[path] if path in self._channels else self._files.read(path)
