"""kube-proxy in iptables mode, one per node.

It watches Services and EndpointSlices and programs the node's rules in batches: at most
once per `MIN_SYNC_PERIOD_NS`. Between a change and the sync the rules are stale and packets
go where they went before, to a pod that may be gone.

A virtual address without a ready endpoint rejects; while every endpoint of a Service is
terminating, those that still serve are used (KEP-1669, ProxyTerminatingEndpoints).
Session affinity and traffic policies are left out.
"""

from __future__ import annotations

from typing import Any

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, name_of, namespace_of
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Informer, account_user
from simcluster.engine import MILLISECOND, SECOND, Simulation
from simcluster.models.machine.network import Backend, Network, ServiceKey

#: `iptables.minSyncPeriod`, default 1 s (kube-proxy configuration v1alpha1).
MIN_SYNC_PERIOD_NS = 1 * SECOND
#: One iptables-restore of a small cluster; grows with the number of rules.
SYNC_COST_NS = 30 * MILLISECOND

SLICES = "endpointslices.discovery.k8s.io"


class KubeProxy:
    """The service rules of one node.

    Args:
        node: the node whose rules it programs.
        network: where the rules live.
    """

    def __init__(self, sim: Simulation, api: Api, network: Network, node: str) -> None:
        self.sim = sim
        self.node = node
        self.network = network
        self.client = Client(api, account_user("kube-proxy"), "kube-proxy")
        self._dirty: dict[tuple[str, str], None] = {}
        self._programmed: dict[tuple[str, str], tuple[ServiceKey, ...]] = {}
        self._last_sync_ns = -MIN_SYNC_PERIOD_NS
        self._scheduled = False
        for resource in ("services", SLICES):
            informer = Informer(sim, f"kube-proxy/{node}", resource, self._changed)
            for obj in api.store.objects(resource):
                informer.notify(Change("ADDED", resource, obj, None, api.store.version))
            api.store.subscribe(resource, informer)

    def _changed(self, change: Change) -> None:
        obj = change.object
        name = name_of(obj)
        if change.resource == SLICES:
            name = (obj["metadata"].get("labels") or {}).get("kubernetes.io/service-name", "")
        self._dirty[namespace_of(obj), name] = None
        if not self._scheduled:
            self._scheduled = True
            earliest = max(self.sim.now, self._last_sync_ns + MIN_SYNC_PERIOD_NS)
            self.sim.at(earliest + SYNC_COST_NS, self._sync)

    def _sync(self) -> None:
        self._scheduled = False
        self._last_sync_ns = self.sim.now
        dirty, self._dirty = self._dirty, {}
        for namespace, name in dirty:
            self._program(namespace, name)

    def _program(self, namespace: str, name: str) -> None:
        service = self.client.cache.get("services", namespace, name)
        wanted = {} if service is None else self._rules(service)
        for key in self._programmed.get((namespace, name), ()):
            if key not in wanted:
                self.network.set_rules(self.node, key, None)
        for key, backends in wanted.items():
            if self.network.rules_of(self.node, key) != backends:
                self.network.set_rules(self.node, key, backends)
        if wanted:
            self._programmed[namespace, name] = tuple(wanted)
        else:
            self._programmed.pop((namespace, name), None)

    def _rules(self, service: ApiObject) -> dict[ServiceKey, tuple[Backend, ...]]:
        spec = service["spec"]
        address = spec.get("clusterIP")
        if not address or address == "None":
            return {}
        slices = [
            entry
            for entry in self.client.cache.objects(SLICES, namespace_of(service))
            if (entry["metadata"].get("labels") or {}).get("kubernetes.io/service-name") == name_of(service)
        ]
        rules: dict[ServiceKey, tuple[Backend, ...]] = {}
        for port in spec.get("ports") or ():
            backends = backends_of(slices, port)
            rules[ServiceKey(address, port["port"])] = backends
            if port.get("nodePort"):
                rules[ServiceKey("", port["nodePort"])] = backends
        return rules


def backends_of(slices: list[ApiObject], port: dict[str, Any]) -> tuple[Backend, ...]:
    """The backends of one service port: ready endpoints, else those that serve while terminating."""
    ready: dict[Backend, None] = {}
    serving: dict[Backend, None] = {}
    for entry in slices:
        number = next((p["port"] for p in entry.get("ports") or () if p.get("name", "") == port.get("name", "")), None)
        if number is None:
            continue
        for endpoint in entry.get("endpoints") or ():
            conditions = endpoint.get("conditions") or {}
            for address in endpoint["addresses"]:
                if conditions.get("ready", True):
                    ready[address, number] = None
                elif conditions.get("serving") and conditions.get("terminating"):
                    serving[address, number] = None
    return tuple(sorted(ready or serving))
