"""Services: cluster IP, node ports, and what a change of type means.

Source: pkg/registry/core/service/{alloc.go,strategy.go,storage}. IPv4 single stack.
"""

from __future__ import annotations

import json
from typing import Any

from simcluster.api import errors
from simcluster.api.errors import Cause
from simcluster.api.objects import ApiObject, Json, name_of, namespace_of
from simcluster.api.registry.addresses import ServiceAddresses
from simcluster.api.registry.attributes import Attributes
from simcluster.api.registry.strategy import Strategy

_WITH_PORTS = ("NodePort", "LoadBalancer")


class ServiceStrategy(Strategy):
    """Services."""

    def prepare_for_create(self, attributes: Attributes, state: Any) -> None:
        """Choose addresses; they are taken when the object is committed."""
        super().prepare_for_create(attributes, state)
        obj = attributes.new
        _allocate(obj, state.addresses)

    def prepare_for_update(self, attributes: Attributes, state: Any) -> None:
        """Keep what the writer left out, drop what the new type does not have, allocate the rest."""
        super().prepare_for_update(attributes, state)
        obj, old = attributes.new, attributes.current
        spec = obj["spec"] = dict(obj.get("spec") or {})
        _keep_allocated(spec, old["spec"])
        _drop_unused(spec, old["spec"])
        _allocate(obj, state.addresses)

    def after_create(self, stored: Json, state: Any) -> None:
        """Take what was chosen."""
        _take(stored, state.addresses)

    def after_update(self, stored: Json, old: ApiObject, state: Any) -> None:
        """Take what is new, release what is gone."""
        _take(stored, state.addresses)

    def after_delete(self, old: ApiObject, state: Any) -> None:
        """Release everything."""
        state.addresses.replace((namespace_of(old), name_of(old)), [], [])


def _type(spec: Json) -> str:
    return str(spec.get("type") or "ClusterIP")


def _take(service: Json, addresses: ServiceAddresses) -> None:
    spec = service["spec"]
    ips = [ip for ip in spec.get("clusterIPs") or () if ip not in ("None", "")]
    ports = [port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")]
    if spec.get("healthCheckNodePort"):
        ports.append(spec["healthCheckNodePort"])
    addresses.replace((namespace_of(service), name_of(service)), ips, ports)


def _keep_allocated(spec: Json, old: Json) -> None:
    if _type(spec) != "ExternalName" and _type(old) != "ExternalName":
        if not spec.get("clusterIP") and not spec.get("clusterIPs"):
            for name in ("clusterIP", "clusterIPs"):
                if name in old:
                    spec[name] = old[name]
        elif spec.get("clusterIP") and spec["clusterIP"] != old.get("clusterIP"):
            if spec.get("clusterIPs") == old.get("clusterIPs"):
                spec["clusterIPs"] = [spec["clusterIP"]]
        elif spec.get("clusterIPs") and not spec.get("clusterIP"):
            spec["clusterIP"] = spec["clusterIPs"][0]
        for name in ("ipFamilies", "ipFamilyPolicy"):
            if name not in spec and name in old:
                spec[name] = old[name]
    if _type(spec) in _WITH_PORTS and _type(old) in _WITH_PORTS:
        _keep_node_ports(spec, old)


def _keep_node_ports(spec: Json, old: Json) -> None:
    """A port that comes without node port keeps the one that port and protocol had."""
    before = {(p.get("protocol", "TCP"), p["port"]): p.get("nodePort") for p in old.get("ports") or ()}
    named = {p["nodePort"] for p in spec.get("ports") or () if p.get("nodePort")}
    ports = []
    for port in spec.get("ports") or ():
        kept = before.get((port.get("protocol", "TCP"), port.get("port")))
        ports.append({**port, "nodePort": kept} if kept and not port.get("nodePort") and kept not in named else port)
    spec["ports"] = ports


def _drop_unused(spec: Json, old: Json) -> None:
    """A change of type that leaves type-dependent fields as they were removes them."""
    if _type(spec) == "ExternalName" and _type(old) != "ExternalName":
        for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"):
            if spec.get(name) == old.get(name):
                spec.pop(name, None)
    if _type(old) == "ExternalName" != _type(spec) and spec.get("externalName") == old.get("externalName"):
        spec.pop("externalName", None)
    if _type(old) in _WITH_PORTS and _type(spec) not in _WITH_PORTS:
        had = [p.get("nodePort") for p in old.get("ports") or ()]
        if [p.get("nodePort") for p in spec.get("ports") or ()] == had:
            spec["ports"] = [{k: v for k, v in p.items() if k != "nodePort"} for p in spec.get("ports") or ()]
        if spec.get("externalTrafficPolicy") == old.get("externalTrafficPolicy"):
            spec.pop("externalTrafficPolicy", None)
    if _type(old) == "LoadBalancer" and _type(spec) != "LoadBalancer":
        spec.pop("allocateLoadBalancerNodePorts", None)


def _allocate(service: Json, addresses: ServiceAddresses) -> None:
    spec = service["spec"] = dict(service.get("spec") or {})
    owner = (service["metadata"].get("namespace", ""), service["metadata"].get("name", ""))
    causes: list[Cause] = []
    if _type(spec) != "ExternalName":
        _allocate_ip(spec, owner, addresses, causes)
    if _type(spec) in _WITH_PORTS and spec.get("allocateLoadBalancerNodePorts", True):
        _allocate_ports(spec, owner, addresses, causes)
    if causes:
        raise errors.invalid("Service", "", owner[1], causes)


def _allocate_ip(spec: Json, owner: tuple[str, str], addresses: ServiceAddresses, causes: list[Cause]) -> None:
    ip = spec.get("clusterIP") or next(iter(spec.get("clusterIPs") or ()), "")
    if not ip:
        ip = addresses.free_ip(owner)
    elif ip != "None":
        why = addresses.refuse_ip(ip, owner)
        if why:
            shown = json.dumps([ip])
            causes.append(
                Cause("FieldValueInvalid", f"Invalid value: []string{{{shown[1:-1]}}}: {why}", "spec.clusterIPs")
            )
    spec["clusterIP"] = ip
    if not spec.get("clusterIPs"):
        spec["clusterIPs"] = [ip]
    selectorless = ip == "None" and not spec.get("selector")
    spec.setdefault("ipFamilies", ["IPv4", "IPv6"] if selectorless else ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "RequireDualStack" if selectorless else "SingleStack")


def _allocate_ports(spec: Json, owner: tuple[str, str], addresses: ServiceAddresses, causes: list[Cause]) -> None:
    chosen: dict[int, None] = {p["nodePort"]: None for p in spec.get("ports") or () if p.get("nodePort")}
    by_number: dict[int, int] = {}
    ports = []
    for index, port in enumerate(spec.get("ports") or ()):
        asked = port.get("nodePort")
        if asked:
            why = addresses.refuse_port(asked, owner)
            if why:
                field = f"spec.ports[{index}].nodePort"
                causes.append(Cause("FieldValueInvalid", f"Invalid value: {asked}: {why}", field))
            by_number[port.get("port", 0)] = asked
            ports.append(port)
            continue
        # The same port over TCP and UDP shares one node port.
        given = by_number.get(port.get("port", 0)) or addresses.free_port(owner, index, chosen)
        chosen[given] = None
        by_number[port.get("port", 0)] = given
        ports.append({**port, "nodePort": given})
    spec["ports"] = ports
