"""The order in which `kubectl kustomize` prints objects (legacy sort order of kustomize)."""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.api.objects import Json

FIRST = (
    *("Namespace", "ResourceQuota", "StorageClass", "CustomResourceDefinition", "ServiceAccount"),
    *("PodSecurityPolicy", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "ConfigMap", "Secret"),
    *("Endpoints", "Service", "LimitRange", "PriorityClass", "PersistentVolume", "PersistentVolumeClaim"),
    *("Deployment", "StatefulSet", "CronJob", "PodDisruptionBudget"),
)
LAST = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


def legacy_order(objects: Sequence[Json], first: Sequence[str] = FIRST, last: Sequence[str] = LAST) -> list[Json]:
    """The objects with what others need before them, webhooks last; otherwise by kind and name."""
    return sorted(objects, key=_Rank(first, last).of)


class _Rank:
    def __init__(self, first: Sequence[str], last: Sequence[str]) -> None:
        self.places = {kind: index - len(first) for index, kind in enumerate(first)}
        self.places.update({kind: index + 1 for index, kind in enumerate(last)})

    def of(self, obj: Json) -> tuple[int, str, str, str]:
        kind, metadata = str(obj["kind"]), obj.get("metadata") or {}
        group, _, version = str(obj["apiVersion"]).rpartition("/")
        gvk = f"{kind}.{version or '[noVer]'}.{group or '[noGrp]'}"
        return self.places.get(kind, 0), gvk, str(metadata.get("namespace", "")), str(metadata.get("name", ""))
