"""ServiceAccount: every pod runs as one, and gets its token mounted.

Source: plugin/pkg/admission/serviceaccount.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from simcluster.api.admission.plugin import Cluster, Plugin, refuse
from simcluster.api.objects import Json
from simcluster.api.registry.attributes import CREATE, Attributes
from simcluster.engine import MILLISECOND, parse_rfc3339

MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
VOLUME_PREFIX = "kube-api-access-"
MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
#: The default account is made by a controller: the plugin looks for it ten times, 0.1 to 0.2 s
#: apart. Time does not pass inside of a request, so the pods of a namespace that is younger
#: are admitted at once, with the account that the controller is about to make.
_PATIENCE_NS = 1350 * MILLISECOND
#: Seconds; one hour and seven seconds, so that kubelets can tell tokens they should refresh.
_TOKEN_LIFE_S = 3607


class ServiceAccount(Plugin):
    """The plugin."""

    operations: ClassVar[tuple[str, ...]] = (CREATE,)
    resources: ClassVar[tuple[str, ...] | None] = ("pods",)

    def mutate(self, attributes: Attributes, cluster: Cluster) -> None:
        """Set the account, its pull secrets and the token volume."""
        pod = attributes.new
        if attributes.subresource or not cluster.is_bootstrapped:
            return
        if MIRROR_ANNOTATION in (pod["metadata"].get("annotations") or {}):
            return  # a static pod acts as the node, without token
        spec = pod["spec"]
        name = spec.get("serviceAccountName") or "default"
        account: Mapping[str, Any] | None = cluster.by_name("serviceaccounts", attributes.namespace, name)
        if account is None and not (name == "default" and _is_young(attributes.namespace, cluster)):
            raise refuse(
                attributes,
                f'error looking up service account {attributes.namespace}/{name}: serviceaccount "{name}" not found',
            )
        account = account if account is not None else {}
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        if account.get("imagePullSecrets") and not spec.get("imagePullSecrets"):
            spec["imagePullSecrets"] = account["imagePullSecrets"]
        if _automounts(spec, account):
            _mount_token(attributes, cluster)


def _is_young(namespace: str, cluster: Cluster) -> bool:
    holder = cluster.by_name("namespaces", "", namespace)
    if holder is None or (holder.get("status") or {}).get("phase", "Active") != "Active":
        return False
    born_ns = parse_rfc3339(holder["metadata"]["creationTimestamp"])  # whole seconds
    return cluster.sim.now - born_ns < _PATIENCE_NS


def _automounts(spec: Json, account: Mapping[str, Any]) -> bool:
    own = spec.get("automountServiceAccountToken")
    if own is not None:
        return bool(own)
    return bool(account.get("automountServiceAccountToken", True))


def _has_mount(container: Json) -> bool:
    return any(mount.get("mountPath") == MOUNT_PATH for mount in container.get("volumeMounts") or ())


def _mount_token(attributes: Attributes, cluster: Cluster) -> None:
    spec = attributes.new["spec"]
    volumes = spec.get("volumes") or []
    name = next((v["name"] for v in volumes if v.get("name", "").startswith(VOLUME_PREFIX)), "")
    known = bool(name)
    name = name or VOLUME_PREFIX + _suffix(attributes, cluster)
    mounted = False
    for group in ("initContainers", "containers"):
        for container in spec.get(group) or ():
            if not _has_mount(container):
                mount = {"name": name, "readOnly": True, "mountPath": MOUNT_PATH}
                container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]
                mounted = True
    if mounted and not known:
        spec["volumes"] = [*volumes, {"name": name, "projected": _projection()}]


def _suffix(attributes: Attributes, cluster: Cluster) -> str:
    key = ("pods", attributes.namespace, f"{attributes.shown_name}/{VOLUME_PREFIX}")
    return cluster.identities.suffix(key, dry_run=attributes.dry_run)


def _projection() -> Json:
    sources: list[Any] = [
        {"serviceAccountToken": {"expirationSeconds": _TOKEN_LIFE_S, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {
            "downwardAPI": {
                "items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]
            }
        },
    ]
    return {"sources": sources, "defaultMode": 420}
