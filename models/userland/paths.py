"""Paths, and what system calls on files answer: common to nodes, containers and the desk."""

from __future__ import annotations

from typing import NamedTuple, Protocol

#: What system calls answer, as programs print it.
ERROR_TEXTS = {
    "EACCES": "Permission denied",
    "EEXIST": "File exists",
    "EIO": "Input/output error",
    "EISDIR": "Is a directory",
    "ENOENT": "No such file or directory",
    "ENOSPC": "No space left on device",
    "ENOTDIR": "Not a directory",
    "ENOTEMPTY": "Directory not empty",
    "EPERM": "Operation not permitted",
    "EROFS": "Read-only file system",
}


#: Longest path that a system call takes (limits.h).
PATH_MAX = 4095


class FileError(Exception):
    """What the system call answered, as text (`No such file or directory`)."""


class Stat(NamedTuple):
    """What lies at a path.

    Attributes:
        kind: `file`, `folder`, `link`, `block` or `char`.
        size: bytes.
        mode: permission bits.
        owner, group: names.
        changed_ns: simulated instant of the last change.
        target: of a link.
        device: numbers of a device.
        links: names of it.
        inode: its number.
    """

    kind: str
    size: int = 0
    mode: int = 0o644
    owner: str = "root"
    group: str = "root"
    changed_ns: int = 0
    target: str = ""
    device: tuple[int, int] = (0, 0)
    links: int = 1
    inode: int = 0

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.kind == "folder"


class Files(Protocol):
    """The files that a place has. Paths are absolute and normalized; every call may raise FileError."""

    def look(self, path: str) -> Stat | None:
        """What lies at a path, links not followed; None if nothing does."""

    def read(self, path: str) -> str:
        """Text of a file."""

    def names(self, path: str) -> list[str]:
        """Names in a folder, sorted by code point."""

    def write(self, path: str, text: str, *, append: bool = False) -> None:
        """Create a file, or change its text."""

    def make_folder(self, path: str) -> None:
        """Create a folder in one that is there."""

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it."""

    def move(self, source: str, target: str) -> None:
        """Give a file or a folder another name."""

    def copy(self, source: str, target: str) -> None:
        """Copy a file, or a folder with all that is in it."""

    def adorn(self, path: str, **said: object) -> None:
        """Change `mode`, `owner`, `group`, `changed_ns` or `target` (which makes a link)."""

    def spent_ns(self) -> int:
        """How long the drives took since this was last asked."""


def parent_of(path: str) -> str:
    """The folder of a path: `/a` of `/a/b`, `/` of `/a`."""
    return path.rpartition("/")[0] or "/"


def normalize(path: str, folder: str = "/") -> str:
    """An absolute path without `.`, `..` and doubled slashes."""
    parts: list[str] = []
    for name in (path if path.startswith("/") else f"{folder}/{path}").split("/"):
        if name == "..":
            del parts[-1:]
        elif name not in ("", "."):
            parts.append(name)
    return "/" + "/".join(parts)
