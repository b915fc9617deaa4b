"""The EndpointSlice controller: slices of at most 100 endpoints per Service with a selector.

Leaves out dual stack.
Source: kubernetes pkg/controller/endpointslice and staging/src/k8s.io/endpointslice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json, labels_of, name_of, namespace_of, owner_reference, thaw, uid_of
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Informer
from simcluster.control.endpointslice.hints import (
    close_hints,
    concern,
    is_auto,
    is_close,
    proportional_hints,
    shares_of,
)
from simcluster.control.endpointslice.slices import endpoint_of, plan_slices
from simcluster.control.services.ports import endpoint_ports
from simcluster.control.services.selection import (
    HEADLESS,
    LAST_CHANGE,
    SelectingController,
    belongs_to_endpoints,
    last_change,
)
from simcluster.engine import Simulation

SLICES = "endpointslices.discovery.k8s.io"
SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
CONTROLLER = "endpointslice-controller.k8s.io"


class NodeTopology(Informer):
    """Changes of nodes that may change the share of a zone, while a Service asks for shares."""

    def __init__(
        self, sim: Simulation, name: str, handler: Callable[[Change], None], asked: Mapping[str, None]
    ) -> None:
        super().__init__(sim, name, "nodes", handler)
        self._asked = asked

    def notify(self, change: Change) -> None:
        """Called by the store at commit."""
        if not self._asked:
            return
        if change.previous is None or change.kind == "DELETED" or concern(change.object) != concern(change.previous):
            super().notify(change)


class EndpointSliceController(SelectingController):
    """Reconciles EndpointSlices."""

    name = "endpoint-slice-controller"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self._hinted: dict[str, None] = {}  # Services that asked for proportional hints, by key
        api.store.subscribe("nodes", NodeTopology(sim, self.name, self._on_node, self._hinted))

    def _on_node(self, change: Change) -> None:
        for key in self._hinted:
            self.queue.add(key)

    @property
    def resource(self) -> str:
        """EndpointSlices."""
        return SLICES

    def service_of(self, result: ApiObject) -> str:
        """The label says it, if the slice is one of ours."""
        labels = labels_of(result)
        return labels.get(SERVICE_NAME, "") if labels.get(MANAGED_BY) == CONTROLLER else ""

    def sync(self, namespace: str, name: str) -> None:
        """Write the slices of one Service."""
        service = self.client.cache.get("services", namespace, name)
        if service is None or not service["spec"].get("selector") or service["spec"].get("type") == "ExternalName":
            return  # slices of a Service that is gone are garbage: it owns them
        pods = self.selected(service)
        wanted: list[tuple[list[Json], Json]] = []
        for pod in pods:
            if belongs_to_endpoints(pod, with_terminating=True):
                node = self.client.cache.get("nodes", "", pod["spec"].get("nodeName", ""))
                ports = [{"name": "", **entry} for entry in endpoint_ports(service, pod)]
                wanted.append((ports, endpoint_of(pod, service, node)))
        existing = self._slices(service)
        self._hint(service, [entry for _, entry in wanted], existing)
        plan = plan_slices(existing, wanted)
        changed_at = last_change(service, pods)
        for ports, endpoints in plan.create:
            self._create(service, ports, endpoints, changed_at)
        labels = self._labels(service)
        for entry in existing:
            content = plan.update.get(name_of(entry))
            if content is not None:
                self._update(entry, labels, *content, changed_at)
            elif name_of(entry) in plan.delete:
                self.client.delete(SLICES, namespace, name_of(entry))
            elif labels_of(entry) != labels:
                self._update(entry, labels, entry.get("ports") or [], entry.get("endpoints") or [], changed_at)

    def _hint(self, service: ApiObject, endpoints: list[Json], existing: list[ApiObject]) -> None:
        """Say which zone each endpoint is for, if the Service wants that."""
        key = f"{namespace_of(service)}/{name_of(service)}"
        if not is_auto(service):
            self._hinted.pop(key, None)
            found = close_hints(endpoints) if is_close(service) else None
        else:
            self._hinted[key] = None
            found = proportional_hints(endpoints, shares_of(self.client.cache.objects("nodes")))
            had = any("hints" in entry for one in existing for entry in one.get("endpoints") or ())
            if found.problem:
                text = f"{found.problem}, addressType: IPv4"
                self.recorder.event(service, "Warning", "TopologyAwareHintsDisabled", text)
            elif not had:
                text = "Topology Aware Hints has been enabled, addressType: IPv4"
                self.recorder.event(service, "Normal", "TopologyAwareHintsEnabled", text)
        for entry in endpoints:
            zone = found.zones.get(entry["addresses"][0]) if found is not None else None
            if zone and entry["conditions"].get("ready"):
                entry["hints"] = {"forZones": [{"name": zone}]}

    def _slices(self, service: ApiObject) -> list[ApiObject]:
        """Our slices of the Service, oldest first."""
        found = []
        for resource, namespace, name in self.client.cache.owned_by(uid_of(service)):
            entry = self.client.cache.get(resource, namespace, name) if resource == SLICES else None
            if entry is not None and self.service_of(entry) == name_of(service):
                found.append(entry)
        return sorted(found, key=_age)

    def _labels(self, service: ApiObject) -> dict[str, str]:
        labels = {**labels_of(service), MANAGED_BY: CONTROLLER, SERVICE_NAME: name_of(service)}
        if service["spec"].get("clusterIP") == "None":
            labels[HEADLESS] = ""
        return labels

    def _create(self, service: ApiObject, ports: list[Json], endpoints: list[Json], changed_at: str) -> None:
        body: Json = {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "generateName": f"{name_of(service)}-",
                "namespace": namespace_of(service),
                "labels": self._labels(service),
                "annotations": {LAST_CHANGE: changed_at},
                "ownerReferences": [owner_reference(service)],
            },
            "addressType": "IPv4",
            "endpoints": endpoints,
            "ports": ports,
        }
        try:
            self.client.create(SLICES, namespace_of(service), body)
        except ApiError as error:
            if error.code == 403 and "NamespaceTerminating" in str(error.details):
                return
            message = f"Error updating Endpoint Slices for Service {namespace_of(service)}/{name_of(service)}: "
            self.recorder.event(service, "Warning", "FailedToUpdateEndpointSlices", message + error.message)
            raise

    def _update(
        self, entry: ApiObject, labels: dict[str, str], ports: list[Json], endpoints: list[Json], changed_at: str
    ) -> None:
        changed = thaw(entry)
        changed["metadata"]["labels"] = labels
        changed["metadata"].setdefault("annotations", {})[LAST_CHANGE] = changed_at
        changed["ports"] = ports
        changed["endpoints"] = endpoints
        self.client.update(SLICES, changed)


def _age(entry: ApiObject) -> tuple[str, str]:
    return (entry["metadata"]["creationTimestamp"], name_of(entry))
