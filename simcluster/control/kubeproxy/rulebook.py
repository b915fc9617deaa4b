"""What Services' virtual addresses lead to, worked out once for all nodes.

Every kube-proxy computes the same rules from the same Service and EndpointSlices; only those
of traffic policy Local differ from node to node. The book keeps the rules of each Service until
the Service or one of its slices changes. Who programs them, and when, is the matter of each node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from simcluster.api.objects import ApiObject, Json, name_of, namespace_of
from simcluster.api.store import Change, Store
from simcluster.engine import FlatDict, Shared
from simcluster.models.machine.network import Backend, ServiceKey

ZONE = "topology.kubernetes.io/zone"
SLICES = "endpointslices.discovery.k8s.io"
Key = tuple[str, str]  # namespace, name


class Rule(NamedTuple):
    """What one virtual address leads to: an empty rule rejects, or with `drop` says nothing."""

    backends: tuple[Backend, ...]
    drop: bool = False
    sticky: bool = False


@dataclass(frozen=True)
class ServiceRules(Shared):
    """The rules of one Service on one node, or on all nodes alike. Never changed."""

    rules: dict[ServiceKey, Rule]


NO_RULES = ServiceRules({})


class RuleBook:
    """Rules by Service, shared by the kube-proxies of a cluster."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._alike: dict[Key, ServiceRules] = FlatDict()
        self._slices: dict[Key, dict[str, ApiObject]] = {}  # Service -> its slices by name
        for entry in store.objects(SLICES):
            self._slices.setdefault(service_of(entry), FlatDict())[name_of(entry)] = entry
        for resource in ("services", SLICES):
            store.subscribe(resource, self)

    def notify(self, change: Change) -> None:
        """A Service or a slice has changed: its rules are worked out anew when somebody asks."""
        obj = change.object
        if change.resource != SLICES:
            self._alike.pop((namespace_of(obj), name_of(obj)), None)
            return
        for entry in (change.previous, obj):
            if entry is not None:
                self._alike.pop(service_of(entry), None)
                of_service = self._slices.get(service_of(entry), {})
                of_service.pop(name_of(entry), None)
                if not of_service:
                    self._slices.pop(service_of(entry), None)
        if change.kind != "DELETED":
            self._slices.setdefault(service_of(obj), FlatDict())[name_of(obj)] = obj

    def rules(self, namespace: str, name: str, node: str) -> ServiceRules:
        """The rules of a Service on a node, from what the API holds now."""
        known = self._alike.get((namespace, name))
        if known is not None:
            return known
        service = self._store.get("services", namespace, name)
        if service is None:
            return NO_RULES
        by_name = self._slices.get((namespace, name), {})
        slices = [by_name[key] for key in sorted(by_name)]
        hinted = any("hints" in endpoint for entry in slices for endpoint in entry.get("endpoints") or ())
        found = ServiceRules(_rules(service, slices, node, self._zone(node) if hinted else ""))
        policies = (service["spec"].get("internalTrafficPolicy"), service["spec"].get("externalTrafficPolicy"))
        if "Local" not in policies and not hinted:
            self._alike[namespace, name] = found
        return found

    def _zone(self, node: str) -> str:
        found = self._store.get("nodes", "", node)
        return "" if found is None else str((found["metadata"].get("labels") or {}).get(ZONE, ""))


def service_of(entry: ApiObject) -> Key:
    """Namespace and name of the Service to which a slice belongs."""
    return namespace_of(entry), (entry["metadata"].get("labels") or {}).get("kubernetes.io/service-name", "")


def _rules(service: ApiObject, slices: list[ApiObject], node: str, zone: str = "") -> dict[ServiceKey, Rule]:
    spec = service["spec"]
    address = spec.get("clusterIP")
    if not address or address == "None" or spec.get("type") == "ExternalName":
        return {}
    outer = [*(spec.get("externalIPs") or ()), *_balancers(service)]
    rules: dict[ServiceKey, Rule] = {}
    for port in spec.get("ports") or ():
        sticky = spec.get("sessionAffinity") == "ClientIP"
        everywhere = Rule(backends_of(slices, port, zone=zone), sticky=sticky)
        inside = _local(slices, port, everywhere, spec.get("internalTrafficPolicy"), node)
        outside = _local(slices, port, everywhere, spec.get("externalTrafficPolicy"), node)
        protocol = port.get("protocol", "TCP")
        rules[ServiceKey(address, port["port"], protocol)] = inside
        if port.get("nodePort"):
            rules[ServiceKey("", port["nodePort"], protocol)] = outside
        for other in outer:
            rules[ServiceKey(other, port["port"], protocol)] = outside
    return rules


def _same(there: Json, port: Json) -> bool:
    """Whether a port of a slice is that of the Service: by name and protocol (kube-proxy's ServicePortName)."""
    return bool(
        there.get("name", "") == port.get("name", "") and there.get("protocol", "TCP") == port.get("protocol", "TCP")
    )


def _local(slices: list[ApiObject], port: Json, everywhere: Rule, policy: str | None, node: str) -> Rule:
    """The rule under a traffic policy."""
    if policy != "Local":
        return everywhere
    backends = backends_of(slices, port, node)
    return Rule(backends, bool(everywhere.backends) and not backends, everywhere.sticky)


def _balancers(service: ApiObject) -> list[str]:
    balancer = (service.get("status") or {}).get("loadBalancer") or {}
    return [entry["ip"] for entry in balancer.get("ingress") or () if entry.get("ip")]


def backends_of(slices: list[ApiObject], port: Json, node: str = "", zone: str = "") -> tuple[Backend, ...]:
    """The backends of one service port: ready endpoints, else those that serve while terminating.

    Args:
        node: count only endpoints of this node.
        zone: prefer endpoints with a hint for this zone, if every ready endpoint has a hint (canUseTopology).
    """
    ready: dict[Backend, None] = {}
    near: dict[Backend, None] = {}
    all_hinted = bool(zone)
    serving: dict[Backend, None] = {}
    for entry in slices:
        number = next((p.get("port") for p in entry.get("ports") or () if _same(p, port)), None)
        if number is None:
            continue
        for endpoint in entry.get("endpoints") or ():
            if node and endpoint.get("nodeName") != node:
                continue
            conditions = endpoint.get("conditions") or {}
            for address in endpoint["addresses"]:
                if conditions.get("ready", True):
                    ready[address, number] = None
                    zones = [entry["name"] for entry in (endpoint.get("hints") or {}).get("forZones") or ()]
                    all_hinted = all_hinted and bool(zones)
                    if zone in zones:
                        near[address, number] = None
                elif conditions.get("serving") and conditions.get("terminating"):
                    serving[address, number] = None
    if all_hinted and near:
        return tuple(sorted(near))
    return tuple(sorted(ready or serving))
