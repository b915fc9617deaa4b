"""How endpoints are spread over slices, as pure functions.

Source: kubernetes staging/src/k8s.io/endpointslice (reconciler.go, utils.go): what stands in
a slice stays there; new endpoints fill slices with room, then open new ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from simcluster.api.objects import (
    ApiObject,
    Json,
    is_pod_ready,
    is_terminating,
    labels_of,
    name_of,
    namespace_of,
    uid_of,
)
from simcluster.control.services.selection import pod_ip

#: `--max-endpoints-per-slice`.
MAX_ENDPOINTS = 100

ZONE = "topology.kubernetes.io/zone"


def endpoint_of(pod: ApiObject, service: ApiObject, node: Mapping[str, Any] | None) -> Json:
    """One entry of `endpoints`.

    `ready` is what consumers usually want: serving and not terminating, or published anyhow.
    """
    serving, terminating = is_pod_ready(pod), is_terminating(pod)
    publish = bool(service["spec"].get("publishNotReadyAddresses"))
    entry: Json = {
        "addresses": [pod_ip(pod)],
        "conditions": {
            "ready": publish or (serving and not terminating),
            "serving": serving,
            "terminating": terminating,
        },
        "targetRef": {
            "kind": "Pod",
            "namespace": namespace_of(pod),
            "name": name_of(pod),
            "uid": uid_of(pod),
        },
    }
    spec = pod["spec"]
    if spec.get("hostname") and spec.get("subdomain") == name_of(service):
        entry["hostname"] = spec["hostname"]
    if spec.get("nodeName"):
        entry["nodeName"] = spec["nodeName"]
    zone = labels_of(node).get(ZONE) if node is not None else None
    if zone:
        entry["zone"] = zone
    return entry


class Plan(NamedTuple):
    """What to write: new slices, changed ones (name -> content), names to delete."""

    create: list[tuple[list[Json], list[Json]]]  # (ports, endpoints)
    update: dict[str, tuple[list[Json], list[Json]]]
    delete: list[str]


def _ports_key(ports: Sequence[Json] | None) -> str:
    return json.dumps([(p.get("name", ""), p.get("port"), p.get("protocol")) for p in ports or ()])


def _target(endpoint: Json) -> str:
    return str((endpoint.get("targetRef") or {}).get("uid"))


def plan_slices(existing: Sequence[ApiObject], wanted: Sequence[tuple[list[Json], Json]]) -> Plan:
    """How to get from the existing slices to the wanted endpoints with few writes.

    Args:
        existing: the Service's slices, oldest first.
        wanted: (ports, endpoint) of each pod.
    """
    plan = Plan([], {}, [])
    groups: dict[str, tuple[list[Json], dict[str, Json]]] = {}
    for ports, endpoint in wanted:
        groups.setdefault(_ports_key(ports), (ports, {}))[1][_target(endpoint)] = endpoint
    by_ports: dict[str, list[ApiObject]] = {}
    for entry in existing:
        by_ports.setdefault(_ports_key(entry.get("ports")), []).append(entry)
    spare = [entry for key, entries in by_ports.items() if key not in groups for entry in entries]
    for key, (ports, endpoints) in groups.items():
        _plan_group(plan, by_ports.get(key, []), ports, endpoints, spare)
    if not groups and spare:
        keep = spare.pop(0)  # an empty slice stands for a Service without endpoints
        if keep.get("endpoints") or keep.get("ports"):
            plan.update[name_of(keep)] = ([], [])
    elif not groups:
        plan.create.append(([], []))
    plan.delete.extend(name_of(entry) for entry in spare)
    return plan


def _plan_group(
    plan: Plan, slices: list[ApiObject], ports: list[Json], endpoints: dict[str, Json], spare: list[ApiObject]
) -> None:
    pending = dict(endpoints)
    kept: list[tuple[ApiObject, list[Json]]] = []
    for entry in slices:
        content = []
        for old in entry.get("endpoints") or ():
            new = pending.pop(_target(old), None)
            if new is not None:
                content.append(new)
        kept.append((entry, content))
    queue = list(pending.values())
    # Fill slices that are written anyhow before touching others.
    kept.sort(key=_untouched_last)
    for entry, content in kept:
        room = MAX_ENDPOINTS - len(content)
        content.extend(queue[:room])
        del queue[:room]
        if not content:
            spare.append(entry)
        elif content != list(entry.get("endpoints") or ()) or list(entry.get("ports") or ()) != ports:
            plan.update[name_of(entry)] = (ports, content)
    while queue:
        part, queue = queue[:MAX_ENDPOINTS], queue[MAX_ENDPOINTS:]
        if spare:
            plan.update[name_of(spare.pop(0))] = (ports, part)
        else:
            plan.create.append((ports, part))


def _untouched_last(item: tuple[ApiObject, list[Json]]) -> tuple[bool, int]:
    entry, content = item
    return (content == list(entry.get("endpoints") or ()), -len(content))
