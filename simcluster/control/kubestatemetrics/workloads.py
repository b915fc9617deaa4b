"""Metrics of workloads: what makes pods, and what scales it. Source: internal/store of kube-state-metrics 2.15."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.api.objects import ApiObject, condition, controller_of, name_of, namespace_of
from simcluster.control.intorpercent import scaled_value
from simcluster.control.kubestatemetrics.sheet import Sheet, stamp

STATUSES = ("true", "false", "unknown")


def conditions(sheet: Sheet, obj: Mapping[str, Any], name: str) -> None:
    """One series for each condition and status."""
    for found in (obj.get("status") or {}).get("conditions") or ():
        for status in STATUSES:
            value = float(str(found["status"]).lower() == status)
            sheet.put(name, value, condition=found["type"], status=status)


def _common(sheet: Sheet, obj: ApiObject, prefix: str) -> None:
    metadata, status = obj["metadata"], obj.get("status") or {}
    sheet.put(f"{prefix}_created", stamp(metadata.get("creationTimestamp")))
    sheet.put(f"{prefix}_metadata_generation", metadata.get("generation"))
    sheet.put(f"{prefix}_status_observed_generation", status.get("observedGeneration"))


def deployment(obj: ApiObject) -> Sheet:
    """A Deployment."""
    sheet, prefix = Sheet(namespace=namespace_of(obj), deployment=name_of(obj)), "kube_deployment"
    spec, status = obj["spec"], obj.get("status") or {}
    _common(sheet, obj, prefix)
    sheet.put(f"{prefix}_spec_replicas", spec.get("replicas"))
    sheet.put(f"{prefix}_spec_paused", float(bool(spec.get("paused"))))
    for name, key in (
        ("replicas", "replicas"),
        ("replicas_ready", "readyReplicas"),
        ("replicas_available", "availableReplicas"),
        ("replicas_unavailable", "unavailableReplicas"),
        ("replicas_updated", "updatedReplicas"),
    ):
        sheet.put(f"{prefix}_status_{name}", status.get(key, 0))
    conditions(sheet, obj, f"{prefix}_status_condition")
    rolling = (spec.get("strategy") or {}).get("rollingUpdate") or {}
    for key, name in (("maxSurge", "max_surge"), ("maxUnavailable", "max_unavailable")):
        if key in rolling:
            most = scaled_value(rolling[key], spec.get("replicas") or 0, round_up=key == "maxSurge")
            sheet.put(f"{prefix}_spec_strategy_rollingupdate_{name}", most)
    return sheet


def replicaset(obj: ApiObject) -> Sheet:
    """A ReplicaSet."""
    sheet, prefix = Sheet(namespace=namespace_of(obj), replicaset=name_of(obj)), "kube_replicaset"
    status, owner = obj.get("status") or {}, controller_of(obj)
    _common(sheet, obj, prefix)
    sheet.put(f"{prefix}_spec_replicas", obj["spec"].get("replicas"))
    for name, key in (
        ("replicas", "replicas"),
        ("fully_labeled_replicas", "fullyLabeledReplicas"),
        ("ready_replicas", "readyReplicas"),
    ):
        sheet.put(f"{prefix}_status_{name}", status.get(key, 0))
    owned = {"owner_kind": "", "owner_name": "", "owner_is_controller": ""}
    if owner:
        owned = {"owner_kind": owner["kind"], "owner_name": owner["name"], "owner_is_controller": "true"}
    sheet.apart(f"{prefix}_owner", 1, owned)
    return sheet


def statefulset(obj: ApiObject) -> Sheet:
    """A StatefulSet."""
    sheet, prefix = Sheet(namespace=namespace_of(obj), statefulset=name_of(obj)), "kube_statefulset"
    status = obj.get("status") or {}
    _common(sheet, obj, prefix)
    sheet.put(f"{prefix}_replicas", obj["spec"].get("replicas"))
    for name, key in (
        ("replicas", "replicas"),
        ("replicas_ready", "readyReplicas"),
        ("replicas_available", "availableReplicas"),
        ("replicas_current", "currentReplicas"),
        ("replicas_updated", "updatedReplicas"),
    ):
        sheet.put(f"{prefix}_status_{name}", status.get(key, 0))
    for name, key in (("current", "currentRevision"), ("update", "updateRevision")):
        if status.get(key):
            sheet.apart(f"{prefix}_status_{name}_revision", 1, {"revision": status[key]})
    return sheet


def daemonset(obj: ApiObject) -> Sheet:
    """A DaemonSet."""
    sheet, prefix = Sheet(namespace=namespace_of(obj), daemonset=name_of(obj)), "kube_daemonset"
    status = obj.get("status") or {}
    _common(sheet, obj, prefix)
    for name, key in (
        ("current_number_scheduled", "currentNumberScheduled"),
        ("desired_number_scheduled", "desiredNumberScheduled"),
        ("number_available", "numberAvailable"),
        ("number_misscheduled", "numberMisscheduled"),
        ("number_ready", "numberReady"),
        ("number_unavailable", "numberUnavailable"),
        ("updated_number_scheduled", "updatedNumberScheduled"),
    ):
        sheet.put(f"{prefix}_status_{name}", status.get(key, 0))
    return sheet


def job(obj: ApiObject) -> Sheet:
    """A Job."""
    sheet, spec, status = (
        Sheet(namespace=namespace_of(obj), job_name=name_of(obj)),
        obj["spec"],
        obj.get("status") or {},
    )
    owner = controller_of(obj)
    sheet.put("kube_job_created", stamp(obj["metadata"].get("creationTimestamp")))
    sheet.apart("kube_job_info", 1, {})
    owned = {"owner_kind": "", "owner_name": "", "owner_is_controller": ""}
    if owner:
        owned = {"owner_kind": owner["kind"], "owner_name": owner["name"], "owner_is_controller": "true"}
    sheet.apart("kube_job_owner", 1, owned)
    sheet.put("kube_job_spec_parallelism", spec.get("parallelism"))
    sheet.put("kube_job_spec_completions", spec.get("completions"))
    sheet.put("kube_job_spec_active_deadline_seconds", spec.get("activeDeadlineSeconds"))
    for key in ("active", "succeeded"):
        sheet.put(f"kube_job_status_{key}", status.get(key, 0))
    failed = condition(obj, "Failed")
    if failed is not None and failed["status"] == "True":
        sheet.put("kube_job_status_failed", status.get("failed", 0), reason=failed.get("reason", ""))
    else:
        sheet.put("kube_job_status_failed", status.get("failed", 0))
    sheet.put("kube_job_status_start_time", stamp(status.get("startTime")))
    sheet.put("kube_job_status_completion_time", stamp(status.get("completionTime")))
    for kind, name in (("Complete", "kube_job_complete"), ("Failed", "kube_job_failed")):
        found = condition(obj, kind)
        for value in STATUSES if found is not None else ():
            sheet.put(name, float(found is not None and str(found["status"]).lower() == value), condition=value)
    return sheet


def cronjob(obj: ApiObject) -> Sheet:
    """A CronJob."""
    sheet, spec, status = Sheet(namespace=namespace_of(obj), cronjob=name_of(obj)), obj["spec"], obj.get("status") or {}
    about = {"schedule": spec["schedule"], "concurrency_policy": spec.get("concurrencyPolicy", "Allow")}
    sheet.apart("kube_cronjob_info", 1, {**about, "timezone": spec.get("timeZone", "local")})
    sheet.put("kube_cronjob_created", stamp(obj["metadata"].get("creationTimestamp")))
    sheet.put("kube_cronjob_spec_suspend", float(bool(spec.get("suspend"))))
    sheet.put("kube_cronjob_status_active", len(status.get("active") or ()))
    sheet.put("kube_cronjob_status_last_schedule_time", stamp(status.get("lastScheduleTime")))
    sheet.put("kube_cronjob_status_last_successful_time", stamp(status.get("lastSuccessfulTime")))
    return sheet


def autoscaler(obj: ApiObject) -> Sheet:
    """A HorizontalPodAutoscaler."""
    sheet = Sheet(namespace=namespace_of(obj), horizontalpodautoscaler=name_of(obj))
    prefix, spec, status = "kube_horizontalpodautoscaler", obj["spec"], obj.get("status") or {}
    target = spec["scaleTargetRef"]
    about = {f"scaletargetref_{key}": target[name] for key, name in (("kind", "kind"), ("name", "name"))}
    sheet.apart(f"{prefix}_info", 1, {**about, "scaletargetref_api_version": target.get("apiVersion", "")})
    sheet.put(f"{prefix}_metadata_generation", obj["metadata"].get("generation"))
    sheet.put(f"{prefix}_spec_max_replicas", spec["maxReplicas"])
    sheet.put(f"{prefix}_spec_min_replicas", spec.get("minReplicas", 1))
    sheet.put(f"{prefix}_status_current_replicas", status.get("currentReplicas", 0))
    sheet.put(f"{prefix}_status_desired_replicas", status.get("desiredReplicas", 0))
    conditions(sheet, obj, f"{prefix}_status_condition")
    for metric in spec.get("metrics") or ():
        found = metric.get("resource") or {}
        if "averageUtilization" in (found.get("target") or {}):
            own = {"metric_name": found["name"], "metric_target_type": "utilization"}
            sheet.put(f"{prefix}_spec_target_metric", found["target"]["averageUtilization"], **own)
    for metric in status.get("currentMetrics") or ():
        found = metric.get("resource") or {}
        if "averageUtilization" in (found.get("current") or {}):
            own = {"metric_name": found["name"], "metric_target_type": "utilization"}
            sheet.put(f"{prefix}_status_target_metric", found["current"]["averageUtilization"], **own)
    return sheet


def budget(obj: ApiObject) -> Sheet:
    """A PodDisruptionBudget."""
    sheet, status = Sheet(namespace=namespace_of(obj), poddisruptionbudget=name_of(obj)), obj.get("status") or {}
    prefix = "kube_poddisruptionbudget"
    sheet.put(f"{prefix}_created", stamp(obj["metadata"].get("creationTimestamp")))
    for name, key in (
        ("current_healthy", "currentHealthy"),
        ("desired_healthy", "desiredHealthy"),
        ("pod_disruptions_allowed", "disruptionsAllowed"),
        ("expected_pods", "expectedPods"),
        ("observed_generation", "observedGeneration"),
    ):
        sheet.put(f"{prefix}_status_{name}", status.get(key, 0))
    return sheet
