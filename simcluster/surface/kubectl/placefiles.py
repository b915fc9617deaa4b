"""The files of a desk or a node as kubectl takes them: by the path that was typed."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping

from simcluster.models.userland.paths import FileError, Files, normalize, parent_of

#: Folders in which nobody keeps manifests.
_PSEUDO = ("/dev", "/proc", "/sys")


class PlaceFiles(MutableMapping[str, str]):
    """Path -> text, seen from a folder.

    Args:
        files: of the desk or a node, or those together with what process substitutions print.
    """

    def __init__(self, files: Files, cwd: str) -> None:
        self._files = files
        self._cwd = cwd

    def __getitem__(self, name: str) -> str:
        path = normalize(name, self._cwd)
        try:
            return "" if path == "/dev/null" else self._files.read(path)
        except FileError:
            raise KeyError(name) from None

    def __setitem__(self, name: str, text: str) -> None:
        path = normalize(name, self._cwd)
        folder, missing = parent_of(path), []
        while folder != "/" and self._files.look(folder) is None:
            missing.append(folder)
            folder = parent_of(folder)
        for each in reversed(missing):
            self._files.make_folder(each)
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
            if path in _PSEUDO:
                continue
            found = self._files.look(path)
            if found is not None and found.is_folder:
                yield from self._below(path)
            elif found is not None:
                yield path

    def __len__(self) -> int:
        return sum(1 for _ in self)
