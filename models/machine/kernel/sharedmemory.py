"""Shared memory of pods: the tmpfs on /dev/shm and how much of it is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simcluster.models.machine.kernel.group import Group

#: containerd mounts /dev/shm with size=65536k.
DEFAULT_BYTES = 64 << 20
PATH = "/dev/shm"
#: In place of a container's id: what is in files and nobody's.
_FILES = "files"


class SharedMemory:
    """What each container keeps in /dev/shm, by container id; containers of a pod share the file system."""

    __slots__ = ("_memory_bytes", "_sizes", "_used")

    def __init__(self, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._used: dict[str, dict[str, int]] = {}  # pod uid -> container id -> bytes
        self._sizes: dict[str, int] = {}

    def size(self, container: Group) -> int:
        """Size of the file system: 64 MiB, or what an emptyDir of medium Memory mounted there may hold."""
        own = self._sizes.get(container.spec.pod_uid)
        if own is not None:
            return own
        mounted = any(mount.path.rstrip("/") == PATH for mount in container.mounts)
        limit = container.spec.memory_limit or self._memory_bytes // 2
        return limit if mounted else DEFAULT_BYTES

    def resize(self, pod_uid: str, size_bytes: int) -> None:
        """Give a pod's /dev/shm another size (`mount -o remount,size=`). Raises ValueError."""
        if size_bytes < 0:
            raise ValueError("a file system has no negative size")
        self._sizes[pod_uid] = size_bytes

    def used(self, pod_uid: str) -> int:
        """Bytes in a pod's /dev/shm."""
        parts: Mapping[str, int] = self._used.get(pod_uid, {})
        return sum(parts.values())  # integers

    def used_by(self, pod_uids: Sequence[str]) -> list[int]:
        """Bytes of several pods."""
        return [self.used(uid) for uid in pod_uids] if self._used else [0] * len(pod_uids)

    def total(self) -> int:
        """Bytes of all pods."""
        return sum(self.used(uid) for uid in self._used)  # integers

    def set(self, container: Group, size_bytes: int, owner: str = "") -> str:
        """The segments of the container, or of another owner in its pod, are to be so large together: ENOSPC, or ""."""
        uid, key = container.spec.pod_uid, owner or container.container_id
        parts = self._used.setdefault(uid, {})
        others = self.used(uid) - parts.get(key, 0)
        if others + size_bytes > self.size(container):
            return "ENOSPC"
        parts[key] = size_bytes
        return ""

    def litter(self, container: Group, size_bytes: int) -> str:
        """Files that stay when their writer ends, as long as the pod's file system does: ENOSPC, or ""."""
        uid = container.spec.pod_uid
        parts = self._used.setdefault(uid, {})
        fits = min(size_bytes, self.size(container) - self.used(uid))
        parts[_FILES] = parts.get(_FILES, 0) + fits
        return "ENOSPC" if fits < size_bytes else ""

    def removed(self, pod_uid: str) -> None:
        """The pod's sandbox is gone, and its file system with it."""
        self._used.pop(pod_uid, None)
        self._sizes.pop(pod_uid, None)

    def forget(self, container: Group) -> None:
        """The process is gone; its unlinked segments too."""
        parts = self._used.get(container.spec.pod_uid)
        if parts is not None:
            parts.pop(container.container_id, None)
            if not parts:
                del self._used[container.spec.pod_uid]
