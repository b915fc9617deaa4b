"""Which empty values of optional fields survive a round trip through the server's Go types.

The published definitions do not say whether a Go field is a pointer. An optional empty text,
list or map disappears; an optional 0 or false stays, as most of them are pointers. The two
tables hold the exceptions that manifests and controllers meet. Source: k8s.io/api types.go.
"""

from __future__ import annotations

#: Optional fields whose empty value (or null) is kept: pointers to texts, and fields that Go always prints.
KEPT_WHEN_EMPTY: dict[str, tuple[str, ...]] = {
    "meta.v1.ObjectMeta": ("creationTimestamp",),
    "core.v1.PersistentVolumeClaimSpec": ("storageClassName", "volumeAttributesClassName"),
    "core.v1.HostPathVolumeSource": ("type",),
    "core.v1.GRPCAction": ("service",),
    "core.v1.Event": ("firstTimestamp", "lastTimestamp", "eventTime", "reportingComponent", "reportingInstance"),
    "core.v1.PodCondition": ("lastProbeTime", "lastTransitionTime"),
    "core.v1.ContainerStatus": ("image", "imageID"),
    "core.v1.ContainerStateTerminated": ("startedAt", "finishedAt"),
    "core.v1.ContainerStateRunning": ("startedAt",),
    "core.v1.NodeCondition": ("lastHeartbeatTime", "lastTransitionTime"),
    "apps.v1.DeploymentCondition": ("lastUpdateTime", "lastTransitionTime"),
    "batch.v1.JobCondition": ("lastProbeTime", "lastTransitionTime"),
    "autoscaling.v2.HorizontalPodAutoscalerCondition": ("lastTransitionTime",),
    "autoscaling.v2.HorizontalPodAutoscalerStatus": ("currentMetrics",),
    "discovery.v1.EndpointPort": ("name", "appProtocol"),
    "discovery.v1.EndpointSlice": ("endpoints", "ports"),
    "events.v1.Event": ("eventTime", "deprecatedFirstTimestamp", "deprecatedLastTimestamp"),
    "rbac.v1.ClusterRole": ("rules",),
    "rbac.v1.Role": ("rules",),
    "coordination.v1.LeaseSpec": ("holderIdentity",),
    "networking.v1.IngressSpec": ("ingressClassName",),
    "core.v1.ServicePort": ("appProtocol",),
}

#: Optional numbers and booleans that are no pointers: Go leaves out 0 and false.
ZERO_DROPPED: dict[str, tuple[str, ...]] = {
    "meta.v1.ObjectMeta": ("generation",),
    "core.v1.PodSpec": ("hostNetwork", "hostPID", "hostIPC"),
    "core.v1.Container": ("stdin", "stdinOnce", "tty"),
    "core.v1.EphemeralContainer": ("stdin", "stdinOnce", "tty"),
    "core.v1.ContainerPort": ("hostPort",),
    "core.v1.VolumeMount": ("readOnly",),
    "core.v1.Probe": (
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ),
    "core.v1.PersistentVolumeClaimVolumeSource": ("readOnly",),
    "core.v1.NodeSpec": ("unschedulable",),
    "core.v1.ServicePort": ("nodePort",),
    "core.v1.ServiceSpec": ("publishNotReadyAddresses", "healthCheckNodePort"),
    "core.v1.Event": ("count",),
    "core.v1.ContainerStateTerminated": ("signal",),
    "core.v1.PodStatus": ("observedGeneration",),
    "apps.v1.DeploymentSpec": ("minReadySeconds", "paused"),
    "apps.v1.DeploymentStatus": (
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
    ),
    "apps.v1.ReplicaSetSpec": ("minReadySeconds",),
    "apps.v1.ReplicaSetStatus": ("fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"),
    "apps.v1.StatefulSetSpec": ("minReadySeconds",),
    "apps.v1.StatefulSetStatus": ("observedGeneration", "readyReplicas", "currentReplicas", "updatedReplicas"),
    "apps.v1.DaemonSetSpec": ("minReadySeconds",),
    "apps.v1.DaemonSetStatus": (
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
    ),
    "batch.v1.JobStatus": ("active", "succeeded", "failed"),
    "autoscaling.v2.HorizontalPodAutoscalerStatus": ("currentReplicas",),
    "policy.v1.PodDisruptionBudgetStatus": ("observedGeneration",),
    "scheduling.v1.PriorityClass": ("globalDefault",),
}
