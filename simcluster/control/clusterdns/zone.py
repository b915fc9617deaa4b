"""The zone `cluster.local`, kept in step with the Services by a watch.

A Service with a cluster IP has one record. A headless Service has one per ready pod, and one
for each pod with a host name below it; a Service of type ExternalName is an alias. These are
the records that CoreDNS' kubernetes plugin knows. Left out: SRV, PTR and pod records.
"""

from __future__ import annotations

from simcluster.api.objects import ApiObject, name_of, namespace_of
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
        self._hosts: dict[str, tuple[str, ...]] = {}  # name of a headless Service -> names below it
        for resource, handler in (("services", self._service), ("endpoints", self._endpoints)):
            informer = Informer(sim, "coredns", resource, handler)
            for obj in api.store.objects(resource):
                informer.notify(Change("ADDED", resource, obj, None, api.store.version))
            api.store.subscribe(resource, informer)

    def _service(self, change: Change) -> None:
        service = change.object
        name = _full_name(service)
        spec = service["spec"]
        address = spec.get("clusterIP")
        if change.kind == "DELETED":
            self._set(name, ())
            self._set_hosts(name, {})
        elif spec.get("type") == "ExternalName":
            target = str(spec.get("externalName") or "")
            if self.network.aliases.get(name) != target.rstrip("."):
                self.network.set_alias(name, target)
        elif address == "None":
            self._headless(service)
        elif address:
            self._set(name, (address,))

    def _endpoints(self, change: Change) -> None:
        service = self.api.store.get("services", namespace_of(change.object), name_of(change.object))
        if service is not None and service["spec"].get("clusterIP") == "None":
            self._headless(service)

    def _headless(self, service: ApiObject) -> None:
        name = _full_name(service)
        endpoints = self.api.store.get("endpoints", namespace_of(service), name_of(service))
        addresses: dict[str, None] = {}
        hosts: dict[str, tuple[str, ...]] = {}
        for subset in () if endpoints is None else endpoints.get("subsets") or ():
            ready = list(subset.get("addresses") or ())
            if service["spec"].get("publishNotReadyAddresses"):
                ready += subset.get("notReadyAddresses") or ()
            for entry in ready:
                addresses[entry["ip"]] = None
                if entry.get("hostname"):
                    host = f"{entry['hostname']}.{name}"
                    hosts[host] = (*hosts.get(host, ()), entry["ip"])
        self._set(name, tuple(addresses))
        self._set_hosts(name, hosts)

    def _set_hosts(self, name: str, hosts: dict[str, tuple[str, ...]]) -> None:
        for host in self._hosts.get(name, ()):
            if host not in hosts:
                self._set(host, ())
        for host, addresses in hosts.items():
            self._set(host, addresses)
        if hosts:
            self._hosts[name] = tuple(hosts)
        else:
            self._hosts.pop(name, None)

    def _set(self, name: str, addresses: tuple[str, ...]) -> None:
        if self.network.addresses_of(name) != addresses or name in self.network.aliases:
            self.network.set_names(name, addresses)


def _full_name(service: ApiObject) -> str:
    return f"{name_of(service)}.{namespace_of(service)}.{DOMAIN}"
