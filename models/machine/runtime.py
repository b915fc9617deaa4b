"""The container runtime of one node (containerd): sandboxes, containers, exec.

Processes are independent of the daemon: when containerd stops, every call fails with the
error of a missing socket, and running containers run on. Leaves out: checkpointing,
snapshotters, runtime classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simcluster.engine import MILLISECOND, SECOND, Simulation
from simcluster.models.machine.addressblocks import NoAddress
from simcluster.models.machine.cni import NOT_INITIALIZED, AddressRange, CniConfig
from simcluster.models.machine.container import Container, Sandbox, cpu_times
from simcluster.models.machine.containerspec import ContainerSpec
from simcluster.models.machine.host import Host
from simcluster.models.machine.imagetools import execute
from simcluster.models.machine.imagetools.execute import Executed
from simcluster.models.machine.kernel import cgroupfiles
from simcluster.models.machine.kernel.cgroups import NO_REQUESTS, PodGroup
from simcluster.models.machine.kernel.kernel import Kernel
from simcluster.models.machine.links.veth import Veth
from simcluster.models.machine.names import ResolverConfig
from simcluster.models.machine.network import Network
from simcluster.models.machine.process import StartFailure
from simcluster.models.machine.program import ProgramCatalog
from simcluster.models.machine.shell.files import Layer

#: Durations: log-normal (median, sigma). From "ContainerCreating" to "Pulling" the recorded
#: nodes took 0.42-0.45 s, volume set-up and sandbox together; Created and Started follow
#: each other within 0.15 s on nodes with a real containerd.
SANDBOX_MEDIAN_NS, SANDBOX_SIGMA = 260 * MILLISECOND, 0.30
CREATE_MEDIAN_NS, CREATE_SIGMA = 60 * MILLISECOND, 0.30
START_MEDIAN_NS, START_SIGMA = 70 * MILLISECOND, 0.30

#: runc's own init needs some MiB: a recorded limit of 5 MiB kills it, 16 MiB does not.
INIT_MEMORY_BYTES = 6 << 20

SOCKET_ERROR = (
    'rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: '
    'dial unix /run/containerd/containerd.sock: connect: no such file or directory"'
)
_SHIM = "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: "
SHIM_FAILED = f"rpc error: code = Unknown desc = {_SHIM}unable to start container process: "
INIT_KILLED = f"{SHIM_FAILED}container init was OOM-killed (memory limit too low?): unknown"
EXEC_FAILED = (
    "rpc error: code = Unknown desc = failed to exec in container: failed to create exec: OCI runtime exec failed: "
    "exec failed: unable to start container process: "
)
EXIT_START_ERROR = 128


class RuntimeFailure(Exception):
    """A call to the runtime failed; the message is the gRPC error as the kubelet prints it."""


class Runtime:
    """Sandboxes and containers of one node.

    Attributes:
        up: whether the daemon answers.
        on_change: called with the pod uid whenever a sandbox or container of it changed state.
        on_stop: called when the daemon stops.
    """

    def __init__(
        self, sim: Simulation, machine: Host, network: Network, catalog: ProgramCatalog, pod_cidr: str
    ) -> None:
        self.sim = sim
        self.machine = machine
        self.network = network
        self.catalog = catalog
        self.up = True
        self.on_change: Callable[[str], None] | None = None
        self.on_stop: Callable[[], None] | None = None
        self._when_exited = self._exited  # one object for all containers: a fork copies it once
        self.sandboxes: dict[str, Sandbox] = {}  # pod uid ->
        self.left: dict[str, dict[str, Layer]] = {}  # pod uid -> its volumes, while it has no sandbox
        self.runs: dict[str, dict[str, list[Container]]] = {}  # pod uid -> name -> newest first, at most two
        #: What groups that are gone have counted in their parents: path -> file and key -> count
        self.past_groups: dict[str, dict[tuple[str, str], int]] = {}
        self.retired_cpu_ns = 0  # CPU time of containers that were removed
        self.network_error = ""  # what the CNI plugin answers, when it is broken
        self.changes = 0  # how often `runs` gained or lost an entry
        self._newest: tuple[int, list[Container]] = (-1, [])  # as of so many changes
        self._every: tuple[int, list[Container]] = (-1, [])
        self.cni: CniConfig | None = None  # the node's configuration, where there is one
        self._range = AddressRange(pod_cidr)
        self._next_host = 1
        self._addresses: dict[str, str] = {}  # address -> pod uid
        self._ids = sim.stream("containerd", machine.name)

    # Durations, drawn when the kubelet makes the call.

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_newest": (-1, []), "_every": (-1, [])}  # listed anew when somebody asks

    def sandbox_ns(self) -> int:
        """How long creating a sandbox takes now."""
        median_ns = self.sim.parameter("runtime.sandbox", SANDBOX_MEDIAN_NS)
        return min(max(SECOND, 4 * median_ns), self._ids.lognormal_ns(median_ns, SANDBOX_SIGMA))

    def create_ns(self) -> int:
        """How long creating a container takes now."""
        return self._ids.lognormal_ns(self.sim.parameter("runtime.create", CREATE_MEDIAN_NS), CREATE_SIGMA)

    def start_ns(self) -> int:
        """How long starting a container takes now."""
        median_ns = self.sim.parameter("runtime.start", START_MEDIAN_NS)
        return self._ids.lognormal_ns(median_ns, START_SIGMA) + self.machine.start_delay_ns()

    # Sandboxes.

    def create_sandbox(
        self,
        namespace: str,
        pod_name: str,
        pod_uid: str,
        *,
        host_network: bool = False,
        memory_limit: int | None = None,
        names: ResolverConfig | None = None,
        hosts: str = "",
        group: PodGroup = NO_REQUESTS,
    ) -> Sandbox:
        """Create the pod's network namespace and control group, and give it an address. Raises RuntimeFailure."""
        self._require_up()
        sandbox_id = self._new_id()
        if memory_limit is not None and memory_limit < INIT_MEMORY_BYTES:
            raise RuntimeFailure(INIT_KILLED)
        error = self.network_error if self.cni is None or self.cni.ready else NOT_INITIALIZED
        if error and not host_network:
            raise RuntimeFailure(
                f'rpc error: code = Unknown desc = failed to setup network for sandbox "{sandbox_id}": {error}'
            )
        self._make_folder(f"sandboxes/{sandbox_id}", "sandbox")
        address = self.machine.address if host_network else self._allocate(pod_uid, sandbox_id)
        sandbox = Sandbox(
            namespace, pod_name, pod_uid, self.machine.name, address, host_network=host_network, sandbox_id=sandbox_id
        )
        sandbox.names, sandbox.hosts, sandbox.group = names, hosts, group
        sandbox.volumes = self.left.pop(pod_uid, {})
        sandbox.veth = None if host_network else Veth(self.sim.now)
        self.machine.cpu.admit(pod_uid, group)
        self.sandboxes[pod_uid] = sandbox
        if not host_network:
            self.network.attach(address, sandbox)
        whose = f"&PodSandboxMetadata{{Name:{pod_name},Uid:{pod_uid},Namespace:{namespace},Attempt:0,}}"
        self.machine.containerd("info", f'RunPodSandbox for {whose} returns sandbox id "{sandbox_id}"')
        self._changed(pod_uid)
        return sandbox

    def stop_sandbox(self, pod_uid: str) -> None:
        """Tear down the pod's network; its address is free again. Harmless when there is none."""
        sandbox = self.sandboxes.pop(pod_uid, None)
        if sandbox is None:
            return
        if sandbox.volumes:
            self.left[pod_uid] = sandbox.volumes
        self.machine.cpu.dismiss(pod_uid)
        if not sandbox.host_network:
            self.network.detach(sandbox.address)
            self._addresses.pop(sandbox.address, None)
            self.network.blocks.release(sandbox.address)
        kernel: Kernel | None = getattr(self.machine, "os", None)
        if kernel is not None:
            kernel.shm.removed(pod_uid)
            kernel.pids.set_limit(pod_uid, None)
            kernel.namespaces.forget(pod_uid)
        self._changed(pod_uid)

    def remove_pod(self, pod_uid: str) -> None:
        """Forget the pod's dead containers and their logs."""
        self.changes += 1
        self.left.pop(pod_uid, None)
        own = f"pod{pod_uid.replace('-', '_')}.slice"
        for group in [group for group in self.past_groups if group.endswith(own)]:
            del self.past_groups[group]
        for runs in self.runs.pop(pod_uid, {}).values():
            for container in runs:
                self.retired_cpu_ns += container.cpu_ns

    # Containers.

    def create_container(self, sandbox: Sandbox, spec: ContainerSpec, attempt: int) -> Container:
        """Create (not start) the next run of a container. Raises RuntimeFailure."""
        self._require_up()
        container = Container(self.sim, self.machine, sandbox, spec, self._new_id())
        self._make_folder(f"containers/{container.container_id}", "container")
        container.attempt = attempt
        local = self.machine.images.find(spec.image)
        if local is not None:
            container.image_name, container.image_id = local.name, local.image_id
        runs = self.runs.setdefault(spec.pod_uid, {}).setdefault(spec.name, [])
        runs.insert(0, container)
        self.changes += 1
        for old in runs[2:]:
            self.retired_cpu_ns += old.cpu_ns
        del runs[2:]
        sandbox.containers[spec.name] = container
        return container

    def start_container(self, container: Container) -> None:
        """Exec the entry point. Raises RuntimeFailure; the run then counts as exited with 128."""
        self._require_up()
        container.on_exit = self._when_exited
        try:
            container.program = self.catalog.program_for(container)
        except StartFailure as failure:
            text = f"{_SHIM}unable to start container process: error during container init: {failure}: unknown"
            container.state, container.reason = "exited", "StartError"
            container.exit_code, container.message = EXIT_START_ERROR, text
            container.finished_ns = self.sim.now
            self.machine.containerd("error", f'StartContainer for "{container.container_id}" failed', text)
            self._changed(container.spec.pod_uid)
            raise RuntimeFailure(text) from None
        container.pid = self.machine.units.new_pid()
        container.start()
        self.machine.containerd("info", f'StartContainer for "{container.container_id}" returns successfully')
        self.network.version += 1
        self._changed(container.spec.pod_uid)

    def stop_container(self, container: Container, grace_ns: int) -> None:
        """SIGTERM now, SIGKILL after the grace period. Raises RuntimeFailure."""
        self._require_up()
        if container.running:
            seconds = grace_ns // SECOND
            text = f'StopContainer for "{container.container_id}" with timeout {seconds} (s)'
            self.machine.containerd("info", text)
        if grace_ns > 0:
            container.terminate()
        if container.running:
            self.sim.after(grace_ns, container.kill)

    def newest(self, pod_uid: str, name: str) -> Container | None:
        """The newest run of a container, dead or alive."""
        runs = self.runs.get(pod_uid, {}).get(name)
        return runs[0] if runs else None

    def previous(self, pod_uid: str, name: str) -> Container | None:
        """The run before the newest one."""
        runs = self.runs.get(pod_uid, {}).get(name, [])
        return runs[1] if len(runs) > 1 else None

    def containers(self) -> list[Container]:
        """The newest run of every container, in order of creation of their pods. Not to be changed."""
        if self._newest[0] != self.changes:
            found = [runs[0] for names in self.runs.values() for runs in names.values() if runs]
            self._newest = (self.changes, found)
        return self._newest[1]

    def cpu_ns(self) -> int:
        """CPU time of all containers since the machine started."""
        if self._every[0] != self.changes:
            found = [run for names in self.runs.values() for runs in names.values() for run in runs]
            self._every = (self.changes, found)
        return self.retired_cpu_ns + sum(cpu_times(self._every[1]))  # integers

    def execute(
        self,
        container: Container,
        argv: tuple[str, ...],
        stdin: str = "",
        limit_ns: int | None = None,
    ) -> Executed:
        """Run a command in a container, for a while at most; the world does not move meanwhile.

        Raises:
            RuntimeFailure: the container does not run, or the executable does not exist.
        """
        self._require_up()
        if not container.running:
            state = f"CONTAINER_{container.state.upper()}"
            raise RuntimeFailure(
                f"rpc error: code = Unknown desc = failed to exec in container: container is in {state} state"
            )
        kernel = container.kernel
        if kernel is not None and kernel.made("setns", container):
            raise RuntimeFailure(f"{EXEC_FAILED}error executing setns process: exit status 1: unknown")
        result = container.program.run_with_input(argv, stdin)
        if result is not None:
            return Executed(result)
        executed = execute.timed(container, argv, stdin, limit_ns)
        if executed is None:
            asked = argv[0] if argv else ""
            missing = (
                f"stat {asked}: no such file or directory" if "/" in asked else "executable file not found in $PATH"
            )
            exec_id = self.sim.stream("exec", container.container_id, *argv).text("0123456789abcdef", 64)
            raise RuntimeFailure(
                f'rpc error: code = Unknown desc = failed to exec in container: failed to start exec "{exec_id}": '
                "OCI runtime exec failed: exec failed: unable to start container process: "
                f'exec: "{asked}": {missing}: unknown'
            )
        return executed

    # Inside.

    def _make_folder(self, name: str, what: str) -> None:
        """The daemon makes a folder on the node's disk. Raises RuntimeFailure if the disk refuses."""
        path = f"/var/lib/containerd/io.containerd.grpc.v1.cri/{name}"
        refused = self.machine.disk_refusal(path, 0)
        if refused:
            raise RuntimeFailure(
                f'rpc error: code = Unknown desc = failed to create {what} root directory "{path}": '
                f"mkdir {path}: {refused[:1].lower()}{refused[1:]}"
            )

    def _exited(self, container: Container) -> None:
        self.machine.release(container)
        parents = container.control_group.split("/")[:-1]
        for depth in range(1, len(parents) + 1):
            past = self.past_groups.setdefault("/".join(parents[:depth]), {})
            for name in cgroupfiles.CUMULATIVE:
                for line in (cgroupfiles.read(container, name) or "").splitlines():
                    key, _, value = line.partition(" ")
                    past[name, key] = past.get((name, key), 0) + int(value)
        self.machine.os.exited(container)
        self.network.version += 1
        self._changed(container.spec.pod_uid)

    def _changed(self, pod_uid: str) -> None:
        if self.on_change is not None:
            self.on_change(pod_uid)

    def _require_up(self) -> None:
        if not self.up:
            raise RuntimeFailure(SOCKET_ERROR)

    def _new_id(self) -> str:
        return "".join(f"{self._ids.bits():016x}" for _ in range(4))

    def _allocate(self, pod_uid: str, sandbox_id: str) -> str:
        if self.network.blocks.used:
            try:
                return self.network.blocks.assign(self.machine.name, pod_uid)
            except NoAddress as error:
                said = f'failed to setup network for sandbox "{sandbox_id}": plugin type="calico" failed (add): {error}'
                raise RuntimeFailure(f"rpc error: code = Unknown desc = {said}") from None
        # host-local IPAM: the next address after the last one handed out, round robin.
        pool = self.cni.range if self.cni is not None else self._range
        for _ in range(pool.size):
            self._next_host = self._next_host + 1 if self._next_host < pool.size else 2
            address = pool.address(self._next_host)
            if address not in self._addresses:
                self._addresses[address] = pod_uid
                return address
        span = str(pool)
        raise RuntimeFailure(
            f'rpc error: code = Unknown desc = failed to setup network for sandbox "{sandbox_id}": '
            'plugin type="ptp" failed (add): '
            f"failed to allocate for range 0: no IP addresses available in range set: {span}"
        )
