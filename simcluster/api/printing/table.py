"""Builds `meta.k8s.io/v1` Tables from objects, by the table of printers below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from simcluster.api.printing import access, cluster, infrastructure, pods, services, workloads
from simcluster.api.printing.cells import NAME, Obj, Printer
from simcluster.api.printing.custom import custom_cells, custom_columns
from simcluster.api.printing.descriptions import custom_definitions, definitions
from simcluster.api.schema import KindOf, type_of
from simcluster.api.schema.zeros import filled

#: Printers by group and kind; every version of a kind prints alike.
PRINTERS: dict[tuple[str, str], Printer] = {
    ("", "Pod"): pods.POD,
    ("", "PodTemplate"): infrastructure.POD_TEMPLATE,
    ("", "ReplicationController"): workloads.REPLICAS,
    ("", "Service"): services.SERVICE,
    ("", "Endpoints"): services.ENDPOINTS,
    ("", "Node"): cluster.NODE,
    ("", "Namespace"): cluster.NAMESPACE,
    ("", "Event"): cluster.EVENT,
    ("", "PersistentVolumeClaim"): cluster.CLAIM,
    ("", "PersistentVolume"): cluster.VOLUME,
    ("", "ComponentStatus"): access.COMPONENT_STATUS,
    ("", "ConfigMap"): cluster.CONFIG_MAP,
    ("", "Secret"): cluster.SECRET,
    ("", "ServiceAccount"): cluster.SERVICE_ACCOUNT,
    ("", "ResourceQuota"): cluster.QUOTA,
    ("apps", "Deployment"): workloads.DEPLOYMENT,
    ("apps", "ReplicaSet"): workloads.REPLICAS,
    ("apps", "StatefulSet"): workloads.STATEFULSET,
    ("apps", "DaemonSet"): workloads.DAEMONSET,
    ("apps", "ControllerRevision"): workloads.REVISION,
    ("batch", "Job"): workloads.JOB,
    ("batch", "CronJob"): workloads.CRONJOB,
    ("autoscaling", "HorizontalPodAutoscaler"): workloads.AUTOSCALER,
    ("policy", "PodDisruptionBudget"): workloads.BUDGET,
    ("networking.k8s.io", "Ingress"): services.INGRESS,
    ("networking.k8s.io", "IngressClass"): services.INGRESS_CLASS,
    ("networking.k8s.io", "NetworkPolicy"): services.NETWORK_POLICY,
    ("discovery.k8s.io", "EndpointSlice"): services.ENDPOINTSLICE,
    ("events.k8s.io", "Event"): cluster.EVENT,
    ("coordination.k8s.io", "Lease"): cluster.LEASE,
    ("storage.k8s.io", "StorageClass"): cluster.STORAGE_CLASS,
    ("storage.k8s.io", "CSIDriver"): infrastructure.CSI_DRIVER,
    ("storage.k8s.io", "CSINode"): infrastructure.CSI_NODE,
    ("storage.k8s.io", "CSIStorageCapacity"): infrastructure.CSI_STORAGE_CAPACITY,
    ("storage.k8s.io", "VolumeAttachment"): infrastructure.VOLUME_ATTACHMENT,
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): infrastructure.FLOW_SCHEMA,
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): infrastructure.PRIORITY_LEVEL,
    ("scheduling.k8s.io", "PriorityClass"): access.PRIORITY_CLASS,
    ("node.k8s.io", "RuntimeClass"): access.RUNTIME_CLASS,
    ("rbac.authorization.k8s.io", "RoleBinding"): access.BINDING,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): access.BINDING,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): access.WEBHOOKS,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): access.WEBHOOKS,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): access.ADMISSION_POLICY,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): access.ADMISSION_BINDING,
    ("apiregistration.k8s.io", "APIService"): access.API_SERVICE,
    ("certificates.k8s.io", "CertificateSigningRequest"): access.SIGNING_REQUEST,
    ("metrics.k8s.io", "PodMetrics"): cluster.USAGE,
    ("metrics.k8s.io", "NodeMetrics"): cluster.USAGE,
}
#: Made when a DaemonSet is converted to the version that clients read (pkg/apis/apps/v1/conversion.go).
_ONLY_CONVERTED = "deprecated.daemonset.template.generation"


def table(
    resource: KindOf,
    objects: Iterable[Obj],
    *,
    now_ns: int,
    version: str = "",
    include: str = "Metadata",
    custom: Sequence[Obj] = (),
) -> dict[str, Any]:
    """The Table of some objects of one resource.

    Args:
        resource: an entry of the table of resources (group, version, kind).
        objects: stored objects; they are not changed, rows share their metadata.
        now_ns: the instant from which ages are counted.
        version: `metadata.resourceVersion` of the answer; left out if empty.
        include: what rows carry as `object`: Metadata, Object or None (`includeObject`).
        custom: `additionalPrinterColumns` of a custom resource's served version.

    Returns:
        The Table as a JSON value. Without objects `rows` is empty, or null for a kind without
        a printer of its own, as the server sends it.
    """
    printer = PRINTERS.get((resource.group, resource.kind))
    if printer is None:
        known = type_of(resource.group, resource.version, resource.kind) is not None
        printer = access.DEFAULT if known else access.CUSTOM
    if custom:
        described = custom_definitions((NAME, *custom_columns(custom)), custom)
    else:
        described = list(definitions(resource.group, resource.kind, printer.columns))
    rows = []
    for obj in objects:
        if custom:
            cells = [obj["metadata"]["name"], *custom_cells(obj, custom, now_ns)]
        else:
            cells = _cells(printer, resource, obj, now_ns)
        row: dict[str, Any] = {"cells": cells}
        if printer is pods.POD:
            conditions = pods.pod_row_conditions(obj)
            if conditions:
                row["conditions"] = conditions
        row["object"] = _row_object(obj, include)
        rows.append(row)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": str(version)} if version else {},
        "columnDefinitions": described,
        "rows": rows or (None if not custom and printer in (access.DEFAULT, access.CUSTOM) else []),
    }


def _cells(printer: Printer, resource: KindOf, obj: Obj, now_ns: int) -> list[Any]:
    """The cells of a row; an object that lacks what its type requires is printed with Go's zero values."""
    try:
        return printer.cells(obj, now_ns)
    except KeyError:
        schema = type_of(resource.group, resource.version, resource.kind)
        return printer.cells(filled(dict(obj), schema, walkable=True) if schema is not None else obj, now_ns)


def _row_object(obj: Obj, include: str) -> Any:
    if include == "Object":
        return obj
    if include == "None":
        return None
    return partial(obj)


def partial(obj: Obj) -> dict[str, Any]:
    """The metadata of an object, as the server's own type has them."""
    metadata = obj["metadata"]
    annotations = metadata.get("annotations")
    if annotations and _ONLY_CONVERTED in annotations and obj.get("kind") == "DaemonSet":
        rest = {key: value for key, value in annotations.items() if key != _ONLY_CONVERTED}
        metadata = {key: rest if key == "annotations" else value for key, value in metadata.items()}
        if not rest:
            del metadata["annotations"]
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
