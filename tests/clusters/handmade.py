"""A cluster put together by hand for tests of the traffic: no API, no kubelets.

Pods are sandboxes on fake machines, Services are rules written into every node at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace

from simcluster.apps.registry import applications
from simcluster.engine import SECOND, Simulation
from simcluster.models.apps.catalog import AppCatalog
from simcluster.models.machine.container import Container, Sandbox
from simcluster.models.machine.containerspec import ContainerSpec
from simcluster.models.machine.hardware import NodeIdentity
from simcluster.models.machine.network import Network, ServiceKey
from simcluster.models.traffic.cluster.engine import TrafficEngine


class PlainMachine:
    """A machine with so many cores that only limits matter."""

    def __init__(self, cores: float = 64.0) -> None:
        self.cores = cores
        self.container_memory = 0
        self.host_memory = 0
        self.cpu_speed = 1.0
        self.cpu_cores = int(cores)
        self.memory_bytes = 1 << 60
        self.throttled_ns = 0
        self.identity = NodeIdentity("", "", "")
        self.demand: dict[str, float] = {}
        self.cpu = SimpleNamespace(halted={})

    def cpu_share(self, container: Container) -> float:
        """The limit, or all cores."""
        limit = container.spec.cpu_limit
        return self.cores if limit is None else min(limit, self.cores)

    def cpu_shares(self, containers: Sequence[Container]) -> list[float]:
        """`cpu_share` of several containers."""
        return [self.cpu_share(container) for container in containers]

    @property
    def cpu_mark(self) -> float:
        """Its cores, which only a test changes."""
        return self.cores

    def report_demand(self, container: Container, cores: float) -> None:
        """Remember the demand."""
        self.demand[container.container_id] = cores

    def release(self, container: Container) -> None:
        """Forget the demand."""
        self.demand.pop(container.container_id, None)

    def out_of_memory(self, container: Container) -> None:
        """Kill the container."""
        container.exit(137, "OOMKilled")


class HandmadeCluster:
    """Nodes `n1`, `n2`, ... with pods and Services that the test places itself.

    Attributes:
        pods: sandboxes by pod name.
    """

    def __init__(self, seed: int = 0, nodes: int = 2, cores: float = 64.0) -> None:
        self.sim = Simulation(seed)
        self.network = Network()
        self.traffic = TrafficEngine(self.sim, self.network)
        self.catalog = AppCatalog(self.sim, self.traffic, applications())
        self.machines = {f"n{i + 1}": PlainMachine(cores) for i in range(nodes)}
        self.pods: dict[str, Sandbox] = {}
        self.namespace = "shop"  # of pods to come
        self._services = 0
        self._addresses = 0

    def pod(
        self,
        name: str,
        image: str,
        *,
        env: Mapping[str, str] | None = None,
        ports: tuple[int, ...] = (),
        cpu_limit: float | None = None,
        memory_limit: int | None = None,
        node: str = "n1",
        command: tuple[str, ...] = (),
    ) -> Container:
        """Start a pod of one container."""
        self._addresses += 1
        address = f"10.244.0.{self._addresses + 1}"
        sandbox = Sandbox(self.namespace, name, f"uid-{name}", node, address)
        spec = ContainerSpec(
            self.namespace,
            name,
            f"uid-{name}",
            "server",
            image,
            command=command,
            env=tuple((env or {}).items()),
            ports=ports,
            cpu_limit=cpu_limit,
            memory_limit=memory_limit,
        )
        machine: object = self.machines[node]
        container = Container(self.sim, machine, sandbox, spec, f"id-{name}")  # type: ignore[arg-type]
        container.program = self.catalog.program_for(container)
        sandbox.containers["server"] = container
        self.pods[name] = sandbox
        self.network.attach(address, sandbox)
        container.start()
        return container

    def container(self, pod: str) -> Container:
        """The container of a pod."""
        return self.pods[pod].containers["server"]

    def remove(self, pod: str) -> None:
        """Kill a pod and take its address away."""
        sandbox = self.pods.pop(pod)
        sandbox.containers["server"].kill()
        self.network.detach(sandbox.address)

    def service(
        self, name: str, port: int, pods: tuple[str, ...], target: int | None = None, namespace: str = "shop"
    ) -> str:
        """Create or change a Service; its cluster IP. No pods: the nodes refuse it."""
        full = f"{name}.{namespace}.svc.cluster.local"
        address = self.network.zone.get(full)
        if address is None:
            self._services += 1
            address = f"10.96.0.{100 + self._services}"
            self.network.set_name(full, address)
        backends = tuple((self.pods[pod].address, target or port) for pod in pods)
        for node in self.machines:
            self.network.set_rules(node, ServiceKey(address, port), backends)
        return address

    def run(self, seconds: float) -> None:
        """Let the cluster live on."""
        self.sim.run_for(int(seconds * SECOND))
