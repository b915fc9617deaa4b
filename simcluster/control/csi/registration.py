"""Registration of CSI plugins with the kubelets: the CSINode objects.

While a driver's `csi-node-driver-registrar` runs on a node, the node's CSINode lists the driver,
with the limit that the plugin names. The kubelet makes the object itself, without drivers
(`kubelet.attaching`). Source: pkg/volume/csi/nodeinfomanager/nodeinfomanager.go. Left out: labels of the
plugin's topology.
"""

from __future__ import annotations

from simcluster.api.client import Client
from simcluster.api.objects import Json, thaw, uid_of
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.control.csi.sidecars import REGISTRAR, SidecarPods, attach_limit, driver_of, is_running
from simcluster.control.volumes.attachable import CSI_NODES
from simcluster.engine import Simulation


class CsiRegistration(Controller):
    """Keeps the CSINodes. Work-queue keys are nodes."""

    name = "csi-registration"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.client = Client(api, User("system:node", ("system:masters", "system:authenticated")), "kubelet")
        self.pods = SidecarPods(sim, api, self.name, self._on_pod)

    def _on_pod(self, change: Change) -> None:
        if change.object["spec"].get("nodeName"):
            self.enqueue("", change.object["spec"].get("nodeName", ""))

    def sync(self, namespace: str, name: str) -> None:
        """List the drivers whose plugins are registered on one node."""
        cache = self.client.cache
        node = cache.get("nodes", "", name)
        if node is None:
            return
        drivers: list[Json] = []
        for pod in cache.pods_on(name):
            driver = driver_of(cache, pod) if is_running(pod, REGISTRAR) else ""
            if driver and all(entry["name"] != driver for entry in drivers):
                limit = attach_limit(pod)
                count = {"allocatable": {"count": limit}} if limit else {}
                drivers.append({"name": driver, "nodeID": name, "topologyKeys": None, **count})
        known = cache.get(CSI_NODES, "", name)
        if known is None:
            if drivers:
                owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid_of(node)}
                metadata: Json = {"name": name, "ownerReferences": [owner]}
                body = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": metadata}
                self.client.create(CSI_NODES, "", {**body, "spec": {"drivers": drivers}})
        elif [entry["name"] for entry in known["spec"].get("drivers") or ()] != [entry["name"] for entry in drivers]:
            self.client.update(CSI_NODES, {**thaw(known), "spec": {"drivers": drivers}})
