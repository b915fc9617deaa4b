"""Whom a disturbance may hit: pods and workloads that have nothing to do with the incident."""

from __future__ import annotations

from simcluster.api.objects import ApiObject, is_pod_ready, is_terminating, labels_of, name_of
from simcluster.noise.mechanism import NoiseTarget
from simcluster.noise.spared import Spared, workload_of


def pods(target: NoiseTarget, namespace: str, spared: Spared) -> list[ApiObject]:
    """Ready pods of Deployments that may be disturbed, sorted by name."""
    if spared.everything:
        return []
    faulted = _selectors(target, namespace, spared)
    return [
        pod
        for pod in target.api.store.objects("pods", namespace)
        if is_pod_ready(pod)
        and not is_terminating(pod)
        and pod["spec"].get("nodeName") not in spared.nodes
        and _is_replaced(pod)
        and workload_of(pod) not in spared.workloads
        and not any(all(labels_of(pod).get(key) == value for key, value in one.items()) for one in faulted)
    ]


def deployments(target: NoiseTarget, namespace: str, spared: Spared) -> list[ApiObject]:
    """Deployments with ready pods all of which may be disturbed, sorted by name."""
    free = {workload_of(pod) for pod in pods(target, namespace, spared)}
    bound = {
        workload_of(pod)
        for pod in target.api.store.objects("pods", namespace)
        if pod["spec"].get("nodeName") in spared.nodes
    }
    stored = target.api.store.objects("deployments.apps", namespace)
    return [one for one in stored if name_of(one) in free - bound]


def _is_replaced(pod: ApiObject) -> bool:
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(owner["kind"] == "ReplicaSet" for owner in owners)


def _selectors(target: NoiseTarget, namespace: str, spared: Spared) -> list[dict[str, str]]:
    """How pods of faulted objects are recognised: by the selectors of spared workloads and of faulted Services."""
    found = []
    for name in spared.workloads:
        workload = target.api.store.get("deployments.apps", namespace, name)
        if workload is not None:
            found.append(dict((workload["spec"].get("selector") or {}).get("matchLabels") or {}))
    for name in spared.services:
        service = target.api.store.get("services", namespace, name)
        if service is not None:
            found.append(dict(service["spec"].get("selector") or {}))
    return [selector for selector in found if selector]
