"""The tables of rules by kind, and the three entries of the request path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from simcluster.api import names
from simcluster.api.errors import Cause
from simcluster.api.schema import KindOf
from simcluster.api.validation import (
    admission,
    claims,
    classes,
    cluster,
    definitions,
    flowcontrol,
    pods,
    scaling,
    services,
    storage,
    workloads,
)
from simcluster.api.validation.causes import Causes, Obj
from simcluster.api.validation.metadata import NameRule, validate_metadata, validate_metadata_update

_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"
_FLOWCONTROL = "flowcontrol.apiserver.k8s.io"
_EXTENSIONS = "apiextensions.k8s.io"

CREATE: dict[tuple[str, str], Callable[[Obj, Causes], None]] = {
    ("", "Pod"): pods.validate_pod,
    ("", "PodTemplate"): pods.validate_pod_template,
    ("", "ReplicationController"): workloads.validate_replication_controller,
    ("", "Service"): services.validate_service,
    ("", "Endpoints"): services.validate_endpoints,
    ("", "Node"): cluster.validate_node,
    ("", "PersistentVolumeClaim"): claims.validate_claim,
    ("", "PersistentVolume"): storage.validate_volume,
    ("", "ConfigMap"): cluster.validate_config_map,
    ("", "Secret"): cluster.validate_secret,
    ("", "ResourceQuota"): cluster.validate_quota,
    ("", "LimitRange"): cluster.validate_limit_range,
    ("", "Event"): cluster.validate_event,
    ("apiregistration.k8s.io", "APIService"): classes.validate_api_service,
    ("apps", "ControllerRevision"): workloads.validate_revision,
    ("apps", "Deployment"): workloads.validate_deployment,
    ("apps", "ReplicaSet"): workloads.validate_replicaset,
    ("apps", "StatefulSet"): workloads.validate_statefulset,
    ("apps", "DaemonSet"): workloads.validate_daemonset,
    ("batch", "Job"): workloads.validate_job,
    ("batch", "CronJob"): workloads.validate_cronjob,
    ("autoscaling", "HorizontalPodAutoscaler"): scaling.validate_autoscaler,
    ("policy", "PodDisruptionBudget"): workloads.validate_budget,
    ("networking.k8s.io", "Ingress"): services.validate_ingress,
    ("networking.k8s.io", "IngressClass"): classes.validate_ingress_class,
    ("certificates.k8s.io", "CertificateSigningRequest"): classes.validate_signing_request,
    ("networking.k8s.io", "NetworkPolicy"): services.validate_network_policy,
    ("discovery.k8s.io", "EndpointSlice"): services.validate_endpointslice,
    ("coordination.k8s.io", "Lease"): cluster.validate_lease,
    (_FLOWCONTROL, "FlowSchema"): flowcontrol.validate_flow_schema,
    (_FLOWCONTROL, "PriorityLevelConfiguration"): flowcontrol.validate_priority_level,
    ("node.k8s.io", "RuntimeClass"): classes.validate_runtime_class,
    ("storage.k8s.io", "CSIDriver"): storage.validate_driver,
    ("storage.k8s.io", "CSINode"): storage.validate_csi_node,
    ("storage.k8s.io", "CSIStorageCapacity"): storage.validate_storage_capacity,
    ("storage.k8s.io", "StorageClass"): storage.validate_storage_class,
    ("storage.k8s.io", "VolumeAttachment"): storage.validate_attachment,
    ("scheduling.k8s.io", "PriorityClass"): cluster.validate_priority_class,
    (_RBAC, "Role"): cluster.validate_role,
    (_RBAC, "ClusterRole"): cluster.validate_role,
    (_RBAC, "RoleBinding"): cluster.validate_role_binding,
    (_RBAC, "ClusterRoleBinding"): cluster.validate_role_binding,
    (_ADMISSION, "ValidatingAdmissionPolicy"): admission.validate_policy,
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): admission.validate_policy_binding,
    (_ADMISSION, "MutatingWebhookConfiguration"): admission.validate_webhooks,
    (_ADMISSION, "ValidatingWebhookConfiguration"): admission.validate_webhooks,
    (_EXTENSIONS, "CustomResourceDefinition"): definitions.validate_definition,
}

#: Kinds whose update has rules of its own; the others are validated as if they were new.
UPDATE: dict[tuple[str, str], Callable[[Obj, Obj, Causes], None]] = {
    ("", "Pod"): pods.validate_pod_update,
    ("", "Service"): services.validate_service_update,
    ("", "Node"): cluster.validate_node_update,
    ("", "PersistentVolumeClaim"): claims.validate_claim_update,
    ("", "PersistentVolume"): storage.validate_volume_update,
    ("", "ConfigMap"): cluster.validate_config_map_update,
    ("", "Secret"): cluster.validate_secret_update,
    ("apps", "ControllerRevision"): workloads.validate_revision_update,
    ("apps", "Deployment"): workloads.validate_deployment_update,
    ("apps", "ReplicaSet"): workloads.validate_replicaset_update,
    ("apps", "StatefulSet"): workloads.validate_statefulset_update,
    ("apps", "DaemonSet"): workloads.validate_daemonset_update,
    ("batch", "Job"): workloads.validate_job_update,
    ("discovery.k8s.io", "EndpointSlice"): services.validate_endpointslice_update,
    ("networking.k8s.io", "IngressClass"): classes.validate_ingress_class_update,
    ("node.k8s.io", "RuntimeClass"): classes.validate_runtime_class_update,
    ("storage.k8s.io", "StorageClass"): storage.validate_storage_class_update,
    ("storage.k8s.io", "VolumeAttachment"): storage.validate_attachment_update,
    ("scheduling.k8s.io", "PriorityClass"): cluster.validate_priority_class_update,
    (_RBAC, "RoleBinding"): cluster.validate_role_binding_update,
    (_RBAC, "ClusterRoleBinding"): cluster.validate_role_binding_update,
    (_EXTENSIONS, "CustomResourceDefinition"): definitions.validate_definition_update,
}

#: Rules for names other than the DNS subdomain.
NAME_RULES: dict[tuple[str, str], NameRule] = {
    ("", "Service"): names.dns1035_label,
    ("", "Namespace"): names.dns_label,
    ("apiregistration.k8s.io", "APIService"): names.path_segment,
    (_RBAC, "Role"): names.path_segment,
    (_RBAC, "ClusterRole"): names.path_segment,
    (_RBAC, "RoleBinding"): names.path_segment,
    (_RBAC, "ClusterRoleBinding"): names.path_segment,
}


#: Finalizers without a domain that core kinds may carry (pkg/apis/core/helper, IsStandardFinalizerName).
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
#: Groups whose kinds do not follow that rule.
_BARE_FINALIZERS = (_EXTENSIONS, "apiregistration.k8s.io")


def _metadata_causes(resource: KindOf, obj: Obj, causes: Causes) -> None:
    rule = NAME_RULES.get((resource.group, resource.kind), names.dns_subdomain)
    namespaced = getattr(resource, "namespaced", None)
    metadata = obj.get("metadata") or {}
    validate_metadata(metadata, namespaced=namespaced, rule=rule, causes=causes)
    if resource.group in _BARE_FINALIZERS:
        return
    for index, finalizer in enumerate(metadata.get("finalizers") or ()):
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            causes.invalid(f"metadata.finalizers[{index}]", finalizer, why)


def validate_create(resource: KindOf, obj: Mapping[str, Any]) -> list[Cause]:
    """Why a new object is refused; empty if it is not."""
    causes = Causes()
    _metadata_causes(resource, obj, causes)
    check = CREATE.get((resource.group, resource.kind))
    if check is not None:
        check(obj, causes)
    return causes


def validate_update(resource: KindOf, obj: Mapping[str, Any], old: Mapping[str, Any]) -> list[Cause]:
    """Why a changed object is refused; empty if it is not.

    A write that leaves everything but metadata alone is checked for its metadata only: what
    was accepted once stays acceptable.
    """
    causes = Causes()
    metadata, before = obj["metadata"], old["metadata"]
    validate_metadata_update(metadata, before, causes)
    if any(metadata.get(key) != before.get(key) for key in ("labels", "annotations", "finalizers")):
        owners = [cause for cause in causes if cause.field.startswith("metadata.ownerReferences")]
        _metadata_causes(resource, obj, causes)
        if owners:
            causes[:] = dict.fromkeys(causes)
    if all(obj.get(key) == old.get(key) for key in {**old, **obj} if key not in ("metadata", "status")):
        return causes
    key = (resource.group, resource.kind)
    update = UPDATE.get(key)
    if update is not None:
        update(obj, old, causes)
        return causes
    check = CREATE.get(key)
    if check is not None:
        check(obj, causes)
    return causes


#: Counts of a status that may not be negative.
_COUNTS = ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "unavailableReplicas")


def validate_status_update(resource: KindOf, obj: Mapping[str, Any], old: Mapping[str, Any]) -> list[Cause]:
    """Why a changed status is refused; the spec is not looked at again."""
    causes = Causes()
    validate_metadata_update(obj["metadata"], old["metadata"], causes)
    status = obj.get("status") or {}
    if resource.group == "apps":
        for count in _COUNTS:
            causes.not_negative(f"status.{count}", status.get(count))
        _validate_replica_counts(status, causes)
    elif (resource.group, resource.kind) == ("", "Pod"):
        _validate_pod_status(status, old.get("status") or {}, causes)
    return causes


def _validate_replica_counts(status: Obj, causes: Causes) -> None:
    total = status.get("replicas")
    if total is None:
        return
    for count in ("updatedReplicas", "readyReplicas", "availableReplicas"):
        value = status.get(count, 0)
        if value > total:
            causes.invalid(f"status.{count}", value, "cannot be greater than status.replicas")
    available, ready = status.get("availableReplicas", 0), status.get("readyReplicas", 0)
    if available > ready:
        causes.invalid("status.availableReplicas", available, "cannot be greater than readyReplicas")


def _validate_pod_status(status: Obj, old: Obj, causes: Causes) -> None:
    qos, before = status.get("qosClass", ""), old.get("qosClass", "")
    if before and qos != before:
        causes.invalid("status.qosClass", qos, "field is immutable")
    for index, address in enumerate(status.get("podIPs") or ()):
        ip = address.get("ip", "")
        causes.checked(f"status.podIPs[{index}].ip", ip, names.ip_address(ip))
