"""The files a container sees: the image's own, the mounted volumes, and what was written.

What was written lies in layers of plain dictionaries: one per container (lost with it, as the
runtime's writable layer is), one per emptyDir of the pod. Left out: links, permissions beyond
read-only mounts, sizes on the node's disk.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from simcluster.models.machine.container import Container
from simcluster.models.machine.containerspec import Mount, Renewed
from simcluster.models.machine.imagefacts import files_of
from simcluster.models.machine.kernel import containerfiles
from simcluster.models.machine.kernel.errors import MESSAGE
from simcluster.models.machine.names import cluster_first
from simcluster.models.machine.shell.files import ERROR_TEXTS, FileError, Layer, bytes_of, parent_of

#: Folders that every image has.
_FOLDERS = (
    *("/bin", "/dev", "/dev/shm", "/etc", "/home", "/proc", "/root", "/sys", "/tmp", "/usr"),
    *("/var", "/var/log", "/var/run"),
)
SHARED_MEMORY = "/dev/shm/"
#: Where everybody may write.
_OPEN = ("/tmp/", "/var/tmp/", "/dev/", "/proc/", "/sys/")


class FileTree:
    """One container's view. Cheap to make: it only refers to the container's layers."""

    def __init__(self, container: Container) -> None:
        self._container = container

    def read(self, path: str) -> str:
        """Text of a file.

        Raises:
            FileError: it does not exist or is a folder.
        """
        self._ask_kernel("open", path)
        self._ask_kernel("read", path)
        text = self._find(path)
        if text is not None:
            return text
        raise FileError("Is a directory" if self.is_folder(path) else "No such file or directory")

    def check(self, path: str) -> None:
        """Read a file whose text does not matter. Raises FileError as `read` does."""
        self._ask_kernel("open", path)
        self._ask_kernel("read", path)
        if self._look(path) is None:
            raise FileError("Is a directory" if self.is_folder(path) else "No such file or directory")

    def exists(self, path: str) -> bool:
        """Whether there is a file or a folder."""
        return self._look(path) is not None or self.is_folder(path)

    def is_file(self, path: str) -> bool:
        """Whether there is a regular file (or device)."""
        return self._look(path) is not None

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder."""
        if path == "/" or path in _FOLDERS:
            return True
        if path.startswith("/proc/"):
            return containerfiles.names(self._container, path) is not None
        if path in self._made_folders() or path in self._mount_paths():
            return path not in self._mounted()
        prefix = path + "/"
        return any(known.startswith(prefix) for known in (*self._mount_paths(), *self._all_files()))

    def write(self, path: str, text: str, append: bool = False) -> None:
        """Create or change a file.

        Raises:
            FileError: read-only volume, missing folder, or a folder of that name.
        """
        if path in ("/dev/null", "/dev/stdout", "/dev/stderr"):
            return
        if self.is_folder(path):
            raise FileError("Is a directory")
        if not self.is_folder(parent_of(path)):
            raise FileError("nonexistent directory")
        prefix, layer = self._writable(path)
        self._ask_kernel("open", path)
        self._ask_kernel("write", path)
        whole = (self._find(path) or "") + text if append else text
        if path.startswith(SHARED_MEMORY):
            self._share_memory(prefix, layer, path[len(prefix) :], whole)
        else:
            self._ask_disk(path, len(text))
        layer.files[path[len(prefix) :]] = whole

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it.

        Raises:
            FileError: it does not exist or lies on a read-only volume.
        """
        if not self.exists(path):
            raise FileError("No such file or directory")
        prefix, layer = self._writable(path)
        inner = path[len(prefix) :]
        for known in self._all_files():
            if known == path or known.startswith(path + "/"):
                layer.files[known[len(prefix) :]] = None
        for folder in [f for f in layer.folders if f == inner or f.startswith(inner + "/")]:
            del layer.folders[folder]
        if path.startswith(SHARED_MEMORY):
            self._share_memory(prefix, layer, "", "")

    def _ask_kernel(self, call: str, path: str) -> None:
        """Raise FileError if a failure is injected into this system call."""
        kernel = self._container.kernel
        if kernel is None or not kernel.syscalls.rules:
            return
        failure = kernel.syscalls.failure(call, self._container, path=path)
        if failure is not None and failure.errno:
            raise FileError(MESSAGE[failure.errno])

    def text(self, path: str) -> str | None:
        """Text of a file, without asking the kernel; None if there is none."""
        return self._find(path)

    def adorned(self, path: str) -> dict[str, Any]:
        """What was said of a file besides its text."""
        for prefix, layer in self._layers():
            if path.startswith(prefix + "/") and path[len(prefix) :] in layer.adorned:
                return layer.adorned[path[len(prefix) :]]
        return {}

    def adorn(self, path: str, said: dict[str, Any] | None) -> None:
        """Say something of a file, or (None) nothing any more. Raises FileError."""
        prefix, layer = self._writable(path)
        if said is None:
            layer.adorned.pop(path[len(prefix) :], None)
        else:
            layer.adorned[path[len(prefix) :]] = said

    def changed_ns(self, path: str) -> int:
        """When what lies there was last changed, as far as that is known: when the container was created."""
        return int(getattr(self._container, "created_ns", 0) or 0)

    def room(self, path: str) -> int:
        """Bytes that a file may have, as full as its file system is."""
        container, kernel = self._container, self._container.kernel
        if path.startswith(SHARED_MEMORY) and kernel is not None:
            return (
                kernel.shm.size(container) - kernel.shm.used(container.spec.pod_uid) + bytes_of(self._find(path) or "")
            )
        return container.machine.room_at(self._host_of(path))

    def _share_memory(self, prefix: str, layer: Layer, name: str, text: str) -> None:
        """Files of /dev/shm live in the pod's shared memory. Raise FileError if they do not fit.

        Those in a volume belong to all containers that mount it.
        """
        there = {key: held for key, held in layer.files.items() if held and (prefix + key).startswith(SHARED_MEMORY)}
        total = sum(bytes_of(held) for held in ({**there, name: text}).values())  # integers
        kernel = self._container.kernel
        error = "" if kernel is None else kernel.shared_memory(self._container, total, "volume" if prefix else "")
        if error:
            raise FileError(ERROR_TEXTS[error])

    def make_folder(self, path: str, parents: bool = False) -> None:
        """Create a folder.

        Raises:
            FileError: it exists, its parent does not, or the volume is read-only.
        """
        if self.exists(path):
            if parents and self.is_folder(path):
                return
            raise FileError("File exists")
        if not self.is_folder(parent_of(path)):
            if not parents:
                raise FileError("No such file or directory")
            self.make_folder(parent_of(path), parents=True)
        prefix, layer = self._writable(path)
        layer.folders[path[len(prefix) :]] = True

    def entries(self, path: str) -> list[str]:
        """Names in a folder, sorted.

        Raises:
            FileError: there is no such folder.
        """
        if not self.is_folder(path):
            raise FileError("Not a directory" if self.exists(path) else "No such file or directory")
        prefix = path.rstrip("/") + "/"
        made_up = containerfiles.names(self._container, path)
        names: dict[str, bool] = dict.fromkeys(made_up or (), True)
        for known in (*_FOLDERS, *self._all_files(), *self._mount_paths(), *self._made_folders()):
            if known.startswith(prefix) and known != prefix:
                names[known[len(prefix) :].partition("/")[0]] = True
        return sorted(names)

    def glob(self, source: str, folder: str) -> list[str]:
        """Paths that match a regular expression made from a shell pattern; `*` stops at `/`."""
        one_name = re.compile(source.replace(".*", "[^/]*"))
        known: dict[str, bool] = {}
        for path in (*self._all_files(), *_FOLDERS, *self._mount_paths()):
            while path not in ("/", ""):
                known[path] = True
                path = parent_of(path)
        base = folder.rstrip("/") + "/"
        names = [path if source.startswith("/") else path[len(base) :] for path in known if path.startswith(base)]
        if source.startswith("/"):
            names = list(known)
        hidden = "." in source[:2]
        return sorted(n for n in names if one_name.fullmatch(n) and (hidden or not n.startswith(".")))

    def _find(self, path: str) -> str | None:
        """Text of a file, or None; a file of the kubelet's that changes by itself is read as it is now."""
        found = self._look(path)
        return found if found is None or isinstance(found, str) else found.text(self._container.sim.now)

    def _look(self, path: str) -> str | Renewed | None:
        """What lies there as a file, or None."""
        for prefix, layer in self._layers():
            if path.startswith(prefix + "/") and path[len(prefix) :] in layer.files:
                return layer.files[path[len(prefix) :]]
        if path == "/dev/null":
            return ""
        found = self._mounted().get(path)
        if found is None:
            found = base_file(self._container, path)
        return self._image_files().get(path) if found is None else found

    def _image_files(self) -> dict[str, str]:
        """What the image brings and no mount hides."""
        files = files_of(self._container.spec.image)
        hidden = [mount.path.rstrip("/") + "/" for mount in self._container.mounts]
        if not any(path.startswith(prefix) for path in files for prefix in hidden):
            return files
        return {path: text for path, text in files.items() if not path.startswith(tuple(hidden))}

    def _all_files(self) -> list[str]:
        names = dict.fromkeys((*_BASE_FILES, *self._image_files(), *self._mounted()))
        for prefix, layer in reversed(self._layers()):
            for path, text in layer.files.items():
                if text is None:
                    names.pop(prefix + path, None)
                else:
                    names[prefix + path] = None
        return list(names)

    def _made_folders(self) -> list[str]:
        return [prefix + folder for prefix, layer in self._layers() for folder in layer.folders]

    def _mounted(self) -> dict[str, str | Renewed]:
        found: dict[str, str | Renewed] = {}
        for mount in self._container.mounts:
            for name, text in self._given(mount):
                found[f"{mount.path.rstrip('/')}/{name}" if name else mount.path] = text
        return found

    def _given(self, mount: Mount) -> Iterable[tuple[str, str | Renewed]]:
        """What others have put into a volume: the kubelet, or, where it lies on the node, whoever writes there."""
        files = getattr(self._container.machine, "files", None)  # a machine of a test may have none
        if not mount.host or files is None:
            return mount.files
        alone = files.find(mount.host)
        if alone is not None:
            return (("", alone.text),)
        return files.below(mount.host) if files.is_folder(mount.host) else mount.files

    def _mount_paths(self) -> list[str]:
        return [mount.path.rstrip("/") for mount in self._container.mounts]

    def _layers(self) -> list[tuple[str, Layer]]:
        """What was written, each with the path under which it is seen; volumes first."""
        layers = []
        for mount in self._container.mounts:
            layer = self._container.sandbox.volumes.get(mount.volume or mount.path)
            if layer is not None:
                layers.append((mount.path.rstrip("/"), layer))
        if self._container.written is not None:
            layers.append(("", self._container.written))
        return layers

    def _ask_disk(self, path: str, size_bytes: int) -> None:
        """Raise FileError if the node's file system under a path cannot be written: read-only, dead or full."""
        ask = getattr(self._container.machine, "disk_refusal", None)  # a machine of a test may have no disks
        refused = ask(self._host_of(path), size_bytes) if ask is not None else ""
        if refused:
            raise FileError(refused)

    def _host_of(self, path: str) -> str:
        """Where on the node a path lies."""
        host = "/var/lib/containerd"
        for mount in self._container.mounts:
            prefix = mount.path.rstrip("/")
            if mount.host and (path == prefix or path.startswith(prefix + "/")):
                host = mount.host
        return host

    def _writable(self, path: str) -> tuple[str, Layer]:
        for mount in self._container.mounts:
            prefix = mount.path.rstrip("/")
            if path == prefix or path.startswith(prefix + "/"):
                if mount.read_only or mount.source not in ("emptyDir", "hostPath", "persistentVolumeClaim"):
                    raise FileError("Read-only file system")
                if mount.source == "hostPath" and self._container.uid:
                    raise FileError("Permission denied")  # folders of the node are root's, 0755
                layer = self._container.sandbox.volumes.setdefault(mount.volume or mount.path, Layer())
                return prefix, layer
        spec = self._container.spec
        if spec.read_only_root and path != spec.termination_path and not path.startswith("/dev/"):
            raise FileError("Read-only file system")
        if self._container.uid and not path.startswith(_OPEN):
            raise FileError("Permission denied")
        if self._container.written is None:
            self._container.written = Layer()
        return "", self._container.written


_BASE_FILES = (
    *("/etc/hostname", "/etc/hosts", "/etc/resolv.conf", "/etc/passwd"),
    *containerfiles.PATHS,
)


def base_file(container: Container, path: str) -> str | None:
    """Text of a file that the runtime or every image provides.

    Source: kubelet's ensureHostsFile (pkg/kubelet/kubelet_pods.go) and its resolv.conf of
    dnsPolicy ClusterFirst (pkg/kubelet/network/dns/dns.go).
    """
    sandbox, namespace = container.sandbox, container.spec.namespace
    if path == "/etc/hostname":
        return sandbox.pod_name + "\n"
    if path == "/etc/hosts":
        fixed = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\nfe00::0\tip6-localnet\n"
        fixed += "fe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n"
        return f"# Kubernetes-managed hosts file.\n{fixed}{sandbox.address}\t{sandbox.pod_name}\n{sandbox.hosts}"
    if path == "/etc/resolv.conf":
        return (sandbox.names or cluster_first("10.96.0.10", namespace)).text()
    if path == "/etc/passwd":
        return "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/home:/bin/false\n"
    if path.startswith(("/proc/", "/sys/")):
        return containerfiles.read(container, path)
    return None
