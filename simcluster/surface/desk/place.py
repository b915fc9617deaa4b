"""The operator's desk as a shell meets it: the common tools, kubectl, ssh and curl, and a home folder of the world.

Nothing here reads or runs anything of the machine on which the simulation runs: files and users are the desk's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from simcluster.models.userland.bare import PATH, BarePlace
from simcluster.models.userland.face import BASH
from simcluster.models.userland.memory import MemoryFiles
from simcluster.models.userland.outcome import INTERRUPTED, Outcome
from simcluster.models.userland.place import Call
from simcluster.surface.desk import sshclient
from simcluster.surface.desk.manifests import DeskManifests
from simcluster.surface.kubectl import Kubectl
from simcluster.surface.nodeshell.shell import shell_result
from simcluster.surface.protocols import Clock, Interrupted

HOME = "/root"
#: Exit status of what `timeout` has ended.
TIMED_OUT = 124
_PROGRAMS = ("curl", "k", "kubectl", "ssh", "wget")
#: Programs of the table that nobody has installed at the desk.
_MISSING = ("busybox", "gawk", "tmux")


class Exchange(Protocol):
    """Asks an address from outside of the cluster: (argv, standard input) -> what curl or wget prints."""

    def __call__(self, argv: Sequence[str], stdin: str) -> Outcome:
        """One exchange."""


class Doors(NamedTuple):
    """What the desk reaches.

    Attributes:
        kubectl: the API server's client, as the operator.
        login: runs a command line on a node as root: (node, command, standard input, clock).
        exchange: curl and wget.
    """

    kubectl: Callable[[], Kubectl]
    login: Callable[[str, str, str, Clock], Outcome]
    exchange: Exchange


class Limited:
    """A clock that `timeout` ends earlier than the desk's own (`surface.protocols.Clock`)."""

    def __init__(self, clock: Clock, until_ns: int) -> None:
        self._clock = clock
        self._until_ns = until_ns
        self.expired = False

    @property
    def now(self) -> int:
        """Simulated nanoseconds."""
        return self._clock.now

    @property
    def cut(self) -> bool:
        """Whether whoever waits has been interrupted."""
        return self.expired or bool(getattr(self._clock, "cut", False))

    @property
    def left_ns(self) -> int | None:
        """How long somebody goes on waiting."""
        mine = None if self._until_ns < 0 else max(0, self._until_ns - self.now)
        others = getattr(self._clock, "left_ns", None)
        given = [each for each in (mine, others) if each is not None]
        return min(given) if given else None

    def advance(self, duration_ns: int) -> None:
        """Let the world live on. Raises Interrupted."""
        if 0 <= self._until_ns < self.now + duration_ns:
            self._clock.advance(max(0, self._until_ns - self.now))
            self.expired = True
            raise Interrupted(TIMED_OUT)
        self._clock.advance(duration_ns)


class Desk:
    """The desk, which keeps its files from command to command.

    Args:
        clock: simulated time.
        doors: what it reaches.
    """

    def __init__(self, clock: Clock, doors: Doors) -> None:
        self.clock = clock
        self.doors = doors
        self.files = MemoryFiles(self.now_ns)
        for path in (f"{HOME}/.kube", "/tmp", "/etc", "/var/log", "/usr/bin", "/root"):
            self.files.make_folders(path)
        self.files.adorn("/tmp", mode=0o1777)
        self.files.put("/etc/hostname", "desk\n")
        self.files.put("/etc/hosts", "127.0.0.1\tlocalhost\n127.0.1.1\tdesk\n")
        self.files.put(
            "/etc/os-release",
            'PRETTY_NAME="Ubuntu 24.04.2 LTS"\nNAME="Ubuntu"\nVERSION_ID="24.04"\nID=ubuntu\nID_LIKE=debian\n',
        )
        self.files.put("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\n")

    def now_ns(self) -> int:
        """The simulated instant."""
        return self.clock.now

    def sh(self, command: str, stdin: str = "") -> Outcome:
        """Run one command line or a script."""
        env = {
            "PATH": PATH,
            "HOME": HOME,
            "USER": "root",
            "LOGNAME": "root",
            "SHELL": "/bin/bash",
            "LANG": "C.UTF-8",
            "HOSTNAME": "desk",
            "TERM": "dumb",
        }
        return shell_result(DeskPlace(self), self.clock, command, env, stdin)


class DeskPlace(BarePlace):
    """The desk for one command line."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(BASH, desk.files, "desk", more=_PROGRAMS, without=_MISSING)
        self._desk = desk

    def own(self, call: Call) -> Outcome | None:
        """kubectl, ssh, curl."""
        if call.name in ("kubectl", "k"):
            return self._kubectl(call)
        if call.name == "ssh":
            return sshclient.run(call, self._login)
        if call.name in ("curl", "wget"):
            return self._desk.doors.exchange(call.argv, call.stdin())
        return None

    def _limited(self, call: Call) -> Limited:
        return Limited(self._desk.clock, call.until_ns)

    def _kubectl(self, call: Call) -> Outcome:
        client, clock = self._desk.doors.kubectl(), self._limited(call)
        before, client.clock = client.clock, clock
        reads = any(word == "-" or word.endswith("=-") or word in ("-i", "-it", "-ti", "--stdin") for word in call.args)
        try:
            result = client.run(call.args, call.stdin() if reads else "", DeskManifests(self.files, call.cwd))
        except Interrupted as ended:
            result = Outcome("", "", ended.exit_code)
        finally:
            client.clock = before
        code = TIMED_OUT if clock.expired else INTERRUPTED if clock.cut else result.exit_code
        return Outcome(result.stdout, result.stderr, code)

    def _login(self, node: str, command: str, stdin: str, call: Call) -> Outcome:
        clock = self._limited(call)
        try:
            result = self._desk.doors.login(node, command, stdin, clock)
        except Interrupted as ended:
            result = Outcome("", "", ended.exit_code)
        return Outcome(result.stdout, result.stderr, TIMED_OUT if clock.expired else result.exit_code)
