"""A machine's own clock: simulated time plus an offset that drifts, and chronyd that disciplines it.

While chronyd runs, an offset is found at its next poll and slewed away at its maximum rate;
while it does not, the clock runs away at the drift of its crystal. Left out: leap seconds,
servers that disagree, temperature compensation.
"""

from __future__ import annotations

from simcluster.engine import SECOND, Simulation, format_rfc3339
from simcluster.engine.clock import DAY, HOUR
from simcluster.models.machine.journal import Journal
from simcluster.models.machine.units import Unit

#: chrony.conf(5): maxslewrate 83333.333 ppm; the first polls after a start are 2 s apart (iburst), then 64 s.
MAX_SLEW_PPM = 83_333
POLL_NS = 64 * SECOND
BURST_NS = 6 * SECOND
#: makestep 1 3 (Ubuntu): steps more than a second away in its first three updates only.
STEP_LIMIT_NS = SECOND
#: logchange: smaller errors are not worth a line.
LOG_LIMIT_NS = SECOND
#: A crystal that drifts more than this is broken (chrony gives up at 500000 ppm; 10 per cent is already absurd).
MAX_DRIFT_PPM = 100_000.0
MAX_OFFSET_NS = 36_500 * DAY
UNIT = "chrony.service"


class WallClock:
    """The real-time clock of one machine.

    Attributes:
        drift_ppm: how much faster than true time the undisciplined clock runs.
    """

    __slots__ = ("_at_ns", "_correct_ns", "_journal", "_offset_ns", "_unit", "drift_ppm", "sim")

    def __init__(self, sim: Simulation, journal: Journal, unit: Unit) -> None:
        self.sim = sim
        self.drift_ppm = 0.0
        self._journal = journal
        self._unit = unit
        self._at_ns = sim.now  # since when the offset is `_offset_ns` and what follows from it
        self._offset_ns = 0
        self._correct_ns = -1  # from when on chronyd slews, -1: never

    @property
    def disciplined(self) -> bool:
        """Whether chronyd runs."""
        return self._unit.active

    def offset_ns(self) -> int:
        """Wall clock minus true time."""
        if not self._offset_ns and not self.drift_ppm:
            return 0
        now = self.sim.now
        if self._correct_ns < 0:
            return self._offset_ns + self._drifted(self._at_ns, now)
        if now <= self._correct_ns:
            return self._offset_ns + self._drifted(self._at_ns, now)
        # chronyd knows the drift by now: what is left is the offset, which it slews away.
        start = self._offset_ns + self._drifted(self._at_ns, self._correct_ns)
        slewed = (now - self._correct_ns) * MAX_SLEW_PPM // 1_000_000
        return max(0, start - slewed) if start > 0 else min(0, start + slewed)

    def now_ns(self) -> int:
        """What the clock shows, in simulated nanoseconds."""
        return self.sim.now + self.offset_ns()

    def step(self, offset_ns: int) -> None:
        """Set the clock wrong by `offset_ns` (as somebody's `date -s` does). Raises ValueError."""
        if abs(offset_ns) > MAX_OFFSET_NS:
            raise ValueError(f"a clock cannot be off by more than 100 years, not by {offset_ns} ns")
        self._offset_ns, self._at_ns = offset_ns, self.sim.now
        self._plan(POLL_NS)

    def set_drift(self, ppm: float) -> None:
        """Make the undisciplined clock run fast (or slow) by so many parts in a million. Raises ValueError."""
        if abs(ppm) > MAX_DRIFT_PPM:
            raise ValueError(f"drift must be within {MAX_DRIFT_PPM:g} ppm, not {ppm:g}")
        self._hold()
        self.drift_ppm = ppm
        self._plan(POLL_NS)

    def chronyd_started(self) -> None:
        """The daemon starts: it steps what is more than a second off, and slews the rest."""
        self._hold()
        self._correct_ns = self.sim.now + BURST_NS
        if abs(self._offset_ns) > STEP_LIMIT_NS:
            self.sim.after(BURST_NS, self._first_update)

    def chronyd_stopped(self) -> None:
        """Nobody corrects the clock any more."""
        self._hold()
        self._correct_ns = -1

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
        self._offset_ns, self._at_ns = self.offset_ns(), self.sim.now

    def _drifted(self, since_ns: int, until_ns: int) -> int:
        return int((until_ns - since_ns) * self.drift_ppm) // 1_000_000

    def _plan(self, poll_ns: int) -> None:
        if self.disciplined:
            self._correct_ns = self.sim.now + poll_ns
            if abs(self._offset_ns) > LOG_LIMIT_NS:
                self.sim.after(poll_ns, self._complain)

    def _first_update(self) -> None:
        if self.disciplined and abs(self._offset_ns) > STEP_LIMIT_NS:
            wrong = -self.offset_ns() / SECOND
            self._say(f"System clock wrong by {wrong:.6f} seconds")
            self._offset_ns, self._at_ns, self._correct_ns = 0, self.sim.now, self.sim.now
            self._say(f"System clock was stepped by {wrong:.6f} seconds")

    def _complain(self) -> None:
        if self.disciplined and abs(self.offset_ns()) > LOG_LIMIT_NS:
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
#: Certificates are issued a little before the first use, so that clocks may differ by as much.
BACKDATED_NS = HOUR
