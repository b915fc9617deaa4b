"""Services, Endpoints, EndpointSlices, Ingresses and NetworkPolicies.

Source: pkg/apis/{core,discovery,networking}/validation. Whether an address or a node port is
free is the allocators' question.
"""

from __future__ import annotations

import ipaddress
from typing import Any

from simcluster.api import names
from simcluster.api.validation.causes import IMMUTABLE, Causes, GoText, Obj, go_int_or_string, quoted
from simcluster.api.validation.containers import PROTOCOLS
from simcluster.api.validation.metadata import validate_labels, validate_selector

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")

#: No Service may expose the kubelet's port outside. Source: pkg/cluster/ports.
_KUBELET_PORT = 10_250


def validate_service(service: Obj, causes: Causes) -> None:
    """core/v1 Service."""
    spec = service.get("spec") or {}
    kind, ports = spec.get("type", ""), spec.get("ports") or ()
    headless = spec.get("clusterIP") == "None"
    if not ports and not headless and kind != "ExternalName":
        causes.required("spec.ports")
    if kind == "ExternalName":
        _validate_external_name(spec, causes)
    elif kind in ("LoadBalancer", "NodePort"):
        _validate_exposed(kind, ports, headless, causes)
    seen: dict[str, None] = {}
    for index, port in enumerate(ports):
        _validate_port(port, len(ports) > 1, seen, f"spec.ports[{index}]", causes)
    validate_labels(spec.get("selector"), "spec.selector", causes)
    causes.one_of("spec.sessionAffinity", spec.get("sessionAffinity"), ("ClientIP", "None"))
    if spec.get("sessionAffinity") == "None" and spec.get("sessionAffinityConfig"):
        detail = "must not be set when session affinity is None"
        causes.forbidden("spec.sessionAffinityConfig", detail)
    _validate_addresses(spec, causes)
    causes.one_of("spec.type", kind, _TYPES)
    if kind == "ClusterIP":
        for index, port in enumerate(ports):
            if port.get("nodePort"):
                where = f"spec.ports[{index}].nodePort"
                causes.forbidden(where, "may not be used when `type` is 'ClusterIP'")
    if spec.get("loadBalancerSourceRanges") and kind != "LoadBalancer":
        causes.forbidden("spec.LoadBalancerSourceRanges", "may only be used when `type` is 'LoadBalancer'")
    _validate_distinct(ports, causes)
    _validate_policies(spec, kind, causes)


def _validate_external_name(spec: Obj, causes: Causes) -> None:
    name = spec.get("externalName", "").removesuffix(".")
    if [ip for ip in spec.get("clusterIPs") or () if ip]:
        causes.forbidden("spec.clusterIPs", "may not be set for ExternalName services")
    if name:
        causes.checked("spec.externalName", name, names.dns_subdomain(name))
    else:
        causes.required("spec.externalName")


def _validate_exposed(kind: str, ports: Any, headless: bool, causes: Causes) -> None:
    if kind == "LoadBalancer":
        for index, port in enumerate(ports):
            if port.get("port") == _KUBELET_PORT:
                detail = f"may not expose port {_KUBELET_PORT} externally since it is used by kubelet"
                causes.invalid(f"spec.ports[{index}]", _KUBELET_PORT, detail)
    if headless:
        causes.invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")


def _validate_port(port: Obj, needs_name: bool, seen: dict[str, None], path: str, causes: Causes) -> None:
    name = port.get("name", "")
    if needs_name and not name:
        causes.required(f"{path}.name")
    elif name:
        causes.checked(f"{path}.name", name, names.dns_label(name))
        if name in seen:
            causes.duplicate(f"{path}.name", name)
        seen[name] = None
    causes.checked(f"{path}.port", port.get("port", 0), names.port_number(port.get("port", 0)))
    causes.one_of(f"{path}.protocol", port.get("protocol"), PROTOCOLS)
    target = port.get("targetPort", 0)
    causes.checked(f"{path}.targetPort", target, names.port_number_or_name(target))
    if port.get("appProtocol"):
        causes.checked(f"{path}.appProtocol", port["appProtocol"], names.qualified_name(port["appProtocol"]))


def _validate_addresses(spec: Obj, causes: Causes) -> None:
    for index, address in enumerate(spec.get("clusterIPs") or ()):
        if address not in ("None", ""):
            causes.checked(f"spec.clusterIPs[{index}]", address, names.ip_address(address))
    for index, address in enumerate(spec.get("externalIPs") or ()):
        causes.checked(f"spec.externalIPs[{index}]", address, names.ip_address(address))
    for index, source in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        causes.checked(f"spec.loadBalancerSourceRanges[{index}]", source, names.cidr(source.strip()))


def _validate_distinct(ports: Any, causes: Causes) -> None:
    node_ports: dict[tuple[str, int], None] = {}
    for index, port in enumerate(ports):
        key = (port.get("protocol", ""), port.get("nodePort", 0))
        if key[1] and key in node_ports:
            causes.duplicate(f"spec.ports[{index}].nodePort", key[1])
        node_ports[key] = None
    seen: dict[tuple[str, int], None] = {}
    for index, port in enumerate(ports):
        key = (port.get("protocol", ""), port.get("port", 0))
        if key in seen:
            shown = (
                f'core.ServicePort{{Name:"", Protocol:{quoted(key[0])}, AppProtocol:(*string)(nil), Port:{key[1]}, '
                f"TargetPort:{go_int_or_string(0)}, NodePort:0}}"
            )
            causes.duplicate(f"spec.ports[{index}]", GoText(shown))
        seen[key] = None


def _validate_policies(spec: Obj, kind: str, causes: Causes) -> None:
    external, internal = spec.get("externalTrafficPolicy"), spec.get("internalTrafficPolicy")
    if external:
        if kind not in ("LoadBalancer", "NodePort") and not spec.get("externalIPs"):
            detail = "may only be set for externally-accessible services"
            causes.invalid("spec.externalTrafficPolicy", external, detail)
        elif external not in ("Cluster", "Local"):
            causes.not_supported("spec.externalTrafficPolicy", external, ("Cluster", "Local"))
    if internal and internal not in ("Cluster", "Local"):
        causes.not_supported("spec.internalTrafficPolicy", internal, ("Cluster", "Local"))


def validate_service_update(service: Obj, old: Obj, causes: Causes) -> None:
    """core/v1 Service after a write: its address stays."""
    spec, before = service["spec"], old["spec"]
    address, first = before.get("clusterIP", ""), spec.get("clusterIP", "")
    if spec.get("clusterIPs") and spec["clusterIPs"][0] != address:
        first = spec["clusterIPs"][0]
    if "ExternalName" not in (spec.get("type"), before.get("type")) and address and first != address:
        causes.invalid("spec.clusterIPs[0]", [first], "may not change once set")
    validate_service(service, causes)


def validate_endpoints(endpoints: Obj, causes: Causes) -> None:
    """core/v1 Endpoints."""
    for index, subset in enumerate(endpoints.get("subsets") or ()):
        path = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            causes.required(path, "must specify `addresses` or `notReadyAddresses`")
        for key in ("addresses", "notReadyAddresses"):
            for position, address in enumerate(subset.get(key) or ()):
                where = f"{path}.{key}[{position}].ip"
                _validate_endpoint_ip(address.get("ip", ""), where, causes)
        ports = subset.get("ports") or ()
        for position, port in enumerate(ports):
            where = f"{path}.ports[{position}]"
            if len(ports) > 1 and not port.get("name"):
                causes.required(f"{where}.name")
            causes.checked(f"{where}.port", port.get("port", 0), names.port_number(port.get("port", 0)))
            causes.one_of(f"{where}.protocol", port.get("protocol"), PROTOCOLS)


def _validate_endpoint_ip(address: str, path: str, causes: Causes) -> None:
    problems = names.ip_address(address)
    causes.checked(path, address, problems)
    if problems:
        return
    if address in ("0.0.0.0", "::"):
        causes.invalid(path, address, f"may not be unspecified ({address})")
    elif address.startswith("127.") or address == "::1":
        causes.invalid(path, address, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    elif address.startswith("169.254."):
        causes.invalid(path, address, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")


def validate_endpointslice(endpointslice: Obj, causes: Causes) -> None:
    """discovery.k8s.io/v1 EndpointSlice."""
    kind = endpointslice.get("addressType", "")
    causes.one_of("addressType", kind, ("FQDN", "IPv4", "IPv6"))
    for index, endpoint in enumerate(endpointslice.get("endpoints") or ()):
        addresses = endpoint.get("addresses") or ()
        if not addresses:
            causes.required(f"endpoints[{index}].addresses", "must contain at least 1 address")
        for position, address in enumerate(addresses):
            where = f"endpoints[{index}].addresses[{position}]"
            if kind == "FQDN":
                causes.checked(where, address, names.dns_subdomain(address))
            else:
                _validate_endpoint_ip(address, where, causes)
    seen: dict[str, None] = {}
    for index, port in enumerate(endpointslice.get("ports") or ()):
        name = port.get("name", "")
        if name:
            causes.checked(f"ports[{index}].name", name, names.dns_label(name))
        if name in seen:
            causes.duplicate(f"ports[{index}].name", name)
        seen[name] = None
        causes.one_of(f"ports[{index}].protocol", port.get("protocol"), PROTOCOLS)


def validate_endpointslice_update(endpointslice: Obj, old: Obj, causes: Causes) -> None:
    """discovery.k8s.io/v1 EndpointSlice after a write."""
    validate_endpointslice(endpointslice, causes)
    if endpointslice.get("addressType") != old.get("addressType"):
        causes.invalid("addressType", endpointslice.get("addressType", ""), IMMUTABLE)


def validate_ingress(ingress: Obj, causes: Causes) -> None:
    """networking.k8s.io/v1 Ingress."""
    spec = ingress.get("spec") or {}
    if not spec.get("rules") and spec.get("defaultBackend") is None:
        causes.invalid("spec", None, "either `defaultBackend` or `rules` must be specified")
    if spec.get("defaultBackend") is not None:
        _validate_backend(spec["defaultBackend"], "spec.defaultBackend", causes)
    for index, rule in enumerate(spec.get("rules") or ()):
        host = rule.get("host", "")
        if host:
            plain = host.removeprefix("*.")
            if not names.ip_address(host):
                causes.invalid(f"spec.rules[{index}].host", host, "must be a DNS name, not an IP address")
            causes.checked(f"spec.rules[{index}].host", host, names.dns_subdomain(plain))
        if rule.get("http") is not None and not rule["http"].get("paths"):
            causes.required(f"spec.rules[{index}].http.paths")
        for position, path in enumerate((rule.get("http") or {}).get("paths") or ()):
            _validate_path(path, f"spec.rules[{index}].http.paths[{position}]", causes)
    if spec.get("ingressClassName"):
        name = spec["ingressClassName"]
        causes.checked("spec.ingressClassName", name, names.dns_subdomain(name))


def _validate_path(entry: Obj, path: str, causes: Causes) -> None:
    kind = entry.get("pathType")
    if not kind:
        causes.required(f"{path}.pathType", "pathType must be specified")
    elif kind not in ("Exact", "ImplementationSpecific", "Prefix"):
        causes.not_supported(f"{path}.pathType", kind, ("Exact", "ImplementationSpecific", "Prefix"))
    target = entry.get("path", "")
    if kind in ("Exact", "Prefix") and not target.startswith("/"):
        causes.invalid(f"{path}.path", target, "must be an absolute path")
    elif kind in ("Exact", "Prefix"):
        for part in ("//", "/./", "/../", "%2f", "%2F"):
            if part in target:
                causes.invalid(f"{path}.path", target, f"must not contain '{part}'")
        for part in ("/..", "/."):
            if target.endswith(part):
                causes.invalid(f"{path}.path", target, f"cannot end with '{part}'")
    _validate_backend(entry.get("backend") or {}, f"{path}.backend", causes)


def _validate_backend(backend: Obj, path: str, causes: Causes) -> None:
    service, resource = backend.get("service"), backend.get("resource")
    for key in ("kind", "name"):
        if resource is not None and not resource.get(key):
            causes.required(f"{path}.resource.{key}", f"{key} is required")
    if service is None and resource is None:
        causes.required(path, "resource or service backend is required")
    elif service is not None and resource is not None:
        causes.invalid(path, "", "cannot set both resource and service backends")
    if service is None:
        return
    name = service.get("name", "")
    if not name:
        causes.required(f"{path}.service.name")
    else:
        causes.checked(f"{path}.service.name", name, names.dns1035_label(name))
    port = service.get("port") or {}
    if port.get("name") and port.get("number"):
        causes.invalid(path, "", "cannot set both port name & port number")
    elif port.get("name"):
        causes.checked(f"{path}.service.port.name", port["name"], names.port_name(port["name"]))
    elif port.get("number"):
        causes.checked(f"{path}.service.port.number", port["number"], names.port_number(port["number"]))
    else:
        causes.required(path, "port name or number is required")


def validate_network_policy(policy: Obj, causes: Causes) -> None:
    """networking.k8s.io/v1 NetworkPolicy."""
    spec = policy.get("spec") or {}
    validate_selector(spec.get("podSelector"), "spec.podSelector", causes)
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or ()):
            path = f"spec.{direction}[{index}]"
            for position, port in enumerate(rule.get("ports") or ()):
                number = port.get("port")
                where = f"{path}.ports[{position}]"
                if number is not None:
                    causes.checked(f"{where}.port", number, names.port_number_or_name(number))
                last = port.get("endPort")
                if last is not None and number is None:
                    causes.invalid(f"{where}.endPort", last, "may not be specified when `port` is not specified")
                elif last is not None and isinstance(number, str):
                    causes.invalid(f"{where}.endPort", last, "may not be specified when `port` is non-numeric")
                elif last is not None and last < number:
                    causes.invalid(f"{where}.endPort", last, "must be greater than or equal to `port`")
                causes.one_of(f"{where}.protocol", port.get("protocol"), PROTOCOLS, required=False)
            for position, peer in enumerate(rule.get(peers) or ()):
                _validate_peer(peer, f"{path}.{peers}[{position}]", causes)
    for index, kind in enumerate(spec.get("policyTypes") or ()):
        causes.one_of(f"spec.policyTypes[{index}]", kind, ("Egress", "Ingress"))


def _validate_peer(peer: Obj, path: str, causes: Causes) -> None:
    kinds = [key for key in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(key) is not None]
    if not kinds:
        causes.required(path, "must specify a peer")
    elif "ipBlock" in kinds and len(kinds) > 1:
        causes.forbidden(path, "may not specify both ipBlock and another peer")
    for key in ("podSelector", "namespaceSelector"):
        validate_selector(peer.get(key), f"{path}.{key}", causes)
    if peer.get("ipBlock") is not None:
        block = peer["ipBlock"].get("cidr", "")
        if not block:
            causes.required(f"{path}.ipBlock.cidr")
        else:
            causes.checked(f"{path}.ipBlock.cidr", block, names.cidr(block))
            if not names.cidr(block):
                _validate_exceptions(peer["ipBlock"], f"{path}.ipBlock", causes)


def _validate_exceptions(block: Obj, path: str, causes: Causes) -> None:
    outer = ipaddress.ip_network(block["cidr"], strict=False)
    for index, text in enumerate(block.get("except") or ()):
        where = f"{path}.except[{index}]"
        problems = names.cidr(text)
        causes.checked(where, text, problems)
        if problems:
            continue
        inner = ipaddress.ip_network(text, strict=False)
        same = inner.version == outer.version and inner.prefixlen > outer.prefixlen
        if not same or inner.network_address not in outer:
            causes.invalid(where, text, "must be a strict subset of `cidr`")
