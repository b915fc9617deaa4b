"""Names that point at other objects: they follow when prefixes, suffixes and hashes change names.

The table is kustomize's nameReference configuration, as far as Kubernetes 1.32 has the fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from simcluster.api.objects import Json
from simcluster.surface.kubectl.kustomize.fields import at, pod_spec
from simcluster.surface.kubectl.kustomize.item import Item


class Pointer(NamedTuple):
    """A field with a name in it."""

    holder: Json
    field: str
    kinds: tuple[str, ...]


_ROLES = ("Role", "ClusterRole")
_SCALED = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController")


def fix_references(items: Sequence[Item]) -> None:
    """Let every pointer to an object that was renamed follow it."""
    for item in items:
        for pointer in _pointers(item.obj):
            name = pointer.holder.get(pointer.field)
            if isinstance(name, str) and name:
                _follow(items, item, pointer, name)


def _follow(items: Sequence[Item], owner: Item, pointer: Pointer, name: str) -> None:
    candidates = [other for other in items if other.kind in pointer.kinds and other.was_called(name)]
    near = [other for other in candidates if not other.namespaced or other.namespace == owner.namespace]
    renamed = [other for other in near or candidates if other.names]
    if not renamed:
        return
    target = renamed[0]
    pointer.holder[pointer.field] = target.name
    if pointer.kinds == ("ServiceAccount",) and pointer.holder.get("kind") == "ServiceAccount" and target.namespace:
        pointer.holder["namespace"] = target.namespace


def _pointers(obj: Json) -> Iterator[Pointer]:
    spec = pod_spec(obj)
    if isinstance(spec, dict):
        yield from _of_pod(spec)
    kind = obj["kind"]
    if kind == "StatefulSet":
        yield from _one(at(obj, ("spec",)), "serviceName", "Service")
    elif kind == "Ingress":
        yield from _of_ingress(at(obj, ("spec",)) or {})
    elif kind in ("RoleBinding", "ClusterRoleBinding"):
        yield from _one(obj.get("roleRef"), "name", *_ROLES)
        for subject in obj.get("subjects") or ():
            if subject.get("kind") == "ServiceAccount":
                yield Pointer(subject, "name", ("ServiceAccount",))
    elif kind == "HorizontalPodAutoscaler":
        yield from _one(at(obj, ("spec", "scaleTargetRef")), "name", *_SCALED)
    elif kind == "ServiceAccount":
        for field in ("secrets", "imagePullSecrets"):
            for entry in obj.get(field) or ():
                yield Pointer(entry, "name", ("Secret",))
    elif kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        for webhook in obj.get("webhooks") or ():
            yield from _one(at(webhook, ("clientConfig", "service")), "name", "Service")
    elif kind == "APIService":
        yield from _one(at(obj, ("spec", "service")), "name", "Service")
    elif kind == "PersistentVolumeClaim":
        yield from _one(obj.get("spec"), "volumeName", "PersistentVolume")
        yield from _one(obj.get("spec"), "storageClassName", "StorageClass")
    elif kind == "PersistentVolume":
        yield from _one(obj.get("spec"), "storageClassName", "StorageClass")
    for claim in at(obj, ("spec", "volumeClaimTemplates")) or ():
        yield from _one(claim.get("spec"), "storageClassName", "StorageClass")


def _one(holder: Any, field: str, *kinds: str) -> Iterator[Pointer]:
    if isinstance(holder, dict):
        yield Pointer(holder, field, kinds)


def _of_pod(spec: Json) -> Iterator[Pointer]:
    yield from _one(spec, "serviceAccountName", "ServiceAccount")
    yield from _one(spec, "serviceAccount", "ServiceAccount")
    yield from _one(spec, "priorityClassName", "PriorityClass")
    for entry in spec.get("imagePullSecrets") or ():
        yield from _one(entry, "name", "Secret")
    for volume in spec.get("volumes") or ():
        yield from _one(volume.get("configMap"), "name", "ConfigMap")
        yield from _one(volume.get("secret"), "secretName", "Secret")
        yield from _one(volume.get("persistentVolumeClaim"), "claimName", "PersistentVolumeClaim")
        for source in at(volume, ("projected", "sources")) or ():
            yield from _one(source.get("configMap"), "name", "ConfigMap")
            yield from _one(source.get("secret"), "name", "Secret")
    for field in ("containers", "initContainers"):
        for container in spec.get(field) or ():
            for source in container.get("envFrom") or ():
                yield from _one(source.get("configMapRef"), "name", "ConfigMap")
                yield from _one(source.get("secretRef"), "name", "Secret")
            for variable in container.get("env") or ():
                origin = variable.get("valueFrom") or {}
                yield from _one(origin.get("configMapKeyRef"), "name", "ConfigMap")
                yield from _one(origin.get("secretKeyRef"), "name", "Secret")


def _of_ingress(spec: Json) -> Iterator[Pointer]:
    yield from _one(at(spec, ("defaultBackend", "service")), "name", "Service")
    for rule in spec.get("rules") or ():
        for path in at(rule, ("http", "paths")) or ():
            yield from _one(at(path, ("backend", "service")), "name", "Service")
    for entry in spec.get("tls") or ():
        yield from _one(entry, "secretName", "Secret")
    yield from _one(spec, "ingressClassName", "IngressClass")
