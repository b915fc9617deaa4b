"""The zone `cluster.local`, kept in step with the Services by a watch.

A Service with a cluster IP has one record. A headless Service has one per ready pod; the
zone here keeps the first (a client that connects once uses one address). External names
and reverse records are left out.
"""

from __future__ import annotations

from simcluster.api.objects import name_of, namespace_of
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Informer
from simcluster.engine import Simulation
from simcluster.models.machine.network import Network

DOMAIN = "svc.cluster.local"


class ClusterDns:
    """Writes the records of all Services into the network's zone."""

    def __init__(self, sim: Simulation, api: Api, network: Network) -> None:
        self.api = api
        self.network = network
        for resource, handler in (("services", self._service), ("endpoints", self._endpoints)):
            informer = Informer(sim, "coredns", resource, handler)
            for obj in api.store.objects(resource):
                informer.notify(Change("ADDED", resource, obj, None, api.store.version))
            api.store.subscribe(resource, informer)

    def _service(self, change: Change) -> None:
        name = f"{name_of(change.object)}.{namespace_of(change.object)}.{DOMAIN}"
        if change.kind == "DELETED":
            self._set(name, None)
            return
        address = change.object["spec"].get("clusterIP")
        if address and address != "None":
            self._set(name, address)

    def _endpoints(self, change: Change) -> None:
        namespace, name = namespace_of(change.object), name_of(change.object)
        service = self.api.store.get("services", namespace, name)
        if service is None or service["spec"].get("clusterIP") != "None":
            return
        addresses = [a["ip"] for subset in change.object.get("subsets") or () for a in subset.get("addresses") or ()]
        self._set(f"{name}.{namespace}.{DOMAIN}", addresses[0] if addresses and change.kind != "DELETED" else None)

    def _set(self, name: str, address: str | None) -> None:
        if self.network.zone.get(name) != address:
            self.network.set_name(name, address)
