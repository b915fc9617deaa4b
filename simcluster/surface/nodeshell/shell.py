"""The shell of somebody logged in as root on a node.

A useful part of bash: lists, pipelines, loops, conditions, variables, substitutions, here-documents. Left out:
functions, jobs, history, what needs a terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import repeat

from simcluster.engine import SECOND, parse_duration
from simcluster.surface.nodeshell import builtin, folders, journalctl, limits, systemctl
from simcluster.surface.nodeshell.expansion import Expander
from simcluster.surface.nodeshell.grammar import Pipeline, Redirection, Step, parse
from simcluster.surface.nodeshell.textfilters import TEXT_FILTERS
from simcluster.surface.nodeshell.words import ShellSyntaxError, Word
from simcluster.surface.protocols import Clock, CommandResult, Host, HostAnswer, Interrupted

_NOT_FOUND = 127
#: What somebody in a chroot of the node's file system can start as well.
_ON_DISK = ("systemctl", "service", "journalctl", "hostname", "whoami")
#: Reports that a program with an interval but no count gives before somebody presses ^C.
_MOST_TURNS = 60
#: Rounds after which a loop that neither waits nor reads counts as endless, and how long somebody watches it at most.
_MOST_ROUNDS, _ENDLESS_NS = 1000, 3600 * SECOND
#: Words that only set the scene for the program after them.
_PREFIXES = ("sudo", "exec", "command", "nohup", "time")
_NEED_TERMINAL = ("watch", "htop", "iotop", "nmon", "atop", "mc")


class NodeShell:
    """A root shell on a node: systemctl, journalctl, text filters, and what the host has.

    Args:
        host: the node's operating system.
        clock: simulated time, for `sleep` and for ages.
    """

    def __init__(self, host: Host, clock: Clock) -> None:
        self.host = host
        self.clock = clock
        self._variables: dict[str, str] = {}
        self._input: list[str] = []  # lines that `read` has not taken yet
        self._until_ns = -1  # when `timeout` ends what runs

    def sh(self, command: str) -> CommandResult:
        """Run one command line or a script; the exit status is that of the last pipeline that ran."""
        try:
            script = parse(command)
        except ShellSyntaxError as error:
            return CommandResult("", f"bash: -c: line 1: {error}\n", 2)
        self._variables = {"?": "0", "#": "0", "$": "2003", "HOME": "/root", "USER": "root", "PWD": folders.HOME,
                           "HOSTNAME": self.host.name, "SHELL": "/bin/bash"}  # fmt: skip
        self._input = []
        result = self._script(script)
        return result._replace(exit_code=result.exit_code % _JUMPS)

    def _script(self, script: Sequence[Pipeline]) -> CommandResult:
        stdout: list[str] = []
        stderr: list[str] = []
        code = 0
        for pipeline in script:
            if (pipeline.operator == "&&" and code) or (pipeline.operator == "||" and not code):
                continue
            result = self._pipeline(pipeline)
            stdout.append(result.stdout)
            stderr.append(result.stderr)
            code = _EXIT + _INTERRUPTED if self._interrupted else result.exit_code
            if code >= _JUMPS:
                break
            self._variables["?"] = str(code)
        return CommandResult("".join(stdout), "".join(stderr), code)

    def _expander(self) -> Expander:
        return Expander(self._variables, self._substituted, self._names_in)

    def _substituted(self, text: str) -> str:
        """What a command prints, run in a copy of the shell."""
        variables = dict(self._variables)
        try:
            result = self._script(parse(text))
        except ShellSyntaxError:
            return ""
        finally:
            self._variables = variables
        return result.stdout

    def _names_in(self, folder: str) -> list[str]:
        folder = self._at(folder)
        answer = self.host.run(["ls", folder])
        names = answer.stdout.split("\n")[:-1] if answer is not None and not answer.code else []
        return [] if names == [folder] else names  # a file lists itself

    def program(self, argv: Sequence[str]) -> CommandResult | None:
        """Run a program that lies on the node's disk but is not the host's here; None if it is none of them."""
        name = argv[0].rpartition("/")[2]
        if name in ("sh", "bash"):
            return self.sh(argv[2]) if len(argv) > 2 and argv[1] == "-c" else None
        own = self._own(name) if name in _ON_DISK else None
        return own([name, *argv[1:]]) if own is not None else None

    def _pipeline(self, pipeline: Pipeline) -> CommandResult:
        text, errors, code = "", "", 0
        for number, step in enumerate(pipeline.steps):
            result = self._step(step, text, piped=number > 0)
            text, code = result.stdout, result.exit_code
            errors += result.stderr
        return CommandResult(text, errors, int(not code) if pipeline.negated else code)

    def _step(self, step: Step, stdin: str, *, piped: bool) -> CommandResult:
        expander = self._expander()
        for redirection in step.redirections:
            if redirection.stream == 0:
                target = expander.text(redirection.target)
                found = target if redirection.here else self._read(target)
                if found is None:
                    return CommandResult("", f"bash: {target}: No such file or directory\n", 1)
                stdin, piped = found, True
        if step.kind == "simple":
            result = self._simple(step.words, stdin)
        else:
            before = self._input
            self._input = stdin.split("\n")[: -1 if stdin.endswith("\n") else None] if piped else self._input
            result = self._compound(step)
            self._input = before
        return self._redirected(step.redirections, result, expander)

    def _redirected(
        self, redirections: tuple[Redirection, ...], result: CommandResult, expander: Expander
    ) -> CommandResult:
        stdout, stderr = result.stdout, result.stderr
        for redirection in redirections:
            if redirection.onto == "&1":
                # Left to right, as bash does: standard error goes where standard output goes now.
                sent = redirection is not redirections[0] and any(r.stream == 1 and not r.onto for r in redirections)
                stdout, stderr = (stdout, "") if sent else (stdout + stderr, "")
            elif redirection.onto == "&2":
                stdout, stderr = "", stderr + stdout
            elif redirection.stream in (1, 2):
                text = stdout if redirection.stream == 1 else stderr
                both = redirection.stream == 1 and any(r.onto == "&1" for r in redirections)
                problem = self._save(
                    expander.text(redirection.target), text + (stderr if both else ""), redirection.append
                )
                if problem:
                    return CommandResult("", problem, 1)
                stdout, stderr = ("", "" if both else stderr) if redirection.stream == 1 else (stdout, "")
        return CommandResult(stdout, stderr, result.exit_code)

    def _compound(self, step: Step) -> CommandResult:
        if step.kind == "group":
            return self._script(step.bodies[0])
        if step.kind == "if":
            return self._condition(step)
        rounds = self._expander().arguments(step.words) if step.kind == "for" else repeat("")
        stdout, stderr, code, idle = "", "", 0, 0
        for value in rounds:
            place = (self.clock.now, len(self._input))
            if step.kind == "for":
                self._variables[step.name] = value
            else:
                result = self._script(step.bodies[0])
                stdout, stderr = stdout + result.stdout, stderr + result.stderr
                if (result.exit_code != 0) == (step.kind == "while"):
                    break
            result = self._script(step.bodies[-1])
            stdout, stderr, code = stdout + result.stdout, stderr + result.stderr, result.exit_code
            if code == _CONTINUE:
                code = 0
            idle = idle + 1 if step.kind != "for" and place == (self.clock.now, len(self._input)) else 0
            if idle == _MOST_ROUNDS:
                self._let_pass(_ENDLESS_NS)
            if idle == _MOST_ROUNDS or 0 <= self._until_ns <= self.clock.now or code >= _JUMPS:
                code = 0 if code == _BREAK else code
                break
        return CommandResult(stdout, stderr, code)

    def _condition(self, step: Step) -> CommandResult:
        stdout, stderr, bodies = "", "", list(step.bodies)
        while len(bodies) > 1:
            result = self._script(bodies.pop(0))
            stdout, stderr = stdout + result.stdout, stderr + result.stderr
            then = bodies.pop(0)
            if result.exit_code == 0:
                bodies = [then]
                break
        if not bodies:
            return CommandResult(stdout, stderr, 0)
        result = self._script(bodies[0])
        return CommandResult(stdout + result.stdout, stderr + result.stderr, result.exit_code)

    def _simple(self, words: tuple[Word, ...], stdin: str) -> CommandResult:
        expander, rest = self._expander(), list(words)
        assigned: dict[str, str] = {}
        while rest and _assignment(rest[0]):
            name, value = _split(rest.pop(0))
            assigned[name] = expander.text(value)
        argv = expander.arguments(tuple(rest))
        if not argv:
            self._variables.update(assigned)
            return CommandResult("", "", int(self._variables["?"]) if not assigned else 0)
        return self._program(argv, stdin)

    @property
    def _interrupted(self) -> bool:
        """Whether somebody has pressed Ctrl-C on what runs: the clock of a command remembers."""
        return bool(getattr(self.clock, "cut", False))

    def _let_pass(self, duration_ns: int) -> None:
        """Let time pass, up to where `timeout` or Ctrl-C ends what waits."""
        if self._until_ns >= 0:
            duration_ns = min(duration_ns, self._until_ns - self.clock.now)
        with suppress(Interrupted):  # whoever runs programs looks at `_interrupted`
            self.clock.advance(max(0, duration_ns))

    def _program(self, argv: list[str], stdin: str) -> CommandResult:
        if self._interrupted:
            return CommandResult("", "", _EXIT + _INTERRUPTED)
        while len(argv) > 1 and argv[0] in _PREFIXES:
            argv = argv[1:]
        name = argv[0].rpartition("/")[2] if argv[0].startswith(("/bin/", "/usr/bin/", "/usr/sbin/")) else argv[0]
        if name == "xargs":
            return self._xargs(argv, stdin)
        if name == "grep" and any(word in ("-r", "-R", "-rn", "-ri", "-rl", "--recursive") for word in argv):
            argv = self._files_below(argv)
        if name == "timeout" and len(argv) > 2:
            return self._timeout(argv, stdin)
        if name == "read":
            return self._take_line(argv[1:])
        if self._variables["PWD"] != folders.HOME:
            argv = folders.located([name, *argv[1:]], self._variables["PWD"], self._is_there)
        if name in _NEED_TERMINAL:
            return CommandResult("", f"{name}: Error opening terminal: unknown.\n", 1)
        own = self._own(name)
        if own is not None:
            return own(argv)
        in_place = next((word for word in argv if word.startswith("-i") or word == "--in-place"), None)
        if name == "sed" and in_place is not None:
            rest = [word for word in argv if word != in_place]
            return self._sed_in_place(rest, in_place[2:] if in_place.startswith("-i") else "")
        if name in TEXT_FILTERS:
            return TEXT_FILTERS[name]([name, *argv[1:]], stdin, self._read)
        answer = self.host.run([name, *argv[1:]], stdin) if stdin else self.host.run([name, *argv[1:]])
        if answer is None:
            return CommandResult("", f"bash: {argv[0]}: command not found\n", _NOT_FOUND)
        return self._waited_for(answer)

    def _xargs(self, argv: Sequence[str], stdin: str) -> CommandResult:
        wanted = builtin.batches(argv, stdin)
        if wanted.problem:
            return CommandResult("", wanted.problem, 1)
        results = [self._program(command, "") for command in wanted.commands]
        failed = any(result.exit_code for result in results)
        # xargs(1): 123 if any invocation failed, 127 if the command cannot be found.
        code = 0 if not failed else 127 if any(result.exit_code == _NOT_FOUND for result in results) else 123
        return CommandResult("".join(r.stdout for r in results), "".join(r.stderr for r in results), code)

    def _files_below(self, argv: list[str]) -> list[str]:
        """`grep -r`: the folders among its words are replaced by the files in them."""
        found: list[str] = []
        for word in argv:
            answer = self.host.run(["find", word, "-type", "f"]) if word.startswith("/") else None
            paths = answer.stdout.split() if answer is not None and not answer.code else []
            found += paths or [word]
        named = [] if any(word in ("-h", "-l") for word in argv) else ["-H"]
        flags = [word.replace("r", "", 1).replace("R", "", 1) if word in ("-r", "-R", "-rn", "-ri", "-rl") else word
                 for word in found[1:] if word != "--recursive"]  # fmt: skip
        return [found[0], *named, *(word for word in flags if word != "-")]

    def _timeout(self, argv: list[str], stdin: str) -> CommandResult:
        rest = argv[1:]
        while rest and rest[0].startswith("-"):
            rest = rest[2:] if rest[0] in ("-s", "-k", "--signal", "--kill-after") else rest[1:]
        try:
            limit_ns = parse_duration(rest[0] if rest[0][-1:].isalpha() else rest[0] + "s")
        except (ValueError, IndexError):
            return CommandResult("", f"timeout: invalid time interval ‘{rest[0] if rest else ''}’\n"
                                     "Try 'timeout --help' for more information.\n", 125)  # fmt: skip
        before, self._until_ns = self._until_ns, self.clock.now + limit_ns
        try:
            result = self._program(rest[1:], stdin) if len(rest) > 1 else CommandResult("")
            late = self.clock.now >= self._until_ns
        finally:
            self._until_ns = before
        return result._replace(exit_code=124) if late and result.exit_code == 0 else result

    def _take_line(self, names: Sequence[str]) -> CommandResult:
        """`read NAME...`: the next line of what was piped into the loop."""
        wanted = [name for name in names if not name.startswith("-")] or ["REPLY"]
        if not self._input:
            self._variables.update(dict.fromkeys(wanted, ""))
            return CommandResult("", "", 1)
        words = self._input.pop(0).strip().split(None, len(wanted) - 1)
        self._variables.update({name: words[i] if i < len(words) else "" for i, name in enumerate(wanted)})
        return CommandResult("")

    def _waited_for(self, answer: HostAnswer) -> CommandResult:
        """The whole output of a program that waits in between (for a drive, for the next interval)."""
        stdout, stderr, turns = "", "", 0
        while True:
            pause_ns = getattr(answer, "pause_ns", 0) if turns < _MOST_TURNS else 0
            argv = getattr(answer, "argv", ())
            ends_ns = self.clock.now + pause_ns
            self._let_pass(pause_ns)
            if argv or self.clock.now >= ends_ns:  # else it was ended before it had done what it would tell
                stdout, stderr = stdout + answer.stdout, stderr + answer.stderr
            ended = self._interrupted or 0 <= self._until_ns <= self.clock.now
            following = None
            if pause_ns and argv and not ended:
                following = self.host.run(list(argv), getattr(answer, "stdin", ""))
            if following is None:
                return CommandResult(stdout, stderr, answer.code)
            answer, turns = following, turns + 1

    def _own(self, name: str) -> Callable[[Sequence[str]], CommandResult] | None:
        found: dict[str, Callable[[Sequence[str]], CommandResult]] = {
            "systemctl": self._systemctl,
            "service": self._service,
            "journalctl": self._journalctl,
            "sleep": self._sleep,
            "hostname": self._hostname,
            "whoami": self._whoami,
            "pwd": self._pwd,
            "true": self._true,
            ":": self._true,
            "false": self._false,
            "[": self._test,
            "[[": self._test,
            "test": self._test,
            "printf": self._printf,
            "export": self._export,
            "local": self._export,
            "set": self._true,
            "cd": self._cd,
            "ulimit": self._ulimit,
            "type": self._which,
            "which": self._which,
            "break": self._break,
            "continue": self._continue,
            "exit": self._exit,
        }
        return found.get(name)

    def _save(self, path: str, text: str, append: bool) -> str:
        """Write to the file of a redirection; an error text or ""."""
        if path == "/dev/null":
            return ""
        path = self._at(path)
        answer = self.host.run(["tee", "-a", path] if append else ["tee", path], text)
        if answer is None:
            return f"bash: {path}: Read-only file system\n"
        return "" if answer.code == 0 else answer.stderr.replace("tee:", "bash:", 1)

    def _sed_in_place(self, argv: list[str], suffix: str) -> CommandResult:
        """`sed -i` (and `-i.bak`): what sed prints for each file becomes its text."""
        count = len(argv) if any(word in ("-e", "--expression") for word in argv) else 0
        at = next((i for i, word in enumerate(argv) if i and not word.startswith("-")), len(argv) - 1)
        first = at + 1
        if count:  # every script stands behind an -e
            first = max(i for i, word in enumerate(argv) if word in ("-e", "--expression")) + 2
        errors, code = "", 0
        for path in argv[first:]:
            before = self._read(path)
            if before is None:
                errors, code = errors + f"sed: can't read {path}: No such file or directory\n", 2
                continue
            result = TEXT_FILTERS["sed"](["sed", *argv[1:first]], before, self._read)
            if result.exit_code:
                return result
            if suffix:
                self.host.run(["tee", path + suffix], before)
            self.host.run(["tee", path], result.stdout)
        return CommandResult("", errors, code)

    def _read(self, path: str) -> str | None:
        answer = self.host.run(["cat", self._at(path)])
        return answer.stdout if answer is not None and answer.code == 0 else None

    def _systemctl(self, argv: Sequence[str]) -> CommandResult:
        return systemctl.run(self.host, argv, self._wall_ns())

    def _wall_ns(self) -> int:
        """What the node's clock shows."""
        return self.clock.now + getattr(self.host, "clock_error_ns", 0)

    def _service(self, argv: Sequence[str]) -> CommandResult:
        if len(argv) < 3:
            return CommandResult("", "Usage: service < option > | --status-all | [ service_name [ command ] ]\n", 1)
        return systemctl.run(self.host, ["systemctl", argv[2], argv[1]], self._wall_ns())

    def _journalctl(self, argv: Sequence[str]) -> CommandResult:
        return journalctl.run(self.host, argv, self._wall_ns())

    def _sleep(self, argv: Sequence[str]) -> CommandResult:
        if len(argv) < 2:
            return CommandResult("", "sleep: missing operand\nTry 'sleep --help' for more information.\n", 1)
        for word in argv[1:]:
            try:
                duration_ns = parse_duration(word if word[-1:].isalpha() else word + "s")
            except ValueError:
                return CommandResult("", f"sleep: invalid time interval '{word}'\n", 1)
            self._let_pass(duration_ns)
        return CommandResult("")

    def _hostname(self, argv: Sequence[str]) -> CommandResult:
        return CommandResult(self.host.name + "\n")

    def _whoami(self, argv: Sequence[str]) -> CommandResult:
        return CommandResult("root\n")

    def _pwd(self, argv: Sequence[str]) -> CommandResult:
        return CommandResult(self._variables["PWD"] + "\n")

    def _cd(self, argv: Sequence[str]) -> CommandResult:
        words = [word for word in argv[1:] if word not in ("--", "-P", "-L")]
        if len(words) > 1:
            return CommandResult("", "bash: cd: too many arguments\n", 1)
        target = words[0] if words else folders.HOME
        if target == "-":
            target = self._variables.get("OLDPWD", "")
            if not target:
                return CommandResult("", "bash: cd: OLDPWD not set\n", 1)
        path = self._at(target)
        if not self._exists("d", path):
            why = "Not a directory" if self._is_there(path) else "No such file or directory"
            return CommandResult("", f"bash: cd: {target}: {why}\n", 1)
        self._variables["OLDPWD"], self._variables["PWD"] = self._variables["PWD"], path
        return CommandResult(f"{path}\n" if words == ["-"] else "")

    def _at(self, path: str) -> str:
        return folders.absolute(self._variables["PWD"], path)

    def _is_there(self, path: str) -> bool:
        return self._exists("e", path)

    def _ulimit(self, argv: Sequence[str]) -> CommandResult:
        return limits.ulimit(argv[1:], self._read("/proc/1/limits") or "")

    def _which(self, argv: Sequence[str]) -> CommandResult:
        """`which NAME...` and `type NAME...`: what there is on this node."""
        found, missing = [], []
        for word in argv[1:]:
            if word.startswith("-"):
                continue
            own = self._own(word) is not None and word not in _ON_DISK
            if not (own or word in _ON_DISK or word in TEXT_FILTERS or self._knows(word)):
                missing.append(word)
            elif argv[0] == "type" and own:
                found.append(f"{word} is a shell builtin")
            elif not own:
                found.append(f"{word} is /usr/bin/{word}" if argv[0] == "type" else f"/usr/bin/{word}")
        errors = "".join(f"bash: type: {word}: not found\n" for word in missing) if argv[0] == "type" else ""
        return CommandResult("".join(line + "\n" for line in found), errors, 1 if missing else 0)

    def _knows(self, name: str) -> bool:
        has = getattr(self.host, "has_program", None)
        return has is not None and bool(has(name))

    def _true(self, argv: Sequence[str]) -> CommandResult:
        return CommandResult("")

    def _false(self, argv: Sequence[str]) -> CommandResult:
        return CommandResult("", "", 1)

    def _break(self, argv: Sequence[str]) -> CommandResult:
        return CommandResult("", "", _BREAK)

    def _continue(self, argv: Sequence[str]) -> CommandResult:
        return CommandResult("", "", _CONTINUE)

    def _exit(self, argv: Sequence[str]) -> CommandResult:
        given = argv[1] if len(argv) > 1 else self._variables["?"]
        return CommandResult("", "", _EXIT + (int(given) % 256 if given.isdigit() else 2))

    def _test(self, argv: Sequence[str]) -> CommandResult:
        closer = {"[": "]", "[[": "]]"}.get(argv[0], "")
        if closer and argv[-1] != closer:
            return CommandResult("", f"bash: {argv[0]}: missing `{closer}'\n", 2)
        words = argv[1:-1] if closer else argv[1:]
        try:
            return CommandResult("", "", 0 if builtin.holds(words, self._exists) else 1)
        except builtin.WrongTest as error:
            return CommandResult("", f"bash: {argv[0]}: {error}\n", 2)

    def _exists(self, letter: str, path: str) -> bool:
        path = self._at(path)
        if letter == "d":
            folder = self.host.run(["ls", "-ld", path])
            return folder is not None and folder.code == 0 and folder.stdout.startswith("d")
        answer = self.host.run(["ls", "-d", path])
        return answer is not None and answer.code == 0

    def _printf(self, argv: Sequence[str]) -> CommandResult:
        if len(argv) < 2:
            return CommandResult("", "printf: usage: printf [-v var] format [arguments]\n", 2)
        return CommandResult(builtin.printf(argv[1:]))

    def _export(self, argv: Sequence[str]) -> CommandResult:
        for word in argv[1:]:
            name, equals, value = word.partition("=")
            if equals:
                self._variables[name] = value
        return CommandResult("")


#: Exit statuses by which `break`, `continue` and `exit` leave what they stand in.
_JUMPS = 1 << 16
_BREAK, _CONTINUE, _EXIT = _JUMPS, 2 * _JUMPS, 3 * _JUMPS
#: Exit status of a shell that was interrupted (128 + SIGINT).
_INTERRUPTED = 130


def _assignment(word: Word) -> bool:
    """Whether a word is `NAME=...`."""
    name = ""
    for part in word:
        if part.kind != "text" or part.quoted:
            return False
        if part.text == "=":
            return name.isidentifier()
        name += part.text
    return False


def _split(word: Word) -> tuple[str, Word]:
    at = next(index for index, part in enumerate(word) if part.text == "=" and not part.quoted)
    return "".join(part.text for part in word[:at]), word[at + 1 :]
