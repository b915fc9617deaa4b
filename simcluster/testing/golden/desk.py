"""The desk at which the recorded commands are typed: files, editor, clock of the warm process."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path


class FolderFiles(Mapping[str, str]):
    """Files as a command in a working directory names them, read when they are asked for."""

    def __init__(self, folder: Path, extra: Mapping[str, str]) -> None:
        self.folder = folder
        self.extra = extra

    def __getitem__(self, name: str) -> str:
        if name in self.extra:
            return self.extra[name]
        try:
            return (self.folder / name).read_text()
        except (OSError, ValueError):
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        yield from self.extra
        for folder, folders, names in os.walk(self.folder):  # what vanishes meanwhile is passed over
            folders.sort()
            for name in sorted(names):
                yield os.path.relpath(os.path.join(folder, name), self.folder)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Desk:
    """An editor in a working directory (surface.protocols.Workstation)."""

    def __init__(self, folder: Path, editor: str) -> None:
        self.folder = folder
        self.editor = editor

    def edit(self, text: str, suffix: str) -> str:
        """Run the editor over a temporary file."""
        handle, name = tempfile.mkstemp(suffix, "kubectl-edit-")
        path = Path(name)
        try:
            with os.fdopen(handle, "w") as file:
                file.write(text)
            subprocess.run(["/bin/sh", "-c", f"{self.editor or 'vi'} {path}"], cwd=self.folder, check=False)
            return path.read_text()
        finally:
            path.unlink(missing_ok=True)
