"""In an agent's process: run somebody's command to its end, and end as it did."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from types import FrameType


class CannotStart(Exception):
    """The program is there, and the kernel refuses to execute it."""


def run_program(words: Sequence[str], environment: Mapping[str, str]) -> None:
    """Run a command in this process' group until it ends.

    Args:
        words: the program and its arguments.
        environment: variables besides those of this process.

    Raises:
        CannotStart: it cannot be executed.
        SystemExit: it ended with another exit status than 0. If a signal ended it, the same one ends this process.
    """
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _hear)  # a handler, not SIG_IGN, which programs would inherit
    try:
        process = subprocess.Popen(
            list(words), stdin=subprocess.DEVNULL, env={**os.environ, **environment}, close_fds=True
        )
    except (OSError, ValueError) as problem:
        raise CannotStart(f"{words[0]} cannot be started: {problem}") from None
    status = process.wait()
    sys.stdout.flush()
    if status < 0:
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    if status:
        raise SystemExit(status)


def _hear(number: int, frame: FrameType | None) -> None:
    """What the group is told is the program's to answer."""
