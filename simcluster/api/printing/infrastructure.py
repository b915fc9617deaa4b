"""Rows of storage drivers, flow control and pod templates.

Source: pkg/printers/internalversion/printers.go.
"""

from __future__ import annotations

from typing import Any

from simcluster.api.printing.cells import (
    NAME,
    NONE,
    UNSET,
    Column,
    Obj,
    Printer,
    age,
    columns,
    condition_status,
    containers,
    labels_text,
)


def _pod_template(obj: Obj, now_ns: int) -> list[Any]:
    template: Obj = obj.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    return [obj["metadata"]["name"], *containers(template.get("spec") or {}), labels_text(labels)]


def _driver(obj: Obj, now_ns: int) -> list[Any]:
    spec = obj["spec"]
    requests = spec.get("tokenRequests")
    tokens = ",".join(entry.get("audience", "") for entry in requests) if requests is not None else UNSET
    return [
        obj["metadata"]["name"],
        spec.get("attachRequired", True),
        spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False),
        tokens,
        spec.get("requiresRepublish", False),
        ",".join(spec.get("volumeLifecycleModes") or ()) or NONE,
        age(obj, now_ns),
    ]


def _driver_node(obj: Obj, now_ns: int) -> list[Any]:
    return [obj["metadata"]["name"], len(obj["spec"].get("drivers") or ()), age(obj, now_ns)]


def _capacity(obj: Obj, now_ns: int) -> list[Any]:
    return [obj["metadata"]["name"], obj.get("storageClassName", ""), obj.get("capacity") or UNSET]


def _attachment(obj: Obj, now_ns: int) -> list[Any]:
    spec = obj["spec"]
    return [
        obj["metadata"]["name"],
        spec.get("attacher", ""),
        (spec.get("source") or {}).get("persistentVolumeName", ""),
        spec.get("nodeName", ""),
        bool((obj.get("status") or {}).get("attached", False)),
        age(obj, now_ns),
    ]


def _flow_schema(obj: Obj, now_ns: int) -> list[Any]:
    spec = obj["spec"]
    return [
        obj["metadata"]["name"],
        (spec.get("priorityLevelConfiguration") or {}).get("name", ""),
        str(spec.get("matchingPrecedence", 0)),
        (spec.get("distinguisherMethod") or {}).get("type", NONE),
        age(obj, now_ns),
        condition_status(obj, "Dangling") or "?",
    ]


def _priority_level(obj: Obj, now_ns: int) -> list[Any]:
    spec = obj["spec"]
    limited: Obj = spec.get("limited") or {}
    shares = (limited or spec.get("exempt") or {}).get("nominalConcurrencyShares")
    queuing: Obj = (limited.get("limitResponse") or {}).get("queuing") or {}
    queues = [str(queuing.get(key, NONE)) for key in ("queues", "handSize", "queueLengthLimit")]
    return [
        obj["metadata"]["name"],
        spec.get("type", ""),
        NONE if shares is None else str(shares),
        *queues,
        age(obj, now_ns),
    ]


POD_TEMPLATE = Printer(columns("Containers", "Images", "Pod Labels"), _pod_template)
CSI_DRIVER = Printer(
    columns(
        "AttachRequired:boolean", "PodInfoOnMount:boolean", "StorageCapacity:boolean", "TokenRequests",
        "RequiresRepublish:boolean", "Modes", "Age",
    ),
    _driver,
)  # fmt: skip
CSI_NODE = Printer(columns("Drivers:integer", "Age"), _driver_node)
CSI_STORAGE_CAPACITY = Printer(columns("StorageClassName", "Capacity"), _capacity)
VOLUME_ATTACHMENT = Printer(
    (NAME, Column("Attacher", format="name"), *columns("PV", "Node", "Attached:boolean", "Age")[1:]), _attachment
)
FLOW_SCHEMA = Printer(
    columns("PriorityLevel", "MatchingPrecedence", "DistinguisherMethod", "Age", "MissingPL"), _flow_schema
)
PRIORITY_LEVEL = Printer(
    columns("Type", "NominalConcurrencyShares", "Queues", "HandSize", "QueueLengthLimit", "Age"), _priority_level
)
