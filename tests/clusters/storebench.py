"""A data store on a real machine's disk, with a caller and users, put together by hand for tests of stores.

The store's volume lies below `/var/local-path-provisioner` on the node's hard disk, as the local provisioner's do.
"""

from __future__ import annotations

from collections.abc import Mapping

from simcluster.models.apps.behaviour import Application, AppOperation, Behaviour, Image, Port
from simcluster.models.apps.stores.program import StoreProgram
from simcluster.models.machine.container import Container, Sandbox
from simcluster.models.machine.containerspec import ContainerSpec, Mount
from simcluster.models.machine.hardware import MachineSpec
from simcluster.models.machine.images import ImageRegistry
from simcluster.models.machine.linux import LinuxMachine
from simcluster.models.machine.storage import FileSystem
from simcluster.models.traffic.cluster.users import UserLoad
from tests.clusters.handmade import HandmadeCluster

CALLER = "registry.example.com/bench/caller"


class StoreBench(HandmadeCluster):
    """One node `node-1` with disks; pods `store` and `caller`, users who ask the caller.

    Attributes:
        machine: the node.
    """

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        spec = MachineSpec("node-1", "172.18.0.3")
        self.machine = LinuxMachine(self.sim, spec, self.network, ImageRegistry(self.sim), self.catalog)
        self.machines = {"node-1": self.machine}  # type: ignore[dict-item]
        self._runs = 0
        self._wanted: dict[str, tuple[ContainerSpec, str]] = {}

    @property
    def disk(self) -> FileSystem:
        """The file system of the volumes."""
        return self.machine.files_at("/var/local-path-provisioner/x")

    def run_pod(
        self,
        name: str,
        image: str,
        *,
        args: tuple[str, ...] = (),
        env: Mapping[str, str] | None = None,
        mounts: tuple[Mount, ...] = (),
        memory_limit: int | None = None,
    ) -> Container:
        """Start a pod of one container; the same name again is its next run."""
        sandbox = self.pods.get(name)
        if sandbox is None:
            self._addresses += 1
            sandbox = Sandbox("shop", name, f"uid-{name}", "node-1", f"10.244.1.{self._addresses + 1}")
            self.pods[name] = sandbox
            self.network.attach(sandbox.address, sandbox)
            self.machine.runtime.sandboxes[f"uid-{name}"] = sandbox
        self._runs += 1
        spec = ContainerSpec(
            *("shop", name, f"uid-{name}", "server", image),
            args=args,
            env=tuple((env or {}).items()),
            mounts=mounts,
            memory_limit=memory_limit,
        )
        container = Container(self.sim, self.machine, sandbox, spec, f"id-{name}-{self._runs}")
        container.pid = 4000 + self._runs
        container.program = self.catalog.program_for(container)
        sandbox.containers["server"] = container
        container.start()
        return container

    def restart(self, name: str) -> Container:
        """The kubelet starts the container again."""
        spec = self.container(name).spec
        environment = dict(spec.env)
        return self.run_pod(
            name, spec.image, args=spec.args, env=environment, mounts=spec.mounts, memory_limit=spec.memory_limit
        )

    def volume(self, path: str, name: str = "data") -> Mount:
        """A claim's volume on the hard disk."""
        return Mount(path, "persistentVolumeClaim", (), False, name, f"/var/local-path-provisioner/{name}")

    def store(self, name: str = "store") -> StoreProgram:
        """The program of a store."""
        program = self.container(name).program
        assert isinstance(program, StoreProgram)
        return program

    def caller(
        self,
        port: int,
        client: str,
        operation: str,
        *,
        timeout_s: float = 1.0,
        rps: float = 50.0,
        user: str = "",
        password: str = "",
        database: str = "",
    ) -> UserLoad:
        """A program that asks the store once for each of its users' requests."""
        call = {
            **{"env": "STORE", "operation": operation, "client": client, "timeout": f"{int(timeout_s * 1000)}ms"},
            **{"user": user, "password": password, "database": database},
        }
        work = {"law": "exponential", "mean": "200us"}
        page = AppOperation.model_validate({"path": "*", "work": work, "steps": [{"call": call}]})
        image = Image(repository=CALLER, tags=("v1",), size=1 << 20)
        behaviour = Behaviour(
            image=image, program="caller", protocol="http", ports=(Port(number=80),), operations={"page": page}
        )
        self.catalog.add(Application(application="bench", services={"caller": behaviour}))
        self.service("store", port, ("store",))
        self.run_pod("caller", f"{CALLER}:v1", env={"STORE": f"store:{port}"})
        self.service("caller", 80, ("caller",))
        return self.traffic.add_users("people", "shop", "caller", rps=rps)

    def text(self, name: str = "store") -> str:
        """The log of a pod's newest run."""
        return "\n".join(line.text for line in self.container(name).log.read())
