"""The generic tools of a container's file system, if the image has them (`cat`, `env`, `sh -c`)."""

from __future__ import annotations

import importlib
from importlib.util import find_spec

from simcluster.models.machine.container import Container
from simcluster.models.machine.program import ExecResult

_TOOLS = "simcluster.models.machine.tools"


def run_tool(container: Container, argv: tuple[str, ...], stdin: str) -> ExecResult | None:
    """Run a tool that most images carry; None if there is no such executable.

    The import is late because the shell's tools run containers' commands themselves.
    """
    if not argv or find_spec(_TOOLS) is None:
        return None
    result: ExecResult | None = importlib.import_module(_TOOLS).run(container, argv, stdin)
    return result
