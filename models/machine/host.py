"""A node under its kernel: the shares of its cores, its memory and the processes that the kernel kills for it.

This is what a container, its runtime and the parts of a machine may ask of the node they are on.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from simcluster.models.machine.cpu import NANOCORES
from simcluster.models.machine.hardware import HEX, Hardware, uuid_of
from simcluster.models.machine.kernel.cgroups import (
    BEST_EFFORT,
    DEFAULT_WEIGHT,
    GUARANTEED,
    MOST_WEIGHT,
    ROOT_SLICE,
    SYSTEM,
    scope_of,
)
from simcluster.models.machine.kernel.group import Group
from simcluster.models.machine.kernel.kernel import Kernel
from simcluster.models.machine.kernel.processes import HostProcess
from simcluster.models.machine.kernel.sysctltable import PARAMETERS
from simcluster.models.machine.loginshell import LoginShell
from simcluster.models.machine.storage import TMPFS
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.place import Place

EXIT_SIGKILL = 137
#: What the kernel keeps free by default; processes of the system hold theirs besides.
MIN_FREE = int(PARAMETERS["vm.min_free_kbytes"].default) << 10
_GLOBAL = "NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg="


#: Causes of slowness that lower the clock itself.
CLOCKED = ("heat", "cap")


class Boot(NamedTuple):
    """One boot: when, its id, and how far the clock was off."""

    started_ns: int
    boot_id: str
    wrong_ns: int = 0


class Host(Hardware):
    """Hardware with a kernel."""

    os: Kernel
    boots: list[Boot]
    login_shell: LoginShell | None = None  # of whoever lets people in
    on_oom: Callable[[str, int], None] | None = None  # hears of a process killed for the whole machine's sake

    @abstractmethod
    def run(self, argv: Sequence[str], stdin: str = "") -> Outcome | None:
        """Any program of the host but those of its login shell (`crictl`, `cat`, `free`); None if there is none."""

    @abstractmethod
    def place(self) -> Place:
        """The node as a shell meets it."""

    @abstractmethod
    def file(self, path: str) -> str | None:
        """Text of a file of /proc or /sys; None if there is none of that name."""

    def booted(self) -> None:
        """It has booted, and has another boot id from now on."""
        self.cpu_before_boot_ns += self.cpu_ns() - self.system_cpu_ns()
        self.booted_ns = self.sim.now
        self.os.clock.booted()
        digits = self.sim.stream("boot", self.name, str(self.booted_ns)).text(HEX, 32)
        self.identity = replace(self.identity, boot_id=uuid_of(digits))
        self.boots.append(Boot(self.booted_ns, self.identity.boot_id, self.os.clock.offset_ns()))
        self.os.booted()
        for point in TMPFS:
            self.files.remove_folder(point)

    # CPU.

    def cpu_share(self, container: Group) -> float:
        """Cores the container can use now: its limit, or its fair share if that is less."""
        return self.cpu.share(container) * self.cpu.speed

    def cpu_shares(self, containers: Sequence[Group]) -> list[float]:
        """`cpu_share` of several containers."""
        return [share * self.cpu.speed for share in self.cpu.shares(containers)]

    @property
    def cpu_mark(self) -> tuple[int, int, int, int, float]:
        """As long as it is the same, every container's share of the CPU is."""
        return self.cpu.mark

    def set_cpu_speed(self, factor: float, reason: str = "") -> None:
        """Make all cores run at a share of their nominal frequency.

        Args:
            reason: `thermal` writes what the kernel says of an overheated package.

        Raises:
            ValueError: a factor that no processor has.
        """
        self.slow_cpu("heat", factor)
        if reason == "thermal":
            # arch/x86 therm_throt.c; each core says it.
            if factor < 1.0:
                self.kernel(*(f"CPU{n}: Core temperature is above threshold, cpu clock is throttled "
                              f"(total events = {n + 1})" for n in range(self.cpu_cores)))  # fmt: skip
            else:
                self.kernel(*(f"CPU{n}: Core temperature/speed normal" for n in range(self.cpu_cores)))

    def slow_cpu(self, cause: str, factor: float) -> None:
        """Make all cores do a share of their work, for a cause: `heat` and `cap` lower the clock, `errors` do not.

        Several causes multiply. Raises ValueError: a factor that no processor has.
        """
        if not 0.0 < factor <= 1.0:
            raise ValueError(f"the speed must be above 0 and at most 1, not {factor:g}")
        for container in self.containers():
            container.read_meter()
        self.slowed[cause] = factor
        self.cpu.speed = math.prod(self.slowed[one] for one in sorted(self.slowed))
        self.network.version += 1

    @property
    def clock_share(self) -> float:
        """What its cores run at, as a share of the nominal clock."""
        return math.prod(factor for cause, factor in sorted(self.slowed.items()) if cause in CLOCKED)

    def burden(
        self,
        name: str,
        cores: float,
        *,
        weight: int = DEFAULT_WEIGHT,
        group: str = SYSTEM,
        memory_bytes: int = 0,
        user: str = "root",
    ) -> None:
        """A process of the host that is not ours wants so many cores and holds so much memory.

        Args:
            weight: CPUWeight of its unit; group: the slice of that: `system.slice`, or `-.slice` for the root.

        Raises:
            ValueError: magnitudes that no process has here.
        """
        if cores < 0.0 or memory_bytes < 0 or not 1 <= weight <= MOST_WEIGHT:
            raise ValueError(f"a process uses no negative amounts, and its weight is between 1 and {MOST_WEIGHT}")
        if group not in (SYSTEM, ROOT_SLICE):
            raise ValueError(f"{self.name} has no slice {group}")
        if memory_bytes > self.memory_bytes:
            raise ValueError(f"{self.name} has no {memory_bytes} bytes of memory")
        process = self.processes.get(name)
        if process is None:
            now = self.sim.now
            process = HostProcess(name, self.units.new_pid(), 0.0, weight, 0, now, now, user=user)
            self.processes[name] = process
        self.host_memory += memory_bytes - process.memory_bytes
        process.cores, process.weight, process.memory_bytes = cores, weight, memory_bytes
        self.cpu.burden(f"host/{name}", int(cores * NANOCORES), weight, group)
        process.settle(self.sim.now, self.cpu.granted(f"host/{name}"))
        self.network.version += 1
        self.os.times.look()
        self.check_memory()

    def unburden(self, name: str) -> None:
        """The process ends. Harmless when there is none."""
        process = self.processes.pop(name, None)
        if process is not None:
            self.host_memory -= process.memory_bytes
            self.cpu.forget(f"host/{name}")
            self.retired_host_ns += process.used_ns(self.sim.now)
            self.os.times.look()
            self.network.version += 1

    def steal_cpu(self, share: float) -> None:
        """The hypervisor gives so large a share of the CPU time to others. Raises ValueError."""
        super().steal_cpu(share)
        self.os.times.look()

    def report_demand(self, container: Group, cores: float) -> None:
        """What the container wanted in the last accounting window, in cores."""
        self.cpu.report(container, int(cores / self.cpu.speed * NANOCORES))

    def release(self, container: Group) -> None:
        """The container demands nothing any more."""
        self.cpu.release(container)

    # Memory.

    def out_of_memory(self, container: Group) -> None:
        """The container exceeded its limit: the kernel kills its largest process."""
        group = f"/{container.control_group}"
        scope = scope_of(container.container_id)
        where = f"MEMCG,nodemask=(null),cpuset={scope},mems_allowed=0,oom_memcg={group},task_memcg={group}"
        self._say_killed(container, where, self.oom_score(container), "Memory cgroup out of memory")
        self.os.count_kill(container)
        container.exit(EXIT_SIGKILL, "OOMKilled")

    def _say_killed(self, task: Group | HostProcess, where: str, score: int, why: str = "Out of memory") -> None:
        """What mm/oom_kill.c prints of a process that it kills."""
        comm, kib = task.comm, task.memory_bytes >> 10
        virtual, files = (kib * 2, 0) if isinstance(task, HostProcess) else (kib * 3, kib // 40)
        asked = "0xcc0(GFP_KERNEL)" if where.startswith("MEMCG") else "0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP)"
        self.kernel(
            f"{comm} invoked oom-killer: gfp_mask={asked}, order=0, oom_score_adj={score}",
            f"oom-kill:constraint=CONSTRAINT_{where},task={comm},pid={task.pid},uid=0",
            f"{why}: Killed process {task.pid} ({comm}) total-vm:{virtual}kB, anon-rss:{kib}kB, file-rss:{files}kB, "
            f"shmem-rss:0kB, UID:0 pgtables:{kib // 128 + 64}kB oom_score_adj:{score}",
        )

    @property
    def min_free(self) -> int:
        """Bytes that the kernel keeps free (`vm.min_free_kbytes`)."""
        return self.os.sysctls.number("vm.min_free_kbytes") << 10

    @property
    def memory_ceiling(self) -> int:
        """What processes may hold together before the kernel kills one of them, bytes."""
        return super().memory_ceiling + MIN_FREE - self.min_free

    def check_memory(self, asking: Group | None = None) -> None:
        """All processes together hold more than there is: the kernel kills the worst of them, or who asks for more."""
        while self.container_memory + self.host_memory > self.memory_ceiling:
            if self.os.sysctls.get("vm.panic_on_oom") != "0":
                self.panic("Out of memory: system-wide panic_on_oom is enabled")
                return
            if asking is not None and asking.running and self.os.sysctls.get("vm.oom_kill_allocating_task") != "0":
                self._kill_for_all(asking)
                continue
            greedy = max(self.processes.values(), key=_held, default=None)
            running = [container for container in self.containers() if container.running]
            victim = max(running, key=self._badness, default=None)
            share = 0 if greedy is None else greedy.memory_bytes * 1000 // self.memory_bytes
            if greedy is not None and share and (victim is None or share > self._badness(victim)):
                self._kill_process(greedy)
                continue
            if victim is None or not victim.memory_bytes:
                return
            self._kill_for_all(victim)

    def _badness(self, container: Group) -> int:
        # mm/oom_kill.c: the share of memory in thousandths, plus oom_score_adj.
        return container.memory_bytes * 1000 // self.memory_bytes + self.oom_score(container)

    def _kill_for_all(self, container: Group) -> None:
        comm, pid = container.comm, container.pid
        self._say_killed(container, f"{_GLOBAL}/{container.control_group}", self.oom_score(container))
        self.os.count_kill(container)
        container.exit(EXIT_SIGKILL, "OOMKilled")
        if self.on_oom is not None:
            self.on_oom(comm, pid)

    def _kill_process(self, process: HostProcess) -> None:
        """A process that is no container's has oom_score_adj 0."""
        self.os.count_kill(None)
        self._say_killed(process, f"{_GLOBAL}/system.slice/{process.name}.service", 0)
        self.unburden(process.name)
        if self.on_oom is not None:
            self.on_oom(process.comm, process.pid)

    def oom_score(self, container: Group) -> int:
        """oom_score_adj of a container's processes, by quality of service.

        Source: Kubernetes docs, node-pressure eviction: Guaranteed -997, BestEffort 1000,
        Burstable min(max(2, 1000 - 1000 * request / node memory), 999).
        """
        fixed = {BEST_EFFORT: 1000, GUARANTEED: -997}.get(container.sandbox.group.qos)
        request = container.spec.memory_request
        return fixed if fixed is not None else min(max(2, 1000 - 1000 * request // self.memory_bytes), 999)


def _held(process: HostProcess) -> int:
    return process.memory_bytes
