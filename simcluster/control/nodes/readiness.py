"""Whether a node is ready."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.api.objects import condition_status


def ready_status(node: Mapping[str, Any]) -> str:
    """Status of the condition Ready: True, False or Unknown."""
    return condition_status(node, "Ready") or "Unknown"
