"""The operator's desk as a shell meets it: the common tools, kubectl, ssh and curl, and a home folder of the world.

Nothing here reads or runs anything of the machine on which the simulation runs: files and users are the desk's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from simcluster.models.userland.bare import PATH, BarePlace
from simcluster.models.userland.face import BASH
from simcluster.models.userland.memory import MemoryFiles
from simcluster.models.userland.outcome import FOREVER_NS, INTERRUPTED, Outcome
from simcluster.models.userland.place import Call
from simcluster.surface.desk import sshclient
from simcluster.surface.desk.terminal import Forward, Terminal
from simcluster.surface.kubectl import Kubectl
from simcluster.surface.kubectl.errors import plain
from simcluster.surface.kubectl.placefiles import PlaceFiles
from simcluster.surface.nodeshell.shell import shell_result
from simcluster.surface.protocols import Clock, Interrupted

HOME = "/root"
#: Exit status of what `timeout` has ended.
TIMED_OUT = 124
#: What the kernel gives to who asks for any port (net.ipv4.ip_local_port_range).
FIRST_FREE_PORT = 32_768
_PROGRAMS = ("curl", "k", "kubectl", "scp", "ssh", "wget")
#: Verbs of openssl that look at certificates.
_CERTIFICATES = ("req", "s_client", "verify", "x509")
#: Programs of the table that nobody has installed at the desk.
_MISSING = ("busybox", "gawk", "tmux")


#: An address of the desk itself: scheme, host, port, path.
_LOCAL = re.compile(r"(https?://)?(localhost|127\.0\.0\.1)(?::(\d{1,5}))?((?:[/?].*)?)$")


class Exchange(Protocol):
    """Asks an address from outside of the cluster, as curl, wget and openssl do."""

    def __call__(self, call: Call) -> Outcome:
        """One exchange."""


class Doors(NamedTuple):
    """What the desk reaches.

    Attributes:
        kubectl: the API server's client, as the operator.
        login: runs a command line on a node as root: (node, command, standard input, clock).
        exchange: curl and wget.
        forwarded: curl and wget in the network of a pod: (namespace, pod, argv, call).
        proxied: curl and wget of `kubectl proxy`: (argv, call).
    """

    kubectl: Callable[[], Kubectl]
    login: Callable[[str, str, str, Clock], Outcome]
    exchange: Exchange
    forwarded: Callable[[str, str, Sequence[str], Call], Outcome]
    proxied: Callable[[Sequence[str], Call], Outcome]


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
    """The desk, which keeps its files and its terminal from command to command.

    Args:
        clock: simulated time.
        doors: what it reaches.
    """

    def __init__(self, clock: Clock, doors: Doors) -> None:
        self.clock = clock
        self.doors = doors
        self.terminal = Terminal(HOME)
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
        place = DeskPlace(self)
        return shell_result(place, self.clock, command, env, stdin, self.terminal)


class _Still:
    """A clock on which nobody waits: what blocks is interrupted at once (`surface.protocols.Clock`)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    @property
    def now(self) -> int:
        """Simulated nanoseconds."""
        return self._clock.now

    def advance(self, duration_ns: int) -> None:
        """Not at all. Raises Interrupted."""
        raise Interrupted


class _Editor:
    """The editor that $KUBE_EDITOR or $EDITOR names, run at the desk (`surface.protocols.Workstation`)."""

    def __init__(self, desk: Desk, command: str, call: Call) -> None:
        self._desk, self._command, self._call = desk, command, call

    def edit(self, text: str, suffix: str) -> str:
        """What it makes of a temporary file. Raises KubectlError if it fails."""
        desk = self._desk
        path = f"/tmp/kubectl-edit-{desk.terminal.lines}{suffix}"
        desk.files.put(path, text)
        line = f"cd {self._call.cwd} && {self._command} {path}"
        done = shell_result(DeskPlace(desk), desk.clock, line, dict(self._call.env))
        after = desk.files.read(path)
        desk.files.remove(path)
        if done.exit_code:
            raise plain(f'there was a problem with the editor "{self._command}"')
        return after


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
        if call.name == "scp":
            return sshclient.copy(call, self._login)
        if call.name in ("curl", "wget"):
            return self._exchange(call)
        if call.name == "openssl" and call.args[:1] and call.args[0] in _CERTIFICATES:
            return self._desk.doors.exchange(call)
        if call.name in ("pkill", "killall", "kill") and self._desk.terminal.forwards:
            return self._kill(call)
        return None

    def _exchange(self, call: Call) -> Outcome:
        """curl and wget: what is on the desk's own ports is forwarded, or nobody's."""
        at, url = next(((at, word) for at, word in enumerate(call.argv) if _LOCAL.match(word)), (0, ""))
        found = _LOCAL.match(url)
        if found is None:
            return self._desk.doors.exchange(call)
        port = int(found[3] or (443 if (found[1] or "").startswith("https") else 80))
        forward = self._desk.terminal.forward_to(port)
        if forward is None:
            if call.name == "wget":
                return Outcome("", "wget: can't connect to remote host (127.0.0.1): Connection refused\n", 1)
            said = f"curl: (7) Failed to connect to localhost port {port} after 0 ms: Couldn't connect to server\n"
            return Outcome("", "" if "-s" in call.args else said, 7)
        if not forward.pod:
            return self._desk.doors.proxied(call.argv, call)
        argv = list(call.argv)
        argv[at] = f"{found[1] or ''}127.0.0.1:{forward.remote}{found[4]}"
        result = self._desk.doors.forwarded(forward.namespace, forward.pod, argv, call)
        if result.code == 7 and call.name == "curl":  # the tunnel takes the connection before the pod refuses it
            return Outcome("", "curl: (52) Empty reply from server\n", 52)
        return result

    def _kill(self, call: Call) -> Outcome | None:
        """Signals to forwards that run in the background since an earlier line."""
        terminal = self._desk.terminal
        words = [word for word in call.args if not word.startswith("-")]
        if call.name == "kill":
            jobs = [one for one in terminal.forwards if one.job and str(one.job) in words]
        else:
            jobs = [one for one in terminal.forwards if one.job and words and (
                words[-1] in "kubectl port-forward kubectl proxy" or str(one.port) in words[-1])]  # fmt: skip
        terminal.stop(jobs)
        return Outcome() if jobs else None if call.name == "kill" else Outcome(code=1)

    def _forward(self, call: Call) -> Outcome:
        """`kubectl port-forward`: it listens until it is killed, or somebody presses Ctrl-C."""
        client = self._desk.doors.kubectl()
        before, client.clock = client.clock, _Still(self._desk.clock)
        try:
            result = client.run(call.args, "", PlaceFiles(self.files, call.cwd))
        finally:
            client.clock = before
        pod, terminal = client.forwarding, self._desk.terminal
        pairs = re.findall(r"Forwarding from 127\.0\.0\.1:(\d+) -> (\d+)", result.stdout)
        if result.exit_code not in (0, INTERRUPTED) or pod is None or not pairs:
            return result
        for local, remote in pairs:
            if terminal.forward_to(int(local)) is not None:
                why = f"listen tcp4 127.0.0.1:{local}: bind: address already in use"
                said = f"Unable to listen on port {local}: Listeners failed to create with the following errors: "
                text = f"[unable to create listener: Error {why}]\n"
                text += "error: unable to listen on any of the requested ports"
                return Outcome("", f"{said}{text}: [{{{local} {remote}}}]\n", 1)
            terminal.forwards.append(Forward(int(local), *pod, int(remote), terminal.lines, call.pid))
        return Outcome(result.stdout, "", 0, FOREVER_NS)

    def _proxy(self, call: Call) -> Outcome:
        """`kubectl proxy`: it listens until it is killed, or somebody presses Ctrl-C."""
        client, terminal = self._desk.doors.kubectl(), self._desk.terminal
        before, client.clock = client.clock, _Still(self._desk.clock)
        try:
            result = client.run(call.args, "", PlaceFiles(self.files, call.cwd))
        finally:
            client.clock = before
        found = re.search(r"^Starting to serve on [^\n]*:(\d+)$", result.stdout, re.MULTILINE)
        if result.exit_code not in (0, INTERRUPTED) or found is None:
            return result
        port = int(found[1]) or FIRST_FREE_PORT + sum(not one.pod for one in terminal.forwards)  # integers
        if terminal.forward_to(port) is not None:
            said = f"error: listen tcp 127.0.0.1:{port}: bind: address already in use\n"
            return Outcome("", said, 1)
        terminal.forwards.append(Forward(port, "", "", port, terminal.lines, call.pid))
        return Outcome(result.stdout.replace(f":{found[1]}\n", f":{port}\n"), "", 0, FOREVER_NS)

    def _limited(self, call: Call) -> Limited:
        return Limited(self._desk.clock, call.until_ns)

    def _kubectl(self, call: Call) -> Outcome:
        helps = any(word in ("-h", "--help") for word in call.args)
        if "port-forward" in call.args and not helps:
            return self._forward(call)
        if call.args[:1] == ["proxy"] and not helps:
            return self._proxy(call)
        client, clock = self._desk.doors.kubectl(), self._limited(call)
        before, client.clock = client.clock, clock
        beside = client.workstation
        editor = call.env.get("KUBE_EDITOR") or call.env.get("EDITOR") or ""
        if editor:
            client.workstation = _Editor(self._desk, editor, call)
        reads = any(word == "-" or word.endswith("=-") or word in ("-i", "-it", "-ti", "--stdin") for word in call.args)
        try:
            result = client.run(call.args, call.stdin() if reads else "", PlaceFiles(call.files, call.cwd))
        except Interrupted as ended:
            result = Outcome("", "", ended.exit_code)
        finally:
            client.clock, client.workstation = before, beside
        code = TIMED_OUT if clock.expired else INTERRUPTED if clock.cut else result.exit_code
        return Outcome(result.stdout, result.stderr, code)

    def _login(self, node: str, command: str, stdin: str, call: Call) -> Outcome:
        clock = self._limited(call)
        try:
            result = self._desk.doors.login(node, command, stdin, clock)
        except Interrupted as ended:
            result = Outcome("", "", ended.exit_code)
        return Outcome(result.stdout, result.stderr, TIMED_OUT if clock.expired else result.exit_code)
