"""Layers of written files, and how large a text is; paths and errors are the userland's."""

from __future__ import annotations

from typing import Any

from simcluster.models.userland.escapes import raw
from simcluster.models.userland.paths import ERROR_TEXTS, FileError, normalize, parent_of

__all__ = ["ERROR_TEXTS", "FileError", "Layer", "bytes_of", "normalize", "parent_of"]


def bytes_of(text: str) -> int:
    """Size of a file: of its text in UTF-8, or what a large file without text says (`bulk.Zeros`)."""
    return len(text) if len(text) != len(str(text) + "") else len(raw(text))


class Layer:
    """Changes on top of what was there: path -> text, or None for a removed file; `held` is what programs keep
    in folders of their own (a store's data directory).
    """

    __slots__ = ("adorned", "files", "folders", "held")

    def __init__(self) -> None:
        self.files: dict[str, str | None] = {}
        self.folders: dict[str, bool] = {}
        self.held: dict[str, object] = {}
        self.adorned: dict[str, dict[str, Any]] = {}  # mode, owner, target of a link, ... by path
