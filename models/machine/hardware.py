"""The hardware of one node and what accounts for it: cores, memory, drives, network, files, journal, units.

The kernel is in `kernel`, containers in `runtime`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from simcluster.engine import SECOND, Shared, Simulation, format_rfc3339
from simcluster.engine.streams import mix
from simcluster.models.machine.cpu import CpuAccount
from simcluster.models.machine.eventlog import SystemEventLog
from simcluster.models.machine.hostfiles import HostFiles
from simcluster.models.machine.images import ImageRegistry
from simcluster.models.machine.imagestore import ImageStore
from simcluster.models.machine.journal import Journal
from simcluster.models.machine.kernel import chrony
from simcluster.models.machine.kernel.group import Group
from simcluster.models.machine.kernel.processes import HostProcess
from simcluster.models.machine.network import Network
from simcluster.models.machine.shell.files import ERROR_TEXTS, Layer
from simcluster.models.machine.storage import TMPFS, Disk, FileSystem, MountTable, Storage, Usage
from simcluster.models.machine.storage.usage import RESERVED_KIB, TOTAL_INODES, TOTAL_KIB, root_base
from simcluster.models.machine.units import UnitTable
from simcluster.telemetry.logs import LogFile

GIB = 1 << 30
MIB = 1 << 20

#: What the system's own processes use, (low, high) over time: kubelet, containerd, journald,
#: and on the control plane etcd and the API server (kubeadm clusters at rest).
_SYSTEM_MILLICORES = {"control-plane": (150, 200), "worker": (50, 100)}
_SYSTEM_MEMORY_MIB = {"control-plane": (1180, 1260), "worker": (520, 570)}
#: Window over which the system's use drifts from one draw to the next.
_DRIFT_NS = 15 * SECOND
HEX = "0123456789abcdef"


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


@dataclass(frozen=True)
class MachineSpec(Shared):
    """What somebody orders who wants a node.

    Attributes:
        name: node and host name.
        address: its address in the node network.
        cpu_cores, memory_bytes, pods: capacity.
        pod_cidr: where its pods live; by default 10.244.N.0/24 with N from the last number of the address
            (.2 is the first node: 10.244.0.0/24).
        role: `control-plane` or `worker`; by default from the name.
        preloaded: images that are on its disk from the beginning.
    """

    name: str
    address: str
    cpu_cores: int = 4
    memory_bytes: int = 8 * GIB
    pods: int = 110
    pod_cidr: str = ""
    role: str = ""
    preloaded: tuple[str, ...] = ()


class Hardware(ABC):
    """A node's hardware."""

    def __init__(self, sim: Simulation, spec: MachineSpec, network: Network, registry: ImageRegistry) -> None:
        self.sim = sim
        self.name = name = spec.name
        self.address = spec.address
        self.cpu_cores = spec.cpu_cores
        self.memory_bytes = spec.memory_bytes
        self.network = network
        self.role = spec.role or ("control-plane" if "control-plane" in name or "master" in name else "worker")
        self.booted_ns = sim.now
        self._drift_key = sim.streams.key("drift", name)
        self.container_memory = 0  # bytes of all containers' working sets
        self.host_memory = 0  # bytes of processes that are no containers
        self.identity = _identity(sim, name)
        self.log = Journal()
        self.program_logs: dict[str, LogFile] = {}  # by path: files to which programs append lines for good
        self.sel = SystemEventLog()
        self.slowed: dict[str, float] = {}  # cause -> share of its speed that it leaves
        self.files = HostFiles(sim)
        self.files.write(chrony.CONFIG, chrony.CONFIG_TEXT)
        self.files.guard = self.disk_refusal
        self.volumes: dict[str, Layer] = {}  # what pods wrote to its paths: it outlives them
        self.built_storage: Storage | None = None  # see `storage`
        self.units = UnitTable(sim, self.log)
        self.images = ImageStore(sim, name, registry)
        self.images.refusal, self.images.say = self.disk_refusal, self.containerd
        self.cpu = CpuAccount(spec.cpu_cores)
        self.cpu.system = _SYSTEM_MILLICORES[self.role][1] * 1_000_000
        self.cramped = False  # whether some container ever came up against its limit of memory
        self.throttled_ns = 0  # time for which quotas stopped containers, all together
        self.processes: dict[str, HostProcess] = {}
        self.retired_host_ns = 0
        self.cpu_before_boot_ns = 0  # CPU time that processes used before the present boot

    @property
    @abstractmethod
    def runs(self) -> bool:
        """Whether it has power and its operating system runs."""

    @abstractmethod
    def containers(self) -> Sequence[Group]:
        """The newest run of every container on it, in order of creation of their pods."""

    @abstractmethod
    def panic(self, why: str) -> None:
        """Its kernel gives up."""

    @abstractmethod
    def cpu_ns(self) -> int:
        """CPU time used on the machine since it booted, nanoseconds of one core."""

    @abstractmethod
    def layers(self) -> Iterable[Layer]:
        """What containers have written to the root file system."""

    def kernel(self, *lines: str) -> None:
        """The kernel writes to its ring buffer (and so to the journal)."""
        for line in lines:
            self.log.write(self.sim.now, "", "kernel", 0, line)

    # Disks.

    @property
    def storage(self) -> Storage:
        """Drives and mounts, built when they are first looked at: a node that nobody looks at needs none."""
        if self.built_storage is None:
            self.built_storage = Storage(self)
        return self.built_storage

    def containerd(self, level: str, message: str, error: str = "") -> None:
        """A line of containerd in the journal, in the text format of logrus."""
        stamp = format_rfc3339(self.sim.now, digits=9)
        text = f'time="{stamp}" level={level} msg={_quoted(message)}' + (f" error={_quoted(error)}" if error else "")
        unit = self.units.units["containerd.service"]
        self.log.write(self.sim.now, "containerd.service", "containerd", unit.pid, text)

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

    def disk_usage(self) -> Usage:
        """The root file system now."""
        if self.built_storage is not None:
            return self.built_storage.mounts.at("/").usage()
        used, inodes = root_base(self)
        total, reserved = TOTAL_KIB << 10, RESERVED_KIB << 10
        return Usage(total, used, max(0, total - reserved - used), TOTAL_INODES, max(0, TOTAL_INODES - inodes))

    def tmpfs_at(self, path: str) -> str:
        """The mount point of the file system in memory on which a path lies; "" if it lies on a drive."""
        return next((point for point in TMPFS if path == point or path.startswith(point + "/")), "")

    def tmpfs_bytes(self, point: str) -> tuple[int, int]:
        """Size of a file system in memory, and how much of it is used."""
        size = {"/run": self.memory_bytes // 10, "/dev/shm": self.memory_bytes // 2}.get(point, 5 * MIB)
        inner = self.files.size_below("/run/lock") - 2 * MIB if point == "/run" else 0  # 2 MiB are systemd's
        return size, self.files.size_below(point) - inner

    def room_at(self, path: str) -> int:
        """Bytes that the file system under a path still takes."""
        point = self.tmpfs_at(path)
        if point:
            size, used = self.tmpfs_bytes(point)
            return max(0, size - used)
        storage = self.built_storage
        return (self.disk_usage() if storage is None else storage.mounts.at(path).usage()).available_bytes

    def disk_refusal(self, path: str, size_bytes: int) -> str:
        """Why a path of the host cannot be written, as a program prints it, or "": read-only, dead, full."""
        if self.tmpfs_at(path):
            return ERROR_TEXTS["ENOSPC"] if size_bytes > self.room_at(path) else ""
        if self.built_storage is not None:
            refused = self.built_storage.mounts.at(path).refusal(size_bytes)
            return ERROR_TEXTS.get(refused, "")
        return ERROR_TEXTS["ENOSPC"] if size_bytes and size_bytes > self.room_at(path) else ""

    def start_delay_ns(self) -> int:
        """What a slow root drive adds to the start of a process: some 20 MB of its image are read."""
        if self.built_storage is None:
            return 0
        disk = self.built_storage.mounts.at("/").disk
        if not disk.modes and disk.outage is None:
            return 0
        return disk.read(disk.model.sectors // 4, 40_960, sequential=True).delay_ns

    # CPU and memory.

    @property
    def cpu_speed(self) -> float:
        """How fast a core runs, as a share of its nominal frequency."""
        return self.cpu.speed

    @property
    def stolen_share(self) -> float:
        """Share of the CPU time that the hypervisor gives to others."""
        return self.cpu.stolen / self.cpu.capacity

    def steal_cpu(self, share: float) -> None:
        """The hypervisor gives so large a share of the CPU time to others. Raises ValueError."""
        self.cpu.steal(share)
        self.network.version += 1

    def system_cpu_ns(self) -> int:
        """CPU time of the system's own processes since it booted."""
        low, high = _SYSTEM_MILLICORES[self.role]
        steady = (self.sim.now - self.booted_ns) * (low + high) // 2000
        # A bounded drift whose slope stays below (high - low) / 2: the counter never falls.
        span = _DRIFT_NS * (high - low) // 4000
        return steady + self._drift(span, self.sim.now) - self._drift(span, self.booted_ns)

    def memory_used(self) -> int:
        """Working set of the machine, bytes."""
        low, high = _SYSTEM_MEMORY_MIB[self.role]
        middle, span = (low + high) * MIB // 2, (high - low) * MIB // 2
        return middle + self._drift(span, self.sim.now) + self.container_memory + self.host_memory

    def has_ample_memory(self, part: int) -> bool:
        """Whether more than one part in so many is free whatever the system's own use drifts to; a quick bound."""
        used = _SYSTEM_MEMORY_MIB[self.role][1] * MIB + self.container_memory + self.host_memory
        return (self.memory_bytes - used) * part > self.memory_bytes

    @property
    def memory_ceiling(self) -> int:
        """What processes may hold together before the kernel kills one of them, bytes."""
        return self.memory_bytes - _SYSTEM_MEMORY_MIB[self.role][1] * MIB

    def _drift(self, span: int, t_ns: int) -> int:
        """A value in [-span, span] that moves linearly from one drawn point to the next."""
        key = self._drift_key
        step, inside = divmod(t_ns, _DRIFT_NS)
        before, after = _signed(key, step, span), _signed(key, step + 1, span)
        return before + (after - before) * inside // _DRIFT_NS


def _signed(key: int, counter: int, span: int) -> int:
    return mix(key, counter) * (2 * span + 1) // (1 << 64) - span


def _identity(sim: Simulation, name: str) -> NodeIdentity:
    stream = sim.stream("machine", name)
    machine_id, system, boot = (stream.text(HEX, 32) for _ in range(3))
    return NodeIdentity(machine_id, uuid_of(system), uuid_of(boot))


def uuid_of(digits: str) -> str:
    """A UUID of version 4 made of 32 hexadecimal digits."""
    return "-".join((digits[:8], digits[8:12], "4" + digits[13:16], "9" + digits[17:20], digits[20:]))


def _quoted(text: str) -> str:
    """A value as Go's %q writes it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
