"""The table of resources: what `kubectl api-resources` lists, and the paths of the API."""

from __future__ import annotations

from typing import NamedTuple

from simcluster.engine import Shared


class Resource(NamedTuple):
    """One resource of the API.

    Attributes:
        name: `plural[.group]`, the key of the store, as in `deployments.apps`.
    """

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")

    @property
    def name(self) -> str:
        """`plural[.group]`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        """`group/version`, or the bare version of the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def prefix(self) -> str:
        """`/api/v1` or `/apis/group/version`."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


class ResourceTable(Shared):
    """Lookup of resources by name, by path and by kind."""

    def __init__(self, resources: tuple[Resource, ...]) -> None:
        self.all = resources
        self.by_name = {r.name: r for r in resources}
        self.by_plural = {(r.group, r.version, r.plural): r for r in resources}
        self.by_kind = {(r.group, r.version, r.kind): r for r in resources}

    def path(self, resource: str, namespace: str, name: str = "", subresource: str = "") -> str:
        """The URL path of an object or a collection."""
        entry = self.by_name[resource]
        parts = [entry.prefix]
        if namespace and entry.namespaced:
            parts.append(f"namespaces/{namespace}")
        parts.append(entry.plural)
        if name:
            parts.append(name)
        if subresource:
            parts.append(subresource)
        return "/".join(parts)


def _core(kind: str, plural: str, namespaced: bool = True, *short: str, sub: tuple[str, ...] = ()) -> Resource:
    return Resource("", "v1", kind, plural, kind.lower(), namespaced, short, subresources=sub)


BUILT_IN = ResourceTable(
    (
        _core("ConfigMap", "configmaps", True, "cm"),
        _core("Endpoints", "endpoints", True, "ep"),
        _core("Event", "events", True, "ev"),
        _core("Namespace", "namespaces", False, "ns", sub=("status", "finalize")),
        _core("Node", "nodes", False, "no", sub=("status",)),
        _core("PersistentVolumeClaim", "persistentvolumeclaims", True, "pvc", sub=("status",)),
        _core("PersistentVolume", "persistentvolumes", False, "pv", sub=("status",)),
        _core("Pod", "pods", True, "po", sub=("status", "binding", "eviction", "log", "exec")),
        _core("ResourceQuota", "resourcequotas", True, "quota", sub=("status",)),
        _core("Secret", "secrets"),
        _core("ServiceAccount", "serviceaccounts", True, "sa"),
        _core("Service", "services", True, "svc", sub=("status",)),
        Resource(
            "apps", "v1", "Deployment", "deployments", "deployment", True, ("deploy",), subresources=("status", "scale")
        ),
        Resource(
            "apps", "v1", "ReplicaSet", "replicasets", "replicaset", True, ("rs",), subresources=("status", "scale")
        ),
        Resource("coordination.k8s.io", "v1", "Lease", "leases", "lease", True),
        Resource("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", "endpointslice", True),
    )
)
