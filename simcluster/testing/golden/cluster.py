"""The recorded cluster, simulated: its four nodes, its kubeconfig and what it did not have."""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.control.kubelet import KubeletConfig
from simcluster.control.metricsserver import MetricsServer
from simcluster.models.apps.catalog import AppCatalog
from simcluster.models.machine.images import ImageRegistry
from simcluster.models.machine.machine import Machine
from simcluster.surface.kubectl import KubeConfig
from simcluster.testing.golden.conventions import (
    ConventionCatalog,
    ConventionMachine,
    ConventionRegistry,
    ConventionRuntime,
)
from simcluster.world.world import NodeSpec, World

_MEMORY = 8341868 << 10
#: Name, control plane?, zone; addresses are 10.0.0.10 and following, kubelets' ports 11250 and following.
_NODES = (
    ("hotel-control-plane", True, "us-east-1a"),
    ("hotel-worker", False, "us-east-1b"),
    ("hotel-worker2", False, "us-east-1c"),
    ("hotel-worker3", False, "us-east-1a"),
)


def recorded_nodes() -> tuple[NodeSpec, ...]:
    """The nodes of the recordings, without reservations and with a further address each."""
    return tuple(
        NodeSpec(
            name,
            control_plane=control_plane,
            memory=_MEMORY,
            address=f"10.0.0.{10 + index}",
            labels={"topology.kubernetes.io/zone": zone},
            kubelet=KubeletConfig(
                port=11250 + index,
                eviction_memory_kib=0,
                eviction_disk_percent=0,
                addresses=(("InternalDNS", "localhost"),),
                control_plane_labels={"node-role.kubernetes.io/control-plane": ""},
            ),
        )
        for index, (name, control_plane, zone) in enumerate(_NODES)
    )


class StandaloneMetricsServer(MetricsServer):
    """metrics-server as a process beside the cluster: no pods of its own."""

    installed = False

    def available(self) -> bool:
        """Whether it was installed."""
        return self.installed

    def _pods_running(self) -> bool:
        return self.installed


class RecordedWorld(World):
    """A world of the recorded cluster's making."""

    machine_type = ConventionMachine
    preloaded = ()
    kubeconfig = KubeConfig("kind-hotel", "kind-hotel", "admin", "https://127.0.0.1:16443", "<path>")

    def __init__(self, seed: int = 0, nodes: Sequence[NodeSpec] | None = None) -> None:
        super().__init__(seed, nodes=recorded_nodes() if nodes is None else nodes, addons=False)

    def build_catalog(self) -> AppCatalog:
        """The conventions of the manifests."""
        return ConventionCatalog(self.sim, self.traffic)

    def build_registry(self) -> ImageRegistry:
        """Registries after the conventions."""
        return ConventionRegistry(self.sim)

    def build_metrics(self) -> MetricsServer:
        """None until it is installed."""
        return StandaloneMetricsServer(self.sim, self.api, self.kubelets)

    def build_machine(self, index: int, spec: NodeSpec) -> Machine:
        """A machine whose runtime can read annotations."""
        machine = super().build_machine(index, spec)
        assert isinstance(machine.runtime, ConventionRuntime)
        machine.runtime.api = self.api
        return machine

    def install_metrics_server(self) -> None:
        """The step that the recordings call so."""
        assert isinstance(self.metrics, StandaloneMetricsServer)
        self.metrics.installed = True

    def kill_kubelet(self, node: str) -> None:
        """kill -9 of a node's kubelet; nothing starts it again."""
        self.machines[node].control("stop", "kubelet")
