"""Power of a machine: it goes off in an instant and comes back by a boot, as its management controller can tell.

Off: no link, no process, nothing left of what was only in memory; what was written to the drives stays. A
boot takes a while, then systemd starts the enabled units. The management controller (BMC) lives on
standby power and has an address of its own; left out: its log, its sensors, boot menus.
"""

from __future__ import annotations

from simcluster.engine import SECOND
from simcluster.models.machine.host import Host
from simcluster.models.machine.links.nic import Nic
from simcluster.models.machine.runtime import Runtime
from simcluster.models.machine.shutdown import Inhibitor, ScheduledShutdown, Shutdown

#: From the button to systemd: firmware and memory test of a server, loader, kernel.
BOOT_NS = 75 * SECOND
#: What containerd says of containers that it finds dead after a start.
EXIT_UNKNOWN = 255
#: Units in the order in which they start; they end in the opposite one.
_FIRST = ("systemd-journald.service", "containerd.service", "kubelet.service")


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
        self.inhibitor: Inhibitor | None = None
        self.scheduled: ScheduledShutdown | None = None
        self._shutdown: Shutdown | None = None

    @property
    def running(self) -> bool:
        """Whether the operating system runs."""
        return self.on and not self.booting

    def cut(self) -> None:
        """It is off, now. Nothing happens if it is off already."""
        if not self.on:
            return
        host = self._host
        was_running, self.on, self.booting = self.running, False, False
        self._shutdown = None
        if self.scheduled is not None:
            self.scheduled.cancel(quiet=True)
            self.scheduled = None
        if not was_running:
            return
        self._nic.cut()
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
        self._host.sim.after(BOOT_NS, self._booted)

    def _booted(self) -> None:
        if not self.booting:
            return  # switched off meanwhile
        host = self._host
        self.booting = False
        host.booted()
        if host.built_storage is not None:
            for system in host.mounts:
                system.forget_cache()
        self._nic.repair()
        for name in self._order():
            if host.units.units[name].enabled:
                host.units.control("start", name)

    def _order(self) -> list[str]:
        names = [name for name in self._host.units.units if name not in _FIRST]
        return [_FIRST[0], *names, *_FIRST[1:]]
