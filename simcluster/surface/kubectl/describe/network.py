"""`kubectl describe` of services, endpoints and endpoint slices."""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.api.objects import Json
from simcluster.surface.kubectl.describe.page import Page, events_of, format_map, truth
from simcluster.surface.kubectl.errors import StatusError
from simcluster.surface.kubectl.invocation import query_of

#: How many addresses are spelled out.
_MAX_ENDPOINTS = 3


def service(page: Page, obj: Json) -> None:
    """A service and the ready addresses behind each port."""
    spec = obj["spec"]
    page.head(obj)
    page.meta(obj)
    page.pair("Selector", format_map(spec.get("selector")))
    page.pair("Type", spec.get("type", ""))
    if spec.get("ipFamilyPolicy"):
        page.pair("IP Family Policy", spec["ipFamilyPolicy"])
    page.pair("IP Families", ",".join(spec.get("ipFamilies") or ()) or "<none>")
    page.pair("IP", spec.get("clusterIP", ""))
    page.pair("IPs", ",".join(spec.get("clusterIPs") or ()) or "<none>")
    if spec.get("externalIPs"):
        page.pair("External IPs", ",".join(spec["externalIPs"]))
    if spec.get("loadBalancerIP"):
        page.pair("Desired LoadBalancer IP", spec["loadBalancerIP"])
    if spec.get("externalName"):
        page.pair("External Name", spec["externalName"])
    ingress = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    if ingress:
        shown = [entry.get("ip") or entry.get("hostname", "") for entry in ingress]
        page.pair("LoadBalancer Ingress", ", ".join(shown))
    slices = _slices(page, obj)
    for port in spec.get("ports") or ():
        _port(page, port, slices)
    page.pair("Session Affinity", spec.get("sessionAffinity", ""))
    if spec.get("externalTrafficPolicy"):
        page.pair("External Traffic Policy", spec["externalTrafficPolicy"])
    if spec.get("internalTrafficPolicy"):
        page.pair("Internal Traffic Policy", spec["internalTrafficPolicy"])
    if spec.get("healthCheckNodePort"):
        page.pair("HealthCheck NodePort", spec["healthCheckNodePort"])
    if spec.get("loadBalancerSourceRanges"):
        page.pair("LoadBalancer Source Ranges", ",".join(spec["loadBalancerSourceRanges"]))
    page.events(events_of(page.invocation, obj))


def _slices(page: Page, obj: Json) -> list[Json]:
    metadata = obj["metadata"]
    path = f"/apis/discovery.k8s.io/v1/namespaces/{metadata['namespace']}/endpointslices"
    try:
        query = query_of(labelSelector=f"kubernetes.io/service-name={metadata['name']}")
        return page.items(path, query)
    except StatusError:
        return []


def _port(page: Page, port: Json, slices: Sequence[Json]) -> None:
    name, protocol = port.get("name") or "<unset>", port.get("protocol", "TCP")
    page.line(f"Port:\t{name}\t{port['port']}/{protocol}")
    page.pair("TargetPort", f"{port.get('targetPort', port['port'])}/{protocol}")
    if port.get("nodePort"):
        page.line(f"NodePort:\t{name}\t{port['nodePort']}/{protocol}")
    page.pair("Endpoints", ready_addresses(slices, port.get("name", "")))


def ready_addresses(slices: Sequence[Json], port_name: str) -> str:
    """`10.244.1.2:8080,10.244.3.2:8080 + 2 more...` of the ready endpoints."""
    if not slices:
        return "<none>"
    found: list[str] = []
    for entry in slices:
        ready = [
            endpoint
            for endpoint in entry.get("endpoints") or ()
            if (endpoint.get("conditions") or {}).get("ready") is not False
        ]
        ports = entry.get("ports") or ()
        if not ports:
            found.extend(endpoint["addresses"][0] for endpoint in ready)
        for port in ports:
            if port.get("name", "") == port_name:
                found.extend(f"{endpoint['addresses'][0]}:{port.get('port')}" for endpoint in ready)
    shown = ",".join(found[:_MAX_ENDPOINTS])
    more = len(found) - _MAX_ENDPOINTS
    return f"{shown} + {more} more..." if more > 0 else shown


def endpoints(page: Page, obj: Json) -> None:
    """Endpoints with their subsets."""
    page.head(obj)
    page.meta(obj)
    page.line("Subsets:")
    for subset in obj.get("subsets") or ():
        for title, key in (("Addresses", "addresses"), ("NotReadyAddresses", "notReadyAddresses")):
            addresses = ",".join(address["ip"] for address in subset.get(key) or ())
            page.pair(title, addresses or "<none>", 1)
        if subset.get("ports"):
            page.line("Ports:", 1)
            _ports(page, subset["ports"], 2)
        page.line("")
    page.events(events_of(page.invocation, obj))


def _ports(page: Page, ports: Sequence[Json], level: int) -> None:
    rows = [("Name", "Port", "Protocol"), ("----", "----", "--------")]
    for port in ports:
        number = port.get("port")
        shown = "<unset>" if number is None else str(number)
        rows.append((port.get("name") or "<unset>", shown, port.get("protocol", "TCP")))
    page.rows(rows, level)


def endpoint_slice(page: Page, obj: Json) -> None:
    """An endpoint slice, endpoint by endpoint."""
    page.head(obj)
    page.meta(obj)
    page.pair("AddressType", obj.get("addressType", ""))
    if obj.get("ports"):
        page.line("Ports:")
        _ports(page, obj["ports"], 1)
    else:
        page.line("Ports: <unset>")
    if not obj.get("endpoints"):
        page.line("Endpoints: <none>")
    else:
        page.line("Endpoints:")
        for endpoint in obj["endpoints"]:
            _endpoint(page, endpoint)
    page.events(events_of(page.invocation, obj))


def _endpoint(page: Page, endpoint: Json) -> None:
    page.line(f"- Addresses:\t{','.join(endpoint['addresses'])}", 1)
    ready = (endpoint.get("conditions") or {}).get("ready")
    page.line("Conditions:", 2)
    page.pair("Ready", "<unset>" if ready is None else truth(ready), 3)
    page.pair("Hostname", endpoint.get("hostname") or "<unset>", 2)
    reference = endpoint.get("targetRef")
    if reference:
        page.pair("TargetRef", f"{reference.get('kind', '')}/{reference.get('name', '')}", 2)
    page.pair("NodeName", endpoint.get("nodeName") or "<unset>", 2)
    page.pair("Zone", endpoint.get("zone") or "<unset>", 2)
