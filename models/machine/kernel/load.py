"""What a kernel keeps of its recent past: load averages, and averages of pressure (PSI) of the node and its groups.

A sample is taken every five seconds, as the kernel does for its load averages (kernel/sched/loadavg.c,
LOAD_FREQ); pressure averages, which the kernel folds every two seconds (kernel/sched/psi.c), use the same samples.
A task counts for the load while it runs, waits for a CPU, or waits for a drive; one that its quota has stopped
does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from simcluster.engine import SECOND
from simcluster.engine.streams import mix
from simcluster.models.machine.cpu import NANOCORES
from simcluster.models.machine.hardware import Hardware
from simcluster.models.machine.kernel import usage
from simcluster.models.machine.kernel.sysctls import Sysctls
from simcluster.models.machine.storage import Disk

STEP_NS = 5 * SECOND
#: exp(-5 s / window) for windows of 1, 5 and 15 minutes, and for those of pressure: 10, 60 and 300 s.
_LOAD = (0.9200444146293233, 0.9834714538216174, 0.9944598480048967)
_PRESSURE = (0.6065306597126334, 0.9200444146293233, 0.9834714538216174)
RESOURCES = ("cpu", "io", "memory")


class Pressure(NamedTuple):
    """Averages of one kind of pressure over 10, 60 and 300 s, shares of time, and its total in microseconds."""

    averages: tuple[float, float, float] = (0.0, 0.0, 0.0)
    total_usec: int = 0

    def then(self, share: float) -> Pressure:
        """After one more sample."""
        averages = (
            self.averages[0] * _PRESSURE[0] + share * (1.0 - _PRESSURE[0]),
            self.averages[1] * _PRESSURE[1] + share * (1.0 - _PRESSURE[1]),
            self.averages[2] * _PRESSURE[2] + share * (1.0 - _PRESSURE[2]),
        )
        return Pressure(averages, self.total_usec + int(share * STEP_NS) // 1000)

    def text(self, kind: str) -> str:
        """One line of a pressure file."""
        shown = " ".join(
            f"{name}={100.0 * value:.2f}"
            for name, value in zip(("avg10", "avg60", "avg300"), self.averages, strict=True)
        )
        return f"{kind} {shown} total={self.total_usec}\n"


NO_PRESSURE = Pressure()


class LoadHistory:
    """The recent past of one machine.

    Args:
        tell: khungtaskd has found a task (name, PID) that has hung for so many seconds.

    Attributes:
        averages: load over 1, 5 and 15 minutes.
        some, full: pressure of the machine by resource.
        groups: pressure of containers that have felt any, by (container id, resource).
        io: what containers have read and written by (container id, drive): bytes read and written, requests of both.
        iowait_ns: time in which a CPU was idle and somebody waited for a drive, all CPUs together.
    """

    __slots__ = (
        "_hanging",
        "_machine",
        "_phase_ns",
        "_sysctls",
        "_tell",
        "_throttled",
        "averages",
        "full",
        "groups",
        "io",
        "iowait_ns",
        "some",
    )

    def __init__(self, machine: Hardware, sysctls: Sysctls, tell: Callable[[str, int, int], None]) -> None:
        self._machine = machine
        self._sysctls = sysctls
        self._tell = tell
        # khungtaskd goes to sleep when it is started, not at a full second.
        self._phase_ns = mix(machine.sim.streams.key("khungtaskd", machine.name), 0) % STEP_NS
        self._throttled: dict[str, int] = {}
        self._hanging: dict[str, int] = {}  # container id -> since when it waits for a drive that answers nobody
        self.averages = (0.0, 0.0, 0.0)
        self.some = dict.fromkeys(RESOURCES, NO_PRESSURE)
        self.full = dict.fromkeys(RESOURCES, NO_PRESSURE)
        self.groups: dict[tuple[str, str], Pressure] = {}
        self.io: dict[tuple[str, str], tuple[int, int, int, int]] = {}
        self.iowait_ns = 0
        machine.sim.every(STEP_NS, self.sample)

    def booted(self) -> None:
        """A new kernel remembers nothing."""
        self._throttled.clear()
        self._hanging.clear()
        self.groups.clear()
        self.io.clear()
        self.averages, self.iowait_ns = (0.0, 0.0, 0.0), 0
        self.some, self.full = dict.fromkeys(RESOURCES, NO_PRESSURE), dict.fromkeys(RESOURCES, NO_PRESSURE)

    def sample(self) -> None:
        """Look at what runs and waits now."""
        machine = self._machine
        if not machine.runs:
            return
        stored = machine.built_storage is not None
        blocked = usage.blocked(machine) if stored else {}
        runnable = usage.runnable(machine) / NANOCORES
        waiting = math.fsum(blocked.values()) if blocked else 0.0
        one, five, fifteen = self.averages
        active = runnable + waiting
        self.averages = (
            one * _LOAD[0] + active * (1.0 - _LOAD[0]),
            five * _LOAD[1] + active * (1.0 - _LOAD[1]),
            fifteen * _LOAD[2] + active * (1.0 - _LOAD[2]),
        )
        there = machine.cpu.available / NANOCORES
        idle = max(0.0, there - runnable)
        self._fold("cpu", 1.0 - there / runnable if runnable > there else 0.0, 0.0)
        if waiting or self.some["io"].averages[2]:
            self.iowait_ns += int(min(idle, waiting) * STEP_NS)
            stuck = min(1.0, waiting)
            self._fold("io", stuck, stuck * idle / max(there, 0.001))
        tight = memory_share(machine)
        self._fold("memory", tight, tight / 2.0)
        self._groups(blocked)
        if blocked or self._hanging:
            self._hang(blocked)
        if stored:
            for disk in machine.disks.values():
                self._transferred(disk)

    def _transferred(self, disk: Disk) -> None:
        for load, rates in disk.rates().items():
            key = (usage.owner_of(load), disk.name)
            reads, writes = rates.random_reads + rates.sequential_reads, rates.writes
            size = rates.random_reads * rates.random_size + rates.sequential_reads * rates.sequential_size
            before, seconds = self.io.get(key, (0, 0, 0, 0)), STEP_NS // SECOND
            self.io[key] = (
                before[0] + int(size * seconds),
                before[1] + int(writes * rates.write_size * seconds),
                before[2] + int(reads * seconds),
                before[3] + int(writes * seconds),
            )

    def _hang(self, blocked: dict[str, float]) -> None:
        """Who waits for a drive that answers nobody hangs; khungtaskd looks at such tasks once a time-out."""
        machine, since = self._machine, self._hanging
        limit_ns = self._sysctls.number("kernel.hung_task_timeout_secs") * SECOND
        dumb = [disk for disk in machine.disks.values() if disk.outage is not None and not disk.outage.disabled]
        stuck = {usage.owner_of(load): None for disk in dumb for load in disk.waiting()} if blocked else {}
        for owner in [owner for owner in since if owner not in stuck]:
            del since[owner]
        for owner in stuck:
            began = since.setdefault(owner, machine.sim.now)
            waited = machine.sim.now - began
            container = next((c for c in machine.containers() if c.container_id == owner), None)
            if container is not None and limit_ns and waited >= limit_ns and waited % limit_ns < STEP_NS:
                words = (container.comm, container.pid, waited // limit_ns * limit_ns // SECOND)
                machine.sim.after(self._phase_ns, self._tell, *words)

    def _fold(self, resource: str, some: float, full: float) -> None:
        if some or self.some[resource].averages[2] > 0.0:
            self.some[resource] = self.some[resource].then(some)
            self.full[resource] = self.full[resource].then(full)

    def _groups(self, blocked: dict[str, float]) -> None:
        known, past = self.groups, self._throttled
        if not (blocked or known or past or self.io or self._machine.throttled_ns):
            return  # nobody has ever been stopped or waited
        living: dict[str, None] = {}
        for container in self._machine.containers():
            key = container.container_id
            if not container.running:
                continue
            living[key] = None
            stopped = container.throttled_ns - past.get(key, 0)
            if stopped:
                past[key] = container.throttled_ns
            if stopped or (key, "cpu") in known:
                known[key, "cpu"] = known.get((key, "cpu"), NO_PRESSURE).then(min(1.0, stopped / STEP_NS))
            if key in blocked or (key, "io") in known:
                known[key, "io"] = known.get((key, "io"), NO_PRESSURE).then(min(1.0, blocked.get(key, 0.0)))
        for gone in [each for each in known if each[0] not in living]:
            del known[gone]
        for name in [name for name in past if name not in living]:
            del past[name]
        for each in [each for each in self.io if each[0] not in living]:
            del self.io[each]


def memory_share(machine: Hardware) -> float:
    """Share of time that somebody spends on reclaiming pages: nothing until a twentieth of the memory is left."""
    if machine.has_ample_memory(20):
        return 0.0
    left = machine.memory_bytes - machine.memory_used()
    return 0.0 if left * 20 > machine.memory_bytes else 0.3 * (1.0 - left * 20 / machine.memory_bytes)
