"""Metrics of pods and their containers. Source: internal/store/pod.go of kube-state-metrics 2.15."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simcluster.api.objects import ApiObject, condition, controller_of, name_of, namespace_of, uid_of
from simcluster.api.quantity import to_bytes, to_millicores
from simcluster.control.kubestatemetrics.sheet import Sheet, stamp

PHASES = ("Pending", "Succeeded", "Failed", "Unknown", "Running")
REASONS = ("Evicted", "NodeAffinity", "NodeLost", "Shutdown", "UnexpectedAdmissionError")
_STATES = ("waiting", "running", "terminated")
_TIMES = {
    "Ready": "kube_pod_status_ready_time",
    "ContainersReady": "kube_pod_status_container_ready_time",
    "Initialized": "kube_pod_status_initialized_time",
    "PodScheduled": "kube_pod_status_scheduled_time",
}


def pod(obj: ApiObject) -> Sheet:
    """A pod."""
    sheet = Sheet(namespace=namespace_of(obj), pod=name_of(obj), uid=uid_of(obj))
    spec, status, metadata = obj["spec"], obj.get("status") or {}, obj["metadata"]
    _about(sheet, obj)
    phase = status.get("phase", "")
    shown = "Unknown" if "deletionTimestamp" in metadata and status.get("reason") == "NodeLost" else phase
    if phase:
        sheet.one_of("kube_pod_status_phase", shown, PHASES, "phase")
    for kind, name in (("Ready", "kube_pod_status_ready"), ("PodScheduled", "kube_pod_status_scheduled")):
        found = condition(obj, kind)
        if found is not None:
            for value in ("true", "false", "unknown"):
                sheet.put(name, float(str(found["status"]).lower() == value), condition=value)
            if kind == "PodScheduled" and found["status"] == "False" and found.get("reason") == "Unschedulable":
                sheet.put("kube_pod_status_unschedulable", 1)
    for kind, name in _TIMES.items():
        found = condition(obj, kind)
        if found is not None and found["status"] == "True":
            sheet.put(name, stamp(found.get("lastTransitionTime")))
    ended = [
        (one.get("state") or {}).get("terminated", {}).get("reason")
        for one in status.get("containerStatuses") or ()
        if "terminated" in (one.get("state") or {})
    ]
    reasons = [status.get("reason"), *ended]
    for reason in REASONS:
        sheet.put("kube_pod_status_reason", float(reason in reasons), reason=reason)
    if status.get("qosClass"):
        among = ("BestEffort", "Burstable", "Guaranteed")
        sheet.one_of("kube_pod_status_qos_class", status["qosClass"], among, "qos_class")
    node = spec.get("nodeName", "")
    for prefix, listed, states in (
        ("kube_pod_container", spec["containers"], status.get("containerStatuses")),
        ("kube_pod_init_container", spec.get("initContainers") or (), status.get("initContainerStatuses")),
    ):
        _containers(sheet, prefix, (listed, states or ()), node)
    return sheet


def _about(sheet: Sheet, obj: ApiObject) -> None:
    spec, status, metadata, owner = obj["spec"], obj.get("status") or {}, obj["metadata"], controller_of(obj)
    about = {
        "host_ip": status.get("hostIP", ""),
        "pod_ip": status.get("podIP", ""),
        "node": spec.get("nodeName", ""),
        "created_by_kind": owner["kind"] if owner else "",
        "created_by_name": owner["name"] if owner else "",
        "priority_class": spec.get("priorityClassName", ""),
        "host_network": str(bool(spec.get("hostNetwork"))).lower(),
    }
    sheet.apart("kube_pod_info", 1, about)
    owned = {"owner_kind": "", "owner_name": "", "owner_is_controller": ""}
    if owner:
        owned = {"owner_kind": owner["kind"], "owner_name": owner["name"], "owner_is_controller": "true"}
    sheet.apart("kube_pod_owner", 1, owned)
    sheet.put("kube_pod_created", stamp(metadata.get("creationTimestamp")))
    sheet.put("kube_pod_start_time", stamp(status.get("startTime")))
    sheet.put("kube_pod_deletion_timestamp", stamp(metadata.get("deletionTimestamp")))
    ends = [
        ((one.get("state") or {}).get("terminated") or {}).get("finishedAt")
        for one in status.get("containerStatuses") or ()
    ]
    if status.get("phase") in ("Succeeded", "Failed") and any(ends):
        sheet.put("kube_pod_completion_time", max(stamp(end) or 0.0 for end in ends))
    sheet.put("kube_pod_restart_policy", 1, type=spec.get("restartPolicy", "Always"))
    sheet.apart("kube_pod_service_account", 1, {"service_account": spec.get("serviceAccountName", "")})
    for volume in spec.get("volumes") or ():
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim:
            free = {"volume": volume["name"], "persistentvolumeclaim": claim}
            sheet.apart("kube_pod_spec_volumes_persistentvolumeclaims_info", 1, free)


def _containers(
    sheet: Sheet, prefix: str, of: tuple[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]], node: str
) -> None:
    listed, states = of
    specs = {one["name"]: one for one in listed}
    for status in states:
        free = {"container": status["name"]}
        ids = {
            "image": status.get("image", ""),
            "image_spec": (specs.get(status["name"]) or {}).get("image", ""),
            "image_id": status.get("imageID", ""),
            "container_id": status.get("containerID", ""),
        }
        sheet.apart(f"{prefix}_info", 1, {**free, **ids})
        state, last = status.get("state") or {}, (status.get("lastState") or {}).get("terminated")
        for kind in _STATES:
            sheet.apart(f"{prefix}_status_{kind}", float(kind in state), free)
        sheet.apart(f"{prefix}_status_ready", float(bool(status.get("ready"))), free)
        sheet.apart(f"{prefix}_status_restarts_total", status.get("restartCount", 0), free)
        for kind in ("waiting", "terminated"):
            reason = (state.get(kind) or {}).get("reason")
            if reason:
                sheet.apart(f"{prefix}_status_{kind}_reason", 1, free, reason=reason)
        if last is not None:
            sheet.apart(f"{prefix}_status_last_terminated_reason", 1, free, reason=last.get("reason", ""))
            if prefix == "kube_pod_container":
                sheet.apart(f"{prefix}_status_last_terminated_exitcode", last.get("exitCode", 0), free)
                sheet.apart(f"{prefix}_status_last_terminated_timestamp", stamp(last.get("finishedAt")), free)
        if prefix == "kube_pod_container" and "running" in state:
            sheet.apart("kube_pod_container_state_started", stamp(state["running"].get("startedAt")), free)
    for container in listed:
        for part in ("requests", "limits"):
            for resource, amount in ((container.get("resources") or {}).get(part) or {}).items():
                free = {"container": container["name"], "node": node}
                value, unit = measured(resource, amount)
                own = {"resource": resource.replace("-", "_"), "unit": unit}
                sheet.apart(f"{prefix}_resource_{part}", value, free, **own)


def measured(resource: str, amount: Any) -> tuple[float, str]:
    """An amount of a resource and its unit."""
    if resource == "cpu":
        return to_millicores(amount) / 1000, "core"
    if resource in ("memory", "storage", "ephemeral-storage") or resource.startswith("hugepages-"):
        return float(to_bytes(amount)), "byte"
    return to_millicores(amount) / 1000, "integer"
