"""The files of a node that somebody may read or change: a small tree of texts.

It holds what matters to the node's agents (`/etc/kubernetes`, the kubelet's configuration)
and to a person who looks around; everything else of an operating system is left out, and so
are owners, permissions and links. A watcher of a folder hears of every change in it, as
inotify does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from simcluster.engine import FlatDict, Shared, Simulation
from simcluster.models.machine.shell.files import FileError, normalize, parent_of

#: Folders that are there although nothing in them is modelled.
_FOLDERS = (
    *("/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/media", "/mnt", "/opt", "/proc", "/root", "/run"),
    *("/sbin", "/srv", "/sys", "/tmp", "/usr", "/usr/bin", "/usr/local", "/usr/share", "/var", "/var/lib", "/var/log"),
    *("/etc/kubernetes", "/etc/kubernetes/manifests", "/var/lib/kubelet", "/var/lib/containerd", "/lib/modules"),
    *("/etc/ssl/certs", "/etc/ca-certificates", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates"),
    *("/run/containerd", "/var/run", "/var/log/pods", "/var/log/containers", "/etc/cni/net.d", "/opt/cni/bin"),
    *("/var/local-path-provisioner", "/etc/chrony", "/dev/shm", "/run/lock", "/etc/ssl", "/etc/cni", "/opt/cni"),
    "/usr/local/share",
)


@dataclass(frozen=True)
class HostFile(Shared):
    """One file: its text, when it was last changed (simulated nanoseconds), and bytes beyond its text."""

    text: str
    changed_ns: int
    hollow_bytes: int = 0


class HostFiles:
    """The tree of one node."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self._files: dict[str, HostFile] = FlatDict()
        self._hollow = False  # whether a file was ever allocated without content
        self._folders: dict[str, None] = {}
        self.adorned: dict[str, dict[str, Any]] = {}  # mode, owner, target of a link, ... by path
        self._watchers: list[tuple[str, Callable[[str], None]]] = []
        self.guard: Callable[[str, int], str] | None = None  # why the disk refuses a write to a path, or ""

    def watch(self, folder: str, listener: Callable[[str], None]) -> None:
        """Have `listener` called with the path of every file in the folder that changes, appears or goes."""
        self._watchers.append((folder, listener))

    def unwatch(self, listener: Callable[[str], None]) -> None:
        """Tell nothing more."""
        self._watchers = [entry for entry in self._watchers if entry[1] != listener]

    def find(self, path: str) -> HostFile | None:
        """The file, or None."""
        return self._files.get(normalize(path))

    def read(self, path: str) -> str:
        """Text of a file. Raises FileError."""
        found = self.find(path)
        if found is not None:
            return found.text
        raise FileError("Is a directory" if self.is_folder(path) else "No such file or directory")

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder of this name."""
        path = normalize(path)
        if path in _FOLDERS or path in self._folders:
            return True
        return any(known.startswith(path + "/") for known in self._files)

    def exists(self, path: str) -> bool:
        """Whether there is a file or a folder of this name."""
        return self.find(path) is not None or self.is_folder(path)

    def entries(self, folder: str) -> list[str]:
        """Names in a folder, sorted. Raises FileError."""
        folder = normalize(folder)
        if not self.is_folder(folder):
            raise FileError("Not a directory" if self.find(folder) else "No such file or directory")
        prefix = folder.rstrip("/") + "/"
        names: dict[str, None] = {}
        for path in (*self._files, *self._folders, *_FOLDERS):
            if path.startswith(prefix) and path != prefix:
                names[path[len(prefix) :].partition("/")[0]] = None
        return sorted(names)

    def below(self, folder: str) -> list[tuple[str, str]]:
        """Path from the folder and text of every file in it and in its folders, sorted."""
        prefix = normalize(folder).rstrip("/") + "/"
        return [
            (path[len(prefix) :], self._files[path].text) for path in sorted(self._files) if path.startswith(prefix)
        ]

    def write(self, path: str, text: str) -> None:
        """Create a file or change its text. Raises FileError."""
        path = normalize(path)
        if self.is_folder(path):
            raise FileError("Is a directory")
        if not self.is_folder(parent_of(path)):
            raise FileError("No such file or directory")
        self._ask_disk(path, len(text))
        self._files[path] = HostFile(text, self.sim.now)
        self._tell(path)

    @property
    def extra_bytes(self) -> int:
        """What files take on the disk beside their texts (`fallocate`)."""
        return sum(file.hollow_bytes for file in self._files.values()) if self._hollow else 0  # integers

    def hollow_below(self, folder: str) -> int:
        """The part of `extra_bytes` that lies in a folder."""
        if not self._hollow:
            return 0
        prefix = folder.rstrip("/") + "/"
        return sum(file.hollow_bytes for path, file in self._files.items() if path.startswith(prefix))  # integers

    def size_below(self, path: str) -> int:
        """Bytes of a file, or of all files in a folder."""
        path = normalize(path)
        found = [f for name, f in self._files.items() if name == path or name.startswith(path.rstrip("/") + "/")]
        return sum(len(file.text) + file.hollow_bytes for file in found)  # integers

    def allocate(self, path: str, size_bytes: int) -> None:
        """Create a file of a size whose content nobody reads. Raises FileError."""
        self.write(path, "")
        self._files[normalize(path)] = HostFile("", self.sim.now, size_bytes)
        self._hollow = True

    def remove(self, path: str) -> None:
        """Remove a file. Raises FileError."""
        path = normalize(path)
        if path not in self._files:
            raise FileError("Is a directory" if self.is_folder(path) else "No such file or directory")
        self._ask_disk(path, 0)
        del self._files[path]
        self._tell(path)

    def remove_folder(self, path: str) -> None:
        """Remove a folder with all that is in it."""
        path = normalize(path)
        for name in [known for known in self._files if known.startswith(path + "/")]:
            del self._files[name]
            self._tell(name)
        for name in [known for known in self._folders if known == path or known.startswith(path + "/")]:
            del self._folders[name]

    def make_folder(self, path: str, *, parents: bool = False) -> None:
        """Create a folder. Raises FileError."""
        path = normalize(path)
        if self.exists(path):
            if parents and self.is_folder(path):
                return
            raise FileError("File exists")
        if not self.is_folder(parent_of(path)):
            if not parents:
                raise FileError("No such file or directory")
            self.make_folder(parent_of(path), parents=True)
        self._ask_disk(path, 0)
        self._folders[path] = None

    def move(self, source: str, target: str) -> None:
        """Rename a file or a folder of files; `target` is the new name. Raises FileError."""
        source, target = normalize(source), normalize(target)
        if self.find(source) is not None:
            text, hollow = self._files[source].text, self._files[source].hollow_bytes
            if source != target:
                self.write(target, text)
                self._files[target] = HostFile(text, self.sim.now, hollow)
                self.remove(source)
            return
        if not self.is_folder(source):
            raise FileError("No such file or directory")
        inside = self.below(source)
        self.make_folder(target, parents=True)
        for name, text in inside:
            self.make_folder(parent_of(f"{target}/{name}"), parents=True)
            self.write(f"{target}/{name}", text)
        self.remove_folder(source)

    def _ask_disk(self, path: str, size_bytes: int) -> None:
        """Raise FileError if the file system under a path cannot be written."""
        refused = "" if self.guard is None else self.guard(path, size_bytes)
        if refused:
            raise FileError(refused)

    def _tell(self, path: str) -> None:
        for folder, listener in list(self._watchers):
            if parent_of(path) == folder:
                listener(path)
