"""The shell of somebody logged in as root on a node."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from simcluster.engine import parse_duration
from simcluster.engine.clock import format_rfc3339, month_name
from simcluster.surface.nodeshell import globs, journalctl, systemctl
from simcluster.surface.nodeshell.clocktext import stamp
from simcluster.surface.nodeshell.commandline import Pipeline, ShellSyntaxError, Step, parse
from simcluster.surface.nodeshell.textfilters import TEXT_FILTERS
from simcluster.surface.protocols import Clock, CommandResult, Host, HostAnswer

_NOT_FOUND = 127
#: What somebody in a chroot of the node's file system can start as well.
_ON_DISK = ("systemctl", "service", "journalctl", "date", "hostname", "uptime", "whoami")
#: Reports that a program with an interval but no count gives before somebody presses ^C.
_MOST_TURNS = 60
#: Words that only set the scene for the program after them.
_PREFIXES = ("sudo", "exec", "command", "nohup", "time")


class NodeShell:
    """A root shell on a node: systemctl, journalctl, text filters, and what the host has.

    Args:
        host: the node's operating system.
        clock: simulated time, for `sleep` and for ages.
    """

    def __init__(self, host: Host, clock: Clock) -> None:
        self.host = host
        self.clock = clock

    def sh(self, command: str) -> CommandResult:
        """Run one command line; the exit status is that of the last pipeline that ran."""
        try:
            pipelines = parse(command)
        except ShellSyntaxError as error:
            return CommandResult("", f"bash: -c: line 1: {error}\n", 2)
        stdout: list[str] = []
        stderr: list[str] = []
        code = 0
        for pipeline in pipelines:
            if (pipeline.operator == "&&" and code) or (pipeline.operator == "||" and not code):
                continue
            result = self._pipeline(self._expanded(pipeline, code))
            stdout.append(result.stdout)
            stderr.append(result.stderr)
            code = result.exit_code
        return CommandResult("".join(stdout), "".join(stderr), code)

    def _expanded(self, pipeline: Pipeline, code: int) -> Pipeline:
        """The pipeline with `$?` replaced by the last exit status, and patterns by the files that match."""
        steps = []
        for step in pipeline.steps:
            words = [word.replace(globs.STATUS, str(code)) for word in step.words]
            words = [path for word in words for path in globs.expanded(word, self._names_in)]
            steps.append(Step(tuple(words), step.redirections))
        return Pipeline(pipeline.operator, tuple(steps))

    def _names_in(self, folder: str) -> list[str]:
        answer = self.host.run(["ls", folder])
        return answer.stdout.split("\n")[:-1] if answer is not None and not answer.code else []

    def program(self, argv: Sequence[str]) -> CommandResult | None:
        """Run a program that lies on the node's disk but is not the host's here; None if it is none of them."""
        name = argv[0].rpartition("/")[2]
        if name in ("sh", "bash"):
            return self.sh(argv[2]) if len(argv) > 2 and argv[1] == "-c" else None
        own = self._own(name) if name in _ON_DISK else None
        return own([name, *argv[1:]]) if own is not None else None

    def _pipeline(self, pipeline: Pipeline) -> CommandResult:
        text, errors, code = "", "", 0
        for step in pipeline.steps:
            result = self._step(step, text)
            text, code = result.stdout, result.exit_code
            errors += result.stderr
        return CommandResult(text, errors, code)

    def _step(self, step: Step, stdin: str) -> CommandResult:
        for redirection in step.redirections:
            if redirection.stream == 0:
                found = self._read(redirection.target)
                if found is None:
                    return CommandResult("", f"bash: {redirection.target}: No such file or directory\n", 1)
                stdin = found
        result = self._program(list(step.words), stdin) if step.words else CommandResult("")
        stdout, stderr = result.stdout, result.stderr
        for redirection in step.redirections:
            if redirection == (2, "&1"):
                stdout, stderr = stdout + stderr, ""
            elif redirection == (1, "&2"):
                stdout, stderr = "", stderr + stdout
            elif redirection.stream in (1, 2):
                problem = self._save(redirection.target, stdout if redirection.stream == 1 else stderr)
                if problem:
                    return CommandResult("", problem, 1)
                stdout, stderr = ("", stderr) if redirection.stream == 1 else (stdout, "")
        return CommandResult(stdout, stderr, result.exit_code)

    def _program(self, argv: list[str], stdin: str) -> CommandResult:
        while len(argv) > 1 and argv[0] in _PREFIXES:
            argv = argv[1:]
        name = argv[0].rpartition("/")[2] if argv[0].startswith(("/bin/", "/usr/bin/", "/usr/sbin/")) else argv[0]
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

    def _waited_for(self, answer: HostAnswer) -> CommandResult:
        """The whole output of a program that waits in between (for a drive, for the next interval)."""
        stdout, stderr, turns = answer.stdout, answer.stderr, 0
        while (pause_ns := getattr(answer, "pause_ns", 0)) and turns < _MOST_TURNS:
            self.clock.advance(pause_ns)
            argv = getattr(answer, "argv", ())
            following = self.host.run(list(argv), getattr(answer, "stdin", "")) if argv else None
            if following is None:
                break
            answer, turns = following, turns + 1
            stdout, stderr = stdout + answer.stdout, stderr + answer.stderr
        return CommandResult(stdout, stderr, answer.code)

    def _own(self, name: str) -> Callable[[Sequence[str]], CommandResult] | None:
        found: dict[str, Callable[[Sequence[str]], CommandResult]] = {
            "systemctl": self._systemctl,
            "service": self._service,
            "journalctl": self._journalctl,
            "sleep": self._sleep,
            "date": self._date,
            "hostname": self._hostname,
            "uptime": self._uptime,
            "whoami": self._whoami,
            "true": self._true,
            ":": self._true,
            "false": self._false,
        }
        return found.get(name)

    def _save(self, target: str, text: str) -> str:
        """Write to the file of a redirection (`>>` has a `+` before its name); an error text or ""."""
        append, path = target.startswith("+"), target.removeprefix("+")
        if path == "/dev/null":
            return ""
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
        answer = self.host.run(["cat", path])
        return answer.stdout if answer is not None and answer.code == 0 else None

    def _systemctl(self, argv: Sequence[str]) -> CommandResult:
        return systemctl.run(self.host, argv, self.clock.now)

    def _service(self, argv: Sequence[str]) -> CommandResult:
        if len(argv) < 3:
            return CommandResult("", "Usage: service < option > | --status-all | [ service_name [ command ] ]\n", 1)
        return systemctl.run(self.host, ["systemctl", argv[2], argv[1]], self.clock.now)

    def _journalctl(self, argv: Sequence[str]) -> CommandResult:
        return journalctl.run(self.host, argv, self.clock.now)

    def _sleep(self, argv: Sequence[str]) -> CommandResult:
        if len(argv) < 2:
            return CommandResult("", "sleep: missing operand\nTry 'sleep --help' for more information.\n", 1)
        for word in argv[1:]:
            try:
                duration_ns = parse_duration(word if word[-1:].isalpha() else word + "s")
            except ValueError:
                return CommandResult("", f"sleep: invalid time interval '{word}'\n", 1)
            self.clock.advance(max(0, duration_ns))
        return CommandResult("")

    def _date(self, argv: Sequence[str]) -> CommandResult:
        setting = self.host.run(argv) if argv[1:2] in (["-s"], ["--set"]) else None
        if setting is not None:
            return CommandResult(setting.stdout, setting.stderr, setting.code)
        now = self.clock.now + getattr(self.host, "clock_error_ns", 0)
        text = format_rfc3339(now)
        for word in argv[1:]:
            if word.startswith("+"):
                for code, value in (
                    ("%F", text[:10]),
                    ("%T", text[11:19]),
                    ("%Y", text[:4]),
                    ("%m", text[5:7]),
                    ("%d", text[8:10]),
                    ("%H", text[11:13]),
                    ("%M", text[14:16]),
                    ("%S", text[17:19]),
                    ("%Z", "UTC"),
                ):
                    word = word.replace(code, value)
                return CommandResult(word[1:] + "\n")
            if word in ("-Is", "--iso-8601=seconds", "-Iseconds"):
                return CommandResult(text[:-1] + "+00:00\n")
        day, date, clock, zone = stamp(now).split()
        month = month_name(int(date[5:7]))
        return CommandResult(f"{day} {month} {int(date[8:10]):2} {clock} {zone} {date[:4]}\n")

    def _hostname(self, argv: Sequence[str]) -> CommandResult:
        return CommandResult(self.host.name + "\n")

    def _uptime(self, argv: Sequence[str]) -> CommandResult:
        answer = self.host.run(list(argv))
        if answer is not None:
            return CommandResult(answer.stdout, answer.stderr, answer.code)
        now = self.clock.now
        minutes = now // 60_000_000_000
        spent = f"{minutes // 60:2}:{minutes % 60:02}" if minutes >= 60 else f"{minutes} min"
        return CommandResult(f" {format_rfc3339(now)[11:19]} up {spent},  0 users\n")

    def _whoami(self, argv: Sequence[str]) -> CommandResult:
        return CommandResult("root\n")

    def _true(self, argv: Sequence[str]) -> CommandResult:
        return CommandResult("")

    def _false(self, argv: Sequence[str]) -> CommandResult:
        return CommandResult("", "", 1)
