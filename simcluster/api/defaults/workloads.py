"""Defaults of the kinds that make pods: Deployment to CronJob, and of their autoscaler.

Source: pkg/apis/{apps,batch,autoscaling}/v*/defaults.go.
"""

from __future__ import annotations

from typing import Any

from simcluster.api.defaults.pods import apply_template

Json = dict[str, Any]


def apply_deployment(deployment: Json) -> None:
    """apps/v1 Deployment."""
    spec = deployment.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    spec.setdefault("selector", None)
    strategy = spec.setdefault("strategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    apply_template(spec)
    deployment.setdefault("status", {})


def apply_replicaset(replicaset: Json) -> None:
    """apps/v1 ReplicaSet."""
    spec = replicaset.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    spec.setdefault("selector", None)
    if spec.get("template") is not None:
        apply_template(spec)
    replicaset.setdefault("status", {}).setdefault("replicas", 0)


def apply_replication_controller(controller: Json) -> None:
    """core/v1 ReplicationController: selector and labels follow the template's labels."""
    spec = controller.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        if not controller.setdefault("metadata", {}).get("labels"):
            controller["metadata"]["labels"] = dict(labels)
    if spec.get("template") is not None:
        apply_template(spec)
    controller.setdefault("status", {}).setdefault("replicas", 0)


def apply_statefulset(statefulset: Json) -> None:
    """apps/v1 StatefulSet."""
    spec = statefulset.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    spec.setdefault("selector", None)
    spec.setdefault("serviceName", "")
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec.setdefault("updateStrategy", {})
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        strategy.setdefault("rollingUpdate", {}).setdefault("partition", 0)
    spec.setdefault("revisionHistoryLimit", 10)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    apply_template(spec)
    for claim in spec.get("volumeClaimTemplates") or ():
        claim.setdefault("kind", "PersistentVolumeClaim")
        claim.setdefault("apiVersion", "v1")
        claim.setdefault("metadata", {}).setdefault("creationTimestamp", None)
        claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
        claim["spec"].setdefault("resources", {})
        claim.setdefault("status", {}).setdefault("phase", "Pending")
    status = statefulset.setdefault("status", {})
    status.setdefault("replicas", 0)
    status.setdefault("availableReplicas", 0)


def apply_daemonset(daemonset: Json) -> None:
    """apps/v1 DaemonSet."""
    spec = daemonset.setdefault("spec", {})
    spec.setdefault("selector", None)
    strategy = spec.setdefault("updateStrategy", {})
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", 10)
    apply_template(spec)
    status = daemonset.setdefault("status", {})
    for count in ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"):
        status.setdefault(count, 0)


def apply_job(job: Json) -> None:
    """batch/v1 Job."""
    spec = job.setdefault("spec", {})
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = spec["parallelism"] = 1
    spec.setdefault("parallelism", 1)
    if spec.get("backoffLimitPerIndex") is not None:
        spec.setdefault("backoffLimit", 2**31 - 1)
    spec.setdefault("backoffLimit", 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    failure_policy = spec.get("podFailurePolicy")
    spec.setdefault("podReplacementPolicy", "Failed" if failure_policy is not None else "TerminatingOrFailed")
    for rule in (failure_policy or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            pattern.setdefault("status", "True")
    apply_template(spec)
    labels = spec["template"]["metadata"].get("labels")
    if labels and not job.setdefault("metadata", {}).get("labels"):
        job["metadata"]["labels"] = dict(labels)
    job.setdefault("status", {})


def apply_cronjob(cronjob: Json) -> None:
    """batch/v1 CronJob; its jobTemplate gets only the pod defaults."""
    spec = cronjob.setdefault("spec", {})
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    template = spec.setdefault("jobTemplate", {})
    template.setdefault("metadata", {}).setdefault("creationTimestamp", None)
    apply_template(template.setdefault("spec", {}))
    cronjob.setdefault("status", {})


def apply_autoscaler(autoscaler: Json) -> None:
    """autoscaling/v2 HorizontalPodAutoscaler."""
    spec = autoscaler.setdefault("spec", {})
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    behavior = spec.get("behavior")
    if behavior is not None:
        up = behavior.setdefault("scaleUp", {})
        up.setdefault("stabilizationWindowSeconds", 0)
        up.setdefault("selectPolicy", "Max")
        up.setdefault(
            "policies",
            [
                {"type": "Pods", "value": 4, "periodSeconds": 15},
                {"type": "Percent", "value": 100, "periodSeconds": 15},
            ],
        )
        down = behavior.setdefault("scaleDown", {})
        down.setdefault("selectPolicy", "Max")
        down.setdefault("policies", [{"type": "Percent", "value": 100, "periodSeconds": 15}])
    status = autoscaler.setdefault("status", {})
    status.setdefault("desiredReplicas", 0)
    status.setdefault("currentMetrics", None)


def apply_autoscaler_v1(autoscaler: Json) -> None:
    """autoscaling/v1 HorizontalPodAutoscaler."""
    autoscaler.setdefault("spec", {}).setdefault("minReplicas", 1)
    status = autoscaler.setdefault("status", {})
    status.setdefault("currentReplicas", 0)
    status.setdefault("desiredReplicas", 0)
