"""The event log of a machine's management controller (SEL): what its sensors crossed, and its power.

It outlives reboots and repairs: a fan that turns again is one more entry. The controller's own clock is right.
Left out: its capacity (16 KiB), clearing it, events of firmware.
"""

from __future__ import annotations

from typing import NamedTuple


class SystemEvent(NamedTuple):
    """One entry: when, the sensor with its type, what happened, whether it began or is over."""

    t_ns: int
    sensor: str
    what: str
    asserted: bool = True


class SystemEventLog:
    """Entries, oldest first."""

    def __init__(self) -> None:
        self.entries: list[SystemEvent] = []

    def note(self, t_ns: int, sensor: str, what: str, *, asserted: bool = True) -> None:
        """A sensor crosses a threshold: nothing is written twice."""
        last = next((entry for entry in reversed(self.entries) if (entry.sensor, entry.what) == (sensor, what)), None)
        if asserted != (last is not None and last.asserted):
            self.entries.append(SystemEvent(t_ns, sensor, what, asserted))
