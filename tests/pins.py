"""Whole answers, pinned: everything a scene yields is compared with the file beside it.

A pin says what the program answered when a person last read it. `pytest --repin` writes the files that differ; what
changed is read in the diff before it is kept. Files that end in `.xz` are compressed: of those, run the test first,
which prints what differs.
"""

from __future__ import annotations

import difflib
import lzma
from collections.abc import Iterable
from pathlib import Path

#: So many lines of a difference are shown.
SHOWN = 80


class Pins:
    """The pinned files of one folder.

    Args:
        folder: where the files are.
        rewrite: whether what differs is written, not refused.
    """

    def __init__(self, folder: Path, rewrite: bool) -> None:
        self._folder = folder
        self._rewrite = rewrite

    def hold(self, name: str, lines: Iterable[str]) -> None:
        """Compare with the file of that name. Raises AssertionError with the difference."""
        path = self._folder / name
        text = "".join(f"{line}\n" for line in lines)
        if self._rewrite:
            if _read(path) != text:
                _write(path, text)
            return
        before = _read(path)
        if text != before:
            found = difflib.unified_diff(before.split("\n"), text.split("\n"), f"pinned {name}", "now", "", "", 2, "")
            shown = [line[:300] for line, _ in zip(found, range(SHOWN), strict=False)]
            raise AssertionError("\n".join(shown) + "\n(`pytest --repin` pins what is now)")


def _read(path: Path) -> str:
    if not path.exists():
        return ""
    return (lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()).decode()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(text.encode()) if path.suffix == ".xz" else text.encode())
