"""The Endpoints controller: one Endpoints object per Service with a selector.

Leaves out dual stack.
Source: kubernetes pkg/controller/endpoint/endpoints_controller.go.
"""

from __future__ import annotations

import json

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json, is_pod_ready, labels_of, name_of, namespace_of, thaw, uid_of
from simcluster.control.services.ports import endpoint_ports
from simcluster.control.services.selection import (
    HEADLESS,
    LAST_CHANGE,
    SelectingController,
    belongs_to_endpoints,
    last_change,
    pod_ip,
)

#: Addresses beyond this are cut off, and the object says so (maxCapacity).
MAX_ADDRESSES = 1000
OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"


def address_of(pod: ApiObject, service: ApiObject) -> Json:
    """One entry of `addresses`."""
    entry: Json = {"ip": pod_ip(pod)}
    spec = pod["spec"]
    if spec.get("hostname") and spec.get("subdomain") == name_of(service):
        entry["hostname"] = spec["hostname"]
    if spec.get("nodeName"):
        entry["nodeName"] = spec["nodeName"]
    entry["targetRef"] = {
        "kind": "Pod",
        "namespace": namespace_of(pod),
        "name": name_of(pod),
        "uid": uid_of(pod),
    }
    return entry


def subsets_of(service: ApiObject, pods: list[ApiObject]) -> list[Json]:
    """The canonical subsets: pods with equal ports together, addresses sorted by IP text.

    A pod that is not ready stands under `notReadyAddresses`, unless the Service publishes
    those too.
    """
    publish = bool(service["spec"].get("publishNotReadyAddresses"))
    headless = service["spec"].get("clusterIP") == "None"
    groups: dict[str, tuple[list[Json], list[Json], list[Json]]] = {}
    for pod in pods:
        if not belongs_to_endpoints(pod, with_terminating=publish):
            continue
        ports = endpoint_ports(service, pod)
        if not ports and not (headless and not service["spec"].get("ports")):
            continue
        _, ready, waiting = groups.setdefault(json.dumps(ports), (ports, [], []))
        (ready if publish or is_pod_ready(pod) else waiting).append(address_of(pod, service))
    subsets = []
    for key in sorted(groups):
        ports, ready, waiting = groups[key]
        subset: Json = {}
        if ready:
            subset["addresses"] = sorted(ready, key=_ip)
        if waiting:
            subset["notReadyAddresses"] = sorted(waiting, key=_ip)
        if ports:
            subset["ports"] = sorted(ports, key=_port_order)
        subsets.append(subset)
    return subsets


def _ip(address: Json) -> str:
    return str(address["ip"])


def _port_order(port: Json) -> tuple[str, int, str]:
    return (port.get("name", ""), port["port"], port["protocol"])


def truncated(subsets: list[Json]) -> bool:
    """Cut the subsets to `MAX_ADDRESSES`, ready ones first; whether anything was cut."""
    room = MAX_ADDRESSES
    cut = False
    for field in ("addresses", "notReadyAddresses"):
        for subset in subsets:
            entries = subset.get(field, [])
            if len(entries) > room:
                subset[field] = entries[:room]
                cut = True
            room -= min(room, len(entries))
    return cut


class EndpointsController(SelectingController):
    """Reconciles Endpoints."""

    name = "endpoint-controller"

    @property
    def resource(self) -> str:
        """Core Endpoints."""
        return "endpoints"

    def service_of(self, result: ApiObject) -> str:
        """An Endpoints object has its Service's name."""
        return name_of(result)

    def sync(self, namespace: str, name: str) -> None:
        """Write the Endpoints of one Service, or remove those of a Service that is gone."""
        service = self.client.cache.get("services", namespace, name)
        current = self.client.cache.get("endpoints", namespace, name)
        if service is None:
            if current is not None and self._was_ours(current):
                self.client.delete("endpoints", namespace, name)
            return
        if not service["spec"].get("selector"):
            return  # hand-made Endpoints
        pods = self.selected(service)
        wanted = self._wanted(service, pods, current)
        if current is None:
            self._create(service, wanted)
        elif wanted != current:
            self.client.update("endpoints", wanted)

    def _was_ours(self, endpoints: ApiObject) -> bool:
        return LAST_CHANGE in (endpoints["metadata"].get("annotations") or {})

    def _wanted(self, service: ApiObject, pods: list[ApiObject], current: ApiObject | None) -> Json:
        subsets = subsets_of(service, pods)
        over = truncated(subsets)
        labels = dict(labels_of(service))
        if service["spec"].get("clusterIP") == "None":
            labels[HEADLESS] = ""
        wanted: Json = (
            thaw(current)
            if current is not None
            else {
                "apiVersion": "v1",
                "kind": "Endpoints",
                "metadata": {"name": name_of(service), "namespace": namespace_of(service)},
            }
        )
        unchanged = current is not None and (current.get("subsets") or []) == subsets and labels_of(current) == labels
        metadata = wanted["metadata"]
        annotations = metadata.setdefault("annotations", {})
        if not unchanged:
            annotations[LAST_CHANGE] = last_change(service, pods)
        if over:
            annotations[OVER_CAPACITY] = "truncated"
        else:
            annotations.pop(OVER_CAPACITY, None)
        metadata.pop("labels", None)
        if labels:
            metadata["labels"] = labels
        wanted.pop("subsets", None)
        if subsets:
            wanted["subsets"] = subsets
        return wanted

    def _create(self, service: ApiObject, wanted: Json) -> None:
        try:
            self.client.create("endpoints", namespace_of(service), wanted)
        except ApiError as error:
            if error.code == 403 and "NamespaceTerminating" in str(error.details):
                return
            message = (
                f"Failed to create endpoint for service {namespace_of(service)}/{name_of(service)}: {error.message}"
            )
            self.recorder.event(service, "Warning", "FailedToCreateEndpoint", message)
            raise
