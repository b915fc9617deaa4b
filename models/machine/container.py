"""Containers and pod sandboxes on one machine: physical truth, not what was reported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from simcluster.engine import SECOND, Parted, Simulation
from simcluster.models.machine.containerspec import ContainerSpec, Mount
from simcluster.models.machine.host import EXIT_SIGKILL, Host
from simcluster.models.machine.imagefacts import facts_of
from simcluster.models.machine.kernel.cfs import CpuStat, statistics
from simcluster.models.machine.kernel.cgroups import NO_REQUESTS, PodGroup, scope_of
from simcluster.models.machine.kernel.kernel import Kernel
from simcluster.models.machine.kernel.load import LEAST_ROOM
from simcluster.models.machine.links.veth import Veth
from simcluster.models.machine.names import ResolverConfig
from simcluster.models.machine.process import Process
from simcluster.models.machine.shell.files import Layer
from simcluster.telemetry.logs import LogFile

EXIT_SIGTERM = 143
#: What containers get (containerd, oci/spec.go: defaultUnixCaps).
DEFAULT_CAPABILITIES = (
    *("CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "MKNOD", "NET_RAW", "SETGID", "SETUID", "SETFCAP", "SETPCAP"),
    *("NET_BIND_SERVICE", "SYS_CHROOT", "KILL", "AUDIT_WRITE"),
)
#: What is charged at once.
CHARGE_BYTES = 64 * 4096
#: A leak is noticed in such steps.
_LEAK_STEP = 1 << 18


@dataclass
class Sandbox(Parted):
    """A pod's network namespace and the containers in it. Owns the pod's address."""

    namespace: str
    pod_name: str
    pod_uid: str
    node: str
    address: str
    containers: dict[str, Container] = field(default_factory=dict)  # name -> newest run
    host_network: bool = False
    sandbox_id: str = ""
    volumes: dict[str, Layer] = field(default_factory=dict)  # what was written to each emptyDir
    names: ResolverConfig | None = None  # its resolv.conf; None: what dnsPolicy ClusterFirst gives
    hosts: str = ""  # what hostAliases add to /etc/hosts
    group: PodGroup = NO_REQUESTS  # its control group
    veth: Veth | None = None  # its interface; None in the network of the host

    def container_on(self, port: int) -> Container | None:
        """The running container that listens on the port."""
        for container in self.containers.values():
            if container.state == "running" and container.program.listens_on(port):
                return container
        return None

    def listens_on(self, port: int) -> bool:
        """Whether a process of the pod accepts connections on the port."""
        return self.container_on(port) is not None


class Meter(Protocol):
    """Who counts the CPU time of containers for them, a row each; `speed` is that of the machine's cores."""

    def read(self, row: int, speed: float) -> int:
        """What a container has used beside what it knows of."""

    def every(self, speed: float) -> list[int]:
        """The same of all rows. Not to be changed."""

    def take(self, row: int, speed: float) -> int:
        """What `read` says; from now on the container knows of it."""

    def set_leaky(self, row: int, leaky: bool) -> None:
        """A container leaks as it works: it wants to know of its work soon. Or it does not."""


class Container(Parted):
    """One run of a container.

    Attributes:
        state: `created`, `running` or `exited`.
        exit_code, reason: after the exit; reason is `Completed`, `Error` or `OOMKilled`.
        memory_bytes: working set now.
        throttled_ns: time in which the CFS quota stopped it.
        file_cache: bytes of its files in the kernel's page cache, where its program keeps count of them; else None.
        file_peak: the most that was.
    """

    program: Process

    def __init__(
        self, sim: Simulation, machine: Host, sandbox: Sandbox, spec: ContainerSpec, container_id: str
    ) -> None:
        self.sim = sim
        self.machine = machine
        self.sandbox = sandbox
        self.spec = spec
        self.container_id = container_id
        self.state = "created"
        self.created_ns = sim.now
        self.started_ns = 0
        self.finished_ns = 0
        self.exit_code = 0
        self.reason = ""
        self.message = ""
        self.log = LogFile()
        self.written: Layer | None = None  # the writable layer, made at the first write
        self.memory_bytes = 0
        self._used_ns = 0
        self._meter: tuple[Meter, int] | None = None
        self.throttled_ns = 0
        self.memory_peak = 0
        self.file_cache: int | None = None
        self.file_peak = 0
        self.memory_full = 0  # how often it came up against its limit (memory.events max)
        self.memory_grown = 0  # bytes that it has touched for the first time
        self.oom_kills = 0  # processes of it that the kernel killed for memory
        self.leaky = False  # whether it grows with its work
        self._leak = (0, 0, 0)  # bytes for a second of CPU, CPU time at the beginning, bytes before
        self._litter: dict[str, tuple[float, int, int]] = {}  # what -> for a second of CPU, CPU time at first, how many
        self._base_memory = 0
        self.on_exit: Callable[[Container], None] | None = None
        self.attempt = 0  # how many runs of this container the pod had before
        self.image_name = spec.image  # full name, as the runtime reports it
        self.image_id = ""  # repository and digest
        self.pid = 0
        self._mounts: tuple[Mount, ...] | None = None

    @property
    def kernel(self) -> Kernel | None:
        """The kernel that its processes call; None on a machine without one."""
        return getattr(self.machine, "os", None)

    @property
    def comm(self) -> str:
        """Name of its main process as the kernel knows it, at most 15 characters."""
        spec, program = self.spec, getattr(self, "program", None)
        known = program.comm if program is not None and not spec.command else ""
        words = spec.command or (known or spec.image.partition("@")[0].rpartition("/")[2].partition(":")[0],)
        return words[0].rpartition("/")[2][:15]

    @property
    def cpu_ns(self) -> int:
        """CPU time used since the start, in nanoseconds of one core."""
        if self._meter is None:
            return self._used_ns
        meter, row = self._meter
        return self._used_ns + meter.read(row, self.machine.cpu_speed)

    def use_meter(self, meter: Meter | None, row: int = 0) -> None:
        """From now on somebody counts CPU time for it (None: it does so itself)."""
        self.read_meter()
        self._meter = None if meter is None else (meter, row)
        if meter is not None:
            meter.set_leaky(row, self.leaky)

    def read_meter(self) -> None:
        """Take over what its meter has counted, and leak what that makes it leak."""
        if self._meter is not None:
            meter, row = self._meter
            self._used_ns += meter.take(row, self.machine.cpu_speed)
            if self.leaky:
                self._grow()

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """Its volumes; the kubelet renews the files of ConfigMaps and Secrets."""
        return self.spec.mounts if self._mounts is None else self._mounts

    @mounts.setter
    def mounts(self, mounts: tuple[Mount, ...]) -> None:
        self._mounts = mounts

    @property
    def uid(self) -> int:
        """The user of its processes: what the pod says, else the image's."""
        facts = facts_of(self.spec.image)
        return self.spec.user if self.spec.user is not None else facts.user[1] if facts is not None else 0

    @property
    def gid(self) -> int:
        """The first group of its processes: what the pod says, else root's."""
        return self.spec.group or 0

    @property
    def argv(self) -> tuple[str, ...]:
        """What its main process was started with: the pod's words, else the image's."""
        spec, facts = self.spec, facts_of(self.spec.image)
        if facts is not None:
            return facts.argv(spec.command, spec.args)
        return (*(spec.command or (self.comm,)), *spec.args)

    def bounded(self, capability: str) -> bool:
        """Whether a capability is in the bounding set: a program with the set-uid bit could have it."""
        spec = self.spec
        if spec.privileged or capability in spec.add or "ALL" in spec.add:
            return True
        return capability in DEFAULT_CAPABILITIES and capability not in spec.drop and "ALL" not in spec.drop

    def may(self, capability: str) -> bool:
        """Whether its main process has a capability: root has containerd's default ones, whoever else has none."""
        # A privileged container's processes have them all; ambient capabilities of other users are not set.
        return self.spec.privileged or (not self.uid and self.bounded(capability))

    @property
    def control_group(self) -> str:
        """Its control group as the host sees it: a path without a slash in front."""
        return f"{self.sandbox.group.path(self.spec.pod_uid)}/{scope_of(self.container_id)}"

    @property
    def log_path(self) -> str:
        """Where its log lies on the node."""
        spec = self.spec
        return f"/var/log/pods/{spec.namespace}_{spec.pod_name}_{spec.pod_uid}/{spec.name}/{self.attempt}.log"

    @property
    def running(self) -> bool:
        """Whether the main process lives."""
        return self.state == "running"

    def start(self) -> None:
        """Exec the entry point. `program` must have been set."""
        self.state = "running"
        self.started_ns = self.sim.now
        self._record()
        self.program.start()

    def terminate(self) -> None:
        """Send SIGTERM to the main process. Who is halted hears of it when it goes on."""
        if self.running and not self.halted:
            self.program.terminate()

    @property
    def halted(self) -> bool:
        """Whether its processes are stopped (SIGSTOP): its kernel takes connections, and nobody answers."""
        return self.container_id in self.machine.cpu.halted

    def halt(self) -> None:
        """Send SIGSTOP."""
        if self.running:
            self.machine.cpu.halt(self)

    def go_on(self) -> None:
        """Send SIGCONT."""
        self.machine.cpu.go_on(self)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.exit(EXIT_SIGKILL)

    def exit(self, code: int, reason: str = "", message: str = "") -> None:
        """The main process ends. Nothing happens if it has ended already."""
        if not self.running:
            return
        self.state = "exited"
        self.finished_ns = self.sim.now
        self.exit_code = code
        self.reason = reason or ("Completed" if code == 0 else "Error")
        self.message = message or self._last_words()
        self._hold_memory(0)
        self._record()
        self.program.stop()
        if self.on_exit is not None:
            self.on_exit(self)

    def _last_words(self) -> str:
        """The termination message: its file, else with FallbackToLogsOnError the end of the log.

        Source: kuberuntime_container.go (getTerminationMessage): 4096 bytes of the file, or 2048
        bytes and 80 lines of the log.
        """
        text = None if self.written is None else self.written.files.get(self.spec.termination_path)
        if text:
            return text[:4096]
        if not self.spec.termination_fallback or self.exit_code == 0:
            return ""
        return "".join(f"{line.text}\n" for line in self.log.read(tail=80))[-2048:]

    def write(self, text: str, stream: str = "stdout") -> None:
        """The main process prints."""
        self.log.write(self.sim.now, text, stream)

    def cpu_cores(self) -> float:
        """Cores it can use now: its limit, or its fair share of the machine if that is less."""
        return self.machine.cpu_share(self)

    def use_cpu(self, cpu_ns: int, throttled_ns: int = 0) -> None:
        """Account CPU time and time stopped by the quota."""
        speed = self.machine.cpu_speed
        self._used_ns += cpu_ns if speed == 1.0 else int(cpu_ns / speed)
        if throttled_ns:
            self.throttled_ns += throttled_ns
            self.machine.throttled_ns += throttled_ns
        if self.leaky:
            self._grow()

    def _grow(self) -> None:
        """Take what its work so far has made it leak."""
        if self._leak[0] and self.leaked() - (self.memory_bytes - self._base_memory) >= _LEAK_STEP:
            self.set_memory(self._base_memory)
        kernel = self.kernel
        for what, (rate, since_ns, have) in list(self._litter.items()):
            more = int(rate * (self.cpu_ns - since_ns) / SECOND) - have
            if kernel is None or more <= 0 or not self.running:
                continue
            self._litter[what] = (rate, since_ns, have + more)
            error = (kernel.litter if what == "fork" else kernel.shared_file)(self, more)
            if error:
                self.program.denied(what, error)

    def cpu_stat(self) -> CpuStat:
        """Its cgroup's `cpu.stat`."""
        age_ns = (self.sim.now if self.running else self.finished_ns) - self.started_ns
        return statistics(self.cpu_ns, self.throttled_ns, age_ns, self.spec.cpu_limit, self.machine.cpu_cores)

    def leak(self, bytes_per_cpu_second: int) -> None:
        """From now on it never frees so many bytes for each second of CPU it uses (0: no more).

        Raises:
            ValueError: a negative rate.
        """
        if bytes_per_cpu_second < 0:
            raise ValueError("a process cannot leak less than nothing")
        self._leak = (bytes_per_cpu_second, self.cpu_ns, self.leaked())
        self._note_leaks()

    def litter(self, what: str, per_cpu_second: float) -> None:
        """From now on it leaves so many behind for each second of CPU it uses (0: no more).

        Args:
            what: `fork`: children that it never asks after; `write`: bytes in files of /dev/shm.

        Raises:
            ValueError: a negative rate.
        """
        if per_cpu_second < 0.0:
            raise ValueError("a process cannot leave less than nothing behind")
        assert what in ("fork", "write"), what
        self._litter.pop(what, None)
        if per_cpu_second:
            self._litter[what] = (per_cpu_second, self.cpu_ns, 0)
        self._note_leaks()

    def _note_leaks(self) -> None:
        self.leaky = bool(self._leak[0] or self._litter)
        if self._meter is not None:
            self._meter[0].set_leaky(self._meter[1], self.leaky)

    def leaked(self) -> int:
        """Bytes it has leaked so far."""
        rate, since, before = self._leak
        return before + rate * (self.cpu_ns - since) // SECOND

    def set_memory(self, memory_bytes: int) -> None:
        """The working set changes; beyond the limit the OOM killer takes the process."""
        if not self.running:
            return
        self._base_memory = memory_bytes
        memory_bytes += self.leaked()
        if memory_bytes > self.memory_bytes and self._is_refused_memory():
            return
        self._hold_memory(memory_bytes)
        limit = self.spec.memory_limit
        if limit is not None and memory_bytes > limit:
            self.machine.out_of_memory(self)
        elif (
            self.machine.container_memory + self.machine.host_memory > self.machine.memory_bytes >> 1
        ):  # only then it is worth a closer look
            self.machine.check_memory(self)

    def cache_files(self, size: int) -> None:
        """So many bytes of its files are in the kernel's page cache now."""
        self.file_cache = size
        self.file_peak = max(self.file_peak, size)

    def _is_refused_memory(self) -> bool:
        """The kernel refuses more memory, and the process ends as Go's and malloc's callers do."""
        kernel = self.kernel
        if kernel is None or not kernel.syscalls.rules or not (kernel.made("mmap", self) or kernel.made("brk", self)):
            return False
        self.write("fatal error: runtime: cannot allocate memory", "stderr")
        self.exit(2)
        return True

    def _hold_memory(self, memory_bytes: int) -> None:
        grown = memory_bytes - self.memory_bytes
        self.machine.container_memory += grown
        if grown > 0:
            self.memory_grown += grown
            limit = self.spec.memory_limit
            if limit is not None and memory_bytes + LEAST_ROOM > limit:
                # Pages are charged in batches of 64 (MEMCG_CHARGE_BATCH); each that does not fit is an event.
                self.memory_full += max(1, min(grown, memory_bytes + LEAST_ROOM - limit) // CHARGE_BYTES)
                self.machine.cramped = True
        self.memory_bytes = memory_bytes
        self.memory_peak = max(self.memory_peak, memory_bytes)

    def _record(self) -> None:
        spec = self.spec
        self.sim.record(
            "container", f"{spec.namespace}/{spec.pod_name}/{spec.name} {self.state} {self.exit_code} {self.reason}"
        )


def cpu_times(containers: Sequence[Container]) -> list[int]:
    """`Container.cpu_ns` of containers of one machine."""
    found = [container._used_ns for container in containers]
    meter, counted = None, list[int]()
    for place, metered in enumerate([container._meter for container in containers]):
        if metered is not None:
            if metered[0] is not meter:
                meter = metered[0]
                counted = meter.every(containers[place].machine.cpu_speed)
            found[place] += counted[metered[1]]
    return found
