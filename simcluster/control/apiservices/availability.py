"""Whether aggregated APIs are available: the condition of APIServices that name a Service.

The aggregator looks at the Service, at its endpoints, and asks for the API. Nobody in this world
serves an aggregated API besides metrics-server: any other server answers that it knows no such path.
Source: kube-aggregator pkg/controllers/status/remote of 1.32. Left out: certificates of the API.
"""

from __future__ import annotations

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, Json, condition, name_of, namespace_of, thaw, transition_time
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller, Informer
from simcluster.engine import SECOND, Simulation, format_rfc3339

API_SERVICES = "apiservices.apiregistration.k8s.io"
#: The controller looks again so often (resync of its queue).
RESYNC_NS = 30 * SECOND
_METRICS = "metrics.k8s.io"
#: Group and version of an APIService, by its name.
Verdict = tuple[str, str, str]


class _Backends(Informer):
    """Changes of Services and Endpoints that an APIService names."""

    def __init__(self, sim: Simulation, availability: ApiServiceAvailability, resource: str) -> None:
        super().__init__(sim, availability.name, resource, availability.on_backend)
        self._named = availability.named

    def notify(self, change: Change) -> None:
        """Called by the store at commit."""
        if (namespace_of(change.object), name_of(change.object)) in self._named:
            super().notify(change)


class ApiServiceAvailability(Controller):
    """Keeps the condition Available. Work-queue keys are APIServices.

    Attributes:
        named: (namespace, name) of the Services that APIServices name.
    """

    name = "apiservice-availability"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.client = Client(
            api, User("system:apiserver", ("system:masters", "system:authenticated")), "kube-apiserver"
        )
        self.named: dict[tuple[str, str], dict[str, None]] = {}
        self.watch(API_SERVICES, self._on_api_service)
        for resource in ("services", "endpoints"):
            api.store.subscribe(resource, _Backends(sim, self, resource))

    def _on_api_service(self, change: Change) -> None:
        service = change.object["spec"].get("service")
        if not service:
            return
        key = (service.get("namespace", ""), service.get("name", ""))
        if change.kind == "DELETED":
            self.named.get(key, {}).pop(name_of(change.object), None)
            return
        self.named.setdefault(key, {})[name_of(change.object)] = None
        if change.previous is None or change.previous["spec"] != change.object["spec"]:
            self.enqueue_object(change)

    def on_backend(self, change: Change) -> None:
        """The Service of an APIService, or its endpoints, have changed."""
        for name in self.named.get((namespace_of(change.object), name_of(change.object)), {}):
            self.enqueue("", name)

    def sync(self, namespace: str, name: str) -> None:
        """Look at one APIService."""
        api_service = self.client.cache.get(API_SERVICES, "", name)
        if api_service is None or not api_service["spec"].get("service"):
            return
        status, reason, message = self._verdict(api_service)
        if status == "False":
            self.api.log.complain("remote_available_controller.go:448", f"{name} failed with: {message}")
        if reason == "FailedDiscoveryCheck":
            self.queue.add_after(f"/{name}", RESYNC_NS)
        before = condition(api_service, "Available")
        if before is not None and [before.get(f) for f in ("status", "reason", "message")] == [status, reason, message]:
            return
        since = transition_time(before, status, format_rfc3339(self.sim.now))
        entry: Json = {"type": "Available", "status": status, "reason": reason, "message": message}
        changed = thaw(api_service)
        changed["status"] = {"conditions": [{**entry, "lastTransitionTime": since}]}
        self.client.update_status(API_SERVICES, changed)

    def _verdict(self, api_service: ApiObject) -> Verdict:
        spec = api_service["spec"]
        where, name = spec["service"].get("namespace", ""), spec["service"].get("name", "")
        what = f'service/{name} in "{where}"'
        service = self.client.cache.get("services", where, name)
        if service is None:
            return ("False", "ServiceNotFound", f"{what} is not present")
        number = spec["service"].get("port", 443)
        port = next((p for p in service["spec"].get("ports") or () if p["port"] == number), None)
        if port is None:
            return ("False", "ServicePortError", f"{what} is not listening on port {number}")
        endpoints = self.client.cache.get("endpoints", where, name)
        if endpoints is None:
            return ("False", "EndpointsNotFound", f"cannot find endpoints for {what}")
        port_name = port.get("name", "")
        if not any(
            subset.get("addresses") and any(p.get("name", "") == port_name for p in subset.get("ports") or ())
            for subset in endpoints.get("subsets") or ()
        ):
            return ("False", "MissingEndpoints", f'endpoints for {what} have no addresses with port name "{port_name}"')
        return self._asked(spec, service, number)

    def _asked(self, spec: Json, service: ApiObject, port: int) -> Verdict:
        """What comes of asking for the API."""
        if spec["group"] == _METRICS and self.api.metrics is not None and self.api.metrics.available():
            return ("True", "Passed", "all checks passed")
        url = f"https://{service['spec'].get('clusterIP')}:{port}/apis/{spec['group']}/{spec['version']}"
        why = f"failing or missing response from {url}: bad status from {url}: 404"
        return ("False", "FailedDiscoveryCheck", why)
