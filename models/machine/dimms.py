"""Memory whose errors the firmware corrects, at the price of time.

Each corrected error that the firmware handles first enters System Management Mode on all cores, where nothing else
runs and no counter of the kernel sees it: 133 ms an error, measured by Gottscho et al., Measuring the Impact of Memory
Errors on Application Performance (IEEE Computer Architecture Letters 2017). The kernel hears of it by EDAC and counts.
Left out: which page and row, page retirement, errors that cannot be corrected (`Machine.panic`).
"""

from __future__ import annotations

from simcluster.engine import SECOND, Timer
from simcluster.models.machine.host import Host

#: Time in System Management Mode for each corrected error.
ERROR_S = 0.133
#: So much of its time a machine runs its programs at least.
_LEAST = 0.05
#: How often the kernel polls the banks and speaks of what it found (mce_check_interval is 300 s, halved while there are
#: errors down to about this).
_POLL_NS = 10 * SECOND


#: After so many corrected errors a management controller logs no more (chosen: vendors differ).
LOGGING_LIMIT = 10
_LIMIT = ("Memory #0x02", "Correctable ECC logging limit reached")


class Dimms:
    """The memory modules of one machine.

    Attributes:
        errors_per_s: corrected errors, of one worn or loose module; corrected: how many there were since boot.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self.errors_per_s = 0.0
        self.corrected = 0
        self._timer: Timer | None = None

    def err(self, per_s: float) -> None:
        """From now on errors are corrected at this rate; 0 is a sound module. Raises ValueError."""
        if per_s < 0.0:
            raise ValueError(f"{per_s:g} errors a second")
        self.errors_per_s = per_s
        self._host.slow_cpu("errors", max(_LEAST, 1.0 - per_s * ERROR_S))
        host = self._host
        if not per_s:
            host.sel.note(host.sim.now, *_LIMIT, asserted=False)
        if self._timer is not None and not per_s:
            self._timer.cancel()
            self._timer = None
        elif self._timer is None and per_s:
            self._timer = host.sim.every(_POLL_NS, self._poll)

    def booted(self) -> None:
        """A new kernel counts from nothing."""
        self.corrected = 0

    def _poll(self) -> None:
        found = int(self.errors_per_s * _POLL_NS / SECOND)
        self.corrected += found
        if self.corrected >= LOGGING_LIMIT:
            self._host.sel.note(self._host.sim.now, *_LIMIT)
        self._host.kernel(
            "mce: [Hardware Error]: Machine check events logged",
            f"EDAC MC0: {found} CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x2d1e7 "
            "offset:0x0 grain:32 syndrome:0x0)",
        )


def read(host: Host, path: str) -> str | None:
    """Text of a file of EDAC; None if there is none of that name."""
    dimms = getattr(host, "dimms", None)
    counts = {"ce_count": dimms.corrected, "ue_count": 0, "mc_name": "Skylake Socket#0 IMC#0"} if dimms else {}
    name = path.removeprefix(_EDAC)
    return f"{counts[name]}\n" if path.startswith(_EDAC) and name in counts else None


def paths(host: Host) -> list[str]:
    """All of these files."""
    return [f"{_EDAC}{name}" for name in ("ce_count", "ue_count", "mc_name")]


_EDAC = "/sys/devices/system/edac/mc/mc0/"
