"""What Go's collector costs a program, as `GOGC` of its environment sets it.

A collection begins when what was allocated since the last one has grown by GOGC per cent of what is live, and costs CPU
for every live byte. So the price of an allocated byte is inverse to GOGC, until the runtime's limiter lets a
collector have no more than half of the CPU. A program's own costs are those at GOGC=100.

Left out: `GOMEMLIMIT`, idle workers that mark on cores nobody else uses, pauses of the two short stops of the world.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from simcluster.models.traffic.graph.laws import Part
from simcluster.models.traffic.graph.service import Bytes

if TYPE_CHECKING:
    from simcluster.models.apps.behaviour import Behaviour

#: The usual GOGC; -1 is `off`. Source: runtime, `readGOGC` (what is no number counts as 100).
USUAL, OFF = 100, -1
#: The smallest heap at which a collection begins, at GOGC=100. Source: runtime/mgcpacer.go, `defaultHeapMinimum`.
MINIMUM_BYTES = 4 << 20
#: Of all CPU the collector has no more. Source: runtime/mgclimit.go (since Go 1.19).
MOST = 0.5
#: To mark a live byte, and besides for each collection (both stops, stacks, sweeping): magnitudes on a core of today.
MARK_NS, CYCLE_NS = 1.0, 100_000.0


class Garbage(Part):
    """The heap of a Go program.

    Attributes:
        live: bytes that survive a collection.
        allocated: bytes that it allocates in a second of its own CPU time.
    """

    live: Annotated[Bytes, Field(gt=0)]
    allocated: Annotated[Bytes, Field(gt=0)]

    def share(self, percent: int) -> float:
        """Share of all CPU time that goes into collections at this GOGC.

        >>> heap = Garbage(live="4Mi", allocated="96Mi")
        >>> [round(heap.share(percent), 2) for percent in (OFF, 400, 100, 1)]
        [0.0, 0.03, 0.09, 0.5]
        """
        if percent == OFF:
            return 0.0
        growth = max(1.0, self.live * percent / 100.0, MINIMUM_BYTES * percent / 100.0 - self.live)
        cost = self.allocated / growth * (CYCLE_NS + self.live * MARK_NS) / 1e9
        return min(MOST, cost / (1.0 + cost))


def percent_of(environment: Mapping[str, str]) -> int:
    """The GOGC of a process: -1 is off."""
    text = environment.get("GOGC", "")
    if text == "off" or (text[:1] == "-" and text[1:].isdigit()):
        return OFF
    return int(text) if text.isdigit() and len(text) <= 9 else USUAL


def collected(behaviour: Behaviour, environment: Mapping[str, str]) -> Behaviour:
    """The behaviour of a process with this environment; itself at the usual GOGC."""
    percent = percent_of(environment)
    if behaviour.garbage is None or percent == USUAL:
        return behaviour
    slower = (1.0 - behaviour.garbage.share(USUAL)) / (1.0 - behaviour.garbage.share(percent))
    return behaviour.model_copy(update={"speed": behaviour.speed / slower})
