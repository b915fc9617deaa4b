"""systemd on one node: units, their states, and its own words in the journal.

Texts are systemd 255's (Ubuntu 24.04). `Restart=` is obeyed: what ends by itself or by a signal starts again after
`RestartSec=`, as its unit says. Leaves out: dependencies between units, sockets, timers, limits of starts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from simcluster.engine import MILLISECOND, SECOND, Parted, Simulation, Timer
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
        restart: `no`, `always` or `on-failure`; restart_ns: how long after its end.
        masked: whether it is linked to /dev/null and cannot be started.
        result: of the last run, as systemctl shows it; restarts: automatic ones since somebody started it.
        dropins: what `set-property` wrote, by path.
        on_start, on_stop: called after the process started or ended; on_weight: after its weight was changed.
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
    restart: str = "no"
    restart_ns: int = 0
    masked: bool = False
    result: str = "success"
    restarts: int = 0
    dropins: dict[str, str] = field(default_factory=dict)
    on_start: Callable[[], None] | None = None
    on_stop: Callable[[], None] | None = None
    on_weight: Callable[[], None] | None = None

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


#: Restart= and RestartSec= of those that have it (Ubuntu 24.04; kubeadm's and containerd's packages).
_RESTARTS = {
    "kubelet.service": ("always", 10 * SECOND),
    "containerd.service": ("always", 5 * SECOND),
    "cron.service": ("on-failure", 100 * MILLISECOND),
    "rsyslog.service": ("on-failure", 100 * MILLISECOND),
    "ssh.service": ("on-failure", 100 * MILLISECOND),
    "systemd-journald.service": ("always", 0),
    "systemd-logind.service": ("always", 0),
    "systemd-networkd.service": ("on-failure", 0),
    "systemd-resolved.service": ("always", 0),
    "systemd-udevd.service": ("always", 0),
}
#: Where `set-property` writes: lasting, and until the next boot.
_CONTROL, _RUNTIME = "/etc/systemd/system.control", "/run/systemd/system.control"


class UnitTable:
    """The units of one node."""

    def __init__(self, sim: Simulation, journal: Journal) -> None:
        self.sim = sim
        self.journal = journal
        self._next_pid = 2000
        self.units = {
            name: Unit(name, what, command, pid=pid, restart=policy, restart_ns=delay)
            for name, what, command, pid in _UNITS
            for policy, delay in [_RESTARTS.get(name, ("no", 0))]
        }
        self._due: dict[str, Timer] = {}  # automatic restarts to come, by unit

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
        """systemctl ACTION NAME: start, stop, restart, enable, disable, mask, unmask; error text or ""."""
        unit = self.find(name)
        full = name if "." in name else f"{name}.service"
        if action in ("mask", "unmask"):
            if unit is not None:
                unit.masked = action == "mask"
            return "" if unit is not None else f"Unit {full} does not exist, proceeding anyway."
        if action in ("enable", "disable"):
            if unit is None:
                return f"Failed to {action} unit: Unit file {full} does not exist."
            if unit.masked:
                return f"Failed to {action} unit: Unit file /etc/systemd/system/{unit.name} is masked."
            unit.enabled = action == "enable"
            return ""
        if unit is None:
            verb = "restart" if action in ("restart", "try-restart") else action
            missing = "not loaded" if action == "stop" else "not found"
            return f"Failed to {verb} {full}: Unit {full} {missing}."
        if unit.masked and action != "stop":
            return f"Failed to {action} {full}: Unit {full} is masked."
        self.settle(unit.name)
        unit.restarts = 0
        if action in ("stop", "restart") and unit.active:
            self._stop(unit)
        if action in ("start", "restart") and not unit.active:
            self._start(unit)
        return ""

    def settle(self, name: str = "") -> None:
        """Nothing starts again by itself: this unit, or (the machine goes off) any."""
        for due in [name] if name else list(self._due):
            timer = self._due.pop(due, None)
            if timer is not None:
                timer.cancel()

    def is_due(self, name: str) -> bool:
        """Whether a unit waits for its automatic restart."""
        return name in self._due

    def set_weight(self, name: str, weight: int, *, lasts: bool = True) -> None:
        """`systemctl set-property NAME CPUWeight=WEIGHT`."""
        unit = self.units[name]
        unit.cpu_weight = weight
        path = f"{_CONTROL if lasts else _RUNTIME}/{name}.d/50-CPUWeight.conf"
        head = '# This is a drop-in unit file extension, created via "systemctl set-property"\n'
        unit.dropins[path] = f"{head}# or an equivalent operation. Do not edit.\n[Service]\nCPUWeight={weight}\n"
        if unit.on_weight is not None and unit.active:
            unit.on_weight()

    def booted(self) -> None:
        """What was set until the next boot is gone."""
        for unit in self.units.values():
            gone = [path for path in unit.dropins if path.startswith(_RUNTIME)]
            for path in gone:
                del unit.dropins[path]
            if gone:
                kept = [text.rpartition("CPUWeight=")[2] for text in unit.dropins.values()]
                unit.cpu_weight = int(kept[-1]) if kept else DEFAULT_WEIGHT
            unit.restarts = 0

    def fail(self, name: str, status: int) -> None:
        """The unit's main process ends by itself with an exit status."""
        unit = self.units[name]
        if not unit.active:
            return
        self._say(unit, f"{unit.name}: Main process exited, code=exited, status={status}/FAILURE")
        self._say(unit, f"{unit.name}: Failed with result 'exit-code'.")
        self._ended(unit, failed=True, result="exit-code")
        self._again(unit)

    def signalled(self, name: str, signal: str) -> None:
        """Somebody sends the unit's main process a signal that ends it (`TERM`, `KILL`)."""
        unit = self.units[name]
        if not unit.active:
            return
        clean = signal in ("TERM", "INT", "HUP")  # systemd.service(5), SuccessExitStatus=
        result = "success" if clean else "core-dump" if signal == "QUIT" else "signal"
        if not clean:
            number = {"KILL": 9, "QUIT": 3}.get(signal, 15)
            code = "dumped" if signal == "QUIT" else "killed"
            self._say(unit, f"{unit.name}: Main process exited, code={code}, status={number}/{signal}")
            self._say(unit, f"{unit.name}: Failed with result '{'signal' if code == 'killed' else 'core-dump'}'.")
        else:
            self._say(unit, f"{unit.name}: Deactivated successfully.")
        self._ended(unit, failed=not clean, result=result)
        self._again(unit)

    def _again(self, unit: Unit) -> None:
        """It has ended by itself: it starts again, if its unit says so."""
        if unit.masked or unit.restart == "no" or (unit.restart == "on-failure" and not unit.failed):
            return
        self.settle(unit.name)
        self._due[unit.name] = self.sim.after(unit.restart_ns, self._restart, unit.name)

    def _restart(self, name: str) -> None:
        self._due.pop(name, None)
        unit = self.units.get(name)
        if unit is None or unit.active or unit.masked:
            return
        unit.restarts += 1
        self._say(unit, f"{name}: Scheduled restart job, restart counter is at {unit.restarts}.")
        self._start(unit)

    def _start(self, unit: Unit) -> None:
        self._say(unit, f"Starting {unit.name} - {unit.description}...")
        unit.active, unit.failed, unit.result = True, False, "success"
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

    def _ended(self, unit: Unit, *, failed: bool, result: str = "success") -> None:
        unit.active, unit.failed, unit.result = False, failed, result
        unit.changed_ns = self.sim.now
        unit.pid = 0
        if unit.on_stop is not None:
            unit.on_stop()

    def _say(self, unit: Unit, text: str) -> None:
        self.journal.write(self.sim.now, unit.name, "systemd", 1, text)
