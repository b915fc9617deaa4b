"""A machine's own clock: simulated time plus an offset that drifts, and chronyd that disciplines it.

While chronyd runs and a server answers it, an offset is found at its next poll and slewed away at
its maximum rate; otherwise the clock runs away at the drift of its crystal. Left out: leap seconds,
temperature compensation, timers of processes that a slow clock makes late (drifts are far too small for that).
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.engine import MINUTE, SECOND, Simulation, format_rfc3339
from simcluster.engine.clock import DAY
from simcluster.models.machine.hostfiles import HostFiles
from simcluster.models.machine.journal import Journal
from simcluster.models.machine.kernel import chrony
from simcluster.models.machine.kernel.chrony import BURST_NS, POLL_NS
from simcluster.models.machine.units import Unit

#: chrony.conf(5): maxslewrate 83333.333 ppm.
MAX_SLEW_PPM = 83_333
#: makestep 1 3 (Ubuntu): steps more than a second away in its first three updates only.
STEP_LIMIT_NS = SECOND
#: logchange: smaller errors are not worth a line.
LOG_LIMIT_NS = SECOND
#: A crystal that drifts more than this is broken (chrony gives up at 500000 ppm; 10 per cent is already absurd).
MAX_DRIFT_PPM = 100_000.0
MAX_OFFSET_NS = 36_500 * DAY
UNIT = "chrony.service"


class _Course(NamedTuple):
    """How a clock runs from an instant on: its offset then, from when on chronyd slews it (-1: never), its drift."""

    at_ns: int
    begin_ns: int
    correct_ns: int
    drift_ppm: float

    def offset_ns(self, t_ns: int) -> int:
        """Wall clock minus true time at a later instant."""
        if self.correct_ns < 0 or t_ns <= self.correct_ns:
            return self.begin_ns + self._drifted(t_ns)
        # chronyd knows the drift by now: what is left is the offset, which it slews away.
        start = self.begin_ns + self._drifted(self.correct_ns)
        slewed = (t_ns - self.correct_ns) * MAX_SLEW_PPM // 1_000_000
        return max(0, start - slewed) if start > 0 else min(0, start + slewed)

    def _drifted(self, until_ns: int) -> int:
        return int((until_ns - self.at_ns) * self.drift_ppm) // 1_000_000


class WallClock:
    """The real-time clock of one machine.

    Attributes:
        drift_ppm: how much faster than true time the undisciplined clock runs.
        servers: whom chronyd asks; `asked_ns`: since when.
        hardware_ns: how far the battery-backed clock on the board is off (it is set while servers answer).
    """

    __slots__ = (
        *("_at_ns", "_correct_ns", "_due_ns", "_files", "_fresh", "_journal", "_offset_ns", "_past", "_unit"),
        *("asked_ns", "drift_ppm", "hardware_ns", "servers", "sim"),
    )

    def __init__(self, sim: Simulation, journal: Journal, unit: Unit, files: HostFiles) -> None:
        self.sim = sim
        self.drift_ppm = 0.0
        self.servers = chrony.configured(files)
        self.asked_ns = sim.now
        self.hardware_ns = 0
        self._files = files
        self._journal = journal
        self._unit = unit
        self._at_ns = sim.now  # since when the offset is `_offset_ns` and what follows from it
        self._offset_ns = 0
        self._correct_ns = -1  # from when on chronyd slews, -1: never
        self._due_ns = -1  # when the answers to its first requests are there
        self._fresh = False  # it has not corrected the clock since its start: it may step
        self._past: list[tuple[int, _Course]] = []  # how it ran until an instant

    @property
    def disciplined(self) -> bool:
        """Whether chronyd runs."""
        return self._unit.active

    @property
    def synchronised(self) -> bool:
        """Whether it runs and some server answers it."""
        return self._unit.active and any(chrony.answers(server) for server in self.servers)

    def offset_ns(self) -> int:
        """Wall clock minus true time."""
        if not self._offset_ns and not self.drift_ppm:
            return 0
        return self._course().offset_ns(self.sim.now)

    def shown_ns(self, t_ns: int) -> int:
        """What the clock showed at a past true instant: stamps of that time keep what it showed."""
        if not self._past:
            return t_ns + (self._course().offset_ns(t_ns) if self._offset_ns or self.drift_ppm else 0)
        course = next((course for until_ns, course in self._past if t_ns < until_ns), self._course())
        return t_ns + course.offset_ns(t_ns)

    def now_ns(self) -> int:
        """What the clock shows, in simulated nanoseconds."""
        return self.sim.now + self.offset_ns()

    def step(self, offset_ns: int) -> None:
        """Set the clock wrong by `offset_ns` (as somebody's `date -s` does). Raises ValueError."""
        if abs(offset_ns) > MAX_OFFSET_NS:
            raise ValueError(f"a clock cannot be off by more than 100 years, not by {offset_ns} ns")
        self._remember()
        self._offset_ns, self._at_ns = offset_ns, self.sim.now
        self._plan(POLL_NS)

    def set_drift(self, ppm: float) -> None:
        """Make the undisciplined clock run fast (or slow) by so many parts in a million. Raises ValueError."""
        if abs(ppm) > MAX_DRIFT_PPM:
            raise ValueError(f"drift must be within {MAX_DRIFT_PPM:g} ppm, not {ppm:g}")
        self._hold()
        self.drift_ppm = ppm
        self._plan(POLL_NS)

    def neglect(self, ppm: float, for_ns: int) -> None:
        """The clock has drifted for so long already, and nobody has corrected it. Raises ValueError."""
        self.set_drift(ppm)
        self.step(self._offset_ns + int(for_ns * ppm) // 1_000_000)
        self.hardware_ns = self._offset_ns  # from which the kernel took the time at boot

    def booted(self) -> None:
        """The kernel takes the time from the board's clock."""
        self._remember()
        self._offset_ns, self._at_ns, self._correct_ns = self.hardware_ns, self.sim.now, -1

    def chronyd_started(self) -> None:
        """The daemon starts: it reads its configuration, steps what is more than a second off, and slews the rest."""
        for text in chrony.STARTING:
            self._say(text)
        self._fresh = True
        self.ask(chrony.configured(self._files))

    def chronyd_stopped(self) -> None:
        """Nobody corrects the clock any more."""
        self._hold()
        self._correct_ns = self._due_ns = -1

    def ask(self, servers: tuple[str, ...]) -> None:
        """chronyd asks these servers from now on."""
        before = self.synchronised and self._correct_ns >= 0
        self._hold()
        self.servers, self.asked_ns = servers, self.sim.now
        if self.synchronised:
            self._correct_ns = self._due_ns = self.sim.now + BURST_NS
            self.sim.after(BURST_NS, self._first_update)
            return
        self._correct_ns = self._due_ns = -1
        if before:
            self._say(chrony.NO_SOURCES)

    def settle(self) -> None:
        """`chronyc makestep`: what chronyd knows to be wrong is corrected at once."""
        if self.synchronised and self.sim.now >= self.asked_ns + BURST_NS:
            self._leap()

    def certificate_error(self, not_before_ns: int, not_after_ns: int) -> str:
        """What Go's crypto/x509 says of a certificate's validity on this machine; "" if it is valid."""
        now = self.now_ns()
        head = "x509: certificate has expired or is not yet valid: current time"
        if now < not_before_ns:
            return f"{head} {format_rfc3339(now)} is before {format_rfc3339(not_before_ns)}"
        if now > not_after_ns:
            return f"{head} {format_rfc3339(now)} is after {format_rfc3339(not_after_ns)}"
        return ""

    def _hold(self) -> None:
        self._remember()
        self._offset_ns, self._at_ns = self.offset_ns(), self.sim.now

    def _course(self) -> _Course:
        return _Course(self._at_ns, self._offset_ns, self._correct_ns, self.drift_ppm)

    def _remember(self) -> None:
        """How it ran until now: whoever stamped something saw that."""
        if self.sim.now > self._at_ns:
            self._past.append((self.sim.now, self._course()))

    def _plan(self, poll_ns: int) -> None:
        if self.synchronised:
            self._correct_ns = self.sim.now + poll_ns
            if abs(self._offset_ns) > LOG_LIMIT_NS:
                self.sim.after(poll_ns, self._complain)

    def _first_update(self) -> None:
        if not self.synchronised or self.sim.now != self._due_ns:
            return  # stopped, or asked anew, meanwhile
        self._say(f"Selected source {next(server for server in self.servers if chrony.answers(server))}")
        fresh, self._fresh = self._fresh, False
        if fresh and abs(self.offset_ns()) > STEP_LIMIT_NS:
            self._say(f"System clock wrong by {-self.offset_ns() / SECOND:.6f} seconds")
            self._leap()
        else:
            self._complain()

    def _leap(self) -> None:
        wrong_ns = -self.offset_ns()
        self._remember()
        self._offset_ns, self._at_ns, self._correct_ns, self.hardware_ns = 0, self.sim.now, self.sim.now, 0
        if wrong_ns:
            self._say(f"System clock was stepped by {wrong_ns / SECOND:.6f} seconds")

    def _complain(self) -> None:
        if self.synchronised and abs(self.offset_ns()) > LOG_LIMIT_NS:
            self._say(f"System clock wrong by {-self.offset_ns() / SECOND:.6f} seconds")

    def _say(self, text: str) -> None:
        self._journal.write(self.sim.now, UNIT, "chronyd", self._unit.pid, text)


def shown_offset(offset_ns: int) -> str:
    """An offset as chronyc prints it in its table of sources: `+1ns`, `-12us`, `+3500ms`, `+86400s`."""
    amount = abs(offset_ns)
    sign = "-" if offset_ns < 0 else "+"
    for unit, name in ((SECOND, "s"), (1_000_000, "ms"), (1_000, "us")):
        if amount >= 9999 * unit // (1000 if unit > 1000 else 1) and amount >= unit:
            return f"{sign}{amount // unit}{name}"
    return f"{sign}{amount}ns"


#: Validity of what kubeadm issues: a year for components, ten for the authority.
CERTIFICATE_NS = 365 * DAY
AUTHORITY_NS = 3650 * DAY
#: kubeadm and the controller that signs requests issue certificates as of a little earlier, for clocks that differ
#: (kubeadm, constants.CertificateBackdate; kube-controller-manager, signer backdate).
BACKDATED_NS = 5 * MINUTE
