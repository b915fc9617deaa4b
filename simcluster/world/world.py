"""`World`: everything simulated, as one value that can be saved, copied and rewound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from simcluster.api.client import Client
from simcluster.api.request import ADMIN, User
from simcluster.apps.registry import applications
from simcluster.control.apiservices import ApiServiceAvailability
from simcluster.control.clusterdns import ClusterDns
from simcluster.control.csi import StorageBackend, csi_sidecars
from simcluster.control.kubelet import Kubelet, KubeletConfig, KubeletServers
from simcluster.control.kubeproxy import KubeProxy, RuleBook
from simcluster.control.manager import ControllerManager
from simcluster.control.metricsserver import MetricsServer
from simcluster.control.networkpolicy import NetworkPolicyAgent
from simcluster.control.operator import Operators
from simcluster.control.scheduler import Scheduler
from simcluster.control.serviceaccount import track_use
from simcluster.control.storage import LocalPathProvisioner, VolumeContents
from simcluster.engine import SECOND, Simulation, fork
from simcluster.engine.content import Library
from simcluster.models.apps.catalog import AppCatalog
from simcluster.models.machine.hardware import MachineSpec
from simcluster.models.machine.images import ImageRegistry
from simcluster.models.machine.imagetools.git import FORGES
from simcluster.models.machine.linux import LinuxMachine
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.network import Network
from simcluster.models.traffic.cluster.engine import TrafficEngine
from simcluster.models.traffic.cluster.users import UserLoad
from simcluster.models.userland.outcome import Outcome
from simcluster.surface.kubectl import KubeConfig, Kubectl
from simcluster.surface.nodeshell.shell import NodeShell
from simcluster.telemetry.alertmanager import oncall
from simcluster.telemetry.logql.store import LogStore
from simcluster.telemetry.metrics.store import MetricStore
from simcluster.world import apiservices, bootstrap, history, leap
from simcluster.world.apigate import GatedApi
from simcluster.world.apiproxy import ClusterProxy
from simcluster.world.controlplane import ControlPlane
from simcluster.world.health import ControlPlaneHealth
from simcluster.world.hostprograms import HostPrograms
from simcluster.world.kubernetesservice import KubernetesService
from simcluster.world.podkubectl import PodKubectl
from simcluster.world.profile import Profile
from simcluster.world.programs import WorldPrograms
from simcluster.world.still import Still
from simcluster.world.webhooks import ServiceWebhooks

GIB = 1 << 30
CONTROL_PLANE = "control-plane"
#: Longest time a new cluster may take until its system pods are ready.
BOOT_LIMIT_NS = 180 * SECOND
#: After this a custom resource definition is established and served.
ESTABLISHED_NS = 3 * SECOND


@dataclass(frozen=True)
class NodeSpec:
    """One node to build. CPU in cores, memory in bytes; empty addresses are given out in order.

    A node of the control plane that is not `tainted` runs other pods too.
    """

    name: str
    control_plane: bool = False
    tainted: bool = True
    cpu: int = 4
    memory: int = 8 * GIB
    address: str = ""
    pod_cidr: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    kubelet: KubeletConfig = field(default_factory=KubeletConfig)


def default_nodes(workers: int, cpu: int = 4, memory: int = 8 * GIB) -> tuple[NodeSpec, ...]:
    """A tainted `control-plane` and `worker-1` to `worker-N`, each with so many cores and bytes.

    With no workers the control plane's node has no taint, so that it runs everything, as kind makes it.
    """
    names = (f"worker-{index + 1}" for index in range(workers))
    first = NodeSpec(CONTROL_PLANE, control_plane=True, tainted=workers > 0, cpu=cpu, memory=memory)
    return (first, *(NodeSpec(name, cpu=cpu, memory=memory) for name in names))


class World:
    """A cluster: control plane, nodes, network, applications and their users.

    Args:
        seed: from which every random draw follows.
        workers: number of worker nodes besides the control plane's; with 0 its node runs everything.
        nodes: the nodes to build instead of `default_nodes(workers)`.
        addons: whether what kubeadm installs runs in `kube-system` (static pods, kube-proxy,
            CoreDNS, metrics-server); without, there are bare nodes and no metrics API.
        library: where further applications are found.
        profile: figures of a calibrated cluster instead of the usual ones.

    Attributes:
        sim: time, timers and randomness.
        api: the API server with its store: the one truth about objects.
        network: pod addresses, service rules of the nodes, the cluster's DNS zone.
        machines, kubelets, proxies: the nodes and their agents, by node name.
        controllers, scheduler, dns, metrics, policies: what the cluster's components do.
        control_plane: their processes; programs: what every container runs.
        storage: what stands behind the drivers of volumes, and its troubles.
        operators: which images are operators (`operators.add(image, class)` for more).
        catalog: what images do.
        traffic: requests on their way, and the users who send them.
        machine_type, preloaded: class of the nodes' machines, and the images on their disks.
        kubeconfig: what `kubectl config view` shows.
    """

    machine_type: type[LinuxMachine] = LinuxMachine
    preloaded: tuple[str, ...] = bootstrap.PRELOADED
    kubeconfig = KubeConfig()

    def __init__(
        self,
        seed: int = 0,
        *,
        workers: int = 3,
        nodes: Sequence[NodeSpec] | None = None,
        addons: bool = True,
        library: Library | None = None,
        profile: Profile | None = None,
    ) -> None:
        self.library = library
        self.sim = Simulation(seed, None if profile is None else profile.figures)
        self.api = GatedApi(self.sim)
        self.network = Network()
        self.network.outside |= FORGES
        self.traffic = TrafficEngine(self.sim, self.network)
        self.catalog = self.build_catalog()
        self.catalog.kubectl = PodKubectl(self)
        self.host_programs = HostPrograms(self)
        self.registry = self.build_registry()
        self.catalog.publish(self.registry)
        admin = self.client("kubernetes-admin", "kubeadm")
        bootstrap.create_namespaces(admin)
        bootstrap.enforce_access(admin)
        track_use(self.sim, self.api)
        bootstrap.create_priority_classes(admin)
        apiservices.register(admin, self.sim.now)
        self.machines: dict[str, Machine] = {}
        self.kubelets: dict[str, Kubelet] = {}
        self.proxies: dict[str, KubeProxy] = {}
        self._rulebook = RuleBook(self.api.store)
        self.controllers = ControllerManager(self.sim, self.api)
        self.scheduler = Scheduler(self.sim, self.api)
        self.api.components = ControlPlaneHealth(self.scheduler)
        self.provisioner = LocalPathProvisioner(self.sim, self.api)
        self.availability = ApiServiceAvailability(self.sim, self.api)
        VolumeContents(self.api.store, self.network, self.machines)
        self.storage = StorageBackend()
        self.csi = csi_sidecars(self.sim, self.api, self.storage)
        self.control_plane = ControlPlane(self.sim, self.api, self.scheduler, self.controllers, admin)
        self.control_plane.components["etcd"].tool = self.host_programs.in_container
        self.operators = Operators(self.api, self.catalog.operators)
        self.programs = WorldPrograms(self.catalog, self.control_plane, self.proxies, self.operators)
        self.dns = ClusterDns(self.sim, self.api, self.network)
        self.policies = NetworkPolicyAgent(self.sim, self.api, self.network)
        specs = tuple(nodes) if nodes is not None else default_nodes(workers)
        for index, spec in enumerate(specs):
            self._add_node(index, spec, addons)
        self.api.kubelets = KubeletServers(self.kubelets)
        self.metrics = self.build_metrics()
        self.api.metrics = self.metrics
        front = next((spec.name for spec in specs if spec.control_plane), specs[0].name)
        self.api.reach_webhooks(ServiceWebhooks(self.sim, self.api.store, self.network, front))
        self.api.proxy = ClusterProxy(self.sim, self.network, self.kubelets, front)
        KubernetesService(self.sim, self.api).reconcile()
        if addons:
            deployer = self.kubectl()
            for name in bootstrap.ADDONS:
                _applied(deployer, bootstrap.manifest(name))
            apiservices.register_metrics(admin, self.sim.now)
        self._boot(addons)

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

    def leap(self, span_ns: int) -> None:
        """Let the world live on for `span_ns` of idle time, most of it skipped: see `world.leap`. Raises ValueError."""
        leap.leap(self, span_ns)

    def client(self, user: str, agent: str) -> Client:
        """A connection to the API server under an identity of your choice."""
        return Client(self.api, _administrator(user), agent)

    def on_node(self, node: str, command: str) -> tuple[int, str]:
        """Run a line of shell as root on a node, at once: exit status, and what it printed. Raises KeyError."""
        result = NodeShell(self.machines[node], Still(self.sim), None, self.host_programs).sh(command)
        return result.exit_code, str(result)

    def kubectl(self, user: str = ADMIN.name, namespace: str = "default") -> Kubectl:
        """A kubectl whose waiting commands let this world live on."""
        return Kubectl(self.api, self, namespace=namespace, user=_administrator(user), config=self.kubeconfig)

    def apply(self, manifests: str, *, user: str = ADMIN.name, namespace: str = "default") -> Outcome:
        """`kubectl apply -f -` of YAML documents, as a deployer does it.

        Raises:
            ValueError: kubectl refused; the message is what it printed.
        """
        return _applied(self.kubectl(user, namespace), manifests)

    def deploy(self, app: str, namespace: str, age_ns: int = 0) -> None:
        """Apply the manifests of an application of `simcluster list apps`, as its deployer does.

        What an application brings for the whole cluster (custom resource definitions, its operator)
        comes first; until its resources are served, the world lives on for a moment.

        Args:
            age_ns: for how long it has been there when this returns: then it has a past of its own (`world.history`),
                with all that others have changed in it since.

        Raises:
            ValueError: the API server refused a manifest, or a world of this age cannot be.
        """
        manifests = self.catalog.manifests(app)
        if age_ns:
            history.live_through(self, app, namespace, age_ns)
            return
        self.prepare(app, namespace)
        self.apply(manifests, namespace=namespace)

    def prepare(self, app: str, namespace: str) -> None:
        """Make the namespace of an application, if there is none, after what it brings for the whole cluster.

        Raises:
            ValueError: the API server refuses something.
        """
        prerequisites = self.catalog.prerequisites(app)
        if prerequisites:
            self.apply(prerequisites)
            self.run_for(ESTABLISHED_NS)
        if self.api.store.get("namespaces", "", namespace) is None:
            self.client("kubernetes-admin", "kubectl-create").create("namespaces", "", bootstrap.namespace(namespace))

    def observe(self) -> None:
        """Install Prometheus with its kin, Loki with its agents and Jaeger in the namespace `observe`, as charts do.

        Time passes until they serve.

        Raises:
            ValueError: the API server refused a manifest.
        """
        self.network.outside[oncall.HOST] = oncall.ADDRESS
        for name in bootstrap.OBSERVE:
            self.apply(bootstrap.manifest(name))
        limit = self.sim.now + BOOT_LIMIT_NS
        while not self.available("observe") and self.sim.now < limit:
            self.run_for(SECOND)

    def stop_collecting(self) -> None:
        """Let Prometheus, the agents of logs and the collector of spans take nothing in any more, nor programs print
        anything of requests, for good.

        Their pods run on, answer health checks, and queries with what they have; no series grows, no rule is evaluated,
        no line is shipped and nobody is paged any more. It is for copies of a world of which only the cluster is
        looked at: all that collecting costs falls away, and users, pods and nodes go on as before. A pod of theirs that
        begins anew collects again.
        """
        for machine in self.machines.values():
            for container in machine.containers():
                if container.running:
                    container.program.stop_collecting()
        self.traffic.exemplars.stop()

    @property
    def observed(self) -> bool:
        """Whether it was given what watches it."""
        return oncall.HOST in self.network.outside

    @property
    def series(self) -> MetricStore | None:
        """What Prometheus has on its disk (a `promql.storage.Queryable`); None where there is none."""
        return self.programs.databases.newest

    @property
    def lines(self) -> LogStore | None:
        """What Loki has on its disk (a `logql.storage.LogSource`); None where there is none."""
        return self.programs.logs.newest

    def available(self, namespace: str) -> bool:
        """Whether every Deployment and StatefulSet of the namespace has all its replicas available."""
        found = [
            o for kind in ("deployments", "statefulsets") for o in self.api.store.objects(f"{kind}.apps", namespace)
        ]
        return all((o.get("status") or {}).get("availableReplicas", 0) == o["spec"]["replicas"] for o in found)

    def add_users(
        self, namespace: str, service: str, rps: float, *, mix: dict[str, float] | None = None, tls: bool = False
    ) -> UserLoad:
        """Send users to a Service: `rps` requests a second of the operations in `mix`; with `tls` to its port 443."""
        port = 443 if tls else None
        return self.traffic.add_users(service, namespace, service, port=port, rps=rps, mix=mix, tls=tls)

    def fork(self) -> World:
        """A second world with the same past. Call it between two timers only."""
        return fork(self)

    def reseed(self, seed: int) -> None:
        """Live on as the seed says, with the past of another one: for what was just restored with a salt."""
        self.sim.reseed(seed)
        self.traffic.reseed()

    # What a world is made of. A world of other programs, registries or machines overrides these.

    def build_catalog(self) -> AppCatalog:
        """What images do."""
        return AppCatalog(self.sim, self.traffic, applications(self.library))

    def build_registry(self) -> ImageRegistry:
        """Which images there are."""
        return ImageRegistry(self.sim)

    def build_metrics(self) -> MetricsServer:
        """Whoever measures the nodes and their pods."""
        return MetricsServer(self.sim, self.api, self.kubelets)

    def build_machine(self, index: int, spec: NodeSpec) -> Machine:
        """The machine of the node that is the `index`-th."""
        wanted = MachineSpec(
            spec.name,
            spec.address or f"172.18.{(index + 2) // 250}.{(index + 2) % 250}",
            cpu_cores=spec.cpu,
            memory_bytes=spec.memory,
            pod_cidr=spec.pod_cidr or f"10.{244 + index // 250}.{index % 250}.0/24",
            role="control-plane" if spec.control_plane else "worker",
            preloaded=tuple(self.preloaded),
        )
        return self.machine_type(self.sim, wanted, self.network, self.registry, self.programs)

    def _add_node(self, index: int, spec: NodeSpec, addons: bool) -> None:
        machine = self.build_machine(index, spec)
        self.machines[spec.name] = machine
        self.api.address = self.api.address or f"{machine.address}:6443"
        if addons:
            bootstrap.write_node_files(machine, self.api.address, control_plane=spec.control_plane)
        self.kubelets[spec.name] = Kubelet(
            self.sim,
            self.api,
            machine,
            control_plane=spec.control_plane,
            tainted=spec.tainted,
            labels=dict(spec.labels),
            config=spec.kubelet,
        )
        self.kubelets[spec.name].attachments.backend = self.storage
        proxy = self.proxies[spec.name] = KubeProxy(self.sim, self.api, self.network, spec.name, self._rulebook)
        if not addons:
            proxy.start()  # without a pod of its own

    def _boot(self, addons: bool) -> None:
        """Start the nodes and wait until the system pods are ready."""
        self.run_for(2 * SECOND)
        if not addons:
            return
        self.network.dns = bootstrap.CLUSTER_DNS
        limit = self.sim.now + BOOT_LIMIT_NS
        while not self.available("kube-system"):
            assert self.sim.now < limit, "the system pods of a new cluster do not become ready"
            self.run_for(SECOND)


def _applied(kubectl: Kubectl, manifests: str) -> Outcome:
    """What `apply -f -` printed. Raises ValueError if kubectl refused."""
    result = kubectl.run("apply -f -", manifests)
    if result.exit_code:
        raise ValueError(result.stderr)
    return result


def _administrator(name: str) -> User:
    """An administrator of that name: a member of system:masters."""
    return ADMIN if name == ADMIN.name else User(name, ADMIN.groups)
