"""Namespaces: deleted in two steps, so that their content goes first.

Source: pkg/registry/core/namespace.
"""

from __future__ import annotations

from typing import Any

from simcluster.api.objects import ApiObject, Json
from simcluster.api.registry.attributes import Attributes
from simcluster.api.registry.strategy import Strategy

FINALIZER = "kubernetes"
NAME_LABEL = "kubernetes.io/metadata.name"


class NamespaceStrategy(Strategy):
    """Namespaces."""

    def prepare_for_create(self, attributes: Attributes, state: Any) -> None:
        """A namespace starts Active, held by the finalizer of the namespace controller."""
        obj = attributes.new
        metadata = obj["metadata"]
        if metadata.get("name"):
            metadata["labels"] = {**(metadata.get("labels") or {}), NAME_LABEL: metadata["name"]}
        obj["spec"] = {"finalizers": list(dict.fromkeys([*(obj.get("spec") or {}).get("finalizers", ()), FINALIZER]))}
        obj["status"] = {"phase": "Active"}

    def prepare_for_update(self, attributes: Attributes, state: Any) -> None:
        """The finalizers of the spec change through `finalize` only."""
        super().prepare_for_update(attributes, state)
        obj, old = attributes.new, attributes.current
        obj["spec"] = old["spec"]
        metadata = obj["metadata"]
        metadata["labels"] = {**(metadata.get("labels") or {}), NAME_LABEL: metadata["name"]}


def terminating(old: ApiObject, now: str) -> Json:
    """The namespace after the first request to delete it."""
    metadata = dict(old["metadata"])
    metadata.setdefault("deletionTimestamp", now)
    return {**old, "metadata": metadata, "status": {**(old.get("status") or {}), "phase": "Terminating"}}
