"""How controllers create pods from a template.

Source: kubernetes pkg/controller/controller_utils.go (GetPodFromTemplate) and replica_set.go (slowStartBatch).
"""

from __future__ import annotations

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


def pod_from_template(owner: ApiObject) -> Json:
    """The pod that a ReplicaSet asks the API server to create."""
    template = thaw(owner["spec"]["template"])
    metadata: Json = {"generateName": f"{name_of(owner)}-"}
    for field in ("labels", "annotations", "finalizers"):
        value = (template.get("metadata") or {}).get(field)
        if value:
            metadata[field] = value
    metadata["ownerReferences"] = [owner_reference(owner)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
