"""The Service `kubernetes` in `default`, its Endpoints and its EndpointSlice, which every kube-apiserver keeps itself.

Source: kube-apiserver 1.32 (pkg/controlplane/controller/kubernetesservice, pkg/controlplane/reconcilers): every ten
seconds what is missing is made again and addresses and ports of the endpoints are put right; the Service itself is
not changed. Left out: the Leases under `/masterleases`, for there is one server, and the removal at its orderly end.
"""

from __future__ import annotations

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.objects import Json, thaw
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.engine import SECOND, Simulation, Timer

#: EndpointInterval (DefaultEndpointReconcilerInterval).
PERIOD_NS = 10 * SECOND
USER = User("system:apiserver", ("system:masters", "system:authenticated"))
_NAME, _NAMESPACE, _SLICES = "kubernetes", "default", "endpointslices.discovery.k8s.io"


class KubernetesService:
    """Has the API server found inside of its cluster, at `api.address`."""

    def __init__(self, sim: Simulation, api: Api) -> None:
        self.sim = sim
        self.client = Client(api, USER, "kube-apiserver")
        self._timer: Timer | None = None

    def begin(self) -> None:
        """The server serves."""
        self.end()
        self._timer = self.sim.every(PERIOD_NS, self._reconcile, first_ns=self.sim.now + PERIOD_NS)

    def end(self) -> None:
        """It serves no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _reconcile(self) -> None:
        try:
            self.reconcile()
        except ApiError:
            return  # what etcd or admission refuses is tried again with the next period

    def reconcile(self) -> None:
        """Make what is missing, and put the endpoints right. Raises ApiError."""
        host, _, number = str(getattr(self.client.api, "address", "")).rpartition(":")
        port: Json = {"name": "https", "port": int(number), "protocol": "TCP"}
        service = {"name": "https", "port": 443, "protocol": "TCP", "targetPort": int(number)}
        labels = {"component": "apiserver", "provider": "kubernetes"}
        self._keep("services", "v1", "Service", labels, {"spec": {"clusterIP": "10.96.0.1", "ports": [service]}})
        labels = {"endpointslice.kubernetes.io/skip-mirror": "true"}
        subsets = [{"addresses": [{"ip": host}], "ports": [port]}]
        self._keep("endpoints", "v1", "Endpoints", labels, {"subsets": subsets})
        labels = {"kubernetes.io/service-name": _NAME}
        endpoints = [{"addresses": [host], "conditions": {"ready": True}}]
        slices: Json = {"addressType": "IPv4", "endpoints": endpoints, "ports": [port]}
        self._keep(_SLICES, "discovery.k8s.io/v1", "EndpointSlice", labels, slices)

    def _keep(self, resource: str, version: str, kind: str, labels: Json, content: Json) -> None:
        known = self.client.cache.get(resource, _NAMESPACE, _NAME)
        if known is None:
            metadata: Json = {"name": _NAME, "namespace": _NAMESPACE, "labels": labels}
            self.client.create(
                resource, _NAMESPACE, {"apiVersion": version, "kind": kind, "metadata": metadata, **content}
            )
        elif kind != "Service" and any(known.get(field) != value for field, value in content.items()):
            self.client.update(resource, {**thaw(known), **content})
