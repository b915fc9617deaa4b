"""The kernel of one machine as its processes meet it.

Everything is a function of rates that owners report and of time; the only timer is one that
works off a full table, and it stops when the table is not full any more.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.engine import SECOND, Timer
from simcluster.engine.streams import mix
from simcluster.models.machine.hardware import Hardware
from simcluster.models.machine.kernel import watchdog
from simcluster.models.machine.kernel.clock import UNIT, WallClock
from simcluster.models.machine.kernel.conntrack import Conntrack
from simcluster.models.machine.kernel.cputime import CpuTimes
from simcluster.models.machine.kernel.descriptors import SYSTEM_FILES, Descriptors
from simcluster.models.machine.kernel.group import Group
from simcluster.models.machine.kernel.load import LoadHistory
from simcluster.models.machine.kernel.namespaces import COOKIES, Namespaces
from simcluster.models.machine.kernel.packetfilter import PacketFilter
from simcluster.models.machine.kernel.pids import PER_CONTAINER, PidTable
from simcluster.models.machine.kernel.ports import EphemeralPorts
from simcluster.models.machine.kernel.ratelimit import RateLimit
from simcluster.models.machine.kernel.rates import Counters
from simcluster.models.machine.kernel.sharedmemory import SharedMemory
from simcluster.models.machine.kernel.syscalls import SyscallFaults
from simcluster.models.machine.kernel.sysctls import Sysctls

#: Connections of a node's daemons: the kubelet probes a container twice in ten seconds on average (readiness and
#: liveness, periodSeconds 10), and is scraped by metrics-server every 15 s (--metric-resolution).
PROBES_PER_S, SCRAPES_PER_S = 0.2, 1.0 / 15.0
#: What the kernel counts of an owner's connections.
_CONNECTIONS = ("TcpActiveOpens", "TcpPassiveOpens", "TcpAttemptFails", "TcpOutRsts")
_CROWDED = ("TcpExtListenDrops", "TcpExtListenOverflows", "TcpExtTCPReqQFullDoCookies")
#: How often a table that is full (or will be) is looked at.
WATCH_NS = 5 * SECOND
#: A change of a dropped share that callers would notice.
NOTICEABLE = 0.01
TABLE_FULL = "nf_conntrack: nf_conntrack: table full, dropping packet"
#: A refused request to accept leaves connections in the backlog; the texts are those of Go's net package.
_ACCEPT = {"EMFILE": "accept4: too many open files", "ENFILE": "accept4: too many open files in system"}


class Admission(NamedTuple):
    """What the tables make of a process's connections.

    Attributes:
        refused: share of the connections it opens itself that fail at once; `cause` says why.
        dropped: share of connections to it (and of its own) whose SYN vanishes or stays in the backlog.
        cause: the error by name ("" if nothing is short), `text` as a program words it.
    """

    refused: float = 0.0
    dropped: float = 0.0
    cause: str = ""
    text: str = ""


ADMITTED = Admission()


class Kernel:
    """Tables, limits, clock and injected failures of one machine.

    Attributes:
        sysctls, conntrack, descriptors, ports, pids, shm, clock, syscalls, counters, times, load: its parts.
        namespaces: parameters that pods were given.
        stuck_cpus: CPUs in a soft lockup.
        cleared_ns: what the ring buffer held until then was thrown away (`dmesg -C`).
    """

    def __init__(self, machine: Hardware) -> None:
        self.machine = machine
        sim = machine.sim
        self.sysctls = Sysctls(machine.cpu_cores, machine.memory_bytes, self._written)
        self.conntrack = Conntrack(sim, self.sysctls, self._look_on)
        self.descriptors = Descriptors(self.sysctls)
        self.namespaces = Namespaces()
        self.ports = EphemeralPorts(sim, self.sysctls, self.namespaces)
        self.pids = PidTable(self.sysctls)
        self.shm = SharedMemory(machine.memory_bytes)
        unit = machine.units.units[UNIT]
        self.clock = WallClock(sim, machine.log, unit, machine.files)
        unit.on_start, unit.on_stop = self.clock.chronyd_started, self.clock.chronyd_stopped
        self.syscalls = SyscallFaults(sim, machine.name)
        self.filter = PacketFilter(self._filter_changed)
        self.counters = Counters()
        self.modules: dict[str, None] = {}  # those that somebody loaded since the boot
        self.cleared_ns = -1
        self.stuck_cpus: dict[int, None] = {}
        self.times = CpuTimes(machine, self.stuck_cpus)
        self.load = LoadHistory(machine, self.sysctls, self.times, self.hung, self.watch_daemons)
        self._probed = -1  # containers that the kubelet probes
        self._hung_warnings = 0
        self._limits: dict[str, RateLimit] = {}
        self._watch: Timer | None = None
        self._announced = 0.0
        self._flooded: dict[tuple[str, int], None] = {}
        self._short_of_ports: dict[str, tuple[float, float]] = {}  # namespace -> connections a second, share refused
        self._oom_kills = 0

    def booted(self) -> None:
        """The machine has booted: a new kernel has counted nothing."""
        self.load.booted()
        self.counters.booted()
        self.ports.booted()
        self.syscalls.booted()
        self.filter.booted()
        self.times.booted()
        self._probed, self._oom_kills = -1, 0
        self.stuck_cpus.clear()
        self.machine.cpu.lose(0)
        self.sysctls.booted()
        self.modules.clear()
        self.watch_daemons()

    def _filter_changed(self) -> None:
        self.machine.network.set_filter(self.machine.name, self.filter)

    def watch_daemons(self) -> None:
        """What the node's own daemons connect to now; looked at with the load averages."""
        machine = self.machine
        kubelet = machine.units.units["kubelet.service"].active
        probed = self._running() if kubelet else -1
        if probed != self._probed:
            self._probed, now = probed, machine.sim.now
            probes = max(0, probed) * PROBES_PER_S
            self.counters.set_rate(now, "TcpActiveOpens", probes)
            self.counters.set_rate(now, "TcpPassiveOpens", probes + (SCRAPES_PER_S if kubelet else 0.0))

    # What a process does.

    def open(self, container: Group, path: str = "", count: int = 1) -> str:
        """Open `count` files: "" or the error's name."""
        return self._take("open", container, path, count)

    def accept(self, container: Group, count: int = 1) -> str:
        """Accept `count` connections: "" or the error's name."""
        return self._take("accept", container, "", count)

    def connect(self, container: Group, address: str = "", count: int = 1) -> str:
        """Open `count` connections: "" or the error's name."""
        error = self.made("socket", container) or self._take("connect", container, address, count)
        if error:
            return error
        error = self.ports.take(self._namespace(container), count)
        if error:
            self.descriptors.give(container, count)
        return error

    def made(self, call: str, container: Group) -> str:
        """A call that only an injected failure can spoil (`socket`, `bind`, `mmap`, `prlimit`, `setns`): its error."""
        failure = self.syscalls.failure(call, container) if self.syscalls.rules else None
        return "" if failure is None else failure.errno

    def close(self, container: Group, count: int = 1) -> None:
        """Close `count` files or sockets."""
        self.descriptors.give(container, count)

    def fork(self, container: Group, count: int = 1) -> str:
        """Start `count` processes or threads in the container's pod: "" or the error's name."""
        failure = self.syscalls.failure("fork", container)
        if failure is not None and failure.errno:
            return failure.errno
        uid = container.spec.pod_uid
        main = PER_CONTAINER * sum(1 for c in container.sandbox.containers.values() if c.running)
        error = self.pids.fork(uid, main, self._running(), count)
        if error and self.pids.rejected(uid) == 1:
            # kernel/cgroup/pids.c says so once for each group.
            self.machine.kernel(f"cgroup: fork rejected by pids controller in /{container.control_group}")
        return error

    def litter(self, container: Group, count: int) -> str:
        """Start `count` processes that end and that nobody asks after: as many as there is room for, "" or EAGAIN."""
        uid = container.spec.pod_uid
        main = PER_CONTAINER * sum(1 for c in container.sandbox.containers.values() if c.running)
        fits = min(count, self.pids.room(uid, main, self._running()))
        if fits:
            self.fork(container, fits)
            self.pids.ended(uid, fits)
        return self.fork(container, count - fits) if fits < count else ""

    def reap(self, container: Group, count: int = 1) -> None:
        """`count` of them ended."""
        self.pids.reap(container.spec.pod_uid, count)

    def shared_file(self, container: Group, size_bytes: int) -> str:
        """Write so many bytes to files in /dev/shm that nobody removes: "" or ENOSPC once it is full."""
        return self.shm.litter(container, size_bytes)

    def shared_memory(self, container: Group, size_bytes: int, owner: str = "") -> str:
        """Segments in /dev/shm of the container (or another owner) are to be so large together: "" or ENOSPC."""
        return self.shm.set(container, size_bytes, owner)

    def connections(
        self,
        container: Group,
        new_per_s: float,
        concurrent: float,
        *,
        outgoing_per_s: float = 0.0,
        held: float = 0.0,
    ) -> Admission:
        """A process's connections from now on, and what the tables make of them.

        Args:
            new_per_s: connections it accepts a second; concurrent: those open at a time (both directions).
            outgoing_per_s: short connections a second that it opens to one destination.
            held: how many of those open at a time were there first, and stay.
        """
        key = container.container_id
        short, cause = self.descriptors.sockets(container, concurrent, self.open_files(), held)
        no_port = self.ports.connecting(self._namespace(container), outgoing_per_s)
        kept = min(held, concurrent) + max(0.0, concurrent - held) * (1.0 - short)
        self.conntrack.flow(key, new_per_s + outgoing_per_s * (1.0 - no_port), kept)
        lost = self._look()
        if self.ports.may_run_out(self._namespace(container), outgoing_per_s):
            self._short_of_ports[self._namespace(container)] = (outgoing_per_s, no_port)
        else:
            self._short_of_ports.pop(self._namespace(container), None)
        self._keep_looking()
        short = max(short, self.syscalls.share("accept", container))
        now = self.machine.sim.now
        self.counters.set_rate(now, f"TcpPassiveOpens/{key}", new_per_s * (1.0 - short) * (1.0 - lost))
        self.counters.set_rate(now, f"TcpActiveOpens/{key}", outgoing_per_s * (1.0 - no_port))
        failing = max(self.syscalls.share(call, container) for call in ("connect", "socket"))
        refused = max(no_port, failing, short if cause else 0.0)
        if not (short or lost or refused):
            return ADMITTED
        cause = cause or ("EADDRNOTAVAIL" if no_port else "")
        text = _ACCEPT.get(cause, "connect: cannot assign requested address" if cause else "")
        return Admission(refused, 1.0 - (1.0 - short) * (1.0 - lost), cause, text)

    def failing(self, container: Group, refused_per_s: float, lost_per_s: float) -> None:
        """A process's attempts to connect that end so from now on: with a reset, or by nobody's answering."""
        now, key = self.machine.sim.now, container.container_id
        self.counters.set_rate(now, f"TcpAttemptFails/{key}", refused_per_s + lost_per_s)
        self.counters.set_rate(now, f"TcpOutRsts/{key}", refused_per_s)
        self.conntrack.failing(key, refused_per_s, lost_per_s)
        self._look_on()

    def passing(self, owner: str, new_per_s: float, concurrent: float) -> None:
        """Connections that only pass through the machine, from outside to another one (0, 0: none any more)."""
        self.conntrack.flow(owner, new_per_s, concurrent)
        self._look_on()

    @property
    def is_strained(self) -> bool:
        """Whether some table is short, or somebody set a limit, a leak or a failure that may make it so."""
        if self.syscalls.rules or self.descriptors.unusual or self._short_of_ports:
            return True
        return self.conntrack.may_fill

    def backlog(self, container: Group, port: int, waiting: float, per_s: float, backlog: int = 4096) -> float:
        """So many connections wait to be accepted on a port: the share of new ones that is dropped.

        Source: net/ipv4/tcp_ipv4.c, inet_csk_reqsk_queue_is_full; the line is printed once a listener.
        """
        most = min(backlog, self.sysctls.number("net.core.somaxconn"))
        cookies = (self.namespaces.get(self._namespace(container), COOKIES) or self.sysctls.get(COOKIES)) != "0"
        if not cookies:  # tcp_conn_request keeps a quarter for known peers
            syns = self.sysctls.number("net.ipv4.tcp_max_syn_backlog")
            most = min(most, syns - syns // 4)
        now = self.machine.sim.now
        share = 1.0 - most / waiting if waiting > most else 0.0
        for counter in _CROWDED:
            counts = cookies or counter != "TcpExtTCPReqQFullDoCookies"
            self.counters.set_rate(now, f"{counter}/{container.container_id}", per_s * share if counts else 0.0)
        if not share:
            return 0.0
        key = (container.container_id, port)
        if key not in self._flooded and cookies:
            self._flooded[key] = None
            self.machine.kernel(
                f"TCP: request_sock_TCP: Possible SYN flooding on port {port}. Sending cookies.  Check SNMP counters."
            )
        return share

    def exited(self, container: Group) -> None:
        """A container's process is gone: what it held is free again, and what it was connected to is reset."""
        reset = self.descriptors.connected(container)
        for counter in ("TcpEstabResets", "TcpOutRsts") if reset else ():
            self.counters.add(counter, reset)
        self.descriptors.forget(container)
        self.shm.forget(container)
        self.conntrack.forget(container.container_id)
        for counter in (*_CONNECTIONS, *_CROWDED):
            self.counters.end(self.machine.sim.now, counter, container.container_id)
        if not any(c.running for c in container.sandbox.containers.values()):
            self.pids.forget(container.spec.pod_uid)
            self._short_of_ports.pop(self._namespace(container), None)
            self.ports.connecting(self._namespace(container), 0.0)

    # What people and files see.

    def open_files(self) -> int:
        """Open files of the whole machine (`fs.file-nr`)."""
        return SYSTEM_FILES + self.descriptors.held_by(self.machine.containers())

    def tasks(self) -> int:
        """Tasks on the whole machine."""
        return self.pids.total(self._running())

    def shared_bytes(self) -> int:
        """Bytes in all pods' /dev/shm."""
        return self.shm.total()

    def counter(self, name: str) -> int:
        """A counter of `nstat` or `conntrack -S`, all owners together."""
        return self.counters.total(self.machine.sim.now, name)

    def sysctl(self, name: str) -> str:
        """Text of a parameter, states included; "" if there is none."""
        name = name.replace("/", ".")
        if name == "net.netfilter.nf_conntrack_count":
            return str(self.conntrack.count)
        if name == "fs.file-nr":
            return f"{self.open_files()}\t0\t{self.sysctls.get('fs.file-max')}"
        return self.sysctls.get(name)

    def all_kills(self) -> int:
        """How often the OOM killer took a process since boot."""
        return self._oom_kills

    def count_kill(self, container: Group | None) -> None:
        """The OOM killer took a container's process, or that of no container."""
        self._oom_kills += 1
        if container is not None:
            container.oom_kills += 1

    # Watchdogs.

    def lockup(self, cpu: int, stuck_s: int, comm: str, pid: int) -> None:
        """A CPU schedules nobody for so many seconds: it is lost to everybody, and the watchdog says so.

        Raises:
            ValueError: the machine has no such CPU, or it is stuck already.
        """
        if not 0 <= cpu < self.machine.cpu_cores:
            raise ValueError(f"{self.machine.name} has no CPU {cpu}: only 0 to {self.machine.cpu_cores - 1}")
        if cpu in self.stuck_cpus:
            raise ValueError(f"CPU {cpu} of {self.machine.name} is stuck already")
        self.stuck_cpus[cpu] = None
        self._share_cpus()
        self.machine.sim.after(stuck_s * SECOND, self._unstuck, cpu)
        for after_ns, text in watchdog.lockup_lines(self.sysctls, cpu, stuck_s, comm, pid):
            self.machine.sim.after(after_ns, self._seen_stuck, self.machine.booted_ns, text)

    def _seen_stuck(self, booted_ns: int, text: str) -> None:
        if not self.machine.runs or self.machine.booted_ns != booted_ns:
            return
        self.machine.kernel(text)
        if self.sysctls.get("kernel.softlockup_panic") == "1":
            self.machine.panic("softlockup: hung tasks")

    def _unstuck(self, cpu: int) -> None:
        self.stuck_cpus.pop(cpu, None)
        self._share_cpus()

    def _share_cpus(self) -> None:
        """What stuck CPUs spin away in the kernel, nobody else gets."""
        self.machine.cpu.lose(len(self.stuck_cpus))
        self.times.look()
        self.machine.network.version += 1

    def hung(self, comm: str, pid: int, blocked_s: int) -> None:
        """A task has been in uninterruptible sleep for so many seconds: khungtaskd tells, as often as it may."""
        if self._hung_warnings >= self.sysctls.number("kernel.hung_task_warnings") >= 0:
            return
        self._hung_warnings += 1
        release = self.machine.identity.kernel_version
        self.machine.kernel(*watchdog.hung_lines(comm, pid, blocked_s, release))

    def limited(self, name: str, text: str, count: int = 1) -> None:
        """Print a line `count` times under the rate limit of that name."""
        limit = self._limits.setdefault(name, RateLimit(name))
        allowed, suppressed = limit.admit(self.machine.sim.now, count)
        self.machine.kernel(*([suppressed] if suppressed else []), *([text] * allowed))

    # Inside.

    def _take(self, call: str, container: Group, path: str, count: int) -> str:
        failure = self.syscalls.failure(call, container, path=path)
        if failure is not None and failure.errno:
            return failure.errno
        return self.descriptors.take(container, count, self.open_files())

    def port_count(self, container: Group) -> int:
        """Ephemeral ports of its network namespace."""
        return self.ports.size(self._namespace(container))

    def _namespace(self, container: Group) -> str:
        return "" if container.sandbox.host_network else container.spec.pod_uid

    def _running(self) -> int:
        return [container.state for container in self.machine.containers()].count("running")

    def _look(self) -> float:
        """The share of new connections that is dropped now; its lines, its counters, its readers."""
        lost, now = self.conntrack.dropped_share, self.machine.sim.now
        self.counters.set_rate(now, "drop", self.conntrack.drops_per_s)
        self.counters.set_rate(now, "early_drop", self.conntrack.evicted_per_s)
        collected = self.conntrack.take_collected()
        if collected:
            self.counters.add("early_drop", collected)
        if abs(lost - self._announced) > NOTICEABLE:
            self._announced = lost
            self.machine.network.version += 1
        if lost > 0.0:
            # The packet that is dropped, and told of, is one of the next ones.
            sim, dropped = self.machine.sim, max(1, int(self.conntrack.drops_per_s * WATCH_NS / SECOND))
            key = sim.streams.key("dropped", self.machine.name, now)
            soon_ns = 1 + mix(key, 0) % max(1, min(SECOND, int(SECOND / max(self.conntrack.drops_per_s, 1.0))))
            sim.after(soon_ns, self.limited, "net_ratelimit", TABLE_FULL, dropped)
        return lost

    def _keep_looking(self) -> None:
        if self._watch is None and (self.conntrack.may_fill or self._short_of_ports):
            self._watch = self.machine.sim.every(WATCH_NS, self._watched)

    def _look_on(self) -> None:
        self._look()
        self._keep_looking()

    def _written(self) -> None:
        """A parameter has changed: whoever depends on it asks anew."""
        self.machine.network.links.forward(self.machine.name, self.sysctls.get("net.ipv4.ip_forward") == "1")
        self.conntrack.update()
        self.machine.network.version += 1
        self._look_on()

    def _watched(self) -> None:
        self.conntrack.update()
        self._look()
        for owner, (per_s, before) in list(self._short_of_ports.items()):
            share = self.ports.connecting(owner, per_s)
            if abs(share - before) > NOTICEABLE:
                self._short_of_ports[owner] = (per_s, share)
                self.machine.network.version += 1
            if not self.ports.may_run_out(owner, per_s):
                del self._short_of_ports[owner]
        if not (self.conntrack.may_fill or self._short_of_ports) and self._watch is not None:
            self._watch.cancel()
            self._watch = None
