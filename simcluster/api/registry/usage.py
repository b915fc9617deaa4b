"""What an object counts for in a ResourceQuota, and which quotas look at it.

Public functions here serve admission and the quota controller alike, so that both agree.
Source: k8s.io/kubernetes/pkg/quota/v1/evaluator/core.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.api.objects import Json
from simcluster.api.quantity import NANO, Quantity, parse
from simcluster.api.registry.pods import qos_class

ONE = Quantity(NANO)
_COUNTED = {
    "configmaps": "configmaps",
    "persistentvolumeclaims": "persistentvolumeclaims",
    "replicationcontrollers": "replicationcontrollers",
    "resourcequotas": "resourcequotas",
    "secrets": "secrets",
    "services": "services",
}
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_REQUIRED = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")


def usage_of(resource: str, obj: Mapping[str, Any]) -> dict[str, Quantity]:
    """Amounts by quota resource name that the object uses."""
    usage = {f"count/{resource}": ONE}
    if resource in _COUNTED:
        usage[_COUNTED[resource]] = ONE
    if resource == "pods":
        if not is_terminal(obj):
            usage["pods"] = ONE
            usage.update(_compute(obj["spec"]))
    elif resource == "services":
        usage.update(_service(obj["spec"]))
    elif resource == "persistentvolumeclaims":
        usage.update(_claim(obj["spec"]))
    return usage


def is_terminal(pod: Mapping[str, Any]) -> bool:
    """Whether a pod no longer uses compute resources."""
    return (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded")


def _compute(spec: Json) -> dict[str, Quantity]:
    usage: dict[str, Quantity] = {}
    for name, value in pod_total(spec, "requests").items():
        usage[f"requests.{name}"] = value
        if name in _COMPUTE:
            usage[name] = value
    for name, value in pod_total(spec, "limits").items():
        if name in _COMPUTE:
            usage[f"limits.{name}"] = value
    return usage


def pod_total(spec: Json, field: str) -> dict[str, Quantity]:
    """`requests` or `limits` of a whole pod: the sum of its containers, or the largest init step.

    Source: k8s.io/component-helpers/resource, PodRequests and PodLimits: restartable init
    containers count from their start on.
    """
    total: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        _add(total, (container.get("resources") or {}).get(field) or {})
    sidecars: dict[str, Quantity] = {}
    peak: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or ():
        wanted = (container.get("resources") or {}).get(field) or {}
        if container.get("restartPolicy") == "Always":
            _add(total, wanted)
            _add(sidecars, wanted)
            step = sidecars
        else:
            step = dict(sidecars)
            _add(step, wanted)
        for name, value in step.items():
            if name not in peak or peak[name] < value:
                peak[name] = value
    for name, value in peak.items():
        if name not in total or total[name] < value:
            total[name] = value
    overhead = spec.get("overhead") or {}
    _add(total, overhead if field == "requests" else {k: v for k, v in overhead.items() if k in total})
    return total


def _add(total: dict[str, Quantity], entries: Json) -> None:
    for name, value in entries.items():
        total[name] = total[name] + parse(value) if name in total else parse(value)


def _service(spec: Json) -> dict[str, Quantity]:
    kind = spec.get("type", "ClusterIP")
    ports = Quantity(len([p for p in spec.get("ports") or () if p.get("nodePort")]) * NANO)
    if kind == "NodePort":
        ports = Quantity(len(spec.get("ports") or ()) * NANO)
    return {
        "services.nodeports": ports if kind in ("NodePort", "LoadBalancer") else Quantity(0),
        "services.loadbalancers": ONE if kind == "LoadBalancer" else Quantity(0),
    }


def _claim(spec: Json) -> dict[str, Quantity]:
    usage: dict[str, Quantity] = {}
    storage_class = spec.get("storageClassName")
    if storage_class:
        usage[f"{storage_class}.storageclass.storage.k8s.io/persistentvolumeclaims"] = ONE
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if storage is not None:
        usage["requests.storage"] = parse(storage)
        if storage_class:
            usage[f"{storage_class}.storageclass.storage.k8s.io/requests.storage"] = parse(storage)
    return usage


def missing_requests(spec: Json, hard: Mapping[str, Any]) -> dict[str, list[str]]:
    """Quota resources that containers must specify and do not, with the containers' names."""
    missing: dict[str, list[str]] = {}
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    for name in sorted(n for n in _REQUIRED if n in hard):
        field, _, plain = name.rpartition(".")
        without = [
            c.get("name", "")
            for c in containers
            if plain not in ((c.get("resources") or {}).get(field or "requests") or {})
        ]
        if without:
            missing[name] = sorted(without)
    return missing


def is_in_scope(spec: Json, resource: str, obj: Mapping[str, Any]) -> bool:
    """Whether a quota with this spec looks at the object."""
    terms = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    terms.extend((spec.get("scopeSelector") or {}).get("matchExpressions") or ())
    if not terms:
        return True
    if resource != "pods":
        return False
    return all(_matches_scope(term, obj) for term in terms)


def crosses_namespaces(spec: Json) -> bool:
    """Whether a pod has (anti-)affinity to pods of other namespaces (usesCrossNamespacePodAffinity)."""
    affinity = spec.get("affinity") or {}
    terms: list[Json] = []
    for kind in ("podAffinity", "podAntiAffinity"):
        part = affinity.get(kind) or {}
        terms += part.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        weighted = part.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms += [entry.get("podAffinityTerm") or {} for entry in weighted]
    return any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms)


def _matches_scope(term: Json, pod: Mapping[str, Any]) -> bool:
    scope, spec = term["scopeName"], pod["spec"]
    if scope == "Terminating":
        return spec.get("activeDeadlineSeconds") is not None
    if scope == "NotTerminating":
        return spec.get("activeDeadlineSeconds") is None
    if scope in ("BestEffort", "NotBestEffort"):
        return (qos_class(spec) == "BestEffort") is (scope == "BestEffort")
    if scope == "CrossNamespacePodAffinity":
        return crosses_namespaces(spec)
    if scope == "PriorityClass":
        name, values = spec.get("priorityClassName", ""), term.get("values") or ()
        operator = term.get("operator", "Exists")
        if operator == "In":
            return name in values
        if operator == "NotIn":
            return name not in values
        return bool(name) is (operator == "Exists")
    return False
