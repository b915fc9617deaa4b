"""Rows of Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs and their scalers.

Source: pkg/printers/internalversion/printers.go (Kubernetes 1.32).
"""

from __future__ import annotations

from typing import Any

from simcluster.api.printing.cells import (
    NONE,
    UNKNOWN,
    UNSET,
    Obj,
    Printer,
    age,
    columns,
    condition_status,
    containers,
    cut,
    instant,
    labels_text,
    since,
)
from simcluster.api.selectors import format_selector
from simcluster.engine import format_age


def _template(obj: Obj) -> Obj:
    spec: Obj = (obj["spec"].get("template") or {}).get("spec") or {}
    return spec


def _deployment(obj: Obj, now_ns: int) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    return [
        obj["metadata"]["name"],
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 1)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        age(obj, now_ns),
        *containers(_template(obj)),
        format_selector(spec.get("selector")),
    ]


def _replicas(obj: Obj, now_ns: int) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    selector = spec.get("selector")
    return [
        obj["metadata"]["name"],
        spec.get("replicas", 1),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        age(obj, now_ns),
        *containers(_template(obj)),
        labels_text(selector) if obj.get("kind") == "ReplicationController" else format_selector(selector),
    ]


def _statefulset(obj: Obj, now_ns: int) -> list[Any]:
    status = obj.get("status") or {}
    ready = f"{status.get('readyReplicas', 0)}/{obj['spec'].get('replicas', 1)}"
    return [obj["metadata"]["name"], ready, age(obj, now_ns), *containers(_template(obj))]


def _daemonset(obj: Obj, now_ns: int) -> list[Any]:
    status, template = obj.get("status") or {}, _template(obj)
    counts = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    return [
        obj["metadata"]["name"],
        *(status.get(count, 0) for count in counts),
        labels_text(template.get("nodeSelector")),
        age(obj, now_ns),
        *containers(template),
        format_selector(obj["spec"].get("selector")),
    ]


_JOB_CONDITIONS = (("Complete", "Complete"), ("Failed", "Failed"))
_JOB_LATER = (
    ("Suspended", "Suspended"),
    ("FailureTarget", "FailureTarget"),
    ("SuccessCriteriaMet", "SuccessCriteriaMet"),
)


def _job_status(job: Obj) -> str:
    for kind, text in _JOB_CONDITIONS:
        if condition_status(job, kind) == "True":
            return text
    if "deletionTimestamp" in job["metadata"]:
        return "Terminating"
    for kind, text in _JOB_LATER:
        if condition_status(job, kind) == "True":
            return text
    return "Running"


def _job(job: Obj, now_ns: int) -> list[Any]:
    spec, status = job["spec"], job.get("status") or {}
    done = status.get("succeeded", 0)
    if spec.get("completions") is not None:
        completions = f"{done}/{spec['completions']}"
    else:
        parallelism = spec.get("parallelism", 0)
        completions = f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"
    started, ended = status.get("startTime"), status.get("completionTime")
    duration = ""
    if started:
        duration = format_age((instant(ended) if ended else now_ns) - instant(started))
    return [
        job["metadata"]["name"],
        _job_status(job),
        completions,
        duration,
        age(job, now_ns),
        *containers(_template(job)),
        format_selector(spec.get("selector")),
    ]


def _cronjob(obj: Obj, now_ns: int) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    last = status.get("lastScheduleTime")
    job = spec["jobTemplate"]["spec"]
    suspend = spec.get("suspend")
    return [
        obj["metadata"]["name"],
        spec["schedule"],
        spec.get("timeZone") or NONE,
        UNSET if suspend is None else str(suspend),
        len(status.get("active") or ()),
        since(last, now_ns) if last else NONE,
        age(obj, now_ns),
        *containers(job["template"]["spec"]),
        format_selector(job.get("selector")),
    ]


def _metric(spec: Obj, current: Obj) -> str:
    kind = spec["type"]
    field = kind[:1].lower() + kind[1:]
    body, now = spec.get(field) or {}, (current.get(field) or {}).get("current") or {}
    target = body.get("target") or {}
    if kind in ("Resource", "ContainerResource"):
        name = body.get("name")
        if "averageValue" in target:
            return f"{name}: {now.get('averageValue', UNKNOWN)}/{target['averageValue']}"
        used = now.get("averageUtilization")
        wanted = f"{target['averageUtilization']}%" if "averageUtilization" in target else "<auto>"
        return f"{name}: {UNKNOWN if used is None else f'{used}%'}/{wanted}"
    if kind == "Pods":
        return f"{now.get('averageValue', UNKNOWN)}/{target.get('averageValue')}"
    if kind in ("External", "Object"):
        if "averageValue" in target:
            return f"{now.get('averageValue', UNKNOWN)}/{target['averageValue']} (avg)"
        return f"{now.get('value', UNKNOWN)}/{target.get('value')}"
    return "<unknown type>"


def _metrics(specs: list[Any], statuses: list[Any]) -> str:
    if not specs:
        return NONE
    texts = [_metric(spec, (statuses[i] if i < len(statuses) else None) or {}) for i, spec in enumerate(specs)]
    return cut(texts, len(texts), 2, NONE, ", ")


def _autoscaler(obj: Obj, now_ns: int) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    target = spec["scaleTargetRef"]
    if "targetCPUUtilizationPercentage" in spec:  # autoscaling/v1
        used = status.get("currentCPUUtilizationPercentage")
        wanted = spec["targetCPUUtilizationPercentage"]
        metrics = f"cpu: {UNKNOWN if used is None else f'{used}%'}/{wanted}%"
    else:
        metrics = _metrics(spec.get("metrics") or [], status.get("currentMetrics") or [])
    least = spec.get("minReplicas")
    return [
        obj["metadata"]["name"],
        f"{target['kind']}/{target['name']}",
        metrics,
        UNSET if least is None else str(least),
        spec["maxReplicas"],
        status.get("currentReplicas", 0),
        age(obj, now_ns),
    ]


def _budget(obj: Obj, now_ns: int) -> list[Any]:
    spec = obj["spec"]
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    return [
        obj["metadata"]["name"],
        "N/A" if least is None else str(least),
        "N/A" if most is None else str(most),
        (obj.get("status") or {}).get("disruptionsAllowed", 0),
        age(obj, now_ns),
    ]


def _revision(obj: Obj, now_ns: int) -> list[Any]:
    controller = NONE
    for owner in obj["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            group, slash, _ = owner["apiVersion"].partition("/")
            kind = owner["kind"].lower() + (f".{group}" if slash else "")
            controller = f"{kind}/{owner['name']}"
    return [obj["metadata"]["name"], controller, obj.get("revision", 0), age(obj, now_ns)]


_CONTAINERS = ("Containers", "Images")
_WIDE = (*_CONTAINERS, "Selector")

DEPLOYMENT = Printer(columns("Ready", "Up-to-date", "Available", "Age", wide=_WIDE), _deployment)
REPLICAS = Printer(columns("Desired:integer", "Current:integer", "Ready:integer", "Age", wide=_WIDE), _replicas)
STATEFULSET = Printer(columns("Ready", "Age", wide=_CONTAINERS), _statefulset)
DAEMONSET = Printer(
    columns(
        "Desired:integer",
        "Current:integer",
        "Ready:integer",
        "Up-to-date:integer",
        "Available:integer",
        "Node Selector",
        "Age",
        wide=_WIDE,
    ),
    _daemonset,
)
JOB = Printer(columns("Status", "Completions", "Duration", "Age", wide=_WIDE), _job)
CRONJOB = Printer(
    columns("Schedule", "Timezone", "Suspend:boolean", "Active:integer", "Last Schedule", "Age", wide=_WIDE),
    _cronjob,
)
AUTOSCALER = Printer(columns("Reference", "Targets", "MinPods", "MaxPods", "Replicas", "Age"), _autoscaler)
BUDGET = Printer(columns("Min Available", "Max Unavailable", "Allowed Disruptions:integer", "Age"), _budget)
REVISION = Printer(columns("Controller", "Revision", "Age"), _revision)
