"""From Ingresses, Services, EndpointSlices and Secrets to nginx's configuration.

Source: ingress-nginx v1.x, internal/ingress/controller/controller.go and store.go. Left out:
annotations but the class, canaries, snippets, TCP and UDP services.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Protocol

from simcluster.api.objects import ApiObject, labels_of, name_of, namespace_of
from simcluster.apps.ingress_nginx.routes import CATCH_ALL, Configuration, Location, Upstream, VirtualHost, in_order
from simcluster.engine import format_rfc3339
from simcluster.models.machine.certificate import blocks, read
from simcluster.models.machine.network import Backend

CONTROLLER = "k8s.io/ingress-nginx"
SLICES = "endpointslices.discovery.k8s.io"
CLASSES = "ingressclasses.networking.k8s.io"
INGRESSES = "ingresses.networking.k8s.io"
_CLASS_ANNOTATION = "kubernetes.io/ingress.class"


class Lister(Protocol):
    """What the builder needs: the controller's caches and its log."""

    def get(self, resource: str, namespace: str, name: str) -> ApiObject | None:
        """An object as it was last seen."""

    def listed(self, resource: str, namespace: str = "") -> list[ApiObject]:
        """Objects as they were last seen."""

    def log(self, level: str, where: str, text: str) -> None:
        """Print a line."""


def class_of(ingress: Mapping[str, Any], classes: Mapping[str, ApiObject], default: str) -> str | None:
    """The name of the Ingress's class if it is one of this controller's; None if it is not for it."""
    annotation = (ingress["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION)
    if annotation is not None:
        return annotation if annotation == default else None
    name = (ingress.get("spec") or {}).get("ingressClassName")
    found = classes.get(name) if name else None
    if found is None or (found.get("spec") or {}).get("controller") != CONTROLLER:
        return None
    return str(name)


class Builder:
    """Builds one configuration from what the controller knows at this instant."""

    def __init__(self, lister: Lister, now_ns: int) -> None:
        self._lister = lister
        self._now_ns = now_ns
        self._upstreams: dict[str, Upstream] = {}
        self._locations: dict[str, list[Location]] = {}
        self._secrets: dict[str, str] = {}

    def build(self, ingresses: list[ApiObject]) -> Configuration:
        """The configuration for these Ingresses, oldest first (of equal paths the older one wins)."""
        for ingress in sorted(ingresses, key=_age):
            self._add(ingress)
        hosts = {}
        for name in sorted(self._locations):
            secret = self._secrets.get(name, "")
            block = self._certificate(secret, name) if secret else ""
            hosts[name] = VirtualHost(name, in_order(self._locations[name]), secret, bool(secret) and not block, block)
        return Configuration(hosts, {name: self._upstreams[name] for name in sorted(self._upstreams)})

    def _add(self, ingress: ApiObject) -> None:
        namespace, spec = namespace_of(ingress), ingress.get("spec") or {}
        shown = f"{namespace}/{name_of(ingress)}"
        if spec.get("defaultBackend"):
            upstream = self._upstream(namespace, spec["defaultBackend"])
            self._locations.setdefault(CATCH_ALL, []).append(Location("/", False, upstream, shown))
        for rule in spec.get("rules") or ():
            host = rule.get("host") or CATCH_ALL
            places = self._locations.setdefault(host, [])
            for path in (rule.get("http") or {}).get("paths") or ():
                upstream = self._upstream(namespace, path["backend"])
                exact = path.get("pathType") == "Exact"
                places.append(Location(path.get("path") or "/", exact, upstream, shown))
        for tls in spec.get("tls") or ():
            for host in tls.get("hosts") or ():
                if tls.get("secretName"):
                    self._secrets.setdefault(host, f"{namespace}/{tls['secretName']}")

    def _upstream(self, namespace: str, backend: Mapping[str, Any]) -> str:
        """Make the upstream of a backend known; its name."""
        service = backend.get("service") or {}
        port = service.get("port") or {}
        wanted = port.get("name") or port.get("number") or ""
        name = f"{namespace}-{service.get('name', '')}-{wanted}"
        if name not in self._upstreams:
            called = service.get("name", "")
            self._upstreams[name] = Upstream(name, self._endpoints(namespace, called, wanted), called)
        return name

    def _endpoints(self, namespace: str, name: str, wanted: str | int) -> tuple[Backend, ...]:
        shown = f"{namespace}/{name}"
        service = self._lister.get("services", namespace, name)
        if service is None:
            said = f'no object matching key "{shown}" in local store'
            self._warn("controller.go:1108", f'Error obtaining Endpoints for Service "{shown}": {said}')
            return ()
        ports = (service.get("spec") or {}).get("ports") or ()
        port = next((p for p in ports if wanted in (p.get("name"), p["port"])), None)
        found: dict[Backend, None] = {}
        for entry in self._lister.listed(SLICES, namespace) if port is not None else ():
            if labels_of(entry).get("kubernetes.io/service-name") == name:
                found.update(dict.fromkeys(_ready(entry, str(port.get("name") or "")) if port is not None else ()))
        if not found:
            self._warn("controller.go:1216", f'Service "{shown}" does not have any active Endpoint.')
        return tuple(sorted(found))

    def _certificate(self, key: str, host: str) -> str:
        """The certificate that the Secret holds; the controller says so if there is none, or if it is out of date."""
        namespace, _, name = key.partition("/")
        secret = self._lister.get("secrets", namespace, name)
        text = _decoded((secret.get("data") or {}).get("tls.crt", "")) if secret is not None else ""
        found = blocks(text)
        if not found:
            said = f"local SSL certificate {key} was not found"
            self._warn(
                "controller.go:1488", f'Error getting SSL certificate "{key}": {said}. Using default certificate'
            )
            return ""
        facts = read(found[0])
        if facts is not None and facts.names and host not in facts.names:
            said = f"x509: certificate is valid for {', '.join(facts.names)}, not {host}"
            self._warn(
                "controller.go:1506", f'Unexpected error validating SSL certificate "{key}" for server "{host}": {said}'
            )
        if facts is not None and facts.not_after_ns < self._now_ns:
            until = format_rfc3339(facts.not_after_ns)
            self._warn("controller.go:1534", f'SSL certificate for server "{host}" is about to expire ({until})')
        return found[0]

    def _warn(self, where: str, text: str) -> None:
        self._lister.log("W", where, text)


def _ready(entry: ApiObject, port: str) -> list[Backend]:
    number = next((p["port"] for p in entry.get("ports") or () if (p.get("name") or "") == port), None)
    if number is None:
        return []
    return [
        (address, number)
        for endpoint in entry.get("endpoints") or ()
        if (endpoint.get("conditions") or {}).get("ready", True)
        for address in endpoint["addresses"]
    ]


def _age(ingress: ApiObject) -> tuple[str, str, str]:
    return str(ingress["metadata"].get("creationTimestamp", "")), namespace_of(ingress), name_of(ingress)


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text).decode(errors="replace")
    except binascii.Error:
        return ""
