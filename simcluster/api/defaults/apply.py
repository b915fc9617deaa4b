"""The table of defaulting functions, by group, version and kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simcluster.api.defaults import cluster, pods, workloads
from simcluster.api.schema.decoding import KindOf

Json = dict[str, Any]


_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"

DEFAULTS: dict[tuple[str, str, str], Callable[[Json], None]] = {
    ("", "v1", "Pod"): pods.apply_pod,
    ("", "v1", "PodTemplate"): pods.apply_template,
    ("", "v1", "ReplicationController"): workloads.apply_replication_controller,
    ("", "v1", "Service"): cluster.apply_service,
    ("", "v1", "Endpoints"): cluster.apply_endpoints,
    ("", "v1", "Namespace"): cluster.apply_namespace,
    ("", "v1", "Node"): cluster.apply_node,
    ("", "v1", "Secret"): cluster.apply_secret,
    ("", "v1", "PersistentVolumeClaim"): cluster.apply_claim,
    ("", "v1", "PersistentVolume"): cluster.apply_volume,
    ("", "v1", "LimitRange"): cluster.apply_limit_range,
    ("", "v1", "ResourceQuota"): cluster.apply_quota,
    ("", "v1", "Event"): cluster.apply_event,
    ("apps", "v1", "Deployment"): workloads.apply_deployment,
    ("apps", "v1", "ReplicaSet"): workloads.apply_replicaset,
    ("apps", "v1", "StatefulSet"): workloads.apply_statefulset,
    ("apps", "v1", "DaemonSet"): workloads.apply_daemonset,
    ("batch", "v1", "Job"): workloads.apply_job,
    ("batch", "v1", "CronJob"): workloads.apply_cronjob,
    ("autoscaling", "v2", "HorizontalPodAutoscaler"): workloads.apply_autoscaler,
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): workloads.apply_autoscaler_v1,
    ("policy", "v1", "PodDisruptionBudget"): cluster.apply_disruption_budget,
    ("networking.k8s.io", "v1", "Ingress"): cluster.apply_ingress,
    ("networking.k8s.io", "v1", "NetworkPolicy"): cluster.apply_network_policy,
    ("discovery.k8s.io", "v1", "EndpointSlice"): cluster.apply_endpointslice,
    ("events.k8s.io", "v1", "Event"): cluster.apply_event_v1,
    ("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema"): cluster.apply_flow_schema,
    ("flowcontrol.apiserver.k8s.io", "v1", "PriorityLevelConfiguration"): cluster.apply_priority_level,
    ("storage.k8s.io", "v1", "CSIDriver"): cluster.apply_csi_driver,
    ("storage.k8s.io", "v1", "StorageClass"): cluster.apply_storage_class,
    ("scheduling.k8s.io", "v1", "PriorityClass"): cluster.apply_priority_class,
    (_RBAC, "v1", "Role"): cluster.apply_role,
    (_RBAC, "v1", "ClusterRole"): cluster.apply_role,
    (_RBAC, "v1", "RoleBinding"): cluster.apply_role_binding,
    (_RBAC, "v1", "ClusterRoleBinding"): cluster.apply_role_binding,
    (_ADMISSION, "v1", "MutatingWebhookConfiguration"): cluster.apply_webhooks,
    (_ADMISSION, "v1", "ValidatingWebhookConfiguration"): cluster.apply_webhooks,
    (_ADMISSION, "v1", "ValidatingAdmissionPolicy"): cluster.apply_admission_policy,
    (_ADMISSION, "v1", "ValidatingAdmissionPolicyBinding"): cluster.apply_admission_binding,
    ("apiregistration.k8s.io", "v1", "APIService"): cluster.apply_api_service,
    ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"): cluster.apply_custom_resource_definition,
}


def apply(resource: KindOf, obj: Json) -> None:
    """Fill in what the server fills in; changes `obj`. Applying twice changes nothing more.

    Expects an object as `schema.decode` gives it: no nulls, canonical quantities.
    """
    function = DEFAULTS.get((resource.group, resource.version, resource.kind))
    if function is not None:
        function(obj)
