"""NetworkX, loaded when a graph is first looked at: a cluster, whose traffic has no such file, can do without."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any


@functools.cache
def networkx() -> Any:
    """The library."""
    return import_module("networkx")
