"""`.../pods|services|nodes/NAME/proxy/PATH`: a request that the API server passes on.

Source: pkg/registry/core/{pod,service,node} (ResourceLocation, proxy.go) and
k8s.io/apimachinery/pkg/util/{net,proxy}. Left out: upgraded connections, and the rewriting
of links in pages that come back.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.api import errors
from simcluster.api.backends import ProxyCall
from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json
from simcluster.api.request import Request, Response
from simcluster.api.routing import Route
from simcluster.api.serving import Serving
from simcluster.api.subresources.admitting import admit_connection
from simcluster.engine.streams import mix

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Location(NamedTuple):
    """Where a proxied request goes: a host, or the kubelet of a node."""

    scheme: str
    host: str
    port: int
    kubelet: str = ""


def serve(api: Serving, request: Request, route: Route) -> Response:
    """Pass a request on and its answer back. Raises ApiError 400, 404, 405, 503."""
    if request.method not in _METHODS:
        raise ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})
    kind = route.resource.kind
    options: Json = {"path": route.rest} if route.rest else {}
    location = _LOCATORS[kind](api, route)
    admit_connection(api, request, route, f"{kind}ProxyOptions", options)
    if not route.rest:
        return _redirected(request)
    query = request.target.partition("?")[2]
    path = f"{route.rest}?{query}" if query else route.rest
    call = ProxyCall(*location, request.method, path, _text(request.body), request.content_type)
    if api.proxy is None:
        raise _unavailable("error trying to reach service: there is no network")
    reply = api.proxy.send(call)
    if reply.error:
        refused = _unavailable(f"error trying to reach service: {reply.error}")
        return Response(refused.code, refused.status(), latency_ns=reply.delay_ns)
    return Response(reply.status, text=reply.body, content_type=reply.content_type, latency_ns=reply.delay_ns)


def _redirected(request: Request) -> Response:
    """Without a path, the client is sent to the same with a slash."""
    path, _, query = request.target.partition("?")
    where = f"{path}/?{query}" if query else f"{path}/"
    return Response(301, text="", content_type="", headers={"Location": where})


def split_name(text: str) -> tuple[str, str, str] | None:
    """Scheme, name and port of `name`, `name:port` or `scheme:name:port`; None if it is none of these.

    >>> split_name("https:web:api")
    ('https', 'web', 'api')
    """
    parts = text.split(":")
    scheme, port = "", ""
    if len(parts) == 3 and parts[0] in ("http", "https"):
        scheme, name, port = parts
    elif len(parts) == 2:
        name, port = parts
    elif len(parts) == 1:
        name = parts[0]
    else:
        return None
    return (scheme, name, port) if name else None


def _named(route: Route) -> tuple[str, str, str]:
    found = split_name(route.name)
    if found is None:
        raise errors.bad_request(f'invalid {route.resource.singular} request "{route.name}"')
    return found


def _pod(api: Serving, route: Route) -> Location:
    scheme, name, port = _named(route)
    pod = api.store.get("pods", route.namespace, name)
    if pod is None:
        raise errors.not_found("pods", name)
    if not port:
        ports = [c["ports"][0]["containerPort"] for c in pod["spec"]["containers"] if c.get("ports")]
        port = str(ports[0]) if ports else ""
    address = (pod.get("status") or {}).get("podIP") or ""
    if not address:
        raise errors.bad_request("address not allowed")
    return _location(scheme, address, port)


def _service(api: Serving, route: Route) -> Location:
    scheme, name, port = _named(route)
    if port.isdecimal():
        service = api.store.get("services", route.namespace, name)
        if service is None:
            raise errors.not_found("services", name)
        names = [entry.get("name", "") for entry in service["spec"].get("ports") or () if entry["port"] == int(port)]
        if not names:
            raise _unavailable(f'no service port {int(port)} found for service "{name}"')
        port = names[0]
    endpoints = api.store.get("endpoints", route.namespace, name)
    if endpoints is None:
        raise errors.not_found("endpoints", name)
    if not endpoints.get("subsets"):
        raise _unavailable(f'no endpoints available for service "{name}"')
    found = [
        (address["ip"], entry["port"])
        for subset in endpoints["subsets"]
        for entry in subset.get("ports") or ()
        for address in subset.get("addresses") or ()
        if entry.get("name", "") == port and _is_of_pod(api, route.namespace, address)
    ]
    if not found:
        raise _unavailable(f'no endpoints available for service "{route.name}"')
    draw = mix(api.sim.streams.key("service proxy", route.namespace, route.name), api.sim.now)
    address, number = found[draw % len(found)]
    return Location(scheme or "http", address, number)


def _is_of_pod(api: Serving, namespace: str, address: Json) -> bool:
    """Whether an endpoint belongs to a pod of the namespace that has the address: no other may be reached."""
    target = address.get("targetRef") or {}
    if target.get("namespace") != namespace:
        return False
    pod = api.store.get("pods", namespace, str(target.get("name", "")))
    ips = (pod.get("status") or {}).get("podIPs") or () if pod is not None else ()
    return any(entry.get("ip") == address["ip"] for entry in ips)


def _node(api: Serving, route: Route) -> Location:
    scheme, name, port = _named(route)
    node = api.store.get("nodes", "", name)
    if node is None:
        raise errors.not_found("nodes", name)
    address = _node_address(node)
    status = node.get("status") or {}
    kubelet = ((status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port") or 10250
    if not port or port == str(kubelet):
        return Location("https", address, kubelet, name)
    return _location(scheme, address, port)


def _node_address(node: ApiObject) -> str:
    """As `--kubelet-preferred-address-types` of kubeadm has it."""
    addresses = (node.get("status") or {}).get("addresses") or ()
    for kind in ("InternalIP", "ExternalIP", "Hostname"):
        for entry in addresses:
            if entry["type"] == kind:
                return str(entry["address"])
    name = node["metadata"]["name"]
    raise ApiError(500, "InternalError", f"Internal error occurred: no preferred addresses found for node {name}", {})


def _location(scheme: str, address: str, port: str) -> Location:
    scheme = scheme or "http"
    if port and not port.isdecimal():
        raise _unavailable(f"error trying to reach service: dial tcp: lookup tcp/{port}: unknown port")
    return Location(scheme, address, int(port) if port else _DEFAULT_PORTS[scheme])


def _unavailable(message: str) -> ApiError:
    return ApiError(503, "ServiceUnavailable", message)


def _text(body: object) -> str:
    return body.decode(errors="replace") if isinstance(body, bytes) else body if isinstance(body, str) else ""


_LOCATORS = {"Node": _node, "Pod": _pod, "Service": _service}
