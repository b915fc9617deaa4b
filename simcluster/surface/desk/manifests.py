"""The desk's files as kubectl takes them: by the path that was typed."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping

from simcluster.models.userland.memory import MemoryFiles
from simcluster.models.userland.paths import FileError, normalize, parent_of


class DeskManifests(MutableMapping[str, str]):
    """Path -> text, seen from a folder."""

    def __init__(self, files: MemoryFiles, cwd: str) -> None:
        self._files = files
        self._cwd = cwd

    def __getitem__(self, name: str) -> str:
        try:
            return self._files.read(normalize(name, self._cwd))
        except FileError:
            raise KeyError(name) from None

    def __setitem__(self, name: str, text: str) -> None:
        path = normalize(name, self._cwd)
        self._files.make_folders(parent_of(path))
        self._files.write(path, text)

    def __delitem__(self, name: str) -> None:
        self._files.remove(normalize(name, self._cwd))

    def __iter__(self) -> Iterator[str]:
        """Absolute paths, and those below the folder as they are written from there."""
        head = self._cwd.rstrip("/") + "/"
        for path in self._below("/"):
            yield path
            if path.startswith(head):
                yield path[len(head) :]
                yield f"./{path[len(head) :]}"

    def _below(self, folder: str) -> Iterator[str]:
        for name in self._files.names(folder):
            path = f"{folder.rstrip('/')}/{name}"
            found = self._files.look(path)
            if found is not None and found.is_folder:
                yield from self._below(path)
            elif found is not None:
                yield path

    def __len__(self) -> int:
        return sum(1 for _ in self)
