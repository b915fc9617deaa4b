"""The resource quota controller.

Admission charges what is created; this controller counts anew when a quota changes, when
something that is counted goes away, and every 5 minutes.
Source: kubernetes pkg/controller/resourcequota/resource_quota_controller.go.
"""

from __future__ import annotations

from simcluster.api.objects import ApiObject, Json, name_of, namespace_of, thaw
from simcluster.api.quantity import Quantity, canonical
from simcluster.api.registry.usage import is_in_scope, usage_of
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.control.pods.status import is_terminal
from simcluster.engine import MINUTE, Simulation

QUOTAS = "resourcequotas"
#: --resource-quota-sync-period.
RESYNC_NS = 5 * MINUTE
#: Resources whose going frees quota at once (the replenishment informers).
COUNTED = (
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "secrets",
    "services",
    "deployments.apps",
    "replicasets.apps",
    "statefulsets.apps",
    "jobs.batch",
    "cronjobs.batch",
)


def resource_of(name: str) -> str:
    """The API resource that a quota entry counts.

    >>> [resource_of(n) for n in ("requests.cpu", "pods", "services.nodeports", "count/jobs.batch")]
    ['pods', 'pods', 'services', 'jobs.batch']
    >>> resource_of("gold.storageclass.storage.k8s.io/requests.storage")
    'persistentvolumeclaims'
    """
    if name.startswith("count/"):
        return name.removeprefix("count/")
    if name in ("services", "services.nodeports", "services.loadbalancers"):
        return "services"
    if name in ("persistentvolumeclaims", "requests.storage") or ".storageclass.storage.k8s.io/" in name:
        return "persistentvolumeclaims"
    if name in ("configmaps", "secrets", "resourcequotas", "replicationcontrollers"):
        return name
    return "pods"


class ResourceQuotaController(Controller):
    """Reconciles the status of ResourceQuotas."""

    name = "resourcequota-controller"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.watch(QUOTAS, self._on_quota)
        for resource in COUNTED:
            self.watch(resource, self._on_counted)
        sim.every(RESYNC_NS, self._resync)

    def _on_quota(self, change: Change) -> None:
        """Our own and admission's status writes need no new count."""
        old = change.previous
        if change.kind == "ADDED" or (old is not None and old["spec"] != change.object["spec"]):
            self.enqueue_object(change)

    def _on_counted(self, change: Change) -> None:
        old = change.previous
        freed = change.kind == "DELETED"
        if change.kind == "MODIFIED" and old is not None:
            if change.resource == "pods":
                freed = is_terminal(change.object) and not is_terminal(old)
            elif change.resource == "services":
                freed = change.object["spec"].get("type") != old["spec"].get("type")
        if freed:
            for quota in self.client.cache.objects(QUOTAS, namespace_of(change.object)):
                self.enqueue(namespace_of(quota), name_of(quota))

    def _resync(self) -> None:
        for quota in self.client.cache.objects(QUOTAS):
            self.enqueue(namespace_of(quota), name_of(quota))

    def sync(self, namespace: str, name: str) -> None:
        """Count what one quota limits."""
        quota = self.client.cache.get(QUOTAS, namespace, name)
        if quota is None:
            return
        hard = {key: canonical(value) for key, value in (quota["spec"].get("hard") or {}).items()}
        status: Json = {"hard": hard, "used": self._used(quota, hard)}
        if status == (quota.get("status") or {}):
            return
        changed = thaw(quota)
        changed["status"] = status
        self.client.update_status(QUOTAS, changed)

    def _used(self, quota: ApiObject, hard: dict[str, str]) -> dict[str, str]:
        by_resource: dict[str, list[str]] = {}
        for entry in hard:
            by_resource.setdefault(resource_of(entry), []).append(entry)
        totals = {entry: Quantity(0) for entry in hard}
        for resource, entries in by_resource.items():
            for obj in self.client.cache.objects(resource, namespace_of(quota)):
                if not is_in_scope(quota["spec"], resource, obj):
                    continue
                usage = usage_of(resource, obj)
                for entry in entries:
                    if entry in usage:
                        totals[entry] = _sum(totals[entry], usage[entry])
        return {entry: str(total) for entry, total in totals.items()}


def _sum(total: Quantity, more: Quantity) -> Quantity:
    """The first amount decides the suffixes, as in the real controller."""
    return more if total.nano == 0 else total + more
