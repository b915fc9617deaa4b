"""One node's machine: identity, cores, memory, systemd, journal, container runtime, images.

What is true here was not necessarily reported: the kubelet looks at the machine and tells
the API. Drives and file systems are in `storage`, kernel tables in `kernel`, network cards in `links`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from typing import NamedTuple

from simcluster.engine import SECOND, Shared, Simulation
from simcluster.engine.clock import format_rfc3339
from simcluster.engine.streams import mix
from simcluster.models.machine.container import EXIT_SIGKILL, Container
from simcluster.models.machine.cooling import Cooling
from simcluster.models.machine.cpu import NANOCORES, CpuAccount
from simcluster.models.machine.hostfiles import HostFiles
from simcluster.models.machine.hosttools import PROGRAMS, run_on_host
from simcluster.models.machine.images import ImageRegistry
from simcluster.models.machine.imagestore import ImageStore
from simcluster.models.machine.journal import Journal, JournalLine
from simcluster.models.machine.kernel import bootlog, chrony
from simcluster.models.machine.kernel.kernel import Kernel
from simcluster.models.machine.kernel.processes import HostProcess
from simcluster.models.machine.links.nic import Nic
from simcluster.models.machine.loginshell import LoginShell
from simcluster.models.machine.network import Network
from simcluster.models.machine.power import Power
from simcluster.models.machine.program import ExecResult, ProgramCatalog, process_name
from simcluster.models.machine.runtime import Runtime
from simcluster.models.machine.shell.files import ERROR_TEXTS
from simcluster.models.machine.storage import Disk, FileSystem, MountTable, Storage, usage_of
from simcluster.models.machine.units import Unit, UnitTable

GIB = 1 << 30
MIB = 1 << 20

#: What the system's own processes use, (low, high) over time: kubelet, containerd, journald,
#: and on the control plane etcd and the API server (kubeadm clusters at rest).
_SYSTEM_MILLICORES = {"control-plane": (150, 200), "worker": (50, 100)}
_SYSTEM_MEMORY_MIB = {"control-plane": (1180, 1260), "worker": (520, 570)}
#: Window over which the system's use drifts from one draw to the next.
_DRIFT_NS = 15 * SECOND
_HEX = "0123456789abcdef"


@dataclass(frozen=True)
class NodeIdentity(Shared):
    """`status.nodeInfo` of a node, without what the kubelet adds about itself."""

    machine_id: str
    system_uuid: str
    boot_id: str
    kernel_version: str = "6.8.0-45-generic"
    os_image: str = "Ubuntu 24.04.1 LTS"
    container_runtime: str = "containerd://1.7.24"
    architecture: str = "amd64"
    operating_system: str = "linux"


class Boot(NamedTuple):
    """One boot: when, its id, and how far the clock was off."""

    started_ns: int
    boot_id: str
    wrong_ns: int = 0


class Machine:
    """A node's machine.

    Args:
        name: node and host name.
        address: its address in the node network; pods live in `pod_cidr`.
        cpu_cores, memory_bytes, pods: capacity.
        pod_cidr: by default 10.244.N.0/24 with N from the last number of the address
            (.2 is the first node: 10.244.0.0/24).
        role: `control-plane` or `worker`; by default from the name.
        preloaded: images that are on its disk from the beginning.
    """

    def __init__(
        self,
        sim: Simulation,
        name: str,
        *,
        address: str,
        cpu_cores: int = 4,
        memory_bytes: int = 8 * GIB,
        pods: int = 110,
        network: Network,
        registry: ImageRegistry,
        catalog: ProgramCatalog,
        pod_cidr: str = "",
        role: str = "",
        preloaded: Iterable[str] = (),
    ) -> None:
        self.sim = sim
        self.name = name
        self.node = name  # as owner of its own address (network.Listener)
        self.address = address
        self.cpu_cores = cpu_cores
        self.memory_bytes = memory_bytes
        self.pods = pods
        self.network = network
        self.role = role or ("control-plane" if "control-plane" in name or "master" in name else "worker")
        self.pod_cidr = pod_cidr or f"10.244.{max(0, int(address.rpartition('.')[2]) - 2)}.0/24"
        self.booted_ns = sim.now
        self._drift_key = sim.streams.key("drift", name)
        self.on_oom: Callable[[str, int], None] | None = None  # told of a process killed for the whole machine's sake
        self.container_memory = 0  # bytes of all containers' working sets
        self.identity = _identity(sim, name)
        self.log = Journal()
        self.files = HostFiles(sim)
        self.files.write(chrony.CONFIG, chrony.CONFIG_TEXT)
        self.files.guard = self.disk_refusal
        self.built_storage: Storage | None = None  # see `storage`
        self.login_shell: LoginShell | None = None  # of whoever lets people in
        self.units = UnitTable(sim, self.log)
        self.images = ImageStore(sim, name, registry)
        self.images.refusal = self.disk_refusal
        self.cpu = CpuAccount(cpu_cores)
        self.throttled_ns = 0  # time for which quotas stopped containers, all together
        self.cpu.system = _SYSTEM_MILLICORES[self.role][1] * 1_000_000
        self.runtime = self.build_runtime(catalog)
        for image in preloaded:
            self.images.preload(image)
        self.units.units["containerd.service"].on_start = self._containerd_started
        self.units.units["containerd.service"].on_stop = self._containerd_stopped
        self.os = Kernel(self)
        self.log.clock = self.os.clock
        self.processes: dict[str, HostProcess] = {}
        self.retired_host_ns = 0
        self.host_memory = 0  # bytes of processes that are no containers
        self.nics = {"eth0": Nic(sim, "eth0", address, network.links.changed)}
        network.links.nics[name] = self.nics["eth0"]
        network.attach(address, self, node=True)
        self.power = Power(self)
        self.boots = [Boot(self.booted_ns, self.identity.boot_id)]
        self.cooling = Cooling(self)

    def build_runtime(self, catalog: ProgramCatalog) -> Runtime:
        """The container runtime. A machine of another make overrides it."""
        return Runtime(self.sim, self, self.network, catalog, self.pod_cidr)

    # As somebody logged in as root meets it (surface.protocols.Host).

    def unit(self, name: str) -> Unit | None:
        """The systemd unit of this name, with or without `.service`."""
        return self.units.find(name)

    def unit_list(self) -> Sequence[Unit]:
        """All units, sorted by name."""
        return [self.units.units[name] for name in sorted(self.units.units)]

    def control(self, action: str, name: str) -> str:
        """systemctl start, stop, restart, enable or disable a unit; an error text or ""."""
        return self.units.control(action, name)

    def journal(self) -> Iterable[JournalLine]:
        """The journal, oldest first, with what the kernel said at each boot."""
        booting = [line for boot in self.boots for line in bootlog.lines(self, boot.started_ns, boot.wrong_ns)]
        return merge(booting, self.log, key=_written_ns)

    @property
    def clock_error_ns(self) -> int:
        """How far its clock is off: what it shows minus the true time."""
        return self.os.clock.offset_ns()

    def run(self, argv: Sequence[str], stdin: str = "") -> ExecResult | None:
        """Any other program of the host (`crictl`, `cat`, `free`); None if there is none."""
        return run_on_host(self, argv, stdin)

    def has_program(self, name: str) -> bool:
        """Whether the host has a program of this name."""
        return name in PROGRAMS

    # Disks.

    @property
    def storage(self) -> Storage:
        """Drives and mounts, built when they are first looked at: a node that nobody looks at needs none."""
        if self.built_storage is None:
            self.built_storage = Storage(self)
        return self.built_storage

    @property
    def disks(self) -> dict[str, Disk]:
        """Drives by kernel name."""
        return self.storage.disks

    @property
    def mounts(self) -> MountTable:
        """What is mounted where."""
        return self.storage.mounts

    def files_at(self, path: str) -> FileSystem:
        """The file system on which a path of the host lies."""
        return self.storage.mounts.at(path)

    def disk_refusal(self, path: str, size_bytes: int) -> str:
        """Why a path of the host cannot be written, as a program prints it, or "": read-only, dead, full."""
        if self.built_storage is not None:
            refused = self.built_storage.mounts.at(path).refusal(size_bytes)
            return ERROR_TEXTS.get(refused, "")
        return ERROR_TEXTS["ENOSPC"] if size_bytes and size_bytes > usage_of(self).available_bytes else ""

    def new_boot(self) -> None:
        """A boot gives the machine another boot id, from now on."""
        digits = self.sim.stream("boot", self.name, str(self.booted_ns)).text(_HEX, 32)
        self.identity = replace(self.identity, boot_id=_uuid(digits))
        self.boots.append(Boot(self.booted_ns, self.identity.boot_id, self.os.clock.offset_ns()))

    def start_delay_ns(self) -> int:
        """What a slow root drive adds to the start of a process: some 20 MB of its image are read."""
        if self.built_storage is None:
            return 0
        disk = self.built_storage.mounts.at("/").disk
        if not disk.modes and disk.outage is None:
            return 0
        return disk.read(disk.model.sectors // 4, 40_960, sequential=True).delay_ns

    # CPU.

    def cpu_share(self, container: Container) -> float:
        """Cores the container can use now: its limit, or its fair share if that is less."""
        return self.cpu.share(container) * self.cpu.speed

    def cpu_shares(self, containers: Sequence[Container]) -> list[float]:
        """`cpu_share` of several containers."""
        return [share * self.cpu.speed for share in self.cpu.shares(containers)]

    @property
    def cpu_mark(self) -> tuple[int, int, int, int, float]:
        """As long as it is the same, every container's share of the CPU is."""
        return self.cpu.mark

    @property
    def cpu_speed(self) -> float:
        """How fast a core runs, as a share of its nominal frequency."""
        return self.cpu.speed

    def set_cpu_speed(self, factor: float, reason: str = "") -> None:
        """Make all cores run at a share of their nominal frequency.

        Args:
            reason: `thermal` writes what the kernel says of an overheated package.

        Raises:
            ValueError: a factor that no processor has.
        """
        if not 0.0 < factor <= 1.0:
            raise ValueError(f"the speed must be above 0 and at most 1, not {factor:g}")
        for container in self.runtime.containers():
            container.read_meter()
        self.cpu.speed = factor
        self.network.version += 1
        if reason == "thermal":
            # arch/x86 therm_throt.c; each core says it.
            if factor < 1.0:
                self.kernel(*(f"CPU{n}: Core temperature is above threshold, cpu clock is throttled "
                              f"(total events = {n + 1})" for n in range(self.cpu_cores)))  # fmt: skip
            else:
                self.kernel(*(f"CPU{n}: Core temperature/speed normal" for n in range(self.cpu_cores)))

    @property
    def stolen_share(self) -> float:
        """Share of the CPU time that the hypervisor gives to others."""
        return self.cpu.stolen / self.cpu.capacity

    def steal_cpu(self, share: float) -> None:
        """The hypervisor gives so large a share of the CPU time to others. Raises ValueError."""
        self.cpu.steal(share)
        self.network.version += 1

    def burden(self, name: str, cores: float, *, weight: int = 1024, memory_bytes: int = 0, user: str = "root") -> None:
        """A process of the host that is not ours wants so many cores and holds so much memory.

        Raises:
            ValueError: magnitudes that no process has here.
        """
        if cores < 0.0 or memory_bytes < 0 or not 2 <= weight <= 262144:
            raise ValueError("a process uses no negative amounts, and its weight is between 2 and 262144")
        if memory_bytes > self.memory_bytes:
            raise ValueError(f"{self.name} has no {memory_bytes} bytes of memory")
        process = self.processes.get(name)
        if process is None:
            now = self.sim.now
            process = HostProcess(name, self.units.new_pid(), 0.0, weight, 0, now, now, user=user)
            self.processes[name] = process
        self.host_memory += memory_bytes - process.memory_bytes
        process.cores, process.weight, process.memory_bytes = cores, weight, memory_bytes
        self.cpu.burden(f"host/{name}", int(cores * NANOCORES), weight)
        process.settle(self.sim.now, self.cpu.granted(f"host/{name}"))
        self.network.version += 1
        self.check_memory()

    def unburden(self, name: str) -> None:
        """The process ends. Harmless when there is none."""
        process = self.processes.pop(name, None)
        if process is not None:
            self.host_memory -= process.memory_bytes
            self.cpu.burden(f"host/{name}", 0, 0)
            self.retired_host_ns += process.used_ns(self.sim.now)
            self.network.version += 1

    def report_demand(self, container: Container, cores: float) -> None:
        """What the container wanted in the last accounting window, in cores."""
        self.cpu.report(container, int(cores / self.cpu.speed * NANOCORES))

    def release(self, container: Container) -> None:
        """The container demands nothing any more."""
        self.cpu.release(container)

    def cpu_ns(self) -> int:
        """CPU time used on the machine since it booted, nanoseconds of one core."""
        others = sum(process.used_ns(self.sim.now) for process in self.processes.values())  # integers
        return self.runtime.cpu_ns() + self._system_cpu_ns() + self.retired_host_ns + others

    def _system_cpu_ns(self) -> int:
        low, high = _SYSTEM_MILLICORES[self.role]
        steady = (self.sim.now - self.booted_ns) * (low + high) // 2000
        # A bounded drift whose slope stays below (high - low) / 2: the counter never falls.
        return steady + self._drift(_DRIFT_NS * (high - low) // 4000)

    # Memory.

    def memory_used(self) -> int:
        """Working set of the machine, bytes."""
        low, high = _SYSTEM_MEMORY_MIB[self.role]
        middle, span = (low + high) * MIB // 2, (high - low) * MIB // 2
        return middle + self._drift(span) + self.container_memory + self.host_memory

    def has_ample_memory(self, part: int) -> bool:
        """Whether more than one part in so many is free whatever the system's own use drifts to; a quick bound."""
        used = _SYSTEM_MEMORY_MIB[self.role][1] * MIB + self.container_memory + self.host_memory
        return (self.memory_bytes - used) * part > self.memory_bytes

    def out_of_memory(self, container: Container) -> None:
        """The container exceeded its limit: the kernel kills its largest process."""
        comm = process_name(container)
        score = self.oom_score(container)
        held_kb = container.memory_bytes >> 10
        slice_name = f"/kubepods.slice/kubepods-pod{container.spec.pod_uid.replace('-', '_')}.slice"
        scope = f"{slice_name}/cri-containerd-{container.container_id}.scope"
        self.kernel(
            f"{comm} invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj={score}",
            f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-{container.container_id}.scope,"
            f"mems_allowed=0,oom_memcg={scope},task_memcg={scope},task={comm},pid={container.pid},uid=0",
            f"Memory cgroup out of memory: Killed process {container.pid} ({comm}) total-vm:{held_kb * 3}kB, "
            f"anon-rss:{held_kb}kB, file-rss:{held_kb // 40}kB, shmem-rss:0kB, UID:0 "
            f"pgtables:{held_kb // 128 + 64}kB oom_score_adj:{score}",
        )
        self.os.count_kill(container)
        container.exit(EXIT_SIGKILL, "OOMKilled")

    def check_memory(self) -> None:
        """All processes together hold more than there is: the kernel kills the worst of them."""
        ceiling = self.memory_bytes - _SYSTEM_MEMORY_MIB[self.role][1] * MIB
        while self.container_memory + self.host_memory > ceiling:
            greedy = max(self.processes.values(), key=_held, default=None)
            running = [container for container in self.runtime.containers() if container.running]
            victim = max(running, key=self._badness, default=None)
            share = 0 if greedy is None else greedy.memory_bytes * 1000 // self.memory_bytes
            if greedy is not None and share and (victim is None or share > self._badness(victim)):
                self._kill_process(greedy)
                continue
            if victim is None or not victim.memory_bytes:
                return
            self._kill_for_all(victim)

    def _badness(self, container: Container) -> int:
        # mm/oom_kill.c: the share of memory in thousandths, plus oom_score_adj.
        return container.memory_bytes * 1000 // self.memory_bytes + self.oom_score(container)

    def _kill_for_all(self, container: Container) -> None:
        comm, score, held_kb = process_name(container), self.oom_score(container), container.memory_bytes >> 10
        self.kernel(
            f"{comm} invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, "
            f"oom_score_adj={score}",
            "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,"
            f"task_memcg=/kubepods.slice,task={comm},pid={container.pid},uid=0",
            f"Out of memory: Killed process {container.pid} ({comm}) total-vm:{held_kb * 3}kB, anon-rss:{held_kb}kB, "
            f"file-rss:{held_kb // 40}kB, shmem-rss:0kB, UID:0 pgtables:{held_kb // 128 + 64}kB oom_score_adj:{score}",
        )
        pid = container.pid
        self.os.count_kill(container)
        container.exit(EXIT_SIGKILL, "OOMKilled")
        if self.on_oom is not None:
            self.on_oom(comm, pid)

    def _kill_process(self, process: HostProcess) -> None:
        """A process that is no container's has oom_score_adj 0."""
        held_kb = process.memory_bytes >> 10
        self.kernel(
            f"{process.name[:15]} invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, "
            "oom_score_adj=0",
            "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,"
            f"task_memcg=/system.slice/{process.name}.service,task={process.name[:15]},pid={process.pid},uid=0",
            f"Out of memory: Killed process {process.pid} ({process.name[:15]}) total-vm:{held_kb * 2}kB, "
            f"anon-rss:{held_kb}kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:{held_kb // 128 + 64}kB "
            "oom_score_adj:0",
        )
        self.unburden(process.name)
        if self.on_oom is not None:
            self.on_oom(process.name[:15], process.pid)

    def oom_score(self, container: Container) -> int:
        """oom_score_adj of a container's processes, by quality of service.

        Source: Kubernetes docs, node-pressure eviction: Guaranteed -997, BestEffort 1000,
        Burstable min(max(2, 1000 - 1000 * request / node memory), 999).
        """
        spec = container.spec
        if not spec.memory_request and not spec.cpu_request and spec.memory_limit is None:
            return 1000
        if (
            spec.memory_limit is not None
            and spec.memory_limit == spec.memory_request
            and (spec.cpu_limit is not None and spec.cpu_limit == spec.cpu_request)
        ):
            return -997
        return min(max(2, 1000 - 1000 * spec.memory_request // self.memory_bytes), 999)

    # The kernel and the network.

    def kernel(self, *lines: str) -> None:
        """The kernel writes to its ring buffer (and so to the journal)."""
        for line in lines:
            self.log.write(self.sim.now, "", "kernel", 0, line)

    def container_on(self, port: int) -> Container | None:
        """The container in the host's network that listens on the port."""
        for sandbox in self.runtime.sandboxes.values():
            if sandbox.host_network:
                found = sandbox.container_on(port)
                if found is not None:
                    return found
        return None

    def listens_on(self, port: int) -> bool:
        """Whether a process in the host's network accepts connections on the port."""
        if port == 10250:
            return self.units.units["kubelet.service"].active
        if port == 22:
            return self.units.units["ssh.service"].active
        return self.container_on(port) is not None

    def _containerd_started(self) -> None:
        self.runtime.up = True
        text = (
            f'time="{format_rfc3339(self.sim.now, digits=9)}" level=info msg="containerd successfully booted in 0.041s"'
        )
        self.log.write(self.sim.now, "containerd.service", "containerd", self._pid("containerd.service"), text)

    def _containerd_stopped(self) -> None:
        self.runtime.up = False
        if self.runtime.on_stop is not None:
            self.runtime.on_stop()

    def _pid(self, unit: str) -> int:
        return self.units.units[unit].pid

    def _drift(self, span: int) -> int:
        """A value in [-span, span] that moves linearly from one drawn point to the next."""
        key = self._drift_key
        step, inside = divmod(self.sim.now, _DRIFT_NS)
        before, after = _signed(key, step, span), _signed(key, step + 1, span)
        return before + (after - before) * inside // _DRIFT_NS


def _written_ns(line: JournalLine) -> int:
    return line.t_ns - line.wrong_ns


def _held(process: HostProcess) -> int:
    return process.memory_bytes


def _signed(key: int, counter: int, span: int) -> int:
    return mix(key, counter) * (2 * span + 1) // (1 << 64) - span


def _identity(sim: Simulation, name: str) -> NodeIdentity:
    stream = sim.stream("machine", name)
    machine_id, system, boot = (stream.text(_HEX, 32) for _ in range(3))
    return NodeIdentity(machine_id, _uuid(system), _uuid(boot))


def _uuid(digits: str) -> str:
    return "-".join((digits[:8], digits[8:12], "4" + digits[13:16], "9" + digits[17:20], digits[20:]))
