"""kube-proxy in iptables mode, one per node.

It watches Services and EndpointSlices and programs the node's rules in batches: at most
once per `MIN_SYNC_PERIOD_NS`. Between a change and the sync the rules are stale and packets
go where they went before, to a pod that may be gone.

A virtual address without a ready endpoint rejects; while every endpoint of a Service is
terminating, those that still serve are used (KEP-1669, ProxyTerminatingEndpoints). With a
traffic policy Local only endpoints on the node count; if there are none, packets are dropped.
Left out: other modes than iptables, topology hints, health check node ports, source ranges.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, name_of, namespace_of
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Informer, account_user
from simcluster.engine import MILLISECOND, SECOND, Simulation, Timer
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
        self.running = False
        self._informers: list[tuple[str, Informer]] = []
        self._dirty: dict[tuple[str, str], None] = {}
        self._programmed: dict[tuple[str, str], dict[ServiceKey, Rule]] = {}
        self._last_sync_ns = -MIN_SYNC_PERIOD_NS
        self._scheduled: Timer | None = None

    def start(self) -> None:
        """The process starts: list everything, then follow it."""
        if self.running:
            return
        self.running = True
        store = self.client.cache
        # What a former process programmed and is no longer wanted goes with the first sync.
        self._dirty = dict.fromkeys(self._programmed)
        for resource in ("services", SLICES):
            informer = Informer(self.sim, f"kube-proxy/{self.node}", resource, self._changed)
            for obj in store.objects(resource):
                informer.notify(Change("ADDED", resource, obj, None, store.version))
            store.subscribe(resource, informer)
            self._informers.append((resource, informer))

    def stop(self) -> None:
        """The process ends: the node's rules stay as they are."""
        self.running = False
        for resource, informer in self._informers:
            self.client.cache.unsubscribe(resource, informer)
        self._informers = []
        if self._scheduled is not None:
            self._scheduled.cancel()
            self._scheduled = None

    def _changed(self, change: Change) -> None:
        if not self.running:
            return
        obj = change.object
        name = name_of(obj)
        if change.resource == SLICES:
            name = (obj["metadata"].get("labels") or {}).get("kubernetes.io/service-name", "")
        self._dirty[namespace_of(obj), name] = None
        if self._scheduled is None:
            earliest = max(self.sim.now, self._last_sync_ns + MIN_SYNC_PERIOD_NS)
            self._scheduled = self.sim.at(earliest + SYNC_COST_NS, self._sync)

    def _sync(self) -> None:
        self._scheduled = None
        self._last_sync_ns = self.sim.now
        dirty, self._dirty = self._dirty, {}
        for namespace, name in dirty:
            self._program(namespace, name)

    def _program(self, namespace: str, name: str) -> None:
        service = self.client.cache.get("services", namespace, name)
        wanted = {} if service is None else self._rules(service)
        known = self._programmed.get((namespace, name), {})
        for key in known:
            if key not in wanted:
                self.network.set_rules(self.node, key, None)
        for key, rule in wanted.items():
            if known.get(key) != rule:
                self.network.set_rules(self.node, key, rule.backends, drop=rule.drop, sticky=rule.sticky)
        if wanted:
            self._programmed[namespace, name] = wanted
        else:
            self._programmed.pop((namespace, name), None)

    def _rules(self, service: ApiObject) -> dict[ServiceKey, Rule]:
        spec = service["spec"]
        address = spec.get("clusterIP")
        if not address or address == "None" or spec.get("type") == "ExternalName":
            return {}
        slices = [
            entry
            for entry in self.client.cache.objects(SLICES, namespace_of(service))
            if (entry["metadata"].get("labels") or {}).get("kubernetes.io/service-name") == name_of(service)
        ]
        outer = [*(spec.get("externalIPs") or ()), *_balancers(service)]
        rules: dict[ServiceKey, Rule] = {}
        for port in spec.get("ports") or ():
            sticky = spec.get("sessionAffinity") == "ClientIP"
            everywhere = Rule(backends_of(slices, port), sticky=sticky)
            inside = self._local(slices, port, everywhere, spec.get("internalTrafficPolicy"))
            outside = self._local(slices, port, everywhere, spec.get("externalTrafficPolicy"))
            rules[ServiceKey(address, port["port"])] = inside
            if port.get("nodePort"):
                rules[ServiceKey("", port["nodePort"])] = outside
            for other in outer:
                rules[ServiceKey(other, port["port"])] = outside
        return rules

    def _local(self, slices: list[ApiObject], port: dict[str, Any], everywhere: Rule, policy: str | None) -> Rule:
        """The rule under a traffic policy."""
        if policy != "Local":
            return everywhere
        backends = backends_of(slices, port, self.node)
        return Rule(backends, bool(everywhere.backends) and not backends, everywhere.sticky)


class Rule(NamedTuple):
    """What one virtual address leads to: an empty rule rejects, or with `drop` says nothing."""

    backends: tuple[Backend, ...]
    drop: bool = False
    sticky: bool = False


def _balancers(service: ApiObject) -> list[str]:
    balancer = (service.get("status") or {}).get("loadBalancer") or {}
    return [entry["ip"] for entry in balancer.get("ingress") or () if entry.get("ip")]


def backends_of(slices: list[ApiObject], port: dict[str, Any], node: str = "") -> tuple[Backend, ...]:
    """The backends of one service port: ready endpoints, else those that serve while terminating.

    Args:
        node: count only endpoints of this node.
    """
    ready: dict[Backend, None] = {}
    serving: dict[Backend, None] = {}
    for entry in slices:
        number = next((p["port"] for p in entry.get("ports") or () if p.get("name", "") == port.get("name", "")), None)
        if number is None:
            continue
        for endpoint in entry.get("endpoints") or ():
            if node and endpoint.get("nodeName") != node:
                continue
            conditions = endpoint.get("conditions") or {}
            for address in endpoint["addresses"]:
                if conditions.get("ready", True):
                    ready[address, number] = None
                elif conditions.get("serving") and conditions.get("terminating"):
                    serving[address, number] = None
    return tuple(sorted(ready or serving))
