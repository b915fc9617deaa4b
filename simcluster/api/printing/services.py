"""Rows of Services, Endpoints, EndpointSlices, Ingresses and NetworkPolicies.

Source: pkg/printers/internalversion/printers.go (Kubernetes 1.32).
"""

from __future__ import annotations

from typing import Any

from simcluster.api.printing.cells import (
    NONE,
    UNKNOWN,
    UNSET,
    Obj,
    Printer,
    age,
    columns,
    cut,
    labels_text,
)
from simcluster.api.selectors import format_selector


def _external_address(service: Obj) -> str:
    spec = service["spec"]
    kind, external = spec.get("type", "ClusterIP"), list(spec.get("externalIPs") or ())
    if kind in ("ClusterIP", "NodePort"):
        return ",".join(external) or NONE
    if kind == "LoadBalancer":
        found = _balancer(service)
        return ",".join([found, *external] if found else external) or "<pending>"
    if kind == "ExternalName":
        return str(spec.get("externalName", ""))
    return UNKNOWN


def _balancer(obj: Obj) -> str:
    entries = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    return ",".join(entry.get("ip") or entry.get("hostname") or "" for entry in entries)


def _port(port: Obj) -> str:
    node_port = port.get("nodePort")
    number = f"{port['port']}:{node_port}" if node_port else f"{port['port']}"
    return f"{number}/{port.get('protocol', 'TCP')}"


def _service(service: Obj, now_ns: int) -> list[Any]:
    spec = service["spec"]
    addresses = spec.get("clusterIPs") or ([spec["clusterIP"]] if spec.get("clusterIP") else [])
    return [
        service["metadata"]["name"],
        spec.get("type", "ClusterIP"),
        addresses[0] if addresses else NONE,
        _external_address(service),
        ",".join(_port(port) for port in spec.get("ports") or ()) or NONE,
        age(service, now_ns),
        labels_text(spec.get("selector")),
    ]


def _host_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def endpoints_text(endpoints: Obj) -> str:
    """The first three addresses and how many more, or `<none>`."""
    found: list[str] = []
    for subset in endpoints.get("subsets") or ():
        addresses = [entry["ip"] for entry in subset.get("addresses") or ()]
        ports = subset.get("ports") or ()
        if ports:
            found += [_host_port(address, port["port"]) for port in ports for address in addresses]
        else:
            found += addresses
    if not endpoints.get("subsets"):
        return NONE
    return cut(found, len(found), 3, "")


def _endpoints(endpoints: Obj, now_ns: int) -> list[Any]:
    return [endpoints["metadata"]["name"], endpoints_text(endpoints), age(endpoints, now_ns)]


def _endpointslice(endpointslice: Obj, now_ns: int) -> list[Any]:
    ports = [str(port.get("port") or port.get("name") or "*") for port in endpointslice.get("ports") or ()]
    addresses = [a for endpoint in endpointslice.get("endpoints") or () for a in endpoint.get("addresses") or ()]
    return [
        endpointslice["metadata"]["name"],
        endpointslice["addressType"],
        cut(ports, len(ports), 3, UNSET),
        cut(addresses, len(addresses), 3, UNSET),
        age(endpointslice, now_ns),
    ]


def _ingress(ingress: Obj, now_ns: int) -> list[Any]:
    spec = ingress["spec"]
    hosts = [rule["host"] for rule in spec.get("rules") or () if rule.get("host")]
    return [
        ingress["metadata"]["name"],
        spec.get("ingressClassName") or NONE,
        cut(hosts, len(hosts), 3, "*"),
        _balancer(ingress),
        "80, 443" if spec.get("tls") else "80",
        age(ingress, now_ns),
    ]


def _ingress_class(obj: Obj, now_ns: int) -> list[Any]:
    spec = obj.get("spec") or {}
    parameters = spec.get("parameters")
    text = NONE
    if parameters:
        group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") else ""
        text = f"{parameters['kind']}{group}/{parameters['name']}"
    return [obj["metadata"]["name"], spec.get("controller", ""), text, age(obj, now_ns)]


def _network_policy(policy: Obj, now_ns: int) -> list[Any]:
    return [policy["metadata"]["name"], format_selector(policy["spec"].get("podSelector")), age(policy, now_ns)]


SERVICE = Printer(columns("Type", "Cluster-IP", "External-IP", "Port(s)", "Age", wide=("Selector",)), _service)
ENDPOINTS = Printer(columns("Endpoints", "Age"), _endpoints)
ENDPOINTSLICE = Printer(columns("AddressType", "Ports", "Endpoints", "Age"), _endpointslice)
INGRESS = Printer(columns("Class", "Hosts", "Address", "Ports", "Age"), _ingress)
INGRESS_CLASS = Printer(columns("Controller", "Parameters", "Age"), _ingress_class)
NETWORK_POLICY = Printer(columns("Pod-Selector", "Age"), _network_policy)
