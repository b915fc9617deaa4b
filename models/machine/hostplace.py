"""A node as a shell meets it: its files, its own programs, the tools it has in common with other machines."""

from __future__ import annotations

from typing import Any

from simcluster.engine.streams import mix
from simcluster.models.machine import hostnet
from simcluster.models.machine.hosttools import certificates, virtuallinks
from simcluster.models.machine.hosttools.table import TOOLS
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.nodetree import NodeTree
from simcluster.models.machine.storage.usage import beyond
from simcluster.models.userland.bare import PATH, located
from simcluster.models.userland.face import BASH
from simcluster.models.userland.immediate import ImmediateRunner
from simcluster.models.userland.lexer import Code
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.paths import FileError, Stat, normalize
from simcluster.models.userland.place import Call, Who
from simcluster.models.userland.stream import Stream

#: Programs of the table that nobody has installed on nodes.
MISSING = ("busybox", "gawk", "tmux")
#: Programs that the table answers although a node has them, too: there is nothing of the node in their answers.
_COMMON = ("date", "id", "kill")
#: Where links are made up.
_LINKED = ("/proc/", "/var/log/containers/")
#: Programs of administrators (Ubuntu 24.04).
_SBIN = frozenset(
    [
        "badblocks",
        "blkid",
        "chronyd",
        "conntrack",
        "dmidecode",
        "dumpe2fs",
        "e2fsck",
        "ethtool",
        "fsck",
        "halt",
        "hdparm",
        "hwclock",
        "iptables",
        "iptables-save",
        "ip6tables",
        "ipvsadm",
        "lsmod",
        "mkfs.ext4",
        "modprobe",
        "rmmod",
        "tcpdump",
        "nft",
        "nvme",
        "poweroff",
        "reboot",
        "shutdown",
        "smartctl",
        "sysctl",
        "tc",
        "tune2fs",
    ]
)


class NodeFiles:
    """A node's files (`userland.paths.Files`)."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.tree = NodeTree(machine)
        self._spent_ns = 0

    def look(self, path: str) -> Stat | None:
        """What lies at a path."""
        if path == "/dev/null":
            return Stat("char", 0, 0o666, device=(1, 3))
        said = self.machine.files.adorned.get(path, {})
        if "target" in said:
            return Stat("link", len(str(said["target"])), 0o777, **{**said, "target": str(said["target"])})
        target = virtuallinks.link(self.machine, path) if path.startswith(_LINKED) else ""
        if target:
            return Stat("link", len(target), 0o777, target=target)
        found = self.tree.look(path)
        if found is None:
            return None
        if found.device is not None:
            return Stat("block", 0, 0o660, group="disk", device=found.device, changed_ns=found.changed_ns)
        if found.is_folder:
            mode = 0o1777 if path in ("/tmp", "/var/tmp", "/dev/shm") else 0o700 if path == "/root" else 0o755
            return Stat("folder", 4096, **{"mode": mode, "links": 2, "changed_ns": found.changed_ns, **said})
        private = path.endswith((".key", "/admin.conf", "/kubelet.conf", "/shadow", "/super-admin.conf"))
        script = path.endswith(".sh") or "/bin/" in path
        mode = 0o600 if private else 0o755 if script else 0o644
        return Stat("file", found.size, **{"mode": mode, "changed_ns": found.changed_ns, **said})

    def beyond(self) -> dict[str, int]:
        """Bytes by folder of what lies there and is not listed: of an operating system, of images and their layers."""
        return beyond(self.machine)

    def read(self, path: str) -> str:
        """Text of a file."""
        content = self.tree.read(path)
        self._spent_ns += content.delay_ns
        return content.text

    def names(self, path: str) -> list[str]:
        """Names in a folder."""
        names = dict.fromkeys(self.tree.entries(path))
        head = path.rstrip("/") + "/"
        for known in self.machine.files.adorned:
            if (
                known.startswith(head)
                and "/" not in known[len(head) :]
                and "target" in self.machine.files.adorned[known]
            ):
                names[known[len(head) :]] = None
        return sorted(names)

    def write(self, path: str, text: str, *, append: bool = False) -> None:
        """Create a file, or change its text."""
        self.tree.write(path, text, append=append)

    def make_folder(self, path: str) -> None:
        """Create a folder."""
        self.tree.make_folder(path)

    def remove(self, path: str) -> None:
        """Remove a file or a folder."""
        if "target" in self.machine.files.adorned.pop(path, {}):
            return
        self.tree.remove(path)

    def move(self, source: str, target: str) -> None:
        """Give a file or a folder another name."""
        said = self.machine.files.adorned.pop(source, None)
        if said is not None:
            self.machine.files.adorned[target] = said
            if "target" in said:
                return
        self._spent_ns += self.tree.move(source, target)

    def copy(self, source: str, target: str) -> None:
        """Copy one file."""
        self._spent_ns += self.tree.copy(source, target)

    def adorn(self, path: str, **said: object) -> None:
        """Change what is known of a file, or make a link."""
        if "target" not in said and self.tree.look(path) is None:
            raise FileError("No such file or directory")
        if set(said) == {"changed_ns"} and said["changed_ns"] == self.machine.sim.now:
            self.tree.touch(path)
            return
        if said == {"mode": 0o644}:
            return
        self.machine.files.adorned[path] = {**self.machine.files.adorned.get(path, {}), **said}

    def spent_ns(self) -> int:
        """How long the drives took since this was last asked."""
        spent, self._spent_ns = self._spent_ns, 0
        return spent


class HostPlace:
    """A node (`userland.place.Place`)."""

    face = BASH

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.host = machine.name
        self.who = Who()
        self.files = NodeFiles(machine)
        self.drawn = 0

    def own(self, call: Call) -> Outcome | None:
        """A program that shows the node."""
        return None if call.name in _COMMON else self.program(call)

    def program(self, call: Call) -> Outcome | None:
        """Any program of the host."""
        if call.name in hostnet.NAMES:
            return hostnet.run(self.machine, call)
        if call.name == "openssl":
            return certificates.on_node(self.machine, _absolute(call, self.files), call.stdin())
        tool = TOOLS.get(call.name)
        if tool is None:
            return None
        stdin = "" if call.source is None else call.source.rest()
        return tool(self.machine, _absolute(call, self.files), stdin)

    def located(self, name: str) -> str:
        """Path of a program."""
        base = name.rpartition("/")[2]
        found = located(self.face, name, (*TOOLS, *hostnet.NAMES), MISSING)
        return f"/usr/sbin/{base}" if found and base in _SBIN else found

    def dial(self, host: str, port: int) -> tuple[str, int]:
        """What becomes of a connection, and how long that takes."""
        return hostnet.dial(self.machine, host, port)

    def draw(self) -> int:
        """Random bits."""
        self.drawn += 1
        return mix(self.machine.sim.streams.key("shell", self.machine.name), self.machine.sim.now + self.drawn)

    def fork(self) -> str:
        """There is room for one more."""
        return ""

    def reap(self, count: int) -> None:
        """Processes are gone."""

    def offset_ns(self) -> int:
        """How far the node's clock is off."""
        return self.machine.clock_error_ns

    def limits(self) -> str:
        """Those of init: whoever logs people in lowers them."""
        return self.files.read("/proc/1/limits")

    def limited(self, letter: str, value: str, *, raised: bool, lasts: bool) -> bool:
        """Root may raise what it likes."""
        return False


#: Programs of the host whose operands are files.
_FILES = ("badblocks", "df", "e2fsck", "fallocate", "findmnt", "lsof", "openssl", "umount", "zcat")


def _absolute(call: Call, files: NodeFiles) -> list[str]:
    """The arguments, with relative files made absolute: programs of the host know no working folder."""
    if call.cwd == "/root" or call.name not in _FILES:
        return call.args
    return [
        call.path(word)
        if word
        and word[0] not in "-/"
        and (files.look(call.path(word)) is not None or (call.name == "fallocate" and "." in word))
        else word
        for word in call.args
    ]


def run_tool(machine: Machine, argv: list[str], stdin: str = "") -> Outcome | None:
    """Run a program of the common table on a node, at once; None if there is none of this name."""
    place = HostPlace(machine)
    if not argv or not place.located(argv[0]):
        return None
    words: tuple[Any, ...] = tuple((("lit", word, True),) for word in argv)
    code: Code = (("cmd", (), words, (), 1),)
    runner = ImmediateRunner(place, machine.sim.now)
    process = runner.launch(code, {"PATH": PATH, "HOME": "/root"}, name="bash")
    process.cwd = normalize("/root")
    process.fds[0] = ("in", Stream(stdin))
    outcome = runner.finish()
    return Outcome(outcome.stdout, outcome.stderr, outcome.code, outcome.delay_ns)
