"""Between the versions of a kind: `events.k8s.io/v1`, `autoscaling/v1`, custom resources.

Objects are stored once (as core Events, as `autoscaling/v2` autoscalers, as a definition's
storage version); the other version is made at the border. A write of a custom resource goes
through the server in the version that was asked for. Sources: pkg/apis/{events,autoscaling}/v1/conversion.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simcluster.api.customresources.converting import in_version
from simcluster.api.objects import ApiObject, Json
from simcluster.api.resources import Resource

if TYPE_CHECKING:
    from simcluster.api.admission.plugin import Cluster

_EVENT_NAMES = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
)
#: Core Events carry these even when they are empty.
_EMPTY_IN_CORE_ONLY = ("reportingController", "reportingInstance")
_TO_EVENTS = dict(_EVENT_NAMES)
_TO_CORE = {new: old for old, new in _EVENT_NAMES}


def is_converted(resource: Resource) -> bool:
    """Whether the resource's objects are stored in another version."""
    return resource.is_converted


def from_storage(resource: Resource, obj: Json, cluster: Cluster | None = None) -> Json:
    """The object in the version of `resource`; the same object if it is so already. Raises ApiError 500."""
    if not resource.is_converted:
        return obj
    if resource.custom is not None:
        return in_version(resource, obj, resource.version, cluster)
    if resource.group == "events.k8s.io":
        shown = _renamed(obj, _TO_EVENTS, "events.k8s.io/v1")
        return {key: value for key, value in shown.items() if value != "" or key not in _EMPTY_IN_CORE_ONLY}
    return _autoscaler_v1(obj)


def decoded(resource: Resource, obj: ApiObject, cluster: Cluster) -> ApiObject:
    """A stored object as writes work on it: custom resources in the version that was asked for."""
    if resource.custom is None:
        return obj
    return ApiObject(in_version(resource, obj, resource.version, cluster))


def to_storage(resource: Resource, obj: Json) -> Json:
    """The object as writes work on it: built-in kinds in the stored version."""
    if not resource.is_converted or resource.custom is not None:
        return obj
    if resource.group == "events.k8s.io":
        return _renamed(obj, _TO_CORE, "v1")
    return _autoscaler_v2(obj)


def encoded(resource: Resource, obj: Json, cluster: Cluster) -> Json:
    """What is stored of an object that a write has made. Raises ApiError 500."""
    if resource.custom is None:
        return obj
    return in_version(resource, obj, resource.custom.storage_version, cluster)


def _renamed(obj: Json, names: dict[str, str], api_version: str) -> Json:
    return {**{names.get(key, key): value for key, value in obj.items()}, "apiVersion": api_version}


def _is_cpu_utilization(metric: Json) -> bool:
    resource = metric.get("resource") or {}
    return metric.get("type") == "Resource" and resource.get("name") == "cpu"


def _autoscaler_v1(obj: Json) -> Json:
    spec = {k: v for k, v in (obj.get("spec") or {}).items() if k not in ("metrics", "behavior")}
    for metric in (obj.get("spec") or {}).get("metrics") or ():
        target = (metric.get("resource") or {}).get("target") or {}
        if _is_cpu_utilization(metric) and target.get("averageUtilization") is not None:
            spec["targetCPUUtilizationPercentage"] = target["averageUtilization"]
    before: Json = obj.get("status") or {}
    status = {k: v for k, v in before.items() if k not in ("currentMetrics", "conditions")}
    status.setdefault("currentReplicas", 0)
    for metric in before.get("currentMetrics") or ():
        current = (metric.get("resource") or {}).get("current") or {}
        if _is_cpu_utilization(metric) and current.get("averageUtilization") is not None:
            status["currentCPUUtilizationPercentage"] = current["averageUtilization"]
    return {**obj, "apiVersion": "autoscaling/v1", "spec": spec, "status": status}


def _autoscaler_v2(obj: Json) -> Json:
    spec: dict[str, Any] = dict(obj.get("spec") or {})
    percentage = spec.pop("targetCPUUtilizationPercentage", None)
    if percentage is not None:
        target = {"type": "Utilization", "averageUtilization": percentage}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    return {**obj, "apiVersion": "autoscaling/v2", "spec": spec}
