"""APIService objects: one for each group and version that the aggregator serves.

Source: kube-aggregator's autoregistration (apiVersionPriorities of kube-apiserver 1.32).
What the server registers of itself is the same in all clusters but for uid and times, and so is made
once for each process, by requests, and copied from there.
Left out: the APIServices of custom resources. Availability changes: see control/apiservices.
"""

from __future__ import annotations

import functools
from typing import Any

from simcluster.api.client import Client
from simcluster.api.objects import Json
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.engine import Simulation, format_rfc3339

_RESOURCE = "apiservices.apiregistration.k8s.io"
_METRICS_GROUP = "metrics.k8s.io"
#: groupPriorityMinimum of a group; versionPriority is 15 where it is not listed.
_GROUPS = {
    "": 18000,
    "admissionregistration.k8s.io": 16700,
    "apiextensions.k8s.io": 16700,
    "apps": 17800,
    "authentication.k8s.io": 17700,
    "authorization.k8s.io": 17600,
    "autoscaling": 17500,
    "batch": 17400,
    "certificates.k8s.io": 17300,
    "coordination.k8s.io": 16500,
    "discovery.k8s.io": 16200,
    "events.k8s.io": 17750,
    "flowcontrol.apiserver.k8s.io": 16100,
    "networking.k8s.io": 17200,
    "node.k8s.io": 16300,
    "policy": 17100,
    "rbac.authorization.k8s.io": 17000,
    "scheduling.k8s.io": 16600,
    "storage.k8s.io": 16800,
}
_VERSIONS = {("", "v1"): 1, ("autoscaling", "v2"): 30, ("flowcontrol.apiserver.k8s.io", "v1"): 21}


#: Groups and versions that a server serves, in its order.
_Versions = tuple[tuple[str, str], ...]


def register(client: Client, now_ns: int) -> None:
    """Create those of the groups that the API server serves itself."""
    api = client.api
    now = format_rfc3339(now_ns)
    uids: dict[str, str] = {}
    writes, counts = _made(tuple(api.resources.versions), client.user, client.agent)
    for resource, template in writes:
        name = template["metadata"]["name"]
        uids[name] = uids.get(name) or api.registry.identities.uid(resource, "", name)
        api.store.put(resource, _of_now(template, uids[name], now))
    for key, count in counts.items():
        api.served.add(key, count)


@functools.lru_cache(maxsize=16)
def _made(versions: _Versions, user: User, agent: str) -> tuple[list[tuple[str, Json]], dict[Any, int]]:
    """What is stored, write by write, in a cluster of its own that begins now; and what its server counts."""
    api = Api(Simulation())
    _request(Client(api, user, agent), versions)
    return [(change.resource, change.object) for change in api.store.history.since(0)], api.served.counts


def _of_now(template: Json, uid: str, now: str) -> Json:
    """The object with the uid and the times of another cluster."""
    metadata = {**template["metadata"], "uid": uid, "creationTimestamp": now}
    metadata["managedFields"] = [{**entry, "time": now} for entry in metadata["managedFields"]]
    obj = {**template, "metadata": metadata}
    conditions = (template.get("status") or {}).get("conditions")
    if conditions:
        obj["status"] = {"conditions": [{**entry, "lastTransitionTime": now} for entry in conditions]}
    return obj


def _request(client: Client, versions: _Versions) -> None:
    for group, version in versions:
        if group not in _GROUPS:
            continue
        spec: Json = {
            "group": group,
            "version": version,
            "groupPriorityMinimum": _GROUPS[group],
            "versionPriority": _VERSIONS.get((group, version), 15),
        }
        labels = {"kube-aggregator.kubernetes.io/automanaged": "onstart"}
        _create(client, spec, labels, ("Local", "Local APIServices are always available"), 0)


def register_metrics(client: Client, now_ns: int) -> None:
    """Create that of metrics-server, as its manifests do."""
    spec: Json = {
        "group": _METRICS_GROUP,
        "version": "v1beta1",
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
        "insecureSkipTLSVerify": True,
        "service": {"name": "metrics-server", "namespace": "kube-system", "port": 443},
    }
    _create(client, spec, {"k8s-app": "metrics-server"}, ("Passed", "all checks passed"), now_ns)


def _create(client: Client, spec: Json, labels: dict[str, str], why: tuple[str, str], now_ns: int) -> None:
    name = f"{spec['version']}.{spec['group']}"
    api_service: Json = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
    }
    client.create(_RESOURCE, "", api_service)
    condition = {
        "type": "Available",
        "status": "True",
        "reason": why[0],
        "message": why[1],
        "lastTransitionTime": format_rfc3339(now_ns),
    }
    client.patch(_RESOURCE, "", name, {"status": {"conditions": [condition]}}, kind="merge", subresource="status")
