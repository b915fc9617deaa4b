"""Which libraries there are; each is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.surface.http.matrix.client import Client


def _of(module: str, name: str) -> Callable[..., Client]:
    def make(*given: Any) -> Client:
        found: Client = getattr(import_module(f"tests.surface.http.matrix.{module}"), name)(*given)
        return found

    return make


LIBRARIES: dict[str, Callable[[Path], Client]] = {
    "kubernetes": _of("official", "Official"),
    "kubernetes_asyncio": _of("asynchronous", "Asynchronous"),
    "lightkube": _of("light", "Light"),
    "kr8s": _of("krates", "Krates"),
}
javascript = _of("javascript", "JavaScript")
mcp = _of("mcp", "McpServer")
