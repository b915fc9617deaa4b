"""Files that live in a place of their own: a tree of texts, folders and links with modes, owners and times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simcluster.models.userland.escapes import raw
from simcluster.models.userland.outcome import ROOM
from simcluster.models.userland.paths import ERROR_TEXTS, FileError, Stat, normalize, parent_of

#: Files and folders that a tree holds: what mke2fs gives a file system of a gigabyte.
INODES = 65_536


class MemoryFiles:
    """A tree (`paths.Files`).

    Args:
        now_ns: gives the present instant; a bound method, so that the tree can be saved.
        room: bytes that it holds.
        owner: whose new files are.
    """

    def __init__(self, now_ns: Callable[[], int], room: int = 4 * ROOM, owner: str = "root") -> None:
        self.owner = owner
        self._now_ns = now_ns
        self._room = room
        self._used = 0
        self._inodes = 2
        self._texts: dict[str, str] = {}
        self._stats: dict[str, Stat] = {"/": Stat("folder", 4096, 0o755, inode=2, changed_ns=now_ns())}

    def look(self, path: str) -> Stat | None:
        """What lies at a path."""
        found = self._stats.get(path)
        if found is None or found.kind != "file":
            return found
        return found._replace(size=len(raw(self._texts[path])))

    def read(self, path: str) -> str:
        """Text of a file."""
        found = self._stats.get(path)
        if found is None:
            raise FileError(ERROR_TEXTS["ENOTDIR" if self._below_file(path) else "ENOENT"])
        if found.is_folder:
            raise FileError(ERROR_TEXTS["EISDIR"])
        return self._texts.get(path, "")

    def _below_file(self, path: str) -> bool:
        parent = self._stats.get(parent_of(path))
        return parent is not None and not parent.is_folder

    def names(self, path: str) -> list[str]:
        """Names in a folder."""
        found = self._stats.get(path)
        if found is None or not found.is_folder:
            raise FileError(ERROR_TEXTS["ENOENT" if found is None else "ENOTDIR"])
        head = path.rstrip("/") + "/"
        size = len(head)
        return sorted(
            known[size:]
            for known in self._stats
            if known.startswith(head) and "/" not in known[size:] and known != head
        )

    def _need_folder(self, path: str) -> None:
        parent = self._stats.get(path)
        if parent is None or not parent.is_folder:
            raise FileError(ERROR_TEXTS["ENOENT" if parent is None else "ENOTDIR"])

    def write(self, path: str, text: str, *, append: bool = False) -> None:
        """Create a file, or change its text."""
        found = self._stats.get(path)
        if found is not None and found.is_folder:
            raise FileError(ERROR_TEXTS["EISDIR"])
        self._need_folder(parent_of(path))
        held = self._texts.get(path, "")
        whole = held + text if append else text
        if self._used - len(held) + len(whole) > self._room:
            raise FileError(ERROR_TEXTS["ENOSPC"])
        if found is None and len(self._stats) >= INODES:
            raise FileError(ERROR_TEXTS["ENOSPC"])
        self._used += len(whole) - len(held)
        self._texts[path] = whole
        if found is None:
            self._inodes += 1
            found = Stat("file", inode=self._inodes, owner=self.owner, group=self.owner)
        self._stats[path] = found._replace(changed_ns=self._now_ns())

    def make_folder(self, path: str) -> None:
        """Create a folder."""
        if path in self._stats:
            raise FileError(ERROR_TEXTS["EEXIST"])
        self._need_folder(parent_of(path))
        if len(self._stats) >= INODES:
            raise FileError(ERROR_TEXTS["ENOSPC"])
        self._inodes += 1
        self._stats[path] = Stat(
            "folder", 4096, 0o755, self.owner, self.owner, self._now_ns(), links=2, inode=self._inodes
        )

    def make_folders(self, path: str) -> None:
        """Create a folder, and those in which it lies."""
        if path not in self._stats:
            self.make_folders(parent_of(path))
            self.make_folder(path)

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it."""
        if path not in self._stats:
            raise FileError(ERROR_TEXTS["ENOENT"])
        if not self._stats[path].is_folder:
            del self._stats[path]
            self._used -= len(self._texts.pop(path, ""))
            return
        head = path.rstrip("/") + "/"
        for known in [known for known in self._stats if known == path or known.startswith(head)]:
            if known != "/":
                del self._stats[known]
                self._used -= len(self._texts.pop(known, ""))

    def move(self, source: str, target: str) -> None:
        """Give a file or a folder another name."""
        found = self._stats.get(source)
        if found is None:
            raise FileError(ERROR_TEXTS["ENOENT"])
        if target.startswith(source.rstrip("/") + "/"):
            raise FileError("Invalid argument")
        self._need_folder(parent_of(target))
        there = self._stats.get(target)
        if there is not None and there.is_folder and self.names(target):
            raise FileError(ERROR_TEXTS["ENOTEMPTY"])
        if there is not None and source != target:
            self.remove(target)
        head = source.rstrip("/") + "/"
        for known in [known for known in self._stats if known == source or known.startswith(head)]:
            end = target + known[len(source) :]
            self._stats[end] = self._stats.pop(known)
            if known in self._texts:
                self._texts[end] = self._texts.pop(known)

    def copy(self, source: str, target: str) -> None:
        """Copy a file, or a folder with all that is in it."""
        found = self._stats.get(source)
        if found is None or not found.is_folder:
            self.write(target, self.read(source))
            return
        if target.startswith(source.rstrip("/") + "/"):
            raise FileError(f"cannot copy a directory, '{source}', into itself, '{target}'")
        self.make_folder(target)
        for name in self.names(source):
            self.copy(f"{source}/{name}", f"{target}/{name}")

    def adorn(self, path: str, **said: Any) -> None:
        """Change what is known of a file, or make a link."""
        if "target" in said and path not in self._stats:
            self._need_folder(parent_of(path))
            self._inodes += 1
            self._stats[path] = Stat(
                "link", len(str(said["target"])), 0o777, changed_ns=self._now_ns(), inode=self._inodes
            )
        if path not in self._stats:
            raise FileError(ERROR_TEXTS["ENOENT"])
        self._stats[path] = self._stats[path]._replace(**said)

    def spent_ns(self) -> int:
        """Nothing takes time."""
        return 0

    def put(self, path: str, text: str, **said: Any) -> None:
        """Lay down a file with the folders above it."""
        path = normalize(path)
        self.make_folders(parent_of(path))
        self.write(path, text)
        if said:
            self.adorn(path, **said)
