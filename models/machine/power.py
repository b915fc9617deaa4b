"""Power of a machine: it goes off in an instant or in an orderly way, and comes back by a boot.

Off: no link, no process, nothing left of what was only in memory; what was written to the drives stays. A
boot takes a while, then systemd starts the enabled units. The management controller (BMC) lives on
standby power and has an address of its own; left out: its log, its sensors, boot menus.

systemd-logind holds a shutdown back as long as an inhibitor of mode "delay" asks for it (a kubelet
with `shutdownGracePeriod` does). Then the units stop and what is left is signalled: SIGTERM, and
SIGKILL after DefaultTimeoutStopSec. A shutdown can be scheduled, and cancelled until then; nobody is asked
before its time has come.
"""

from __future__ import annotations

from typing import Protocol

from simcluster.engine import SECOND, Timer, format_rfc3339
from simcluster.engine.clock import weekday
from simcluster.models.machine.host import Host
from simcluster.models.machine.links.nic import Nic
from simcluster.models.machine.runtime import Runtime

#: From the button to systemd: firmware and memory test of a server, loader, kernel.
BOOT_NS = 75 * SECOND
#: What containerd says of containers that it finds dead after a start.
EXIT_UNKNOWN = 255
#: Units in the order in which they start; they end in the opposite one.
_FIRST = ("systemd-journald.service", "containerd.service", "kubelet.service")
#: DefaultTimeoutStopSec of systemd 255.
_STOP_NS = 90 * SECOND
#: From the last process to the end of power: unmounting, the kernel's own shutdown.
_LAST_NS = 3 * SECOND
_LOGIND_PID = 712


class Inhibitor(Protocol):
    """Somebody who delays a shutdown to do something first."""

    def prepare(self) -> int:
        """The machine is about to go down; how long that may take at most, in nanoseconds."""

    def is_done(self) -> bool:
        """Whether it has done what it wanted."""


class Power:
    """The power of one host.

    Attributes:
        on: whether it runs (or boots).
        booting: whether it has power but does not run yet.
        inhibitor: whoever delays an orderly shutdown.
        scheduled: the shutdown that is to come.
    """

    def __init__(self, host: Host, runtime: Runtime, nic: Nic) -> None:
        self._host = host
        self._runtime = runtime
        self._nic = nic
        self.on = True
        self.booting = False
        self.stopped_ns = -1  # since when nothing runs on it; -1: something does
        self.inhibitor: Inhibitor | None = None
        self.scheduled: ScheduledShutdown | None = None
        self._shutdown: Shutdown | None = None

    @property
    def running(self) -> bool:
        """Whether the operating system runs."""
        return self.on and not self.booting

    def hold(self, clock: float) -> None:
        """A supply fails, and PROCHOT# holds the processor at this share of its clock; at 1 all of them work again."""
        self._host.slow_cpu("cap", clock)
        self._host.sel.note(self._host.sim.now, "Power Supply PS2 Status", "Failure detected", asserted=clock < 1.0)

    def cut(self) -> None:
        """It is off, now. Nothing happens if it is off already."""
        if not self.on:
            return
        host = self._host
        was_running, self.on, self.booting = self.running, False, False
        orderly, self._shutdown = self._shutdown is not None and self._shutdown.ended, None
        if was_running:
            self.stopped_ns = self._host.sim.now
        if self.scheduled is not None:
            self.scheduled.cancel(quiet=True)
            self.scheduled = None
        host.sel.note(host.sim.now, "Power Unit Pwr Unit Status", "Power off/down")
        if not was_running:
            return
        self._nic.cut()
        host.units.settle()
        for disk in host.disks.values():
            disk.powered_off(orderly=orderly)
        for name in reversed(self._order()):
            unit = host.units.units[name]
            if unit.active:
                unit.active, unit.pid, unit.changed_ns = False, 0, host.sim.now
                if unit.on_stop is not None:
                    unit.on_stop()
        for container in self._runtime.containers():
            container.exit(EXIT_UNKNOWN, "Unknown")
        for pod_uid in list(self._runtime.sandboxes):
            self._runtime.stop_sandbox(pod_uid)
        for process in list(host.processes):
            host.unburden(process)

    def shut_down(self, *, reboot: bool = False) -> None:
        """It goes down in an orderly way. Nothing happens if it does so already, or does not run."""
        if self.running and self._shutdown is None:
            self._shutdown = Shutdown(self._host, self._runtime, self, reboot=reboot)
            self._shutdown.begin()

    def schedule(self, delay_ns: int, *, reboot: bool = False) -> ScheduledShutdown | None:
        """It goes down in an orderly way after a while, instead of when it was to before; None if it does not run."""
        if not self.running:
            return None
        if self.scheduled is not None:
            self.scheduled.cancel(quiet=True)
        at_ns = self._host.os.clock.now_ns() + delay_ns
        self.scheduled = ScheduledShutdown(self._host, self, at_ns, reboot=reboot)
        return self.scheduled

    def cancel_schedule(self) -> None:
        """It stays on. Nothing happens if it was to anyway."""
        if self.scheduled is not None:
            self.scheduled.cancel()
            self.scheduled = None

    def give(self) -> None:
        """Somebody presses the button: it boots. Nothing happens if it is on already."""
        if self.on:
            return
        self.on = self.booting = True
        self._host.sel.note(self._host.sim.now, "Power Unit Pwr Unit Status", "Power off/down", asserted=False)
        self._host.sim.after(BOOT_NS, self._booted)

    def _booted(self) -> None:
        if not self.booting:
            return  # switched off meanwhile
        host = self._host
        self.booting = False
        self.stopped_ns = -1
        host.booted()
        host.units.booted()
        if host.built_storage is not None:
            for system in host.mounts:
                system.forget_cache()
        self._nic.booted()
        for name in self._order():
            unit = host.units.units[name]
            if unit.enabled and not unit.masked:
                host.units.control("start", name)

    def _order(self) -> list[str]:
        names = [name for name in self._host.units.units if name not in _FIRST]
        return [_FIRST[0], *names, *_FIRST[1:]]


class Shutdown:
    """A shutdown under way.

    Args:
        reboot: power comes back at once.
    """

    def __init__(self, host: Host, runtime: Runtime, power: Power, *, reboot: bool) -> None:
        self._host = host
        self._runtime = runtime
        self._power = power
        self._reboot = reboot
        self._limit_ns = 0
        self.ended = False  # all file systems are unmounted

    def begin(self) -> None:
        """Ask whoever delays it."""
        host = self._host
        what = "reboot" if self._reboot else "power off"
        _say(host, f"The system will {what} now!")
        inhibitor = self._power.inhibitor
        self._limit_ns = host.sim.now + (inhibitor.prepare() if inhibitor is not None else 0)
        self._wait()

    def _wait(self) -> None:
        host = self._host
        if not self._power.running:
            return  # somebody pulled the plug meanwhile
        inhibitor = self._power.inhibitor
        if inhibitor is not None and not inhibitor.is_done() and host.sim.now < self._limit_ns:
            host.sim.after(SECOND, self._wait)
            return
        _say(host, "System is rebooting." if self._reboot else "System is powering down.")
        for name in ("kubelet.service", "containerd.service"):
            host.units.control("stop", name)
        for container in self._runtime.containers():
            if container.running:
                container.terminate()
        self._limit_ns = host.sim.now + _STOP_NS
        self._end()

    def _end(self) -> None:
        host = self._host
        if not self._power.running:
            return
        if any(container.running for container in self._runtime.containers()) and host.sim.now < self._limit_ns:
            host.sim.after(SECOND, self._end)
        else:
            host.sim.after(_LAST_NS, self._off)

    def _off(self) -> None:
        power = self._power
        if power.running:
            self.ended = True
            power.cut()
            if self._reboot:
                power.give()


class ScheduledShutdown:
    """A shutdown that is to come.

    Args:
        at_ns: when, by the machine's own clock.

    Attributes:
        text: `Shutdown` or `Reboot`.
    """

    def __init__(self, host: Host, power: Power, at_ns: int, *, reboot: bool) -> None:
        self.at_ns = at_ns
        self._host = host
        self._power = power
        self._reboot = reboot
        self.text = "Reboot" if reboot else "Shutdown"
        what = "reboot" if reboot else "power off"
        _say(host, f"The system will {what} at {self.when}!")
        delay_ns = max(0, at_ns - host.os.clock.now_ns())
        self._timer: Timer = host.sim.after(delay_ns, self._begin)

    @property
    def when(self) -> str:
        """The instant as systemd writes it."""
        text = format_rfc3339(self.at_ns)
        return f"{weekday(self.at_ns)} {text[:10]} {text[11:19]} UTC"

    def cancel(self, *, quiet: bool = False) -> None:
        """It does not come."""
        self._timer.cancel()
        if not quiet:
            _say(self._host, "System shutdown has been cancelled")

    def _begin(self) -> None:
        power = self._power
        power.scheduled = None
        power.shut_down(reboot=self._reboot)


def _say(host: Host, text: str) -> None:
    host.log.write(host.sim.now, "systemd-logind.service", "systemd-logind", _LOGIND_PID, text)
