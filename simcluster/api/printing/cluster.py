"""Rows of Nodes, Namespaces, Events, Leases, storage, configuration, quota and metrics.

Source: pkg/printers/internalversion/printers.go (Kubernetes 1.32); the metrics Tables are
those of metrics-server 0.7.
"""

from __future__ import annotations

from typing import Any

from simcluster.api import quantity
from simcluster.api.printing.cells import (
    NAME,
    NONE,
    UNKNOWN,
    UNSET,
    Column,
    Obj,
    Printer,
    access_modes,
    age,
    columns,
    condition_status,
    since,
)

_ROLE_PREFIX = "node-role.kubernetes.io/"


def _node(node: Obj, now_ns: int) -> list[Any]:
    status = node.get("status") or {}
    ready = condition_status(node, "Ready")
    words = ["Unknown" if not ready else "Ready" if ready == "True" else "NotReady"]
    if (node.get("spec") or {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    addresses = {a["type"]: a["address"] for a in reversed(status.get("addresses") or ())}
    info = status.get("nodeInfo") or {}
    return [
        node["metadata"]["name"],
        ",".join(words),
        ",".join(_roles(node["metadata"].get("labels") or {})) or NONE,
        age(node, now_ns),
        info.get("kubeletVersion", ""),
        addresses.get("InternalIP", NONE),
        addresses.get("ExternalIP", NONE),
        info.get("osImage") or UNKNOWN,
        info.get("kernelVersion") or UNKNOWN,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _roles(labels: Obj) -> list[str]:
    roles = [label.removeprefix(_ROLE_PREFIX) for label in labels if label.startswith(_ROLE_PREFIX)]
    if labels.get("kubernetes.io/role"):
        roles.append(labels["kubernetes.io/role"])
    return sorted(dict.fromkeys(role for role in roles if role))


def _namespace(namespace: Obj, now_ns: int) -> list[Any]:
    phase = (namespace.get("status") or {}).get("phase", "")
    return [namespace["metadata"]["name"], phase, age(namespace, now_ns)]


def _event(event: Obj, now_ns: int) -> list[Any]:
    # events.k8s.io/v1 names the same fields differently.
    about = event.get("involvedObject") or event.get("regarding") or {}
    source = event.get("source") or event.get("deprecatedSource") or {}
    first_at = event.get("firstTimestamp") or event.get("deprecatedFirstTimestamp") or event.get("eventTime")
    last_at = event.get("lastTimestamp") or event.get("deprecatedLastTimestamp")
    first = since(first_at, now_ns)
    last = since(last_at, now_ns) if last_at else first
    count = event.get("count") or event.get("deprecatedCount") or 1
    series = event.get("series")
    if series:
        last, count = since(series.get("lastObservedTime"), now_ns), series.get("count", 0)
    kind = about.get("kind", "").lower()
    component = source.get("component") or event.get("reportingComponent") or event.get("reportingController") or ""
    instance = source.get("host") or event.get("reportingInstance") or ""
    return [
        last,
        event.get("type", ""),
        event.get("reason", ""),
        f"{kind}/{about['name']}" if about.get("name") else kind,
        about.get("fieldPath", ""),
        f"{component}, {instance}" if instance else component,
        (event.get("message") or event.get("note") or "").strip(),
        first,
        count,
        event["metadata"]["name"],
    ]


def _claim(claim: Obj, now_ns: int) -> list[Any]:
    spec, status, metadata = claim["spec"], claim.get("status") or {}, claim["metadata"]
    bound = bool(spec.get("volumeName"))
    annotated = (metadata.get("annotations") or {}).get("volume.beta.kubernetes.io/storage-class")
    return [
        metadata["name"],
        "Terminating" if "deletionTimestamp" in metadata else status.get("phase", ""),
        spec.get("volumeName", ""),
        (status.get("capacity") or {}).get("storage", "0") if bound else "",
        access_modes(status.get("accessModes")) if bound else "",
        annotated or spec.get("storageClassName") or "",
        spec.get("volumeAttributesClassName") or UNSET,
        age(claim, now_ns),
        spec.get("volumeMode") or UNSET,
    ]


def _volume(volume: Obj, now_ns: int) -> list[Any]:
    spec, status, metadata = volume["spec"], volume.get("status") or {}, volume["metadata"]
    claim = spec.get("claimRef")
    annotated = (metadata.get("annotations") or {}).get("volume.beta.kubernetes.io/storage-class")
    return [
        metadata["name"],
        (spec.get("capacity") or {}).get("storage", "0"),
        access_modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        "Terminating" if "deletionTimestamp" in metadata else status.get("phase", ""),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        annotated or spec.get("storageClassName") or "",
        spec.get("volumeAttributesClassName") or UNSET,
        status.get("reason", ""),
        age(volume, now_ns),
        spec.get("volumeMode") or UNSET,
    ]


def _storage_class(obj: Obj, now_ns: int) -> list[Any]:
    metadata = obj["metadata"]
    annotations = metadata.get("annotations") or {}
    default = "true" in (
        annotations.get("storageclass.kubernetes.io/is-default-class"),
        annotations.get("storageclass.beta.kubernetes.io/is-default-class"),
    )
    return [
        metadata["name"] + (" (default)" if default else ""),
        obj["provisioner"],
        obj.get("reclaimPolicy", "Delete"),
        obj.get("volumeBindingMode", "Immediate"),
        bool(obj.get("allowVolumeExpansion", False)),
        age(obj, now_ns),
    ]


def _config_map(obj: Obj, now_ns: int) -> list[Any]:
    count = len(obj.get("data") or ()) + len(obj.get("binaryData") or ())
    return [obj["metadata"]["name"], count, age(obj, now_ns)]


def _secret(obj: Obj, now_ns: int) -> list[Any]:
    return [obj["metadata"]["name"], obj.get("type", ""), len(obj.get("data") or ()), age(obj, now_ns)]


def _service_account(obj: Obj, now_ns: int) -> list[Any]:
    return [obj["metadata"]["name"], len(obj.get("secrets") or ()), age(obj, now_ns)]


def _quota(quota: Obj, now_ns: int) -> list[Any]:
    status = quota.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    requests: list[str] = []
    limits: list[str] = []
    for name in sorted(hard):
        text = f"{name}: {used.get(name, '0')}/{hard[name]}"
        (limits if "limits" in name else requests).append(text)
    return [quota["metadata"]["name"], age(quota, now_ns), ", ".join(requests), ", ".join(limits)]


def _lease(lease: Obj, now_ns: int) -> list[Any]:
    return [lease["metadata"]["name"], (lease.get("spec") or {}).get("holderIdentity") or "", age(lease, now_ns)]


def _usage(obj: Obj, now_ns: int) -> list[Any]:
    """PodMetrics and NodeMetrics: a pod's usage is the sum over its containers."""
    parts = [c["usage"] for c in obj["containers"]] if "containers" in obj else [obj["usage"]]
    totals = []
    for name in ("cpu", "memory"):
        total = quantity.Quantity(0)
        for part in parts:
            total += quantity.parse(part.get(name, "0"))
        totals.append(str(total))
    return [obj["metadata"]["name"], *totals, obj.get("window", "")]


_EVENT_COLUMNS = (
    Column("Last Seen"),
    Column("Type"),
    Column("Reason"),
    Column("Object"),
    Column("Subobject", priority=1),
    Column("Source", priority=1),
    Column("Message"),
    Column("First Seen", priority=1),
    Column("Count", priority=1),
    Column("Name", format="name", priority=1),
)

NODE = Printer(
    columns(
        "Status",
        "Roles",
        "Age",
        "Version",
        wide=("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
    ),
    _node,
)
NAMESPACE = Printer(columns("Status", "Age"), _namespace)
EVENT = Printer(_EVENT_COLUMNS, _event)
CLAIM = Printer(
    columns(
        "Status",
        "Volume",
        "Capacity",
        "Access Modes",
        "StorageClass",
        "VolumeAttributesClass",
        "Age",
        wide=("VolumeMode",),
    ),
    _claim,
)
VOLUME = Printer(
    columns(
        "Capacity",
        "Access Modes",
        "Reclaim Policy",
        "Status",
        "Claim",
        "StorageClass",
        "VolumeAttributesClass",
        "Reason",
        "Age",
        wide=("VolumeMode",),
    ),
    _volume,
)
STORAGE_CLASS = Printer(
    columns("Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion", "Age"), _storage_class
)
CONFIG_MAP = Printer(columns("Data", "Age"), _config_map)
SECRET = Printer(columns("Type", "Data", "Age"), _secret)
SERVICE_ACCOUNT = Printer(columns("Secrets", "Age"), _service_account)
QUOTA = Printer(columns("Age", "Request", "Limit"), _quota)
LEASE = Printer(columns("Holder", "Age"), _lease)
USAGE = Printer(
    (
        NAME,
        Column("cpu", "string", "quantity"),
        Column("memory", "string", "quantity"),
        Column("Window", "string", "duration"),
    ),
    _usage,
)
