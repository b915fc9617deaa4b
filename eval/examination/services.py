"""Services as their callers would find them, compared with the twin: who answers, and whether somebody does.

Users and calls show only what is called now. A Service that stands and misleads, or leads nowhere, waits for its next
caller.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from simcluster.api.objects import ApiObject, controller_of, labels_of, name_of, namespace_of
from simcluster.faults.facts import leaves

if TYPE_CHECKING:
    from simcluster.world import World

WORKLOADS = ("deployments.apps", "statefulsets.apps", "daemonsets.apps")
#: Kinds of objects that say where others are.
NAMING = (*WORKLOADS, "cronjobs.batch", "configmaps", "ingresses.networking.k8s.io")
_ADDRESS = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")


def run_by(pod: ApiObject) -> list[str]:
    """The programs of a pod, by the last words of its images' names."""
    images = (container["image"].partition("@")[0] for container in pod["spec"]["containers"])
    return [image.rpartition("/")[2].partition(":")[0] for image in images]


def misled(world: World, twin: World, namespace: str) -> Iterator[str]:
    """Services behind which another part of the application answers: who knows a call may answer it wrongly.

    Another part is a program that stands behind other Services in the twin, or a workload that does: a store has other
    data than the next store.
    """
    for parts in (run_by, _workloads):
        here, there = _behind(world, namespace, parts), _behind(twin, namespace, parts)
        known = frozenset(part for behind in there.values() for part in behind)
        for service, usual in there.items():
            strange = [one for one in here.get(service, {}) if one in known and one not in usual]
            if usual and strange:
                one, before = strange[0], next(iter(usual))
                yield f"{one} answers for the Service {service}, and {before} does without the incident"


def workload_of(pod: ApiObject) -> str:
    """The name of the workload that made a pod, a ReplicaSet's without its hash; its own if none did."""
    owner = controller_of(pod)
    if owner is None:
        return name_of(pod)
    return owner["name"].rpartition("-")[0] if owner["kind"] == "ReplicaSet" else str(owner["name"])


def _workloads(pod: ApiObject) -> list[str]:
    return [workload_of(pod)]


def _behind(world: World, namespace: str, parts: Callable[[ApiObject], list[str]]) -> dict[str, dict[str, None]]:
    """What the pods are to which the Services of a namespace lead, by Service."""
    store = world.api.store
    pods = {(pod.get("status") or {}).get("podIP", ""): pod for pod in store.objects("pods", namespace)}
    found: dict[str, dict[str, None]] = {}
    for piece in store.objects("endpointslices.discovery.k8s.io", namespace):
        behind = found.setdefault(labels_of(piece).get("kubernetes.io/service-name", ""), {})
        for endpoint in piece.get("endpoints") or ():
            for address in endpoint["addresses"]:
                behind.update(dict.fromkeys(parts(pods[address]) if address in pods else ()))
    return found


def unserved(world: World, twin: World, namespace: str, nodes: list[str]) -> Iterator[str]:
    """Services that answer in the twin and not here, or not from some of the nodes, and those that follow no pods.

    A Service that is gone is missed by whoever needs it; one that stands and leads nowhere waits for its next caller,
    unless all who said its name say another now.
    """
    store, twins = world.api.store, twin.api.store
    there = [name_of(one) for one in store.objects("services", namespace)]
    known = [name for name in there if twins.get("services", namespace, name) is not None]
    for find in (_silent, partial(_unreached, nodes=nodes)):
        for name, why in find(world, twin, namespace, known):
            if not _is_left(world, twin, namespace, name):
                yield why


def _is_left(world: World, twin: World, namespace: str, service: str) -> bool:
    """Whether somebody names a Service in the twin, and nobody does here."""
    return bool(_naming(twin, namespace, service, twin)) and not _naming(world, namespace, service, twin)


def _naming(world: World, namespace: str, service: str, twin: World) -> list[str]:
    """Who says the name of a Service as that of a host: workloads other than its own, ConfigMaps, Ingresses."""
    own, found = _behind(twin, namespace, _workloads).get(service, {}), []
    near, far = re.escape(service), rf"{re.escape(service)}\.{re.escape(namespace)}"
    host = re.compile(rf"""^{near}$|//{near}(?![\w-])|["']{near}["']|(?<![\w./@-])({near}:\d|{far}(?![\w-]))""")
    abroad = re.compile(rf"(?<![\w./@-]){far}(?![\w-])|//{far}(?![\w-])")
    for kind in NAMING:
        for one in world.api.store.objects(kind):
            pattern = host if namespace_of(one) == namespace else abroad
            mine = pattern is host and kind in WORKLOADS and name_of(one) in own
            if not mine and any(pattern.search(text) for text in _said(kind, one)):
                found.append(f"{kind}/{name_of(one)}")
    return found


def pinned(world: World, twin: World, namespace: str) -> Iterator[str]:
    """Workloads and ConfigMaps that name a pod's address as nobody does in the twin: it goes with the pod."""
    pods = world.api.store.objects("pods", namespace)
    of = {
        (pod.get("status") or {}).get("podIP", ""): name_of(pod) for pod in pods if not pod["spec"].get("hostNetwork")
    }
    for kind in NAMING:
        for one in world.api.store.objects(kind, namespace):
            usual = twin.api.store.get(kind, namespace, name_of(one))
            if usual is one:
                continue
            for address in _ADDRESS.findall("\n".join(_said(kind, one))):
                if address in of and not (usual is not None and address in "\n".join(_said(kind, usual))):
                    who = f"{kind.partition('.')[0]}/{name_of(one)}"
                    yield f"{who} names {address}, which goes with the pod {of[address]}"
                    break


def _said(kind: str, obj: ApiObject) -> Iterator[str]:
    """All texts in what an object says: of a workload in its pods."""
    for part in (obj["spec"]["template"]["spec"],) if kind in WORKLOADS else (obj.get("data"), obj.get("spec")):
        yield from (one for _, one in leaves(part or {}) if isinstance(one, str))


def _silent(world: World, twin: World, namespace: str, names: list[str]) -> Iterator[tuple[str, str]]:
    """Services at whose ports somebody answers in the twin and nobody here, or that follow no pods any more; why."""
    here, there = _answering(world, namespace), _answering(twin, namespace)
    for name in names:
        spec, known = _spec(world, namespace, name), _spec(twin, namespace, name)
        if known.get("type") == "ExternalName":
            continue
        if spec.get("type") == "ExternalName":
            host = spec.get("externalName", "")
            if known.get("selector") and not _is_here(world, host):
                yield name, f"the Service {name} is an alias of {host}, and leads to pods without the incident"
            continue
        if known.get("selector") and not spec.get("selector"):
            yield name, f"the addresses of Service {name} are kept by hand"
            continue
        dead = sorted(there.get(name, set()) - here.get(name, set()))
        wanted = {port["port"] for port in spec.get("ports") or ()}
        for port in [one for one in dead if one in wanted][:1]:
            yield name, f"nobody answers at port {port} of Service {name}, and somebody does without the incident"


def _is_here(world: World, host: str) -> bool:
    """Whether a name is that of a Service of the cluster: `NAME.NAMESPACE.svc`, with or without the domain."""
    name, _, rest = host.partition(".")
    namespace, _, domain = rest.partition(".")
    return domain.rstrip(".") in ("svc", "svc.cluster.local") and (
        world.api.store.get("services", namespace, name) is not None
    )


def _spec(world: World, namespace: str, service: str) -> Mapping[str, Any]:
    stored = world.api.store.get("services", namespace, service)
    assert stored is not None, service
    spec: Mapping[str, Any] = stored["spec"]
    return spec


def _unreached(
    world: World, twin: World, namespace: str, names: list[str], nodes: list[str]
) -> Iterator[tuple[str, str]]:
    """Services that lead somewhere in the twin, and here nowhere for who calls from some node that takes pods."""
    for name in names:
        spec, usual = _spec(world, namespace, name), _spec(twin, namespace, name)
        address, there = spec.get("clusterIP", "None"), usual.get("clusterIP", "None")
        if "None" in (address, there):
            continue
        for port in usual.get("ports") or ():
            asked = port["port"], "", port.get("protocol", "TCP")
            shut = [
                node
                for node in nodes
                if node in twin.machines
                and twin.network.route(node, there, *asked).backends
                and not world.network.route(node, address, *asked).backends
            ]
            if shut:
                where = ", ".join(shut)
                yield name, f"Service {name} leads nowhere from {where}, and somewhere without the incident"
                break


def _answering(world: World, namespace: str) -> dict[str, set[int]]:
    """Ports of the Services of a namespace behind which somebody listens."""
    network, found = world.network, dict[str, set[int]]()
    for piece in world.api.store.objects("endpointslices.discovery.k8s.io", namespace):
        name = labels_of(piece).get("kubernetes.io/service-name", "")
        service = world.api.store.get("services", namespace, name)
        ports = service["spec"].get("ports") or () if service is not None else ()
        numbers = {one.get("name", ""): one["port"] for one in ports}
        for port in piece.get("ports") or ():
            at = [
                (address, port["port"])
                for endpoint in piece.get("endpoints") or ()
                if (endpoint.get("conditions") or {}).get("ready", True)
                for address in endpoint["addresses"]
            ]
            if any(network.connect(place) == "ok" for place in at) and port.get("name", "") in numbers:
                found.setdefault(name, set()).add(numbers[port.get("name", "")])
    return found
