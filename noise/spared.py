"""What noise must not touch: the objects that an incident is aimed at, and whoever asks them on behalf of users."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from simcluster.api.objects import ApiObject, controller_of, labels_of, name_of
from simcluster.api.server import Api
from simcluster.engine import SECOND, Simulation
from simcluster.models.traffic.cluster.nodes import EdgeKey
from simcluster.models.traffic.cluster.statistics import History

#: Edges on which anything was called so long ago count as the way of requests.
_RECENT_NS = 60 * SECOND
#: Kinds that stand for whatever mentions them in its pod template.
_MENTIONED = ("ConfigMap", "Secret", "PersistentVolumeClaim", "ServiceAccount", "PriorityClass")
#: Kinds that concern single workloads; an incident at any other kind concerns the whole namespace.
_SINGLE = ("Deployment", "StatefulSet", "Service", "Pod", "Node", "Image", "Load", *_MENTIONED)


class Ref(Protocol):
    """A kind and a name."""

    @property
    def kind(self) -> str:
        """Such as Deployment."""

    @property
    def name(self) -> str:
        """Of the object."""


class Traffic(Protocol):
    """Requests, as far as they were counted."""

    @property
    def history(self) -> History:
        """What happened on every edge, tick by tick."""


class Place(Protocol):
    """The cluster, as far as it tells who asks whom."""

    @property
    def sim(self) -> Simulation:
        """Time."""

    @property
    def api(self) -> Api:
        """The API server."""

    @property
    def traffic(self) -> Traffic:
        """Who asks whom."""


class Spared(NamedTuple):
    """What a disturbance must not touch.

    Attributes:
        workloads: names of Deployments and StatefulSets.
        services: names of faulted Services.
        nodes: names of faulted nodes.
        everything: the incident concerns the whole namespace.
    """

    workloads: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    everything: bool = False

    @classmethod
    def of(cls, place: Place, namespace: str, refs: Iterable[Ref]) -> Spared:
        """What an incident touches that is aimed at objects of a namespace, and all that asks them, up to the users."""
        refs = tuple(refs)
        workloads = _workloads(place.api, namespace)
        services = {ref.name for ref in refs if ref.kind == "Service"}
        touched = {ref.name for ref in refs if ref.kind in ("Deployment", "StatefulSet")}
        touched |= services & workloads.keys()  # its own selector may be what is wrong
        for ref in refs:
            if ref.kind == "Pod":
                pod = place.api.store.get("pods", namespace, ref.name)
                touched |= {workload_of(pod)} if pod is not None else set()
            if ref.kind in _MENTIONED:
                touched |= {name for name, one in workloads.items() if _mentions(one, ref.name)}
        return cls(
            workloads=tuple(sorted(_askers(place, namespace, workloads, touched, services))),
            services=tuple(sorted(services)),
            nodes=tuple(sorted({ref.name for ref in refs if ref.kind == "Node"})),
            everything=any(ref.kind not in _SINGLE for ref in refs),
        )


def workload_of(pod: ApiObject) -> str:
    """Name of the Deployment or StatefulSet that a pod is of; empty for other pods."""
    owner = controller_of(pod)
    if owner is None:
        return ""
    return str(owner["name"]).rpartition("-")[0] if owner["kind"] == "ReplicaSet" else str(owner["name"])


def _workloads(api: Api, namespace: str) -> dict[str, ApiObject]:
    stored = (one for kind in ("deployments.apps", "statefulsets.apps") for one in api.store.objects(kind, namespace))
    return {name_of(one): one for one in stored}


def _mentions(workload: ApiObject, name: str) -> bool:
    return f'"{name}"' in json.dumps(workload["spec"]["template"]["spec"])


def _askers(
    place: Place, namespace: str, workloads: Mapping[str, ApiObject], touched: set[str], services: set[str]
) -> set[str]:
    """Workloads that were touched, and those whose requests have come to them lately, directly or by others."""
    serves = {
        name_of(service): {name for name, one in workloads.items() if _selects(service, one)}
        for service in place.api.store.objects("services", namespace)
    }
    asks: dict[str, set[str]] = {}
    for key in _edges(place, namespace):
        pod = place.api.store.get("pods", namespace, key.pod)
        host = key.host.partition(".")[0]
        if pod is not None and key.container:
            asks.setdefault(workload_of(pod), set()).update(serves.get(host, ()), {host} & services)
    found, goals = set(touched), touched | services
    while True:
        more = {name for name, asked in asks.items() if asked & goals} - found
        if not more:
            return found
        found |= more
        goals |= more


def _edges(place: Place, namespace: str) -> set[EdgeKey]:
    """Who has called whom lately."""
    ticks = place.traffic.history.samples(place.sim.now - _RECENT_NS, place.sim.now)
    return {key for tick in ticks for key in tick.layout if key.namespace == namespace}


def _selects(service: ApiObject, workload: ApiObject) -> bool:
    selector = service["spec"].get("selector") or {}
    labels = labels_of(workload["spec"]["template"])
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())
