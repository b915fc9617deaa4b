"""What `ps` shows of this process: a command line may name what its agents are not to know."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

#: Where the arguments begin and end in memory, of the fields of /proc/PID/stat. Source: proc_pid_stat(5).
_ARG_START, _ARG_END = 48, 49


def hide_arguments(title: str) -> bool:
    """Overwrite this process' command line; whether it could be. Linux only, and only what fits."""
    if sys.platform != "linux":
        return False
    try:
        # pid (name) state ...: the name may hold anything; state is field 3
        fields = Path("/proc/self/stat").read_text(errors="replace").rpartition(")")[2].split()
        start, end = int(fields[_ARG_START - 3]), int(fields[_ARG_END - 3])
    except (OSError, IndexError, ValueError):
        return False
    if not start or end <= start:
        return False
    text = title.encode()[: end - start - 1]
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, text, len(text))
    return True
