"""ResourceQuota: a namespace may not use more than its quotas allow.

Admission charges `status.used` in the same instant in which it lets an object in, so that
used never exceeds hard; the quota controller recomputes it when objects go.

Sources: k8s.io/apiserver/pkg/admission/plugin/resourcequota, k8s.io/kubernetes/pkg/quota/v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from simcluster.api.admission.plugin import Cluster, Plugin, refuse
from simcluster.api.objects import ApiObject, Json
from simcluster.api.quantity import Quantity, parse
from simcluster.api.registry.attributes import CREATE, UPDATE, Attributes
from simcluster.api.registry.usage import is_in_scope, missing_requests, usage_of

_CHARGED_ON_UPDATE = ("services", "persistentvolumeclaims")


class ResourceQuota(Plugin):
    """The plugin. It must be the last one of the chain."""

    operations: ClassVar[tuple[str, ...]] = (CREATE, UPDATE)

    @classmethod
    def may_act(cls, operation: str, resource: str, step: str) -> bool:
        """Never on Events."""
        return resource != "events" and (operation == CREATE or resource in _CHARGED_ON_UPDATE)

    def wants(self, attributes: Attributes) -> bool:
        """Creations in a namespace, and changes of Services and claims."""
        if attributes.subresource or not attributes.namespace:
            return False
        if attributes.operation == UPDATE:
            return attributes.resource.storage in _CHARGED_ON_UPDATE
        return attributes.operation == CREATE

    def validate(self, attributes: Attributes, cluster: Cluster) -> None:
        """Refuse what exceeds a quota; charge what does not."""
        quotas = cluster.store.objects("resourcequotas", attributes.namespace)
        if not quotas:
            return
        delta = _delta(attributes)
        charges: list[tuple[ApiObject, Json]] = []
        for quota in quotas:
            hard = quota["spec"].get("hard") or {}
            requested = {name: value for name, value in delta.items() if name in hard}
            if not is_in_scope(quota["spec"], attributes.resource.storage, attributes.new):
                continue
            _require(attributes, quota, hard)
            if requested:
                used = _charge(attributes, quota, requested)
                if used is not None:
                    charges.append((quota, used))
        if not attributes.dry_run:
            for quota, used in charges:
                status = {**(quota.get("status") or {}), "used": used}
                cluster.store.put("resourcequotas", {**quota, "metadata": dict(quota["metadata"]), "status": status})


def _delta(attributes: Attributes) -> dict[str, Quantity]:
    usage = usage_of(attributes.resource.storage, attributes.new)
    if attributes.operation == UPDATE:
        before = usage_of(attributes.resource.storage, attributes.current)
        usage = {name: value - before.get(name, Quantity(0)) for name, value in usage.items()}
    return usage


def _require(attributes: Attributes, quota: ApiObject, hard: Mapping[str, Any]) -> None:
    if attributes.resource.storage != "pods" or attributes.operation != CREATE:
        return
    missing = missing_requests(attributes.new["spec"], hard)
    if missing:
        texts = "; ".join(f"{name} for: {','.join(containers)}" for name, containers in missing.items())
        raise refuse(attributes, f"failed quota: {quota['metadata']['name']}: must specify {texts}")


def _charge(attributes: Attributes, quota: ApiObject, requested: dict[str, Quantity]) -> Json | None:
    """The new `status.used`, or None when nothing grows."""
    name = quota["metadata"]["name"]
    growing = {n: v for n, v in requested.items() if v.nano > 0}
    if not any(v.nano for v in requested.values()):
        return None
    status = quota.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    unknown = sorted(n for n in growing if n not in hard or n not in used)
    if unknown:
        raise refuse(attributes, f"status unknown for quota: {name}, resources: {','.join(unknown)}")
    exceeded = {n: v for n, v in growing.items() if parse(hard[n]) < parse(used[n]) + v}
    if exceeded:
        raise refuse(
            attributes,
            f"exceeded quota: {name}, requested: {_pretty(exceeded)}, "
            f"used: {_pretty({n: used[n] for n in exceeded})}, limited: {_pretty({n: hard[n] for n in exceeded})}",
        )
    changed = dict(used)
    for n, v in requested.items():
        if n in used:
            changed[n] = str(parse(used[n]) + v)
    return changed


def _pretty(amounts: Mapping[str, Any]) -> str:
    return ",".join(f"{name}={_quantity(amounts[name])}" for name in sorted(amounts))


def _quantity(value: Any) -> Quantity:
    return value if isinstance(value, Quantity) else parse(value)
