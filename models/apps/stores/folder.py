"""The data directory of a store: where on which disk it lies, and what is in it.

A path in a container is a path of the host: below a volume's own (a claim's, a hostPath's), below the
kubelet's folder (an emptyDir), or in the container's writable layer. Reads and writes go to the file
system that is mounted there; a machine without disks answers at once.

The files belong to the user who made them. Another one than root may not touch them, unless the pod has an fsGroup (for
which the kubelet gives the files of a volume to the group) or root's entry point gives them to the server's user first.
Left out: which of the pod's groups is the fsGroup, and volumes that support none.
"""

from __future__ import annotations

import math

from simcluster.models.apps.stores.contents import Contents
from simcluster.models.machine.container import Container
from simcluster.models.machine.containerspec import Mount
from simcluster.models.machine.kernel.memory import cache_room
from simcluster.models.machine.kernel.syscalls import SyscallFaults
from simcluster.models.machine.shell.files import Layer
from simcluster.models.machine.shell.tree import FileTree
from simcluster.models.machine.storage import FileSystem, IoDemand, IoOutcome, IoShare, Latency, load_file
from simcluster.models.machine.storage.fileload import SpoiltBlock, spoilt_blocks

#: Where the kubelet and containerd put what containers write.
_PODS = "/var/lib/kubelet/pods/{uid}/volumes/kubernetes.io~empty-dir/{name}"
_LAYERS = "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/{number}/fs{path}"
_NOTHING = Latency(0, 0.0, 0)
#: More system calls of a tick are not looked at for injected failures.
MOST_CALLS = 1000
#: Bytes of a text file that are kept.
MOST_TEXT = 256 << 10
#: root, and whom the entry points of the images of stores make of it (docker-library: mongodb, mysql, postgres, redis).
ROOT, SERVER = 0, 999
#: Volumes whose files the kubelet gives to the fsGroup.
GROUPED = ("persistentVolumeClaim", "emptyDir")
#: What a machine without disks answers.
IDEAL = IoShare(_NOTHING, _NOTHING, _NOTHING, 0.0, 1.0, 0, (), (), "", "")


class DataFolder:
    """One folder of one container.

    Attributes:
        path: in the container; `host_path` on the node.
        mount: the volume it lies on; None for the container's own layer.
        comm: name of the process.
    """

    def __init__(self, container: Container, path: str, comm: str = "") -> None:
        self._container = container
        self.path = path.rstrip("/") or "/"
        self.comm = comm or container.comm
        self.mount = _mount_of(container, self.path)
        self._uid = container.uid
        self.host_path = _host_path(container, self.path, self.mount)

    @property
    def files(self) -> FileSystem | None:
        """The file system; None on a machine without disks."""
        find = getattr(self._container.machine, "files_at", None)
        found: FileSystem | None = find(self.host_path) if find is not None else None
        return found

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written: a read-only mount, root or file system."""
        if self.mount is not None:
            if self.mount.read_only or self.mount.source in ("configMap", "secret", "projected", "downwardAPI"):
                return True
        elif self._container.spec.read_only_root:
            return True
        files = self.files
        return files is not None and files.read_only

    @property
    def denied(self) -> bool:
        """Whether the files in it are another user's."""
        contents = self.layer().held.get(self.path)
        owner = contents.owner if isinstance(contents, Contents) else None
        return owner is not None and self._uid not in (owner, ROOT) and not self._grouped

    @property
    def _grouped(self) -> bool:
        return self.mount is not None and self.mount.source in GROUPED and bool(self._container.spec.groups)

    def layer(self) -> Layer:
        """What was written to where the folder lies."""
        container, mount = self._container, self.mount
        if mount is None:
            if container.written is None:
                container.written = Layer()
            return container.written
        if mount.host:
            return container.machine.volumes.setdefault(mount.host, Layer())
        return container.sandbox.volumes.setdefault(mount.volume or mount.path, Layer())

    def contents(self, marker: str) -> Contents | None:
        """What a store left here; None if there is nothing, or its file `marker` is gone with its disk."""
        found = self.layer().held.get(self.path)
        if not isinstance(found, Contents):
            return None
        files = self.files
        return found if files is None or files.exists(self.file(marker)) else None

    def keep(self, contents: Contents) -> None:
        """A store begins to keep its data here, or has opened them: they are its user's."""
        if self._uid != ROOT:
            contents.owner = self._uid
        elif not self._container.spec.command:  # the image's entry point: chown, gosu
            contents.owner = SERVER
        self.layer().held[self.path] = contents

    def restored(self, database: str) -> bool:
        """Whether a database of this name is the first of its application: then it begins with its data of years.

        Who begins anew on another volume afterwards begins with nothing.
        """
        container = self._container
        known = container.machine.network.volumes
        key = f"first:{container.spec.namespace}/{container.spec.name}/{database}"
        if key in known:
            return False
        known[key] = Layer()
        return True

    def file(self, name: str) -> str:
        """A file's path on the host."""
        return f"{self.host_path}/{name}"

    def mode(self, name: str) -> int:
        """Permission bits of a file here, as they were set on the node or in the container."""
        node = getattr(self._container.machine, "files", None)
        said = node.adorned.get(self.file(name), {}) if node is not None else {}
        if not said:
            said = FileTree(self._container).adorned(f"{self.path}/{name}")
        return int(said.get("mode", 0o644))

    def allocate(self, name: str, size: int) -> str:
        """Make a file of a size, or grow it; an error's name or ""."""
        if self.read_only or self.denied:
            return "EROFS" if self.read_only else "EACCES"
        files = self.files
        if files is None:
            return ""
        return (
            ""
            if files.size_of(self.file(name)) >= size and files.exists(self.file(name))
            else files.allocate(self.file(name), size)
        )

    def read(self, name: str, offset: int, size: int) -> IoOutcome:
        """Read from a file."""
        files = self.files
        if files is None:
            return IoOutcome(0)
        return files.read(self.file(name), offset, size, comm=self.comm, pid=self._container.pid)

    def write(self, name: str, offset: int, size: int) -> IoOutcome:
        """Write to a file and wait until it is on the disk."""
        if self.read_only or self.denied:
            return IoOutcome(0, "EROFS" if self.read_only else "EACCES")
        files = self.files
        if files is None:
            return IoOutcome(0)
        written = files.write(self.file(name), offset, size, comm=self.comm, pid=self._container.pid)
        if written.error:
            return written
        synced = files.fsync(self.file(name), comm=self.comm, pid=self._container.pid)
        return synced._replace(delay_ns=synced.delay_ns + written.delay_ns)

    def append_text(self, name: str, text: str) -> None:
        """Add lines to a text file of the folder; of a large one the newest `MOST_TEXT` bytes are kept."""
        path, mount, layer = f"{self.path}/{name}", self.mount, self.layer()
        path = path if mount is None else path[len(mount.path.rstrip("/")) :]
        whole = (layer.files.get(path) or "") + text
        if len(whole) > MOST_TEXT:
            whole = whole[-MOST_TEXT:].partition("\n")[2]
        layer.files[path] = whole

    def cache_room(self) -> int:
        """Bytes of its files that the kernel's page cache may hold now."""
        container = self._container
        return 0 if container.kernel is None else cache_room(container.machine, container)

    def spoilt(self, name: str) -> list[SpoiltBlock]:
        """Blocks of a file that cannot be read, or come back wrong."""
        files = self.files
        found = None if files is None or files.disk.sectors.flawless else files.stored(self.file(name))
        return [] if files is None or found is None else spoilt_blocks(files, found)

    def load(self, part: str, demand: IoDemand) -> IoShare:
        """A tick's I/O of one part of the store (`data`, `journal`)."""
        files = self.files
        if files is None:
            return IDEAL
        demand = demand._replace(file=self.file(demand.file), comm=self.comm, pid=self._container.pid)
        share = load_file(files, f"{self._container.container_id}/{part}", demand)
        if self.read_only and not share.write_error:
            share = share._replace(write_error="EROFS")
        if self._uid != ROOT and not share.write_error and self.denied:
            share = share._replace(write_error="EACCES")
        kernel = self._container.kernel
        return share if kernel is None or not kernel.syscalls.rules else self._injected(share, demand, kernel.syscalls)

    def _injected(self, share: IoShare, demand: IoDemand, faults: SyscallFaults) -> IoShare:
        """The share with what fails by rules for system calls of this process."""
        path = f"{self.path}/{demand.file[len(self.host_path) + 1 :]}"
        for call, count in (("read", demand.random_reads), ("write", demand.writes), ("fsync", demand.fsyncs)):
            calls = min(MOST_CALLS, math.ceil(count))
            failure = faults.failure(call, self._container, comm=self.comm, path=path, count=calls)
            if failure is None or not failure.errno:
                continue
            if call == "read" and not share.read_error:
                share = share._replace(read_error=failure.errno)
            elif call != "read" and not share.write_error:
                share = share._replace(write_error=failure.errno)
        return share

    def release(self, parts: tuple[str, ...]) -> None:
        """The process is gone."""
        files = self.files
        if files is not None:
            for part in parts:
                files.unload(f"{self._container.container_id}/{part}")


def _mount_of(container: Container, path: str) -> Mount | None:
    """The volume on which a path lies: the longest mount path."""
    best: Mount | None = None
    for mount in container.mounts:
        prefix = mount.path.rstrip("/")
        if (path == prefix or path.startswith(prefix + "/")) and (best is None or len(prefix) > len(best.path)):
            best = mount
    return best


def _host_path(container: Container, path: str, mount: Mount | None) -> str:
    if mount is None:
        number = 40 + container.pid % 1000
        return _LAYERS.format(number=number, path=path)
    inner = path[len(mount.path.rstrip("/")) :]
    if mount.host:
        return mount.host.rstrip("/") + inner
    return _PODS.format(uid=container.spec.pod_uid, name=mount.volume or "volume") + inner
