"""An orderly shutdown of a machine: whoever asked for a delay gets it, then every process is told to end.

systemd-logind holds a shutdown back as long as an inhibitor of mode "delay" asks for it (a kubelet
with `shutdownGracePeriod` does). Then the units stop and what is left is signalled: SIGTERM, and
SIGKILL after DefaultTimeoutStopSec. A shutdown can be scheduled, and cancelled until then; nobody is asked
before its time has come. Left out: the file that keeps users from logging in during the last 5 minutes.
"""

from __future__ import annotations

from typing import Protocol

from simcluster.engine import SECOND, Timer, format_rfc3339
from simcluster.engine.clock import weekday
from simcluster.models.machine.host import Host
from simcluster.models.machine.runtime import Runtime

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


class Switch(Protocol):
    """The power that a shutdown ends."""

    inhibitor: Inhibitor | None
    scheduled: ScheduledShutdown | None

    @property
    def running(self) -> bool:
        """Whether the operating system runs."""

    def cut(self) -> None:
        """It is off, now."""

    def give(self) -> None:
        """It boots."""

    def shut_down(self, *, reboot: bool = False) -> None:
        """It goes down in an orderly way."""


class Shutdown:
    """A shutdown under way.

    Args:
        reboot: power comes back at once.
    """

    def __init__(self, host: Host, runtime: Runtime, power: Switch, *, reboot: bool) -> None:
        self._host = host
        self._runtime = runtime
        self._power = power
        self._reboot = reboot
        self._limit_ns = 0

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

    def __init__(self, host: Host, power: Switch, at_ns: int, *, reboot: bool) -> None:
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
