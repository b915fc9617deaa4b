"""One view of a node's files: whatever lies at a path, whoever keeps it.

Texts that people and agents wrote (`hostfiles`), what stores keep on drives (`storage.filesystem`), what pods wrote to
their volumes, what containers print (`containerlogs`), files that the kernel makes up (`virtualfiles`), and what is
bound to another place: every tool of the node, the kubelet's checks and `mount` look through this one. Left out: links,
owners and permissions.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import NamedTuple

from simcluster.models.machine import containerlogs
from simcluster.models.machine.container import Sandbox
from simcluster.models.machine.containerspec import Renewed
from simcluster.models.machine.hosttools import virtuallinks
from simcluster.models.machine.hosttools.blockdevices import disk_of, numbers_of, part_of
from simcluster.models.machine.hosttools.virtualfiles import virtual_file, virtual_names
from simcluster.models.machine.kernel import procfiles
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.shell.files import ERROR_TEXTS, FileError, Layer, bytes_of, normalize, parent_of
from simcluster.models.machine.shell.tree import base_file

PODS = "/var/lib/kubelet/pods"
_KINDS = {"emptyDir": "empty-dir", "configMap": "configmap", "downwardAPI": "downward-api"}


class Entry(NamedTuple):
    """A file, a folder or a drive: size in bytes, when it was last changed (simulated ns), a drive's numbers."""

    is_folder: bool
    size: int = 4096
    changed_ns: int = 0
    device: tuple[int, int] | None = None


class Content(NamedTuple):
    """What reading a file gave: its text ("" where only its size is kept), and how long the drive took."""

    text: str
    delay_ns: int = 0


class Volume(NamedTuple):
    """A pod's volume as it lies on the node: its folder, files of the kubelet's, and where its layer is kept."""

    path: str
    files: tuple[tuple[str, str | Renewed], ...]
    layers: dict[str, Layer]
    name: str

    @property
    def written(self) -> dict[str, str | None]:
        """What was written to it, by path from its folder."""
        layer = self.layers.get(self.name)
        return {} if layer is None else layer.files

    def texts(self, now_ns: int) -> dict[str, str | None]:
        """Text of each of its files by path from its folder, None if it was removed."""
        given = {f"/{name}": text if isinstance(text, str) else text.text(now_ns) for name, text in self.files}
        return {**given, **self.written}

    def write(self, path: str, text: str | None) -> None:
        """Write (or with None remove) one of its files."""
        self.layers.setdefault(self.name, Layer()).files[path[len(self.path) :]] = text


class NodeTree:
    """The tree of one node. Cheap to make: it only refers to the machine."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def place(self, path: str) -> str:
        """Where a path really lies: normalized, and followed through bind mounts."""
        path, storage = normalize(path, "/root"), self.machine.built_storage
        return path if storage is None else storage.mounts.source_of(path)

    # Looking.

    def look(self, path: str) -> Entry | None:
        """What lies at a path; None if nothing does."""
        path, machine = self.place(path), self.machine
        text = machine.files.find(path)
        if text is not None:
            return Entry(False, bytes_of(text.text) + text.hollow_bytes, text.changed_ns)
        stored = self._stored(path)
        if stored is not None:
            return stored
        written = self._written(path)
        if written is not None:
            return Entry(False, bytes_of(written), machine.sim.now)
        logged = containerlogs.find(machine, path)
        if logged is not None:
            return Entry(False, logged.size, logged.changed_ns)
        drive = disk_of(machine, path)
        if drive is not None:
            return Entry(False, 0, machine.booted_ns, numbers_of(drive, path))
        made_up = virtual_file(machine, path)
        if made_up is not None:
            size = 0 if path.startswith("/proc/") else 4096 if path.startswith("/sys/") else len(made_up)
            return Entry(False, size, machine.booted_ns)
        if path.startswith("/proc/"):
            target = virtuallinks.link(machine, path)
            if target:
                return Entry(False, len(target), machine.booted_ns)
        return Entry(True) if self._is_folder(path) else None

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder."""
        found = self.look(path)
        return found is not None and found.is_folder

    def is_file(self, path: str) -> bool:
        """Whether there is a file."""
        found = self.look(path)
        return found is not None and not found.is_folder

    def exists(self, path: str) -> bool:
        """Whether there is a file or a folder."""
        return self.look(path) is not None

    def entries(self, folder: str) -> list[str]:
        """Names in a folder, sorted. Raises FileError."""
        folder = self.place(folder)
        if not self.is_folder(folder):
            raise FileError("Not a directory" if self.exists(folder) else ERROR_TEXTS["ENOENT"])
        prefix = folder.rstrip("/") + "/"
        names = dict.fromkeys(virtual_names(self.machine, folder) or ())
        if self.machine.files.is_folder(folder):
            names.update(dict.fromkeys(self.machine.files.entries(folder)))
        held = (*self._stored_below(folder), *self._written_below(folder), *containerlogs.below(self.machine, folder))
        inner = [path[len(prefix) :] for path in held]
        names.update(dict.fromkeys(path.partition("/")[0] for path in inner))
        return sorted(names)

    def below(self, folder: str) -> list[str]:
        """Paths of all files in a folder and its folders, sorted; none that the kernel makes up."""
        folder = self.place(folder)
        texts = [f"{folder.rstrip('/')}/{name}" for name, _ in self.machine.files.below(folder)]
        logged = containerlogs.below(self.machine, folder)
        return sorted({*texts, *self._stored_below(folder), *self._written_below(folder), *logged})

    def texts(self, folder: str) -> tuple[tuple[str, str], ...]:
        """Path from the folder and text of every file below it that has one, sorted."""
        folder = self.place(folder)
        prefix = folder.rstrip("/") + "/"
        found: dict[str, str | None] = dict(self.machine.files.below(folder))
        for volume in self._volumes(folder):
            written = {volume.path + name: text for name, text in volume.texts(self.machine.sim.now).items()}
            found.update({path[len(prefix) :]: text for path, text in written.items() if path.startswith(prefix)})
        return tuple((name, text) for name, text in sorted(found.items()) if text is not None)

    def size_below(self, path: str) -> int:
        """Bytes of a file, or of all files below a folder."""
        found = [self.look(each) for each in (path, *self.below(path))]
        return sum(entry.size for entry in found if entry is not None and not entry.is_folder)  # integers

    def read(self, path: str, comm: str = "cat") -> Content:
        """Read a file. Raises FileError."""
        path = self.place(path)
        if self._stored(path) is not None:
            system = self.machine.files_at(path)
            outcome = system.read(path, 0, system.size_of(path), comm=comm)
            if outcome.error:
                raise FileError(ERROR_TEXTS[outcome.error])
            return Content("", outcome.delay_ns)
        drive = disk_of(self.machine, path)
        if drive is not None:
            part = part_of(drive, path)
            first, sectors = (part.start, part.sectors) if part is not None else (0, drive.model.sectors)
            answer = drive.read(first, sectors, sequential=True, buffered=path.removeprefix("/dev/"))
            if answer.failed:
                raise FileError(ERROR_TEXTS["EIO"])
            return Content("", answer.delay_ns)
        if self.machine.files.find(path) is None:
            for text in (self._written(path), virtual_file(self.machine, path)):
                if text is not None:
                    return Content(text)
            logged = containerlogs.find(self.machine, path)
            if logged is not None:
                return Content(containerlogs.GZIP_MAGIC if logged.packed else logged.text())
            if self._is_folder(path):
                raise FileError("Is a directory")
        return Content(self.machine.files.read(path))

    # Changing.

    def append(self, path: str, text: str) -> None:
        """Create a file, or write at its end. Raises FileError."""
        self.write(path, text, append=True)

    def write(self, path: str, text: str, *, append: bool = False) -> None:
        """Create a file or change its text. Raises FileError."""
        path = self.place(path)
        refused = procfiles.write(self.machine, path, text)
        if refused is not None:
            if refused:
                raise FileError(refused)
            return
        if self._stored(path) is not None:
            self.remove(path)
        before = self._text(path) if append else ""
        volume = self._volume_of(path)
        if volume is None:
            self._need_folder(parent_of(path))
            self.machine.files.write(path, before + text)
            return
        refused = self.machine.disk_refusal(path, len(text))
        if refused:
            raise FileError(refused)
        volume.write(path, before + text)

    def touch(self, path: str) -> None:
        """Create a file, or give it the present time. Raises FileError."""
        path = self.place(path)
        found = self.machine.files_at(path).stored(path) if self._stored(path) is not None else None
        if found is not None:
            found.changed_ns = self.machine.sim.now
        else:
            self.append(path, "")

    def allocate(self, path: str, size: int) -> None:
        """Create a file of a size whose content nobody reads. Raises FileError."""
        path = self.place(path)
        refused = self.machine.disk_refusal(path, size)
        if refused:
            raise FileError(refused)
        self._need_folder(parent_of(path))
        self.machine.files.allocate(path, size)

    def make_folder(self, path: str) -> None:
        """Create a folder. Raises FileError."""
        path = self.place(path)
        if self.exists(path):
            raise FileError("File exists")
        self._need_folder(parent_of(path))
        self.machine.files.make_folder(path)

    def make_folders(self, path: str) -> None:
        """Create a folder, and those in which it lies; all is well if it is there. Raises FileError."""
        path = self.place(path)
        if not self.is_folder(path):
            if self.exists(path):
                raise FileError("File exists")
            self.make_folders(parent_of(path))
        self.machine.files.make_folder(path, parents=True)

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it. Raises FileError."""
        path, machine = self.place(path), self.machine
        for each in [path] if self.is_file(path) else self.below(path):
            if self._stored(each) is not None:
                error = machine.files_at(each).remove(each)
                if error:
                    raise FileError(ERROR_TEXTS[error])
            elif machine.files.find(each) is not None:
                machine.files.remove(each)
            else:
                volume = self._volume_of(each)
                if volume is None:
                    raise FileError("Operation not permitted")
                volume.write(each, None)
        if machine.files.is_folder(path):
            machine.files.remove_folder(path)

    def move(self, source: str, target: str, comm: str = "mv") -> int:
        """Give a file or a folder another name; how long it takes, ns. Raises FileError.

        On one file system no data are read; to another one they are copied.
        """
        source, target = self.place(source), self.place(target)
        machine = self.machine
        if source == target:
            return 0
        if not self.exists(source):
            raise FileError(ERROR_TEXTS["ENOENT"])
        there, here = machine.files_at(source), machine.files_at(target)
        if self.is_file(target):
            self.remove(target)
        memory = machine.tmpfs_at(source) != machine.tmpfs_at(target)
        if there is not here or memory or self._written(source) is not None:
            delay = self.copy(source, target, comm)
            self.remove(source)
            return delay
        self._need_folder(parent_of(target))
        for path in [source] if self._stored(source) is not None else self._stored_below(source):
            error = there.rename(path, target + path[len(source) :])
            if error:
                raise FileError(ERROR_TEXTS[error])
        if machine.files.find(source) is not None or machine.files.is_folder(source):
            machine.files.move(source, target)
        elif not self._stored(target):
            machine.files.make_folder(target, parents=True)
        self._carry(source, target, keep=False)
        return 0

    def copy(self, source: str, target: str, comm: str = "cp") -> int:
        """Copy a file, or a folder with all that is in it: read from one drive, written to the other; how long, ns.

        What a store knows of its data goes with its files: whoever starts on the copy finds them. Raises FileError.
        """
        source, target = self.place(source), self.place(target)
        alone = self.is_file(source)
        if not alone:
            self.make_folders(target)
        delay = 0
        for path in [source] if alone else self.below(source):
            end = target + path[len(source) :]
            if not alone:
                self.machine.files.make_folder(parent_of(end), parents=True)
            delay += self._copy_file(path, end, comm)
        if alone and self._stored(source) is not None:
            source, target = parent_of(source), parent_of(target)
        self._carry(source, target, keep=True)
        return delay

    def _copy_file(self, source: str, target: str, comm: str) -> int:
        if self._stored(source) is None:
            found = self.machine.files.find(source)
            if found is not None and found.hollow_bytes:
                self.allocate(target, found.hollow_bytes)
                return found.hollow_bytes // 2
            self.write(target, self.read(source, comm).text)
            return 0
        self._need_folder(parent_of(target))
        if self.machine.files.find(target) is not None:
            self.machine.files.remove(target)
        there, here = self.machine.files_at(source), self.machine.files_at(target)
        size = there.size_of(source)
        read = there.read(source, 0, size, comm=comm)
        error = read.error or here.allocate(target, size)
        written = here.write(target, 0, size, comm=comm) if not error else read
        if error or written.error:
            raise FileError(ERROR_TEXTS[error or written.error])
        return max(read.delay_ns, written.delay_ns)  # read ahead, written behind

    # Inside. Paths here are places.

    def _is_folder(self, path: str) -> bool:
        if self.machine.files.is_folder(path) or virtual_names(self.machine, path) is not None:
            return True
        below = (volume.path for volume in self._volumes(path))
        return any(place == path or place.startswith(path + "/") for place in below) or bool(
            self._stored_below(path) or self._written_below(path) or containerlogs.below(self.machine, path)
        )

    def _need_folder(self, path: str) -> None:
        """The folder is there for the texts, too. Raises FileError."""
        if not self.machine.files.is_folder(path):
            if not self.is_folder(path):
                raise FileError("Not a directory" if self.exists(path) else ERROR_TEXTS["ENOENT"])
            self.machine.files.make_folder(path, parents=True)

    def _text(self, path: str) -> str:
        return self.read(path).text if self.is_file(path) else ""

    def _stored(self, path: str) -> Entry | None:
        """What a store keeps there."""
        storage = self.machine.built_storage
        found = None if storage is None else storage.mounts.at(path).stored(path)
        return None if found is None else Entry(False, found.size_bytes, found.changed_ns)

    def _stored_below(self, folder: str) -> list[str]:
        storage = self.machine.built_storage
        if storage is None:
            return []
        prefix = folder.rstrip("/") + "/"
        inner = [system for system in storage.mounts if system.mount_point.startswith(prefix)]
        systems = {system.device: system for system in (storage.mounts.at(folder), *inner)}
        return [path for system in systems.values() for path in system.files_below(folder)]

    def _volumes(self, path: str) -> Iterator[Volume]:
        """Pods' volumes in whose folder a path lies, or that lie below it."""
        head = path.rstrip("/") + "/"
        for place in self.machine.volumes:
            if (place + "/").startswith(head) or head.startswith(place + "/"):
                yield Volume(place, (), self.machine.volumes, place)
        if not (head.startswith(PODS + "/") or PODS.startswith(head)):
            return
        for uid, sandbox in self.machine.runtime.sandboxes.items():
            mounts = {mount.volume: mount for run in sandbox.containers.values() for mount in run.mounts}
            for name, mount in mounts.items():
                kind = _KINDS.get(mount.source, mount.source)
                place = f"{PODS}/{uid}/volumes/kubernetes.io~{kind}/{name}"
                if name and not mount.host and ((place + "/").startswith(head) or head.startswith(place + "/")):
                    yield Volume(place, mount.files, sandbox.volumes, name)
            place = f"{PODS}/{uid}"
            if (place + "/").startswith(head) or head.startswith(place + "/"):
                yield Volume(place, _kept(sandbox), sandbox.volumes, "")

    def _volume_of(self, path: str) -> Volume | None:
        """The volume into which a file is written: that of a pod, or where pods have written one of that name."""
        for volume in self._volumes(path):
            if path.startswith(volume.path + "/"):
                inside = path[len(volume.path) :]
                if volume.path.startswith(PODS + "/") or volume.written.get(inside) is not None:
                    return volume
        return None

    def _written(self, path: str) -> str | None:
        """Text of a file in a volume."""
        for volume in self._volumes(path):
            text = volume.texts(self.machine.sim.now).get(path[len(volume.path) :])
            if path.startswith(volume.path) and text is not None:
                return text
        return None

    def _written_below(self, folder: str) -> list[str]:
        prefix, now_ns = folder.rstrip("/") + "/", self.machine.sim.now
        found = [
            volume.path + name
            for volume in self._volumes(folder)
            for name, text in volume.texts(now_ns).items()
            if text is not None
        ]
        return [path for path in found if path.startswith(prefix)]

    def _carry(self, source: str, target: str, *, keep: bool) -> None:
        """What stores hold in the folders of volumes goes along."""
        volumes = self.machine.volumes
        for path in [path for path in volumes if path == source or path.startswith(source + "/")]:
            end = target + path[len(source) :]
            if not keep:
                volumes[end] = volumes.pop(path)
                continue
            copied, held = Layer(), volumes[path]
            copied.files, copied.folders = dict(held.files), dict(held.folders)
            copied.held = {name: deepcopy(value) for name, value in held.held.items()}
            volumes.setdefault(end, copied)


def _kept(sandbox: Sandbox) -> tuple[tuple[str, str], ...]:
    """What the kubelet keeps of a pod beside its volumes: /etc/hosts, messages at the end, marks of filled volumes."""
    found = []
    for name, run in sandbox.containers.items():
        found.append((f"containers/{name}/{run.container_id[:8]}", ""))
        if not sandbox.host_network and not any(known == "etc-hosts" for known, _ in found):
            found.append(("etc-hosts", base_file(run, "/etc/hosts") or ""))
        for mount in run.mounts:
            if mount.source in ("configMap", "secret", "projected", "downwardAPI") and mount.volume:
                found.append((f"plugins/kubernetes.io~empty-dir/wrapped_{mount.volume}/ready", ""))
    return tuple(found)
