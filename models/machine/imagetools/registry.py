"""Which commands of images show the container they run in, and what its own program brings (`redis-cli`)."""

from __future__ import annotations

from simcluster.models.machine.imagetools import (
    bulk,
    curl,
    disk,
    dns,
    git,
    netcat,
    network,
    networkstate,
    openssl,
    processstate,
    system,
)
from simcluster.models.machine.imagetools.call import Outcome, Tool, ToolCall

TOOLS: dict[str, Tool] = {
    **system.TOOLS,
    **network.TOOLS,
    **netcat.TOOLS,
    "curl": curl.curl,
    **disk.TOOLS,
    **dns.TOOLS,
    **bulk.TOOLS,
    **openssl.TOOLS,
    **git.TOOLS,
    **networkstate.TOOLS,
    **processstate.TOOLS,
}
#: Variables of every shell.
_SHELL = ("PATH", "HOSTNAME", "HOME", "PWD", "OLDPWD", "SHLVL", "_", "TERM")


def image_tool(call: ToolCall) -> Outcome | None:
    """Run a command of the container's own program; None if it has no such command."""
    program = getattr(call.container, "program", None)
    if program is None:
        return None
    given = call.container.spec.environment
    more = tuple(f"{n}={value}" for n, value in call.env.items() if given.get(n) != value and n not in _SHELL)
    result: Outcome | None = program.run_with_input(("env", *more, *call.argv), call.stdin) if more else None
    if result is None:
        result = program.run_with_input(tuple(call.argv), call.stdin)
    return result
