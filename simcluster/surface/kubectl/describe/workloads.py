"""`kubectl describe` of deployments and replica sets."""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.api.objects import Json, controller_of
from simcluster.api.selectors import format_selector
from simcluster.surface.kubectl.describe.containers import pod_template
from simcluster.surface.kubectl.describe.page import Page, controlled_by, events_of, rfc1123
from simcluster.surface.kubectl.errors import StatusError
from simcluster.surface.kubectl.invocation import query_of
from simcluster.surface.kubectl.revisions import new_replica_set, replica_sets_of


def deployment(page: Page, obj: Json) -> None:
    """A deployment with its replica sets."""
    spec, status = obj["spec"], obj.get("status") or {}
    page.head(obj)
    page.pair("CreationTimestamp", rfc1123(obj["metadata"].get("creationTimestamp")))
    page.meta(obj)
    page.pair("Selector", format_selector(spec.get("selector")))
    page.pair(
        "Replicas",
        f"{spec.get('replicas', 1)} desired | {status.get('updatedReplicas', 0)} updated | "
        f"{status.get('replicas', 0)} total | {status.get('availableReplicas', 0)} available | "
        f"{status.get('unavailableReplicas', 0)} unavailable",
    )
    strategy = spec.get("strategy") or {}
    page.pair("StrategyType", strategy.get("type", ""))
    page.pair("MinReadySeconds", spec.get("minReadySeconds", 0))
    rolling = strategy.get("rollingUpdate")
    if rolling:
        page.pair(
            "RollingUpdateStrategy",
            f"{rolling.get('maxUnavailable', '25%')} max unavailable, {rolling.get('maxSurge', '25%')} max surge",
        )
    pod_template(page, spec["template"])
    _conditions(page, status)
    owned = replica_sets_of(page.invocation, obj)
    if owned:
        _replica_sets(page, obj, owned)
    page.events(events_of(page.invocation, obj))


def _replica_sets(page: Page, obj: Json, owned: Sequence[Json]) -> None:
    newest = new_replica_set(obj, owned)
    page.pair("OldReplicaSets", _sizes([rs for rs in owned if rs is not newest]))
    page.pair("NewReplicaSet", _sizes([newest] if newest else []))


def _sizes(replica_sets: Sequence[Json]) -> str:
    shown = [
        f"{rs['metadata']['name']} ({(rs.get('status') or {}).get('replicas', 0)}/{rs['spec'].get('replicas', 1)} "
        "replicas created)"
        for rs in replica_sets
    ]
    return ", ".join(shown) or "<none>"


def _conditions(page: Page, status: Json) -> None:
    conditions = status.get("conditions") or ()
    if conditions:
        page.line("Conditions:")
        page.line("Type\tStatus\tReason", 1)
        page.line("----\t------\t------", 1)
        for condition in conditions:
            page.line(f"{condition['type']} \t{condition['status']}\t{condition.get('reason', '')}", 1)


def replica_set(page: Page, obj: Json) -> None:
    """A replica set with the phases of its pods."""
    spec, status = obj["spec"], obj.get("status") or {}
    page.head(obj)
    page.pair("Selector", format_selector(spec.get("selector")))
    page.meta(obj)
    if controlled_by(obj):
        page.pair("Controlled By", controlled_by(obj))
    page.pair("Replicas", f"{status.get('replicas', 0)} current / {spec.get('replicas', 1)} desired")
    page.pair("Pods Status", pods_status(page, obj))
    pod_template(page, spec.get("template") or {})
    _conditions(page, status)
    page.events(events_of(page.invocation, obj))


def replication_controller(page: Page, obj: Json) -> None:
    """A replication controller, whose selector is a plain map."""
    spec = obj["spec"]
    replica_set(page, {**obj, "spec": {**spec, "selector": {"matchLabels": spec.get("selector") or {}}}})


def pods_status(page: Page, owner: Json) -> str:
    """`1 Running / 0 Waiting / 0 Succeeded / 0 Failed` of the pods an object controls."""
    path = f"/api/v1/namespaces/{owner['metadata']['namespace']}/pods"
    selector = format_selector(owner["spec"].get("selector"))
    counts = {"Running": 0, "Pending": 0, "Succeeded": 0, "Failed": 0}
    try:
        pods = page.items(path, query_of(labelSelector=selector))
    except StatusError as error:
        return f"error in fetching pods: {error.inner}"
    for pod in pods:
        controller = controller_of(pod)
        phase = (pod.get("status") or {}).get("phase")
        if controller is not None and controller["uid"] == owner["metadata"]["uid"] and phase in counts:
            counts[phase] += 1
    return (
        f"{counts['Running']} Running / {counts['Pending']} Waiting / {counts['Succeeded']} Succeeded / "
        f"{counts['Failed']} Failed"
    )
