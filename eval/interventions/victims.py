"""Who suffers from an origin: who calls it, and who calls those, as calls were seen until the page.

An origin on a node hits whatever runs there first, one in a ConfigMap or a Secret who reads that, and who has the
address of such a reader: streams that stay open are not seen as calls. What bounds a namespace hits all of it, and what
another object names, such as the settings of a program that changes workloads, is hit by that. What floods others
(load, retries) hits those that it calls, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from simcluster.api.objects import ApiObject, name_of, namespace_of
from simcluster.eval.interventions.named import behind

if TYPE_CHECKING:
    from simcluster.world import World

WORKLOADS = ("deployments.apps", "statefulsets.apps", "daemonsets.apps")
READ = ("configmaps", "secrets")
#: What bounds whatever is made in a namespace, or in all of them, and what names others to whom it does something.
BOUNDING = (
    *("resourcequotas", "limitranges", "validatingwebhookconfigurations", "mutatingwebhookconfigurations"),
    *("validatingadmissionpolicies", "ippools"),
)
GOVERNING = (*BOUNDING, "configmaps", "cronjobs", "horizontalpodautoscalers", "networkpolicies", "ingresses")
#: Kinds of cause that hit who is called.
FLOODING = ("load", "retry_storm")


def victims(world: World, namespace: str, origins: Iterable[str], family: str) -> frozenset[str]:
    """Names of the workloads and Services of an application that suffer from origins, and none of the origins.

    Args:
        world: at the page.
        origins: names of what is wrong itself: workloads, Services or nodes.
        family: the kind of cause.
    """
    origins = frozenset(origins)
    calls = calls_of(world, namespace)
    hit = set(origins) | _running_on(world, namespace, origins)
    hit |= _governed(world, namespace, origins)
    readers = _reading(world, namespace, origins)
    if readers:
        hit |= readers | _addressing(world, namespace, readers)
    _spread(hit, calls)
    if family in FLOODING:
        below = set(origins)
        _spread(below, [(callee, caller) for caller, callee in calls])
        hit |= below
    return frozenset(hit - origins)


def calls_of(world: World, namespace: str) -> list[tuple[str, str]]:
    """(workload that called, Service or workload that was called), as far back as calls are remembered."""
    history, of_pod = world.traffic.history, _Owners(world, namespace)
    addresses, offers = _addresses(world, namespace, of_pod), _offers(world, namespace, of_pod)
    found: dict[tuple[str, str, str], None] = {}
    seen = None
    for tick in history.samples(0, world.sim.now):
        if tick.layout is not seen:
            seen = tick.layout
            calls = [key for key in seen if key.namespace == namespace and key.container]
            found |= dict.fromkeys((of_pod.name(key.pod), key.host, key.operation) for key in calls)
    pairs = [
        (caller, name)
        for caller, host, operation in found
        for name in _meant(host, operation, addresses, offers)
        if name not in ("", caller)
    ]
    served = {name: [each.partition("/")[2] for each in behind(name, world, namespace)] for _, name in pairs}
    return list(dict.fromkeys((caller, name) for caller, host in pairs for name in (host, *served[host])))


class _Owners:
    """Workloads of a namespace, by the names that their pods begin with."""

    def __init__(self, world: World, namespace: str) -> None:
        names = [name_of(one) for kind in WORKLOADS for one in world.api.store.objects(kind, namespace)]
        self._names = sorted(names, key=len, reverse=True)
        self.workloads = frozenset(names)

    def name(self, pod: str) -> str:
        """The workload of a pod; empty if it is of none."""
        return next((name for name in self._names if pod.startswith(f"{name}-")), "")


def _addresses(world: World, namespace: str, of_pod: _Owners) -> dict[str, str]:
    """Address -> the Service that has it, or the workload of the pod that has it."""
    store = world.api.store
    found = {one["spec"].get("clusterIP", ""): name_of(one) for one in store.objects("services", namespace)}
    for pod in store.objects("pods", namespace):
        found[(pod.get("status") or {}).get("podIP", "")] = of_pod.name(name_of(pod))
    return found


def _offers(world: World, namespace: str, of_pod: _Owners) -> dict[str, list[str]]:
    """Operation -> workloads whose programs have it, those that do not run by the names of their programs."""
    found: dict[str, list[str]] = {}
    for server in world.traffic.servers.values():
        where, pod, _ = server.identity
        for operation in server.spec.operations if where == namespace else ():
            found.setdefault(operation.name, []).append(of_pod.name(pod))
    programs = [one for application in world.catalog.applications.values() for one in application.images]
    for one in programs:
        for name in {one.name, one.program} & of_pod.workloads:
            for offered in one.operations:
                found.setdefault(offered, []).append(name)
    return {operation: sorted(set(names)) for operation, names in found.items()}


def _meant(host: str, operation: str, addresses: dict[str, str], offers: dict[str, list[str]]) -> list[str]:
    """Whom a call went to: who has the address or the name; of a pod that is gone, who answers such calls."""
    if host in addresses:
        return [addresses[host]]
    return [host.partition(".")[0]] if host and not host[0].isdigit() else offers.get(operation, [])


def _running_on(world: World, namespace: str, nodes: frozenset[str]) -> set[str]:
    """Workloads of which a pod is on one of the nodes."""
    of_pod, pods = _Owners(world, namespace), world.api.store.objects("pods", namespace)
    return {of_pod.name(name_of(pod)) for pod in pods if pod["spec"].get("nodeName") in nodes} - {""}


def _governed(world: World, namespace: str, names: frozenset[str]) -> set[str]:
    """Workloads that objects of some names bound, or whose names stand in the content of such an object."""
    store, found = world.api.store, set[str]()
    own = [name_of(one) for one in _workloads(world, namespace)]
    names = names - {*own, *(name_of(one) for one in store.objects("services", namespace))}
    for kind in store.resources():
        for one in store.objects(kind) if kind.partition(".")[0] in GOVERNING else ():
            if name_of(one) not in names:
                continue
            if kind.partition(".")[0] in BOUNDING:
                found.update(own if namespace_of(one) in ("", namespace) else ())
                continue
            content = json.dumps({key: value for key, value in one.items() if key not in ("metadata", "status")})
            found.update(name for name in own if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", content))
    return found - names


def _reading(world: World, namespace: str, names: frozenset[str]) -> set[str]:
    """Workloads whose pods have a ConfigMap or a Secret of one of the names."""
    store = world.api.store
    objects = {f'"{name}"' for name in names for kind in READ if store.get(kind, namespace, name) is not None}
    return {name_of(one) for one in _workloads(world, namespace) if any(each in _pod_of(one) for each in objects)}


def _addressing(world: World, namespace: str, readers: set[str]) -> set[str]:
    """Workloads whose environment names a Service of one of those."""
    services = {
        name_of(one)
        for one in world.api.store.objects("services", namespace)
        if readers & {each.partition("/")[2] for each in behind(name_of(one), world, namespace)}
    }
    pattern = re.compile(rf'"value":\s*"({"|".join(map(re.escape, sorted(services)))})[.:"]') if services else None
    return {
        name_of(one) for one in _workloads(world, namespace) if pattern is not None and pattern.search(_pod_of(one))
    }


def _workloads(world: World, namespace: str) -> list[ApiObject]:
    return [one for kind in WORKLOADS for one in world.api.store.objects(kind, namespace)]


def _pod_of(workload: ApiObject) -> str:
    return json.dumps(workload["spec"]["template"]["spec"])


def _spread(hit: set[str], calls: Iterable[tuple[str, str]]) -> None:
    """Add who calls somebody that is hit, and who calls those."""
    pairs, before = list(calls), -1
    while len(hit) > before:
        before = len(hit)
        hit.update(caller for caller, callee in pairs if callee in hit)
