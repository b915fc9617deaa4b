"""Files that the kernel makes up when they are read: /proc and /sys.

Each family has a function (machine, path) -> text or None; the first that knows the path answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from simcluster.models.machine.hosttools import blockfiles
from simcluster.models.machine.kernel import procfiles

if TYPE_CHECKING:
    from simcluster.models.machine.machine import Machine

VIRTUAL_FILES: tuple[Callable[[Machine, str], str | None], ...] = (blockfiles.read, procfiles.read)


def virtual_file(machine: Machine, path: str) -> str | None:
    """Text of a file of /proc or /sys; None if the path is no such file."""
    for read in VIRTUAL_FILES:
        text = read(machine, path)
        if text is not None:
            return text
    return None
