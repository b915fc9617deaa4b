"""A node's journal: what systemd, the kernel and the node's daemons wrote, bounded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from simcluster.engine import AppendLog
from simcluster.models.machine.kernel.levels import level


class Clock(Protocol):
    """The clock by which lines are stamped."""

    def offset_ns(self) -> int:
        """What it shows minus true time."""


class JournalLine(NamedTuple):
    """One line: instant, unit (`kubelet.service`; empty for the kernel), identifier, PID and text.

    The instant is what the machine's clock showed; `wrong_ns` is how far it was off.
    """

    t_ns: int
    unit: str
    identifier: str
    pid: int
    text: str
    wrong_ns: int = 0

    @property
    def priority(self) -> int:
        """syslog's level, 0 (emerg) to 7 (debug)."""
        return level(self.identifier, self.text)


class Journal:
    """Append-only; the oldest lines are lost when it is full (SystemMaxUse)."""

    def __init__(self) -> None:
        self.clock: Clock | None = None
        self._lines: AppendLog[JournalLine] = AppendLog(block=128, keep_blocks=48)

    def write(self, t_ns: int, unit: str, identifier: str, pid: int, text: str) -> None:
        """Append one line that is written at the true instant `t_ns`."""
        wrong = 0 if self.clock is None else self.clock.offset_ns()
        self._lines.append(JournalLine(t_ns + wrong, unit, identifier, pid, text, wrong))

    def __iter__(self) -> Iterator[JournalLine]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def end(self) -> int:
        """Position after the last line, counting lost ones."""
        return self._lines.end

    def since(self, position: int) -> Iterator[JournalLine]:
        """Lines from a position on that are still there."""
        return self._lines.since(position)
