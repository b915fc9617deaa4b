"""A container as a shell meets it: its files, its image's programs, the kernel's refusals (`userland.place.Place`)."""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.engine import SECOND
from simcluster.engine.streams import mix
from simcluster.models.machine.container import Container
from simcluster.models.machine.imagefacts import facts_of
from simcluster.models.machine.imagetools.call import ToolCall
from simcluster.models.machine.imagetools.network import contact
from simcluster.models.machine.imagetools.registry import TOOLS, image_tool
from simcluster.models.machine.kernel.containerproc import limits
from simcluster.models.machine.kernel.errors import MESSAGE
from simcluster.models.machine.process import Call as Request
from simcluster.models.machine.shell.files import FileError, bytes_of
from simcluster.models.machine.shell.tree import FileTree
from simcluster.models.userland.bare import located
from simcluster.models.userland.face import ASH, BASH, DASH, Face
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.paths import Stat
from simcluster.models.userland.place import Call, Who

#: Tools that the kernel can hinder.
_HINDERED = ("date", "sleep")


class ContainerFiles:
    """A container's files (`userland.paths.Files`)."""

    def __init__(self, container: Container) -> None:
        self.tree = FileTree(container)
        self._sim = container.sim

    def look(self, path: str) -> Stat | None:
        """What lies at a path."""
        tree = self.tree
        said = tree.adorned(path)
        if path == "/dev/null":
            return Stat("char", 0, 0o666, device=(1, 3))
        if "target" in said:
            return Stat("link", len(str(said["target"])), 0o777, **said)
        text = tree.text(path)
        if text is not None:
            mode = 0o755 if text.startswith("#!") or path.endswith(".sh") else 0o644
            size = 0 if path.startswith(("/proc/", "/sys/")) else bytes_of(text)
            return Stat("file", size, **{"mode": mode, "changed_ns": tree.changed_ns(path), **said})
        if tree.is_folder(path):
            mode = 0o1777 if path in ("/tmp", "/dev/shm") else 0o700 if path == "/root" else 0o755
            return Stat("folder", 4096, **{"mode": mode, "links": 2, "changed_ns": tree.changed_ns(path), **said})
        return None

    def read(self, path: str) -> str:
        """Text of a file."""
        return self.tree.read(path)

    def names(self, path: str) -> list[str]:
        """Names in a folder."""
        return self.tree.entries(path)

    def write(self, path: str, text: str, *, append: bool = False) -> None:
        """Create a file, or change its text."""
        self.tree.write(path, text, append)

    def make_folder(self, path: str) -> None:
        """Create a folder."""
        self.tree.make_folder(path)

    def remove(self, path: str) -> None:
        """Remove a file or a folder."""
        if "target" in self.tree.adorned(path):
            self.tree.adorn(path, None)
            return
        self.tree.remove(path)

    def move(self, source: str, target: str) -> None:
        """Give a file or a folder another name."""
        self.copy(source, target)
        self.tree.remove(source)

    def copy(self, source: str, target: str) -> None:
        """Copy a file, or a folder with all that is in it."""
        if not self.tree.is_folder(source):
            self.tree.write(target, self.tree.read(source))
            return
        self.tree.make_folder(target, parents=True)
        for name in self.tree.entries(source):
            self.copy(f"{source}/{name}", f"{target}/{name}")

    def adorn(self, path: str, **said: object) -> None:
        """Change what is known of a file, or make a link."""
        if "target" not in said and not self.tree.exists(path):
            raise FileError("No such file or directory")
        self.tree.adorn(path, {**self.tree.adorned(path), **said})

    def spent_ns(self) -> int:
        """Reading and writing take no time of their own."""
        return 0


#: For how long a connection is tried (tcp_syn_retries of 6).
_DIAL_NS = 130 * SECOND


def face_of(container: Container, argv: Sequence[str] = ()) -> Face:
    """Which shell and which tools answer: Debian's and Ubuntu's images have dash, bash and GNU's, others BusyBox'.

    Args:
        argv: the command line that is run: the first shell in it is the one that reads.
    """
    facts = facts_of(container.spec.image)
    if facts is None or facts.base not in ("debian", "ubuntu"):
        return ASH
    first = next((name for word in argv if (name := word.rpartition("/")[2]) in ("sh", "dash", "bash")), "")
    return BASH if first == "bash" else DASH


def _who(container: Container) -> Who:
    """As whom commands run: whom the image does not know has no name, and root's group if nobody says another."""
    uid, spec = container.uid, container.spec
    gid = spec.group if spec.group is not None else uid if spec.user is None else 0
    if not (uid or gid or spec.groups):
        return Who()
    user, group = ("root" if not number else str(number) for number in (uid, gid))
    return Who(user, uid, group, gid, "/" if uid else "/root", spec.groups)


class ContainerPlace:
    """A container (`userland.place.Place`)."""

    def __init__(self, container: Container, argv: Sequence[str] = ()) -> None:
        self.container = container
        self.face = face_of(container, argv)
        facts = facts_of(container.spec.image)
        self.absent = () if facts is None else facts.absent
        self.host = container.sandbox.pod_name
        self.who = _who(container)
        self.drawn = 0

    @property
    def files(self) -> ContainerFiles:
        """Its files."""
        return ContainerFiles(self.container)

    def own(self, call: Call) -> Outcome | None:
        """A tool that shows the container's state."""
        if call.name in self.absent:
            return None
        kernel = self.container.kernel
        hindered = call.name in _HINDERED and kernel is not None and kernel.syscalls.rules
        ours = call.name in TOOLS and (hindered or call.name not in _HINDERED)
        return TOOLS[call.name](self._inner(call)) if ours else None

    def program(self, call: Call) -> Outcome | None:
        """A client that the container's own program brings."""
        return image_tool(self._inner(call))

    def _inner(self, call: Call) -> ToolCall:
        stdin = "" if call.source is None else call.source.rest()
        return ToolCall(self.container, list(call.argv), dict(call.env), stdin, call.cwd, call.now_ns)

    def located(self, name: str) -> str:
        """Path of a program of the image."""
        found = located(self.face, name, tuple(TOOLS), self.absent)
        if found or not name:
            return found
        inner = ToolCall(self.container, [name], {}, "", "/", self.container.sim.now)
        return "" if image_tool(inner) is None else f"/usr/bin/{inner.name}"

    def dial(self, host: str, port: int) -> tuple[str, int]:
        """What becomes of a connection, and how long that takes."""
        reached = contact(self.container, host, Request("tcp", port), _DIAL_NS, ask=False)
        return reached.outcome, reached.delay_ns

    def draw(self) -> int:
        """Random bits."""
        self.drawn += 1
        return mix(self.container.sim.streams.key("shell", self.container.container_id), self.drawn)

    def fork(self) -> str:
        """Why the kernel refuses a process."""
        kernel = self.container.kernel
        return MESSAGE["EAGAIN"] if kernel is not None and kernel.fork(self.container) else ""

    def reap(self, count: int) -> None:
        """So many processes are gone."""
        kernel = self.container.kernel
        if kernel is not None and count > 0:
            kernel.reap(self.container, count)

    def offset_ns(self) -> int:
        """How far the node's clock is off."""
        kernel = self.container.kernel
        return 0 if kernel is None else kernel.clock.offset_ns()

    def limits(self) -> str:
        """Those of every process of the container."""
        return limits(self.container)

    def limited(self, letter: str, value: str, *, raised: bool, lasts: bool) -> bool:
        """Open files hold for what a script starts; no limit is raised without the right to."""
        container, kernel = self.container, self.container.kernel
        if kernel is None:
            return False
        if kernel.made("prlimit", container) or (raised and not container.may("SYS_RESOURCE")):
            return True
        if letter == "n":
            most = kernel.sysctls.number("fs.nr_open")
            count = most if value == "unlimited" else int(value)
            if count > most:
                return True
            try:
                if lasts:
                    kernel.descriptors.set_limit(container, count)
            except ValueError:
                return True
        return False
