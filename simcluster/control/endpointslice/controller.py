"""The EndpointSlice controller: slices of at most 100 endpoints per Service with a selector.

Leaves out dual stack and topology hints.
Source: kubernetes pkg/controller/endpointslice and staging/src/k8s.io/endpointslice.
"""

from __future__ import annotations

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json, labels_of, name_of, namespace_of, owner_reference, thaw, uid_of
from simcluster.control.endpoints.ports import endpoint_ports
from simcluster.control.endpoints.selection import (
    HEADLESS,
    LAST_CHANGE,
    SelectingController,
    belongs_to_endpoints,
    last_change,
)
from simcluster.control.endpointslice.slices import endpoint_of, plan_slices

SLICES = "endpointslices.discovery.k8s.io"
SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
CONTROLLER = "endpointslice-controller.k8s.io"


class EndpointSliceController(SelectingController):
    """Reconciles EndpointSlices."""

    name = "endpoint-slice-controller"

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
