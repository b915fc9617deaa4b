"""The EndpointSlice mirroring controller.

Endpoints of a Service without selector are written by hand or by another program; kube-proxies
read slices only. So this controller keeps slices with the same content, which the Endpoints own.
Source: kubernetes pkg/controller/endpointslicemirroring. Left out: IPv6, the limit of 1,000
addresses for a subset.
"""

from __future__ import annotations

from collections.abc import Iterator

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json, labels_of, name_of, namespace_of, owner_reference, thaw, uid_of
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.engine import Simulation

SLICES = "endpointslices.discovery.k8s.io"
SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
CONTROLLER = "endpointslicemirroring-controller.k8s.io"
SKIP_MIRROR = "endpointslice.kubernetes.io/skip-mirror"
LEADER = "control-plane.alpha.kubernetes.io/leader"
#: Annotations that are about the Endpoints alone.
_OWN = (
    "kubectl.kubernetes.io/last-applied-configuration",
    "endpoints.kubernetes.io/last-change-trigger-time",
    "endpoints.kubernetes.io/over-capacity",
)


class EndpointSliceMirroringController(Controller):
    """Reconciles the slices of Endpoints that nobody's selector makes. Work-queue keys are Endpoints."""

    name = "endpoint-slice-mirroring-controller"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.watch("endpoints", self.enqueue_object, self._is_hand_made)
        self.watch("services", self.enqueue_object, _has_no_selector)
        self.watch(SLICES, self._on_slice, _is_mirror)

    def _is_hand_made(self, change: Change) -> bool:
        service = self.client.cache.get("services", namespace_of(change.object), name_of(change.object))
        return service is None or not service["spec"].get("selector")

    def _on_slice(self, change: Change) -> None:
        name = labels_of(change.object).get(SERVICE_NAME)
        if name:
            self.enqueue(namespace_of(change.object), name)

    def sync(self, namespace: str, name: str) -> None:
        """Make the slices of one Endpoints object what it says."""
        endpoints = self.client.cache.get("endpoints", namespace, name)
        service = self.client.cache.get("services", namespace, name)
        if endpoints is None:
            return  # the slices are garbage: it owned them
        existing = self._slices(endpoints)
        wanted = list(_contents(endpoints)) if _is_mirrored(endpoints, service) else []
        for content in wanted:
            current = next((entry for entry in existing if _same_ports(entry, content)), None)
            if current is None:
                self._create(endpoints, content)
                continue
            existing.remove(current)
            changed = thaw(current)
            changed.update(content)
            changed["metadata"].update(_metadata(endpoints))
            if changed != current:
                self.client.update(SLICES, changed)
        for entry in existing:
            self.client.delete(SLICES, namespace, name_of(entry))

    def _slices(self, endpoints: ApiObject) -> list[ApiObject]:
        cache = self.client.cache
        found = [cache.get(*key) for key in cache.owned_by(uid_of(endpoints)) if key[0] == SLICES]
        return [entry for entry in found if entry is not None and labels_of(entry).get(MANAGED_BY) == CONTROLLER]

    def _create(self, endpoints: ApiObject, content: Json) -> None:
        body: Json = {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "generateName": f"{name_of(endpoints)}-",
                "namespace": namespace_of(endpoints),
                "ownerReferences": [owner_reference(endpoints)],
                **_metadata(endpoints),
            },
            **content,
        }
        try:
            self.client.create(SLICES, namespace_of(endpoints), body)
        except ApiError as error:
            if error.code == 403 and "NamespaceTerminating" in str(error.details):
                return
            key = f"{namespace_of(endpoints)}/{name_of(endpoints)}"
            message = f"Error updating EndpointSlices for Endpoints {key}: {error.message}"
            self.recorder.event(endpoints, "Warning", "FailedToUpdateEndpointSlices", message)
            raise


def _has_no_selector(change: Change) -> bool:
    """Whether a Service selects nothing, or selected nothing before."""
    before = change.previous
    return not change.object["spec"].get("selector") or (before is not None and not before["spec"].get("selector"))


def _is_mirror(change: Change) -> bool:
    return change.kind != "ADDED" and labels_of(change.object).get(MANAGED_BY) == CONTROLLER


def _is_mirrored(endpoints: ApiObject, service: ApiObject | None) -> bool:
    if labels_of(endpoints).get(SKIP_MIRROR) == "true" or LEADER in (endpoints["metadata"].get("annotations") or {}):
        return False
    return service is not None and not service["spec"].get("selector")


def _metadata(endpoints: ApiObject) -> Json:
    labels = {**labels_of(endpoints), SERVICE_NAME: name_of(endpoints), MANAGED_BY: CONTROLLER}
    known = endpoints["metadata"].get("annotations") or {}
    annotations = {key: value for key, value in known.items() if key not in _OWN}
    return {"labels": labels, **({"annotations": annotations} if annotations else {})}


def _contents(endpoints: ApiObject) -> Iterator[Json]:
    """One slice for each subset."""
    for subset in endpoints.get("subsets") or ():
        listed: list[Json] = []
        for field, ready in (("addresses", True), ("notReadyAddresses", False)):
            for address in subset.get(field) or ():
                entry: Json = {"addresses": [address["ip"]], "conditions": {"ready": ready}}
                for key in ("hostname", "nodeName", "targetRef"):
                    if address.get(key):
                        entry[key] = thaw(address[key]) if key == "targetRef" else address[key]
                listed.append(entry)
        ports = [
            {"name": port.get("name", ""), "port": port["port"], "protocol": port.get("protocol", "TCP")}
            for port in subset.get("ports") or ()
        ]
        yield {"addressType": "IPv4", "endpoints": listed, "ports": ports}


def _same_ports(entry: ApiObject, content: Json) -> bool:
    known = [(p.get("name", ""), p.get("port"), p.get("protocol")) for p in entry.get("ports") or ()]
    return known == [(p["name"], p["port"], p["protocol"]) for p in content["ports"]]
