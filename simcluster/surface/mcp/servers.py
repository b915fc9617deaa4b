"""MCP servers over a toolbox: one with all tools, and those that SREGym mounts one by one.

`/mcp` is streamable HTTP with all tools; `/kubectl`, `/prometheus`, `/loki`, `/jaeger`, `/submit` and `/desk` are
mounts with their own, of the older SSE transport (`/kubectl/sse`) and streamable HTTP (`/kubectl/mcp`).
"""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from starlette.applications import Starlette
from starlette.routing import Mount

from simcluster.surface.mcp.toolbox import Refused, Toolbox

Tool = Callable[..., Awaitable[str]]
#: What agents are told of the whole.
_INSTRUCTIONS = (
    "You are on call for a Kubernetes cluster. Look with kubectl and on the nodes, mend what is wrong, submit your "
    "diagnosis. Time passes with every command."
)
_GROUPS: Mapping[str, tuple[str, ...]] = {
    "kubectl": ("exec_kubectl_cmd_safely", "rollback_command", "get_previous_rollbackable_cmd"),
    "prometheus": ("get_metrics", "get_alerts"),
    "loki": ("get_logs", "get_labels", "get_label_values"),
    "jaeger": ("get_services", "get_operations", "get_traces", "get_dependency_graph"),
    "submit": ("submit",),
    "desk": ("run_at_desk", "run_on_node", "wait_tool", "get_alert", "diagnose", "fork", "counterfactual"),
}


def server_of(toolbox: Toolbox, group: str = "") -> MCPServer[Any]:
    """A server with the tools of a group, or with all."""
    # The library would print what clients do wrong, in colours: they are told themselves.
    logging.basicConfig(handlers=[logging.NullHandler()])
    made: MCPServer[Any] = MCPServer(group or "oncall", instructions=_INSTRUCTIONS)
    for name in _GROUPS[group] if group else [name for names in _GROUPS.values() for name in names]:
        if not toolbox.offers(name):
            continue
        method: Tool = getattr(toolbox, name)
        made.add_tool(_refusing(method), name=name, description=" ".join((method.__doc__ or "").split()))
    return made


class Endpoints:
    """The ASGI application with all mounts.

    Attributes:
        application: answers while `running` lasts.
    """

    def __init__(self, toolbox: Toolbox) -> None:
        whole = server_of(toolbox)
        self._servers = [whole]
        routes = [*whole.streamable_http_app(host="127.0.0.1").routes]
        for group in _GROUPS:
            one = server_of(toolbox, group)
            self._servers.append(one)
            older = server_of(toolbox, group).sse_app(host="127.0.0.1")
            routes.append(Mount(f"/{group}", routes=[*one.streamable_http_app(host="127.0.0.1").routes, *older.routes]))
        self.application = Starlette(routes=routes)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Sessions live as long as the block."""
        async with contextlib.AsyncExitStack() as stack:
            for each in self._servers:
                await stack.enter_async_context(each.session_manager.run())
            yield


def _refusing(method: Tool) -> Tool:
    """A tool whose refusals are the protocol's own errors."""

    @functools.wraps(method)
    async def called(*args: Any, **given: Any) -> str:
        try:
            return await method(*args, **given)
        except Refused as refusal:
            raise ToolError(str(refusal)) from None

    return called
