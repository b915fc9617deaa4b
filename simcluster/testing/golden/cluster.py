"""The recorded cluster, simulated: its four nodes, its kubeconfig and what it did not have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from simcluster.api.client import Client
from simcluster.api.events import EventRecorder
from simcluster.api.objects import Json, thaw
from simcluster.api.store import Store
from simcluster.apps.registry import applications
from simcluster.control.kubelet import Kubelet, KubeletConfig
from simcluster.control.kubelet.kubelet import ContainerUsage, PodUsage
from simcluster.control.metricsserver import MetricsServer
from simcluster.control.pods.counters import Counters
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
from simcluster.world import apiservices
from simcluster.world.world import NodeSpec, World

_MEMORY = 8341868 << 10
#: Name, control plane?, zone; addresses are 10.0.0.10 and following, kubelets' ports 11250 and following.
_NODES = (
    ("hotel-control-plane", True, "us-east-1a"),
    ("hotel-worker", False, "us-east-1b"),
    ("hotel-worker2", False, "us-east-1c"),
    ("hotel-worker3", False, "us-east-1a"),
)


#: Nodes whose address range the recorded controller manager would not confirm.
_DISLIKED = ("hotel-worker",)


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
                enforce_allocatable=False,
                addresses=(("InternalDNS", "localhost"),),
                control_plane_labels={"node-role.kubernetes.io/control-plane": ""},
            ),
        )
        for index, (name, control_plane, zone) in enumerate(_NODES)
    )


class MainContainers:
    """A kubelet's statistics as the scripted cAdvisor gave them: without init containers."""

    def __init__(self, kubelets: Mapping[str, Kubelet], store: Store, node: str) -> None:
        self.kubelets = kubelets
        self.store = store
        self.node = node

    @property
    def running(self) -> bool:
        """Whether the kubelet's server answers."""
        return self.kubelets[self.node].running

    def node_stats(self) -> ContainerUsage:
        """Counters of the node."""
        return self.kubelets[self.node].node_stats()

    def stats(self) -> list[PodUsage]:
        """Counters of every pod with a running container that is not there for its start alone."""
        return [pod._replace(containers=kept) for pod in self.kubelets[self.node].stats() if (kept := self._main(pod))]

    def counters(self) -> Counters:
        """The same, as a scrape takes it."""
        return Counters.of(self.stats())

    def _main(self, pod: PodUsage) -> dict[str, ContainerUsage]:
        found = self.store.get("pods", pod.namespace, pod.name)
        initial = () if found is None else found["spec"].get("initContainers") or ()
        ending = {container["name"] for container in initial if container.get("restartPolicy") != "Always"}
        return {name: usage for name, usage in pod.containers.items() if name not in ending}


class _Sources(Mapping[str, MainContainers]):
    """The kubelets that there are at the time of a scrape."""

    def __init__(self, kubelets: Mapping[str, Kubelet], store: Store) -> None:
        self.kubelets = kubelets
        self.store = store

    def __getitem__(self, node: str) -> MainContainers:
        if node not in self.kubelets:
            raise KeyError(node)
        return MainContainers(self.kubelets, self.store, node)

    def __iter__(self) -> Iterator[str]:
        return iter(self.kubelets)

    def __len__(self) -> int:
        return len(self.kubelets)


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
        self.api.address = "10.0.0.10:16443"
        self.api.metrics = None
        self._move_api_server(self.client("kubernetes-admin", "kube-apiserver"))

    def _move_api_server(self, client: Client) -> None:
        """The recorded API server listened on a port of its own."""
        port = {"name": "https", "port": 16443, "protocol": "TCP"}
        service = {"name": "https", "port": 443, "protocol": "TCP", "targetPort": 16443}
        endpoints = client.cache.get("endpoints", "default", "kubernetes")
        assert endpoints is not None
        addresses = thaw(endpoints)["subsets"][0]["addresses"]
        for resource, patch in (
            ("services", {"spec": {"ports": [service]}}),
            ("endpoints", {"subsets": [{"addresses": addresses, "ports": [port]}]}),
            ("endpointslices.discovery.k8s.io", {"ports": [port]}),
        ):
            client.patch(resource, "default", "kubernetes", patch, kind="merge")

    def build_catalog(self) -> AppCatalog:
        """The conventions of the manifests."""
        return ConventionCatalog(self.sim, self.traffic, applications())

    def build_registry(self) -> ImageRegistry:
        """Registries after the conventions."""
        return ConventionRegistry(self.sim)

    def build_metrics(self) -> MetricsServer:
        """None until it is installed."""
        sources = _Sources(self.kubelets, self.api.store)
        return StandaloneMetricsServer(self.sim, self.api, sources)

    def build_machine(self, index: int, spec: NodeSpec) -> Machine:
        """A machine whose runtime can read annotations."""
        if spec.name in _DISLIKED:
            self._dislike(spec.name)
        machine = super().build_machine(index, spec)
        assert isinstance(machine.runtime, ConventionRuntime)
        machine.runtime.api = self.api
        return machine

    def _dislike(self, node: str) -> None:
        """The recorded controller manager could not hand out a node's address range."""
        reason = "CIDRAssignmentFailed"
        recorder = EventRecorder(self.sim, self.client("kubernetes-admin", "kube-controller-manager"), "cidrAllocator")
        reference = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node, "uid": node}}
        recorder.event(reference, "Normal", reason, f"Node {node} status is now: {reason}")

    def install_metrics_server(self) -> None:
        """The step that the recordings call so."""
        assert isinstance(self.metrics, StandaloneMetricsServer)
        self.metrics.installed = True
        self.api.metrics = self.metrics
        client = self.client("kubernetes-admin", "kubectl-client-side-apply")
        self._publish_metrics_server(client)
        apiservices.register_metrics(client, self.sim.now)

    def _publish_metrics_server(self, client: Client) -> None:
        """The Service that the aggregator asks; its address is that of the process beside the cluster."""
        metadata = {"name": "metrics-server", "namespace": "kube-system"}
        port = {"name": "https", "port": 443, "protocol": "TCP", "targetPort": 4443}
        service: Json = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [port]}}
        client.create("services", "kube-system", service)
        ports = [{"name": "https", "port": 4443, "protocol": "TCP"}]
        subsets = [{"addresses": [{"ip": "10.0.0.10"}], "ports": ports}]
        endpoints: Json = {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": subsets}
        client.create("endpoints", "kube-system", endpoints)

    def kill_kubelet(self, node: str) -> None:
        """kill -9 of a node's kubelet; nothing starts it again."""
        self.machines[node].control("stop", "kubelet")
