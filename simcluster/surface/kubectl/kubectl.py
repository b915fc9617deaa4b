"""The in-process kubectl: parses a command line, runs the verb, returns what it printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simcluster.api.request import ADMIN, Impersonation, User
from simcluster.engine import shellwords
from simcluster.models.userland.outcome import KILLED, Exhausted, Outcome
from simcluster.surface.kubectl import klog
from simcluster.surface.kubectl.commands import ALIASES, COMMANDS, Command
from simcluster.surface.kubectl.discovery import Discovery
from simcluster.surface.kubectl.errors import KubectlError, StatusError, usage
from simcluster.surface.kubectl.flags import GLOBAL_FLAGS, Arguments, parse
from simcluster.surface.kubectl.help import help_text
from simcluster.surface.kubectl.invocation import Caller, Desk, Invocation, Place
from simcluster.surface.kubectl.kubeconfig import KubeConfig, check_context, check_server
from simcluster.surface.protocols import ApiEndpoint, Clock, Interrupted, Workstation

#: What separates or redirects commands in a shell.
_OF_SHELLS = ("|", "||", "&&", ";", "&", ">", ">>", "<", "<<", "2>", "2>&1", "2>/dev/null")


class Kubectl:
    """kubectl 1.32 as one user of one cluster.

    Args:
        api: the API server.
        clock: simulated time; blocking commands let it run.
        namespace: of the current context.
        user: who is asking.
        config: the kubeconfig; by default the one context of a simulated cluster.
        workstation: programs beside kubectl, such as an editor; None if there are none.
    """

    def __init__(
        self,
        api: ApiEndpoint,
        clock: Clock,
        *,
        namespace: str = "default",
        user: User = ADMIN,
        config: KubeConfig | None = None,
        workstation: Workstation | None = None,
    ) -> None:
        self.api = api
        self.clock = clock
        self.namespace = namespace
        self.user = user
        self.config = config or KubeConfig()
        self.workstation = workstation
        self.forwarding: tuple[str, str] | None = None  # pod of the last port-forward
        self._discovery = Discovery()

    def run(self, command: str | Sequence[str], stdin: str = "", files: Mapping[str, str] | None = None) -> Outcome:
        """Run a command line without the leading word `kubectl`.

        Args:
            command: the words, or a line that is split as a POSIX shell does (nothing is expanded).
            stdin: what `-f -` and `exec -i` read.
            files: what `-f FILE` finds, by path; there are no other files.
        """
        try:
            words = shellwords.split(command) if isinstance(command, str) else list(command)
        except ValueError as error:
            return Outcome("", f"error: {error}\n", 1)
        if words[:1] == ["kubectl"]:
            words = words[1:]
        sign = next((word for word in words if word in _OF_SHELLS), "") if isinstance(command, str) else ""
        if sign:
            text = f"error: {sign!r} is the shell's, and kubectl runs without one: "
            text += 'give the whole line to sh("kubectl ...")\n'
            return Outcome("", text, 1)
        try:
            path, found, rest = locate(words)
        except KubectlError as error:
            return Outcome("", error.text.removesuffix("\n") + "\n", error.code)
        if found.run is None:
            return self._group(path, found, rest)
        return self._execute(path, found, rest, stdin, {} if files is None else files)

    def _group(self, path: str, found: Command, rest: list[str]) -> Outcome:
        words = [word for word in rest if not word.startswith("-")]
        if words and path:
            error = usage(path, f'unknown command "{" ".join(words)}"')
            return Outcome("", error.text + "\n", 1)
        if path and not any(word in ("-h", "--help") for word in rest):
            text = help_text(path, found)  # a group alone is an error; rollout's help goes to standard output
            return Outcome(text, "", 1) if path == "rollout" else Outcome("", text, 1)
        return Outcome(help_text(path, found))

    def _execute(self, path: str, found: Command, rest: list[str], stdin: str, files: Mapping[str, str]) -> Outcome:
        invocation: Invocation | None = None
        try:
            arguments = parse(path, rest, found.flags)
            if arguments.on("help"):
                return Outcome(help_text(path, found))
            invocation = self._invocation(arguments, stdin, files)
            if arguments.has("record") and arguments.given("record"):
                invocation.note("Flag --record has been deprecated, --record will be removed in the future")
            assert found.run is not None, path
            found.run(invocation, arguments)
            self.namespace = invocation.context_namespace
        except Exhausted:  # what it was to print does not fit into memory
            return Outcome("", "Killed\n", KILLED)
        except KubectlError as error:
            if invocation is not None and isinstance(error, StatusError):
                invocation.log(klog.DEBUG, "helpers.go:246", klog.status_text(error.status))
            out, err = (invocation.out, invocation.err) if invocation is not None else ([], [])
            text = error.text if error.text.endswith("\n") else error.text + "\n"
            return Outcome("".join(out), "".join(err) + text, error.code)
        except Interrupted as interrupt:
            if invocation is None:
                return Outcome("", "", interrupt.exit_code)
            self.forwarding = invocation.forwarding
            return Outcome("".join(invocation.out), "".join(invocation.err), interrupt.exit_code)
        return Outcome("".join(invocation.out), "".join(invocation.err), invocation.exit_code)

    def _invocation(self, arguments: Arguments, stdin: str, files: Mapping[str, str]) -> Invocation:
        check_context(arguments, self.config)
        check_server(arguments, self.config, self.clock.now)
        namespace = arguments.text("namespace") or self.namespace
        invocation = Invocation(
            self.api,
            self.clock,
            self._discovery,
            Caller(self.user, arguments.text("token"), _impersonation(arguments)),
            Place(namespace, arguments.given("namespace"), self.namespace),
            Desk(stdin, files, self.config, self.workstation, arguments.number("v")),
        )
        file = arguments.text("kubeconfig") or "/root/.kube/config"
        invocation.log(klog.REQUESTS, "loader.go:402", f"Config loaded from file:  {file}")
        return invocation


def _impersonation(arguments: Arguments) -> Impersonation | None:
    """Whom `--as`, `--as-group` and `--as-uid` name."""
    if not any(arguments.given(name) for name in ("as", "as-group", "as-uid")):
        return None
    return Impersonation(arguments.text("as"), tuple(arguments.texts("as-group")), arguments.text("as-uid"))


_VALUED = {f"--{flag.name}" for flag in GLOBAL_FLAGS if not flag.bare} | {
    f"-{flag.short}" for flag in GLOBAL_FLAGS if flag.short and not flag.bare
}


def _next_word(words: Sequence[str], start: int = 0) -> int:
    """Position of the first word that is no flag and no flag's value; -1 if there is none."""
    position = start
    while position < len(words):
        word = words[position]
        if word == "--":
            return -1
        if not word.startswith("-"):
            return position
        position += 2 if word in _VALUED else 1
    return -1


def locate(words: Sequence[str]) -> tuple[str, Command, list[str]]:
    """The command that words mean: its path, itself, and the words that remain.

    Raises:
        KubectlError: unknown command.
    """
    rest = list(words)
    path: list[str] = []
    found = Command(subcommands=COMMANDS)
    while found.subcommands:
        position = _next_word(rest)
        if position < 0 or rest[position] not in found.subcommands:
            if not path and position >= 0:
                raise _unknown(rest[position])
            break
        name = rest.pop(position)
        found = found.subcommands[name]
        path.append(ALIASES.get(" ".join(path), {}).get(name, name))
    return " ".join(path), found, rest


def _unknown(word: str) -> KubectlError:
    near = [name for name in COMMANDS if _near(word, name) or name.startswith(word.lower())]
    text = f'error: unknown command "{word}" for "kubectl"'
    if near:
        text += "\n\nDid you mean this?\n" + "".join(f"\t{name}\n" for name in near)
    return KubectlError(text)


def _near(word: str, name: str) -> bool:
    """Whether two letters changed make one of the other."""
    return abs(len(word) - len(name)) <= 2 and _distance(word, name) <= 2


def _distance(a: str, b: str) -> int:
    """Levenshtein distance without regard to case."""
    a, b = a.lower(), b.lower()
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]
