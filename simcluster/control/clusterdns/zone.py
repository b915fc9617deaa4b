"""The zone `cluster.local`, kept in step with the Services by a watch.

A Service with a cluster IP has one record. A headless Service has one per ready pod, and one
for each pod with a host name below it; a Service of type ExternalName is an alias. These are
the records that CoreDNS' kubernetes plugin knows, with their ports (SRV) and the way back (PTR).
"""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.api.objects import ApiObject, Json, name_of, namespace_of
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Informer
from simcluster.engine import FlatDict, Simulation
from simcluster.models.machine.imagetools.dns import reverse_name
from simcluster.models.machine.network import Network

DOMAIN = "svc.cluster.local"


class ClusterDns:
    """Writes the records of all Services into the network's zone."""

    def __init__(self, sim: Simulation, api: Api, network: Network) -> None:
        self.api = api
        self.network = network
        self._hosts: dict[str, tuple[str, ...]] = {}  # name of a headless Service -> names below it
        self._more: dict[str, tuple[tuple[str, str], ...]] = FlatDict()  # name of a Service -> its other records
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
            self._tell(name, {}, {})
        elif spec.get("type") == "ExternalName":
            target = str(spec.get("externalName") or "")
            if self.network.aliases.get(name) != target.rstrip("."):
                self.network.set_alias(name, target)
        elif address == "None":
            self._headless(service)
        elif address:
            self._set(name, (address,))
            self._tell(name, _ports(spec.get("ports") or (), [name], name), {address: (f"{name}.",)})

    def _endpoints(self, change: Change) -> None:
        service = self.api.store.get("services", namespace_of(change.object), name_of(change.object))
        if service is not None and service["spec"].get("clusterIP") == "None":
            self._headless(service)

    def _headless(self, service: ApiObject) -> None:
        name = _full_name(service)
        endpoints = self.api.store.get("endpoints", namespace_of(service), name_of(service))
        addresses: dict[str, None] = {}
        hosts: dict[str, tuple[str, ...]] = {}
        ports: list[Json] = []
        back: dict[str, tuple[str, ...]] = {}
        for subset in () if endpoints is None else endpoints.get("subsets") or ():
            ready = list(subset.get("addresses") or ())
            if service["spec"].get("publishNotReadyAddresses"):
                ready += subset.get("notReadyAddresses") or ()
            ports = ports or list(subset.get("ports") or ())
            for entry in ready:
                label = entry.get("hostname") or entry["ip"].replace(".", "-")
                back[entry["ip"]] = (f"{label}.{name}.",)
                addresses[entry["ip"]] = None
                if entry.get("hostname"):
                    host = f"{entry['hostname']}.{name}"
                    hosts[host] = (*hosts.get(host, ()), entry["ip"])
        self._set(name, tuple(addresses))
        self._set_hosts(name, hosts)
        targets = [found[0].rstrip(".") for found in back.values()]
        self._tell(name, _ports(ports, targets, name), back)

    def _tell(self, name: str, ports: dict[str, tuple[str, ...]], back: dict[str, tuple[str, ...]]) -> None:
        """Set the SRV records of a Service, and the PTR records of its addresses."""
        known = {(entry, "SRV"): texts for entry, texts in ports.items()}
        known.update({(reverse_name(address), "PTR"): texts for address, texts in back.items()})
        records = self.network.more_records
        for key in self._more.pop(name, ()):
            if key not in known:
                records.pop(key, None)
        records.update(known)
        if known:
            self._more[name] = tuple(known)

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


def _ports(ports: Sequence[Json], targets: list[str], name: str) -> dict[str, tuple[str, ...]]:
    """SRV records: all ports below the Service's name, and each named one below `_port._protocol`."""
    weight = max(1, 100 // max(1, len(targets) * len(ports)))
    found: dict[str, tuple[str, ...]] = {}
    for port in ports:
        number = port["port"]
        texts = tuple(f"0 {weight} {number} {target}." for target in targets)
        found[name] = (*found.get(name, ()), *texts)
        if port.get("name"):
            found[f"_{port['name']}._{port.get('protocol', 'TCP').lower()}.{name}"] = texts
    return {entry: texts for entry, texts in found.items() if texts}


def _full_name(service: ApiObject) -> str:
    return f"{name_of(service)}.{namespace_of(service)}.{DOMAIN}"
