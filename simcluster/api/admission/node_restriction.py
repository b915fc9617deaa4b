"""NodeRestriction: a kubelet writes its own node, and the pods that run there.

Source: plugin/pkg/admission/noderestriction/admission.go. Left out: resource slices, the
status of claims.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from simcluster.api import errors
from simcluster.api.admission.plugin import Cluster, Plugin, refuse
from simcluster.api.authorization.node import node_of
from simcluster.api.errors import ApiError
from simcluster.api.objects import Json, labels_of, uid_of
from simcluster.api.registry.attributes import CREATE, DELETE, UPDATE, Attributes

_MIRROR = "kubernetes.io/config.mirror"
_NODE_LEASES = "kube-node-lease"
_OWN_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")
_OWN_LABELS = frozenset(
    {
        "beta.kubernetes.io/arch", "beta.kubernetes.io/instance-type", "beta.kubernetes.io/os",
        "failure-domain.beta.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone",
        "kubernetes.io/arch", "kubernetes.io/hostname", "kubernetes.io/os", "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/region", "topology.kubernetes.io/zone",
    }
)  # fmt: skip
#: What a mirror pod may not refer to: kinds of volumes and how the server calls them.
_VOLUMES = (
    ("secret", "secrets"),
    ("configMap", "configmaps"),
    ("persistentVolumeClaim", "persistentvolumeclaims"),
)


class NodeRestriction(Plugin):
    """The plugin."""

    operations: ClassVar[tuple[str, ...]] = (CREATE, UPDATE, DELETE)
    sees_parts: ClassVar[bool] = True

    @classmethod
    def may_act(cls, operation: str, resource: str, step: str) -> bool:
        """On the kinds that have rules."""
        return resource in _CHECKS

    def mutate(self, attributes: Attributes, cluster: Cluster) -> None:
        """Refuse what a kubelet may not write. Raises ApiError."""
        node = node_of(attributes.user)
        check = _CHECKS.get(attributes.resource.storage) if node else None
        if check is not None:
            check(attributes, node, cluster)


def _pods(attributes: Attributes, node: str, cluster: Cluster) -> None:
    shown = json.dumps(node)
    if attributes.subresource == "status":
        _pod_status(attributes, node)
    elif attributes.subresource == "eviction":
        pod = cluster.by_name("pods", attributes.namespace, attributes.name)
        if pod is not None and pod["spec"].get("nodeName") != node:
            raise refuse(attributes, f"node {node} can only evict pods with spec.nodeName set to itself")
    elif attributes.subresource:
        part = json.dumps(attributes.subresource)
        raise refuse(attributes, f"unexpected pod subresource {part}, only 'status' and 'eviction' are allowed")
    elif attributes.operation == CREATE:
        for why in _objections_to_mirror(attributes.new, node, cluster):
            raise refuse(attributes, why)
    elif attributes.operation == DELETE:
        if attributes.current["spec"].get("nodeName") != node:
            raise refuse(attributes, f"node {shown} can only delete pods with spec.nodeName set to itself")
    else:
        why = f"unexpected operation {json.dumps(attributes.operation)}, node {shown}"
        raise refuse(attributes, f"{why} can only create and delete mirror pods")


def _pod_status(attributes: Attributes, node: str) -> None:
    shown = json.dumps(node)
    if attributes.current["spec"].get("nodeName") != node:
        why = f"node {shown} can only update pod status for pods with spec.nodeName set to itself"
        raise refuse(attributes, why)
    if labels_of(attributes.new) != labels_of(attributes.current):
        raise refuse(attributes, f"node {shown} cannot update labels through pod status")


def _objections_to_mirror(pod: Json, node: str, cluster: Cluster) -> Iterator[str]:
    shown, metadata, spec = json.dumps(node), pod["metadata"], pod["spec"]
    if _MIRROR not in (metadata.get("annotations") or {}):
        yield f'pod does not have "{_MIRROR}" annotation, node {shown} can only create mirror pods'
    if spec.get("nodeName") != node:
        yield f"node {shown} can only create pods with spec.nodeName set to itself"
    yield from _objections_to_owner(metadata.get("ownerReferences") or [], node, cluster)
    if spec.get("serviceAccountName"):
        yield f"node {shown} can not create pods that reference a service account"
    for volume in spec.get("volumes") or ():
        for kind, called in _VOLUMES:
            if kind in volume:
                yield f"node {shown} can not create pods that reference {called}"


def _objections_to_owner(owners: list[Any], node: str, cluster: Cluster) -> Iterator[str]:
    shown = json.dumps(node)
    if len(owners) > 1:
        yield f"node {shown} can only create pods with a single owner reference set to itself"
    for owner in owners or [{}]:
        if (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) != ("v1", "Node", node):
            yield f"node {shown} can only create pods with an owner reference set to itself"
        if not owner.get("controller"):
            yield f"node {shown} can only create pods with a controller owner reference set to itself"
        if owner.get("blockOwnerDeletion"):
            yield f"node {shown} must not set blockOwnerDeletion on an owner reference"
        found = cluster.by_name("nodes", "", node)
        if found is None:
            yield f'nodes "{node}" not found'
        elif uid_of(found) != owner.get("uid"):
            yield f"node {shown} UID mismatch: expected {uid_of(found)} got {owner.get('uid')}"


def _nodes(attributes: Attributes, node: str, cluster: Cluster) -> None:
    shown = json.dumps(node)
    name = attributes.name or str((attributes.obj or {}).get("metadata", {}).get("name", ""))
    if name != node:
        raise refuse(attributes, f"node {shown} is not allowed to modify node {json.dumps(name)}")
    if attributes.operation == CREATE:
        forbidden = _forbidden_labels(labels_of(attributes.new), {})
        if forbidden:
            why = f"node {shown} is not allowed to set the following labels: {', '.join(forbidden)}"
            raise refuse(attributes, why)
    elif attributes.operation == UPDATE:
        new, old = attributes.new, attributes.current
        if (new.get("spec") or {}).get("taints") != (old.get("spec") or {}).get("taints"):
            raise refuse(attributes, f"node {shown} is not allowed to modify taints")
        forbidden = _forbidden_labels(labels_of(new), labels_of(old))
        if forbidden:
            raise refuse(attributes, f"is not allowed to modify labels: {', '.join(forbidden)}")
        if new["metadata"].get("ownerReferences") != old["metadata"].get("ownerReferences"):
            raise refuse(attributes, f"node {shown} is not allowed to modify ownerReferences")


def _forbidden_labels(new: dict[str, str], old: dict[str, str]) -> list[str]:
    """Changed labels that are not a kubelet's to set, sorted."""
    changed = [key for key in {**old, **new} if new.get(key) != old.get(key) or (key in new) != (key in old)]
    return sorted(key for key in changed if _is_forbidden(key))


def _is_forbidden(key: str) -> bool:
    domain = key.rpartition("/")[0]
    if _is_within(domain, "node-restriction.kubernetes.io"):
        return True
    if not (_is_within(domain, "kubernetes.io") or _is_within(domain, "k8s.io")):
        return False
    return key not in _OWN_LABELS and not any(_is_within(domain, own) for own in _OWN_DOMAINS)


def _is_within(domain: str, parent: str) -> bool:
    return domain == parent or domain.endswith("." + parent)


def _accounts(attributes: Attributes, node: str, cluster: Cluster) -> None:
    """A kubelet gets tokens only for the pods on its node."""
    if attributes.operation != CREATE or attributes.subresource != "token" or attributes.part is None:
        return
    reference = ((attributes.part.new or {}).get("spec") or {}).get("boundObjectRef") or {}
    if (reference.get("apiVersion"), reference.get("kind")) != ("v1", "Pod") or not reference.get("name"):
        raise refuse(attributes, "node requested token not bound to a pod")
    if not reference.get("uid"):
        raise refuse(attributes, "node requested token with a pod binding without a uid")
    pod = cluster.by_name("pods", attributes.namespace, reference["name"])
    if pod is None:
        raise errors.not_found("pods", reference["name"])
    if uid_of(pod) != reference["uid"]:
        raise _recreated(attributes, reference)
    if pod["spec"].get("nodeName") != node:
        raise refuse(attributes, "node requested token bound to a pod scheduled on a different node")


def _recreated(attributes: Attributes, reference: Json) -> ApiError:
    why = (
        f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record. "
        "The object might have been deleted and then recreated"
    )
    return errors.conflict(attributes.resource.name, attributes.name, why)


def _leases(attributes: Attributes, node: str, cluster: Cluster) -> None:
    if attributes.namespace != _NODE_LEASES:
        raise refuse(attributes, f'can only access leases in the "{_NODE_LEASES}" system namespace')
    if attributes.shown_name != node:
        raise refuse(attributes, "can only access node lease with the same name as the requesting node")


def _driver_nodes(attributes: Attributes, node: str, cluster: Cluster) -> None:
    if attributes.shown_name != node:
        raise refuse(attributes, "can only access CSINode with the same name as the requesting node")


def _claims(attributes: Attributes, node: str, cluster: Cluster) -> None:
    if attributes.subresource != "status":
        raise refuse(attributes, "may only update PVC status")


_CHECKS: dict[str, Callable[[Attributes, str, Cluster], None]] = {
    "csinodes.storage.k8s.io": _driver_nodes,
    "leases.coordination.k8s.io": _leases,
    "nodes": _nodes,
    "persistentvolumeclaims": _claims,
    "pods": _pods,
    "serviceaccounts": _accounts,
}
