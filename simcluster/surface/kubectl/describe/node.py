"""`kubectl describe node`."""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.api import quantity
from simcluster.api.objects import Json
from simcluster.api.quantity import Quantity
from simcluster.surface.kubectl.describe.page import Page, events_of, rfc1123, truth
from simcluster.surface.kubectl.errors import StatusError
from simcluster.surface.kubectl.invocation import query_of

_ROLE = "node-role.kubernetes.io/"
_ZERO = quantity.parse("0")
_STANDARD = ("cpu", "memory", "ephemeral-storage")


def node(page: Page, obj: Json) -> None:
    """A node, what it can give and what runs on it."""
    metadata, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    page.head(obj, namespace=False)
    roles = sorted(key.removeprefix(_ROLE) for key in metadata.get("labels") or () if key.startswith(_ROLE))
    page.pair("Roles", ",".join(role for role in roles if role) or "<none>")
    page.meta(obj)
    page.pair("CreationTimestamp", rfc1123(metadata.get("creationTimestamp")))
    page.listed("Taints", sorted(_taint(taint) for taint in spec.get("taints") or ()))
    page.pair("Unschedulable", truth(spec.get("unschedulable")))
    _lease(page, metadata["name"])
    _conditions(page, status)
    page.line("Addresses:")
    for address in status.get("addresses") or ():
        page.pair(address["type"], address["address"], 1)
    for key in ("capacity", "allocatable"):
        page.line(f"{key.capitalize()}:")
        amounts = status.get(key) or {}
        for name in sorted(amounts):
            page.pair(name, amounts[name], 1)
    _system(page, status.get("nodeInfo") or {})
    if spec.get("podCIDR"):
        page.pair("PodCIDR", spec["podCIDR"])
    if spec.get("podCIDRs"):
        page.pair("PodCIDRs", ",".join(spec["podCIDRs"]))
    if spec.get("providerID"):
        page.pair("ProviderID", spec["providerID"])
    _pods(page, obj)
    by_name = events_of(page.invocation, obj, uid=metadata["name"])
    by_uid = events_of(page.invocation, obj)
    page.events([*(by_name or ()), *(by_uid or ())])


def _taint(taint: Json) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint['key']}{value}:{taint['effect']}"


def _lease(page: Page, name: str) -> None:
    page.line("Lease:")
    path = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{name}"
    try:
        spec = page.get(path).get("spec") or {}
    except StatusError as error:
        page.line(f"Failed to get lease: {error.inner}", 1)
        return
    page.pair("HolderIdentity", spec.get("holderIdentity") or "<unset>", 1)
    for title, key in (("AcquireTime", "acquireTime"), ("RenewTime", "renewTime")):
        page.pair(title, rfc1123(spec[key]) if spec.get(key) else "<unset>", 1)


def _conditions(page: Page, status: Json) -> None:
    if not status.get("conditions"):
        return
    page.line("Conditions:")
    rows = [
        ("Type", "Status", "LastHeartbeatTime", "LastTransitionTime", "Reason", "Message"),
        ("----", "------", "-----------------", "------------------", "------", "-------"),
    ]
    for entry in status["conditions"]:
        times = (rfc1123(entry.get("lastHeartbeatTime")), rfc1123(entry.get("lastTransitionTime")))
        first = (f"{entry['type']} ", f"{entry['status']} ", f"{times[0]} ", f"{times[1]} ")
        rows.append((*first, f"{entry.get('reason', '')} ", entry.get("message", "")))
    page.rows(rows)


def _system(page: Page, info: Json) -> None:
    page.line("System Info:")
    for title, key in (
        ("Machine ID", "machineID"),
        ("System UUID", "systemUUID"),
        ("Boot ID", "bootID"),
        ("Kernel Version", "kernelVersion"),
        ("OS Image", "osImage"),
        ("Operating System", "operatingSystem"),
        ("Architecture", "architecture"),
        ("Container Runtime Version", "containerRuntimeVersion"),
        ("Kubelet Version", "kubeletVersion"),
        ("Kube-Proxy Version", "kubeProxyVersion"),
    ):
        page.pair(title, info.get(key, ""), 1)


def _pods(page: Page, obj: Json) -> None:
    name = obj["metadata"]["name"]
    selector = f"spec.nodeName={name},status.phase!=Failed,status.phase!=Succeeded"
    pods = page.items("/api/v1/pods", query_of(fieldSelector=selector, limit=500))
    status = obj.get("status") or {}
    allocatable = status.get("allocatable") or status.get("capacity") or {}
    page.line(f"Non-terminated Pods:\t({len(pods)} in total)")
    # An empty column follows the names.
    head = ("Namespace", "Name", "", "CPU Requests", "CPU Limits", "Memory Requests", "Memory Limits", "Age")
    rows: list[Sequence[str]] = [head, tuple("-" * len(title) for title in head)]
    totals: dict[str, dict[str, Quantity]] = {"requests": {}, "limits": {}}
    for pod in pods:
        amounts = {side: pod_resources(pod, side) for side in totals}
        for side, sums in totals.items():
            for resource, amount in amounts[side].items():
                sums[resource] = sums[resource] + amount if resource in sums else amount
        shares = [
            _share(amounts[side].get(resource, _ZERO), allocatable, resource)
            for resource in ("cpu", "memory")
            for side in ("requests", "limits")
        ]
        metadata = pod["metadata"]
        age = page.age(metadata.get("creationTimestamp"))
        rows.append((metadata["namespace"], metadata["name"], "", *shares, age))
    page.rows(rows)
    _allocated(page, allocatable, totals)


def _allocated(page: Page, allocatable: Json, totals: dict[str, dict[str, Quantity]]) -> None:
    page.line("Allocated resources:")
    page.line("(Total limits may be over 100 percent, i.e., overcommitted.)", 1)
    rows: list[Sequence[str]] = [("Resource", "Requests", "Limits"), ("--------", "--------", "------")]
    huge = [name for name in sorted(allocatable) if name.startswith("hugepages-")]
    for resource in (*_STANDARD, *huge):
        shares = [_share(totals[side].get(resource, _ZERO), allocatable, resource) for side in ("requests", "limits")]
        rows.append((resource, *shares))
    for resource in sorted(allocatable):
        if resource not in (*_STANDARD, *huge, "pods"):
            rows.append((resource, *[str(totals[side].get(resource, _ZERO)) for side in ("requests", "limits")]))
    page.rows(rows)


def _share(amount: Quantity, allocatable: Json, resource: str) -> str:
    whole = quantity.parse(allocatable.get(resource, "0"))
    percent = amount.nano * 100 // whole.nano if whole.nano else 0
    return f"{amount} ({percent}%)"


def pod_resources(pod: Json, side: str) -> dict[str, Quantity]:
    """What a pod requests or is limited to: its containers, or an init container if that needs more.

    Source: k8s.io/kubectl/pkg/util/resource, PodRequestsAndLimits; sidecars count as containers.
    """
    spec = pod["spec"]
    sums: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        _add(sums, _amounts(container, side))
    sidecars: dict[str, Quantity] = {}
    peaks: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or ():
        amounts = _amounts(container, side)
        if container.get("restartPolicy") == "Always":
            _add(sums, amounts)
            _add(sidecars, amounts)
            amounts = dict(sidecars)
        else:
            amounts = dict(amounts)
            _add(amounts, sidecars)
        for resource, amount in amounts.items():
            if resource not in peaks or peaks[resource] < amount:
                peaks[resource] = amount
    for resource, amount in peaks.items():
        if resource not in sums or sums[resource] < amount:
            sums[resource] = amount
    overhead = {resource: quantity.parse(text) for resource, text in (spec.get("overhead") or {}).items()}
    for resource, amount in overhead.items():
        if side == "requests" or resource in sums:
            sums[resource] = sums[resource] + amount if resource in sums else amount
    return sums


def _amounts(container: Json, side: str) -> dict[str, Quantity]:
    amounts = (container.get("resources") or {}).get(side) or {}
    return {resource: quantity.parse(text) for resource, text in amounts.items()}


def _add(sums: dict[str, Quantity], amounts: dict[str, Quantity]) -> None:
    for resource, amount in amounts.items():
        sums[resource] = sums[resource] + amount if resource in sums else amount
