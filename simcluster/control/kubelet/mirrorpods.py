"""Mirror pods: what the API shows of the static pods of a node.

Source: pkg/kubelet/pod/mirror_client.go, kubelet.go (tryReconcileMirrorPods).
"""

from __future__ import annotations

from typing import Any

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json, name_of, namespace_of, thaw, uid_of
from simcluster.control.kubelet.host import Host

HASH = "kubernetes.io/config.hash"
MIRROR = "kubernetes.io/config.mirror"
SEEN = "kubernetes.io/config.seen"
SOURCE = "kubernetes.io/config.source"


def mirror_hash(pod: Any) -> str:
    """The uid of the static pod that a pod mirrors; empty if it is no mirror pod."""
    return str((pod["metadata"].get("annotations") or {}).get(MIRROR, ""))


def runtime_uid(pod: Any) -> str:
    """Under which uid the container runtime knows a pod of the API."""
    return mirror_hash(pod) or uid_of(pod)


def make_mirror(host: Host, pod: ApiObject) -> bool:
    """Have exactly this mirror of a static pod in the API; whether it was tried."""
    mirror = host.client.cache.get("pods", namespace_of(pod), name_of(pod))
    if mirror is not None and not delete_mirror(host, mirror):
        return False
    node = host.node()
    if node is None:
        return False
    try:
        host.client.create("pods", namespace_of(pod), _mirror(pod, node))
    except ApiError as error:
        text, pod_name = "Failed creating a mirror pod for", f"{namespace_of(pod)}/{name_of(pod)}"
        host.klog.error("kubelet.go:3195", error.message, text, pod=pod_name)
    return True


def delete_mirror(host: Host, mirror: ApiObject) -> bool:
    """Delete a mirror pod at once; whether it is gone."""
    try:
        host.client.delete("pods", namespace_of(mirror), name_of(mirror), uid=uid_of(mirror), grace_period_s=0)
    except ApiError as error:
        if error.code != 404:
            text, pod_name = "Failed deleting a mirror pod", f"{namespace_of(mirror)}/{name_of(mirror)}"
            host.klog.error("mirror_client.go:138", error.message, text, pod=pod_name)
            return False
    return True


def _mirror(pod: ApiObject, node: ApiObject) -> Json:
    mirror = thaw(pod)
    metadata = mirror["metadata"]
    metadata["annotations"][MIRROR] = metadata.pop("uid")
    owner = {"apiVersion": "v1", "kind": "Node", "name": name_of(node), "uid": uid_of(node), "controller": True}
    metadata["ownerReferences"] = [owner]
    mirror.pop("status", None)
    return mirror
