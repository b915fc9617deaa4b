"""What the registry's strategies set on create and update, beyond defaulting.

Source: pkg/registry/*/strategy.go, PrepareForCreate and PrepareForUpdate. Generation, uid
and the keeping of `status` and `spec` on their sub-resources are the request path's part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.api import quantity
from simcluster.api.schema.decoding import KindOf

Json = dict[str, Any]

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"

#: Status that a new object has whatever its writer sent.
_FRESH_STATUS: dict[tuple[str, str], Json] = {
    ("", "PersistentVolumeClaim"): {"phase": "Pending"},
    ("", "PersistentVolume"): {"phase": "Pending"},
    ("", "Namespace"): {"phase": "Active"},
    ("", "Service"): {"loadBalancer": {}},
    ("", "ResourceQuota"): {},
    ("apps", "Deployment"): {},
    ("apps", "ReplicaSet"): {"replicas": 0},
    ("apps", "StatefulSet"): {"replicas": 0, "availableReplicas": 0},
    ("apps", "DaemonSet"): {
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    },
    ("batch", "Job"): {},
    ("batch", "CronJob"): {},
    ("networking.k8s.io", "Ingress"): {"loadBalancer": {}},
    ("autoscaling", "HorizontalPodAutoscaler"): {"desiredReplicas": 0, "currentMetrics": None},
    ("policy", "PodDisruptionBudget"): {
        "disruptionsAllowed": 0,
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "expectedPods": 0,
    },
}


def pod_qos_class(spec: Mapping[str, Any]) -> str:
    """Guaranteed, Burstable or BestEffort.

    Source: pkg/apis/core/helper/qos, ComputePodQOS: only cpu and memory count; Guaranteed
    needs both limits in every container and requests equal to them.
    """
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    guaranteed = True
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        limited = 0
        for name in ("cpu", "memory"):
            requested = quantity.parse((resources.get("requests") or {}).get(name, "0")).nano
            limit = quantity.parse((resources.get("limits") or {}).get(name, "0")).nano
            if requested > 0:
                requests[name] = requests.get(name, 0) + requested
            if limit > 0:
                limits[name] = limits.get(name, 0) + limit
                limited += 1
        guaranteed = guaranteed and limited == 2
    if not requests and not limits:
        return "BestEffort"
    if guaranteed and all(requests[name] == limits.get(name) for name in requests) and len(requests) == len(limits):
        return "Guaranteed"
    return "Burstable"


def prepare_for_create(resource: KindOf, obj: Json) -> None:
    """Reset what a creator may not choose. Needs `metadata.uid`; changes `obj`."""
    key = (resource.group, resource.kind)
    if key == ("", "Pod"):
        obj["status"] = {"phase": "Pending", "qosClass": pod_qos_class(obj.get("spec") or {})}
        return
    if key in _FRESH_STATUS:
        fresh = _FRESH_STATUS[key]
        obj["status"] = {name: dict(value) if isinstance(value, dict) else value for name, value in fresh.items()}
    if key == ("batch", "Job"):
        _generate_selector(obj)
    elif key == ("apps", "DaemonSet"):
        annotations = obj["metadata"].setdefault("annotations", {})
        annotations[_TEMPLATE_GENERATION] = "1"
    elif key == ("", "Namespace"):
        finalizers = obj.setdefault("spec", {}).setdefault("finalizers", [])
        if "kubernetes" not in finalizers:
            finalizers.append("kubernetes")


def prepare_for_update(resource: KindOf, obj: Json, old: Mapping[str, Any]) -> None:
    """Keep what an updater may not choose; changes `obj`."""
    key = (resource.group, resource.kind)
    if key == ("apps", "DaemonSet"):
        before = int((old["metadata"].get("annotations") or {}).get(_TEMPLATE_GENERATION, "1"))
        changed = obj["spec"].get("template") != old["spec"].get("template")
        annotations = obj["metadata"].setdefault("annotations", {})
        annotations[_TEMPLATE_GENERATION] = str(before + 1 if changed else before)
    elif key == ("", "Namespace"):
        # Finalizers of a namespace change by its `finalize` sub-resource only.
        obj["spec"] = dict(old.get("spec") or {})


def _generate_selector(job: Json) -> None:
    """A Job's selector and labels come from its uid, unless `manualSelector` is set."""
    spec = job["spec"]
    if spec.get("manualSelector"):
        return
    uid, name = job["metadata"].get("uid", ""), job["metadata"].get("name", "")
    metadata = spec["template"].setdefault("metadata", {})
    labels = metadata.get("labels")
    if labels is None:
        labels = metadata["labels"] = {}
    for prefix in ("", "batch.kubernetes.io/"):
        if not labels.get(prefix + "controller-uid"):
            labels[prefix + "controller-uid"] = uid
        if not labels.get(prefix + "job-name"):
            labels[prefix + "job-name"] = name
    if not spec.get("selector"):
        spec["selector"] = {"matchLabels": {}}
    matched = spec["selector"].setdefault("matchLabels", {})
    matched.setdefault("batch.kubernetes.io/controller-uid", uid)
    if not job["metadata"].get("labels"):
        job["metadata"]["labels"] = dict(labels)
