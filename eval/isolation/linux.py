"""What only Linux offers to keep processes together; elsewhere these do nothing, and process groups have to do."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path

#: Source: linux/prctl.h.
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def die_with_parent() -> None:
    """Be killed when the parent process ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent has ended."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def kill_descendants(spared: int = 0) -> None:
    """Kill and await every child, and, of a process that adopts orphans, every descendant.

    Args:
        spared: a child that is left alone; so is what belongs to another user and may not be killed.
    """
    left = [spared]
    while children := [pid for pid in _children() if pid not in left]:
        for pid in children:
            try:
                os.kill(pid, signal.SIGKILL)
            except PermissionError:
                left.append(pid)
            else:
                os.waitpid(pid, 0)


def _children() -> list[int]:
    """Process ids of all children that were not awaited yet."""
    own, found = str(os.getpid()), []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # pid (name) state ppid …; the name may hold anything. Source: proc_pid_stat(5).
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        if len(fields) > 1 and fields[1] == own:
            found.append(int(path.parent.name))
    return found
