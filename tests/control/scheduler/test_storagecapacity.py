"""Where a provisioner can make a volume, and pods that name their node."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.objects import condition
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.control.scheduler import Scheduler
from simcluster.engine import SECOND, Simulation
from tests.clusters.controlplane import node_object, pod_object

DRIVER = "disk.example.com"
ZONE = "topology.kubernetes.io/zone"


class Cluster:
    def __init__(self, *, reports: bool = True, **storage_class: Any) -> None:
        self.sim = Simulation(0)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        for n, zone in ((1, "a"), (2, "b")):
            self.user.create("nodes", "", node_object(f"n{n}", cpu="2", topology_kubernetes_io__zone=zone))
        body = {"metadata": {"name": "late"}, "provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer"}
        self.user.create("storageclasses.storage.k8s.io", "", {**body, **storage_class})
        spec = {"storageCapacity": reports, "attachRequired": True, "podInfoOnMount": False}
        self.user.create("csidrivers.storage.k8s.io", "", {"metadata": {"name": DRIVER}, "spec": spec})
        self.scheduler = Scheduler(self.sim, self.api)

    def capacity(self, zone: str, amount: str, **more: Any) -> None:
        topology = {"nodeTopology": {"matchLabels": {ZONE: zone}}, "storageClassName": "late", "capacity": amount}
        body = {"metadata": {"name": f"zone-{zone}"}, **topology, **more}
        self.user.create("csistoragecapacities.storage.k8s.io", "default", body)

    def pod(self, size: str = "10Gi", **spec: Any) -> None:
        wanted: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "storageClassName": "late"}
        wanted["resources"] = {"requests": {"storage": size}}
        self.user.create("persistentvolumeclaims", "default", {"metadata": {"name": "data"}, "spec": wanted})
        claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
        self.user.create("pods", "default", pod_object("p", volumes=[claim], **spec))
        self.sim.run_for(3 * SECOND)

    def chosen(self) -> str:
        """The node that the scheduler has chosen for the claim's volume."""
        claim = self.user.get("persistentvolumeclaims", "default", "data")
        annotations = claim["metadata"].get("annotations") or {}
        return str(annotations.get("volume.kubernetes.io/selected-node", ""))

    def why(self) -> str:
        entry = condition(self.user.get("pods", "default", "p"), "PodScheduled")
        assert entry is not None
        return str(entry["message"]).partition(" preemption:")[0]


def test_a_volume_goes_where_its_driver_has_room() -> None:
    cluster = Cluster()
    cluster.capacity("a", "5Gi")
    cluster.capacity("b", "50Gi")
    cluster.pod()
    assert cluster.chosen() == "n2"


@pytest.mark.parametrize("more", [{"capacity": "5Gi"}, {"capacity": "500Gi", "maximumVolumeSize": "9Gi"}])
def test_without_room_anywhere_the_pod_waits(more: dict[str, str]) -> None:
    cluster = Cluster()
    cluster.capacity("a", "1Gi", **more)
    cluster.pod()
    assert cluster.chosen() == ""
    assert cluster.why() == "0/2 nodes are available: 2 node(s) did not have enough free storage."


def test_a_driver_that_reports_nothing_has_room_everywhere() -> None:
    cluster = Cluster(reports=False)
    cluster.pod()
    assert cluster.chosen() in ("n1", "n2")


def test_a_class_may_allow_some_topologies_only() -> None:
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": ["b", "c"]}]}]
    cluster = Cluster(reports=False, allowedTopologies=allowed)
    cluster.pod()
    assert cluster.chosen() == "n2"


def test_nodes_that_a_pod_does_not_name_are_left_out_before_the_filters() -> None:
    cluster = Cluster(reports=False)
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    cluster.pod(cpu="3", affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}})
    assert cluster.why() == (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )
