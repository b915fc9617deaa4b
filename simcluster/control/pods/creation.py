"""How controllers create pods from a template.

Source: kubernetes pkg/controller/controller_utils.go (GetPodFromTemplate) and replica_set.go (slowStartBatch).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.api.objects import ApiObject, Json, name_of, owner_reference, thaw


def slow_start_batches(count: int) -> list[int]:
    """Sizes of the batches in which `count` pods are created: 1, 2, 4, ...

    A quota that refuses all costs one request this way, not `count`.

    >>> slow_start_batches(10)
    [1, 2, 4, 3]
    """
    sizes: list[int] = []
    size = 1
    while count > 0:
        sizes.append(min(size, count))
        count -= sizes[-1]
        size *= 2
    return sizes


def pod_template(owner: Mapping[str, Any]) -> Mapping[str, Any]:
    """`spec.template`; an object without one makes pods that the API server refuses. Do not change it."""
    found: Mapping[str, Any] = owner["spec"].get("template") or {}
    return found if "metadata" in found and "spec" in found else {"metadata": {}, "spec": {}, **found}


def pod_from_template(owner: ApiObject) -> Json:
    """The pod that a ReplicaSet asks the API server to create."""
    template = thaw(pod_template(owner))
    metadata: Json = {"generateName": f"{name_of(owner)}-"}
    for field in ("labels", "annotations", "finalizers"):
        value = (template.get("metadata") or {}).get(field)
        if value:
            metadata[field] = value
    metadata["ownerReferences"] = [owner_reference(owner)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
