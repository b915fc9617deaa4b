"""Public helpers for tests: of this project and of packages that extend it.

`check_app`, `check_fault` and `check_task` prove what a package brings as `simcluster check` does, and fail with
what was not proved.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simcluster.testing.plugins import check_app, check_fault, check_task

__all__ = ["check_app", "check_fault", "check_task"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("simcluster.testing.plugins"), name)
