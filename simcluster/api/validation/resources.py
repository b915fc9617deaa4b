"""Resource names and amounts of containers, quotas, limits and nodes.

Source: pkg/apis/core/validation/validation.go, ValidateContainerResourceRequirements.
"""

from __future__ import annotations

from simcluster.api import names, quantity
from simcluster.api.validation.causes import NOT_NEGATIVE, Causes, Obj

_CONTAINER = ("cpu", "memory", "ephemeral-storage")
_STANDARD = (
    *_CONTAINER,
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.loadbalancers",
    "services.nodeports",
    "storage",
)
_COUNTED = (
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.loadbalancers",
    "services.nodeports",
)


def _is_huge_page(name: str) -> bool:
    return name.startswith("hugepages-")


def _is_overcommitted(name: str) -> bool:
    native = "/" not in name or "kubernetes.io/" in name
    return native and not _is_huge_page(name)


def _is_integer(name: str) -> bool:
    extended = "/" in name and "kubernetes.io/" not in name
    return name in _COUNTED or name.startswith("count/") or extended


def _validate_container_name(name: str, path: str, causes: Causes) -> None:
    causes.checked(path, name, names.qualified_name(name))
    if "/" in name:
        return
    if name not in _STANDARD and not _is_huge_page(name):
        causes.invalid(path, name, "must be a standard resource type or fully qualified")
    if name not in _CONTAINER and not _is_huge_page(name):
        causes.invalid(path, name, "must be a standard resource for containers")


def validate_amount(name: str, amount: str, path: str, causes: Causes) -> None:
    """Not negative, and whole where the resource is counted."""
    value = quantity.parse(amount)
    if value.nano < 0:
        causes.invalid(path, str(value), NOT_NEGATIVE)
    if _is_integer(name) and value.nano % quantity.NANO:
        causes.invalid(path, str(value), "must be an integer")


def validate_requirements(resources: Obj, path: str, causes: Causes) -> None:
    """Limits and requests of a container."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name in sorted(limits):
        where = f"{path}.limits[{name}]"
        _validate_container_name(name, where, causes)
        validate_amount(name, limits[name], where, causes)
    for name in sorted(requests):
        where = f"{path}.requests[{name}]"
        _validate_container_name(name, where, causes)
        validate_amount(name, requests[name], where, causes)
        request = quantity.parse(requests[name])
        if name not in limits:
            if not _is_overcommitted(name):
                causes.required(f"{path}.limits", "Limit must be set for non overcommitable resources")
            continue
        limit = quantity.parse(limits[name])
        if request.nano != limit.nano and not _is_overcommitted(name):
            causes.invalid(f"{path}.requests", str(request), f"must be equal to {name} limit of {limit}")
        elif request.nano > limit.nano:
            causes.invalid(f"{path}.requests", str(request), f"must be less than or equal to {name} limit of {limit}")


def validate_quota_name(name: str, path: str, causes: Causes) -> None:
    """Names a ResourceQuota may count."""
    causes.checked(path, name, names.qualified_name(name))
    if "/" not in name and name not in _STANDARD and not name.startswith(("hugepages-", "requests.", "limits.")):
        causes.invalid(path, name, "must be a standard resource for quota")
