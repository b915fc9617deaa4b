"""The generic tools of a container's file system, if the image has them (`cat`, `env`, `sh -c`)."""

from __future__ import annotations

import importlib
from typing import NamedTuple

from simcluster.models.machine.container import Container
from simcluster.models.machine.program import ExecResult

_TOOLS = "simcluster.models.machine.imagetools.execute"


class Executed(NamedTuple):
    """What a command gave, and how long it took in nanoseconds."""

    result: ExecResult
    delay_ns: int = 0


def run_tool(container: Container, argv: tuple[str, ...], stdin: str) -> Executed | None:
    """Run a tool that most images carry; None if there is no such executable.

    The import is late because the shell's tools run containers' commands themselves.
    """
    if not argv:
        return None
    answer = importlib.import_module(_TOOLS).timed(container, argv, stdin)
    return None if answer is None else Executed(answer.result, answer.delay_ns)
