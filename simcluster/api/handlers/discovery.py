"""Discovery: /api, /apis and the lists of resources below them, plain and aggregated."""

from __future__ import annotations

import base64
import functools
import hashlib
from typing import Any

from simcluster.api.objects import Json
from simcluster.api.resources import Resource, ResourceTable
from simcluster.api.routing import PROXY

_GET_AND_WRITE = ("get", "patch", "update")
_CONNECT = ("create", "delete", "get", "patch", "update")
#: What answers a subresource: group, version and kind (of the resource itself if None), verbs.
_SUBRESOURCES: dict[str, tuple[tuple[str, str, str] | None, tuple[str, ...]]] = {
    "attach": (("", "v1", "PodAttachOptions"), ("create", "get")),
    "portforward": (("", "v1", "PodPortForwardOptions"), ("create", "get")),
    "approval": (None, _GET_AND_WRITE),
    "binding": (("", "v1", "Binding"), ("create",)),
    "ephemeralcontainers": (None, _GET_AND_WRITE),
    "eviction": (("policy", "v1", "Eviction"), ("create",)),
    "exec": (("", "v1", "PodExecOptions"), ("create", "get")),
    "finalize": (None, ("update",)),
    "log": (None, ("get",)),
    "scale": (("autoscaling", "v1", "Scale"), _GET_AND_WRITE),
    "status": (None, _GET_AND_WRITE),
    "token": (("authentication.k8s.io", "v1", "TokenRequest"), ("create",)),
}
#: Group and version in which objects are stored, where that is not their own.
_STORED_AS = {"events": ("", "v1"), "horizontalpodautoscalers.autoscaling": ("autoscaling", "v2")}
#: Order in which kube-apiserver lists groups (by the priority of their APIServices).
_GROUP_ORDER = (
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "flowcontrol.apiserver.k8s.io",
)


def groups_of(table: ResourceTable, *, metrics: bool) -> dict[str, list[str]]:
    """Versions of each named group, preferred first, in the server's order."""
    found: dict[str, list[str]] = {}
    for resource in table.all:
        if resource.group and (metrics or resource.group != "metrics.k8s.io"):
            versions = found.setdefault(resource.group, [])
            if resource.version not in versions:
                versions.append(resource.version)
    ordered = [group for group in _GROUP_ORDER if group in found]
    ordered.extend(sorted(group for group in found if group not in _GROUP_ORDER))
    return {group: found[group] for group in ordered}


def api_versions(address: str) -> Json:
    """The answer to `/api`; `address` is the server's host and port."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def _group(name: str, versions: list[str]) -> Json:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def group_list(table: ResourceTable, *, metrics: bool) -> Json:
    """The answer to `/apis`."""
    groups = [_group(name, versions) for name, versions in groups_of(table, metrics=metrics).items()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(table: ResourceTable, name: str, *, metrics: bool) -> Json | None:
    """The answer to `/apis/GROUP`, None if there is no such group."""
    versions = groups_of(table, metrics=metrics).get(name)
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)} if versions else None


def resource_list(table: ResourceTable, group_name: str, version: str) -> Json:
    """The answer to `/api/v1` and `/apis/GROUP/VERSION`."""
    entries: list[Json] = []
    for resource in sorted(_of(table, group_name, version), key=_plural):
        entries.append(_entry(resource))
        for name in sorted(resource.subresources):
            target, verbs = part_of(resource, name)
            entry: Json = {
                "name": f"{resource.plural}/{name}",
                "singularName": "",
                "namespaced": resource.namespaced,
            }
            if target is not None and target[:2] != (group_name, version):
                entry["group"], entry["version"] = target[0], target[1]
            entry["kind"] = target[2] if target is not None else resource.kind
            entry["verbs"] = list(verbs)
            entries.append(entry)
    group_version = f"{group_name}/{version}" if group_name else version
    listed: Json = {"kind": "APIResourceList"}
    if group_name:
        listed["apiVersion"] = "v1"
    return {**listed, "groupVersion": group_version, "resources": entries}


def part_of(resource: Resource, name: str) -> tuple[tuple[str, str, str] | None, tuple[str, ...]]:
    """What answers a subresource (group, version and kind; None: the resource itself), and its verbs."""
    if name == PROXY:
        return (resource.group, resource.version, f"{resource.kind}ProxyOptions"), _CONNECT
    return _SUBRESOURCES[name]


def _of(table: ResourceTable, group_name: str, version: str) -> list[Resource]:
    return [r for r in table.all if r.group == group_name and r.version == version]


def _plural(resource: Resource) -> str:
    return resource.plural


def _entry(resource: Resource) -> Json:
    entry: Json = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if "watch" in resource.verbs:
        entry["storageVersionHash"] = _storage_version_hash(resource)
    return entry


def _storage_version_hash(resource: Resource) -> str:
    """Identifies the version in which objects are stored (k8s.io/apiserver discovery.StorageVersionHash)."""
    group_name, version = _STORED_AS.get(resource.storage, (resource.group, resource.version))
    if resource.custom is not None:
        version = resource.custom.storage_version
    name = f"{group_name}/{version}/{resource.kind}"
    return base64.b64encode(hashlib.sha256(name.encode()).digest()[:8]).decode()


@functools.lru_cache(maxsize=16)
def aggregated(table: ResourceTable, written: str, *, core: bool, metrics: bool) -> Json:
    """The aggregated form of `/api` or `/apis`, in a version of apidiscovery.k8s.io. Do not change it."""
    groups = {"": ["v1"]} if core else groups_of(table, metrics=metrics)
    items: list[Any] = []
    for name, versions in groups.items():
        listed = [
            {
                "version": version,
                "resources": [_discovered(r) for r in sorted(_of(table, name, version), key=_plural)],
                "freshness": "Current",
            }
            for version in versions
        ]
        metadata: Json = {"creationTimestamp": None}
        items.append({"metadata": {"name": name, **metadata} if name else metadata, "versions": listed})
    api_version = f"apidiscovery.k8s.io/{written}"
    return {"kind": "APIGroupDiscoveryList", "apiVersion": api_version, "metadata": {}, "items": items}


def _discovered(resource: Resource) -> Json:
    entry: Json = {
        "resource": resource.plural,
        "responseKind": {"group": "", "version": "", "kind": resource.kind},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource.subresources:
        subresources = []
        for name in sorted(resource.subresources):
            target, verbs = part_of(resource, name)
            group_name, version, kind = target if target is not None else ("", "", resource.kind)
            shown = {"group": group_name, "version": version if group_name else "", "kind": kind}
            subresources.append({"subresource": name, "responseKind": shown, "verbs": list(verbs)})
        entry["subresources"] = subresources
    return entry
