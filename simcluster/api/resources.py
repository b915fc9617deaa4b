"""The table of resources: what `kubectl api-resources` lists, and the paths of the API.

The built-in entries are those a plain Kubernetes 1.32 cluster serves (stable versions),
with metrics.k8s.io beside them. Alpha and beta groups are left out.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from simcluster.engine import Shared

if TYPE_CHECKING:
    from simcluster.api.customresources.version import CustomVersion

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_CREATE = ("create",)
_READ = ("get", "list")


class _Entry(NamedTuple):
    """The facts of a `Resource`."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    storage_name: str = ""
    custom: CustomVersion | None = None


class Resource(_Entry):
    """One resource of the API.

    Attributes:
        storage_name: name under which the store keeps the objects, if it is not `name`
            (`events.events.k8s.io` are the same objects as `events`).
        custom: what a CustomResourceDefinition says about it; None for built-in resources.
    """

    # No slots: its names are put together once and kept, because every request asks for them.

    def __reduce__(self) -> tuple[type[Resource], tuple[object, ...]]:
        return (Resource, tuple(self))

    @cached_property
    def name(self) -> str:
        """`plural[.group]`, the key of the store, as in `deployments.apps`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @cached_property
    def storage(self) -> str:
        """The resource name under which the store keeps the objects."""
        return self.storage_name or self.name

    @cached_property
    def api_version(self) -> str:
        """`group/version`, or the bare version of the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @cached_property
    def is_converted(self) -> bool:
        """Whether the resource's objects are stored in another version."""
        if self.custom is not None:
            return True
        return self.group == "events.k8s.io" or (self.group == "autoscaling" and self.version == "v1")

    @cached_property
    def prefix(self) -> str:
        """`/api/v1` or `/apis/group/version`."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


class ResourceTable(Shared):
    """Lookup of resources by name, by path and by kind.

    Where a group has two versions of a resource, the first in the table is the preferred
    one, which `by_name` gives.
    """

    def __init__(self, resources: tuple[Resource, ...]) -> None:
        self.all = resources
        self.by_name: dict[str, Resource] = {}
        for resource in resources:
            self.by_name.setdefault(resource.name, resource)
        self.by_plural = {(r.group, r.version, r.plural): r for r in resources}
        self.by_kind = {(r.group, r.version, r.kind): r for r in resources}
        self.versions = {(r.group, r.version): None for r in resources}

    def path(self, resource: str, namespace: str, name: str = "", subresource: str = "") -> str:
        """The URL path of an object or a collection."""
        entry = self.by_name[resource]
        inside = f"/namespaces/{namespace}" if namespace and entry.namespaced else ""
        rest = f"/{name}" if name else ""
        if subresource:
            rest += f"/{subresource}"
        return f"{entry.prefix}{inside}/{entry.plural}{rest}"

    def extended(self, *more: Resource) -> ResourceTable:
        """A table with more resources."""
        return ResourceTable((*self.all, *more))

    def without(self, name: str) -> ResourceTable:
        """A table without the resource of that name."""
        return ResourceTable(tuple(r for r in self.all if r.name != name))


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _core(
    kind: str, plural: str, short: str = "", *, sub: str = "", namespaced: bool = True, everything: bool = False
) -> Resource:
    categories = ("all",) if everything else ()
    return Resource("", "v1", kind, plural, kind.lower(), namespaced, _names(short), categories, _names(sub))


def _grouped(
    group: str,
    kind: str,
    plural: str,
    short: str = "",
    *,
    sub: str = "",
    namespaced: bool = True,
    category: str = "",
    verbs: tuple[str, ...] = ALL_VERBS,
) -> Resource:
    return Resource(
        group, "v1", kind, plural, kind.lower(), namespaced, _names(short), _names(category), _names(sub), verbs
    )


_POD_SUBRESOURCES = "attach binding ephemeralcontainers eviction exec log portforward proxy status"
_SCALABLE = "scale status"

_CORE = (
    Resource("", "v1", "Binding", "bindings", "binding", True, verbs=_CREATE),
    Resource("", "v1", "ComponentStatus", "componentstatuses", "componentstatus", False, ("cs",), verbs=_READ),
    _core("ConfigMap", "configmaps", "cm"),
    _core("Endpoints", "endpoints", "ep"),
    _core("Event", "events", "ev"),
    _core("LimitRange", "limitranges", "limits"),
    _core("Namespace", "namespaces", "ns", sub="finalize status", namespaced=False)._replace(
        verbs=("create", "delete", "get", "list", "patch", "update", "watch")
    ),
    _core("Node", "nodes", "no", sub="proxy status", namespaced=False),
    _core("PersistentVolumeClaim", "persistentvolumeclaims", "pvc", sub="status"),
    _core("PersistentVolume", "persistentvolumes", "pv", sub="status", namespaced=False),
    _core("Pod", "pods", "po", sub=_POD_SUBRESOURCES, everything=True),
    _core("PodTemplate", "podtemplates"),
    _core("ReplicationController", "replicationcontrollers", "rc", sub=_SCALABLE, everything=True),
    _core("ResourceQuota", "resourcequotas", "quota", sub="status"),
    _core("Secret", "secrets"),
    _core("ServiceAccount", "serviceaccounts", "sa", sub="token"),
    _core("Service", "services", "svc", sub="proxy status", everything=True),
)

_ADMISSION = "admissionregistration.k8s.io"
_AUTHORIZATION = "authorization.k8s.io"
_FLOW = "flowcontrol.apiserver.k8s.io"
_RBAC = "rbac.authorization.k8s.io"
_STORAGE = "storage.k8s.io"

_REGISTRATION = tuple(
    _grouped(_ADMISSION, kind, plural, namespaced=False, category="api-extensions", sub=sub)
    for kind, plural, sub in (
        ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", ""),
        ("ValidatingAdmissionPolicy", "validatingadmissionpolicies", "status"),
        ("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", ""),
        ("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", ""),
    )
)

_GROUPED = (
    _grouped(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "crd crds",
        sub="status",
        namespaced=False,
        category="api-extensions",
    ),
    _grouped(
        "apiregistration.k8s.io",
        "APIService",
        "apiservices",
        sub="status",
        namespaced=False,
        category="api-extensions",
    ),
    _grouped("apps", "ControllerRevision", "controllerrevisions"),
    _grouped("apps", "DaemonSet", "daemonsets", "ds", sub="status", category="all"),
    _grouped("apps", "Deployment", "deployments", "deploy", sub=_SCALABLE, category="all"),
    _grouped("apps", "ReplicaSet", "replicasets", "rs", sub=_SCALABLE, category="all"),
    _grouped("apps", "StatefulSet", "statefulsets", "sts", sub=_SCALABLE, category="all"),
    _grouped("authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews", namespaced=False, verbs=_CREATE),
    _grouped("authentication.k8s.io", "TokenReview", "tokenreviews", namespaced=False, verbs=_CREATE),
    _grouped(_AUTHORIZATION, "LocalSubjectAccessReview", "localsubjectaccessreviews", verbs=_CREATE),
    _grouped(_AUTHORIZATION, "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False, verbs=_CREATE),
    _grouped(_AUTHORIZATION, "SelfSubjectRulesReview", "selfsubjectrulesreviews", namespaced=False, verbs=_CREATE),
    _grouped(_AUTHORIZATION, "SubjectAccessReview", "subjectaccessreviews", namespaced=False, verbs=_CREATE),
    *(
        _grouped(
            "autoscaling",
            "HorizontalPodAutoscaler",
            "horizontalpodautoscalers",
            "hpa",
            sub="status",
            category="all",
        )._replace(version=version)
        for version in ("v2", "v1")
    ),
    _grouped("batch", "CronJob", "cronjobs", "cj", sub="status", category="all"),
    _grouped("batch", "Job", "jobs", sub="status", category="all"),
    _grouped(
        "certificates.k8s.io",
        "CertificateSigningRequest",
        "certificatesigningrequests",
        "csr",
        sub="approval status",
        namespaced=False,
    ),
    _grouped("coordination.k8s.io", "Lease", "leases"),
    _grouped("discovery.k8s.io", "EndpointSlice", "endpointslices"),
    _grouped("events.k8s.io", "Event", "events", "ev")._replace(storage_name="events"),
    _grouped(_FLOW, "FlowSchema", "flowschemas", sub="status", namespaced=False),
    _grouped(_FLOW, "PriorityLevelConfiguration", "prioritylevelconfigurations", sub="status", namespaced=False),
    _grouped("metrics.k8s.io", "NodeMetrics", "nodes", namespaced=False, verbs=_READ)._replace(
        version="v1beta1", singular=""
    ),
    _grouped("metrics.k8s.io", "PodMetrics", "pods", verbs=_READ)._replace(version="v1beta1", singular=""),
    _grouped("networking.k8s.io", "IngressClass", "ingressclasses", namespaced=False),
    _grouped("networking.k8s.io", "Ingress", "ingresses", "ing", sub="status"),
    _grouped("networking.k8s.io", "NetworkPolicy", "networkpolicies", "netpol"),
    _grouped("node.k8s.io", "RuntimeClass", "runtimeclasses", namespaced=False),
    _grouped("policy", "PodDisruptionBudget", "poddisruptionbudgets", "pdb", sub="status"),
    _grouped(_RBAC, "ClusterRoleBinding", "clusterrolebindings", namespaced=False),
    _grouped(_RBAC, "ClusterRole", "clusterroles", namespaced=False),
    _grouped(_RBAC, "RoleBinding", "rolebindings"),
    _grouped(_RBAC, "Role", "roles"),
    _grouped("scheduling.k8s.io", "PriorityClass", "priorityclasses", "pc", namespaced=False),
    _grouped(_STORAGE, "CSIDriver", "csidrivers", namespaced=False),
    _grouped(_STORAGE, "CSINode", "csinodes", namespaced=False),
    _grouped(_STORAGE, "CSIStorageCapacity", "csistoragecapacities"),
    _grouped(_STORAGE, "StorageClass", "storageclasses", "sc", namespaced=False),
    _grouped(_STORAGE, "VolumeAttachment", "volumeattachments", sub="status", namespaced=False),
)

BUILT_IN = ResourceTable((*_CORE, *_REGISTRATION, *_GROUPED))
