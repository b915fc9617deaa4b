"""Which commands an image has: busybox's, and what its own program brings (`redis-cli`)."""

from __future__ import annotations

from simcluster.models.machine import toolsdns, toolsfiles, toolsnetwork, toolssystem
from simcluster.models.machine.toolscall import Outcome, Tool, ToolCall

TOOLS: dict[str, Tool] = {**toolsfiles.TOOLS, **toolssystem.TOOLS, **toolsnetwork.TOOLS, **toolsdns.TOOLS}


def image_tool(call: ToolCall) -> Outcome | None:
    """Run a command of the container's own program; None if it has no such command."""
    program = getattr(call.container, "program", None)
    result = program.run_with_input(tuple(call.argv), call.stdin) if program is not None else None
    return None if result is None else Outcome(result.stdout, result.stderr, result.code)
