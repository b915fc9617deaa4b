"""`World`: everything simulated, as one value that can be saved, copied and rewound."""

from __future__ import annotations

from importlib import resources

from simcluster.api.client import Client
from simcluster.api.request import ADMIN, User
from simcluster.api.server import Api
from simcluster.control.clusterdns import ClusterDns
from simcluster.control.kubelet import Kubelet, KubeletServers
from simcluster.control.kubeproxy import KubeProxy
from simcluster.control.manager import ControllerManager
from simcluster.control.metricsserver import MetricsServer
from simcluster.control.scheduler import Scheduler
from simcluster.engine import SECOND, Simulation, fork
from simcluster.models.apps.catalog import AppCatalog
from simcluster.models.machine.images import ImageRegistry
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.network import Network
from simcluster.models.traffic.engine import TrafficEngine
from simcluster.models.traffic.users import UserLoad
from simcluster.surface.kubectl import Kubectl
from simcluster.surface.protocols import CommandResult
from simcluster.world import bootstrap

GIB = 1 << 30
CONTROL_PLANE = "control-plane"
#: Longest time a new cluster may take until its system pods are ready.
BOOT_LIMIT_NS = 180 * SECOND


class World:
    """A cluster: control plane, nodes, network, applications and their users.

    Args:
        seed: from which every random draw follows.
        workers: number of worker nodes, `worker-1` to `worker-N`, besides the tainted `control-plane`.
        node_cpu: cores of every node.
        node_memory: bytes of memory of every node.

    Attributes:
        sim: time, timers and randomness.
        api: the API server with its store: the one truth about objects.
        network: pod addresses, service rules of the nodes, the cluster's DNS zone.
        machines, kubelets, proxies: the nodes and their agents, by node name.
        controllers, scheduler, dns, metrics: the control plane.
        catalog: what images do.
        traffic: requests on their way, and the users who send them.
    """

    def __init__(self, seed: int = 0, *, workers: int = 3, node_cpu: int = 4, node_memory: int = 8 * GIB) -> None:
        self.sim = Simulation(seed)
        self.api = Api(self.sim)
        self.network = Network()
        self.traffic = TrafficEngine(self.sim, self.network)
        self.catalog = AppCatalog(self.sim, self.traffic)
        self.registry = ImageRegistry(self.sim)
        self.catalog.publish(self.registry)
        admin = self.client("kubernetes-admin", "kubeadm")
        bootstrap.create_namespaces(admin)
        bootstrap.create_priority_classes(admin)
        self.machines: dict[str, Machine] = {}
        self.kubelets: dict[str, Kubelet] = {}
        self.proxies: dict[str, KubeProxy] = {}
        self.controllers = ControllerManager(self.sim, self.api)
        self.scheduler = Scheduler(self.sim, self.api)
        self.dns = ClusterDns(self.sim, self.api, self.network)
        for index, name in enumerate([CONTROL_PLANE, *(f"worker-{i + 1}" for i in range(workers))]):
            self._add_node(index, name, node_cpu, node_memory)
        self.api.kubelets = KubeletServers(self.kubelets)
        self.metrics = MetricsServer(self.sim, self.api, self.kubelets)
        self.api.metrics = self.metrics
        bootstrap.create_api_endpoints(admin, self.machines[CONTROL_PLANE].address)
        self.apply(resources.files("simcluster.world").joinpath("manifests/system.yaml").read_text())
        self._boot()

    @property
    def now(self) -> int:
        """Simulated nanoseconds (the clock that waiting commands see)."""
        return self.sim.now

    def advance(self, duration_ns: int) -> None:
        """Let the world live on for `duration_ns`."""
        self.sim.run_for(duration_ns)

    def run_for(self, duration_ns: int) -> None:
        """Let the world live on for `duration_ns`."""
        self.sim.run_for(duration_ns)

    def client(self, user: str, agent: str) -> Client:
        """A connection to the API server under an identity of your choice."""
        return Client(self.api, User(user, ADMIN.groups), agent)

    def kubectl(self, user: str = ADMIN.name, namespace: str = "default") -> Kubectl:
        """A kubectl whose waiting commands let this world live on."""
        return Kubectl(self.api, self, namespace=namespace, user=User(user, ADMIN.groups))

    def apply(self, manifests: str, *, user: str = ADMIN.name, namespace: str = "default") -> CommandResult:
        """`kubectl apply -f -` of YAML documents, as a deployer does it.

        Raises:
            ValueError: kubectl refused; the message is what it printed.
        """
        result = self.kubectl(user, namespace).run("apply -f -", manifests)
        if result.exit_code:
            raise ValueError(result.stderr)
        return result

    def deploy(self, app: str, namespace: str) -> None:
        """Apply the manifests of an application of `simcluster list apps`, as its deployer does.

        Raises:
            ValueError: the API server refused a manifest.
        """
        manifests = self.catalog.manifests(app)
        self.client("kubernetes-admin", "kubectl-create").create("namespaces", "", bootstrap.namespace(namespace))
        self.apply(manifests, namespace=namespace)

    def available(self, namespace: str) -> bool:
        """Whether every Deployment of the namespace has all its replicas available."""
        deployments = self.api.store.objects("deployments.apps", namespace)
        return all((d.get("status") or {}).get("availableReplicas", 0) == d["spec"]["replicas"] for d in deployments)

    def add_users(self, namespace: str, service: str, rps: float, *, mix: dict[str, float] | None = None) -> UserLoad:
        """Send users to a Service: `rps` requests a second of the operations in `mix`."""
        return self.traffic.add_users(service, namespace, service, rps=rps, mix=mix)

    def fork(self) -> World:
        """A second world with the same past. Call it between two timers only."""
        return fork(self)

    def _add_node(self, index: int, name: str, cpu: int, memory: int) -> None:
        machine = Machine(
            self.sim,
            name,
            address=f"172.18.0.{index + 2}",
            cpu_cores=cpu,
            memory_bytes=memory,
            pod_cidr=f"10.244.{index}.0/24",
            network=self.network,
            registry=self.registry,
            catalog=self.catalog,
        )
        for image in bootstrap.PRELOADED:
            machine.images.preload(image)
        self.machines[name] = machine
        control_plane = name == CONTROL_PLANE
        self.kubelets[name] = Kubelet(
            self.sim,
            self.api,
            machine,
            labels=bootstrap.CONTROL_PLANE_LABELS if control_plane else {},
            taints=bootstrap.CONTROL_PLANE_TAINTS if control_plane else (),
        )
        self.proxies[name] = KubeProxy(self.sim, self.api, self.network, name)

    def _boot(self) -> None:
        """Start the nodes and wait until the system pods are ready."""
        node_client = self.client("kubernetes-admin", "kubeadm")
        suffixes = self.sim.stream("kube-proxy pods")
        self.run_for(2 * SECOND)
        for name in self.machines:
            node = self.api.store.get("nodes", "", name)
            assert node is not None, f"{name} has not registered"
            if name == CONTROL_PLANE:
                bootstrap.create_static_pods(node_client, node)
            bootstrap.create_proxy_pod(node_client, node, suffixes.text("bcdfghjklmnpqrstvwxz2456789", 5))
        limit = self.sim.now + BOOT_LIMIT_NS
        while not self.available("kube-system"):
            assert self.sim.now < limit, "the system pods of a new cluster do not become ready"
            self.run_for(SECOND)
