"""RuntimeClass: a pod's runtime class must exist; its overhead and its nodes become the pod's.

Source: plugin/pkg/admission/runtimeclass of 1.32.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from simcluster.api.admission.plugin import Cluster, Plugin, refuse
from simcluster.api.objects import thaw
from simcluster.api.registry.attributes import CREATE, Attributes

_CLASSES = "runtimeclasses.node.k8s.io"


class RuntimeClass(Plugin):
    """The plugin."""

    operations: ClassVar[tuple[str, ...]] = (CREATE,)
    resources: ClassVar[tuple[str, ...] | None] = ("pods",)

    def mutate(self, attributes: Attributes, cluster: Cluster) -> None:
        """Set overhead, node selector and tolerations. Raises ApiError if the class does not exist."""
        spec = attributes.new["spec"]
        name = spec.get("runtimeClassName")
        if attributes.subresource or not name:
            return
        found = cluster.by_name(_CLASSES, "", name)
        if found is None:
            raise refuse(attributes, f'pod rejected: RuntimeClass "{name}" not found')
        overhead: Mapping[str, Any] = (found.get("overhead") or {}).get("podFixed") or {}
        if overhead:
            if "overhead" in spec and dict(spec["overhead"]) != dict(overhead):
                raise refuse(attributes, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
            spec["overhead"] = thaw(overhead)
        scheduling: Mapping[str, Any] = found.get("scheduling") or {}
        selector = spec.setdefault("nodeSelector", {}) if scheduling.get("nodeSelector") else {}
        for key, value in (scheduling.get("nodeSelector") or {}).items():
            if selector.get(key, value) != value:
                text = f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector"
                raise refuse(attributes, f"{text}[{key}] = {selector[key]}")
            selector[key] = value
        if scheduling.get("tolerations"):
            spec.setdefault("tolerations", []).extend(thaw(entry) for entry in scheduling["tolerations"])
