"""The shell of somebody logged in as root on a node: bash, the host's programs, systemctl and journalctl."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from simcluster.models.userland.bare import PATH
from simcluster.models.userland.clocked import ClockedRunner
from simcluster.models.userland.escapes import raw
from simcluster.models.userland.grammar import compile_script, complaint
from simcluster.models.userland.lexer import Code, ShellSyntaxError
from simcluster.models.userland.outcome import INTERRUPTED, Outcome
from simcluster.models.userland.paths import FileError
from simcluster.models.userland.place import Call, Place
from simcluster.models.userland.process import Process
from simcluster.models.userland.stream import Stream
from simcluster.models.userland.ulimit import with_soft
from simcluster.surface.kubectl import Kubectl
from simcluster.surface.kubectl.placefiles import PlaceFiles
from simcluster.surface.nodeshell import journalctl, systemctl
from simcluster.surface.protocols import Clock, Host, Interrupted

HOME = "/root"
#: PID of the login shell.
LOGIN_PID = 1993


class Kubectls(Protocol):
    """Gives the client of the API server."""

    def __call__(self) -> Kubectl:
        """The client."""


class HostPrograms(Protocol):
    """Programs of a node that ask the cluster (`etcdctl`, `kubeadm`)."""

    def names(self, node: str) -> tuple[str, ...]:
        """Those that are installed on a node."""

    def run(self, node: str, call: Call) -> Outcome | None:
        """Run one of them; None if the node has none of this name."""


class NodeShell:
    """A root shell on a node: bash, the common tools, and what the host has.

    Args:
        host: the node's operating system.
        clock: simulated time, for `sleep` and for ages.
        kubectl: the client of a control plane, as its administrator; None where nobody hands one in.
        programs: those that ask the cluster.
    """

    def __init__(
        self, host: Host, clock: Clock, kubectl: Kubectls | None = None, programs: HostPrograms | None = None
    ) -> None:
        self.programs = programs
        self.host = host
        self.clock = clock
        self.kubectl = kubectl

    def sh(self, command: str, stdin: str = "") -> Outcome:
        """Run a command line or a script, as `ssh NODE COMMAND` does; its status is that of the last pipeline."""
        return shell_result(
            LoginPlace(self.host, self.clock, self.kubectl, self.programs),
            self.clock,
            command,
            self._environment(),
            stdin,
        )

    def program(self, argv: Sequence[str]) -> Outcome | None:
        """Run a program of the node, as somebody in a chroot of its file system does; None if there is none."""
        place = LoginPlace(self.host, self.clock, None, self.programs)
        if not argv or not place.located(argv[0]):
            return None
        code: Code = (("cmd", (), tuple((("lit", word, True),) for word in argv), (), 1),)
        return run_code(place, self.clock, code, self._environment())

    def _environment(self) -> dict[str, str]:
        return {"PATH": PATH, "HOME": HOME, "USER": "root", "LOGNAME": "root", "SHELL": "/bin/bash", "LANG": "C.UTF-8",
                "HOSTNAME": self.host.name, "TERM": "dumb"}  # fmt: skip


class Lasting(Protocol):
    """What lasts from command line to command line."""

    aliases: dict[str, str]

    def begin(self, process: Process) -> None:
        """A line begins."""

    def end(self, process: Process) -> None:
        """It is over."""


def shell_result(
    place: Place, clock: Clock, command: str, env: dict[str, str], stdin: str = "", lasting: Lasting | None = None
) -> Outcome:
    """What a shell of the place prints that is given a command line."""
    command = raw(command).decode("utf-8", "replace").replace("\0", "")
    try:
        aliases = () if lasting is None else tuple(sorted(lasting.aliases.items()))
        code = compile_script(command, place.face.shell, aliases)
    except ShellSyntaxError as problem:
        return Outcome("", complaint(problem, place.face, place.face.shell, command), 2)
    return run_code(place, clock, code, env, stdin, lasting)


def run_code(
    place: Place, clock: Clock, code: Code, env: dict[str, str], stdin: str = "", lasting: Lasting | None = None
) -> Outcome:
    """The same for a script that is compiled."""
    runner = ClockedRunner(place, clock, Interrupted)
    home = env.get("HOME", HOME)
    process = runner.launch(code, dict(env), name=place.face.shell)
    process.cwd = home
    process.shell_pid = LOGIN_PID
    process.fds[0] = ("in", Stream(stdin))
    if lasting is not None:
        lasting.begin(process)
    outcome = runner.finish()
    if lasting is not None:
        lasting.end(process)
    cut = bool(getattr(clock, "cut", False))
    out, errors = (raw(text).decode("utf-8", "replace") for text in (outcome.stdout, outcome.stderr))
    return Outcome(out, errors, INTERRUPTED if cut else outcome.code)


class LoginPlace:
    """A node with the programs that only its login shell knows, which speak to the units and the journal."""

    def __init__(
        self, host: Host, clock: Clock, kubectl: Kubectls | None = None, programs: HostPrograms | None = None
    ) -> None:
        self._asking = programs
        self._host = host
        self._clock = clock
        self._client = kubectl
        self._inner: Any = host.place()
        self.face, self.host, self.who, self.files = (
            self._inner.face,
            self._inner.host,
            self._inner.who,
            self._inner.files,
        )
        self._programs: dict[str, Callable[[Sequence[str]], Outcome]] = {
            "systemctl": self._systemctl,
            "service": self._service,
            "journalctl": self._journalctl,
        }

    def own(self, call: Call) -> Outcome | None:
        """systemctl, journalctl, or a program that shows the node."""
        if call.name == "kubectl":
            return self._kubectl(call)
        program = self._programs.get(call.name)
        if program is None and self._asking is not None:
            asked = self._asking.run(self._host.name, call)
            if asked is not None:
                return asked
        if program is None:
            found: Outcome | None = self._inner.own(call)
            return found
        return program([call.name, *call.args])

    def program(self, call: Call) -> Outcome | None:
        """Any program of the host."""
        found: Outcome | None = self._inner.program(call)
        return found

    def located(self, name: str) -> str:
        """Path of a program."""
        base = name.rpartition("/")[2]
        asking = () if self._asking is None else self._asking.names(self._host.name)
        if base in self._programs or base == "kubectl" or base in asking:
            return f"/usr/bin/{base}"
        return str(self._inner.located(name))

    def dial(self, host: str, port: int) -> tuple[str, int]:
        """What becomes of a connection, and how long that takes."""
        found: tuple[str, int] = self._inner.dial(host, port)
        return found

    def draw(self) -> int:
        """Random bits."""
        return int(self._inner.draw())

    def fork(self) -> str:
        """Why no process can be started, or empty."""
        return str(self._inner.fork())

    def reap(self, count: int) -> None:
        """So many processes are gone."""
        self._inner.reap(count)

    def offset_ns(self) -> int:
        """How far the node's clock is off."""
        return int(self._inner.offset_ns())

    def limits(self) -> str:
        """Those of init, but for what a login shell gets: descriptors (pam_limits, the kernel's default), no cores."""
        try:
            text = self.files.read("/proc/1/limits")
        except FileError:
            return ""
        return with_soft(with_soft(text, "Max open files", "1024"), "Max core file size", "0")

    def limited(self, letter: str, value: str, *, raised: bool, lasts: bool) -> bool:
        """Root may raise what it likes."""
        return False

    def _kubectl(self, call: Call) -> Outcome:
        """kubectl with /etc/kubernetes/admin.conf, which lies on a control plane alone."""
        if self._client is None or self.files.look("/etc/kubernetes/admin.conf") is None:
            refused = (
                "The connection to the server localhost:8080 was refused - did you specify the right host or port?\n"
            )
            return Outcome(stderr=refused, code=1)
        return self._client().run(call.args, call.stdin(), PlaceFiles(call.files, call.cwd))

    def _wall_ns(self) -> int:
        """What the node's clock shows."""
        return self._clock.now + self.offset_ns()

    def _systemctl(self, argv: Sequence[str]) -> Outcome:
        return systemctl.run(self._host, argv, self._wall_ns())

    def _service(self, argv: Sequence[str]) -> Outcome:
        if len(argv) < 3:
            return Outcome("", "Usage: service < option > | --status-all | [ service_name [ command ] ]\n", 1)
        return systemctl.run(self._host, ["systemctl", argv[2], argv[1]], self._wall_ns())

    def _journalctl(self, argv: Sequence[str]) -> Outcome:
        return journalctl.run(self._host, argv, self._wall_ns())
