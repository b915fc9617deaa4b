"""What is particular to a kind when its objects are created, changed and deleted.

Sources: the strategies of k8s.io/kubernetes/pkg/registry. A strategy has no state.
"""

from __future__ import annotations

from typing import Any, ClassVar

from simcluster.api.objects import ApiObject, Json
from simcluster.api.registry.attributes import Attributes

#: Kinds whose `metadata.generation` counts changes of the spec in 1.32.
GENERATION = frozenset(
    {
        "cronjobs.batch",
        "customresourcedefinitions.apiextensions.k8s.io",
        "daemonsets.apps",
        "deployments.apps",
        "endpointslices.discovery.k8s.io",
        "flowschemas.flowcontrol.apiserver.k8s.io",
        "ingressclasses.networking.k8s.io",
        "ingresses.networking.k8s.io",
        "jobs.batch",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "networkpolicies.networking.k8s.io",
        "poddisruptionbudgets.policy",
        "priorityclasses.scheduling.k8s.io",
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
        "replicasets.apps",
        "replicationcontrollers",
        "statefulsets.apps",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
    }
)

#: The status with which an object starts; what Go prints of an empty status.
_INITIAL_STATUS: dict[str, Json] = {
    "daemonsets.apps": {
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    },
    "horizontalpodautoscalers.autoscaling": {"desiredReplicas": 0, "currentMetrics": None},
    "ingresses.networking.k8s.io": {"loadBalancer": {}},
    "persistentvolumeclaims": {"phase": "Pending"},
    "persistentvolumes": {"phase": "Pending"},
    "poddisruptionbudgets.policy": {
        "disruptionsAllowed": 0,
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "expectedPods": 0,
    },
    "replicasets.apps": {"replicas": 0},
    "replicationcontrollers": {"replicas": 0},
    "services": {"loadBalancer": {}},
    "statefulsets.apps": {"replicas": 0, "availableReplicas": 0},
}
#: Kinds whose creator may give a status.
_STATUS_ON_CREATE = frozenset({"nodes", "apiservices.apiregistration.k8s.io"})
#: Kinds whose deletion answers with the object instead of a Status.
_RETURNS_OBJECT = frozenset(
    {
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "podtemplates",
        "resourcequotas",
        "serviceaccounts",
        "services",
        "csidrivers.storage.k8s.io",
        "csinodes.storage.k8s.io",
        "storageclasses.storage.k8s.io",
        "volumeattachments.storage.k8s.io",
    }
)
#: Kinds of which PUT may create an object.
_CREATE_ON_UPDATE = frozenset({"events", "leases.coordination.k8s.io", "endpoints", "limitranges"})
#: Kinds whose objects are only updated with a resourceVersion.
_NEED_VERSION = frozenset(
    {"poddisruptionbudgets.policy", "customresourcedefinitions.apiextensions.k8s.io", "leases.coordination.k8s.io"}
)
#: Kinds whose metadata labels a write of the status may change.
_STATUS_LABELS = frozenset({"pods", "nodes"})


class Strategy:
    """The rules most kinds follow."""

    #: Labels or annotations are part of what the generation counts.
    counts_everything: ClassVar[bool] = False

    def has_status(self, attributes: Attributes) -> bool:
        """Whether the status is a subresource, so that other writes leave it alone."""
        return "status" in attributes.resource.subresources

    def prepare_for_create(self, attributes: Attributes, state: Any) -> None:
        """Fix what the creator may not decide. `state` is the registry."""
        obj, resource = attributes.new, attributes.resource.storage
        if resource in GENERATION:
            obj["metadata"]["generation"] = 1
        if self.has_status(attributes) and resource not in _STATUS_ON_CREATE:
            obj["status"] = dict(_INITIAL_STATUS.get(resource, {}))

    def prepare_for_update(self, attributes: Attributes, state: Any) -> None:
        """Keep what a write of the main resource may not change; count the generation."""
        obj, old = attributes.new, attributes.current
        if self.has_status(attributes):
            if "status" in old:
                obj["status"] = old["status"]
            else:
                obj.pop("status", None)
        if attributes.resource.storage in GENERATION:
            before = old["metadata"].get("generation", 1)
            obj["metadata"]["generation"] = before + 1 if self.is_spec_changed(obj, old) else before

    def is_spec_changed(self, obj: Json, old: ApiObject) -> bool:
        """Whether the desired state differs, so that the generation grows."""
        if "spec" in old or "spec" in obj:
            return bool(obj.get("spec") != old.get("spec"))
        skipped = ("metadata", "status")
        return {k: v for k, v in obj.items() if k not in skipped} != {k: v for k, v in old.items() if k not in skipped}

    def prepare_for_status_update(self, attributes: Attributes, state: Any) -> None:
        """Keep everything but the status."""
        obj, old = attributes.new, attributes.current
        metadata = dict(old["metadata"])
        written = obj["metadata"]
        names = ("annotations", "labels") if attributes.resource.storage in _STATUS_LABELS else ("annotations",)
        for name in names:
            if written.get(name):
                metadata[name] = written[name]
        if "managedFields" in written:
            metadata["managedFields"] = written["managedFields"]
        merged = dict(old)
        merged["metadata"] = metadata
        if "status" in obj:
            merged["status"] = obj["status"]
        else:
            merged.pop("status", None)
        attributes.obj = merged

    def prepare_for_part_update(self, attributes: Attributes) -> None:
        """Keep everything but the part another subresource writes."""
        obj, old = attributes.new, attributes.current
        merged: Json = {**old, "metadata": dict(old["metadata"])}
        if attributes.subresource == "ephemeralcontainers":
            containers = (obj.get("spec") or {}).get("ephemeralContainers") or []
            merged["spec"] = {**old["spec"], "ephemeralContainers": containers}
        elif attributes.subresource == "approval":
            conditions = (obj.get("status") or {}).get("conditions") or []
            merged["status"] = {**(old.get("status") or {}), "conditions": conditions}
        attributes.obj = merged

    def grace_period_s(self, old: ApiObject, options: Json) -> int | None:
        """Seconds a deletion waits for the object's user; None if the kind is deleted at once."""
        return None

    def finalizers_at_deletion(self, finalizers: list[str]) -> list[str]:
        """The finalizers of an object whose deletion is asked for."""
        return finalizers

    def after_create(self, stored: Json, state: Any) -> None:
        """Called when the object is committed."""

    def after_update(self, stored: Json, old: ApiObject, state: Any) -> None:
        """Called when the change is committed."""

    def after_delete(self, old: ApiObject, state: Any) -> None:
        """Called when the object is gone."""


def returns_object(resource: str) -> bool:
    """Whether a deletion answers with the object."""
    return resource in _RETURNS_OBJECT


def may_create_on_update(resource: str) -> bool:
    """Whether PUT of an absent object creates it."""
    return resource in _CREATE_ON_UPDATE


def needs_version(resource: str) -> bool:
    """Whether an update must carry a resourceVersion."""
    return resource in _NEED_VERSION
