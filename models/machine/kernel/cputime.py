"""Where the time of each CPU goes: what /proc/stat counts.

The kernel's accountant looks at the machine on the grid of its load averages, and whenever a host's process, stolen
time or a stuck CPU changes. What has been used and not yet been counted since then is spread over the time until it
looks again, so that busy, idle, waiting and stolen time grow at whole rates whose sum is the clock's: none of them
ever runs backwards, all together are the uptime of each CPU, and over time the sum of what is busy is what processes
have used.

Which CPU: a task is woken where it ran before (its home, which changes once a minute) if that CPU is idle, else on
an idle one (select_task_rq_fair, kernel/sched/fair.c); a CPU gives no more than it has, and what is too much goes to
the others, as idle balancing does. CPUs of a guest are stolen from unequally, by what else their own host CPU runs.

Left out: interrupts as times of their own (they count as system time), guests, priorities (nice), cpusets.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.engine import MINUTE, SECOND
from simcluster.engine.streams import mix
from simcluster.models.machine.cpu import NANOCORES
from simcluster.models.machine.hardware import Hardware

#: User time is 17 parts in 20 of what programs use (as `cpu.stat` divides it).
USER_PARTS, ALL_PARTS = 17, 20
#: How long a task's home stays the same: migrations of busy tasks are a matter of minutes.
HOME_NS = MINUTE
#: Shares of the system's own CPU time, per cent: kubelet, containerd, and what is left for all others.
_DAEMONS = (("kubelet", 50), ("containerd", 30), ("others", 20))
#: What is used between two looks is counted in about that time.
SPREAD_NS = 5 * SECOND


class CpuTime(NamedTuple):
    """Times of one CPU (or of several together) since boot, nanoseconds."""

    user: int
    system: int
    idle: int
    iowait: int
    steal: int

    def plus(self, other: CpuTime) -> CpuTime:
        """Both together."""
        return CpuTime(*(one + more for one, more in zip(self, other, strict=True)))

    def minus(self, before: CpuTime) -> CpuTime:
        """What came since."""
        return CpuTime(*(now - then for now, then in zip(self, before, strict=True)))


NOTHING = CpuTime(0, 0, 0, 0, 0)


class _Rates(NamedTuple):
    """Where one CPU's time goes from now on, nanoseconds a second: together no more than a second."""

    busy: int = 0
    spinning: int = 0
    iowait: int = 0
    steal: int = 0

    @property
    def idle(self) -> int:
        """The rest."""
        return NANOCORES - self.busy - self.spinning - self.iowait - self.steal


class CpuTimes:
    """The accountant of one machine.

    Args:
        stuck: CPUs that spin in the kernel with interrupts off.
    """

    __slots__ = ("_counted", "_homes", "_key", "_machine", "_rates", "_since_ns", "_stuck", "_waiting", "_weights")

    def __init__(self, machine: Hardware, stuck: dict[int, None]) -> None:
        self._machine = machine
        self._stuck = stuck
        self._key = machine.sim.streams.key("cpus", machine.name)
        self._rates = [_Rates()] * machine.cpu_cores
        self._counted = [(0, 0, 0, 0, 0)] * machine.cpu_cores  # busy, spinning, idle, iowait, steal until `_since_ns`
        self._since_ns = machine.sim.now
        self._waiting = 0
        self._homes: object = None  # for which minute and which containers the weights were worked out
        self._weights = [NANOCORES] * machine.cpu_cores

    def booted(self) -> None:
        """A new kernel has counted nothing."""
        cores = self._machine.cpu_cores
        self._counted, self._since_ns, self._waiting = [(0, 0, 0, 0, 0)] * cores, self._machine.sim.now, 0
        self.look()

    def leapt(self, since_ns: int) -> None:
        """Idle time since an instant was skipped: what was used in it is counted as spread over it."""
        machine, span = self._machine, self._machine.sim.now - since_ns
        counted, steal = self._at(since_ns), self._stolen()
        lost = [each * span // SECOND for each in steal]
        room = [span - each for each in lost]
        used = machine.cpu_ns() - sum(each[0] for each in counted)  # integers
        free = sum(room)  # integers
        busy = _fill(min(max(0, used), free), self._placement(), room)
        self._counted = [
            (before[0] + busy[cpu], before[1], before[2] + room[cpu] - busy[cpu], before[3], before[4] + lost[cpu])
            for cpu, before in enumerate(counted)
        ]
        self._since_ns = machine.sim.now
        self.look()

    def look(self, waiting: float | None = None) -> None:
        """Count until now, and see what runs; `waiting`: tasks that wait for drives, as before if None."""
        machine = self._machine
        self._counted, self._since_ns = self._now(), machine.sim.now
        if waiting is not None:
            self._waiting = int(waiting * NANOCORES)
        steal = self._stolen()
        spinning = [NANOCORES - steal[cpu] if cpu in self._stuck else 0 for cpu in range(machine.cpu_cores)]
        room = [NANOCORES - lost - spun for lost, spun in zip(steal, spinning, strict=True)]
        behind = machine.cpu_ns() - sum(counted[0] for counted in self._counted)  # integers
        running = sum(int(process.granted * NANOCORES) for process in machine.processes.values())  # integers
        whole = min(max(0, running + behind * SECOND // SPREAD_NS), sum(room))  # integers
        busy = _fill(whole, self._placement(), room)
        idle = [left - used for left, used in zip(room, busy, strict=True)]
        total = sum(idle)  # integers
        waits = min(self._waiting, total)
        self._rates = [
            _Rates(busy[cpu], spinning[cpu], waits * idle[cpu] // total if total else 0, steal[cpu])
            for cpu in range(machine.cpu_cores)
        ]

    def each(self) -> list[CpuTime]:
        """Times of every CPU."""
        return [
            CpuTime(busy * USER_PARTS // ALL_PARTS, busy - busy * USER_PARTS // ALL_PARTS + spun, idle, iowait, steal)
            for busy, spun, idle, iowait, steal in self._now()
        ]

    def all(self) -> CpuTime:
        """Times of all CPUs together."""
        found = NOTHING
        for one in self.each():
            found = found.plus(one)
        return found

    def _now(self) -> list[tuple[int, int, int, int, int]]:
        return self._at(self._machine.sim.now)

    def _at(self, now_ns: int) -> list[tuple[int, int, int, int, int]]:
        span = now_ns - self._since_ns
        return [
            (
                busy + rates.busy * span // SECOND,
                spun + rates.spinning * span // SECOND,
                idle + rates.idle * span // SECOND,
                iowait + rates.iowait * span // SECOND,
                steal + rates.steal * span // SECOND,
            )
            for (busy, spun, idle, iowait, steal), rates in zip(self._counted, self._rates, strict=True)
        ]

    def _stolen(self) -> list[int]:
        """What is stolen from each CPU, nanocores: between half and one and a half times the mean, by the minute."""
        machine = self._machine
        stolen, cores, minute = machine.cpu.stolen, machine.cpu_cores, machine.sim.now // HOME_NS
        if not stolen:
            return [0] * cores
        weights = [NANOCORES // 2 + mix(self._key, minute * cores + cpu) % NANOCORES for cpu in range(cores)]
        return _fill(stolen, weights, [NANOCORES] * cores)

    def _placement(self) -> list[int]:
        """How what is used divides among CPUs, as weights."""
        machine = self._machine
        minute, containers = machine.sim.now // HOME_NS, machine.containers()
        mark = (minute, len(containers), len(machine.processes))
        if mark != self._homes:
            demands = [(one.container_id, machine.cpu.demand_of(one)) for one in containers]
            demands += [(f"host/{name}", int(one.cores * NANOCORES)) for name, one in machine.processes.items()]
            self._homes, self._weights = mark, self._placed(minute, demands)
        return self._weights

    def _placed(self, minute: int, demands: list[tuple[str, int]]) -> list[int]:
        cores, streams = self._machine.cpu_cores, self._machine.sim.streams
        system = self._machine.cpu.system
        daemons = [(f"{self._machine.name}/{name}", system * share // 100) for name, share in _DAEMONS]
        load = [0] * cores
        for name, demand in [*daemons, *demands]:
            home = mix(streams.key("home", name), minute) % cores
            while demand > 0:  # one thread after the other
                thread = min(demand, NANOCORES)
                demand -= thread
                free = max(0, NANOCORES - load[home])
                stays = thread * free // NANOCORES
                load[home] += stays
                for cpu, part in enumerate(_fill(thread - stays, [max(1, NANOCORES - each) for each in load], None)):
                    load[cpu] += part
                home = (home + 1) % cores
        return load


def _fill(amount: int, weights: list[int], room: list[int] | None) -> list[int]:
    """Divide an amount by weights, no part beyond its room: what does not fit goes where there is some."""
    count = len(weights)
    whole = sum(weights) or 1  # integers
    if room is None:
        return [amount * weight // whole for weight in weights]
    found = [min(amount * weight // whole, most) for weight, most in zip(weights, room, strict=True)]
    left = amount - sum(found)  # integers
    for at in range(count):
        if left <= 0:
            break
        free = sum(room[at:]) - sum(found[at:])  # integers
        more = -(-left * (room[at] - found[at]) // free) if free else 0
        more = min(more, room[at] - found[at])
        found[at] += more
        left -= more
    return found
