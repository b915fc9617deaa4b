"""systemd on one node: units, their states, and its own words in the journal.

Texts are systemd 255's (Ubuntu 24.04). Leaves out: dependencies between units, sockets,
timers, automatic restarts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from simcluster.engine import SECOND, Parted, Simulation
from simcluster.models.machine.journal import Journal
from simcluster.models.machine.kernel.cgroups import DEFAULT_WEIGHT, ROOT_SLICE, SYSTEM


@dataclass
class Unit(Parted):
    """One service unit.

    Attributes:
        active, failed, enabled: its state.
        changed_ns: instant since which it is in this state.
        pid: main PID while active, else 0.
        command: command line of the main process.
        slice: of its control group; cpu_weight: CPUWeight of that.
        on_start, on_stop: called after the process started or ended.
    """

    name: str
    description: str
    command: str
    active: bool = True
    failed: bool = False
    enabled: bool = True
    changed_ns: int = 0
    pid: int = 0
    slice: str = SYSTEM
    cpu_weight: int = DEFAULT_WEIGHT
    on_start: Callable[[], None] | None = None
    on_stop: Callable[[], None] | None = None

    @property
    def control_group(self) -> str:
        """Its control group."""
        return f"/{self.name}" if self.slice == ROOT_SLICE else f"/{self.slice}/{self.name}"


#: name, description, command line, PID of the first start.
_UNITS = (
    ("chrony.service", "chrony, an NTP client/server", "/usr/sbin/chronyd -F 1", 702),
    ("containerd.service", "containerd container runtime", "/usr/bin/containerd", 781),
    ("cron.service", "Regular background program processing daemon", "/usr/sbin/cron -f -P", 655),
    ("dbus.service", "D-Bus System Message Bus", "@dbus-daemon --system --address=systemd: --nofork --nopidfile", 656),
    (
        "kubelet.service",
        "kubelet: The Kubernetes Node Agent",
        "/usr/bin/kubelet --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf"
        " --kubeconfig=/etc/kubernetes/kubelet.conf --config=/var/lib/kubelet/config.yaml"
        " --container-runtime-endpoint=unix:///run/containerd/containerd.sock",
        812,
    ),
    ("rsyslog.service", "System Logging Service", "/usr/sbin/rsyslogd -n -iNONE", 668),
    ("ssh.service", "OpenBSD Secure Shell server", '"sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups"', 840),
    ("systemd-journald.service", "Journal Service", "/usr/lib/systemd/systemd-journald", 311),
    ("systemd-logind.service", "User Login Management", "/usr/lib/systemd/systemd-logind", 671),
    ("systemd-networkd.service", "Network Configuration", "/usr/lib/systemd/systemd-networkd", 588),
    ("systemd-resolved.service", "Network Name Resolution", "/usr/lib/systemd/systemd-resolved", 590),
    ("systemd-udevd.service", "Rule-based Manager for Device Events and Files", "/usr/lib/systemd/systemd-udevd", 352),
)


class UnitTable:
    """The units of one node."""

    def __init__(self, sim: Simulation, journal: Journal) -> None:
        self.sim = sim
        self.journal = journal
        self._next_pid = 2000
        self.units = {name: Unit(name, what, command, pid=pid) for name, what, command, pid in _UNITS}

    def find(self, name: str) -> Unit | None:
        """The unit of this name, with or without `.service`."""
        return self.units.get(name) or self.units.get(f"{name}.service")

    @property
    def last_pid(self) -> int:
        """The PID of the last process that started."""
        return self._next_pid

    def new_pid(self) -> int:
        """The PID of a process that starts now."""
        self._next_pid += 7
        return self._next_pid

    def control(self, action: str, name: str) -> str:
        """systemctl ACTION NAME: start, stop, restart, enable, disable; error text or ""."""
        unit = self.find(name)
        full = name if "." in name else f"{name}.service"
        if action in ("enable", "disable"):
            if unit is None:
                return f"Failed to {action} unit: Unit file {full} does not exist."
            unit.enabled = action == "enable"
            return ""
        if unit is None:
            verb = "restart" if action in ("restart", "try-restart") else action
            missing = "not loaded" if action == "stop" else "not found"
            return f"Failed to {verb} {full}: Unit {full} {missing}."
        if action in ("stop", "restart") and unit.active:
            self._stop(unit)
        if action in ("start", "restart") and not unit.active:
            self._start(unit)
        return ""

    def fail(self, name: str, status: int) -> None:
        """The unit's main process ends by itself with an exit status."""
        unit = self.units[name]
        if not unit.active:
            return
        self._say(unit, f"{unit.name}: Main process exited, code=exited, status={status}/FAILURE")
        self._say(unit, f"{unit.name}: Failed with result 'exit-code'.")
        self._ended(unit, failed=True)

    def signalled(self, name: str, signal: str) -> None:
        """Somebody sends the unit's main process a signal that ends it (`TERM`, `KILL`)."""
        unit = self.units[name]
        if not unit.active:
            return
        clean = signal in ("TERM", "INT", "HUP")  # systemd.service(5), SuccessExitStatus=
        if not clean:
            number = {"KILL": 9, "QUIT": 3}.get(signal, 15)
            code = "dumped" if signal == "QUIT" else "killed"
            self._say(unit, f"{unit.name}: Main process exited, code={code}, status={number}/{signal}")
            self._say(unit, f"{unit.name}: Failed with result '{'signal' if code == 'killed' else 'core-dump'}'.")
        else:
            self._say(unit, f"{unit.name}: Deactivated successfully.")
        self._ended(unit, failed=not clean)

    def _start(self, unit: Unit) -> None:
        self._say(unit, f"Starting {unit.name} - {unit.description}...")
        unit.active, unit.failed = True, False
        unit.changed_ns = self.sim.now
        unit.pid = self.new_pid()
        self._say(unit, f"Started {unit.name} - {unit.description}.")
        if unit.on_start is not None:
            unit.on_start()

    def _stop(self, unit: Unit) -> None:
        self._say(unit, f"Stopping {unit.name} - {unit.description}...")
        self._say(unit, f"{unit.name}: Deactivated successfully.")
        self._say(unit, f"Stopped {unit.name} - {unit.description}.")
        used_ms = (self.sim.now - unit.changed_ns) // SECOND * 35 + 412  # a node daemon burns some 3.5 % of a core
        self._say(unit, f"{unit.name}: Consumed {used_ms // 1000}.{used_ms % 1000:03d}s CPU time.")
        self._ended(unit, failed=False)

    def _ended(self, unit: Unit, *, failed: bool) -> None:
        unit.active, unit.failed = False, failed
        unit.changed_ns = self.sim.now
        unit.pid = 0
        if unit.on_stop is not None:
            unit.on_stop()

    def _say(self, unit: Unit, text: str) -> None:
        self.journal.write(self.sim.now, unit.name, "systemd", 1, text)
