"""NamespaceLifecycle: nothing is created in a namespace that is missing or going away.

Source: k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle.
"""

from __future__ import annotations

from typing import ClassVar

from simcluster.api import errors
from simcluster.api.admission.plugin import Cluster, Plugin, refuse
from simcluster.api.registry.attributes import CREATE, DELETE, UPDATE, Attributes

_IMMORTAL = ("default", "kube-system", "kube-public")


class NamespaceLifecycle(Plugin):
    """The plugin."""

    operations: ClassVar[tuple[str, ...]] = (CREATE, UPDATE, DELETE)
    sees_parts: ClassVar[bool] = True

    @classmethod
    def may_act(cls, operation: str, resource: str, step: str) -> bool:
        """On deletions only to protect namespaces."""
        return operation != DELETE if step == "mutate" else operation == DELETE and resource == "namespaces"

    def mutate(self, attributes: Attributes, cluster: Cluster) -> None:
        """Refuse writes into a missing namespace, creation in a terminating one."""
        name = attributes.namespace
        if not name or attributes.operation == DELETE:
            return
        namespace = cluster.store.get("namespaces", "", name)
        if namespace is None and cluster.is_bootstrapped:
            raise errors.not_found("namespaces", name)
        if namespace is None or attributes.operation != CREATE:
            return
        if (namespace.get("status") or {}).get("phase") != "Terminating" or not cluster.is_bootstrapped:
            return
        error = refuse(attributes, f"unable to create new content in namespace {name} because it is being terminated")
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {name} is being terminated",
            "field": "metadata.namespace",
        }
        error.details = {**(error.details or {}), "causes": [cause]}
        raise error

    def validate(self, attributes: Attributes, cluster: Cluster) -> None:
        """Protect the namespaces no cluster can do without."""
        if attributes.operation != DELETE or attributes.resource.storage != "namespaces":
            return
        if attributes.name in _IMMORTAL:
            raise refuse(attributes, "this namespace may not be deleted")
