"""Paths, layers of written files, and what system calls on files answer: common to nodes and containers."""

from __future__ import annotations

#: What system calls answer, as programs print it.
ERROR_TEXTS = {
    "EIO": "Input/output error",
    "ENOENT": "No such file or directory",
    "ENOSPC": "No space left on device",
    "EROFS": "Read-only file system",
}


def bytes_of(text: str) -> int:
    """Size of a file: of its text in UTF-8, or what a large file without text says (`bulk.Zeros`)."""
    return len(text) if len(text) != len(str(text) + "") else len(text.encode())


class FileError(Exception):
    """What the system call answered, as text (`No such file or directory`)."""


class Layer:
    """Changes on top of what was there: path -> text, or None for a removed file; `held` is what programs keep
    in folders of their own (a store's data directory).
    """

    __slots__ = ("files", "folders", "held")

    def __init__(self) -> None:
        self.files: dict[str, str | None] = {}
        self.folders: dict[str, bool] = {}
        self.held: dict[str, object] = {}


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
